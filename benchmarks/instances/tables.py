"""Large tables with deadlines, for whole plans; arrivals 0 everywhere.

due_table(n, g, seed=1): T(n, g): n / 10 slots, works lognormal(3, 1.5), maxima U{1..64} (at most the slots),
    weights U{1..9}, deadlines U(0.05, 1.2) g x all work / slots + work / max: g = 1 can all be met, 0.35 and
    0.06 cannot.
due_steps(n, g, seed=1): the same with three SLA steps a job, each drawn like the deadline, penalties 1, 2, 3.
section41_larger(n, 1, weighted=True), of `speed`: P(n).
facebook_due(g, seed=1, jobs=None): F(g): the jobs of Facebook's sample of 2010 on 3,000 slots, weights and
    deadlines as in T; it needs the traces' folder. ``jobs``: as many of them at random.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.instances.workflows import traces
from malleable import Jobs, read

__all__ = ["due_steps", "due_table", "facebook_due"]


def _drawn(n: int, seed: int) -> tuple[Any, Any, Any, Any, int]:
    rng, slots = np.random.default_rng(seed), n // 10
    work = rng.lognormal(3.0, 1.5, n)
    most = np.minimum(rng.integers(1, 65, n), slots)
    return rng, work, most, rng.integers(1, 10, n), slots


def due_table(n: int, g: float, seed: int = 1) -> tuple[Jobs, int]:
    """Works, weights and maxima of one seed with deadlines as tight as asked."""
    rng, work, most, weight, slots = _drawn(n, seed)
    due = rng.uniform(0.05, 1.2, n) * g * work.sum() / slots + work / most
    return Jobs(work, max_slots=most, weight=weight, deadline=due), slots


def due_steps(n: int, g: float, seed: int = 1) -> tuple[Jobs, int]:
    """Three times from which on more is paid."""
    rng, work, most, weight, slots = _drawn(n, seed)
    times = rng.uniform(0.05, 1.2, (n, 3)) * g * work.sum() / slots + (work / most)[:, None]
    steps = [list(zip(row, (1.0, 2.0, 3.0), strict=True)) for row in np.sort(times).tolist()]
    return Jobs(work, max_slots=most, weight=weight, sla=steps), slots


@lru_cache(maxsize=1)
def _facebook() -> Jobs:
    folder = traces()
    assert folder is not None, "no folder of traces"
    return read(folder / "swim-facebook" / "FB-2010_samples_24_times_1hr_0.tsv.gz").jobs()


def facebook_due(g: float, seed: int = 1, jobs: int | None = None) -> tuple[Jobs, int]:
    """Works over eight decades."""
    rng, slots, table = np.random.default_rng(seed), 3_000, _facebook()
    table = table.take(table.work > 0)
    if jobs is not None:
        table, slots = table.take(rng.permutation(len(table))[:jobs]), 3_000 * jobs // len(table)
    most = np.minimum(table.max_slots, slots)
    due = rng.uniform(0.05, 1.2, len(table)) * g * table.work.sum() / slots + table.work / most
    weight = rng.integers(1, 10, len(table))
    return Jobs(table.work, max_slots=most, weight=weight, deadline=due), slots
