"""When the jobs of a run are expected to end, by plans of what is left of them.

What is left is known but for the seconds of tasks. Their mean is uncertain as that of a sample is, and
those that are left differ as those that ended did: so the work of each job is drawn some times, and each
time planned anew.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from malleable.jobs.plan import POLICIES, plan
from malleable.jobs.table import Jobs

__all__ = ["End", "Left", "expected_ends"]

_DRAWS = 16
_SHARE = 0.8  # of the ends that are drawn lie within the spread
_UNSURE = 0.5  # standard deviation of task seconds over their mean, where nothing is known; counts as one task
_LEAST = 1e-6  # seconds of a task

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Left:
    """What is left of a job.

    Attributes
    ----------
    tasks : int
        With those that run.
    seconds : float
        Of a task in the mean; 0: not known.
    seen : int
        Tasks that the mean is of; 0: somebody said so.
    deviation : float
        Of these tasks' seconds.
    running : int
        Tasks that run.
    elapsed, least : float
        Seconds that these have run in the mean, and the one that began last.
    weight, deadline, min_slots, max_slots, after
        As in files of jobs.
    """

    tasks: int
    seconds: float
    weight: float = 1.0
    deadline: float = math.inf
    min_slots: int = 0
    max_slots: int | None = None
    after: Sequence[int] = ()
    seen: int = 0
    deviation: float = 0.0
    running: int = 0
    elapsed: float = 0.0
    least: float = 0.0

    def width(self, slots: int) -> int:
        """Slots that it can use at most."""
        return min(self.tasks, self.max_slots or self.tasks, slots)


class End(NamedTuple):
    """When a job is expected to end, and between what 80 of 100 times; NaN: not known."""

    at: float
    early: float
    late: float


def expected_ends(
    jobs: Sequence[Left],
    slots: int,
    objective: str,
    policy: str,
    now: float = 0.0,
    draws: int = _DRAWS,
) -> list[End]:
    """When each job ends.

    Parameters
    ----------
    jobs : sequence of Left
    slots : int
    objective, policy : str
        Of the run; a policy that cannot plan is planned for as ``flex``.
    now : float
        [s] of the run.
    draws : int
        Plans for the spread; 0: there is none.

    Returns
    -------
    list of End
        [s] of the run; NaN where seconds of tasks are not known.

    Notes
    -----
    Jobs without known seconds are left out of the plan, as if they took no slots. Jobs that wait for
    others are not planned either: each ends its own work, on all slots that it may have, after them, which
    is the earliest that it can. A plan divides tasks, engines do not: what ends is behind its share by half
    a task in the mean, and no job ends before its tasks can. Cost: ``draws`` plans of fixed orders, and
    O(draws (jobs + edges)).
    """
    means = np.array([job.seconds for job in jobs])
    found = [_ends(jobs, slots, objective, policy, now, means)]
    rng = np.random.default_rng(0)
    sigma = np.array([_sigma(job) for job in jobs])
    for _ in range(draws):
        drawn = means * np.exp(sigma * rng.standard_normal(len(jobs)) - 0.5 * sigma * sigma)
        found.append(_ends(jobs, slots, objective, policy, now, drawn))
    low, high = 0.5 - 0.5 * _SHARE, 0.5 + 0.5 * _SHARE
    early, late = np.quantile(found, [low, high], axis=0)
    return [
        End(at, min(at, first), max(at, last))
        for at, first, last in zip(found[0], early.tolist(), late.tolist(), strict=True)
    ]


def _sigma(job: Left) -> float:
    """Deviation of the logarithm of the mean seconds of the tasks that are left."""
    if job.tasks == 0 or job.seconds == 0.0:
        return 0.0
    own = job.seen * (job.deviation / job.seconds) ** 2
    squares = (own + _UNSURE**2) / (job.seen + 1)  # over the mean's square
    return math.sqrt(math.log1p(squares / max(1, job.seen) + squares / job.tasks))


def _ends(
    jobs: Sequence[Left], slots: int, objective: str, policy: str, now: float, seconds: Floats
) -> list[float]:
    """When each job ends if its tasks take so long."""
    known = [
        row
        for row, job in enumerate(jobs)
        if job.tasks and job.seconds > 0.0 and not any(jobs[parent].tasks for parent in job.after)
    ]
    ends = [now if job.tasks == 0 else math.nan for job in jobs]
    if known:
        chosen = [jobs[row] for row in known]
        took = seconds[known]
        # A task that has run for longer than the mean is as far from its end as one that has just begun.
        gone = np.array([job.elapsed for job in chosen])
        rest = np.where(gone < took, took - gone, took)
        running = np.array([job.running for job in chosen])
        tasks = np.array([job.tasks for job in chosen])
        most = np.array([job.width(slots) for job in chosen])
        table = Jobs(
            work=(tasks - running) * took + running * rest,
            min_slots=np.minimum([job.min_slots for job in chosen], most),
            max_slots=most,
            weight=[job.weight for job in chosen],
            deadline=[job.deadline for job in chosen],
            arrival=0.0,
        )
        name = policy if policy in POLICIES else POLICIES[0]
        made = plan(table, slots=slots, objective=objective, policy=name, now=now, effort=0)
        waves = np.ceil((tasks - running) / most) * took
        last = np.array([job.least for job in chosen])
        least = now + np.where(tasks > running, waves, np.where(last < took, took - last, took))
        ahead = np.where((running > 0) & (tasks > running), 0.5 * took, 0.0)
        for row, end in zip(known, np.maximum(made.completion + ahead, least), strict=True):
            ends[row] = float(end)
    return _after_parents(jobs, slots, ends, seconds)


def _after_parents(
    jobs: Sequence[Left], slots: int, ends: list[float], seconds: Floats
) -> list[float]:
    """Ends moved behind those of the jobs that each waits for, parents first; no cycles."""
    children: list[list[int]] = [[] for _ in jobs]
    missing = [len(job.after) for job in jobs]
    for row, job in enumerate(jobs):
        for parent in job.after:
            children[parent].append(row)
    free = [row for row, count in enumerate(missing) if count == 0]
    for row in free:  # grows while it is read; every job is appended once
        job = jobs[row]
        if job.after and job.tasks:
            own = float(seconds[row]) * math.ceil(job.tasks / job.width(slots))
            start = [ends[parent] for parent in job.after if jobs[parent].tasks]
            if start:
                unknown = job.seconds == 0.0 or any(map(math.isnan, start))
                ends[row] = math.nan if unknown else max(start) + own
        for child in children[row]:
            missing[child] -= 1
            if missing[child] == 0:
                free.append(child)
    return ends
