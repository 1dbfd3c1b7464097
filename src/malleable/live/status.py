"""How far a run is, from its journal alone."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import NamedTuple

from malleable.domain import MOST_SLOTS
from malleable.live.expected import End, Left, expected_ends, task_seconds
from malleable.live.guard import Guard
from malleable.live.history import Earlier
from malleable.live.jobs_file import UNRECORDED, Job, described_jobs, parents_first
from malleable.live.journal import Counted, Decided, Flying, JobRow, Journal, JournalError, Run
from malleable.live.output import job_folder, output_folder

__all__ = ["JobStatus", "RunStatus", "not_begun", "run_status"]


class JobStatus(NamedTuple):
    """How far a job is.

    ``slots`` are those that it was given, ``running`` its tasks that ran a second ago at most. ``seconds`` is
    what a task is expected to take in the mean, 0 if nothing tells, ``spread`` how far that may be off.
    ``end`` is when it is expected to end [s of the run], ``early`` and ``late`` between what 80 of 100
    times; NaN if no task of the run has ended and nobody said what its own take. ``deadline``
    is infinite if there is none. ``began`` is when the first of its tasks did, ``ended`` when the last one did
    of a job that has ended; NaN: no task has begun, or the job has not ended. ``end`` of such a job is that.
    ``output`` is the folder of its tasks' output, empty if there is none.
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
    began: float
    ended: float
    now: float
    output: str

    @property
    def tasks(self) -> int:
        """Their number."""
        return self.done + self.failed + self.left

    @property
    def cancelled(self) -> bool:
        """None of its tasks ran, as a job that it waits for failed."""
        return self.failed > 0 and math.isnan(self.began)

    @property
    def risk(self) -> str:
        """Of its deadline: "missed", "late" as expected, "at risk" if more than 10 of 100 times, else nothing.

        Who has tasks that failed has not met it once it is over.
        """
        last = self.deadline + 1e-9 * max(1.0, abs(self.deadline))
        whole = self.left == 0 and self.failed == 0
        if (self.ended if whole else self.now) > last:
            return "missed"
        if self.left == 0:
            return ""
        if self.end > last:
            return "late"
        return "at risk" if self.late > last else ""


class RunStatus(NamedTuple):
    """How far a run is; ``status`` running, stopped, killed or done; ``trouble`` why something is not told."""

    number: int
    status: str
    now: float
    slots: int
    jobs: list[JobStatus]
    trouble: str = ""

    @property
    def end(self) -> End:
        """When the last job ends, or when the run did; NaN if the end of any job is not known."""
        ends = [End(job.end, job.early, job.late) for job in self.jobs if job.left]
        ends = ends or [End(*[self.now] * 3)]
        unknown = any(math.isnan(end.at) for end in ends)
        return End(*[math.nan] * 3 if unknown else map(max, zip(*ends, strict=True)))


class _Facts(NamedTuple):
    """What a journal says of a run at one moment."""

    run: Run
    jobs: list[Job]
    rows: list[JobRow]
    counted: list[Counted]  # by row
    failed: list[int]
    flying: dict[int, Flying]
    held: dict[int, Decided]
    status: str


_NONE = Counted(0, 0.0, 0.0)


def _facts(journal: Journal, number: int | None) -> _Facts:
    with journal.one_state():
        run = journal.run(number)
        rows = _whole(journal, run, journal.jobs(run.id), journal.check(run.id))
        try:
            jobs = described_jobs(rows)
        except ValueError as error:
            raise JournalError(f"{journal.path}: run {run.id}: {error}") from None
        counted = journal.counted(run.id)
        again = Counter(
            row
            for row, tried in journal.failing(run.id)
            if row < len(jobs) and tried >= jobs[row].retries
        )
        live = run.status == "running" and journal.written()
        flying = journal.flying(run.id) if live else {}
        held = journal.held(run.id) if live else {}
    status = "killed" if run.status == "running" and not live else run.status
    sums = [counted.get(row, _NONE) for row in range(len(jobs))]
    return _Facts(run, jobs, rows, sums, [again[k] for k in range(len(jobs))], flying, held, status)


def _whole(journal: Journal, run: Run, rows: list[JobRow], last: dict[int, int]) -> list[JobRow]:
    """Jobs with all tasks of which something is known: pools and queues tell their number a moment later."""
    if run.kind != "commands":
        return [
            row._replace(tasks=max(row.tasks, last.get(k, -1) + 1)) for k, row in enumerate(rows)
        ]
    for job, task in last.items():
        if job >= len(rows) or task >= rows[job].tasks:
            told = f"task {task} of job {job}, which is not there"
            raise JournalError(f"{journal.path}: table attempt, run {run.id}: {told}")
    return rows


def run_status(journal: Journal, number: int | None = None) -> RunStatus:
    """How far a run is, the last one by default; O(attempts + decisions), and some plans.

    What cannot be predicted is left out, and said: ends are NaN then.

    Raises
    ------
    JournalError
        The journal has what no run of ours writes.
    """
    facts = _facts(journal, number)
    run, jobs, sums, failed = facts.run, facts.jobs, facts.counted, facts.failed
    every = Counted(
        *(sum(column) for column in zip(_NONE[:3], *(own[:3] for own in sums), strict=True))
    )
    place = {job.name: row for row, job in enumerate(jobs)}
    after = [[place[name] for name in job.after] for job in jobs]
    for row in range(len(jobs)) if run.status == "done" else _dropped(after, failed):
        failed[row] = max(0, len(jobs[row]) - sums[row].done)
    told: list[str] = []
    guard = Guard(told.append)
    earlier = guard("the history of programs", lambda: Earlier(journal))
    left = []
    for row, (job, own) in enumerate(zip(jobs, after, strict=True)):
        plain = not_begun(job, own, None)
        fresh = guard("the history of programs", lambda: not_begun(job, own, earlier), plain)  # noqa: B023 - called at once
        assert fresh is not None
        left.append(_left(fresh, sums[row], every, failed[row], facts.flying.get(row), run.lasted))
    slots = min(max(1, run.slots), MOST_SLOTS)
    unknown = [End(*[math.nan] * 3)] * len(jobs)
    plan = lambda: expected_ends(left, slots, run.objective, run.policy, run.lasted)  # noqa: E731
    ends = guard("the prediction of ends", plan, unknown) or unknown
    folder = output_folder(journal.path, run)
    rows = []
    for row, job in enumerate(jobs):
        ended = sums[row].ended if left[row].tasks == 0 else math.nan
        if left[row].tasks == 0:  # one that never ran has no end
            ends[row] = End(*[ended] * 3)
        held = facts.held.get(row) if left[row].tasks else None
        slots, why = (held.slots, held.why) if held else (0, "")
        if UNRECORDED in facts.rows[row].described:
            why = "tasks were not recorded"
        seconds = guard("the prediction of ends", lambda: task_seconds(left[row]), (0.0, 0.0))  # noqa: B023
        assert seconds is not None
        here = job.name, job.user, slots, left[row].running, why
        far = sums[row].done, failed[row], left[row].tasks, *seconds
        output = str(folder / job_folder(row, job.name)) if folder else ""
        times = sums[row].began, ended, run.lasted
        rows.append(JobStatus(*here, *far, job.deadline, *ends[row], *times, output))
    trouble = "; ".join(told).replace(", the run goes on", "")
    return RunStatus(run.id, facts.status, run.lasted, run.slots, rows, trouble)


def not_begun(job: Job, after: list[int], earlier: Earlier | None) -> Left:
    """A job of whose tasks none has ended; earlier runs count as one task that has."""
    seconds, spread = (
        (job.seconds, 0.0) if job.seconds or not earlier else earlier(job.called, job.user)
    )
    return Left(
        len(job), seconds, job.weight, job.deadline, job.min_slots, job.max_slots, after,
        int(spread > 0.0), spread,
    )  # fmt: skip


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


def _dropped(after: list[list[int]], failed: list[int]) -> set[int]:
    """Jobs that never run, as a job that they wait for failed; O(jobs + edges)."""
    found: set[int] = set()
    for row in parents_first(after):
        if any(failed[parent] or parent in found for parent in after[row]):
            found.add(row)
    return found
