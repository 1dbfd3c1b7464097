"""Sweeps: loads, seeds, policies and errors, in parallel, with the results of a serial run."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

from malleable import views
from malleable.domain import check_whole
from malleable.simulation import simulate

__all__ = ["SweepRows", "sweep"]


class SweepRows(list[dict[str, Any]]):
    """Rows of a sweep in the order of its combinations.

    Attributes
    ----------
    complete : bool
        False after Ctrl-C; the rows are then those that were finished.
    """

    complete: bool = True

    def __repr__(self) -> str:
        return f"SweepRows({views.counted(len(self), 'row')})"

    _repr_html_ = views.as_html


def _one(make: Callable[[float, int], Any], point: tuple[Any, ...], options: Any) -> Any:
    load, seed, policy, sigma = point
    if sigma is not None:
        options = {**options, "estimates": sigma}
    found = simulate(make(load, seed), policy=policy, rng=seed, **options)
    if not found.complete:
        return None
    named = {"load": load, "seed": seed, "policy": policy}
    if sigma is not None:
        named["sigma"] = sigma
    return {**named, **found.summary[policy]}


def _checked_workers(workers: Any) -> int:
    if workers is None:
        return os.cpu_count() or 1
    return check_whole("workers", workers, 1)


def sweep(
    make: Callable[[float, int], Any],
    loads: Sequence[float],
    seeds: Sequence[int],
    policies: Sequence[str],
    *,
    sigmas: Sequence[float] | None = None,
    executor: Any = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> SweepRows:
    """Simulate every combination, on all cores unless told otherwise.

    Parameters
    ----------
    make : callable
        ``make(load, seed)`` gives the jobs or the stream; at module level for pools of processes.
    loads, seeds, policies : sequences
        What to combine.
    sigmas : sequence of float, optional
        Standard deviations of log-normal errors of the sizes as policies see them (``estimates`` of
        `simulate`); they vary fastest, then policies.
    executor : object with ``submit``, optional
        Where to run, in the manner of ``concurrent.futures``: a pool of processes, Dask's
        ``client.get_executor()``. None: threads here, which the core leaves free to run.
    workers : int, optional
        Threads without an executor; all cores by default, 1: one after another.
    progress : callable, optional
        Called with (combinations finished, all) after each.
    **options
        Of `simulate`, which sees ``rng=seed``.

    Returns
    -------
    SweepRows
        ``load``, ``seed``, ``policy``, ``sigma`` where there is one, and the summary, in the order
        of the combinations wherever they ran. After Ctrl-C those that were finished.

    Raises
    ------
    ValueError
        As `simulate`; ``workers`` below 1, or beside an executor.
    """
    if executor is not None and workers is not None:
        raise ValueError("workers: an executor has its own")
    count = _checked_workers(workers)
    options.setdefault("records", False)
    points = list(product(loads, seeds, policies, [None] if sigmas is None else sigmas))
    if executor is not None:
        return _collect(executor, make, points, options, progress)
    if count == 1 or len(points) < 2:
        return _here(make, points, options, progress)
    stop = threading.Event()

    def watch(entered: int, total: int) -> None:
        if stop.is_set():
            raise KeyboardInterrupt

    options["progress"] = watch
    with ThreadPoolExecutor(min(count, len(points))) as pool:
        return _collect(pool, make, points, options, progress, stop)


def _here(make: Any, points: Any, options: Any, progress: Any) -> SweepRows:
    rows = SweepRows()
    try:
        for point in points:
            row = _one(make, point, options)
            if row is None:
                raise KeyboardInterrupt
            rows.append(row)
            if progress is not None:
                progress(len(rows), len(points))
    except KeyboardInterrupt:
        rows.complete = False
    return rows


def _collect(
    executor: Any,
    make: Any,
    points: Any,
    options: Any,
    progress: Any,
    stop: threading.Event | None = None,
) -> SweepRows:
    futures = [executor.submit(_one, make, point, options) for point in points]
    found: list[Any] = [None] * len(points)
    complete = True
    try:
        for k, future in enumerate(futures):
            found[k] = future.result()
            if found[k] is None:
                raise KeyboardInterrupt
            if progress is not None:
                progress(k + 1, len(points))
    except KeyboardInterrupt:
        complete = False
        _stop(futures, stop)
        for k, future in enumerate(futures):
            if future.done() and not future.cancelled() and future.exception() is None:
                found[k] = future.result()
    except BaseException:
        _stop(futures, stop)
        raise
    rows = SweepRows(row for row in found if row is not None)
    rows.complete = complete
    return rows


def _stop(futures: list[Any], stop: threading.Event | None) -> None:
    if stop is not None:
        stop.set()
    for future in futures:
        future.cancel()
