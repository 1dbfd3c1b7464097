"""Rows of a journal, and the kinds of rows that there are; any other row is an error with a name."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from malleable.domain import LATEST_TIME, MOST_SLOTS, check_whole, shown
from malleable.files.json import is_number, parse_json

KINDS = ("commands", "calls", "arrays", "submitted")
"""What the tasks of a run are: commands, calls of a pool, tasks of a queue that is governed, or commands that
were handed over to a queue."""
STATES = ("running", "stopped", "done")
LOST_AGAIN = 3
"""Times that a task may be lost without its own doing, beyond its retries."""
_MOST_TASKS = 2**53
_LARGEST = 1 << 32  # bytes of a job's tasks, unpacked


WORDS = {"late": "timed out", "lost": "lost", "skipped": "skipped", "cancelled": "cancelled"}
"""What people read of tasks that did not end well, by how they did; all others have failed."""


IN_VAIN = "in vain"
"""How an attempt ended that was ended while the other attempt of its task went on, or after that one."""


class JournalError(ValueError):
    """A journal that cannot be used, and why."""


class JobRow(NamedTuple):
    """A job as it was when its run began.

    ``described`` are its settings in JSON's types; ``content`` what its tasks are made of (``over`` or
    ``commands`` of a file of jobs, as values that were found then), None where they are not commands or
    there is one without a value.
    """

    described: dict[str, Any]
    tasks: int
    content: dict[str, Any] | None = None


class Attempt(NamedTuple):
    """One attempt of a task that has ended.

    ``how``: "" (by itself), "late", "refused", "lost", "cancelled", `IN_VAIN`; "counted": seen to have gone
    from a queue, its seconds those of the job's tasks in the mean. ``why`` is what the engine said of that.
    ``backup_of``: the attempt beside which this one was started; None: it is no backup.
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
    why: str = ""
    backup_of: int | None = None


class Begun(NamedTuple):
    """An attempt at a command, or a backup task beside the attempt ``backup_of``, that was about to begin at
    ``began``, whether or not it has ended."""

    job: int
    task: int
    attempt: int
    began: float
    backup_of: int | None = None


class Backups(NamedTuple):
    """Backup tasks that began, those that ended before the attempt beside them, and slot-seconds of attempts
    that ended in vain."""

    backup_tasks: int = 0
    backups_won: int = 0
    wasted_slot_seconds: float = 0.0


class Tried(NamedTuple):
    """What became of a task so far.

    ``last`` is its last attempt that did not end in vain. ``made`` attempts have begun, of which ``lost`` were
    lost without the task's fault, and ``beside`` are no failures of their own: the run was stopped while they
    ran, or of two attempts beside each other only one has failed.
    """

    last: Attempt
    lost: int
    good: bool
    seconds: float  # of the task, if an attempt was good
    made: int
    beside: int = 0

    def over(self, retries: int) -> bool:
        """Whether it has ended for good."""
        return self.good or self.made - self.lost - self.beside > retries


class Decided(NamedTuple):
    """Slots of a job from some time of the run on; what was believed then of a task's seconds, and of
    the work that was left [slot-seconds]; NaN: not known."""

    at: float
    job: int
    slots: int
    why: str
    seconds: float = math.nan
    work: float = math.nan


class Flying(NamedTuple):
    """Tasks of a job that run, when they began in the mean, and when the last one did."""

    job: int
    tasks: int
    began: float
    latest: float


class Expected(NamedTuple):
    """When a job is expected to end [s of the run], and between what 80 of 100 times; NaN: not known.
    Seconds of one of its tasks on average, and how far they may be off (standard deviation); 0: not known."""

    job: int
    at: float = math.nan
    early: float = math.nan
    late: float = math.nan
    seconds: float = 0.0
    spread: float = 0.0


class Counted(NamedTuple):
    """Tasks of a job that ended well: their number, seconds in all, and the seconds' squares; when the first
    attempt at any of its tasks began, and when the last one ended; attempts beyond each task's first."""

    done: int
    seconds: float
    squares: float
    began: float = math.nan
    ended: float = math.nan
    retried: int = 0


class Run(NamedTuple):
    """A run as it was begun; ``output`` is its folder below that of the journal, empty: none so far."""

    id: int
    began: str
    kind: str
    slots: int
    objective: str
    policy: str
    output: str
    lasted: float
    status: str
    rule: str = ""


def _whole(name: str, least: int, most: int) -> str:
    return f"typeof({name}) = 'integer' and {name} between {least} and {most}"


def _amount(name: str, least: float = 0.0, most: float = LATEST_TIME) -> str:
    return f"+{name} between {least!r} and {most!r}"  # + takes the column's type: text is above numbers


def _text(name: str) -> str:
    return f"typeof({name}) = 'text'"


def _or_none(name: str, sound: str) -> str:
    return f"({name} is null or {sound})"


_JOB = _whole("job", 0, _MOST_TASKS)
_TASK = _whole("task", 0, _MOST_TASKS - 1)
_STATUS = 2**31
_ENDS = tuple(_or_none(name, _amount(name, -LATEST_TIME)) for name in ("at", "early", "late"))
_BACKUP_OF = f"{_whole('backup_of', 0, _STATUS)} and backup_of < attempt"

SOUND: Mapping[str, str] = {
    "attempt": " and ".join((
        _JOB, _TASK, _whole("attempt", 0, _STATUS), _whole("status", -_STATUS, _STATUS),
        _amount("began"), _amount("seconds"), _amount("cpu"), _amount("memory", most=1e300),
        _text("how"), _text("why"), _or_none("backup_of", _BACKUP_OF),
    )),
    "begun": " and ".join((
        _JOB, _TASK, _whole("attempt", 0, _STATUS), _amount("began"), _or_none("backup_of", _BACKUP_OF),
    )),
    "decision": " and ".join((
        _amount("at", -LATEST_TIME), _JOB, _whole("slots", 0, MOST_SLOTS), _text("why"),
        _or_none("seconds", _amount("seconds", most=1e300)),
        _or_none("work", _amount("work", most=1e300)),
    )),
    "flying": " and ".join((
        _JOB, _whole("tasks", 0, _MOST_TASKS), _amount("began", -LATEST_TIME),
        _amount("latest", -LATEST_TIME),
    )),
    "expected": " and ".join((
        _JOB, *_ENDS, _amount("seconds", most=1e300), _amount("spread", most=1e300),
    )),
    "result": f"{_JOB} and {_TASK} and typeof(digest) = 'blob' and typeof(value) = 'blob'",
}  # fmt: skip
"""By table, as SQL: what holds of every row of ours."""


def packed(content: Mapping[str, Any] | None) -> bytes | None:
    """What tasks are made of, small."""
    return None if content is None else zlib.compress(json.dumps(content).encode(), 1)


def unpacked(content: Any) -> dict[str, Any] | None:
    """The reverse; ValueError for anything else."""
    if content is None:
        return None
    if not isinstance(content, bytes):
        raise ValueError(f"content = {shown(content)}: expected a blob")
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(content, _LARGEST).decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"content: {error}") from None
    if not unpacking.eof:
        raise ValueError("content: ends too early")
    found = parse_json(text, "content")
    if not isinstance(found, dict):
        raise ValueError(f"content = {shown(found)}: expected an object")
    return found


def _one_of(name: str, value: Any, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ValueError(f"{name} = {shown(value)}: expected one of {', '.join(known)}")
    return str(value)


def checked_text(name: str, value: Any) -> str:
    """ValueError if the value is not text."""
    if not isinstance(value, str):
        raise ValueError(f"{name} = {shown(value)}: expected text")
    return value


def checked_run(row: tuple[Any, ...]) -> Run:
    """A row of the table; ValueError for what no run of ours has there."""
    run = Run(*row)
    check_whole("id", run.id, 0, 2**63)
    for name in ("began", "objective", "policy", "output", "rule"):
        checked_text(name, getattr(run, name))
    _one_of("kind", run.kind, KINDS)
    _one_of("status", run.status, STATES)
    check_whole("slots", run.slots, 0, MOST_SLOTS)
    if not is_number(run.lasted) or not 0.0 <= run.lasted <= LATEST_TIME:
        raise ValueError(f"lasted = {shown(run.lasted)}: expected seconds")
    return run


SCHEMA = """
create table run (
  id integer primary key, began text not null, kind text not null, slots integer not null,
  objective text not null, policy text not null, output text not null default '',
  lasted real not null default 0, status text not null default 'running',
  rule text not null default '');
create table job (
  run integer not null, job integer not null, tasks integer not null, described text not null,
  content blob, primary key (run, job));
create table session (
  id integer primary key, run integer not null, began text not null, at real not null,
  pid integer not null);
create table attempt (
  run integer not null, job integer not null, task integer not null, attempt integer not null,
  status integer not null, began real not null, seconds real not null, cpu real not null,
  memory real not null, how text not null, why text not null default '', backup_of integer,
  primary key (run, job, task, attempt)) without rowid;
create table decision (
  run integer not null, at real not null, job integer not null, slots integer not null,
  why text not null, seconds real, work real);
create index decision_of on decision (run, at);
create table flying (
  run integer not null, job integer not null, tasks integer not null, began real not null,
  latest real not null, primary key (run, job)) without rowid;
create table result (
  run integer not null, job integer not null, task integer not null, digest blob not null,
  value blob not null, primary key (run, job, task)) without rowid;
create table history (id integer primary key check (id = 0), learnt text not null);
create table expected (
  run integer not null, job integer not null, at real, early real, late real, seconds real not null,
  spread real not null, primary key (run, job)) without rowid;
create table begun (
  run integer not null, job integer not null, task integer not null, attempt integer not null,
  began real not null, backup_of integer, primary key (run, job, task, attempt)) without rowid;
"""
