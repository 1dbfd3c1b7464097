"""The journal of runs: tasks, events and decisions, in one SQLite file.

One process writes, others may read at any time (write-ahead log). What is recorded is in the file once
``commit`` returns: it survives the death of the process, and of the machine where ``durable`` says so.
Tasks are recorded as they are when a run begins; nothing outside is looked at again. A task is done when an
attempt of status 0 is recorded; so a run that was killed goes on where it was, with each task run at least
once and counted once. Time within a run is seconds of its sessions added up; it does not know the wall clock.

The schema is documented in docs/live.md. What stands in a file is not believed: rows that no run of ours writes
are errors with a name. An attempt costs some 5 us to record, 100 bytes on disk; a task of a job 10 bytes or so.
"""

from __future__ import annotations

import contextlib
import heapq
import json
import math
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from malleable.domain import check_whole, shown
from malleable.files.json import parse_json
from malleable.live.journal_file import JournalFile, telling
from malleable.live.recorded import (
    IN_VAIN,
    LOST_AGAIN,
    SOUND,
    Attempt,
    Backups,
    Begun,
    Counted,
    Decided,
    Expected,
    Flying,
    JobRow,
    JournalError,
    Run,
    Tried,
    checked_run,
    packed,
    unpacked,
)  # fmt: skip
from malleable.live.tries import backups_of, first_good, what_became

__all__ = [
    "Attempt", "Backups", "Begun", "Counted", "Decided", "Expected", "Flying", "JobRow", "Journal",
    "JournalError", "Run", "Tried",
]  # fmt: skip

_WHY = 200  # characters of what an engine said

_ATTEMPTS = "select job, task, attempt, status, began, seconds, cpu, memory, how, why, backup_of from attempt"
_BEGUN = "select job, task, attempt, began, backup_of from begun"
_BACKED = "(run, job, task) in (select run, job, task from begun where backup_of is not null)"
_IN_ORDER = "order by job, task, attempt"


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

    def describe(self, run: int, jobs: Iterable[JobRow], slots: int | None = None) -> None:
        """All jobs of a run, of which those are written that are others than before; its slots, if given."""
        for row, job in enumerate(jobs):
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
        self._do(
            "insert into session (run, began, at, pid) values (?, ?, ?, ?)",
            *(run, _wall(), at, os.getpid()),
        )
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
            with self._naming(f"table run, id {shown(row[0])}"):
                return checked_run(row)
        which = "no run" if run is None else f"no run {run}"
        raise JournalError(f"{self.path}: {which} in this journal")

    def has_runs(self) -> bool:
        """Whether there is any run."""
        return bool(self._do("select exists (select 1 from run)").fetchone()[0])

    def jobs(self, run: int, content: bool = False) -> list[JobRow]:
        """The jobs of a run; without what their tasks are made of unless asked for."""
        column = "content" if content else "null"
        query = f"select job, tasks, described, {column} from job where run = ? order by job"
        found: list[JobRow] = []
        for number, tasks, described, made_of in self._each(query, run):
            with self._naming(f"table job, run {run}, job {shown(number)}"):
                check_whole("job", number, len(found), len(found))
                check_whole("tasks", tasks, 0, 2**53)
                settings = (
                    parse_json(described, "described") if isinstance(described, str) else None
                )
                if not isinstance(settings, dict):
                    raise ValueError(f"described = {shown(described)}: expected an object")
                found.append(JobRow(settings, tasks, unpacked(made_of)))
        return found

    @contextlib.contextmanager
    def _naming(self, what: str) -> Iterator[None]:
        """A ValueError of what stands in a row says which one it is."""
        try:
            yield
        except ValueError as error:
            raise JournalError(f"{self.path}: {what}: {error}") from None

    def check(self, run: int) -> dict[int, int]:
        """The last task that was tried, by job.

        Raises
        ------
        JournalError
            For a row of what happened in the run that no run of ours writes. O(rows).
        """
        for table, sound in SOUND.items():
            wrong = f"select job from {table} where run = ? and not ifnull({sound}, 0) limit 1"
            for (job,) in self._each(wrong, run):
                told = f"a row of job {shown(job)} has an entry that no run writes"
                raise JournalError(f"{self.path}: table {table}, run {run}: {told}")
            count = "(select count(*) from job where run = ?)"
            unknown = f"select job from {table} where run = ? and job >= {count} limit 1"
            for (job,) in self._each(unknown, run, run):
                told = f"a row of job {job}, which is not there"
                raise JournalError(f"{self.path}: table {table}, run {run}: {told}")
        tried = (
            "select job, max(task) from (select job, task from attempt where run = ?1"
            " union all select job, task from begun where run = ?1) group by job"
        )
        return dict(self._each(tried, run))

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
        flying: Iterable[Flying],
        status: str,
    ) -> None:
        """What is known of a run from elsewhere, as if it stood in the file, for this reader alone."""
        for table in ("run", "attempt", "flying", "expected"):
            self._do(f"drop table if exists temp.{table}")
            self._do(f"create temp table {table} as select * from main.{table}")
        self._overlaid = True
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
        begun: Iterable[Begun] = (),
    ) -> None:
        """Attempts that have ended, decisions, and attempts that are about to begin; a repeated attempt is the
        one that is there."""
        rows = (each._replace(why=_said(each.why)) if each.why else each for each in attempts)
        with telling(self.path):
            self._base.executemany(
                f"insert or ignore into begun values ({run}, ?, ?, ?, ?, ?)", begun
            )
            self._base.executemany(
                f"insert or ignore into attempt values ({run}, {', '.join('?' * 11)})", rows
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

    def kept(self, run: int, job: int) -> Iterator[tuple[int, bytes, bytes]]:
        """Task, digest and value of each call of a job that returned, in order; rows are read one by one."""
        return self._each(
            "select task, digest, value from result where run = ? and job = ? order by task",
            run,
            job,
        )

    def last_tried(self, run: int, job: int) -> int:
        """The last task of a job that was tried; -1: none."""
        last = (
            "select max(ifnull((select max(task) from attempt where run = ?1 and job = ?2), -1),"
            " ifnull((select max(task) from begun where run = ?1 and job = ?2), -1))"
        )
        return int(self._do(last, run, job).fetchone()[0])

    def made_again(self, run: int, job: int, task: int) -> Tried | None:
        """What became of a call so far; None: nothing is known.

        If it had ended well, that was another call, or its result was not kept: nothing is left of it.
        """
        task_is = "run = ? and job = ? and task = ?"
        at = run, job, task
        rows = [Attempt._make(row) for row in self._each(f"{_ATTEMPTS} where {task_is}", *at)]
        begun = [Begun._make(row) for row in self._each(f"{_BEGUN} where {task_is}", *at)]
        found = what_became(rows, begun) if rows or begun else None
        if found and found.good:
            for table in ("attempt", "begun", "result"):
                self._do(f"delete from {table} where {task_is}", *at)
            return None
        return found

    def attempts(self, run: int) -> Iterator[Attempt]:
        """All attempts of a run that have ended, by job, task and attempt."""
        rows = self._each(f"{_ATTEMPTS} where run = ? {_IN_ORDER}", run)
        return map(Attempt._make, rows)

    def begun(self, run: int) -> Iterator[Begun]:
        """All attempts at commands, and all backup tasks, that have begun, by job, task and attempt."""
        rows = self._each(f"{_BEGUN} where run = ? {_IN_ORDER}", run)
        return map(Begun._make, rows)

    def _by_task(
        self, attempts: Iterable[Attempt], begun: Iterable[Begun]
    ) -> Iterator[tuple[tuple[int, int], list[Attempt], list[Begun]]]:
        """Attempts that have ended, and that have begun, by job and task, one task at a time."""
        both = heapq.merge(attempts, begun, key=lambda each: each[:3])
        for task, same in groupby(both, lambda each: each[:2]):
            found = list(same)
            rows = [each for each in found if isinstance(each, Attempt)]
            yield task, rows, [each for each in found if isinstance(each, Begun)]

    def _backed(self, run: int) -> Iterator[tuple[tuple[int, int], list[Attempt], list[Begun]]]:
        """Tasks that had a backup task, one at a time."""
        where = f"where run = ? and {_BACKED} {_IN_ORDER}"
        ended = map(Attempt._make, self._each(f"{_ATTEMPTS} {where}", run))
        return self._by_task(ended, map(Begun._make, self._each(f"{_BEGUN} {where}", run)))

    def tried(self, run: int) -> Iterator[tuple[int, int, Tried]]:
        """Job, task, and what became of it, of all that were tried, in this order; one at a time."""
        for (job, task), rows, begun in self._by_task(self.attempts(run), self.begun(run)):
            yield job, task, what_became(rows, begun)

    def backups(self, run: int) -> dict[int, Backups]:
        """What backup tasks have brought, by job; jobs that had some. O(attempts at their tasks)."""
        found: dict[int, Backups] = {}
        for (job, _), rows, begun in self._backed(run):
            one, others = backups_of(rows, begun), found.get(job, Backups())
            found[job] = Backups._make(map(sum, zip(one, others, strict=True)))
        return found

    def counting(self, run: int, job: int) -> dict[int, int]:
        """The attempt that counts, by task: of tasks of a job that have ended well, but not at first."""
        again = "select task, attempt from attempt where run = ? and job = ? and attempt > 0 and status = 0"
        found = dict(self._each(again, run, job))
        for (row, task), rows, _ in self._backed(run):
            good = first_good(rows)
            if row == job and good:
                found[task] = good.attempt
        return found

    def counted(self, run: int) -> dict[int, Counted]:
        """Tasks that ended well, each once, by job; jobs of which something was tried."""
        sums = (
            "count({0}), ifnull(sum({0}), 0.0), ifnull(sum({0} * {0}), 0.0), min(began), max({1})"
        )
        good = "case when status = 0 then seconds end"
        # What was ended in vain does not prolong its job.
        ended = f"case when how <> '{IN_VAIN}' then began + seconds else began end"
        again = "sum(attempt > 0 and backup_of is null)"
        rows = self._each(
            f"select max(attempt), job, {again}, {sums.format(good, ended)}"
            " from attempt where run = ? group by job",
            run,
        )
        each_once = (
            f"select {sums.format('good', 'ended')} from (select min({good}) as good, min(began) as"
            f" began, max({ended}) as ended from attempt where run = ? and job = ? group by task)"
        )
        found = {}
        for attempts, job, retried, *counts in rows:  # of several attempts two may have ended well
            sums = next(self._each(each_once, run, job)) if attempts else counts
            found[job] = Counted._make([*sums, retried])
        return found

    def failing(self, run: int) -> Iterator[Tried]:
        """What became of all tasks that were tried and have not ended well, by job and task."""
        rows = self._each(
            "select job, task, max(attempt), status, began, seconds, cpu, memory, how, why, backup_of,"
            f" min({LOST_AGAIN}, sum(how = 'lost')), count(*) from attempt where run = ? and not {_BACKED}"
            " group by job, task having sum(status = 0) = 0",
            run,
        )
        alone = (
            Tried(Attempt._make(last), lost, False, math.nan, last[2] + 1, last[2] + 1 - ended)
            for *last, lost, ended in rows
        )
        backed = (what_became(own, begun) for _, own, begun in self._backed(run))
        both = heapq.merge(
            alone, (each for each in backed if not each.good), key=lambda each: each.last[:2]
        )
        return iter(both)

    def fly(
        self,
        run: int,
        at: float,
        flying: Iterable[Flying],
        expected: Iterable[Expected] = (),
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

    def expected(self, run: int) -> dict[int, Expected]:
        """When jobs were expected to end when the run last looked, by job."""
        rows = self._each(
            "select job, at, early, late, seconds, spread from expected where run = ?", run
        )
        return {
            job: Expected(job, *(math.nan if time is None else time for time in rest))
            for job, *rest in rows
        }

    def flying(self, run: int) -> dict[int, Flying]:
        """What ran when somebody last looked, at most a second ago, by job."""
        rows = self._each("select job, tasks, began, latest from flying where run = ?", run)
        return {row[0]: Flying._make(row) for row in rows}

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
        for (learnt,) in self._each("select learnt from history"):
            with self._naming("table history"):
                found = parse_json(learnt, "learnt") if isinstance(learnt, str) else None
                if not isinstance(found, dict):
                    raise ValueError(f"learnt = {shown(learnt)}: expected an object")
                return found
        return None

    def learn(self, history: Mapping[str, Any]) -> None:
        """A history in place of the one before."""
        self._do("insert or replace into history values (0, ?)", json.dumps(history))


def _wall() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _said(text: str) -> str:
    """What an engine said, as SQLite takes it."""
    return text[:_WHY].encode("utf-8", "backslashreplace").decode()
