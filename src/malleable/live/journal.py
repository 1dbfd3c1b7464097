"""The journal of runs: what there is to do, what happened, what was decided, in one SQLite file.

One process writes, others may read at any time (write-ahead log). What is recorded is in the file once
``commit`` returns: it survives the death of the process, and of the machine where ``durable`` says so.
A task is done when an attempt of status 0 is recorded; so a run that was killed goes on where it was,
with each task run at least once and counted once. Time within a run is seconds of its sessions added
up; it does not know the wall clock.

The schema is documented in docs/live.md. An attempt costs some 5 us to record, 100 bytes on disk.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import IO, Any, NamedTuple

from malleable.views import printable

__all__ = [
    "Attempt", "Counted", "Decided", "Flying", "Journal", "JournalError", "Run", "Tried",
    "take_lock",
]  # fmt: skip

VERSION = 1
_APPLICATION = 0x6D616C6C  # "mall", in the header of the file
_LOOKS, _LOOK = 6, 0.02  # times that the lock is tried, seconds between: readers try it, too
_SCHEMA = """
create table run (
  id integer primary key, began text not null, slots integer not null, objective text not null,
  policy text not null, folder text not null, jobs text not null, lasted real not null default 0,
  status text not null default 'running');
create table session (
  id integer primary key, run integer not null, began text not null, at real not null,
  pid integer not null);
create table attempt (
  run integer not null, job integer not null, task integer not null, attempt integer not null,
  status integer not null, began real not null, seconds real not null, cpu real not null,
  memory real not null, how text not null, primary key (run, job, task, attempt)) without rowid;
create table decision (
  run integer not null, at real not null, job integer not null, slots integer not null,
  why text not null);
create index decision_of on decision (run, at);
create table flying (
  run integer not null, job integer not null, tasks integer not null, began real not null,
  latest real not null, primary key (run, job)) without rowid;
create table result (
  run integer not null, job integer not null, task integer not null, digest blob not null,
  value blob not null, primary key (run, job, task)) without rowid;
create table history (
  program text not null, user text not null, tasks integer not null, seconds real not null,
  squares real not null, primary key (program, user)) without rowid;
"""


Rows = Sequence[Mapping[str, Any]]
"""Jobs, a table each."""


class JournalError(ValueError):
    """A journal that cannot be used, and why."""


class Attempt(NamedTuple):
    """One attempt of a task that has ended.

    ``how``: "" (by itself), "late", "refused", "lost", "cancelled"; "counted": seen to have gone from a
    queue, its seconds those of the job's tasks in the mean.
    """

    job: int
    task: int
    attempt: int
    status: int
    began: float
    seconds: float
    cpu: float = 0.0
    memory: float = 0.0
    how: str = ""


class Tried(NamedTuple):
    """What became of a task so far: its last attempt, and how many were lost without its doing."""

    last: Attempt
    lost: int

    def over(self, retries: int) -> bool:
        """Whether it has ended for good."""
        return self.last.status == 0 or self.last.attempt - self.lost >= retries


class Decided(NamedTuple):
    """Slots of a job from some time of the run on."""

    at: float
    job: int
    slots: int
    why: str


class Flying(NamedTuple):
    """Tasks of a job that run, when they began in the mean, and when the last one did."""

    job: int
    tasks: int
    began: float
    latest: float


class Counted(NamedTuple):
    """Tasks of a job that ended well: their number, seconds in all, and the seconds' squares."""

    done: int
    seconds: float
    squares: float


class Run(NamedTuple):
    """A run as it was begun."""

    id: int
    began: str
    slots: int
    objective: str
    policy: str
    folder: str
    jobs: list[dict[str, Any]]
    lasted: float
    status: str


@contextlib.contextmanager
def _telling(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        full = "disk is full" in str(error)
        hint = "; what was recorded is kept, --resume goes on" if full else ""
        raise JournalError(f"{path}: {error}{hint}") from None


def take_lock(path: Path, owner: str) -> IO[str]:
    """A file that nobody else holds until it is closed, or its process ends; it says who that is.

    Raises
    ------
    BlockingIOError
        Who has it, in words.
    """
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    lock = os.fdopen(descriptor, "r+", errors="replace")
    for _ in range(_LOOKS):
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lock.truncate(0)
            lock.write(owner)
            lock.flush()
            return lock
        time.sleep(_LOOK)
    with lock:
        raise BlockingIOError(printable(lock.read(100).strip()) or "unknown")


class Journal:
    """A journal that is open.

    Parameters
    ----------
    path : path
        Made where it does not exist, for its owner alone.
    write : bool
        Whether to write; one process at a time can.
    durable : bool
        Whether `commit` waits until a loss of power would not matter.

    Raises
    ------
    JournalError
        The file is no journal, of another version, or in use by another run.
    """

    def __init__(self, path: str | Path, write: bool = True, durable: bool = False) -> None:
        self.path = Path(path)
        self._lock: IO[str] | None = None
        if write:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                self._lock = take_lock(self._lock_path(), str(os.getpid()))
            except BlockingIOError as owner:
                told = f"{self.path}: another run writes to it (process {owner})"
                raise JournalError(told) from None
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        elif not self.path.exists():
            raise JournalError(f"{self.path}: no journal there")
        try:
            with _telling(self.path):
                self._open(write, durable)
        except JournalError:
            self.close()
            raise

    def _lock_path(self) -> Path:
        return self.path.with_name(self.path.name + ".lock")

    def _open(self, write: bool, durable: bool) -> None:
        mode = "rw" if write else "ro"
        uri = f"{self.path.absolute().as_uri()}?mode={mode}"
        # One thread at a time uses it: the executor's.
        options: dict[str, Any] = {"isolation_level": None, "check_same_thread": False}
        self._base: sqlite3.Connection = sqlite3.connect(uri, 10.0, uri=True, **options)
        application, version, pages = (
            self._base.execute(f"pragma {name}").fetchone()[0]
            for name in ("application_id", "user_version", "page_count")
        )
        if write and application == 0 and not pages:
            self._base.execute("pragma journal_mode = wal")
            self._base.executescript(
                f"begin; pragma application_id = {_APPLICATION};"
                f" pragma user_version = {VERSION}; {_SCHEMA} commit;"
            )
        elif application != _APPLICATION:
            raise JournalError(f"{self.path}: not a journal of runs")
        elif version != VERSION:
            raise JournalError(f"{self.path}: of version {version}; this one knows {VERSION}")
        if write:
            self._base.execute(f"pragma synchronous = {'full' if durable else 'off'}")
            self._base.execute("begin")

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _do(self, statement: str, *values: Any) -> sqlite3.Cursor:
        with _telling(self.path):
            return self._base.execute(statement, values)

    def _each(self, query: str, *values: Any) -> Iterator[Any]:
        """Rows, read as they are asked for."""
        with _telling(self.path):
            yield from self._base.execute(query, values)

    def commit(self) -> None:
        """From now on what was recorded is kept."""
        with _telling(self.path):
            self._base.execute("commit")
            self._base.execute("begin")

    def close(self) -> None:
        """What was recorded is kept; the next run may write."""
        base = self.__dict__.pop("_base", None)
        if base is not None:
            with contextlib.suppress(sqlite3.DatabaseError):
                if base.in_transaction:
                    base.execute("commit")
            base.close()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    # Runs.

    def begin(self, slots: int, objective: str, policy: str, folder: str, jobs: Rows) -> int:
        """A new run; its number."""
        row = self._do(
            "insert into run (began, slots, objective, policy, folder, jobs) values (?, ?, ?, ?, ?, ?)",
            *(_wall(), slots, objective, policy, folder, json.dumps(list(jobs))),
        )
        assert row.lastrowid is not None
        return row.lastrowid

    def enter(self, run: int) -> float:
        """A process goes on with a run; how long the run has lasted."""
        at = self.run(run).lasted
        self._do(
            "insert into session (run, began, at, pid) values (?, ?, ?, ?)",
            *(run, _wall(), at, os.getpid()),
        )
        self._do("update run set status = 'running' where id = ?", run)
        return at

    def run(self, run: int | None = None) -> Run:
        """A run by its number; the last one by default."""
        last = "select * from run where id = ifnull(?, (select max(id) from run))"
        for row in self._each(last, run):
            return Run._make([*row[:6], json.loads(row[6]), *row[7:]])
        which = "no run" if run is None else f"no run {run}"
        raise JournalError(f"{self.path}: {which} in this journal")

    def written(self) -> bool:
        """Whether a process writes to it now."""
        try:
            with self._lock_path().open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            return isinstance(error, BlockingIOError)
        return False

    # What happened.

    def record(
        self,
        run: int,
        at: float,
        attempts: Iterable[Attempt] = (),
        decided: Iterable[Decided] = (),
        status: str | None = None,
    ) -> None:
        """Attempts that have ended, and decisions; a repeated attempt is the one that is there."""
        with _telling(self.path):
            self._base.executemany(
                f"insert or ignore into attempt values ({run}, ?, ?, ?, ?, ?, ?, ?, ?, ?)", attempts
            )
            self._base.executemany(f"insert into decision values ({run}, ?, ?, ?, ?)", decided)
        self._do(
            "update run set lasted = ?, status = ifnull(?, status) where id = ?", at, status, run
        )

    def describe(self, run: int, jobs: Rows, slots: int | None = None) -> None:
        """The jobs of a run to which some come while it lasts; its slots, if they are others now."""
        self._do(
            "update run set jobs = ?, slots = ifnull(?, slots) where id = ?",
            *(json.dumps(list(jobs)), slots, run),
        )

    # Results of calls.

    def keep(self, run: int, job: int, task: int, digest: bytes, value: bytes) -> None:
        """What a call returned; the digest is the call's."""
        self._do(
            "insert or replace into result values (?, ?, ?, ?, ?)", run, job, task, digest, value
        )

    def kept(self, run: int, job: int) -> Iterator[tuple[int, bytes, bytes]]:
        """Task, digest and value of each call of a job that returned, in order; read as it is asked for."""
        return self._each(
            "select task, digest, value from result where run = ? and job = ? order by task",
            run,
            job,
        )

    def last_tried(self, run: int, job: int) -> int:
        """The last task of a job that was tried; -1: none."""
        last = "select ifnull(max(task), -1) from attempt where run = ? and job = ?"
        return int(self._do(last, run, job).fetchone()[0])

    def made_again(self, run: int, job: int, task: int) -> tuple[int, int]:
        """Attempts at a call so far, and how many of them were lost.

        If it had ended well, that was another call, or its result was not kept: nothing is left of it.
        """
        task_is = "run = ? and job = ? and task = ?"
        at = run, job, task
        rows = list(self._each(f"select status, how from attempt where {task_is}", *at))
        if any(status == 0 for status, _ in rows):
            for table in ("attempt", "result"):
                self._do(f"delete from {table} where {task_is}", *at)
            return 0, 0
        return len(rows), sum(how == "lost" for _, how in rows)

    def attempts(self, run: int) -> Iterator[Attempt]:
        """All attempts of a run that have ended, by job, task and attempt."""
        rows = self._each(
            "select job, task, attempt, status, began, seconds, cpu, memory, how"
            " from attempt where run = ? order by job, task, attempt",
            run,
        )
        return map(Attempt._make, rows)

    def tried(self, run: int) -> Iterator[tuple[int, int, Tried]]:
        """Job, task, and what became of it, of all that were tried, in this order; one at a time."""
        for (job, task), attempts in groupby(self.attempts(run), lambda each: each[:2]):
            lost = 0
            for last in attempts:
                lost += last.how == "lost"
            yield job, task, Tried(last, lost)

    def counted(self, run: int) -> dict[int, Counted]:
        """Tasks that ended well, by job."""
        rows = self._each(
            "select job, count(*), sum(seconds), sum(seconds * seconds) from attempt"
            " where run = ? and status = 0 group by job",
            run,
        )
        return {job: Counted(*sums) for job, *sums in rows}

    def failing(self, run: int) -> Iterator[tuple[int, int]]:
        """Job, and attempts that count, of all tasks that were tried and have not ended well."""
        return self._each(
            "select job, max(attempt) - sum(how = 'lost') from attempt where run = ?"
            " group by job, task having min(status <> 0)",
            run,
        )

    def fly(self, run: int, at: float, flying: Iterable[Flying]) -> None:
        """What runs now, in place of what ran before."""
        with _telling(self.path):
            self._base.execute("delete from flying where run = ?", (run,))
            self._base.executemany(f"insert into flying values ({run}, ?, ?, ?, ?)", flying)
            self._base.execute("update run set lasted = ? where id = ?", (at, run))

    def flying(self, run: int) -> dict[int, Flying]:
        """What ran when somebody last looked, at most a second ago, by job."""
        rows = self._each("select job, tasks, began, latest from flying where run = ?", run)
        return {row[0]: Flying._make(row) for row in rows}

    def held(self, run: int) -> dict[int, Decided]:
        """The last decision of each job."""
        rows = self._each(
            "select max(at), job, slots, why from decision where run = ? group by job", run
        )
        return {row[1]: Decided._make(row) for row in rows}

    def decisions(self, run: int) -> Iterator[Decided]:
        """What was decided, in the order of time."""
        rows = self._each(
            "select at, job, slots, why from decision where run = ? order by at, job", run
        )
        return map(Decided._make, rows)

    def history(self, program: str, user: str) -> tuple[int, float, float]:
        """Tasks of a program that ended well in earlier runs; sums of log seconds and their squares."""
        known = "select tasks, seconds, squares from history where program = ? and user = ?"
        return next(self._each(known, program, user), (0, 0.0, 0.0))

    def remember(self, program: str, user: str, tasks: int, total: float, squares: float) -> None:
        """Adds to the history of a program: tasks, sums of log seconds and of their squares."""
        self._do(
            "insert into history values (?, ?, ?, ?, ?) on conflict do update set"
            " tasks = tasks + excluded.tasks, seconds = seconds + excluded.seconds,"
            " squares = squares + excluded.squares",
            *(program, user, tasks, total, squares),
        )


def _wall() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
