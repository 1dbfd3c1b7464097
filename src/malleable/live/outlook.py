"""When the jobs of a run are expected to end: the one answer that all views give.

The line of a run, its table, ``status``, ``watch``, ``--dry-run`` and `Executor.progress` say what they know of
jobs, and ask here. What is known is what was believed of each job before it began, and what has been counted
since. One answer costs some plans (`malleable.live.expected`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from malleable.live.expected import End, Left, expected_ends
from malleable.live.history import Earlier
from malleable.live.jobs_file import Job
from malleable.live.journal import Counted, Flying
from malleable.live.loop import Work

__all__ = [
    "NONE", "UNKNOWN", "Outlook", "counted", "fresh_job", "fresh_work", "last_end", "left_now",
    "outlook", "outlook_of",
]  # fmt: skip

NONE = Counted(0, 0.0, 0.0)
"""Of a job of which no task has ended."""
UNKNOWN = End(*[math.nan] * 3)
"""An end that is not known."""


class Outlook(NamedTuple):
    """What is left of each job, when each ends, and the last of them, in seconds of the run; NaN: not known."""

    left: list[Left]
    ends: list[End]
    end: End


def fresh_job(job: Job, after: Sequence[int], earlier: Earlier | None) -> Left:
    """A job before any of its tasks has ended; earlier runs count as one task that has."""
    seconds, spread = (
        (job.seconds, 0.0) if job.seconds or not earlier else earlier(job.called, job.user)
    )
    return Left(
        len(job), seconds, job.weight, job.deadline, job.min_slots, job.max_slots, after,
        int(spread > 0.0), spread,
    )  # fmt: skip


def fresh_work(work: Work, tasks: int) -> Left:
    """The same of a job that a loop has, of so many tasks."""
    terms = work.weight, work.deadline, work.min_slots, work.max_slots, work.after
    return Left(tasks, work.seconds, *terms)


def counted(work: Work) -> Counted:
    """What a loop has counted."""
    return Counted(work.done, work.taken, work.squares, work.began, work.last, work.retried)


def outlook(
    fresh: Sequence[Left],
    sums: Sequence[Counted],
    failed: Sequence[int],
    flying: Mapping[int, Flying],
    how: tuple[int, str, str],
    now: float = 0.0,
) -> Outlook:
    """When each job ends.

    Parameters
    ----------
    fresh : sequence of Left
        Jobs as `fresh_job` or `fresh_work` says them, in the order of the run.
    sums, failed : sequence
        What has been counted of each job, and its tasks that did not end well.
    flying : mapping
        What runs, by row.
    how : tuple
        Slots, objective and policy of the run.
    now : float
        [s] of the run.
    """
    left = left_now(fresh, sums, failed, flying, now)
    slots, objective, policy = how
    ends = expected_ends(left, max(1, slots), objective, policy, now)
    return Outlook(left, ends, last_end(left, ends, now))


def left_now(
    fresh: Sequence[Left],
    sums: Sequence[Counted],
    failed: Sequence[int],
    flying: Mapping[int, Flying],
    now: float,
) -> list[Left]:
    """What is left of each job, and what its tasks are believed to take; as for `outlook`."""
    columns = zip(*(own[:3] for own in (NONE, *sums)), strict=True)
    every = Counted(*(sum(column) for column in columns))
    return [
        _left(job, sums[row], every, failed[row], flying.get(row), now)
        for row, job in enumerate(fresh)
    ]


def last_end(left: Sequence[Left], ends: Sequence[End], now: float) -> End:
    """When the last job ends that has something left; not known if that of any is not."""
    rest = [end for job, end in zip(left, ends, strict=True) if job.tasks]
    if any(math.isnan(end.at) for end in rest):
        return UNKNOWN
    return End(*map(max, zip(*(rest or [End(*[now] * 3)]), strict=True)))


def _left(
    fresh: Left, sums: Counted, every: Counted, failed: int, flying: Flying | None, now: float
) -> Left:
    tasks = max(0, fresh.tasks - sums.done - failed)
    if flying:
        fresh = replace(
            fresh,
            running=min(tasks, flying.tasks),
            elapsed=max(0.0, now - flying.began),
            least=max(0.0, now - flying.latest),
        )
    known = sums if sums.done or fresh.seconds else every  # tasks of others, which count as one
    if known.done:
        mean = known.seconds / known.done
        spread = math.sqrt(max(0.0, known.squares / known.done - mean * mean))
        fresh = replace(fresh, seconds=mean, seen=sums.done or 1, deviation=spread)
    return replace(fresh, tasks=tasks)


def outlook_of(
    fresh: Sequence[Left],
    works: Sequence[Work],
    flying: Sequence[Flying],
    how: tuple[int, str, str],
    now: float,
) -> Outlook:
    """As `outlook`, of the jobs that a loop has now."""
    sums = [counted(work) for work in works]
    return outlook(
        fresh, sums, [work.failed for work in works], {own.job: own for own in flying}, how, now
    )
