"""Replications: one experiment with several seeds, at every point of a grid, with confidence intervals."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from inspect import signature
from itertools import groupby, product
from typing import Any, NamedTuple

import numpy as np

from malleable.arrays import quotient
from malleable.checkpoints import by_value
from malleable.display import as_html, counted, view
from malleable.simulation import simulate


class Interval(NamedTuple):
    """Mean of some values and the half width of its confidence interval (NaN for fewer than two)."""

    mean: float
    half: float


@lru_cache(maxsize=256)
def student_quantile(probability: float, freedom: int) -> float:
    """The quantile of Student's distribution with so many degrees of freedom, for p in [0.5, 1)."""
    if freedom == 1:
        return math.tan(math.pi * (probability - 0.5))
    log_scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    scale = math.exp(log_scale) / math.sqrt(freedom * math.pi)
    nodes, weights = np.polynomial.legendre.leggauss(200)

    def mass(t: float) -> float:
        x = (nodes + 1) * t / 2
        density = scale * (1 + x * x / freedom) ** (-(freedom + 1) / 2)
        return 0.5 + float(weights @ density) * t / 2

    low, high = 0.0, 1.0
    while mass(high) < probability:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if mass(middle) < probability else (low, middle)
    return (low + high) / 2


def interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Mean of independent values with Student's confidence interval; NaN values are left out."""
    known = np.array([value for value in values if not math.isnan(value)])
    if not len(known):
        return Interval(math.nan, math.nan)
    mean = float(known.mean())
    if len(known) == 1:
        return Interval(mean, math.nan)
    if (known == known[0]).all():  # without rounding
        return Interval(float(known[0]), 0.0)
    spread = float(known.std(ddof=1)) / math.sqrt(len(known))
    return Interval(mean, student_quantile(0.5 + confidence / 2, len(known) - 1) * spread)


@by_value(without=("timing",))
@dataclass(frozen=True, eq=False)
class Run:
    """One simulation: parts of its `SimulationResult`."""

    point: dict[str, Any]  # values of the grid's names
    seed: int
    model: str
    summary: dict[str, dict[Any, float]]  # by policy and metric
    slowdown: dict[str, tuple[Any, Any]]  # by policy: jobs and mean stretch by bucket of size
    timing: dict[Any, float]  # seconds


@by_value()
@dataclass(frozen=True, eq=False)
class Replications:
    """Result of `replicate`.

    Attributes
    ----------
    done : list of Run
        By point, then by seed.
    complete : bool
        False after Ctrl-C: then it has the finished runs.
    confidence : float
        Confidence of the intervals.

    See Also
    --------
    malleable.replicate : Runs the simulations.

    Notes
    -----
    ``rows`` and `at` have all points. Everything else is about one point, which `at` chooses. O(runs).

    Examples
    --------
    >>> from functools import partial
    >>> import malleable as mb
    >>> make = partial(mb.generate_cluster_jobs, 20)
    >>> cluster = mb.Cluster.for_load(make(0), 0.9)
    >>> found = mb.replicate(make, range(3), ["fair"], cluster=cluster)
    >>> mean, half = found.summary["fair"]["mean_response"]  # and half the width of its interval
    """

    done: list[Run]
    complete: bool = True
    confidence: float = 0.95

    def __repr__(self) -> str:
        seeds = counted(len(self.seeds), "replication")
        where = "" if self.points == [{}] else f" at {counted(len(self.points), 'point')}"
        return f"Replications({', '.join(self.policies)}: {seeds}{where})"

    _repr_html_ = as_html

    @property
    def policies(self) -> list[str]:
        """Names, in the order in which they were given."""
        return list(self.done[0].summary) if self.done else []

    @property
    def points(self) -> list[dict[str, Any]]:
        """Values of the grid's names at every point."""
        return [point for point, _ in groupby(run.point for run in self.done)]

    @property
    def seeds(self) -> list[int]:
        """Seeds with a finished run."""
        return list(dict.fromkeys(run.seed for run in self.done))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for each point, seed and policy: these three, and the summary."""
        return [
            {**run.point, "seed": run.seed, "policy": policy, **summary}
            for run in self.done
            for policy, summary in run.summary.items()
        ]

    def at(self, **point: Any) -> Replications:
        """The runs at the ``point`` that has these values by names of the grid, as in ``at(load=0.7)``."""
        some = [run for run in self.done if point.items() <= run.point.items()]
        return Replications(some, self.complete, self.confidence)

    @property
    def runs(self) -> dict[str, list[dict[Any, float]]]:
        """By policy the summaries, one for each seed."""
        if len(self.points) > 1:
            raise ValueError(f"{len(self.points)} points: at(...) chooses one of them")
        return {policy: [run.summary[policy] for run in self.done] for policy in self.policies}

    @cached_property
    def summary(self) -> dict[str, dict[Any, Interval]]:
        """By policy and metric an `Interval`."""
        return {policy: self._intervals(own) for policy, own in self.runs.items()}

    @property
    def timing(self) -> dict[Any, Interval]:
        """Intervals of wall-clock seconds, of the run and of decisions, which are not reproducible."""
        return self._intervals([run.timing for run in self.done])

    def plot(self, path: str | os.PathLike[str] | None = None, force: bool = True) -> Any:
        """Draw the mean response of every policy over the last parameter of the grid, in a panel for each
        combination of the others, into the file ``path`` (needs matplotlib). ``force=False`` overwrites no
        file."""
        return view().draw_grid(self, path, force=force)

    def _intervals(self, rows: Sequence[Mapping[Any, float]]) -> dict[Any, Interval]:
        names = dict.fromkeys(name for row in rows for name in row)
        return {
            name: interval([row.get(name, math.nan) for row in rows], self.confidence)
            for name in names
        }

    @property
    def slowdown(self) -> dict[str, tuple[Any, Any]]:
        """By policy: jobs and mean stretch in each bucket of size, pooled over all seeds."""
        found = {}
        for policy in self.policies:
            parts = [run.slowdown[policy] for run in self.done]
            jobs, total = np.zeros((2, max(len(count) for count, _ in parts)))
            for count, mean in parts:
                jobs[: len(count)] += count
                total[: len(count)] += count * np.where(count, mean, 0.0)
            found[policy] = jobs.astype(np.int64), quotient(total, jobs)
        return found


def _one(
    make: Callable[..., Any],
    point: dict[str, Any],
    seed: int,
    policies: Sequence[Any],
    options: dict[str, Any],
) -> Run | None:
    of_jobs = {name: point[name] for name in point if name in signature(make).parameters}
    varied = {name: point[name] for name in point if name not in of_jobs}
    found = simulate(
        make(seed, **of_jobs), policy=list(policies), rng=seed, **{**options, **varied}
    )
    if not found.complete:
        return None
    return Run(point, seed, found.model, found.summary, found.slowdown, found.timing)


def replicate(
    make: Callable[..., Any],
    seeds: Iterable[int],
    policies: Any,
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    executor: Any = None,
    confidence: float = 0.95,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Replications:
    """Run all policies on the jobs of ``make(seed)``, for every seed at every point of a grid.

    Parameters
    ----------
    make : callable
        Makes the jobs of a seed; its other parameters may be names of the grid. For pools of processes it
        must be at the top level of a module.
    seeds : iterable of int
        Seeds, also ``rng`` of `malleable.simulate`; all policies see the same jobs and draws.
    policies : str, policy of your own, or sequence of them
        As for `malleable.simulate`.
    grid : dict of str to sequence, optional
        Values of parameters of ``make``, or of options of `malleable.simulate`, such as ``load`` and
        ``estimates``. All combinations are run, the last one varies fastest.
    executor : object with ``submit``, optional
        Where to run, as in ``concurrent.futures``: a pool of threads or processes, Dask's
        ``client.get_executor()``. By default one run after another. The result does not depend on it.
    confidence : float
        Confidence of the intervals over independent replications.
    progress : callable, optional
        Called with the number of finished runs and of all runs.
    **options
        Options of `malleable.simulate`.

    Returns
    -------
    Replications
        After Ctrl-C with the finished runs.

    Raises
    ------
    ValueError
        As `malleable.simulate`; a confidence that is not between 0 and 1.

    See Also
    --------
    malleable.simulate : One simulation.

    Notes
    -----
    Time is linear in points times seeds times policies. Memory is O(their number), unless
    ``records=True`` keeps the records of all runs.

    Examples
    --------
    >>> from functools import partial
    >>> import malleable as mb
    >>> make = partial(mb.generate_cluster_jobs, 20)  # called with a seed
    >>> cluster = mb.Cluster.for_load(make(0), 0.9)
    >>> found = mb.replicate(make, range(3), ["flex", "fair"], cluster=cluster)
    >>> sorted(found.summary)
    ['fair', 'flex']
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence = {confidence}: must be between 0 and 1")
    policies = list(policies) if isinstance(policies, (list, tuple)) else [policies]
    grid = grid or {}
    points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    tasks = list(product(points, seeds))
    options.setdefault("records", False)
    done: list[Run] = []
    futures: list[Any] = []
    complete = True
    try:
        if executor is not None:
            one = partial(_one, make)  # the same for all, so that engines send it once
            futures = [executor.submit(one, *task, policies, options) for task in tasks]
        for k, (point, seed) in enumerate(tasks):
            run = futures[k].result() if futures else _one(make, point, seed, policies, options)
            if run is None:
                raise KeyboardInterrupt
            done.append(run)
            if progress is not None:
                progress(len(done), len(tasks))
    except BaseException as error:
        rest = _finished(futures[len(done) :])
        if not isinstance(error, KeyboardInterrupt):
            raise
        complete = False
        done += rest
    return Replications(done, complete, confidence)


def _finished(futures: list[Any]) -> list[Run]:
    for future in futures:
        future.cancel()
    ended = [future for future in futures if future.done() and not future.cancelled()]
    found = [future.result() for future in ended if future.exception() is None]
    return [run for run in found if run is not None]
