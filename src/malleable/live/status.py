"""How far a run is, from its journal alone."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import NamedTuple

from malleable.live.expected import End, Left, expected_ends, task_seconds
from malleable.live.history import earlier
from malleable.live.jobs_file import Job, described_jobs, parents_first
from malleable.live.journal import Counted, Decided, Flying, Journal

__all__ = ["JobStatus", "RunStatus", "not_begun", "run_status"]


class JobStatus(NamedTuple):
    """How far a job is.

    ``slots`` are those that it was given, ``running`` its tasks that ran a second ago at most. ``seconds`` is
    what a task is expected to take in the mean, 0 if nothing tells, ``spread`` how far that may be off.
    ``end`` is when it is expected to end [s of the run], ``early`` and ``late`` between what 80 of 100
    times; NaN if no task of the run has ended and nobody said what its own take. ``deadline``
    is infinite if there is none.
    """

    name: str
    user: str
    slots: int
    running: int
    why: str
    done: int
    failed: int
    left: int
    seconds: float
    spread: float
    deadline: float
    end: float
    early: float
    late: float

    @property
    def risk(self) -> str:
        """Of its deadline: "late" as expected, "at risk" if more than 10 of 100 times, else nothing."""
        if self.left == 0:
            return ""
        if self.end > self.deadline:
            return "late"
        return "at risk" if self.late > self.deadline else ""


class RunStatus(NamedTuple):
    """How far a run is; ``status`` running, stopped, killed or done."""

    number: int
    status: str
    now: float
    slots: int
    jobs: list[JobStatus]

    @property
    def end(self) -> End:
        """When the last job ends, NaN if that of any is not known."""
        ends = [End(*job[-3:]) for job in self.jobs if job.left] or [End(*[self.now] * 3)]
        unknown = any(math.isnan(end.at) for end in ends)
        return End(*[math.nan] * 3 if unknown else map(max, zip(*ends, strict=True)))


def run_status(journal: Journal, number: int | None = None) -> RunStatus:
    """How far a run is, the last one by default; O(attempts + decisions), and some plans."""
    run = journal.run(number)
    jobs = described_jobs(run.jobs, run.folder)
    counted = journal.counted(run.id)
    none = Counted(0, 0.0, 0.0)
    sums = [counted.get(row, none) for row in range(len(jobs))]
    done = [each.done for each in sums]
    every = Counted(*map(sum, zip(none, *counted.values(), strict=True)))
    again = Counter(row for row, tried in journal.failing(run.id) if tried >= jobs[row].retries)
    failed = [again[row] for row in range(len(jobs))]
    place = {job.name: row for row, job in enumerate(jobs)}
    after = [[place[name] for name in job.after] for job in jobs]
    for row in range(len(jobs)) if run.status == "done" else _dropped(after, failed):
        failed[row] = len(jobs[row]) - done[row]
    live = run.status == "running" and journal.written()
    flying = journal.flying(run.id) if live else {}
    held: dict[int, Decided] = journal.held(run.id) if live else {}
    left = [
        _left(
            not_begun(job, own, journal), sums[row], every, failed[row], flying.get(row), run.lasted
        )
        for row, (job, own) in enumerate(zip(jobs, after, strict=True))
    ]
    ends = expected_ends(left, run.slots, run.objective, run.policy, run.lasted)
    rows = []
    for row, job in enumerate(jobs):
        own = held.get(row) if left[row].tasks else None
        slots, why = (own.slots, own.why) if own else (0, "")
        here = job.name, job.user, slots, left[row].running, why
        far = done[row], failed[row], left[row].tasks, *task_seconds(left[row])
        rows.append(JobStatus(*here, *far, job.deadline, *ends[row]))
    status = "killed" if run.status == "running" and not live else run.status
    return RunStatus(run.id, status, run.lasted, run.slots, rows)


def not_begun(job: Job, after: list[int], journal: Journal | None) -> Left:
    """A job of whose tasks none has ended; earlier runs count as one task that has."""
    seconds, spread = (
        (job.seconds, 0.0) if job.seconds or not journal else earlier(journal, job.called, job.user)
    )
    return Left(
        len(job), seconds, job.weight, job.deadline, job.min_slots, job.max_slots, after,
        int(spread > 0.0), spread,
    )  # fmt: skip


def _left(
    fresh: Left, sums: Counted, every: Counted, failed: int, flying: Flying | None, now: float
) -> Left:
    tasks = fresh.tasks - sums.done - failed
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


def _dropped(after: list[list[int]], failed: list[int]) -> set[int]:
    """Jobs that never run, as a job that they wait for failed; O(jobs + edges)."""
    found: set[int] = set()
    for row in parents_first(after):
        if any(failed[parent] or parent in found for parent in after[row]):
            found.add(row)
    return found
