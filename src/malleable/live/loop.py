"""The loop of a live run: observe, tell the scheduler, decide, act, record. A pass over n events costs
O(n), and the scheduler's time.

The scheduler is asked at once when a job comes, ends or is cancelled, otherwise once an epoch (half a second by
default). An engine runs the tasks. A slot gets a bundle: one task, or several short ones that run one after the
other. Events are in the journal before their consequences start. Numbers of attempts at commands are, too, and
are therefore never used twice. Every attempt counts once, even if the engine reports it late or twice.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from malleable.live.backups import Backups, RunningAttempt
from malleable.live.conditions import Conditions
from malleable.live.decider import SchedulerDecider
from malleable.live.journal import Attempt, Journal
from malleable.live.journal_rows import IN_VAIN, LOST_AGAIN, NOTHING_STARTS
from malleable.live.ledger import LOOK, JobState, Ledger
from malleable.live.protocol import Engine, Event, KillingEngine, Task
from malleable.live.resources import Resources, packed_holding
from malleable.live.task_outcome import TaskOutcome
from malleable.validation import MOST_SLOTS

_PACE = 0.25  # seconds over which the pace of ends is averaged
_WEIGHT = 0.05  # weight of the latest task in `JobState.recent`


@dataclass(slots=True)
class _Tries:
    """Attempts of a task: all, failed, and lost and tried again."""

    made: int = 0
    failed: int = 0
    lost: int = 0


def _count_done(work: JobState, seconds: float) -> None:
    work.done += 1
    work.sums.seconds += seconds
    past = work.recent if work.recent < math.inf else seconds
    work.recent = past + _WEIGHT * (seconds - past)


class Loop(Ledger):
    """One run on an engine.

    Parameters
    ----------
    engine : Engine
        Runs the tasks.
    decider, journal, run, **more
        As for `Ledger`, which knows the jobs of the run.
    epoch : float
        Seconds between decisions while only tasks end.
    settled : callable, optional
        Called with (row, number, Event) for each task that has ended for good.
    left : callable, optional
        As `settled`, for each other attempt that ended: beside another one, or before the task's next one.
    rested : callable, optional
        Called with (row, number) for each task that the engine gave back; returns whether it is still wanted.
    short : callable, optional
        Called with the engine's reason if a task could not start because the machine lacked something.
    resources : Resources, optional
        What tasks of jobs with needs hold.
    conditions : Conditions, optional
        What must hold before a task starts.
    """

    def __init__(
        self,
        engine: Engine,
        decider: SchedulerDecider,
        journal: Journal | None = None,
        run: int = 0,
        *,
        epoch: float = 0.5,
        settled: Callable[[int, int, Event], object] = lambda row, number, event: None,
        left: Callable[[int, int, Event], object] = lambda row, number, event: None,
        rested: Callable[[int, int], bool] = lambda row, number: True,
        short: Callable[[str], object] = lambda text: None,
        resources: Resources | None = None,
        conditions: Conditions | None = None,
        **more: Any,
    ) -> None:
        super().__init__(decider, journal, run, **more)
        self.decider: SchedulerDecider = decider
        self.engine = engine
        self._epoch, self._settled, self._left = epoch, settled, left
        self._rested, self._short = rested, short
        self._resources = resources or Resources({})
        self._conditions = conditions or Conditions()
        self._running: dict[str, RunningAttempt] = {}  # by key
        self._backups = Backups(decider, epoch)
        self._bundle = 0  # number of the last bundle
        self._spare = True  # whether the last pass left slots that no task wanted
        # By bundle that has a slot: its remaining tasks, and when the first of them began, or will.
        self._slots_held: dict[int, tuple[int, float]] = {}
        self._tries: dict[tuple[int, int], _Tries] = {}  # tasks that are tried more than once
        self._pace = 0.0  # recent number of slots that become free per second
        self._paced = 0.0  # time at which that was computed
        self.stopping = False
        self.draining = False  # no task starts any more

    @property
    def slots(self) -> int:
        return self.engine.slots

    def _end_running(self, row: int) -> None:
        self.engine.cancel([key for key, (at, *_) in self._running.items() if at == row])

    def end(self, row: int, numbers: set[int]) -> None:
        """End these tasks of a job, also running ones if the engine can."""
        keys = [
            key
            for key, running in self._running.items()
            if running.row == row and running.number in numbers
        ]
        if self.engine.abilities.kill:
            cast(KillingEngine, self.engine).kill(keys)
        else:
            self.engine.cancel(keys)

    def tried(self, tried: TaskOutcome) -> None:
        # A task was tried in an earlier session.
        self._tries[tried.last[:2]] = _Tries(tried.made, tried.failed, tried.lost)

    @property
    def finished(self) -> bool:
        return super().finished and not self._backups.dying

    @property
    def busy(self) -> bool:
        return bool(self._running)

    def step(self, most: float = 1.0) -> None:
        # One pass: decide, start tasks, and wait at most this long [s] for events.
        if not self.stopping:
            self._settle_jobs()
            if self.finished:
                self.record()
                return
            if self._due or (self._running and self.now >= self._decided + self._epoch):
                self._decide()
            if not self.draining:
                self._start()
                self._back_up()
        self.record()
        if self._running and not self.stopping:
            most = min(most, self._decided + self._epoch - self.now)
        most = min(most, self._conditions.wait(self.now))
        self._hear(self.engine.poll(max(0.0, most)))  # recorded together with the next starts
        self.tell(LOOK)

    def _start(self) -> None:
        ahead = self._ahead()
        tasks: list[Task] = []
        again = True
        while again:  # ends, because each pass uses a slot or finishes a job's starts
            free = self.engine.slots + ahead - len(self._slots_held) - self._backups.slots
            free = min(free, self._may_start() - len(tasks))
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
            # Again if a job had no task to start, or if tasks did not fit into the free resources: the slots
            # are for others.
            again = short or (len(tasks) > started and self.decider.behind)
        self._spare = self.engine.slots > len(self._slots_held) + self._backups.slots
        if tasks:
            self._hand_over(tasks)
            self._backups.stir()  # so that it looks again at what runs

    def _ahead(self) -> int:
        # Tasks that the engine gets beyond its slots, so that slots do not wait for the loop.
        able = self.engine.abilities  # short, ahead: seconds
        if self._conditions.any or self._pace * able.short < self.engine.slots:
            return 0
        return int(self._pace * able.ahead)

    def _may_start(self) -> int:
        # Tasks that may start now by the conditions of the machine (memory, load).
        found = self._conditions.startable(self.now)
        why = self._conditions.why
        self.held = f"{NOTHING_STARTS}: {why}" if why else ""
        return found

    def _hand_over(self, tasks: Sequence[Task]) -> None:
        # Start tasks. Tasks without a number that people see, such as calls, are not recorded before.
        begun = []
        for task in tasks:
            running = self._running[task.key]
            if task.call is None or running.backup_of is not None:
                row, number, attempt, since, *_, backup_of = running
                begun.append(Attempt(row, number, attempt, None, since, backup_of=backup_of))
        if self._journal and begun:
            self._journal.check_there()
            self._attempted += begun
            self.record()
        self._conditions.started(self.now)
        self.engine.start(tasks)

    def _back_up(self) -> None:
        # End backup tasks whose slots are wanted, or start some in slots that no task wants.
        if not self.engine.abilities.kill or self._may_start() < MOST_SLOTS:
            return
        free = self.engine.slots - len(self._slots_held) - self._backups.slots
        self._end_in_vain(self._backups.too_many(self.now, free))
        tasks: list[Task] = []
        for key in self._backups.look(self._running, self.jobs, self.now, free):
            if len(tasks) == free:
                break
            if self.decider.fits(self._running[key].row):
                tasks += self._beside(key)
        if tasks:
            self._hand_over(tasks)

    def _beside(self, key: str) -> list[Task]:
        # A backup task beside this attempt; none if the task is not wanted any more.
        row, number, attempt, _, bundle, *_ = self._running[key]
        work = self.jobs[row]
        tries = self._tries.setdefault((row, number), _Tries())
        tries.made = max(tries.made, attempt + 1)
        made = work.make(number, tries.made)
        if made is None:
            return []
        if made.call is None:
            made.environment = {**made.environment, "MALLEABLE_BACKUP_OF": str(attempt)}
        self._bundle += 1
        running = RunningAttempt(row, number, tries.made, self.now, bundle, backup_of=attempt)
        made.key, made.bundle = f"{row}.{number}.{tries.made}", self._bundle
        self._take(made, work)
        tries.made += 1
        self._running[made.key] = running
        self._backups.begin(made.key, running, key)
        work.sums.backup_tasks += 1
        self._count_beside(row, 1)
        return [made]

    def _count_beside(self, row: int, more: int) -> None:
        self.jobs[row].beside += more
        self.decider.changed(row)

    def _end_in_vain(self, keys: Sequence[str]) -> None:
        # End attempts whose tasks have ended or go on in other attempts; backup tasks get their slots.
        for key in keys:
            if self._backups.other(key):
                self._backups.part(key)
            self._backups.dying[key] = self._running[key]
        if keys:
            cast(KillingEngine, self.engine).kill(keys)

    def _share(self, work: JobState) -> int:
        # Tasks that a slot gets at once: several short ones, so that it need not wait for the loop after each.
        able = self.engine.abilities  # together: tasks; grain: seconds
        if work.needs:
            return 1
        fit = min(able.together, able.grain / max(work.recent, 1e-9))
        return max(1, min(int(fit), -(-work.waiting // max(1, self.engine.slots))))

    def _next_tasks(self, row: int, work: JobState, share: int) -> list[Task]:
        # A bundle: the next tasks of a job for one slot, at most ``share``.
        tasks: list[Task] = []
        now = self.now
        self._bundle += 1
        while len(tasks) < share and (work.again or work.next < work.tasks):
            if work.again:
                number = work.again.popleft()
            else:
                number, work.next = work.next, work.next + 1
            if number in work.dropped:
                work.dropped.discard(number)
                continue
            known = self._tries.get((row, number))
            attempt = known.made if known else 0
            if attempt:  # it is sent alone, so that other tasks do not suffer if it fails again
                if tasks:
                    work.again.appendleft(number)
                    break
                share = 1
            made = work.make(number, attempt)
            if made is None:
                work.fail("cancelled")
                continue
            made.key, made.bundle = f"{row}.{number}.{attempt}", self._bundle
            self._take(made, work)
            self._running[made.key] = RunningAttempt(
                row, number, attempt, now, self._bundle, not self._spare
            )
            tasks.append(made)
        if tasks:
            queued = len(self._slots_held) - self.engine.slots
            since = now + max(0, queued) / max(self._pace, 1e-9)
            self._slots_held[self._bundle] = len(tasks), since
            work.running += 1
            work.since += since
        return tasks

    def _take(self, made: Task, work: JobState) -> None:
        # A task takes the resources that its job needs, and learns their names.
        held = self._resources.take(made.key, work.needs)
        if held:
            made.environment = {**made.environment, **held}
            if self.engine.abilities.calls == "pickled":
                made.call = packed_holding(held, made.call)

    def _let_go(self, bundle: int, work: JobState) -> bool:
        # A task of a bundle has ended; returns whether its slot is free.
        tasks, since = self._slots_held.pop(bundle)
        if tasks > 1:
            self._slots_held[bundle] = tasks - 1, since
            return False
        work.running -= 1
        work.since -= since
        return True

    def _given_back(self, row: int, number: int, why: str) -> None:
        # The engine returns a task that it has not started.
        if why:
            self._short(why)
        work = self.jobs[row]
        if not work.cancelled and self._rested(row, number):
            work.again.append(number)
            return
        work.fail("cancelled")
        self._dropped(row, [number])

    def _hear(self, events: Sequence[Event]) -> None:
        heard: set[int] = set()
        freed = 0
        for event, began in zip(events, self._begins(events), strict=True):
            running = self._running.pop(event.key, None)
            if running is None:
                continue  # reported twice, or of another run
            self._resources.give_back(event.key)
            running = running._replace(since=began)
            heard.add(running.row)
            good = event.kind == "ended" and event.status == 0
            if event.key in self._backups.dying or (self._backups.other(event.key) and not good):
                self._ended_beside(running, event)
                continue
            since = self._first_of_two(running, event) if self._backups.other(event.key) else None
            freed += self._let_go(running.bundle, self.jobs[running.row])
            if event.kind == "returned":
                self._given_back(running.row, running.number, event.text)
            else:
                self._ended_alone(running, event, good, running.since if since is None else since)
        if heard:
            self._backups.stir()
        self._keep_pace(freed)
        self._touched |= {row for row in heard if self.jobs[row].left == 0}
        for row in heard:
            self.decider.changed(row)

    def _begins(self, events: Sequence[Event]) -> list[float]:
        # When attempts that ended began, by their seconds: tasks of a bundle run one after the other.
        now = self.now
        # By bundle: seconds of tasks that ended after this one.
        later: defaultdict[int, float] = defaultdict(float)
        found = []
        for event in reversed(events):
            running = self._running.get(event.key)
            if running is None or event.kind != "ended":
                found.append(now if running is None else running.since)
                continue
            later[running.bundle] += event.seconds
            found.append(max(running.since, now - later[running.bundle]))
        return found[::-1]

    def _ended_alone(self, running: RunningAttempt, event: Event, good: bool, since: float) -> None:
        # Handle the end of an attempt with no other attempt beside it; its task began at ``since``.
        row, number = running.row, running.number
        work = self.jobs[row]
        work.sums.ended = max(running.since + event.seconds, work.sums.ended)
        how = event.how or "cancelled" * (work.cancelled and event.status < 0)
        self._note(running, event, how, good)
        if not good and self._tried_again(running, event) and self._rested(row, number):
            work.again.append(number)
            work.sums.retried += 1
            self._left(row, number, event)
            return
        self._tries.pop((row, number), None)
        if good:
            took = running.since - since + event.seconds
            # For expected ends, the pause between tasks counts as time of the task.
            self.decider.ended(row, took + event.waited * running.soon, event.cpu)
            _count_done(work, event.seconds)
        else:
            work.fail(how)
        self._settled(row, number, event)

    def _note(self, running: RunningAttempt, event: Event, how: str, good: bool) -> None:
        # Record the end of an attempt.
        if self._journal:
            status = event.status if good or event.status else 1
            used = event.seconds, event.cpu, event.memory
            why = "" if good else event.text
            row, number, attempt, since, *_, backup_of = running
            told = Attempt(row, number, attempt, status, since, *used, how, why, backup_of)
            self._attempted.append(told)

    def _first_of_two(self, running: RunningAttempt, event: Event) -> float:
        # One of two attempts has ended well; end the other. Returns when the older one began.
        other = self._backups.other(event.key)
        won = event.key in self._backups.running
        self._backups.part(event.key)
        self._end_in_vain([other])
        self.jobs[running.row].sums.backups_won += won
        return self._running[other].since if won else running.since

    def _ended_beside(self, running: RunningAttempt, event: Event) -> None:
        # An attempt was ended as not needed, or failed while the other attempt goes on.
        work = self.jobs[running.row]
        how = event.how
        if self._backups.dying.pop(event.key, None):
            how = IN_VAIN
        else:
            self._backups.part(event.key)
        self._count_beside(running.row, -1)
        if event.kind == "returned":
            return
        work.sums.wasted_slot_seconds += event.seconds
        self._note(running, event, how, good=False)
        self._left(running.row, running.number, event)

    def _keep_pace(self, freed: int) -> None:
        past = self.now - self._paced
        if past > 0.0:
            share = -math.expm1(-past / _PACE)
            self._pace += (freed / past - self._pace) * share
            self._paced = self.now

    def _tried_again(self, running: RunningAttempt, event: Event) -> bool:
        # Whether a task that did not end well is tried again.
        row, number = running.row, running.number
        work = self.jobs[row]
        tries = self._tries.get((row, number)) or _Tries(running.attempt + 1)
        tries.made = max(tries.made, running.attempt + 1)
        if work.cancelled or self.stopping:
            return False
        if event.kind == "lost" and tries.lost < LOST_AGAIN:
            tries.lost += 1
        else:
            tries.failed += 1
            if tries.failed > work.retries:
                return False
        self._tries[row, number] = tries
        return True

    def go(self) -> None:
        while not self.finished:
            self.step()
        self.tell()

    def stop(self, grace: float) -> int:
        """End everything; tasks that were ended count as not run. Returns how many processes would not end."""
        self.stopping = True
        with suppress(OSError):  # the engine may be gone
            self._hear(self.engine.poll(0.0))
        left = self.engine.close(grace)
        self._running.clear()
        for work in self.jobs:
            work.running, work.since = 0, 0.0
        self._backups = Backups(self.decider, self._epoch)
        self._running_noted = -math.inf
        self._slots_held.clear()
        self.record()
        return left
