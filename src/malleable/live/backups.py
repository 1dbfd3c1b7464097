"""Backup tasks: second attempts of tasks that will probably run for long, in slots that no ready task wants.

One for each task whose job has no waiting task and a finished one, the largest gain first; the gain is how much
earlier the task is expected to end, over the time that the backup task takes. The first attempt to end well
counts. As soon as a ready task wants a slot, the latest backup task is ended. This file knows the pairs, and
when to look for new ones: after starts and ends, and after a sixteenth of a task's mean or running time, at
most once an epoch. A look costs O(running tasks).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from malleable.live.decider import SchedulerDecider
from malleable.live.ledger import JobState

_LEAST = 0.22  # gain from which a backup task is worth a slot that no other task wants
_OF_TASK = 0.0625  # part of a task's mean or running time after which to look again


class RunningAttempt(NamedTuple):
    """An attempt that was handed over: since when, in which bundle, and whether its slot had been free only for
    the time that it takes to hand something over. A backup task has the bundle of the attempt beside it."""

    row: int  # of the job
    number: int  # of the task
    attempt: int  # 0: the first
    since: float
    bundle: int
    soon: bool = False
    backup_of: int | None = None  # the attempt beside which it runs


class Backups:
    """The pairs of attempts, by key (the name of an attempt); looks for new ones are at least ``epoch``
    seconds apart."""

    def __init__(self, decider: SchedulerDecider, epoch: float) -> None:
        self._decider, self._epoch = decider, epoch
        self._twin: dict[str, str] = {}  # by key of an attempt: that of the other attempt
        # Running backup tasks, in the order of their starts.
        self.running: dict[str, RunningAttempt] = {}
        self.dying: dict[str, RunningAttempt] = {}  # attempts that end in vain
        # When it looked last, and when it is to look again even if nothing happens.
        self._looked, self._due = -math.inf, math.inf
        self._stirred = True  # whether tasks have started or ended since the last look

    @property
    def slots(self) -> int:
        # Slots that backup tasks and attempts in vain hold.
        return len(self.running) + len(self.dying)

    def other(self, key: str) -> str:
        return self._twin.get(key, "")

    def begin(self, key: str, attempt: RunningAttempt, beside: str) -> None:
        self.running[key] = attempt
        self._twin[key], self._twin[beside] = beside, key

    def part(self, key: str) -> str:
        # Forget a pair, one attempt of which has ended; returns the other attempt.
        other = self._twin.pop(key)
        del self._twin[other]
        for each in (key, other):
            self.running.pop(each, None)
        return other

    def stir(self) -> None:
        # Tasks have started or ended: look for backups again.
        self._stirred = True

    # Choice of tasks.

    def too_many(self, now: float, free: int) -> list[str]:
        """Backup tasks to end now because waiting tasks want their slots or resources. ``free`` slots are
        free; if below 0, that many tasks were handed over beyond the slots. O(jobs)."""
        if not self.running:
            return []
        rows = self._decider.in_the_way({attempt.row for attempt in self.running.values()})
        found = [key for key, attempt in self.running.items() if attempt.row in rows]
        if free > 0:  # no other task wants them
            return found
        wanted = self._decider.wanted(now, self.slots) - free
        more = wanted - len(self.dying) - len(found)
        for key in reversed(self.running):
            if more <= 0:
                break
            if key not in found:
                found.append(key)
                more -= 1
        return found

    def look(
        self, running: Mapping[str, RunningAttempt], jobs: Sequence[JobState], now: float, free: int
    ) -> list[str]:
        """Running attempts whose tasks are worth a backup task now, for this many unwanted slots."""
        due = self._stirred or now >= self._due
        if free <= 0 or not due or now < self._looked + self._epoch:
            return []
        self._looked, self._due, self._stirred = now, math.inf, False
        alone = sorted(
            (attempt.row, attempt.number, key)
            for key, attempt in running.items()
            if key not in self._twin and key not in self.dying and _may(jobs[attempt.row])
        )
        return self._worth_it(alone, running, now) if alone else []

    def _worth_it(
        self,
        alone: Sequence[tuple[int, int, str]],
        running: Mapping[str, RunningAttempt],
        now: float,
    ) -> list[str]:
        # Those of these attempts (in order of jobs and tasks) whose gain is large, the largest first.
        ages = [now - running[key].since for _, _, key in alone]
        rows = [row for row, _, _ in alone]
        gains = self._decider.gains(list(zip(rows, ages, strict=True)), now)
        # The gain of an old attempt changes the more slowly the older it is.
        known = sorted(set(rows))
        mean = dict(zip(known, self._decider.seconds(known, now), strict=True))
        soonest = min(max(mean[row], age) for row, age in zip(rows, ages, strict=True))
        self._due = now + max(self._epoch, _OF_TASK * soonest)
        best = sorted((-gain, *task) for gain, task in zip(gains, alone, strict=True))
        return [key for gain, _, _, key in best if -gain > _LEAST]


def _may(work: JobState) -> bool:
    idle = work.paused or work.cancelled or not work.here
    return work.backups and not idle and work.waiting == 0 and work.done > 0
