"""How fast this machine decides: the latency of an epoch, and of a full plan.

Two instances, with log-normal work (mean 3 and standard deviation 1.5 of the logarithm, seed 1):
(a) twice as many slots as jobs, minima 1, maxima uniform on 1 to 64; (b) a tenth as many slots as
jobs, no minima, maxima all slots. Between two decisions 1 % of the jobs leave, arrive or change (a
third each), so the number of jobs stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from malleable.jobs.epoch import Decision, Epoch
from malleable.jobs.generate import lognormal_jobs
from malleable.jobs.plan import plan
from malleable.jobs.table import Jobs
from malleable.view.text import Table, table, wall_time

SHARE = 0.01
"""Fraction of the jobs that leave, arrive or change between two decisions."""

_FULL_PLANS = 11
_SEED = 1
_QUANTILES = {"median": 0.5, "p99": 0.99, "p999": 0.999, "worst": 1.0}
# Steps and quantiles that are told, in words.
_TIMES = {
    "decide_median": "decide: median",
    "decide_p99": "decide: p99",
    "decide_p999": "decide: p99.9",
    "decide_worst": "decide: worst",
    "change_median": "1 % of the jobs changed: median",
    "change_p99": "1 % of the jobs changed: p99",
    "plan_median": "full plan, effort 0: median",
    "plan_worst": "full plan, effort 0: worst",
    "sort_median": "(sorting as many numbers: median)",
}

INSTANCES = {
    "a": "2 slots a job, minima of 1",
    "b": "10 jobs a slot, no minima or maxima",
}
"""What the instances are, in words."""


def instance_a(jobs: int) -> tuple[Jobs, int]:
    """Jobs and slots of instance "a": 2 slots a job, minima 1, maxima U{1..64}."""
    return lognormal_jobs(jobs, 2 * jobs, min_slots=1, max_slots=(1, 64), rng=_SEED), 2 * jobs


def instance_b(jobs: int) -> tuple[Jobs, int]:
    """Jobs and slots of instance "b": a tenth of a slot a job, no minima, maxima all slots."""
    slots = max(1, jobs // 10)
    return lognormal_jobs(jobs, slots, min_slots=0, max_slots=None, rng=_SEED), slots


class EpochLatency(NamedTuple):
    """Wall-clock seconds of single steps, for one instance.

    In ``times``, ``decide_*`` is `Epoch.decide` alone, ``change_*`` the calls of remove, add and update
    before it, ``plan_*`` a whole FLEX plan with value, bound and pieces (fixed orders only), and
    ``sort_median`` the time of sorting as many random numbers with NumPy, a yardstick.
    """

    instance: str
    objective: str
    jobs: int
    slots: int
    epochs: int
    times: dict[str, float]


def epoch_latency(
    instance: str = "a",
    jobs: int = 100_000,
    *,
    epochs: int = 2000,
    objective: str = "sum:response",
    progress: Callable[[], None] | None = None,
) -> EpochLatency:
    """Measure decisions on instance "a" or "b" while jobs come, go and change.

    Parameters
    ----------
    instance : {"a", "b"}
    jobs, epochs : int
        Number of jobs, and of decisions that are timed.
    objective : str
        As for `malleable.Epoch`.
    progress : callable, optional
        Called after each decision.

    Raises
    ------
    ValueError
        For an unknown instance or objective, or fewer than 1 job or epoch.
    """
    if epochs < 1:
        raise ValueError(f"epochs = {epochs}: must be at least 1")
    stream = DecisionStream(instance, jobs, objective)
    decide, change = np.empty(epochs), np.empty(epochs)
    for k in range(epochs):
        stream.change()
        change[k] = stream.change_seconds
        decide[k] = _seconds(stream.decide)
        if progress is not None:
            progress()
    plans = [plan(stream.jobs, stream.slots, objective, effort=0) for _ in range(_FULL_PLANS)]
    full = [made.timing["seconds"] for made in plans]
    numbers = np.random.default_rng(_SEED).random(jobs)
    sorting = [_seconds(lambda: np.sort(numbers)) for _ in range(_FULL_PLANS)]
    steps: dict[str, Any] = {"decide": decide, "change": change, "plan": full, "sort": sorting}
    times = {}
    for name in _TIMES:
        step, _, quantile = name.partition("_")
        times[name] = float(np.quantile(steps[step], _QUANTILES[quantile]))
    return EpochLatency(instance, objective, jobs, stream.slots, epochs, times)


class DecisionStream:
    """An epoch on instance "a" or "b" whose jobs keep coming, going and changing.

    `change` replaces and updates `SHARE` of the jobs and moves the clock on by a second; `decide`
    asks for the slots then. ``change_seconds`` is the wall-clock time of the last change, without
    what it took to draw it.
    """

    def __init__(self, instance: str, jobs: int, objective: str = "sum:response") -> None:
        instances = {"a": instance_a, "b": instance_b}
        if instance not in instances:
            raise ValueError(f"instance = {instance!r}: expected a or b")
        if jobs < 1:
            raise ValueError(f"jobs = {jobs}: must be at least 1")
        self.jobs, self.slots = instances[instance](jobs)
        self.now = 0.0
        self.change_seconds = 0.0
        self._rng = np.random.default_rng(_SEED + 1)
        self._each = min(max(1, round(jobs * SHARE / 3)), jobs)
        self._work = self.jobs.work.copy()
        self._epoch = Epoch(self.slots, objective)
        self._ids = self._epoch.add(jobs=self.jobs)
        self._epoch.decide(self.now)

    def change(self) -> None:
        """Let jobs leave, arrive and change."""
        jobs, rng, each = self.jobs, self._rng, self._each
        self.now += 1.0
        rows = rng.permutation(len(jobs))
        gone, changed = rows[:each], rows[each : 2 * each]
        alike = rng.integers(0, len(jobs), each)  # those that come are like some that were there
        work, low, high = jobs.work[alike], jobs.min_slots[alike], jobs.max_slots[alike]
        self._work[gone] = work
        self._work[changed] *= rng.uniform(0.5, 1.0, len(changed))
        left, leaving, moving = self._work[changed], self._ids[gone], self._ids[changed]

        began = time.perf_counter()
        self._epoch.remove(leaving)
        came = self._epoch.add(work, arrival=self.now, min_slots=low, max_slots=high)
        self._epoch.update(moving, work=left)
        self.change_seconds = time.perf_counter() - began
        self._ids[gone] = came

    def decide(self) -> Decision:
        """The slots now."""
        return self._epoch.decide(self.now)


def _seconds(step: Callable[[], object]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began


def latency_dict(results: list[EpochLatency]) -> dict[str, Any]:
    """The results in JSON types; all times in seconds."""
    own = [(one._asdict(), one.times) for one in results]
    flat = [{key: fields[key] for key in fields if key != "times"} | times for fields, times in own]
    return {"unit": "s", "share_changed": SHARE, "instances": flat}


def latency_table(results: list[EpochLatency]) -> Table:
    """The results as a table for people: one column a result."""
    lines = [
        ("jobs", *(f"{one.jobs:,}" for one in results)),
        ("slots", *(f"{one.slots:,}" for one in results)),
        ("objective", *(one.objective for one in results)),
        ("decisions timed", *(f"{one.epochs:,}" for one in results)),
        *(
            (told, *(wall_time(one.times[name]) for one in results))
            for name, told in _TIMES.items()
        ),
    ]
    columns = ["", *(INSTANCES[one.instance] for one in results)]
    return table("Epoch latency on this machine", columns, lines)
