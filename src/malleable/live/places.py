"""Deciders of several pools of slots that are governed apart, as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from malleable.live.decider import SchedulerDecider
from malleable.live.journal import Decided
from malleable.live.loop import Work

__all__ = ["Places"]


class Places:
    """A decider a place; ``make(place)`` makes it when the first job comes there."""

    behind = False

    def __init__(self, make: Callable[[str], SchedulerDecider]) -> None:
        self._make = make
        self._of: dict[str, SchedulerDecider] = {}
        self._own: dict[int, SchedulerDecider] = {}  # by row
        self._slots: dict[str, int] = {}

    def came(self, rows: Sequence[int], works: Sequence[Work], now: float) -> None:
        """As of a decider; the place is the job's."""
        for row, work in zip(rows, works, strict=True):
            if work.place not in self._of:
                self._of[work.place] = self._make(work.place)
                self._of[work.place].resize(self._slots.get(work.place, 0), now)
            self._own[row] = self._of[work.place]
            self._own[row].came([row], [work], now)

    def gone(self, row: int, now: float) -> None:
        """As of a decider."""
        self._own.pop(row).gone(row, now)

    def changed(self, row: int) -> None:
        """As of a decider."""
        if row in self._own:
            self._own[row].changed(row)

    def decide(self, now: float) -> list[Decided]:
        """As of a decider."""
        return [decided for own in self._of.values() for decided in own.decide(now)]

    def assign(self, now: float, free: int) -> list[tuple[int, int]]:
        """Nothing: tasks are started by the queue that they wait in."""
        return []

    def ahead(self, place: str, now: float, free: int) -> list[int]:
        """Jobs of a place in the order in which their next tasks would start on so many slots."""
        own = self._of.get(place)
        return own.ahead(now, free) if own else []

    def resize(self, place: str, slots: int, now: float) -> None:
        """A place has so many slots."""
        if self._slots.get(place) != slots:
            self._slots[place] = slots
            if place in self._of:
                self._of[place].resize(slots, now)

    def close(self) -> None:
        """End the files that calls were recorded in."""
        for own in self._of.values():
            own.close()
