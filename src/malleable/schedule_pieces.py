"""Pieces of a schedule (a job holds so many slots from start to end) as the checkers of plans see them. Shares
no code with the solvers, so that a fault of theirs is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from malleable.arrays import Floats, Integers
from malleable.display import counted

Mask = npt.NDArray[np.bool_]


class Holdings(NamedTuple):
    """What each job holds between its changes: by job, then by time."""

    job: Integers
    time: Floats  # [s]
    until: Floats  # the job's next change; -inf after its last
    slots: Integers


class Pieces:
    """Pieces of jobs with these names; any fault is a ValueError that names the job. Slots are counted in
    integers and compared without tolerance; at equal times ends come before starts."""

    def __init__(self, pieces: Mapping[str, npt.NDArray[Any]], names: Sequence[str]) -> None:
        self.names = names
        # A piece: the time from start to end in which a job holds the same slots.
        columns = [np.asarray(pieces[key]) for key in ("job", "start", "end", "slots")]
        self.job, self.start, self.end, self.slots = columns
        # From when on a piece works, where changes of slots cost time.
        self.works = np.asarray(pieces["works_from"]) if "works_from" in pieces else None
        count = len(self.job)
        if any(len(column) != count for column in columns):
            self.fail("pieces of different lengths")
        if self.slots.dtype.kind != "i" or self.job.dtype.kind != "i" or (self.slots < 1).any():
            self.fail("a piece without whole slots")
        if ((self.job < 0) | (self.job >= len(names))).any():
            self.fail("a piece of an unknown job")
        if not (np.isfinite(self.start).all() and np.isfinite(self.end).all()):
            self.fail("a piece that starts or ends at no time")
        if (self.end <= self.start).any():
            self.fail("a piece that ends before it starts")
        self.first = np.full(len(names), np.inf)
        self.last = np.full(len(names), -np.inf)
        np.minimum.at(self.first, self.job, self.start)
        np.maximum.at(self.last, self.job, self.end)
        work = self.slots * (self.end - self.start)
        self.done: Floats = np.bincount(self.job, work, len(names)).astype(np.float64)

    def fail(self, what: str, row: int | None = None) -> NoReturn:
        where = "" if row is None else f"job {self.names[row]}: "
        raise ValueError(f"invalid plan: {where}{what}")

    def refuse(self, bad: Mask, say: Callable[[int], str], job: Integers | None = None) -> None:
        """Fail for the first bad entry, of the job of that row, or of ``job[row]``."""
        for at in np.flatnonzero(bad)[:1].tolist():
            self.fail(say(at), at if job is None else int(job[at]))

    def check_capacity(self, slots: int) -> None:
        times = np.concatenate([self.end, self.start])
        change = np.concatenate([-self.slots, self.slots])
        by_time = np.argsort(times, kind="stable")
        times, used = times[by_time], np.cumsum(change[by_time])
        span = np.diff(times, append=times[-1:])
        for at in np.flatnonzero((used > slots) & (span > 0.0))[:1]:
            self.fail(f"{counted(int(used[at]), 'slot')} of {slots} in use at {times[at]}")

    def held(self) -> Holdings:
        times = np.concatenate([self.end, self.start])
        job = np.concatenate([self.job, self.job])
        order = np.lexsort((np.arange(len(times)), times, job))
        change = np.concatenate([-self.slots, self.slots])
        # each job's changes add up to 0, so the sum starts at 0 for each job
        held = np.cumsum(change[order])
        owner, time = job[order], times[order]
        until = np.append(time[1:], np.inf)
        until[np.append(owner[1:] != owner[:-1], True)] = -np.inf
        return Holdings(owner, time, until[: len(time)], held)
