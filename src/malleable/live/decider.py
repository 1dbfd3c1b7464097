"""The decisions of a live run: a `malleable.Scheduler` that is told what happens to a run's jobs.

A run knows its jobs by row (their place in the run), the scheduler by id; here is the table between the two.
The scheduler hears how each task ended if the engine says so, and counts otherwise. Tasks are counted in the
slots that they take; a job whose tasks state needs (memory, resources) may hold as many slots as the capacity
allows.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any

import numpy as np

from malleable.arrays import attributes
from malleable.cluster.nodes import Cluster
from malleable.cluster.scheduler import Scheduler
from malleable.cluster.table import ClusterJobs
from malleable.live.guard import Guard
from malleable.live.journal import Decided, ExpectedEnd
from malleable.live.ledger import JobState
from malleable.validation import MOST_SLOTS

_LEAST = 1e-6  # seconds of a task
_WINDOW = 8  # least number of ended tasks that show how busy processors are
_IDLE = 0.5  # share of the processors below which they count as idle
_OTHERS_FIRST = "others come first"
_UNKNOWN = 100.0  # deviation over mean of a task's seconds from which nothing is known of them
# draws of expected ends: usual, least; steps of all draws together
_DRAWS, _LEAST_DRAWS, _DRAWN = 400, 16, 60_000


class SchedulerDecider:
    """The decider of a run.

    Parameters
    ----------
    slots : int
        Of the engine.
    policy, objective, users, **options
        As for `malleable.Scheduler` and `malleable.Cluster`.
    capacity : mapping
        What running tasks may hold together: bytes of ``memory``, and numbers of resources; others are
        unlimited.
    processors, machine
        Whether tasks slow each other down: the scheduler's option of this name; and how many processors the
        tasks share (0: unknown). If these are known, the option becomes "own" while they are idle.
    clock : callable, optional
        Processor seconds of all tasks so far; by default each task's own are reported.
    counted : bool
        Whether only counts of tasks are known, and no single ends.
    """

    def __init__(
        self,
        slots: int,
        policy: str = "auto",
        objective: str = "sum:response",
        capacity: Mapping[str, float] = MappingProxyType({}),
        users: Sequence[Mapping[str, Any]] = (),
        counted: bool = False,
        processors: str = "unknown",
        machine: int = 0,
        clock: Callable[[], float] | None = None,
        **options: Any,
    ) -> None:
        # With tasks that wait for something, more slots than processors are requested, until the
        # processors are seen to be busy.
        options["processors"] = self._has = "own" if machine else processors
        self._scheduler = Scheduler(
            Cluster([{"slots": slots}], users=users), policy, objective, **options
        )
        self._slots, self._machine, self._before = slots, machine, processors
        self._cpu_clock = clock
        # number of ended tasks with known processor seconds, and their sum
        self._heard, self._cpu = 0, 0.0
        self._window = 0, 0.0, -math.inf  # both at the window's start, and its time
        self.guard = Guard()
        self._counted = counted
        self.capacity = self._free = dict(capacity)
        self.behind = False
        self._works: dict[int, JobState] = {}  # by row: jobs that the scheduler has
        self._limited: set[int] = set()  # of these, jobs whose tasks need resources
        self._id_of: dict[int, int] = {}  # by row: the scheduler's id
        self._row_of: dict[int, int] = {}  # by id
        # by row: tasks that had ended, and failed, before
        self._first: dict[int, tuple[int, int]] = {}
        self._most: dict[int, int] = {}  # by row: max_slots that the scheduler has
        self._changed: set[int] = set()  # rows whose changes the scheduler does not know yet
        # What `ended` was told (row, seconds, processor seconds) of jobs; some may come later.
        self._ended: list[tuple[int, float, float]] = []

    def _waiting(self, work: JobState) -> int:
        # Slots that the job's waiting tasks would take.
        return 0 if work.cancelled else work.waiting * work.width

    def _elapsed(self, work: JobState, now: float) -> float:
        # Slot-seconds for which the job's running tasks have run.
        return max(0.0, round(work.running * now - work.since, 6)) * work.width

    def _limit(self, work: JobState, free: Mapping[str, float]) -> int:
        # Slots that a job may have at most now, given the capacity for more of its tasks. Slots of backup
        # attempts do not count (work.beside).
        running = work.running * work.width
        if work.paused:
            return running
        most = max(work.max_slots or MOST_SLOTS, work.min_slots)
        if work.max_slots:
            most = max(most - work.beside * work.width, 0)
        return min(most, running + _fit(work, free) * work.width) if work.needs else most

    def came(self, rows: Sequence[int], works: Sequence[JobState], now: float) -> None:
        """Jobs may run from now on; jobs of a flow once the jobs that they are after have ended."""
        new = dict(zip(rows, works, strict=True))
        self._works |= new
        self._limited |= {row for row, work in new.items() if work.needs}
        self._first |= {row: (work.done, work.failed) for row, work in new.items()}
        waits = [[row for row in work.after if work.flow and row in self._works] for work in works]
        numbers = self._add(self._scheduler, rows, works, waits, now)
        self._id_of |= zip(rows, numbers, strict=True)
        self._row_of |= zip(numbers, rows, strict=True)
        self._changed.update(row for row, own in zip(rows, waits, strict=True) if not own)

    def _add(
        self,
        scheduler: Scheduler,
        rows: Sequence[int],
        works: Sequence[JobState],
        waits: Sequence[Sequence[int]],
        now: float,
        **more: Any,
    ) -> list[int]:
        # Add jobs to a scheduler, with the rows that each waits for; returns their ids.
        place = {row: k for k, row in enumerate(rows)}
        if any(waits):
            more["parents"] = [
                [self._id_of[row] for row in own if row in self._id_of] for own in waits
            ]
        table = ClusterJobs(
            [self._waiting(work) for work in works],
            [max(work.seconds, _LEAST) if work.seconds else 0.0 for work in works],
            arrival=np.fmin([work.arrival for work in works], now),
            after=[[place[row] for row in own if row in place] for own in waits],
            flow=[work.flow or f"alone {k}" for k, work in enumerate(works)],
            **attributes(works, "weight", "deadline", "user", "program"),
        )
        numbers: list[int] = scheduler.add(table, now, **more).tolist()
        return numbers

    def gone(self, row: int, now: float) -> None:
        # A job has ended.
        if self._counted:
            self._report_changes(now)
        else:
            self._tell_ended(now)
        for known in (self._works, self._first):
            del known[row]
        number = self._id_of.pop(row)
        del self._row_of[number]
        self._most.pop(row, None)
        self._changed.discard(row)
        self._limited.discard(row)
        self._scheduler.finish([number], now)

    def ended(self, row: int, seconds: float, cpu: float = math.nan) -> None:
        """A task of a job ended well after ``seconds``, of which ``cpu`` on a processor (NaN: unknown). The
        job may not have come yet."""
        self._ended.append((row, seconds, cpu))

    def changed(self, row: int) -> None:
        # The counts of a job's tasks have changed; the scheduler hears of it before it decides.
        if row in self._works:
            self._changed.add(row)

    def update_terms(self, row: int, now: float) -> None:
        # The user has changed a job's weight, deadline or limits.
        if row not in self._works:
            return
        work = self._works[row]
        terms: dict[str, Any] = {"weight": [work.weight], "deadline": [work.deadline]}
        self._scheduler.update([self._id_of[row]], now=now, **terms)
        self._most.pop(row, None)
        self.changed(row)

    def _free_capacity(self) -> dict[str, float]:
        free = dict(self.capacity)
        for work in (self._works[row] for row in self._limited):
            for name in work.needs.keys() & free.keys():
                free[name] -= (work.running + work.beside) * work.needs[name]
        return {name: max(0.0, left) for name, left in free.items()}

    def resize(self, slots: int, now: float) -> None:
        self._slots = slots
        self._scheduler.set_slots([0], slots, now=now)

    def close(self) -> None:
        self._scheduler.close()

    def _tell_ended(self, now: float) -> None:
        here = [ended for ended in self._ended if ended[0] in self._works]
        if not here:
            return
        rows, seconds, cpu = zip(*here, strict=True)
        took = np.maximum(np.array(seconds), _LEAST)
        ids = np.array([self._id_of[row] for row in rows])
        slots = np.array([self._works[row].width for row in rows])
        self._scheduler.ended(ids, count=slots, seconds=took, now=now)
        self._ended = [ended for ended in self._ended if ended[0] not in self._works]
        if self._machine:
            known = [each for each in cpu if not math.isnan(each)]
            self._heard, self._cpu = self._heard + len(known), self._cpu + math.fsum(known)
            self._look_at_processors(now)

    def _look_at_processors(self, now: float) -> None:
        # While tasks leave processors idle, they hardly slow each other down. O(1).
        used = self._cpu_clock() if self._cpu_clock else self._cpu
        tasks, before, since = self._window
        if since > -math.inf:
            if self._heard - tasks < max(_WINDOW, self._slots) or now <= since:
                return
            idle = used - before < _IDLE * self._machine * (now - since)
            has = "own" if idle else self._before
            if has != self._has:
                self._has = has
                self._scheduler.set_processors(has, now=now)
        self._window = self._heard, used, now

    def _report_changes(self, now: float) -> None:
        self._tell_ended(now)
        free = self._free_capacity() if self._limited else self._free
        if free != self._free:  # jobs that state their needs may have as many tasks as fit into it
            self._free = free
            self._changed |= self._limited
        if not self._changed:
            return
        rows = sorted(self._changed)
        works = [self._works[row] for row in rows]
        ids = np.array([self._id_of[row] for row in rows])
        self._scheduler.observe(ids, now=now, **self._counts(rows, works, now))
        limits = [self._limit(work, self._free) for work in works]
        moved = [k for k, row in enumerate(rows) if self._most.get(row) != limits[k]]
        if moved:
            self._scheduler.update(
                ids[moved],
                max_slots=[limits[k] for k in moved],
                min_map_slots=[min(works[k].min_slots, limits[k]) for k in moved],
                now=now,
            )
            self._most |= {rows[k]: limits[k] for k in moved}
        self._changed.clear()  # only now, so that an error before keeps them

    def _counts(self, rows: Sequence[int], works: Sequence[JobState], now: float) -> dict[str, Any]:
        found: dict[str, Any] = {
            "pending": np.array([self._waiting(work) for work in works]),
            "running": np.array([work.running * work.width for work in works]),
            "elapsed": np.array([self._elapsed(work, now) for work in works]),
        }
        if any(work.backups for work in works):  # a backup task needs one that has ended
            found["done"] = np.array(
                [work.done * work.width if work.backups else 0 for work in works]
            )
        if self._counted:
            width = np.array([work.width for work in works])
            first = np.array([self._first[row] for row in rows])
            found["done"] = (np.array([work.done for work in works]) - first[:, 0]) * width
            found["failed"] = (np.array([work.failed for work in works]) - first[:, 1]) * width
            found["seconds"] = np.array([work.mean for work in works])
        return found

    def decide(self, now: float) -> list[Decided]:
        # Decide; returns the jobs whose slots change.
        self._report_changes(now)
        decision = self._scheduler.decide(now)
        rows = [self._row_of[number] for number in decision.ids.tolist()]
        slots = dict(zip(rows, decision.slots.tolist(), strict=True))
        ceased = [row for row, work in self._works.items() if work.slots and not slots.get(row)]
        moved = [row for row, count in slots.items() if count and self._works[row].slots != count]
        if not ceased and not moved:
            return []
        reasons = self.guard("the reasons of decisions", decision.explain) or [""] * len(rows)
        why = {
            row: said.partition(" (")[2].removesuffix(")")
            for row, said in zip(rows, reasons, strict=True)
        } | dict.fromkeys(ceased, _OTHERS_FIRST)
        told = [*ceased, *moved]
        return [
            Decided(now, row, slots.get(row, 0), why[row], seconds, self._left(row) * seconds)
            for row, seconds in zip(told, self.seconds(told, now), strict=True)
        ]

    def _left(self, row: int) -> int:
        # Slots that the waiting and running tasks of a job would take together.
        work = self._works[row]
        return self._waiting(work) + work.running * work.width

    def seconds(self, rows: Sequence[int], now: float) -> list[float]:
        # Mean seconds of a task of each job, as estimated.
        self._report_changes(now)
        return _seconds(self._scheduler, [self._id_of[row] for row in rows])[0]

    @property
    def rule(self) -> str:
        # The name of the policy that decides now.
        return self._scheduler.rule

    def expected(
        self, coming: Mapping[int, tuple[JobState, Iterable[int]]], now: float
    ) -> dict[int, ExpectedEnd]:
        """When jobs are expected to end, by row. ``coming``: jobs that are not here yet, by row, with the
        rows of the jobs that they wait for."""
        self._report_changes(now)
        scheduler, ids = self._trial(coming, now)
        if not ids:
            return {}
        left = [*map(self._left, self._works), *(work.waiting for work, _ in coming.values())]
        # the steps of a draw: about one a task, fewer if there are many (kernel/expected_ends.hpp)
        steps = sum(min(tasks, 8.0 * self._slots * math.log1p(tasks)) for tasks in left)
        draws = max(_LEAST_DRAWS, min(_DRAWS, int(_DRAWN / max(1.0, steps))))
        ends = scheduler.expected_ends(draws=draws)
        columns = zip(*(ends[name].tolist() for name in _TIMES), strict=True)
        times = {number: own for number, *own in columns}
        known = _seconds(scheduler, list(ids.values()))
        found = {}
        for (row, number), seconds, spread in zip(ids.items(), *known, strict=True):
            at, early, late = times[number]
            if spread > _UNKNOWN * seconds:
                found[row] = ExpectedEnd(row)
            elif math.isfinite(late):
                found[row] = ExpectedEnd(row, at, early, late, seconds, spread)
            else:  # the job may start no task
                found[row] = ExpectedEnd(row, seconds=seconds, spread=spread)
        return found

    def _beside(self, work: JobState) -> dict[str, float]:
        # The capacity without what running tasks of this job hold.
        needs = work.needs
        return {
            name: all_ - work.running * needs.get(name, 0.0) for name, all_ in self.capacity.items()
        }

    def _trial(
        self, coming: Mapping[int, tuple[JobState, Iterable[int]]], now: float
    ) -> tuple[Scheduler, dict[int, int]]:
        # A copy of the scheduler that also knows coming jobs and the capacity there will be; ids by row.
        scheduler, ids = self._scheduler, dict(self._id_of)
        limited = sorted(row for row in self._limited if not self._works[row].paused)
        running = {row: work.running * work.width for row, work in self._works.items()}
        # Tasks that the engine holds beyond its slots; if only counts are known, all of them run.
        ahead = 0 if self._counted else sum(running.values()) - self._slots
        if coming or limited or ahead > 0:
            scheduler = copy.copy(scheduler)
            scheduler.decide(now)  # so that the scheduler learns from all jobs
        if ahead > 0:
            self._put_back(scheduler, running, ahead, now)
        if limited:
            works = [self._works[row] for row in limited]
            most = [max(1, self._limit(work, self._beside(work))) for work in works]
            scheduler.update([ids[row] for row in limited], max_slots=most, now=now)
        if coming:
            ids |= self._add_coming(scheduler, coming, now)
        return scheduler, ids

    def _put_back(
        self, scheduler: Scheduler, running: Mapping[int, int], ahead: int, now: float
    ) -> None:
        # Tasks that the engine holds beyond its slots wait, and do not run; of each job the same part.
        share = self._slots / (self._slots + ahead)
        run = np.array([math.ceil(own * share) for own in running.values()])
        left = np.array([self._left(row) for row in running])
        ids = [self._id_of[row] for row in running]
        scheduler.observe(ids, pending=left - run, running=run, now=now)

    def _add_coming(
        self, scheduler: Scheduler, coming: Mapping[int, tuple[JobState, Iterable[int]]], now: float
    ) -> dict[int, int]:
        rows = list(coming)
        works = [work for work, _ in coming.values()]
        waits = [list(parents) for _, parents in coming.values()]
        most = [max(1, self._limit(work, self.capacity)) for work in works]
        numbers = self._add(scheduler, rows, works, waits, now, max_slots=most)
        paused = [number for number, work in zip(numbers, works, strict=True) if work.paused]
        scheduler.update(paused, max_slots=[0] * len(paused), now=now)
        return dict(zip(rows, numbers, strict=True))

    def ahead(self, now: float, free: int) -> list[int]:
        """Jobs in the order in which their next tasks would start on this many free slots; none start."""
        self._report_changes(now)
        started = self._scheduler.preview(now, [free]).ids.tolist()
        return [self._row_of[number] for number in dict.fromkeys(started)]

    def assign(self, now: float, free: int) -> list[tuple[int, int]]:
        """How many tasks of which jobs start now, in order; they count as running. Each job may have as many
        as fit into the free capacity by itself; what does not fit in all stays ``behind``."""
        self._report_changes(now)
        started = self._scheduler.assign(now, [free]).ids.tolist()
        counts = [(self._row_of[number], len(list(same))) for number, same in groupby(started)]
        self.behind = False
        if not self._limited:
            return counts
        left, found = dict(self._free), []
        for row, count in counts:
            work = self._works[row]
            fits = min(count, _fit(work, left))
            for name in work.needs.keys() & left.keys():
                left[name] -= fits * work.needs[name]
            if fits < count:
                self.behind = True
                self._changed.add(row)
            if fits:
                found.append((row, fits))
        return found

    # Backup tasks.

    def wanted(self, now: float, free: int) -> int:
        """How many of these slots waiting tasks would take at once if they were free. O(jobs)."""
        self._report_changes(now)
        return len(self._scheduler.preview(now, [free]).ids)

    def gains(self, running: Sequence[tuple[int, float]], now: float) -> list[float]:
        """What a backup task would gain (`malleable.Scheduler.backup_gains`), for rows of jobs and seconds that
        their tasks have run. Tasks of one job follow each other."""
        self._report_changes(now)
        ids = [self._id_of[row] for row, _ in running]
        seconds = [seconds for _, seconds in running]
        found: list[float] = self._scheduler.backup_gains(ids, [0] * len(ids), seconds).tolist()
        return found

    def fits(self, row: int) -> bool:
        # Whether a backup task of this job may start.
        work = self._works[row]
        short = work.needs and self._needs_are_waited_for()
        return not short and self._limit(work, self._free_capacity()) > work.running * work.width

    def _needs_are_waited_for(self) -> bool:
        works = (self._works[row] for row in self._limited)
        return any(work.waiting and not work.paused for work in works)

    def in_the_way(self, rows: Iterable[int]) -> set[int]:
        """Jobs whose backup tasks hold what a waiting task needs besides free slots: capacity, or a slot of its
        own job's maximum."""
        works = {row: self._works[row] for row in rows if row in self._works}
        waits = {row for row, work in works.items() if work.waiting and not work.paused}
        short = self._needs_are_waited_for()
        return {
            row
            for row, work in works.items()
            if (short and work.needs)
            or (row in waits and work.running + work.beside >= (work.max_slots or MOST_SLOTS))
        }

    def history(self, now: float) -> dict[str, Any]:
        """What was learnt of programs, including unfinished jobs; all jobs are removed."""
        self._tell_ended(now)
        for row in list(self._works):
            self.gone(row, now)
        return self._scheduler.history


def _fit(work: JobState, free: Mapping[str, float]) -> int:
    # How many more tasks of a job fit into this free capacity.
    most = (free[name] // need for name, need in work.needs.items() if need and name in free)
    return int(min(most, default=MOST_SLOTS)) if work.needs else MOST_SLOTS


# Columns of expected ends: jobs, the median, and times before and after which few ends come.
_TIMES = ("ids", "at", "early", "late")


def _seconds(scheduler: Scheduler, ids: Sequence[int]) -> tuple[list[float], list[float]]:
    # Mean seconds of a task of each job, beside as many tasks as so far, and the error of the mean.
    counts = scheduler.counts(ids)
    slowed = counts["slowed"][:, 0]
    return (counts["estimate"][:, 0] * slowed).tolist(), (counts["spread"][:, 0] * slowed).tolist()
