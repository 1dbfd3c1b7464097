"""How far a run is, from its journal (the file that records it) alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from malleable.live.jobs_file import Job, described_jobs, never_begin
from malleable.live.journal import Decided, ExpectedEnd, Journal, Run, RunningTasks
from malleable.live.journal_rows import WORDS
from malleable.live.ledger import last_end
from malleable.live.output import job_folder, output_folder
from malleable.live.task_outcome import Counted


class JobStatus(NamedTuple):
    """How far a job is.

    ``slots`` are those given to it, ``running`` its tasks that ran at most a second ago. ``seconds`` is the
    expected mean of a task, 0 if unknown, ``spread`` its standard error. ``end`` is when the job is expected
    to end, or has ended [s of the run]; ``early`` and ``late`` are the bounds in 80 of 100 cases; NaN if no
    task of the run has ended and no times were stated. ``deadline`` is infinite if there is none. ``began``
    is its first start, ``ended`` its last end; NaN: not yet. ``output`` is the folder of its tasks' output,
    empty if there is none. ``ways`` divides the ``failed`` tasks into timed out, lost, skipped (a job that
    they wait for failed) and cancelled. ``retried`` are attempts beyond the first of each task,
    ``backup_tasks`` second attempts beside a first one, ``backups_won`` backup tasks that ended first;
    ``wasted_slot_seconds`` is the time of attempts that were not needed."""

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
    ways: Mapping[str, int]
    retried: int
    backup_tasks: int = 0
    backups_won: int = 0
    wasted_slot_seconds: float = 0.0

    @property
    def tasks(self) -> int:
        return self.done + self.failed + self.left

    @property
    def cancelled(self) -> bool:
        """None of its tasks ran, because a job that it waits for failed."""
        return self.failed > 0 and math.isnan(self.began)

    @property
    def risk(self) -> str:
        """Its deadline is "missed", "late" as expected, "at risk" if late in over 10 of 100 cases, else empty.
        A finished job with failed tasks has missed it."""
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
    """How far a run is; ``status``: running, stopped, killed or done; ``end``: of its last job or of the run,
    unknown if that of any job is; ``rule``: what its policy does, and why, if it has rules."""

    number: int
    status: str
    now: float
    slots: int
    jobs: list[JobStatus]
    end: ExpectedEnd
    rule: str = ""


class _Facts(NamedTuple):
    """A run at one moment, as the journal has it."""

    run: Run
    jobs: list[Job]
    counted: list[Counted]  # by row
    failed: list[Counter[str]]  # by row: failed tasks by their way
    running: dict[int, RunningTasks]
    held: dict[int, Decided]  # by row: the last decision
    expected: dict[int, ExpectedEnd]
    status: str


def _facts(journal: Journal, number: int | None) -> _Facts:
    with journal.one_state():
        run = journal.run(number)
        rows = journal.jobs(run.id)
        jobs = described_jobs(rows)
        counted = [Counted() for _ in jobs]
        failed: list[Counter[str]] = [Counter() for _ in jobs]
        for tried in journal.tried(run.id):
            row, last = tried.last.job, tried.last
            counted[row].add(tried)
            if not tried.good and tried.over(jobs[row].retries):
                failed[row][WORDS.get(last.how, "")] += 1
        live = journal.goes_on(run.id)
        running = journal.running_tasks(run.id) if live else {}
        held = journal.held(run.id) if live else {}
        expected = journal.expected(run.id)
    if run.kind in ("calls", "arrays", "stages"):  # whose number of tasks is known a moment later
        jobs = [
            replace(job, values=range(max(len(job), own.last + 1)))
            for job, own in zip(jobs, counted, strict=True)
        ]
    status = "killed" if run.status == "running" and not live else run.status
    return _Facts(run, jobs, counted, failed, running, held, expected, status)


def run_status(journal: Journal, number: int | None = None) -> RunStatus:
    """How far a run is, by default the last one. Expected ends are as the run wrote them, at most a second
    ago if it is running. O(attempts + decisions)."""
    facts = _facts(journal, number)
    run = facts.run
    _count_never(facts)
    folder = output_folder(journal.path, run)
    rows = [_job_status(facts, row, folder) for row in range(len(facts.jobs))]
    ends = [
        facts.expected.get(row, ExpectedEnd(row)) for row, job in enumerate(rows) if job.left > 0
    ]
    end = last_end(ends, run.lasted)
    return RunStatus(run.id, facts.status, run.lasted, run.slots, rows, end, run.rule)


def _count_never(facts: _Facts) -> None:
    # Count tasks that will never run in ``failed``, too.
    jobs = facts.jobs
    never = never_begin(jobs, [row for row, ways in enumerate(facts.failed) if ways])
    for row in range(len(jobs)) if facts.run.status == "done" else never:
        ways = facts.failed[row]
        left = max(0, len(jobs[row]) - facts.counted[row].done - ways.total())
        ways["skipped" if never.get(row) else "cancelled"] += left


def _job_status(facts: _Facts, row: int, folder: Path | None) -> JobStatus:
    run, job, sums, ways = facts.run, facts.jobs[row], facts.counted[row], facts.failed[row]
    failed = ways.total()
    left = max(0, len(job) - sums.done - failed)
    ended = math.nan if left else sums.ended
    # A job that never ran has no end.
    end = facts.expected.get(row, ExpectedEnd(row)) if left else _seen(row, sums, ended)
    held = facts.held.get(row) if left else None
    slots, why = (held.slots, held.why) if held else (0, "")
    if left:
        why = job.held or why
    running = facts.running.get(row)
    here = job.name, job.user, slots, min(left, running.tasks) if running else 0, why
    far = sums.done, failed, left, end.seconds, end.spread
    times = job.deadline, end.at, end.early, end.late, sums.began, ended, run.lasted
    output = str(folder / job_folder(row, job.name)) if folder else ""
    told_of = {way: ways[way] for way in WORDS.values()}, sums.retried
    return JobStatus(
        *here, *far, *times, output, *told_of,
        sums.backup_tasks, sums.backups_won, sums.wasted_slot_seconds,
    )  # fmt: skip


def _seen(row: int, sums: Counted, ended: float) -> ExpectedEnd:
    # The measured end of a finished job, with the mean of its tasks' seconds.
    if not sums.done:
        return ExpectedEnd(row, ended, ended, ended)
    mean = sums.seconds / sums.done
    variance = max(0.0, sums.squares / sums.done - mean * mean)
    return ExpectedEnd(row, ended, ended, ended, mean, math.sqrt(variance / sums.done))
