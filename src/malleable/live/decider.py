"""What decides in a live run: the scheduler, told counts and times of a run's jobs.

A task of several slots is shown as so many tasks of one. A job for whose tasks little memory is free is shown
as those that fit, so long that they hold all of its work. A call costs what the scheduler takes, and O(1)
for each job that changed.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from malleable.cluster.nodes import Cluster
from malleable.cluster.scheduler import Scheduler
from malleable.cluster.table import ClusterJobs
from malleable.domain import MOST_SLOTS
from malleable.live.guard import Guard
from malleable.live.journal import Decided
from malleable.live.loop import Work

__all__ = ["UNKNOWN", "SchedulerDecider", "seconds_of"]

UNKNOWN = 1.0
"""Seconds that a task is believed to take while nothing is known of any."""
_LEAST = 1e-6  # seconds of a task; the scheduler has no work below 1e-12
_OTHERS_FIRST = "others come first"
_OTHERWISE = 0.1  # the mean of all tasks is told when it has changed by such a part


def seconds_of(work: Work, common: float = UNKNOWN) -> float:
    """Seconds of one task: the mean of those that ended well, else as stated, else as of other jobs."""
    if work.done > 0:
        return max(work.taken / work.done, _LEAST)
    return work.seconds or common


def _most(works: Sequence[Work]) -> list[int]:
    """Slots that jobs may have at most, and not fewer than their minimum."""
    return [
        max(1, work.running * work.width)
        if work.paused
        else MOST_SLOTS
        if work.max_slots is None
        else max(work.max_slots, work.min_slots)
        for work in works
    ]


class SchedulerDecider:
    """The decider of a run.

    Parameters
    ----------
    slots : int
        Of the engine.
    policy, objective, **options
        As for `malleable.Scheduler`.
    memory : float
        Bytes that tasks which run may have together, as far as jobs say what theirs take.
    users : sequence of mapping
        As for `malleable.Cluster`.
    """

    def __init__(
        self,
        slots: int,
        policy: str = "auto",
        objective: str = "sum:response",
        memory: float = math.inf,
        users: Sequence[Mapping[str, Any]] = (),
        **options: Any,
    ) -> None:
        self._scheduler = Scheduler(
            Cluster([{"slots": slots}], users=users), policy, objective, learn=False, **options
        )
        self.guard = Guard()
        self._memory = self._free = memory
        self.behind = False
        self._limited: set[int] = set()  # rows of jobs whose tasks say their memory
        self._works: dict[int, Work] = {}  # by row; jobs that are here
        self._id_of: dict[int, int] = {}
        self._row_of: dict[int, int] = {}
        self._held: dict[int, int] = {}  # slots of the decision before, where there are any
        self._changed: set[int] = set()
        self._common = UNKNOWN  # seconds of a task of which nothing is known
        self._done, self._taken = 0, 0.0  # of all jobs
        # What of it is a job's, gone ones too, by row.
        self._counted: dict[int, tuple[int, float]] = {}

    def _shown(self, work: Work) -> tuple[int, float]:
        """Waiting tasks, in slots, as the scheduler sees them, and seconds of a task then."""
        waiting = 0 if work.cancelled or work.paused else work.waiting * work.width
        running = work.running * work.width
        most = self._free // work.memory * work.width if work.memory > 0.0 else math.inf
        seconds = seconds_of(work, self._common)
        if waiting <= most:
            return waiting, seconds
        seen = int(most)
        return seen, seconds * (waiting + running) / max(1, seen + running)

    def came(self, rows: Sequence[int], works: Sequence[Work], now: float) -> None:
        """Jobs may run from now on."""
        self._works |= zip(rows, works, strict=True)
        self._limited |= {row for row, work in zip(rows, works, strict=True) if work.memory > 0.0}
        seen, seconds = zip(*map(self._shown, works), strict=True)
        table = ClusterJobs(
            seen,
            seconds,
            arrival=np.fmin([work.arrival for work in works], now),
            weight=[work.weight for work in works],
            deadline=[work.deadline for work in works],
            min_map_slots=[0 if work.paused else work.min_slots for work in works],
            user=[work.user for work in works],
        )
        numbers = self._scheduler.add(table, now, max_slots=_most(works)).tolist()
        self._id_of |= zip(rows, numbers, strict=True)
        self._row_of |= zip(numbers, rows, strict=True)
        self._changed.update(rows)

    def gone(self, row: int, now: float) -> None:
        """A job has no task left, or was cancelled."""
        self._count(row)
        del self._works[row]
        number = self._id_of.pop(row)
        del self._row_of[number]
        self._held.pop(row, None)
        self._changed.discard(row)
        self._limited.discard(row)
        self._scheduler.finish([number], now)

    def changed(self, row: int) -> None:
        """Counts or times of a job are others than before."""
        if row in self._works:
            self._changed.add(row)

    def terms(self, row: int, now: float) -> None:
        """Weight, deadline or limits of a job are others than before, or whether it is paused."""
        if row not in self._works:
            return
        work, ids = self._works[row], [self._id_of[row]]
        least = 0 if work.paused else work.min_slots
        terms: dict[str, Any] = {"weight": [work.weight], "deadline": [work.deadline]}
        self._scheduler.update(
            ids, min_map_slots=[least], max_slots=_most([work]), now=now, **terms
        )
        self.changed(row)

    def _look_at_memory(self) -> None:
        """Jobs that say their memory are shown as many tasks as there is memory for."""
        used = sum(self._works[row].running * self._works[row].memory for row in self._limited)
        free = max(0.0, self._memory - used)
        if free != self._free:
            self._free = free
            self._changed |= self._limited

    def resize(self, slots: int, now: float) -> None:
        """The engine has so many slots from now on."""
        self._scheduler.set_slots([0], slots=[slots], now=now)

    def close(self) -> None:
        """End the file that calls were recorded in, if there is one."""
        self._scheduler.close()

    def _tell(self, now: float) -> None:
        self._look_around()
        if self._limited:
            self._look_at_memory()
        if not self._changed:
            return
        rows = sorted(self._changed)
        self._changed.clear()
        works = [self._works[row] for row in rows]
        ids = [self._id_of[row] for row in rows]
        seen, seconds = zip(*map(self._shown, works), strict=True)
        running = np.array([work.running * work.width for work in works])
        self._scheduler.observe(ids, pending=np.array(seen), running=running, now=now)
        self._scheduler.update(ids, map_seconds=np.array(seconds), max_slots=_most(works), now=now)

    def _count(self, row: int) -> None:
        work = self._works[row]
        done, taken = self._counted.get(row, (0, 0.0))
        self._done += work.done - done
        self._taken += work.taken - taken
        self._counted[row] = work.done, work.taken

    def _look_around(self) -> None:
        """What tasks take in all jobs is believed of those of which nothing is known."""
        for row in self._changed:
            self._count(row)
        mean = max(self._taken / self._done, _LEAST) if self._done else self._common
        if abs(mean - self._common) > _OTHERWISE * self._common:
            self._common = mean
            self._changed |= {row for row, w in self._works.items() if not w.done and not w.seconds}

    def decide(self, now: float) -> list[Decided]:
        """Slots of jobs; those that changed."""
        self._tell(now)
        decision = self._scheduler.decide(now)
        rows = [self._row_of[number] for number in decision.ids.tolist()]
        slots = dict(zip(rows, decision.slots.tolist(), strict=True))
        ceased = [
            Decided(now, row, 0, _OTHERS_FIRST, *self._believed(row))
            for row in self._held
            if not slots.get(row)
        ]
        moved = [row for row, count in slots.items() if count and self._held.get(row) != count]
        self._held = {row: count for row, count in slots.items() if count}
        if not moved:
            return ceased
        reasons = self.guard("the reasons of decisions", decision.explain) or [""] * len(rows)
        why = dict(zip(rows, reasons, strict=True))
        return ceased + [
            Decided(
                *(now, row, slots[row], why[row].partition(" (")[2].removesuffix(")")),
                *self._believed(row),
            )
            for row in moved
        ]

    def _believed(self, row: int) -> tuple[float, float]:
        """Seconds of a task, and the work that is left [slot-seconds]; NaN of a job that is gone."""
        work = self._works.get(row)
        if work is None:
            return math.nan, math.nan
        waiting, seconds = self._shown(work)
        return seconds, (waiting + work.running * work.width) * seconds

    def ahead(self, now: float, free: int) -> list[int]:
        """Jobs in the order in which their next tasks would start, if so many slots came free; none do."""
        self._tell(now)
        started = copy.copy(self._scheduler).assign(now, [free]).ids.tolist()
        return [self._row_of[number] for number in dict.fromkeys(started)]

    def assign(self, now: float, free: int) -> list[tuple[int, int]]:
        """How many tasks of which jobs start now, in order; they count as running.

        Each job is shown as many as fit into the memory that is free, all together may be more: what does
        not fit stays ``behind``.
        """
        self._tell(now)
        started = self._scheduler.assign(now, [free]).ids.tolist()
        counts = [(self._row_of[number], len(list(same))) for number, same in groupby(started)]
        self.behind = False
        if not self._limited:
            return counts
        left, found = self._free, []
        for row, count in counts:
            size = self._works[row].memory
            fits = min(count, int(left // size)) if size > 0.0 else count
            left -= fits * size
            if fits < count:
                self.behind = True
                self._changed.add(row)
            if fits:
                found.append((row, fits))
        return found
