"""The ledger of a live run: it knows which jobs came, wait for others or have ended, and their expected ends.

A ledger neither decides nor starts tasks: a decider, which asks the scheduler, gives slots; a loop, which
starts tasks, or a governor, which orders somebody else's queue, reports to it. Jobs are known by row, their
place in the run. An event is in the journal before its consequences. Time is monotonic, in seconds of the run.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Literal

from malleable.live.guard import Guard
from malleable.live.jobs_file import Terms, parents_first
from malleable.live.journal import Attempt, Decided, ExpectedEnd, JobRow, Journal, RunningTasks
from malleable.live.journal_rows import WORDS
from malleable.live.protocol import Task
from malleable.live.task_outcome import Counted

if TYPE_CHECKING:
    from malleable.live.decider import SchedulerDecider
    from malleable.live.slurm.place_deciders import PlaceDeciders

# Seconds between two times that others are told what runs.
LOOK = 1.0
_SHARE = 0.05  # share of the time that is spent on expected ends


@dataclass
class JobState(Terms):
    """What a run has to do for one job, and how far it is.

    Attributes
    ----------
    tasks : int
        More may come while the job is open.
    make : callable
        ``make(number, attempt) -> Task``, without its key; None: the task was cancelled.
    arrival : float
        Since when it is there [s of the run]; NaN: since it may run.
    width : int
        Slots of a task.
    place : str
        The pool of slots that it uses, if an engine has several.
    needs : mapping
        What a running task holds: bytes of ``memory``, and numbers of resources.
    flow : str
        Jobs of one flow that come together count as one; empty: it is alone.
    """

    name: str
    tasks: int
    make: Callable[[int, int], Task | None] = lambda number, attempt: None
    after: Sequence[int] = ()
    needs: Mapping[str, float] = field(default_factory=dict)
    arrival: float = math.nan
    width: int = 1
    place: str = ""
    flow: str = ""

    next: int = 0  # the first task that was never started
    again: deque[int] = field(default_factory=deque)  # earlier tasks that are to start
    dropped: set[int] = field(default_factory=set)  # later tasks that never start
    running: int = 0  # slots that the job holds
    since: float = 0.0  # sum of the times since when it holds them
    # More slots: of backup tasks, and of attempts that will end in vain.
    beside: int = 0
    mean: float = math.nan  # seconds of tasks that ended well, if an engine shows counts
    # What ended tasks took, what backup tasks gained, starts and ends of attempts; also of earlier sessions.
    sums: Counted = field(default_factory=Counted)
    done: int = 0
    failed: int = 0
    # failed tasks by the way in which they failed, in the words of WORDS; "failed" itself is left out
    ways: Counter[str] = field(default_factory=Counter)
    recent: float = math.inf  # recent mean of a task's seconds
    slots: int = 0  # that the scheduler gives, and why no more
    why: str = ""
    began: float = math.nan
    ended: float = math.nan
    cancelled: bool = False
    paused: bool = False  # no task of the job starts for now
    open: bool = False  # more tasks may come
    known: int = 0  # tasks that it had in an earlier session
    here: bool = False  # the scheduler knows it

    @property
    def left(self) -> int:
        # Tasks that have not ended.
        return self.tasks - self.done - self.failed

    def fail(self, how: str, count: int = 1) -> None:
        self.failed += count
        if count and how in WORDS:
            self.ways[WORDS[how]] += count

    @property
    def waiting(self) -> int:
        # Tasks that have not started, or start again.
        return self.tasks - self.next + len(self.again) - len(self.dropped)


def last_end(ends: Iterable[ExpectedEnd | None], now: float) -> ExpectedEnd:
    """The last of these; now if there is none."""
    found = list(ends)
    if any(end is None or math.isnan(end.at) for end in found):
        return ExpectedEnd(-1)
    times = [(end.at, end.early, end.late) for end in found if end] or [(now, now, now)]
    return ExpectedEnd(-1, *map(max, zip(*times, strict=True)))


class Ledger:
    """The jobs of one run, which is number ``run`` of ``journal``, and which resumes at ``start`` [s].

    ``progress`` is called with the ledger after a pass that changed something, at most once a second.
    ``dropped(row, numbers)`` is called for tasks that never start because their job was cancelled. ``guard``
    catches errors of what only shows or predicts."""

    def __init__(
        self,
        decider: SchedulerDecider | PlaceDeciders,
        journal: Journal | None = None,
        run: int = 0,
        *,
        start: float = 0.0,
        progress: Callable[[Ledger], object] | None = None,
        dropped: Callable[[int, Sequence[int]], object] = lambda row, numbers: None,
        clock: Callable[[], float] = time.monotonic,
        guard: Guard | None = None,
    ) -> None:
        self.guard = guard or Guard()
        self.jobs: list[JobState] = []
        self.decider = decider
        self._journal, self._run = journal, run
        self._clock, self._zero = clock, clock() - start
        self._progress, self._dropped = progress, dropped
        self._children: dict[int, list[int]] = {}  # by row: jobs that wait for it
        self._touched: set[int] = set()  # jobs that may come or end
        self._idle: set[int] = set()  # open jobs that may have nothing to do
        self._ended = 0  # number of jobs
        self._due = True  # whether to decide now
        self._decided = -math.inf  # time of the last decision
        # Times at which `progress` was called, and what runs was written to the journal.
        self._told = self._running_noted = -math.inf
        self.expected: dict[int, ExpectedEnd] = {}  # by row
        self.rule = ""
        self.held = ""  # why no task starts
        # When `expected` was computed, and the seconds that it took.
        self._expected_at, self._took = -math.inf, 0.0
        self._attempted: list[Attempt] = []  # attempts and decisions for the journal
        self._decisions: list[Decided] = []
        self._described = (-1, -1)  # numbers of jobs and tasks that the journal has

    @property
    def now(self) -> float:
        return self._clock() - self._zero

    # Engine.

    @property
    def slots(self) -> int:
        raise NotImplementedError

    @property
    def running(self) -> int:
        return sum(work.running for work in self.jobs)

    @property
    def last_end(self) -> ExpectedEnd:
        """When the last job is expected to end; unknown if the end of any job is."""
        left = [row for row, work in enumerate(self.jobs) if work.left]
        return last_end([self.expected.get(row) for row in left], self.now)

    def _end_running(self, row: int) -> None:
        """A job was cancelled: end its running tasks, if the engine can."""

    def _count_ended(self, row: int, first: int, count: int, bad: int, seconds: float) -> None:
        # So many tasks of a job, from ``first`` on, were seen to have ended, so many of them badly.
        began = max(0.0, self.now - seconds)
        self._attempted += [
            Attempt(row, first + k, 0, int(k < bad), began, seconds, how="counted")
            for k in range(count)
        ]

    # Jobs.

    def add(self, work: JobState) -> int:
        row = len(self.jobs)
        self.jobs.append(work)
        self.wait_for(row, work.after)
        self._touched.add(row)
        return row

    def over(self, row: int, number: int, status: int, how: str = "") -> None:
        # A task had ended in an earlier session; tasks come in the order of their numbers.
        work = self.jobs[row]
        work.again.extend(range(work.next, number))
        work.next = number + 1
        if status == 0:
            work.done += 1
        else:
            work.fail(how)

    def grow(self, row: int, tasks: int) -> None:
        self.jobs[row].tasks += tasks
        self._counts_changed(row)

    def close(self, row: int) -> None:
        self.jobs[row].open = False
        self._touched.add(row)

    def wait_for(self, row: int, parents: Sequence[int]) -> None:
        self.jobs[row].after = parents
        for parent in parents:
            self._children.setdefault(parent, []).append(row)

    def drop(self, row: int, numbers: Iterable[int], good: bool = False) -> None:
        """Tasks that have not started never will: cancelled, or ``good`` in an earlier session."""
        work = self.jobs[row]
        count = -len(work.dropped)
        work.dropped.update(numbers)
        count += len(work.dropped)
        if good:
            work.done += count
        else:
            work.fail("cancelled", count)
        self._counts_changed(row)

    def _counts_changed(self, row: int) -> None:
        work = self.jobs[row]
        if work.here:
            self.decider.changed(row)
        if not work.here or work.left == 0:
            self._touched.add(row)

    def cancel(self, row: int, how: str = "cancelled") -> list[int]:
        """Start no more tasks of a job and end the running ones; returns the numbers that never started.
        ``how``: "cancelled", or "skipped" if a job that it waits for failed."""
        work = self.jobs[row]
        if work.cancelled:
            return []
        work.cancelled = True
        unreached = (n for n in range(work.next, work.tasks) if n not in work.dropped)
        dropped = [*(n for n in work.again if n not in work.dropped), *unreached]
        work.again.clear()
        work.dropped.clear()
        work.next = work.tasks
        work.fail(how, len(dropped))
        if work.here:
            self.decider.changed(row)
        self._end_running(row)
        self._touched.add(row)
        self._dropped(row, dropped)
        return dropped

    def _settle_jobs(self) -> None:
        # Start and end jobs, and what follows from it; each job comes and ends once.
        rows = deque(sorted(self._touched))
        self._touched.clear()
        came = []
        while rows:
            row = rows.popleft()
            work = self.jobs[row]
            if not math.isnan(work.ended):
                continue
            if self._begin_job(row, work):
                came.append(row)
            if work.open and work.left == 0:
                self._idle.add(row)
            came_once = work.cancelled or not math.isnan(work.began)
            if came_once and not work.open and work.left == 0:
                self._end_job(row, work)
                rows += self._children.get(row, ())
        if came:
            self.decider.came(came, [self.jobs[row] for row in came], self.now)

    def _begin_job(self, row: int, work: JobState) -> bool:
        # Let a job come if it waits for no other job; returns whether it came and has tasks to run.
        if work.here or work.cancelled or not (work.left or not work.open):
            return False
        outlook = self._outlook(row)
        if outlook == "dead":
            self.cancel(row, "skipped")
        if outlook != "free":
            return False
        if math.isnan(work.began):
            work.began = self.now if math.isnan(work.sums.began) else work.sums.began
        self._due = True
        work.here = work.left > 0
        return work.here

    def _end_job(self, row: int, work: JobState) -> None:
        work.ended = self.now if math.isnan(work.sums.ended) else work.sums.ended
        work.slots = 0
        if work.here:
            self.decider.gone(row, self.now)
            self._due = True
        self._ended += 1

    def _outlook(self, row: int) -> Literal["free", "waits", "dead"]:
        # Whether a job may run, or ever will, by the jobs that it is after.
        parents = [self.jobs[parent] for parent in self.jobs[row].after]
        if any(parent.failed for parent in parents):
            return "dead"
        return "waits" if any(math.isnan(parent.ended) for parent in parents) else "free"

    def decide_soon(self) -> None:
        """Something else that the decider uses has changed."""
        self._due = True

    @property
    def finished(self) -> bool:
        return self._ended == len(self.jobs)

    def _decide(self) -> None:
        now = self.now
        self._due, self._decided = False, now
        for row in sorted(self._idle):
            work = self.jobs[row]
            if work.here and work.open and work.left == 0:  # added again once it has tasks
                work.here, work.slots = False, 0
                self.decider.gone(row, now)
        self._idle.clear()
        for decided in self.decider.decide(now):
            work = self.jobs[decided.job]
            work.slots, work.why = decided.slots, decided.why
            self._decisions.append(decided)

    def record(self) -> None:
        """Keep what happened and was decided, and once a second what runs, in the journal."""
        if self._journal and (self._attempted or self._decisions):
            self._journal.record(self._run, self.now, self._attempted, self._decisions)
            self._journal.commit()
        self._attempted, self._decisions = [], []
        if self._journal and self.now - self._running_noted >= LOOK:
            self.look_ahead()
            self._running_noted = self.now
            told = self.held or self.rule
            running = [
                RunningTasks(row, work.running, work.since / work.running)
                for row, work in enumerate(self.jobs)
                if work.running
            ]
            self._journal.note_running(self._run, self.now, running, self.expected.values(), told)
            self._journal.commit()

    def describe(self, anew: bool = False) -> None:
        """Write jobs and slots as they are now to the journal, for runs whose jobs come while they run: if
        there are more jobs or tasks than it has, or ``anew``. O(jobs), ended ones among them."""
        told = len(self.jobs), sum(work.tasks for work in self.jobs)
        if self._journal and (anew or told != self._described):
            self._described = told
            names = [work.name for work in self.jobs]
            rows = [_row(work, [names[row] for row in work.after]) for work in self.jobs]
            self._journal.describe(self._run, rows, max(1, self.slots))

    def end_run(self, status: str) -> None:
        """Close the run in the journal, then keep there what it has learnt of programs; nothing starts any
        more, and no job is known after that."""
        journal = self._journal
        if journal is None:
            return

        def learn() -> None:
            learnt = self.decider.history(self.now)
            if learnt is not None:
                journal.learn(learnt)
                journal.commit()

        self.record()
        journal.record(self._run, self.now, status=status)
        journal.commit()
        self.guard("the history of programs", learn)

    def look_ahead(self, least: float = LOOK) -> None:
        """Update `expected`, unless it is younger than some ``least`` seconds. It takes a small part of the
        time; with ``least`` 0, for a client that waits, half of it."""
        began = self._clock()
        share = _SHARE if least > 0.0 else 1.0
        if began < self._expected_at + max(0.9 * least, self._took / share):
            return
        first, cost = self._expected_at == -math.inf, time.thread_time()
        coming = self._coming()
        found = self.guard(
            "the prediction of ends", lambda: self.decider.expected(coming, self.now)
        )
        self.expected = found or {}
        self.rule = self.guard("the rule of decisions", lambda: self.decider.rule) or ""
        # The first time includes imports, so it does not count.
        self._took = 0.0 if first else time.thread_time() - cost
        self._expected_at = began
        self._running_noted = -math.inf  # the journal uses the same times

    def _coming(self) -> dict[int, tuple[JobState, list[int]]]:
        # Jobs that the scheduler does not know yet, and the rows of jobs that they wait for.
        found: dict[int, tuple[JobState, list[int]]] = {}
        waits = [work.after for work in self.jobs]
        for row in parents_first(waits) if any(waits) else range(len(self.jobs)):
            work = self.jobs[row]
            if work.here or work.cancelled or not work.waiting or not math.isnan(work.ended):
                continue
            parents = [p for p in work.after if math.isnan(self.jobs[p].ended)]
            if all(self.jobs[parent].here or parent in found for parent in parents):
                found[row] = work, parents
        return found

    def tell(self, least: float = 0.0) -> None:
        # Call the view, unless that was less than some seconds ago.
        view = self._progress
        if view and self.now - self._told >= least:
            self._told = self.now
            self.look_ahead()
            self.guard("the view of the run", lambda: view(self))


def _row(work: JobState, after: list[str]) -> JobRow:
    most = work.max_slots and max(work.max_slots, work.min_slots)
    row = {"name": work.name, **{term.name: getattr(work, term.name) for term in fields(Terms)}}
    row |= {"after": after, "max_slots": most or None, "seconds": work.seconds or None}
    row["deadline"] = work.deadline if math.isfinite(work.deadline) else None
    tasks = max(work.tasks, work.known)
    return JobRow({key: value for key, value in row.items() if value is not None}, tasks)
