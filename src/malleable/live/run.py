"""A run of commands on this machine. It connects the jobs, the journal (a file that records all), the engine
that runs tasks, and the loop that decides which start. A run begins once and may have several sessions
(processes that ``resume`` it); the journal alone says what its tasks are. A job is known by its row: its place
in the run."""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import partial
from hashlib import blake2b
from typing import Any

from malleable.live.decider import SchedulerDecider
from malleable.live.failures import Failure, failure, recalled_jobs, skipped
from malleable.live.guard import Guard
from malleable.live.jobs_file import CANCELLED, PAUSED, Job, Terms, recorded
from malleable.live.journal import Attempt, Journal, JournalError, Run
from malleable.live.ledger import JobState
from malleable.live.loop import Loop
from malleable.live.output import SUFFIXES, job_folder, own_output_folder, stream_of
from malleable.live.own_files import own_folder
from malleable.live.packs import LARGE, pack
from malleable.live.protocol import Engine, Event, Task
from malleable.live.task_outcome import Counted

FAILED = 3  # exit status of ``malleable run`` if tasks failed
_PACKED = 256  # attempts whose output is packed (moved into one compressed file of the job) soon


def work_of(job: Job, after: Sequence[int], **more: Any) -> JobState:
    # The state of a job for the loop; ``after``: rows of the jobs that it waits for.
    terms = {term.name: getattr(job, term.name) for term in fields(Terms)}
    terms |= {"program": job.called, "needs": job.needs, **more}
    return JobState(job.name, len(job), after=after, **terms)


def _key(job: Job, number: int) -> bytes:
    # What identifies a task in another run: its job's name, and its command with its value.
    text = "\0".join([job.name, *job.arguments(number)])
    return blake2b(text.encode(errors="surrogateescape"), digest_size=16).digest()


def _done_before(journal: Journal, before: Run, jobs: Sequence[Job]) -> list[Attempt]:
    # Attempts of another run that did tasks of these jobs, as attempts at these.
    known = recalled_jobs(journal, before)
    done: dict[bytes, list[Attempt]] = {}
    for good in (tried.good for tried in journal.tried(before.id) if tried.good):
        done.setdefault(_key(known[good.job], good.task), []).append(good)
    found = []
    for row, job in enumerate(jobs):
        for number in range(len(job)):
            if same := done.get(_key(job, number)):
                good = same.pop()
                found.append(good._replace(job=row, task=number, attempt=0, backup_of=None))
    return found


class CommandRun:
    """One run, with ``run`` and ``jobs`` as the journal has them.

    Parameters
    ----------
    again : bool
        Whether failed tasks are run again.
    guard : Guard, optional
        Catches errors of what only shows or predicts.
    keep : {"all", "failures", "none"} or int
        What is kept of the output: also of failures alone, or this many bytes at the end of each stream.
    reads : bool
        Whether output is read when tasks end, also if it is not kept.
    """

    def __init__(
        self,
        journal: Journal,
        run: Run,
        jobs: list[Job],
        again: bool = False,
        guard: Guard | None = None,
        keep: str | int = "all",
        reads: bool = False,
    ) -> None:
        self._keep, self._reads = keep, reads
        self._unpacked: dict[int, list[tuple[int, int, bool]]] = {}  # by job: task, attempt, good
        self._packed = -math.inf  # when output was packed last [s of the run]
        self._made: dict[tuple[int, int], int] = {}  # attempts of earlier sessions, by task
        self.jobs, self.journal, self.run, self.number = jobs, journal, run, run.id
        self.guard = guard or Guard()
        self.tell_failure: Callable[[Failure], object] = lambda failure: None
        self.tell_shortage: Callable[[str], object] = lambda text: None  # called once
        # Called for each task that has ended or (with None) never starts or ended in an earlier session; by
        # name of the purpose.
        self.hearers: dict[str, Callable[[int, int, Event | None], object]] = {}
        self.done_before = 0  # tasks that the run which is resumed had done
        self._works: Sequence[JobState] = ()
        self._again = again
        self.outputs = own_output_folder(journal, run)
        self.folders: list[str] = []
        self.start = journal.enter(self.number)  # [s] how long earlier sessions lasted
        journal.commit()

    @classmethod
    def begin(
        cls,
        journal: Journal,
        jobs: list[Job],
        rows: Sequence[Mapping[str, Any]],
        slots: int,
        objective: str,
        policy: str,
        before: Run | None = None,
        **options: Any,
    ) -> CommandRun:
        """Begin a run of jobs and write it, with their tables, to the journal. ``before``: a run whose done
        tasks count as done."""
        number = journal.begin(slots, objective, policy, recorded(jobs, rows))
        done = _done_before(journal, before, jobs) if before else []
        if before:
            journal.record(number, before.lasted, done)
        journal.commit()
        found = cls(journal, journal.run(number), jobs, **options)
        found.done_before = len(done)
        return found

    @classmethod
    def resume(cls, journal: Journal, **options: Any) -> CommandRun:
        run = journal.run()
        if run.kind != "commands":
            raise JournalError(
                f"{journal.path}: run {run.id} has {run.kind}; continue it as it was begun"
            )
        return cls(journal, run, recalled_jobs(journal, run), **options)

    def loop(self, engine: Engine, decider: SchedulerDecider, **options: Any) -> Loop:
        # The loop of this session, which knows what earlier sessions did.
        of_run: dict[str, Any] = {"start": self.start, "settled": self._settled}
        # `left`: an attempt ended that does not settle its task
        of_run |= {"dropped": self._skipped, "left": self._attempt_ended, "short": self._short}
        loop = Loop(engine, decider, self.journal, self.number, **of_run, **options)
        self._works = loop.jobs
        self._add_jobs(loop, 0)
        self._recall_tasks(loop, decider)
        for row, job in enumerate(self.jobs):
            if job.held == CANCELLED and not self._again:
                loop.cancel(row)
        return loop

    def add(self, loop: Loop, jobs: Sequence[Job], rows: Sequence[Mapping[str, Any]]) -> None:
        first = len(self.jobs)
        self.journal.describe(self.number, recorded(jobs, rows), first=first)
        self.journal.commit()
        self.jobs += jobs
        self._add_jobs(loop, first)

    def resize(self, slots: int) -> None:
        self.journal.describe(self.number, (), slots)
        self.journal.commit()
        self.run = self.run._replace(slots=slots)

    def _add_jobs(self, loop: Loop, first: int) -> None:
        place = {job.name: row for row, job in enumerate(self.jobs)}
        for row, job in enumerate(self.jobs[first:], first):
            work = self._work(row, job, [place[name] for name in job.after])
            folder = self.outputs / job_folder(row, job.name)
            own_folder(folder)
            self.folders.append(str(folder))
            loop.add(work)
            if job.held and self._again:
                self.hold(row, "")
            else:
                work.paused = job.held == PAUSED

    def _recall_tasks(self, loop: Loop, decider: SchedulerDecider) -> None:
        took: dict[int, array[float]] = {}  # seconds of tasks that ended well, by job
        sums = [Counted() for _ in self.jobs]
        for task in self.journal.tried(self.number):
            row, number, *_ = task.last
            sums[row].add(task)
            if task.good or (not self._again and task.over(self.jobs[row].retries)):
                loop.over(row, number, 0 if task.good else 1, task.last.how)
                if task.good:
                    took.setdefault(row, array("d")).append(task.seconds)
                self._tell(row, number, None)
            else:
                loop.tried(task)
                self._made[row, number] = task.made
        for work, own in zip(loop.jobs, sums, strict=True):
            work.sums = own
        for row, seconds in took.items():
            # Only jobs with tasks left come to this decider. It began with the journal's history, which
            # has what the others showed (unless their session was killed).
            for each in seconds if loop.jobs[row].left else ():
                decider.ended(row, each)

    def _work(self, row: int, job: Job, after: Sequence[int]) -> JobState:
        environment = {**job.environment, "MALLEABLE_JOB": job.name}

        def make(number: int, attempt: int) -> Task:
            own = {"MALLEABLE_NUMBER": str(number), "MALLEABLE_ATTEMPT": str(attempt)}
            streams: dict[str, Any] = {}
            if self._keep != "none" or self._reads:
                paths = (stream_of(self.folders[row], number, attempt, s) for s in SUFFIXES)
                streams = dict(zip(("output", "errors"), paths, strict=True))
            arguments = job.arguments(number)
            return Task(  # the loop gives it a key
                "", arguments, environment | own, job.folder, seconds=job.timeout, **streams
            )

        return work_of(job, after, make=make)

    def _settled(self, row: int, number: int, event: Event) -> None:
        good = not (event.how or event.status)
        self._attempt_ended(row, number, event, good)
        self._tell(row, number, event)
        if not good:
            self._tell_failure(row, number, event)

    def _tell(self, row: int, number: int, event: Event | None) -> None:
        for about, hear in self.hearers.items():
            self.guard(about, partial(hear, row, number, event))

    def _attempt_ended(self, row: int, number: int, event: Event, good: bool = False) -> None:
        # A command of an earlier session may still run, if that session and its supervisor were
        # killed.
        if event.attempt >= self._made.get((row, number), 0):
            self._unpacked.setdefault(row, []).append((number, event.attempt, good))

    def pack(self, now: float, at_once: bool = False) -> None:
        """Pack the output of ended tasks: ``at_once``, or if there is much of it, or once a second."""
        few = sum(map(len, self._unpacked.values())) < _PACKED
        if few and now < self._packed + 1.0 and not at_once:
            return
        self._packed = now
        unpacked, self._unpacked = self._unpacked, {}
        for row, ended in unpacked.items():
            self.guard("the packing of output", partial(self._pack, self.folders[row], ended))

    def _pack(self, folder: str, ended: Sequence[tuple[int, int, bool]]) -> None:
        found = {}
        for number, attempt, good in ended:
            for suffix in SUFFIXES:
                path = stream_of(folder, number, attempt, suffix)
                data = self._to_pack(path, good)
                if data is not None:
                    found[path] = (number, attempt, suffix), data
        if kept := [stream for stream in found.values() if stream[1]]:
            pack(folder, kept)
        for path in found:
            with suppress(OSError):  # it was removed, or never made
                os.unlink(path)  # noqa: PTH108

    def _to_pack(self, path: str, good: bool) -> bytes | None:
        # What is to be packed of a stream; None: it stays a file, or there is none.
        if self._keep == "none" or (good and self._keep == "failures"):
            return b""
        with suppress(OSError), open(path, "rb") as file:  # noqa: PTH123 - faster, twice a task
            size = file.seek(0, os.SEEK_END)
            most = self._keep if isinstance(self._keep, int) else math.inf
            if size > LARGE and most == math.inf:
                return None
            file.seek(int(max(0, size - most)))
            return file.read()
        return None

    def _short(self, why: str) -> None:
        tell, self.tell_shortage = self.tell_shortage, lambda text: None
        text = f"no room to start a task ({why}): fewer tasks run at once, and the others are tried again"
        self.guard("the view of the run", lambda: tell(text))

    def _show(self, made: Callable[[], Failure]) -> None:
        self.guard("the view of the run", lambda: self.tell_failure(made()))

    def _tell_failure(self, row: int, number: int, event: Event) -> None:
        of_task = row, number, event.attempt, event.status, math.nan, event.seconds
        last = Attempt(*of_task, how=event.how, why=event.text)
        if not self._works[row].cancelled:
            self._show(lambda: failure(self.jobs[row], last, last.attempt + 1, self.folders[row]))

    def _skipped(self, row: int, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._tell(row, number, None)
        job, work = self.jobs[row], self._works[row]
        if numbers and work.ways["skipped"]:
            bad = [self.jobs[parent].name for parent in work.after if self._works[parent].failed]
            self._show(lambda: skipped(job, len(numbers), bad))

    def change(self, row: int, settings: Mapping[str, Any]) -> None:
        """Change settings of a job, also for later sessions; None: not set."""
        self.journal.change(self.number, row, settings)
        self.journal.commit()

    def hold(self, row: int, held: str) -> None:
        # Note that a job is paused or cancelled; empty: neither.
        self.change(row, {"held": held or None})

    def end(self, loop: Loop, status: str) -> None:
        # The session has ended.
        self.journal.check_there()
        self.pack(loop.now, at_once=True)
        loop.end_run(status)
