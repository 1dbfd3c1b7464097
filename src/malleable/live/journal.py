"""The journal: one SQLite file with the tasks, events and decisions of all runs (docs/internals/journal.md has
the schema).

One process writes, others may read at any time. Records survive the death of the process once ``commit``
returns, and with ``durable`` that of the machine. A task is done when an attempt of status 0 is recorded, so
a resumed run makes each task at least once and counts it once. A run may have several sessions (processes that
continue it); its time is the sum of their seconds. An attempt costs some 5 us and 100 bytes, a task of a job
some 10 bytes. Arguments ``run``, ``job`` and ``task`` are numbers.
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
from typing import Any, TypeVar

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

_RUNS = f"select {', '.join(Run._fields)} from run"
_ENDED = ", ".join(
    f"{name} = excluded.{name}" for name in ("status", "began", *Attempt._fields[5:])
)
_IN_ORDER = "order by job, task, attempt"
_TASK_IS = "run = ? and job = ? and task = ?"
_Row = TypeVar("_Row", Attempt, Decided, ExpectedEnd, RunningTasks)
# Tables by what their rows are; after the run, their columns are its fields.
_TABLES: Mapping[type, str] = {
    Attempt: "attempt", Decided: "decision", ExpectedEnd: "expected", RunningTasks: "flying",
}  # fmt: skip


class Journal(JournalFile):
    """An open journal at ``path``. One process at a time can ``write``.

    A missing file is made, for its owner alone; rights of others to your own file are removed. If ``durable``,
    `commit` waits until a loss of power would not matter.

    Raises
    ------
    JournalError
        The file is no journal, of another version, a link, of another user, or in use by another run.
    """

    def __init__(self, path: str | Path, write: bool = True, durable: bool = False) -> None:
        self._told: dict[tuple[int, int], tuple[int, str]] = {}  # rows of jobs, as written last
        self._overlaid = False  # whether `overlay` has added to a copy in memory
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
        """Write jobs of a run from ``first`` on, if they have changed, and its slots, if given."""
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
        # Change settings of a job; None removes one.
        query = "select described from job where run = ? and job = ?"
        known = {**json.loads(self._do(query, run, job).fetchone()[0]), **settings}
        text = json.dumps({key: value for key, value in known.items() if value is not None})
        self._do("update job set described = ? where run = ? and job = ?", text, run, job)
        self._told.pop((run, job), None)

    def enter(self, run: int) -> float:
        # A session begins; returns how long earlier ones lasted [s].
        at = self.run(run).lasted
        self._do("update run set status = 'running' where id = ?", run)
        return at

    def place(self, run: int, output: str) -> None:
        # Note the folder of a run's output.
        self._do("update run set output = ? where id = ?", output, run)

    def run(self, run: int | None = None) -> Run:
        last = f"{_RUNS} where id = ifnull(?, (select max(id) from run))"
        for row in self._each(last, run) if run is None or abs(run) < 2**63 else ():
            return Run._make(row)
        which = "no run" if run is None else f"no run {run}"
        raise JournalError(f"{self.path}: {which} in this journal")

    def older(self, seconds: float) -> list[Run]:
        past = f"{_RUNS} where began < ?"
        return [Run._make(row) for row in self._each(past, _wall(seconds))]

    def remove(self, run: int) -> None:
        for table in ("job", "attempt", "decision", "flying", "result", "expected"):
            self._do(f"delete from {table} where run = ?", run)
        self._do("delete from run where id = ?", run)

    def has_runs(self) -> bool:
        return bool(self._do("select exists (select 1 from run)").fetchone()[0])

    def jobs(self, run: int, content: bool = False) -> list[JobRow]:
        """The jobs of a run; the contents of their tasks only on request."""
        column = "content" if content else "null"
        query = f"select tasks, described, {column} from job where run = ? order by job"
        with telling(self.path):
            return [
                JobRow(json.loads(described), tasks, unpacked(made_of))
                for tasks, described, made_of in self._each(query, run)
            ]

    @contextlib.contextmanager
    def one_state(self) -> Iterator[None]:
        # All that is read in this block is from one moment.
        if self._base.in_transaction:  # this process writes the journal
            yield
            return
        self._do("begin")
        try:
            yield
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._base.execute("commit")

    def goes_on(self, run: int) -> bool:
        return self.run(run).status == "running" and (self._overlaid or self.written())

    def overlay(
        self,
        run: int,
        at: float,
        attempts: Iterable[Attempt],
        running: Iterable[RunningTasks],
        status: str,
    ) -> None:
        """Add what is known of a run from elsewhere, as if it stood in the file, for this reader alone."""
        if not self._overlaid:
            own = sqlite3.connect(":memory:", isolation_level=None)
            self._base.backup(own)
            self._base.close()
            self._base, self._overlaid = own, True
        self._do("delete from attempt where run = ?", run)
        self.record(run, at, attempts, status=status)
        self.note_running(run, at, running)

    # What happened.

    def record(
        self,
        run: int,
        at: float,
        attempts: Iterable[Attempt] = (),
        decided: Iterable[Decided] = (),
        status: str | None = None,
    ) -> None:
        """Record attempts that begin or ended, and decisions; the first record of an end counts."""
        rows = (each._replace(why=_said(each.why)) if each.why else each for each in attempts)
        once = f"on conflict do update set {_ENDED} where attempt.status is null"
        self._add(Attempt, run, rows, once)
        self._add(Decided, run, decided)
        self._do(
            "update run set lasted = ?, status = ifnull(?, status) where id = ?", at, status, run
        )

    def restate(self, run: int, job: int, seconds: float) -> None:
        """Set the seconds of tasks of a job that were only counted."""
        # Such tasks left a queue; their number was seen, and no times.
        self._do(
            "update attempt set began = max(0.0, began + seconds - ?), seconds = ?"
            " where run = ? and job = ? and how = 'counted'",
            *(seconds, seconds, run, job),
        )

    # Results of calls.

    def keep(self, run: int, job: int, task: int, digest: bytes, value: bytes) -> None:
        # Keep a call's pickled result, with a digest by which another session knows the call.
        self._do(
            "insert or replace into result values (?, ?, ?, ?, ?)", run, job, task, digest, value
        )

    def kept(self, run: int, job: int, task: int, digest: bytes) -> bytes | None:
        query = "select value from result where run = ? and job = ? and task = ? and digest = ?"
        row: tuple[bytes] | None = self._do(query, run, job, task, digest).fetchone()
        return row[0] if row else None

    def last_tried(self, run: int, job: int) -> int:
        last = "select ifnull(max(task), -1) from attempt where run = ? and job = ?"
        return int(self._do(last, run, job).fetchone()[0])

    def task(self, run: int, job: int, task: int) -> TaskOutcome | None:
        return next(self._tried(run, "and job = ? and task = ?", job, task), None)

    def forget(self, run: int, job: int, task: int) -> None:
        for table in ("attempt", "result"):
            self._do(f"delete from {table} where {_TASK_IS}", run, job, task)

    def _add(self, kind: type[_Row], run: int, rows: Iterable[_Row], more: str = "") -> None:
        values = ", ?" * len(kind._fields)
        with telling(self.path):
            self._base.executemany(
                f"insert into {_TABLES[kind]} values ({run}{values}) {more}", rows
            )

    def _rows(self, kind: type[_Row], run: int, more: str = "", *values: Any) -> Iterator[_Row]:
        # Rows of a run; ``more`` of the query follows the condition. SQLite has no NaN.
        query = f"select {', '.join(kind._fields)} from {_TABLES[kind]} where run = ? {more}"
        rows = self._each(query, run, *values)
        if kind is not Attempt:
            rows = ([math.nan if each is None else each for each in row] for row in rows)
        return map(kind._make, rows)

    def attempts(self, run: int) -> Iterator[Attempt]:
        return self._rows(Attempt, run, f"and status is not null {_IN_ORDER}")

    def tried(self, run: int) -> Iterator[TaskOutcome]:
        """Outcomes of all tasks that were tried, by job and task, one at a time."""
        return self._tried(run)

    def tried_again(self, run: int, job: int) -> Iterator[TaskOutcome]:
        # Outcomes of a job's tasks with more than one attempt.
        again = "select task from attempt where run = ?1 and job = ?2 and attempt > 0"
        return self._tried(run, f"and job = ?2 and task in ({again})", job)

    def _tried(self, run: int, which: str = "", *values: Any) -> Iterator[TaskOutcome]:
        rows = self._rows(Attempt, run, f"{which} {_IN_ORDER}", *values)
        for _, same in groupby(rows, itemgetter(0, 1)):
            yield outcome_of(list(same))

    def note_running(
        self,
        run: int,
        at: float,
        running: Iterable[RunningTasks],
        expected: Iterable[ExpectedEnd] = (),
        rule: str = "",
    ) -> None:
        """Replace the running tasks and the expected ends of jobs."""
        for table in ("flying", "expected"):
            self._do(f"delete from {table} where run = ?", run)
        self._add(RunningTasks, run, running)
        self._add(ExpectedEnd, run, expected)
        self._do("update run set lasted = ?, rule = ? where id = ?", at, _said(rule), run)

    def expected(self, run: int) -> dict[int, ExpectedEnd]:
        return {end.job: end for end in self._rows(ExpectedEnd, run)}

    def running_tasks(self, run: int) -> dict[int, RunningTasks]:
        return {own.job: own for own in self._rows(RunningTasks, run)}

    def held(self, run: int) -> dict[int, Decided]:
        # The last decision on each job.
        last = self._rows(Decided, run, "group by job having max(at) is not null")
        return {decided.job: decided for decided in last}

    def decisions(self, run: int) -> Iterator[Decided]:
        """Decisions in the order of time, with the estimates behind them."""
        return self._rows(Decided, run, "order by at, job")

    # History.

    def history(self) -> dict[str, Any] | None:
        """What runs have learnt of programs, as `malleable.Scheduler.history`; None: nothing. ValueError if a
        scheduler cannot read it."""
        from malleable.cluster.history import read_history  # few readers of a journal need it

        row = self._do("select learnt from history").fetchone()
        with telling(self.path):
            found: dict[str, Any] | None = json.loads(row[0]) if row else None
        if row:
            read_history(found or {})
        return found

    def learn(self, history: Mapping[str, Any]) -> None:
        """Replace the history; ValueError, and nothing lost, if the old one cannot be read."""
        self.history()
        self._do("insert or replace into history values (0, ?)", json.dumps(history))


def _wall(ago: float = 0.0) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago))


def _said(text: str) -> str:
    return text[:_WHY].encode("utf-8", "backslashreplace").decode()
