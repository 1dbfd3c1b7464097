"""One phase (map or reduce) of the jobs of a trace: tasks, their runs, and the work that follows from them. A
run is an attempt at a task that succeeded; its steps are "start", "shuffled", "sorted" and "end"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from malleable.arrays import quotient
from malleable.checkpoints import by_value
from malleable.jobs.table import Floats, Integers
from malleable.validation import ALL_SLOTS

_MOST_TASKS = 1 << 24  # most tasks that are listed one by one

# An array, or None where the trace does not know it.
Column: TypeAlias = Any


@by_value()
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Phase:
    """One phase of each job; None: not known.

    Attributes
    ----------
    tasks : ndarray of int64, shape (J,)
        Number of tasks, also of unlisted ones; `ALL_SLOTS`: as many as there are slots.
    work : ndarray of float64, shape (J,)
        Slot-seconds, where the file says them itself.
    bytes : ndarray of float64, shape (J,)
        What the tasks of a job read together (map), copy together (reduce).
    seconds : ndarray of float64
        Time of each task of a job [s], shape (J,); with ``offset`` of every single task.
    offset : ndarray of int64, shape (J + 1,)
        Job j has the rows ``offset[j]:offset[j + 1]`` of the columns below, or of ``seconds``.
    task : ndarray of int64, shape (R,)
        Of each run that succeeded: which task of its job, from 0; a task without one has a row of
        unknown times.
    start, end : ndarray of float64, shape (R,)
        When the run began and ended, in the trace's unit of time; NaN: unknown.
    width : ndarray of float64, shape (R,)
        How many tasks, from ``task`` on, ran together in this run.
    shuffled, sorted : ndarray of float64, shape (R,)
        When a reduce task had copied all, and sorted it.
    """

    tasks: Column = None
    work: Column = None
    bytes: Column = None
    seconds: Column = None
    offset: Column = None
    task: Column = None
    start: Column = None
    width: Column = None
    shuffled: Column = None
    sorted: Column = None
    end: Column = None

    @classmethod
    def of_runs(
        cls,
        tasks: Sequence[int],
        runs: Sequence[Sequence[Sequence[float]]],
        steps: Sequence[str] = ("start", "end"),
        bytes: Sequence[float] | None = None,
    ) -> Phase:
        """A phase of runs: for each job its number of tasks and rows (task, time of each step)."""
        rows = np.array([run for job in runs for run in job], dtype=np.float64)
        rows = rows.reshape(-1, 1 + len(steps))
        known = {step: rows[:, 1 + k].copy() for k, step in enumerate(steps)}
        return cls(
            tasks=np.array(tasks, dtype=np.int64),
            offset=_offset([len(job) for job in runs]),
            task=rows[:, 0].astype(np.int64),
            bytes=None if bytes is None else np.array(bytes, dtype=np.float64),
            **{"width": np.ones(len(rows))} | known,
        )

    @classmethod
    def of_blocks(cls, first: Integers, tasks: Any, start: Floats, end: Floats) -> Phase:
        """A phase of runs, each of so many tasks together; runs of none are left out. ``first``: the first run
        of each job."""
        some, before = tasks > 0, np.cumsum(tasks) - tasks
        within = before - np.repeat(before[first], np.diff(first, append=len(tasks)))
        runs = {"task": within[some].astype(np.int64), "width": tasks[some].astype(np.float64)}
        return cls(
            tasks=np.add.reduceat(tasks, first).astype(np.int64),
            offset=_offset(np.add.reduceat(some.astype(np.int64), first)),
            start=start[some], end=end[some], **runs,
        )  # fmt: skip

    def untimed(self, first: str) -> list[int]:
        """Jobs with tasks of which none has a known time from the step ``first`` to its end."""
        if self.offset is None or self.end is None:
            return []
        known = np.concatenate([[0], np.cumsum(self.end - getattr(self, first) >= 0)])
        found = (known[self.offset[1:]] == known[self.offset[:-1]]) & (np.diff(self.offset) > 0)
        return [int(job) for job in np.flatnonzero(found)]

    def left(
        self, now: float | None, first: str, per_second: float, unit: float, seconds: float
    ) -> tuple[Floats, Floats, Integers]:
        """Work of each job that is not done at ``now`` (None: all), all its work [s], and slots at most. Runs
        of unknown length take the job's mean; others without times have not begun. Bytes become tasks of
        ``unit`` bytes of ``seconds``."""
        if self.end is not None:
            return self._runs_left(now, getattr(self, first), per_second)
        if self.work is not None:
            work = self.work
            tasks = np.full(len(work), ALL_SLOTS) if self.tasks is None else self.tasks
        elif self.tasks is None:
            blocks = self.bytes / unit
            work, tasks = blocks * seconds, np.ceil(blocks).astype(np.int64)
        else:
            tasks = self.tasks
            work = self.seconds * tasks if self.offset is None else self._sums(self.seconds)
        return work, work, np.maximum(tasks, 1)

    @property
    def job(self) -> Integers:
        """The job of each run."""
        return np.repeat(np.arange(len(self.offset) - 1), np.diff(self.offset))

    def _sums(self, rows: Floats) -> Floats:
        return np.bincount(self.job, rows, len(self.offset) - 1).astype(np.float64)

    def _lengths(self, begin: Floats) -> Floats:
        # Length of each run, its job's mean if unknown.
        length = self.end - begin
        known = ~np.isnan(length)
        total, count = self._sums(np.where(known, length, 0.0)), self._sums(known)
        return np.where(known, length, quotient(total, count)[self.job])

    def _runs_left(
        self, now: float | None, begin: Floats, per_second: float
    ) -> tuple[Floats, Floats, Integers]:
        length, width = self._lengths(begin), self.width
        whole = self._sums(length * width) / per_second
        if now is None:
            return whole, whole, np.maximum(self.tasks, 1)
        end = np.where(np.isnan(self.end), begin + length, self.end)
        rest = np.where(np.isnan(end), length, np.clip(end - now, 0.0, length))
        work = self._sums(rest * width) / per_second
        runs = np.flatnonzero(rest > 0.0)
        first = runs[np.unique(self._places[runs], return_index=True)[1]]
        slots = np.bincount(self.job[first], width[first], len(whole)).astype(np.int64)
        return work, np.maximum(work, whole), np.maximum(slots, 1)

    def single(self) -> Phase:
        """The same, with a run for each task that ran beside others; ValueError if there are too many."""
        if (self.width == 1.0).all():
            return self
        count = self.tasks.sum(dtype=np.float64)
        if count > _MOST_TASKS:
            limit = f"there may be {_MOST_TASKS:,} where tasks of a job differ"
            raise ValueError(f"{count:,.0f} tasks; {limit}")
        width = self.width.astype(np.int64)
        ends = np.cumsum(width)
        within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - width, width)
        offset = np.concatenate([[0], ends])[self.offset]
        task, start, end = (np.repeat(own, width) for own in (self.task, self.start, self.end))
        return Phase(tasks=self.tasks, offset=offset, task=task + within, start=start, end=end)

    def task_seconds(self, first: str, per_second: float) -> list[Floats]:
        """Times of each job's tasks [s]: all runs of a task together, the job's mean where unknown."""
        if self.end is None:
            if self.offset is None:
                return [np.full(n, s) for n, s in zip(self.tasks, self.seconds, strict=True)]
            return [self.seconds[a:b] for a, b in pairwise(self.offset.tolist())]
        seconds = self._lengths(getattr(self, first)) / per_second
        ends = np.cumsum(self.tasks)
        return np.split(np.bincount(self._places, seconds, ends[-1:].sum()), ends[:-1])

    @property
    def _places(self) -> Integers:
        # Places of the tasks of all runs among the tasks of all jobs.
        before = np.cumsum(self.tasks) - self.tasks
        found: Integers = before[self.job] + self.task
        return found

    def first_runs(self, first: str, per_second: float) -> list[Floats]:
        """Begin and end [s] of the first run of known time of each job's tasks; NaN without one."""
        begin = getattr(self, first)
        # reversed, so that the first one is written last and counts
        chosen = np.flatnonzero(self.end - begin >= 0.0)[::-1]
        ends = np.cumsum(self.tasks)
        times = np.full((2, ends[-1:].sum()), math.nan)
        times[:, self._places[chosen]] = np.stack([begin, self.end])[:, chosen] / per_second
        return np.split(times, ends[:-1], axis=1)


def _offset(counts: Sequence[int] | Integers) -> Integers:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)


def filled(begin: Floats, end: Floats) -> list[float]:
    # Lengths of runs, their mean where unknown.
    length = end - begin
    known: Any = ~np.isnan(length)
    mean = math.fsum(length[known].tolist()) / int(known.sum()) if known.any() else 0.0
    found: list[float] = np.where(known, length, mean).tolist()
    return found
