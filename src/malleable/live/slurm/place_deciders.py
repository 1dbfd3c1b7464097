"""Deciders of several pools of slots that are governed apart, as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from malleable.live.decider import SchedulerDecider
from malleable.live.journal import Decided, ExpectedEnd
from malleable.live.ledger import JobState


class PlaceDeciders:
    """A decider a place; ``make(place)`` makes it when the first job comes there."""

    def __init__(self, make: Callable[[str], SchedulerDecider]) -> None:
        self._make = make
        self._of: dict[str, SchedulerDecider] = {}
        self._own: dict[int, SchedulerDecider] = {}  # by row
        self._slots: dict[str, int] = {}

    def came(self, rows: Sequence[int], works: Sequence[JobState], now: float) -> None:
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

    def seconds(self, rows: Iterable[int], now: float) -> dict[int, float]:
        """Mean seconds of a task, as a decider says it, for each of these jobs that is here."""
        found: dict[int, float] = {}
        for own in self._of.values():
            here = [row for row in rows if self._own.get(row) is own]
            found |= dict(zip(here, own.seconds(here, now), strict=True)) if here else {}
        return found

    def expected(
        self, coming: Mapping[int, tuple[JobState, Iterable[int]]], now: float
    ) -> dict[int, ExpectedEnd]:
        """As of a decider; of arrays that are not here yet nothing is said."""
        return {row: end for own in self._of.values() for row, end in own.expected({}, now).items()}

    @property
    def rule(self) -> str:
        """As of a decider, of the place that has most jobs."""
        jobs = Counter(id(own) for own in self._own.values())
        return max(self._of.values(), key=lambda own: jobs[id(own)]).rule if self._of else ""

    def decide(self, now: float) -> list[Decided]:
        """As of a decider."""
        return [decided for own in self._of.values() for decided in own.decide(now)]

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

    def history(self, works: Sequence[JobState], now: float) -> dict[str, Any] | None:
        """What was learnt of programs, each where it ran (most, if that is several places); all jobs go."""
        tasks = Counter(dict.fromkeys(self._of, 0))
        for work in works:
            tasks[work.place] += work.done
        found: dict[str, Any] | None = None
        learnt: dict[tuple[str, str], Any] = {}
        for place, _ in reversed(tasks.most_common()):
            found = self._of[place].history(now)
            here = {(work.program, work.user) for work in works if work.place == place}
            for own in found["programs"]:
                key = own["program"], own["user"]
                if key in here or key not in learnt:
                    learnt[key] = own
        return found and {**found, "programs": list(learnt.values())}

    def close(self) -> None:
        """End the files that calls were recorded in."""
        for own in self._of.values():
            own.close()
