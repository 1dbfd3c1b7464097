"""Replications: one experiment with several seeds, means with confidence intervals, in parallel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from malleable import views
from malleable.cluster.simulate import policy_name
from malleable.simulation import simulate
from malleable.values import by_value

__all__ = ["Interval", "Replications", "interval", "replicate", "student_quantile"]


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
    if (known == known[0]).all():  # without what rounding makes of them
        return Interval(float(known[0]), 0.0)
    spread = float(known.std(ddof=1)) / math.sqrt(len(known))
    return Interval(mean, student_quantile(0.5 + confidence / 2, len(known) - 1) * spread)


@by_value(without=("timing",))
class Replications(NamedTuple):
    """Result of `replicate`.

    ``summary``: by policy and metric an `Interval`; ``runs``: by policy the summaries in the order of
    the seeds that were finished; ``slowdown``: by policy, jobs and mean stretch by decade of work over
    all seeds; ``complete``: False after Ctrl-C; ``by_size``: by policy and decade of work, an `Interval`
    of the mean stretch over the replications that have such jobs; ``timing``: wall-clock seconds, of the
    run and of decisions, which are not reproducible.
    """

    seeds: list[int]
    summary: dict[str, dict[str, Interval]]
    runs: dict[str, list[dict[str, float]]]
    slowdown: dict[str, tuple[Any, Any]]
    complete: bool
    by_size: dict[str, list[Interval]]
    timing: dict[str, Interval]

    def __repr__(self) -> str:
        seeds = views.counted(len(self.seeds), "replication")
        return f"Replications({', '.join(self.summary)}: {seeds})"

    def _repr_html_(self) -> str:
        return views.as_html(self)


def _one(make: Callable[[int], Any], seed: int, policies: Sequence[Any], options: Any) -> Any:
    found = simulate(make(seed), policy=list(policies), rng=seed, **options)
    return found.summary, found.slowdown, found.timing


def _by_size(parts: list[tuple[Any, Any]], confidence: float) -> list[Interval]:
    """Mean stretch in each decade over the runs that have jobs in it."""
    longest = max((len(count) for count, _ in parts), default=0)
    return [
        interval(
            [float(mean[k]) for count, mean in parts if k < len(count) and count[k]], confidence
        )
        for k in range(longest)
    ]


def _metrics(runs: list[dict[str, float]]) -> list[str]:
    return list(dict.fromkeys(metric for one in runs for metric in one))


def _pooled(parts: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Jobs and mean stretch by decade of several runs as of one."""
    longest = max((len(count) for count, _ in parts), default=1)
    count, total = np.zeros(longest, dtype=np.int64), np.zeros(longest)
    for jobs, mean in parts:
        count[: len(jobs)] += jobs
        total[: len(jobs)] += jobs * mean
    return count, np.divide(total, count, out=np.zeros(longest), where=count > 0)


def replicate(
    make: Callable[[int], Any],
    seeds: Sequence[int],
    policies: Sequence[Any],
    *,
    executor: Executor | None = None,
    confidence: float = 0.95,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Replications:
    """Run all policies once a seed on what ``make(seed)`` gives.

    Parameters
    ----------
    make : callable
        Gives the jobs; at module level for process pools.
    seeds : sequence of int
        ``rng`` of `malleable.simulate` as well; all policies see the same jobs and draws.
    policies : sequence
        As for `malleable.simulate`.
    executor : concurrent.futures.Executor, optional
        Where to run; None: here. The result does not depend on it.
    confidence : float
        Of the intervals, over independent replications.
    progress : callable, optional
        Called with the replications that are finished and all of them.
    **options
        Of `malleable.simulate`.

    Returns
    -------
    Replications
        After Ctrl-C with what was finished.
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence = {confidence}: must be between 0 and 1")
    options.setdefault("records", False)
    found: list[Any] = []
    complete = True
    futures = []
    try:
        if executor is not None:
            futures = [executor.submit(_one, make, seed, policies, options) for seed in seeds]
        for k, seed in enumerate(seeds):
            found.append(
                futures[k].result() if executor is not None else _one(make, seed, policies, options)
            )
            if progress is not None:
                progress(len(found), len(seeds))
    except KeyboardInterrupt:
        complete = False
        for future in futures:
            future.cancel()
    names = [policy_name(policy) for policy in policies]
    runs = {name: [summary[name] for summary, _, _ in found] for name in names}
    summary = {
        name: {
            metric: interval([one.get(metric, math.nan) for one in own], confidence)
            for metric in _metrics(own)
        }
        for name, own in runs.items()
    }
    sizes = {name: [parts[name] for _, parts, _ in found] for name in names}
    times = [timing for _, _, timing in found]
    return Replications(
        list(seeds[: len(found)]),
        summary,
        runs,
        {name: _pooled(parts) for name, parts in sizes.items()},
        complete,
        {name: _by_size(parts, confidence) for name, parts in sizes.items()},
        {
            key: interval([one[key] for one in times if key in one], confidence)
            for key in _metrics(times)
        },
    )
