"""The journal of runs: tasks, events and decisions, in one SQLite file.

One process writes, others may read at any time (write-ahead log). What is recorded is in the file once
``commit`` returns: it survives the death of the process, and of the machine where ``durable`` says so.
Tasks are recorded as they are when a run begins; nothing outside is looked at again. A task is done when an
attempt of status 0 is recorded; so a run that was killed goes on where it was, with each task run at least
once and counted once. Time within a run is seconds of its sessions added up; it does not know the wall clock.

The schema is documented in docs/live.md. An attempt costs some 5 us to record, 100 bytes on disk; a task of a
job 10 bytes or so.
"""

from __future__ import annotations

import contextlib
import json
import math
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from malleable.live.journal_file import JournalFile, telling
from malleable.live.journal_rows import (
    Attempt,
    Decided,
    ExpectedEnd,
    JobRow,
    JournalError,
    Run,
    RunningTasks,
    packed,
    unpacked,
)  # fmt: skip
from malleable.live.task_outcome import TaskOutcome, outcome_of

__all__ = [
    "Attempt",
    "Decided",
    "ExpectedEnd",
    "JobRow",
    "Journal",
    "JournalError",
    "Run",
    "RunningTasks",
    "TaskOutcome",
]  # fmt: skip

_WHY = 200  # characters of what an engine said

_ATTEMPTS = "select job, task, attempt, status, began, seconds, cpu, memory, how, why, backup_of from attempt"
_ENDED = ", ".join(
    f"{name} = excluded.{name}" for name in ("status", "began", *Attempt._fields[5:])
)
_IN_ORDER = "order by job, task, attempt"
_TASK_IS = "run = ? and job = ? and task = ?"


class Journal(JournalFile):
    """A journal that is open.

    Parameters
    ----------
    path : path
        Made where it does not exist, for its owner alone. What belongs to somebody else and links are refused;
        one's own that others may use is closed to them.
    write : bool
        Whether to write; one process at a time can.
    durable : bool
        Whether `commit` waits until a loss of power would not matter.

    Raises
    ------
    JournalError
        The file is no journal, of another version, somebody else's, or in use by another run.
    """

    def __init__(self, path: str | Path, write: bool = True, durable: bool = False) -> None:
        self._told: dict[tuple[int, int], tuple[int, str]] = {}  # of jobs, as they were written
        self._overlaid = False
        super().__init__(path, write, durable)

    # Runs.

    def begin(
        self,
        slots: int,
        objective: str,
        policy: str,
        jobs: Iterable[JobRow] = (),
        kind: str = "commands",
    ) -> int:
        """A new run with its jobs, all of it or nothing; its number."""
        self._do("savepoint begun")
        try:
            row = self._do(
                "insert into run (began, kind, slots, objective, policy) values (?, ?, ?, ?, ?)",
                *(_wall(), kind, slots, objective, policy),
            )
            assert row.lastrowid is not None
            self.describe(row.lastrowid, jobs)
        except BaseException:
            with contextlib.suppress(JournalError):
                self._do("rollback to begun")
            raise
        self._do("release begun")
        return row.lastrowid

    def describe(
        self, run: int, jobs: Iterable[JobRow], slots: int | None = None, first: int = 0
    ) -> None:
        """Jobs of a run from a first one on, of which those are written that are others than before; its
        slots, if given."""
        for row, job in enumerate(jobs, first):
            told = job.tasks, json.dumps(job.described)
            if self._told.get((run, row)) != told:
                self._do(
                    "insert or replace into job values (?, ?, ?, ?, ?)",
                    *(run, row, *told, packed(job.content)),
                )
                self._told[run, row] = told
        if slots is not None:
            self._do("update run set slots = ? where id = ?", slots, run)

    def change(self, run: int, job: int, settings: Mapping[str, Any]) -> None:
        """Other settings of a job from now on; None: not set."""
        for (described,) in self._each(
            "select described from job where run = ? and job = ?", run, job
        ):
            known = {**json.loads(described), **settings}
            text = json.dumps({key: value for key, value in known.items() if value is not None})
            self._do("update job set described = ? where run = ? and job = ?", text, run, job)
            self._told.pop((run, job), None)
            return

    def enter(self, run: int) -> float:
        """A process goes on with a run; how long the run has lasted."""
        at = self.run(run).lasted
        self._do("update run set status = 'running' where id = ?", run)
        return at

    def place(self, run: int, output: str) -> None:
        """The name of the folder that the run has its output in."""
        self._do("update run set output = ? where id = ?", output, run)

    def run(self, run: int | None = None) -> Run:
        """The run of this number; by default the last run."""
        last = (
            "select id, began, kind, slots, objective, policy, output, lasted, status, rule from run"
            " where id = ifnull(?, (select max(id) from run))"
        )
        for row in self._each(last, run) if run is None or abs(run) < 2**63 else ():
            return Run._make(row)
        which = "no run" if run is None else f"no run {run}"
        raise JournalError(f"{self.path}: {which} in this journal")

    def older(self, seconds: float) -> list[Run]:
        """Runs that began longer ago."""
        columns = ", ".join(Run._fields)
        past = f"select {columns} from run where unixepoch(began) < ?"
        return [Run._make(row) for row in self._each(past, time.time() - seconds)]

    def remove(self, run: int) -> None:
        """Nothing is known of a run any more but what was learnt."""
        for table in ("job", "attempt", "decision", "flying", "result", "expected"):
            self._do(f"delete from {table} where run = ?", run)
        self._do("delete from run where id = ?", run)

    def has_runs(self) -> bool:
        """Whether there is any run."""
        return bool(self._do("select exists (select 1 from run)").fetchone()[0])

    def jobs(self, run: int, content: bool = False) -> list[JobRow]:
        """The jobs of a run; without what their tasks are made of unless asked for."""
        column = "content" if content else "null"
        query = f"select tasks, described, {column} from job where run = ? order by job"
        with telling(self.path):
            return [
                JobRow(json.loads(described), tasks, unpacked(made_of))
                for tasks, described, made_of in self._each(query, run)
            ]

    @contextlib.contextmanager
    def one_state(self) -> Iterator[None]:
        """What is read within is of one moment, whatever is written meanwhile."""
        if self._base.in_transaction:  # the one who writes
            yield
            return
        self._do("begin")
        try:
            yield
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._base.execute("commit")

    def goes_on(self, run: int) -> bool:
        """Whether a process is at work on this run, or a queue."""
        return self.run(run).status == "running" and (self._overlaid or self.written())

    def overlay(
        self,
        run: int,
        at: float,
        attempts: Iterable[Attempt],
        flying: Iterable[RunningTasks],
        status: str,
    ) -> None:
        """What is known of a run from elsewhere, as if it stood in the file, for this reader alone."""
        if not self._overlaid:
            own = sqlite3.connect(":memory:", isolation_level=None)
            self._base.backup(own)
            self._base.close()
            self._base, self._overlaid = own, True
        self._do("delete from attempt where run = ?", run)
        self.record(run, at, attempts, status=status)
        self.fly(run, at, flying)

    # What happened.

    def record(
        self,
        run: int,
        at: float,
        attempts: Iterable[Attempt] = (),
        decided: Iterable[Decided] = (),
        status: str | None = None,
    ) -> None:
        """Attempts that are about to begin or have ended, and decisions; an end that is told twice is the first
        one."""
        rows = (each._replace(why=_said(each.why)) if each.why else each for each in attempts)
        with telling(self.path):
            self._base.executemany(
                f"insert into attempt values ({run}, {', '.join('?' * 11)}) on conflict do update set"
                f" {_ENDED} where attempt.status is null",
                rows,
            )
            self._base.executemany(
                f"insert into decision values ({run}, ?, ?, ?, ?, ?, ?)", decided
            )
        self._do(
            "update run set lasted = ?, status = ifnull(?, status) where id = ?", at, status, run
        )

    def restate(self, run: int, job: int, seconds: float) -> None:
        """Tasks of a job that were only counted took so long; they ended when they did."""
        self._do(
            "update attempt set began = max(0.0, began + seconds - ?), seconds = ?"
            " where run = ? and job = ? and how = 'counted'",
            *(seconds, seconds, run, job),
        )

    # Results of calls.

    def keep(self, run: int, job: int, task: int, digest: bytes, value: bytes) -> None:
        """What a call returned; the digest is the call's."""
        self._do(
            "insert or replace into result values (?, ?, ?, ?, ?)", run, job, task, digest, value
        )

    def kept(self, run: int, job: int, task: int, digest: bytes) -> bytes | None:
        """What a call returned that had this digest; None: that is not known."""
        query = "select value from result where run = ? and job = ? and task = ? and digest = ?"
        found: bytes | None = next(
            (value for (value,) in self._each(query, run, job, task, digest)), None
        )
        return found

    def last_tried(self, run: int, job: int) -> int:
        """The last task of a job that was tried; -1: none."""
        last = "select ifnull(max(task), -1) from attempt where run = ? and job = ?"
        return int(self._do(last, run, job).fetchone()[0])

    def task(self, run: int, job: int, task: int) -> TaskOutcome | None:
        """What became of a task so far; None: nothing is known."""
        return next(self._tried(_TASK_IS, run, job, task), None)

    def forget(self, run: int, job: int, task: int) -> None:
        """Nothing is left of a call: it was another one, or its result was not kept."""
        for table in ("attempt", "result"):
            self._do(f"delete from {table} where {_TASK_IS}", run, job, task)

    def attempts(self, run: int) -> Iterator[Attempt]:
        """All attempts of a run that have ended, by job, task and attempt."""
        rows = self._each(f"{_ATTEMPTS} where run = ? and status is not null {_IN_ORDER}", run)
        return map(Attempt._make, rows)

    def tried(self, run: int) -> Iterator[TaskOutcome]:
        """What became of all tasks that were tried, by job and task; one at a time."""
        return self._tried("run = ?", run)

    def tried_again(self, run: int, job: int) -> Iterator[TaskOutcome]:
        """The same of tasks of a job of which there is more than one attempt."""
        own = "run = ?1 and job = ?2"
        return self._tried(
            f"{own} and task in (select task from attempt where {own} and attempt > 0)", run, job
        )

    def _tried(self, which: str, *values: Any) -> Iterator[TaskOutcome]:
        rows = self._each(f"{_ATTEMPTS} where {which} {_IN_ORDER}", *values)
        for _, same in groupby(map(Attempt._make, rows), itemgetter(0, 1)):
            yield outcome_of(list(same))

    def fly(
        self,
        run: int,
        at: float,
        flying: Iterable[RunningTasks],
        expected: Iterable[ExpectedEnd] = (),
        rule: str = "",
    ) -> None:
        """Replace the running tasks and the expected ends of jobs."""
        with telling(self.path):
            for table in ("flying", "expected"):
                self._base.execute(f"delete from {table} where run = ?", (run,))
            self._base.executemany(f"insert into flying values ({run}, ?, ?, ?, ?)", flying)
            self._base.executemany(
                f"insert into expected values ({run}, ?, ?, ?, ?, ?, ?)", expected
            )
            self._base.execute(
                "update run set lasted = ?, rule = ? where id = ?", (at, _said(rule), run)
            )

    def expected(self, run: int) -> dict[int, ExpectedEnd]:
        """When jobs were expected to end when the run last looked, by job."""
        rows = self._each(
            "select job, at, early, late, seconds, spread from expected where run = ?", run
        )
        return {
            job: ExpectedEnd(job, *(math.nan if time is None else time for time in rest))
            for job, *rest in rows
        }

    def flying(self, run: int) -> dict[int, RunningTasks]:
        """What ran when somebody last looked, at most a second ago, by job."""
        rows = self._each("select job, tasks, began, latest from flying where run = ?", run)
        return {row[0]: RunningTasks._make(row) for row in rows}

    def held(self, run: int) -> dict[int, Decided]:
        """The last decision of each job."""
        rows = self._each(
            "select max(at), job, slots, why from decision where run = ? group by job", run
        )
        return {row[1]: Decided(*row) for row in rows}

    def decisions(self, run: int) -> Iterator[Decided]:
        """Decisions in the order of time, with the beliefs behind them."""
        rows = self._each(
            "select at, job, slots, why, seconds, work"
            " from decision where run = ? order by at, job",
            run,
        )
        for *decided, seconds, work in rows:
            believed = (math.nan if each is None else each for each in (seconds, work))
            yield Decided._make([*decided, *believed])

    # What was learnt.

    def history(self) -> dict[str, Any] | None:
        """What runs have shown of programs, as `malleable.Scheduler.history` says it; None: nothing."""
        with telling(self.path):
            found: dict[str, Any] | None = None
            for (learnt,) in self._each("select learnt from history"):
                found = json.loads(learnt)
            return found

    def learn(self, history: Mapping[str, Any]) -> None:
        """A history in place of the one before."""
        self._do("insert or replace into history values (0, ?)", json.dumps(history))


def _wall() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _said(text: str) -> str:
    """What an engine said, as SQLite takes it."""
    return text[:_WHY].encode("utf-8", "backslashreplace").decode()
