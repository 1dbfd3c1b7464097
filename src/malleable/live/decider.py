"""What decides in a live run: the scheduler, told counts and times of a run's jobs.

A task of several slots is shown as so many tasks of one. A job that may hold at most m slots is shown as m
tasks at once, so long that they hold all of its work: the scheduler takes the number of a job's tasks for
the most that it can use. A call costs what the scheduler takes, and O(1) for each job that changed.
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
from malleable.live.journal import Decided
from malleable.live.loop import Work

__all__ = ["UNKNOWN", "SchedulerDecider", "seconds_of"]

UNKNOWN = 1.0
"""Seconds that a task of a job is believed to take while nothing is known of it."""
_LEAST = 1e-6  # seconds of a task; the scheduler has no work below 1e-12
_OTHERS_FIRST = "others come first"


def seconds_of(work: Work) -> float:
    """Seconds of one task: the mean of those that ended well, else as stated, else `UNKNOWN`."""
    if work.done > 0:
        return max(work.taken / work.done, _LEAST)
    return work.seconds or UNKNOWN


def _shown(work: Work) -> tuple[int, float]:
    """Waiting tasks as the scheduler sees them, and seconds of a task then."""
    waiting = 0 if work.cancelled else work.waiting * work.width
    if work.max_slots is None:
        return waiting, seconds_of(work)
    running = work.running * work.width
    seen = min(waiting, max(0, work.max_slots - running))
    share = (waiting + running) / max(1, seen + running)
    return seen, seconds_of(work) * share


class SchedulerDecider:
    """The decider of a run.

    Parameters
    ----------
    slots : int
        Of the engine.
    policy, objective, **options
        As for `malleable.Scheduler`.
    users : sequence of mapping
        As for `malleable.Cluster`.
    """

    def __init__(
        self,
        slots: int,
        policy: str = "flex",
        objective: str = "sum:response",
        users: Sequence[Mapping[str, Any]] = (),
        **options: Any,
    ) -> None:
        self._scheduler = Scheduler(
            Cluster([{"slots": slots}], users=users), policy, objective, learn=False, **options
        )
        self._works: dict[int, Work] = {}  # by row; jobs that are here
        self._id_of: dict[int, int] = {}
        self._row_of: dict[int, int] = {}
        self._held: dict[int, int] = {}  # slots of the decision before, where there are any
        self._changed: set[int] = set()

    def came(self, row: int, work: Work, now: float) -> None:
        """A job may run from now on."""
        seen, seconds = _shown(work)
        table = ClusterJobs(
            [seen],
            [seconds],
            arrival=now if math.isnan(work.arrival) else min(work.arrival, now),
            weight=work.weight,
            deadline=work.deadline,
            min_map_slots=work.min_slots,
            user=[work.user],
        )
        (number,) = self._scheduler.add(table, now).tolist()
        self._works[row], self._id_of[row], self._row_of[number] = work, number, row

    def gone(self, row: int, now: float) -> None:
        """A job has no task left, or was cancelled."""
        del self._works[row]
        number = self._id_of.pop(row)
        del self._row_of[number]
        self._held.pop(row, None)
        self._changed.discard(row)
        self._scheduler.finish([number], now)

    def changed(self, row: int) -> None:
        """Counts or times of a job are others than before."""
        if row in self._works:
            self._changed.add(row)

    def resize(self, slots: int, now: float) -> None:
        """The engine has so many slots from now on."""
        self._scheduler.set_slots([0], slots=[slots], now=now)

    def close(self) -> None:
        """End the file that calls were recorded in, if there is one."""
        self._scheduler.close()

    def _tell(self, now: float) -> None:
        if not self._changed:
            return
        rows = sorted(self._changed)
        self._changed.clear()
        works = [self._works[row] for row in rows]
        ids = [self._id_of[row] for row in rows]
        seen, seconds = zip(*map(_shown, works), strict=True)
        self._scheduler.observe(
            ids,
            pending=np.array(seen),
            running=np.array([w.running * w.width for w in works]),
            now=now,
        )
        self._scheduler.update(ids, map_seconds=np.array(seconds), now=now)

    def decide(self, now: float) -> list[Decided]:
        """Slots of jobs; those that changed."""
        self._tell(now)
        decision = self._scheduler.decide(now)
        rows = [self._row_of[number] for number in decision.ids.tolist()]
        slots = dict(zip(rows, decision.slots.tolist(), strict=True))
        ceased = [Decided(now, row, 0, _OTHERS_FIRST) for row in self._held if not slots.get(row)]
        moved = [row for row, count in slots.items() if count and self._held.get(row) != count]
        self._held = {row: count for row, count in slots.items() if count}
        if not moved:
            return ceased
        why = dict(zip(rows, decision.explain(), strict=True))
        return ceased + [
            Decided(now, row, slots[row], why[row].partition(" (")[2].removesuffix(")"))
            for row in moved
        ]

    def ahead(self, now: float, free: int) -> list[int]:
        """Jobs in the order in which their next tasks would start, if so many slots came free; none do."""
        self._tell(now)
        started = copy.copy(self._scheduler).assign(now, [free]).ids.tolist()
        return [self._row_of[number] for number in dict.fromkeys(started)]

    def assign(self, now: float, free: int) -> list[tuple[int, int]]:
        """How many tasks of which jobs start now, in order; they count as running."""
        self._tell(now)
        started = self._scheduler.assign(now, [free]).ids.tolist()
        return [(self._row_of[number], len(list(same))) for number, same in groupby(started)]
