"""Deciders of several separate pools of slots, as one. A decider asks our scheduler how many slots each job
should have; a *place* is a pool of slots, such as a partition of Slurm; a job is known by its row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from malleable.live.decider import SchedulerDecider
from malleable.live.journal import Decided, ExpectedEnd
from malleable.live.ledger import JobState


class PlaceDeciders:
    """A decider for each place; ``make(place)`` makes it when the first job comes there. Its methods are
    those of a decider."""

    def __init__(self, make: Callable[[str], SchedulerDecider]) -> None:
        self._make = make
        self._of: dict[str, SchedulerDecider] = {}  # by place
        self._own: dict[int, SchedulerDecider] = {}  # by row
        self._works: list[JobState] = []  # all jobs that came
        self._slots: dict[str, int] = {}  # by place

    def came(self, rows: Sequence[int], works: Sequence[JobState], now: float) -> None:
        self._works += works
        for row, work in zip(rows, works, strict=True):
            if work.place not in self._of:
                self._of[work.place] = self._make(work.place)
                self._of[work.place].resize(self._slots.get(work.place, 0), now)
            self._own[row] = self._of[work.place]
            self._own[row].came([row], [work], now)

    def gone(self, row: int, now: float) -> None:
        self._own.pop(row).gone(row, now)

    def changed(self, row: int) -> None:
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
        return {row: end for own in self._of.values() for row, end in own.expected({}, now).items()}

    @property
    def rule(self) -> str:
        # The name of the policy that decides where most jobs are.
        jobs = Counter(id(own) for own in self._own.values())
        return max(self._of.values(), key=lambda own: jobs[id(own)]).rule if self._of else ""

    def decide(self, now: float) -> list[Decided]:
        return [decided for own in self._of.values() for decided in own.decide(now)]

    def ahead(self, place: str, now: float, free: int) -> list[int]:
        # Rows of the jobs of a place whose tasks start next, if so many slots become free; in that order.
        own = self._of.get(place)
        return own.ahead(now, free) if own else []

    def resize(self, place: str, slots: int, now: float) -> None:
        if self._slots.get(place) != slots:
            self._slots[place] = slots
            if place in self._of:
                self._of[place].resize(slots, now)

    def history(self, now: float) -> dict[str, Any] | None:
        """What was learnt of programs, each from the place where it ran most; all jobs are removed."""
        tasks = Counter(dict.fromkeys(self._of, 0))
        for work in self._works:
            tasks[work.place] += work.done
        found: dict[str, Any] | None = None
        learnt: dict[tuple[str, str], Any] = {}
        for place, _ in reversed(tasks.most_common()):
            found = self._of[place].history(now)
            here = {(work.program, work.user) for work in self._works if work.place == place}
            for own in found["programs"]:
                key = own["program"], own["user"]
                if key in here or key not in learnt:
                    learnt[key] = own
        return found and {**found, "programs": list(learnt.values())}

    def close(self) -> None:
        for own in self._of.values():
            own.close()
