"""Rows of a journal, the SQLite file that records runs, and its schema. Times are seconds of the run."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

# Times that a task may be lost (its end is unknown) beyond its retries.
LOST_AGAIN = 3


# What people read of tasks that did not end well, by how they did; all others have failed.
WORDS = {"late": "timed out", "lost": "lost", "skipped": "skipped", "cancelled": "cancelled"}


# How an attempt ended that was ended while the other attempt of its task went on, or after that one.
IN_VAIN = "in vain"


# Beginning of a run's ``rule`` (what decides, in words) while the machine is short of memory or too busy.
NOTHING_STARTS = "no new task starts"


class JournalError(ValueError):
    """A journal that cannot be used, and why."""


class JobRow(NamedTuple):
    """A job as it was when its run began. ``described`` are its settings in JSON's types; ``content`` is what
    its tasks are made of (``over`` or ``commands`` of a file of jobs, with the values at that time); None if
    they are not commands, or a value is missing."""

    described: dict[str, Any]
    tasks: int
    content: dict[str, Any] | None = None


class Attempt(NamedTuple):
    """One attempt at a task.

    ``status`` is None while its end is not recorded: it runs, or its run was stopped or killed. ``how`` it
    ended: "" (by itself), "late", "refused", "lost", "cancelled", `IN_VAIN`; "counted": it left a queue, and
    its seconds are the mean of the job's tasks. ``why`` is what the engine said. ``backup_of`` is the attempt
    beside which this one was started; None: it is no backup."""

    job: int
    task: int
    attempt: int
    status: int | None
    began: float
    seconds: float = 0.0
    cpu: float = 0.0
    memory: float = 0.0
    how: str = ""
    why: str = ""
    backup_of: int | None = None

    @property
    def end(self) -> float:
        return self.began + self.seconds


class Decided(NamedTuple):
    """Slots of a job from some time of the run on, with the estimates of a task's seconds and of the work
    left [slot-seconds] at that time; NaN: unknown."""

    at: float
    job: int
    slots: int
    why: str
    seconds: float = math.nan
    work: float = math.nan


class RunningTasks(NamedTuple):
    """Running tasks of a job, and the mean of their starts."""

    job: int
    tasks: int
    began: float


class ExpectedEnd(NamedTuple):
    """When a job is expected to end [s of the run], and between which times in 80 of 100 cases; NaN: unknown.
    Mean seconds of its tasks, and their standard error; 0: unknown."""

    job: int
    at: float = math.nan
    early: float = math.nan
    late: float = math.nan
    seconds: float = 0.0
    spread: float = 0.0


class Run(NamedTuple):
    """A run. ``began``: date and time in UTC. ``kind`` of its tasks: "commands", "calls" of a pool, "arrays" of
    a queue, "stages" of a governed Spark, or "submitted" to a queue. ``status``: "running", "stopped" or
    "done". ``output`` is its folder below that of the journal, empty: none so far. ``lasted``: its seconds so
    far. ``rule``: the policy that decides, in words."""

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


def packed(content: Mapping[str, Any] | None) -> bytes | None:
    return None if content is None else zlib.compress(json.dumps(content).encode(), 1)


def unpacked(content: bytes | None) -> dict[str, Any] | None:
    return None if content is None else json.loads(zlib.decompress(content))


SCHEMA = """
create table run (
  id integer primary key, began text not null, kind text not null, slots integer not null,
  objective text not null, policy text not null, output text not null default '',
  lasted real not null default 0, status text not null default 'running',
  rule text not null default '');
create table job (
  run integer not null, job integer not null, tasks integer not null, described text not null,
  content blob, primary key (run, job));
create table attempt (
  run integer not null, job integer not null, task integer not null, attempt integer not null,
  status integer, began real not null, seconds real not null, cpu real not null,
  memory real not null, how text not null, why text not null, backup_of integer,
  primary key (run, job, task, attempt)) without rowid;
create table decision (
  run integer not null, at real not null, job integer not null, slots integer not null,
  why text not null, seconds real, work real);
create index decision_of on decision (run, at);
create table flying (
  run integer not null, job integer not null, tasks integer not null, began real not null,
  primary key (run, job)) without rowid;
create table result (
  run integer not null, job integer not null, task integer not null, digest blob not null,
  value blob not null, primary key (run, job, task)) without rowid;
create table history (id integer primary key check (id = 0), learnt text not null);
create table expected (
  run integer not null, job integer not null, at real, early real, late real, seconds real not null,
  spread real not null, primary key (run, job)) without rowid;
"""
