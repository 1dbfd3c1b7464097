"""Sweeps: loads, seeds and policies, in parallel, with the results of a serial run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from itertools import product
from typing import Any

from malleable.simulation.face import simulate

__all__ = ["sweep"]


def _one(make: Callable[[float, int], Any], point: tuple[float, int, str], options: Any) -> Any:
    load, seed, policy = point
    found = simulate(make(load, seed), policy=policy, rng=seed, **options)
    return {"load": load, "seed": seed, "policy": policy, **found.summary[policy]}


def sweep(
    make: Callable[[float, int], Any],
    loads: Sequence[float],
    seeds: Sequence[int],
    policies: Sequence[str],
    *,
    executor: Executor | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """Simulate every combination.

    Parameters
    ----------
    make : callable
        ``make(load, seed)`` gives the jobs or the stream; at module level for process pools.
    loads, seeds, policies : sequences
        What to combine; policies vary fastest.
    executor : concurrent.futures.Executor, optional
        Where to run; None: here, one after another. Any object with ``submit`` will do.
    **options
        Of `simulate`, which sees ``rng=seed``.

    Returns
    -------
    list of dict
        ``load``, ``seed``, ``policy`` and the summary, in the order of the combinations whatever
        the executor.
    """
    options.setdefault("records", False)
    points = list(product(loads, seeds, policies))
    if executor is None:
        return [_one(make, point, options) for point in points]
    futures = [executor.submit(_one, make, point, options) for point in points]
    return [future.result() for future in futures]
