"""When the jobs of a run are expected to end, by plans of what is left of them.

What is left is known but for the seconds of tasks. Their mean is uncertain as that of a sample is, and
those that are left differ as those that ended did: so the work of each job and its last tasks are drawn
some times, and each time planned anew. Seconds are drawn lognormal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from malleable.jobs.plan import POLICIES, plan
from malleable.jobs.table import Jobs
from malleable.live.jobs_file import parents_first

__all__ = ["End", "Left", "expected_ends", "task_seconds"]

_DRAWS = 16
_SHARE = 0.8  # of the ends that are drawn lie within the spread
_UNSURE = 0.5  # standard deviation of task seconds over their mean, where nothing is known; counts as one task
_LEAST = 1e-6  # mean tasks that the longest of those that run has left
_RARE = 1e-9  # share of tasks beyond which a lognormal is not believed
_STEPS = 3  # of the mean with those that run
_LAST = 256  # of a job's tasks that may be its last one

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
    is the earliest that it can. A plan divides tasks, engines do not: a job ends with the last of the tasks
    that run when none waits any more, and not before its tasks can. Cost: ``draws`` plans of fixed orders, and
    O(draws (jobs + edges)).
    """
    jobs = [_with_running(job) for job in jobs]
    means = np.array([job.seconds for job in jobs])
    rng = np.random.default_rng(0)
    sigma = np.array([_sigma(job) for job in jobs])
    tails = np.array([_tails(job, slots, rng, draws) for job in jobs]).reshape(-1, draws + 1).T
    how = slots, objective, policy, now
    found = [_ends(jobs, how, means, tails[0])]
    for tail in tails[1:]:
        drawn = means * np.exp(sigma * rng.standard_normal(len(jobs)) - 0.5 * sigma * sigma)
        found.append(_ends(jobs, how, drawn, tail))
    low, high = 0.5 - 0.5 * _SHARE, 0.5 + 0.5 * _SHARE
    spread = np.quantile(found, [low, high], axis=0).T.tolist()
    return [
        End(at, min(at, early), max(at, late))
        for at, (early, late) in zip(found[0], spread, strict=True)
    ]


def _squares(job: Left) -> float:
    """Variance of a task's seconds over their mean's square."""
    own = job.seen * (job.deviation / job.seconds) ** 2
    return (own + _UNSURE**2) / (job.seen + 1)


def task_seconds(job: Left) -> tuple[float, float]:
    """Seconds of a job's tasks in the mean, those that run counted, and how far that may be off (standard
    deviation); 0 and 0: not known."""
    if not job.seconds:
        return 0.0, 0.0
    job = _with_running(job)
    return job.seconds, job.seconds * math.sqrt(_squares(job) / max(1, job.seen))


def _sigma(job: Left) -> float:
    """Deviation of the logarithm of the mean seconds of the tasks that are left."""
    if job.tasks == 0 or job.seconds == 0.0:
        return 0.0
    squares = _squares(job)
    return math.sqrt(math.log1p(squares / max(1, job.seen) + squares / job.tasks))


def _beyond(gone: float, mean: float, squares: float) -> float:
    """Mean seconds of tasks that take more than so many, of lognormal ones."""
    if gone <= 0.0:
        return mean
    sigma = math.sqrt(math.log1p(squares))
    place = (math.log(mean / gone) - 0.5 * sigma * sigma) / sigma
    share = math.erfc(-place / math.sqrt(2.0))  # of tasks, doubled
    if share < _RARE:
        return gone + mean
    return mean * math.erfc(-(place + sigma) / math.sqrt(2.0)) / share


def _with_running(job: Left) -> Left:
    """Short tasks end first: those that run count in the mean with what they are expected to take."""
    if not (job.seen and job.running and job.seconds):
        return job
    squares, mean = _squares(job), job.seconds
    for _ in range(_STEPS):
        more = _beyond(job.elapsed, mean, squares)
        mean = (job.seen * job.seconds + job.running * more) / (job.seen + job.running)
    return replace(job, seconds=mean, deviation=job.deviation * mean / job.seconds)


def _tails(job: Left, slots: int, rng: np.random.Generator, draws: int) -> Floats:
    """By how many mean tasks a job ends behind its share: the mean, and as drawn.

    Tasks start one after the other, as slots come free, until none waits; the job ends with the last of
    those that run then. Its share counts what is left of them in the mean. Where none waits, the tail is
    the longest of those that run.
    """
    width = job.width(slots)
    waiting = job.tasks - job.running
    if job.tasks == 0 or job.seconds == 0.0:
        return np.zeros(draws + 1)
    squares = _squares(job)
    sigma = math.sqrt(math.log1p(squares))
    count = min(job.tasks, _LAST, 4 * width)
    took = np.exp(sigma * rng.standard_normal((draws, count)) - 0.5 * sigma * sigma)
    if waiting:
        begun = np.arange(count) / width
        rest = 0.5 * (1.0 + squares) if job.running else 1.0
        even = 0.5 if job.running else 0.0
    else:
        gone = [min(job.elapsed / job.seconds, 1.0) % 1.0] * count
        gone[0] = min(job.least / job.seconds, 1.0) % 1.0
        begun, rest, even = np.array(gone), 0.0, 1.0 - gone[0]
    tails = np.maximum((took - begun).max(axis=1, initial=0.0), _LEAST) - rest
    return np.concatenate([[tails.mean() if job.seen and draws else even], tails])


def _ends(
    jobs: Sequence[Left], how: tuple[int, str, str, float], seconds: Floats, tails: Floats
) -> list[float]:
    """When each job ends if its tasks take so long, and the last ones so much longer."""
    slots, objective, policy, now = how
    known = [
        row
        for row, job in enumerate(jobs)
        if job.tasks and job.seconds > 0.0 and not any(jobs[parent].tasks for parent in job.after)
    ]
    ends = [now if job.tasks == 0 else math.nan for job in jobs]
    if known:
        chosen = [jobs[row] for row in known]
        took = seconds[known]
        rest = [
            _beyond(job.elapsed, mean, _squares(job)) - job.elapsed if job.running else 0.0
            for job, mean in zip(chosen, took.tolist(), strict=True)
        ]
        running = np.array([job.running for job in chosen])
        tasks = np.array([job.tasks for job in chosen])
        most = np.array([job.width(slots) for job in chosen])
        table = Jobs(
            work=(tasks - running) * took + running * np.array(rest),
            min_slots=np.minimum([job.min_slots for job in chosen], most),
            max_slots=most,
            weight=[job.weight for job in chosen],
            deadline=[job.deadline for job in chosen],
            arrival=0.0,
        )
        name = policy if policy in POLICIES else POLICIES[0]
        made = plan(table, slots=slots, objective=objective, policy=name, now=now, effort=0)
        waves = np.ceil((tasks - running) / most) * took
        share = np.where(tasks > running, made.completion, now)
        found = np.maximum(share + tails[known] * took, now + waves)
        for row, end in zip(known, found.tolist(), strict=True):
            ends[row] = end
    return _after_parents(jobs, slots, ends, seconds)


def _after_parents(
    jobs: Sequence[Left], slots: int, ends: list[float], seconds: Floats
) -> list[float]:
    """Ends moved behind those of the jobs that each waits for, parents first; no cycles."""
    for row in parents_first([job.after for job in jobs]):
        job = jobs[row]
        if job.after and job.tasks:
            own = float(seconds[row]) * math.ceil(job.tasks / job.width(slots))
            start = [ends[parent] for parent in job.after if jobs[parent].tasks]
            if start:
                unknown = job.seconds == 0.0 or any(map(math.isnan, start))
                ends[row] = math.nan if unknown else max(start) + own
    return ends
