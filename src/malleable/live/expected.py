"""When the jobs of a run are expected to end, by a plan of what is left of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from malleable.jobs.plan import POLICIES, plan
from malleable.jobs.table import Jobs

__all__ = ["Left", "expected_ends"]


@dataclass(frozen=True)
class Left:
    """What is left of a job: its tasks, and seconds of each (0: not known)."""

    tasks: int
    seconds: float
    weight: float = 1.0
    deadline: float = math.inf
    min_slots: int = 0
    max_slots: int | None = None
    after: Sequence[int] = ()


def expected_ends(
    jobs: Sequence[Left], slots: int, objective: str, policy: str, now: float = 0.0
) -> list[float]:
    """When each job ends.

    Parameters
    ----------
    jobs : sequence of Left
    slots : int
    objective, policy : str
        Of the run; a policy that cannot plan is planned for as ``flex``.
    now : float
        [s] of the run.

    Returns
    -------
    list of float
        [s] of the run; NaN where seconds of tasks are not known.

    Notes
    -----
    Jobs without known seconds are left out of the plan, as if they took no slots. A task is not
    divided: a job ends at least a task's seconds from now. Jobs that wait for others are not planned
    either: each ends its own work, on all slots that it may have, after them, which is the earliest that
    it can. Cost: a plan, and O(jobs + edges).
    """
    known = [
        row
        for row, job in enumerate(jobs)
        if job.tasks and job.seconds > 0.0 and not any(jobs[parent].tasks for parent in job.after)
    ]
    ends = [now if job.tasks == 0 else math.nan for job in jobs]
    if known:
        chosen = [jobs[row] for row in known]
        most = np.array([min(job.tasks, job.max_slots or job.tasks, slots) for job in chosen])
        table = Jobs(
            work=[job.tasks * job.seconds for job in chosen],
            min_slots=np.minimum([job.min_slots for job in chosen], most),
            max_slots=most,
            weight=[job.weight for job in chosen],
            deadline=[job.deadline for job in chosen],
            arrival=0.0,
        )
        name = policy if policy in POLICIES else POLICIES[0]
        made = plan(table, slots=slots, objective=objective, policy=name, now=now)
        for row, end, width in zip(known, made.completion.tolist(), most.tolist(), strict=True):
            job = jobs[row]
            ends[row] = max(end, now + job.seconds * math.ceil(job.tasks / width))
    return _after_parents(jobs, slots, ends)


def _after_parents(jobs: Sequence[Left], slots: int, ends: list[float]) -> list[float]:
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
            width = min(job.tasks, job.max_slots or job.tasks, slots)
            own = job.seconds * math.ceil(job.tasks / width)
            start = [ends[parent] for parent in job.after if jobs[parent].tasks]
            if start:
                unknown = job.seconds == 0.0 or any(map(math.isnan, start))
                ends[row] = math.nan if unknown else max(start) + own
        for child in children[row]:
            missing[child] -= 1
            if missing[child] == 0:
                free.append(child)
    return ends
