"""How fast this machine decides: the latency of an epoch, and of a full plan.

Two instances, with log-normal work (mean 3 and standard deviation 1.5 of the logarithm, seed 1):
(a) twice as many slots as jobs, minima 1, maxima uniform on 1 to 64; (b) a tenth as many slots as
jobs, no minima, maxima all slots. Between two decisions 1 % of the jobs leave, arrive or change (a
third each), so the number of jobs stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from malleable.epoch import Epoch
from malleable.planning import plan
from malleable.report.text import table, wall_time
from malleable.tables import Floats, Jobs
from malleable.workloads import lognormal_jobs

if TYPE_CHECKING:
    from rich.table import Table

__all__ = [
    "EpochLatency",
    "epoch_latency",
    "instance_a",
    "instance_b",
    "latency_dict",
    "latency_table",
]

SHARE = 0.01
"""Fraction of the jobs that leave, arrive or change between two decisions."""

_FULL_PLANS = 11
_SEED = 1


def instance_a(jobs: int) -> tuple[Jobs, int]:
    """Jobs and slots of instance (a): 2 slots a job, minima 1, maxima U{1..64}."""
    return lognormal_jobs(jobs, 2 * jobs, min_slots=1, max_slots=(1, 64), rng=_SEED), 2 * jobs


def instance_b(jobs: int) -> tuple[Jobs, int]:
    """Jobs and slots of instance (b): a tenth of a slot a job, no minima, maxima all slots."""
    slots = max(1, jobs // 10)
    return lognormal_jobs(jobs, slots, min_slots=0, max_slots=None, rng=_SEED), slots


@dataclass(frozen=True)
class EpochLatency:
    """Wall-clock seconds of single steps, for one instance.

    ``decide_*`` is `Epoch.decide` alone, ``change_*`` the calls of remove, add and update before
    it, ``plan_*`` a whole FLEX plan with value, bound and pieces (fixed orders only), and
    ``sort_median`` the time of sorting as many random numbers with NumPy, a yardstick.
    """

    instance: str
    objective: str
    jobs: int
    slots: int
    epochs: int
    decide_median: float
    decide_p99: float
    decide_p999: float
    decide_worst: float
    change_median: float
    change_p99: float
    plan_median: float
    plan_worst: float
    sort_median: float


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
    instances = {"a": instance_a, "b": instance_b}
    if instance not in instances:
        raise ValueError(f"instance = {instance!r}: expected a or b")
    for field, count in (("jobs", jobs), ("epochs", epochs)):
        if count < 1:
            raise ValueError(f"{field} = {count}: must be at least 1")
    table, slots = instances[instance](jobs)
    decide, change = _decisions(table, slots, epochs, objective, progress)
    full = np.array(
        [plan(table, slots, objective, effort=0).timing["seconds"] for _ in range(_FULL_PLANS)]
    )
    numbers = np.random.default_rng(_SEED).random(jobs)
    sorting = np.array([_seconds(lambda: np.sort(numbers)) for _ in range(_FULL_PLANS)])
    return EpochLatency(
        instance,
        objective,
        jobs,
        slots,
        epochs,
        float(np.median(decide)),
        float(np.quantile(decide, 0.99)),
        float(np.quantile(decide, 0.999)),
        float(decide.max()),
        float(np.median(change)),
        float(np.quantile(change, 0.99)),
        float(np.median(full)),
        float(full.max()),
        float(np.median(sorting)),
    )


def _seconds(step: Callable[[], object]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began


def _decisions(
    jobs: Jobs, slots: int, epochs: int, objective: str, progress: Callable[[], None] | None
) -> tuple[Floats, Floats]:
    """Seconds of each decision, and of the changes before it."""
    rng = np.random.default_rng(_SEED + 1)
    count = len(jobs)
    each = min(max(1, round(count * SHARE / 3)), count)
    epoch = Epoch(slots, objective)
    ids = epoch.add(jobs=jobs)
    work = jobs.work.copy()
    epoch.decide(0.0)
    decide, change = np.empty(epochs), np.empty(epochs)
    for k in range(epochs):
        now = float(k + 1)
        rows = rng.permutation(count)
        gone, changed = rows[:each], rows[each : 2 * each]
        alike = rng.integers(0, count, each)  # those that come are like some that were there
        fresh = jobs.work[alike], jobs.min_slots[alike], jobs.max_slots[alike]
        work[gone] = fresh[0]
        work[changed] *= rng.uniform(0.5, 1.0, len(changed))
        left, leaving, moving = work[changed], ids[gone], ids[changed]

        began = time.perf_counter()
        epoch.remove(leaving)
        came = epoch.add(fresh[0], arrival=now, min_slots=fresh[1], max_slots=fresh[2])
        epoch.update(moving, work=left)
        between = time.perf_counter()
        epoch.decide(now)
        ended = time.perf_counter()

        change[k], decide[k] = between - began, ended - between
        ids[gone] = came
        if progress is not None:
            progress()
    return decide, change


def latency_dict(results: list[EpochLatency]) -> dict[str, Any]:
    """The results in JSON types; all times in seconds."""
    return {"unit": "s", "share_changed": SHARE, "instances": [asdict(one) for one in results]}


def latency_table(results: list[EpochLatency]) -> Table:
    """The results as a table for people: one column a result."""
    lines: list[tuple[str, Callable[[EpochLatency], str]]] = [
        ("jobs", lambda one: f"{one.jobs:,}"),
        ("slots", lambda one: f"{one.slots:,}"),
        ("objective", lambda one: one.objective),
        ("decisions timed", lambda one: f"{one.epochs:,}"),
        ("decide: median", lambda one: wall_time(one.decide_median)),
        ("decide: p99", lambda one: wall_time(one.decide_p99)),
        ("decide: p99.9", lambda one: wall_time(one.decide_p999)),
        ("decide: worst", lambda one: wall_time(one.decide_worst)),
        ("1 % of the jobs changed: median", lambda one: wall_time(one.change_median)),
        ("1 % of the jobs changed: p99", lambda one: wall_time(one.change_p99)),
        ("full plan, effort 0: median", lambda one: wall_time(one.plan_median)),
        ("full plan, effort 0: worst", lambda one: wall_time(one.plan_worst)),
        ("(sorting as many numbers: median)", lambda one: wall_time(one.sort_median)),
    ]
    columns = ["", *(f"instance ({one.instance})" for one in results)]
    return table(
        "Epoch latency on this machine", columns, [(w, *map(say, results)) for w, say in lines]
    )
