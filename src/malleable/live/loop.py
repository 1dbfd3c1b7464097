"""The loop of a live run: observe, tell the scheduler, decide, act, record.

The loop decides nothing: which job has how many slots, and whose tasks start next, the scheduler says.
It decides at once when a job comes, ends or is cancelled, else once an epoch while something changes.
Every attempt counts once, whatever the engine reports late or twice. What happened is in the journal
before anything that follows from it starts. Time is monotonic, in seconds of the run.

A pass over n events costs O(n) here, and what the scheduler takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from malleable.live.journal import Attempt, Flying, Journal
from malleable.live.ledger import LOOK, Decider, Ledger, Work
from malleable.live.protocol import Engine, Event, Task
from malleable.live.recorded import LOST_AGAIN

__all__ = ["Loop", "TaskDecider"]

_PACE = 0.25  # seconds over which the pace of ends is averaged
_WEIGHT = 0.05  # of the latest task in `Work.recent`


class TaskDecider(Decider, Protocol):
    """What the loop also asks of a decider.

    ``behind``: of what it assigned last some had to stay, so that others may take the slots.
    """

    behind: bool

    def ended(self, row: int, seconds: float, cpu: float = math.nan) -> None:
        """A task of a job ended well, after so many seconds, so many of them of a processor (NaN: not known);
        perhaps in an earlier session."""

    def assign(self, now: float, free: int) -> list[tuple[int, int]]:
        """How many tasks of which jobs start now, in order; they count as running."""


def _count_done(work: Work, seconds: float) -> None:
    """A task of a job has ended well."""
    work.done += 1
    work.taken += seconds
    past = work.recent if work.recent < math.inf else seconds
    work.recent = past + _WEIGHT * (seconds - past)


class Loop(Ledger):
    """One run on an engine.

    Parameters
    ----------
    engine : Engine
    decider, journal, run, **more
        As for `Ledger`.
    epoch : float
        Seconds between decisions while nothing but tasks ends.
    settled : callable, optional
        Called with (row, number, Event) for each task that has ended for good.
    """

    def __init__(
        self,
        engine: Engine,
        decider: TaskDecider,
        journal: Journal | None = None,
        run: int = 0,
        *,
        epoch: float = 0.5,
        settled: Callable[[int, int, Event], object] = lambda row, number, event: None,
        **more: Any,
    ) -> None:
        super().__init__(decider, journal, run, **more)
        self.decider: TaskDecider = decider
        self.engine = engine
        self._epoch, self._settled = epoch, settled
        # By key: row, number, attempt, since, slot.
        self._flying: dict[str, tuple[int, int, int, float, int]] = {}
        self._slot = 0
        self._held: dict[int, int] = {}  # slot -> tasks that are left of those it was given
        # Of tasks that are tried more than once: attempts so far, and how many of them were lost.
        self._tries: dict[tuple[int, int], tuple[int, int]] = {}
        self._pace = 0.0  # slots that come free a second, of late
        self._paced = 0.0  # when that was reckoned
        self.stopping = False
        self.draining = False  # nothing starts any more

    @property
    def slots(self) -> int:
        """Of the engine."""
        return self.engine.slots

    def _end_running(self, row: int) -> None:
        self.engine.cancel([key for key, (at, *_) in self._flying.items() if at == row])

    def tried(self, row: int, number: int, attempts: int, lost: int = 0) -> None:
        """So many attempts at a task were made by earlier sessions, and so many of them were lost."""
        self._tries[row, number] = attempts, lost

    @property
    def busy(self) -> bool:
        """Some task has started and not ended."""
        return bool(self._flying)

    def step(self, most: float = 1.0) -> None:
        """One pass: waits at most so many seconds for something to happen."""
        if not self.stopping:
            self._settle_jobs()
            if self.finished:
                self._record()
                return
            if self._due or (self._flying and self.now >= self._decided + self._epoch):
                self._decide()
            if not self.draining:
                self._start()
        self._record()
        if self._flying and not self.stopping:
            most = min(most, self._decided + self._epoch - self.now)
        events = self.engine.poll(max(0.0, most))
        self._hear(events)
        self._record()
        if self._progress and self.now - self._told >= LOOK:
            self.tell()

    def _start(self) -> None:
        ahead = int(self._pace * self.engine.abilities.ahead)
        tasks: list[Task] = []
        again = True
        while again:  # each time there is a slot less, or a job that has nothing left to start
            free = self.engine.slots + ahead - len(self._held)
            if free <= 0:
                break
            started, short = len(tasks), False
            for row, count in self.decider.assign(self.now, free):
                work = self.jobs[row]
                waiting, share = work.waiting, self._share(work)
                for _ in range(count):
                    found = self._next_tasks(row, work, share)
                    short = short or not found
                    tasks += found
                if waiting - work.waiting != count or work.waiting == 0:
                    self._counts_changed(row)
            again = short or (len(tasks) > started and self.decider.behind)
        if tasks:
            self.engine.start(tasks)

    def _share(self, work: Work) -> int:
        """Tasks that a slot gets at once: short ones, so that it does not wait for the loop after each."""
        able = self.engine.abilities
        fit = min(able.together, able.grain / max(work.recent, 1e-9))
        return max(1, min(int(fit), -(-work.waiting // max(1, self.engine.slots))))

    def _next_tasks(self, row: int, work: Work, share: int) -> list[Task]:
        """So many tasks for one slot, or fewer if fewer wait."""
        tasks: list[Task] = []
        now = self.now
        self._slot += 1
        while len(tasks) < share and (work.again or work.next < work.tasks):
            if work.again:
                number = work.again.popleft()
            else:
                number, work.next = work.next, work.next + 1
            if number in work.dropped:
                work.dropped.discard(number)
                continue
            attempt, _ = self._tries.get((row, number), (0, 0))
            if attempt:  # it goes alone: other tasks should not suffer if it fails again
                if tasks:
                    work.again.appendleft(number)
                    break
                share = 1
            made = work.make(number, attempt)
            if made is None:
                work.fail("cancelled")
                continue
            made.key, made.slot = f"{row}.{number}.{attempt}", self._slot
            self._flying[made.key] = row, number, attempt, now, self._slot
            tasks.append(made)
        if tasks:
            self._held[self._slot] = len(tasks)
            work.running += 1
        return tasks

    def _let_go(self, slot: int, work: Work) -> bool:
        """A slot has one task less to do; whether it is free."""
        self._held[slot] -= 1
        if self._held[slot]:
            return False
        del self._held[slot]
        work.running -= 1
        return True

    def _given_back(self, row: int, number: int) -> None:
        """A task that the engine has not started after all."""
        work = self.jobs[row]
        if not work.cancelled:
            work.again.append(number)
            return
        work.fail("cancelled")
        self._dropped(row, [number])

    def _hear(self, events: Sequence[Event]) -> None:
        heard: set[int] = set()
        freed = 0
        for event in events:
            flying = self._flying.pop(event.key, None)
            if flying is None:
                continue  # told twice, or never ours
            row, number, attempt, since, slot = flying
            work = self.jobs[row]
            freed += self._let_go(slot, work)
            heard.add(row)
            if event.kind == "returned":
                self._given_back(row, number)
                continue
            work.last = max(since + event.seconds, work.last)
            good = event.kind == "ended" and event.status == 0
            how = event.how or "cancelled" * (work.cancelled and event.status < 0)
            status = event.status if good or event.status else 1
            if self._journal:
                used = event.seconds, event.cpu, event.memory
                why = "" if good else event.text
                told = Attempt(row, number, attempt, status, since, *used, how, why)
                self._attempted.append(told)
            if not good and self._tried_again(row, number, attempt, event):
                work.again.append(number)
                work.retried += 1
                continue
            self._tries.pop((row, number), None)
            if good:
                self.decider.ended(row, event.seconds, event.cpu)
                _count_done(work, event.seconds)
            else:
                work.fail(how)
            self._settled(row, number, event)
        self._keep_pace(freed)
        self._touched |= {row for row in heard if self.jobs[row].left == 0}
        for row in heard:
            self.decider.changed(row)

    def _keep_pace(self, freed: int) -> None:
        past = self.now - self._paced
        if past > 0.0:
            share = -math.expm1(-past / _PACE)
            self._pace += (freed / past - self._pace) * share
            self._paced = self.now

    def _tried_again(self, row: int, number: int, attempt: int, event: Event) -> bool:
        work = self.jobs[row]
        _, lost = self._tries.get((row, number), (0, 0))
        if work.cancelled or self.stopping:
            return False
        if event.kind == "lost" and lost < LOST_AGAIN:
            lost += 1
        elif attempt - lost >= work.retries:
            return False
        self._tries[row, number] = attempt + 1, lost
        return True

    def flying(self) -> list[Flying]:
        """What runs, by job; O(tasks that run)."""
        found: dict[int, Flying] = {}
        for row, _, _, since, _ in list(self._flying.values()):  # at once, from any thread
            known = found.get(row, Flying(row, 0, 0.0, 0.0))
            count = known.tasks + 1
            mean = known.began + (since - known.began) / count
            found[row] = Flying(row, count, mean, max(known.latest, since))
        return list(found.values())

    def go(self) -> None:
        """Until all jobs have ended."""
        while not self.finished:
            self.step()
        self.tell()

    def stop(self, grace: float) -> int:
        """Ends everything; tasks that were ended have not been run. How many processes would not go."""
        self.stopping = True
        with suppress(OSError):  # an engine that is gone has nothing to say
            self._hear(self.engine.poll(0.0))
        left = self.engine.close(grace)
        self._flying.clear()
        self._flown = -math.inf
        self._held.clear()
        self._record()
        return left
