"""A run of Python calls: jobs that grow, a loop in a thread of its own that decides which calls start, an
engine that runs them, a journal that keeps results.

Clients (threads of the user) append requests to one queue and wake the loop. One assignment makes a job or a
call exist, so Ctrl-C loses neither. A result is in the journal before a client sees it. Another session (a
later process that resumes the run) knows a call by its job, its place there and a digest of its pickle.
"""

from __future__ import annotations

import logging
import math
import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from functools import partial
from hashlib import blake2b
from mmap import mmap
from typing import Any, TypeAlias, cast

from malleable.live.decider import SchedulerDecider
from malleable.live.engines.remote import Call, Packing, worded
from malleable.live.futures import Future
from malleable.live.journal import ExpectedEnd, JobRow, Journal
from malleable.live.ledger import JobState
from malleable.live.loop import Loop
from malleable.live.protocol import CallEngine, Event, RemoteValue, Task, WithdrawingEngine
from malleable.live.resources import Resources

# A request: the row of a job that may have more calls; or a function that the loop's thread calls.
Asked: TypeAlias = int | Callable[[], object]

_log = logging.getLogger("malleable")
_PROTOCOL = pickle.HIGHEST_PROTOCOL
_SEEN = 1000  # calls with kept results that the loop is told of at once
_REST = 60.0  # seconds that the loop waits where nothing happens
_LOOK = 0.1  # seconds between two times that a client looks whether the loop still runs
_DESCRIBED = 1.0  # seconds between two times that the journal is told how many calls there are


class RemoteError(Exception):
    """The traceback of a worker, as the cause of a call's error."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class CallJob:
    """Calls of one job, which is number ``row`` of its run."""

    def __init__(self, run: CallRun, row: int, name: str) -> None:
        self.run, self.row = run, row
        self.work = JobState(name, 0, self.make, program=name, open=True)
        self.futures: dict[int, Future[Any]] = {}  # that have not ended
        self.digests: dict[int, bytes] = {}  # of these, where there is a journal
        self.never: dict[int, bool] = {}  # calls that are not run: whether they are done
        self.count = 0  # a call is there once this counts it
        self.told = 0  # calls of which the loop knows
        self.declared = False  # whether this session has given it settings
        self.closed_by = ""  # why it takes no more calls
        self.tried = -1  # the last call that an earlier session tried

    def close(self, why: str) -> None:
        self.closed_by = self.closed_by or why
        self.run.ask(self.row)
        self.run.ask(lambda: self.run.loop.close(self.row))

    def make(self, number: int, attempt: int) -> Task | None:
        # A call as a task for the engine; None: its client has cancelled it.
        future = self.futures[number]
        task = Task("", call=future.call)
        if future.begin(task, not self.run.withdraws):
            return task
        self.gone(number)
        return None

    def gone(self, number: int) -> Future[Any] | None:
        """In the loop: a call that ended or was cancelled; None: it was cancelled before."""
        self.digests.pop(number, None)
        return self.futures.pop(number, None)

    def forget(self, number: int) -> None:
        # A call was cancelled by its client.
        self.run.ask(lambda: self._drop(number))

    def end(self, futures: Iterable[Future[Any]]) -> None:
        # Cancel calls, also running ones.
        numbers = {future.number for future in futures if not (future.cancel() or future.done())}
        for number in numbers:
            if future := self.futures.get(number):
                future.drop()
        if numbers:
            self.run.ask(lambda: self.run.loop.end(self.row, numbers))

    def runs(self, task: Task) -> bool:
        return cast(WithdrawingEngine, self.run.engine).runs(task)

    def withdraw(self, task: Task) -> bool:
        return cast(WithdrawingEngine, self.run.engine).withdraw(task)

    def _drop(self, number: int) -> None:
        if self.gone(number) is not None:
            self.run.loop.drop(self.row, [number])


class CallRun:
    """One run.

    Parameters
    ----------
    engine : CallEngine
        Runs the calls.
    decider : SchedulerDecider
        Asks our scheduler; it has as many slots as the engine, or one if that has none yet.
    journal : Journal, optional
    described : tuple of str
        Objective and policy, for the journal.
    resume : bool
        Whether to continue the last run of the journal, if it is not done.
    resources : Resources, optional
        Memory and other resources that calls may hold together.
    """

    def __init__(
        self,
        engine: CallEngine,
        decider: SchedulerDecider,
        journal: Journal | None = None,
        described: tuple[str, str] = ("", ""),
        resume: bool = False,
        resources: Resources | None = None,
    ) -> None:
        self.engine, self.journal = engine, journal
        self._decider, self._slots = decider, max(1, engine.slots)
        self.pickled = engine.abilities.calls != "plain"
        self.withdraws = engine.abilities.withdraw
        by_name = partial(pickle.dumps, protocol=_PROTOCOL)
        self._pickle = Packing() if engine.abilities.calls == "by value" else by_name
        self.number, self._reader = 0, None
        known: list[JobRow] = []
        start = 0.0
        if journal:
            self._reader = Journal(journal.path, write=False)
            self.number, known = _last_run(journal) if resume else (0, [])
            if self.number == 0:
                self.number = journal.begin(engine.slots, *described, kind="calls")
            start = journal.enter(self.number)
            journal.commit()
        self.loop = Loop(
            engine,
            decider,
            journal,
            self.number,
            start=start,
            settled=self._settled,
            dropped=self._dropped,
            rested=self._rested,
            resources=resources,
        )
        self.jobs: dict[str, CallJob] = {}
        self._lock = threading.Lock()
        self._asked: deque[Asked] = deque()  # what the loop is to do soon
        # How often the loop has gone to rest; the last time that it was woken.
        self._rests = self._woken = 0
        self._over: list[tuple[Future[Any], Event]] = []  # ended, but not told to the client yet
        self._closing = self._shut_down = self._stopping = False
        self.broken: BrokenExecutor | None = None
        self._waits = ""  # why no call runs, as it was logged last
        # When the jobs were described to the journal, and how many they were.
        self._described, self._known_rows = 0.0, 0
        self._pid = os.getpid()
        for row in known:
            work = self._add(row.described["name"]).work
            work.deadline, work.known = row.described.get("deadline", math.inf), row.tasks
        self._thread = threading.Thread(target=self._go, name="malleable-loop", daemon=True)
        self._thread.start()

    # Clients: called by any thread.

    def ask(self, what: Asked) -> None:
        """Have the loop do this soon; a number: a job of this row may have more calls."""
        self._asked.append(what)
        self.wake()

    def wake(self) -> None:
        rests = self._rests
        if self._woken != rests:
            self.engine.wake()
            self._woken = rests

    def _add(self, name: str) -> CallJob:
        job = CallJob(self, len(self.jobs), name)
        if self._reader:
            job.tried = self._reader.last_tried(self.number, job.row)
        self.jobs[name] = job
        self.ask(job.row)
        return job

    def job(self, name: str, after: Sequence[CallJob] = (), **more: Any) -> CallJob:
        """A new job, or one of an earlier session; jobs ``after`` which it comes take no more calls.

        Other arguments are of its `JobState`; the deadline counts from now, or from the earlier session that
        set it. ValueError if this session has a job of that name."""
        with self._lock:
            if self._closing:
                raise RuntimeError("cannot schedule new futures after shutdown")
            job = self.jobs.get(name) or self._add(name)
            if job.declared:
                raise ValueError(f"name = {name!r}: there is a job of this name")
            job.declared = True
            deadline = self.loop.now + more.pop("deadline", math.inf)
            if math.isinf(job.work.deadline):  # no earlier session had one
                job.work.deadline = deadline
            for field, value in more.items():
                setattr(job.work, field, value)
        for parent in after:
            parent.close(f"job {name!r} waits for it")
        if after:
            self.ask(lambda: self.loop.wait_for(job.row, [parent.row for parent in after]))
        return job

    def job_of_pool(self, name: str) -> CallJob:
        # The job of calls that were submitted to the pool itself.
        with self._lock:
            return self.jobs.get(name) or self._add(name)

    def submit(
        self, job: CallJob, call: tuple[Any, tuple[Any, ...], dict[str, Any]]
    ) -> Future[Any]:
        """A future of a call (function, arguments, named arguments) at the end of a job. RuntimeError if the
        job or the run takes no more calls."""
        if os.getpid() != self._pid:
            raise RuntimeError(f"this pool belongs to process {self._pid}")
        packed, error = self._packed(call)
        with self._lock:
            self._check_open(job)
            number = job.count
            future: Future[Any] = Future(packed if self.pickled else call, number, job)
            job.gone(number)  # of a submit that was interrupted
            job.never.pop(number, None)
            kept = self._kept(job, number, packed) if error is None else None
            if error is None and kept is None:
                if number <= job.tried:
                    self._asked.append(lambda: self._try_again(job.row, number))
                job.futures[number] = future
            else:
                job.digests.pop(number, None)
                job.never[number] = error is None
            job.count = number + 1
        self._asked.append(job.row)
        if number in job.futures or number % _SEEN == 0 or error is not None:
            self.wake()
        if error is not None:
            future.finish(None, self._not_pickled(job, number, call[0], error))
        elif kept is not None:
            _finish(future, kept)
        return future

    def _kept(self, job: CallJob, number: int, packed: bytes | Call | None) -> bytes | None:
        # What a call returned in an earlier session; its digest is known from now on.
        if packed is None or not (self.journal and self._reader):
            return None
        parts = (packed,) if isinstance(packed, bytes) else packed
        digest = blake2b(b"".join(parts), digest_size=16).digest()
        job.digests[number] = digest
        if number > job.tried:
            return None
        return self._reader.kept(self.number, job.row, number, digest)

    def _check_open(self, job: CallJob) -> None:
        if self.broken:
            raise type(self.broken)(*self.broken.args)
        if self._closing:
            raise RuntimeError("cannot schedule new futures after shutdown")
        if job.closed_by:
            raise RuntimeError(f"job {job.work.name!r} takes no more calls: {job.closed_by}")

    def _packed(self, call: Any) -> tuple[bytes | Call | None, BaseException | None]:
        # A call as a worker or the journal takes it, and why a worker cannot take it.
        if not (self.pickled or self.journal):
            return None, None
        try:
            packed = self._pickle(call)
        except Exception as raised:
            return None, raised if self.pickled else None
        return packed, None

    def _not_pickled(
        self, job: CallJob, number: int, function: Any, error: BaseException
    ) -> BaseException:
        name = getattr(function, "__qualname__", repr(function))
        if self.engine.abilities.calls == "by value":
            way_out = "let it find large data, locks and open files itself where it runs"
        else:
            way_out = "define the function at the top of a module, or use threads=True"
        told = pickle.PicklingError(
            f"{error}: a call of {name} (number {number} of job {job.work.name!r}) cannot be pickled for"
            f" a worker process; {way_out}"
        )
        told.__cause__ = error
        return told

    def shutdown(self, wait: bool, cancel: bool = False, stop: bool = False) -> None:
        """Take no more calls. ``cancel``: cancel calls that have not started. ``stop``: stop calls that run."""
        with self._lock:
            self._closing = True
        self.ask(lambda: self._shut(cancel))
        self._stopping = self._stopping or stop
        self.ask(lambda: None)
        if wait and threading.current_thread() is not self._thread:  # as a callback is
            self._thread.join()

    def _shut(self, cancel: bool) -> None:
        self._shut_down = True
        self._grow(range(len(self.jobs)))
        for job in list(self.jobs.values()):
            self.loop.close(job.row)
            if cancel:
                self.loop.cancel(job.row)

    def look_ahead(self) -> Mapping[int, ExpectedEnd]:
        if threading.current_thread() is self._thread:
            self.loop.look_ahead(0.0)
        elif self._thread.is_alive():
            looked = threading.Event()

            def look() -> None:
                self.loop.look_ahead(0.0)
                looked.set()

            self.ask(look)
            while not looked.wait(_LOOK) and self._thread.is_alive():
                pass
        return self.loop.expected

    # Called by the loop's thread.

    def _try_again(self, row: int, number: int) -> None:
        assert self.journal
        tried = self.journal.task(self.number, row, number)
        if tried and tried.good:
            self.journal.forget(self.number, row, number)
        elif tried:
            self.loop.tried(tried)

    def _go(self) -> None:
        try:
            while not self._stopping and not (self._shut_down and self.loop.finished):
                self._obey()
                self._look_at_slots()
                self._describe()
                self.loop.step(_REST)
                self._deliver()
                if self.engine.broken:
                    raise self.engine.error(self.engine.broken)
        except BaseException as error:
            self._break(error)
        self._end()

    def _obey(self) -> None:
        # Carry out the requests of clients.
        asked = self._asked
        while True:
            rows: set[int] = set()
            while asked:
                what = asked.popleft()
                if isinstance(what, int):
                    rows.add(what)
                else:
                    self._grow(rows)
                    rows.clear()
                    what()
            self._grow(rows)
            self._rests += 1
            if not asked:
                return

    def _grow(self, rows: Iterable[int]) -> None:
        # Tell the loop of new jobs, and of new calls of these jobs.
        if len(self.loop.jobs) < len(self.jobs):
            for job in list(self.jobs.values())[len(self.loop.jobs) :]:
                self.loop.add(job.work)
        for row in rows:
            job = self._job_of(row)
            count = job.count
            if count > job.told:
                self.loop.grow(row, count - job.told)
                job.told = count
            for number, good in list(job.never.items()):
                if number < count:
                    del job.never[number]
                    self.loop.drop(row, [number], good)

    def _job_of(self, row: int) -> CallJob:
        return self.jobs[self.loop.jobs[row].name]

    def _settled(self, row: int, number: int, event: Event) -> None:
        job = self._job_of(row)
        digest = job.digests.get(number)
        future = job.gone(number)
        if future is None:  # it was set from outside while it ran twice
            return
        self._over.append((future, event))
        if self.journal and digest and event.status == 0 and event.kind == "ended":
            value = event.result
            try:
                if isinstance(value, RemoteValue):
                    value = event.result = value.bring()
                elif isinstance(value, mmap):
                    value = event.result = value[:]
                if not self.pickled:
                    value = pickle.dumps(value, _PROTOCOL)
            except BaseException:  # it is not kept, and called again by the next session
                return
            self.journal.keep(self.number, row, number, digest, value)

    def _dropped(self, row: int, numbers: Sequence[int]) -> None:
        # The loop will never run these calls.
        job = self._job_of(row)
        for number in numbers:
            future = job.gone(number)
            if future is not None:
                future.drop()

    def _rested(self, row: int, number: int) -> bool:
        # A call came back from the engine without having begun; False: it was cancelled.
        future = self._job_of(row).futures.get(number)
        return future is not None and future.rest()

    def _deliver(self) -> None:
        self.loop.record()  # what a call's author is told is kept
        over, self._over = self._over, []
        for future, event in over:
            good = event.kind == "ended" and event.status == 0
            if good and (not self.pickled or isinstance(event.result, RemoteValue)):
                future.finish(event.result)
            elif good:
                _finish(future, event.result)
            elif event.result is None:
                future.finish(None, self.engine.error(event.text or event.kind))
            else:
                future.finish(None, _raised(event.result) if self.pickled else event.result)

    def _look_at_slots(self) -> None:
        if self.engine.slots != self._slots:
            self._slots = self.engine.slots
            self._decider.resize(self._slots, self.loop.now)
            self.loop.decide_soon()
        waits = getattr(self.engine, "waits", "")
        left = sum(work.left for work in self.loop.jobs) if waits != self._waits else 0
        if waits != self._waits and (left or not waits):
            self._waits = waits
            _log.warning(
                "%s: %s",
                f"{left:,} calls wait" if waits else "calls go on",
                waits or "nothing is missing",
            )

    def _describe(self, least: float = _DESCRIBED) -> None:
        # Jobs and the numbers of their calls for the journal; new jobs before anything is told of them.
        now, jobs = time.monotonic(), len(self.loop.jobs)
        if jobs > self._known_rows or now - self._described >= least:
            self._described, self._known_rows = now, jobs
            self.loop.describe(anew=True)

    def _break(self, error: BaseException) -> None:
        with self._lock:
            if isinstance(error, BrokenExecutor):
                self.broken = error
            else:
                self.broken = self.engine.error(worded(error))
                self.broken.__cause__ = error

    def _end(self) -> None:
        finished = self.loop.finished
        try:
            self.loop.stop(0.0 if self._stopping or self.broken else 5.0)
            self._deliver()
            self._tell_journal(finished)
        except BaseException as error:
            self._break(error)
        finally:
            with self._lock:
                self._closing = True
                left = [f for job in self.jobs.values() for f in job.futures.values()]
                left += [future for future, _ in self._over]  # not recorded
            stopped = self.engine.error("the pool was stopped while this call ran")
            for future in left:
                if self.broken or not future.cancel():
                    future.finish(None, self.broken or stopped)
            for journal in filter(None, (self._reader, self.journal)):
                journal.close()

    def _tell_journal(self, finished: bool) -> None:
        if self.journal:
            self._describe(0.0)
            whole = all(work.failed == 0 and work.tasks >= work.known for work in self.loop.jobs)
            status = "done" if finished and whole and not self.broken else "stopped"
            self.loop.end_run(status)


def _last_run(journal: Journal) -> tuple[int, list[JobRow]]:
    # Number and jobs of the run that is resumed; 0: there is none.
    if not journal.has_runs():
        return 0, []
    run = journal.run()
    if run.kind != "calls" or run.status == "done":
        return 0, []
    return run.id, journal.jobs(run.id)


def end_calls(futures: Iterable[Future[Any]]) -> None:
    jobs: dict[CallJob, list[Future[Any]]] = {}
    for future in futures:
        jobs.setdefault(future.job, []).append(future)
    for job, own in jobs.items():
        job.end(own)


def _raised(pickled: bytes | mmap) -> BaseException:
    try:
        error, text = pickle.loads(pickled)
        assert isinstance(error, BaseException)
        error.__cause__ = RemoteError(text)
    except BaseException as failed:  # any error of its class: the loop goes on
        return RuntimeError(f"the exception of the call cannot be unpickled here: {worded(failed)}")
    return error


def _finish(future: Future[Any], pickled: bytes | mmap) -> None:
    try:
        value = pickle.loads(pickled)
    except BaseException as failed:  # any error of its class: the loop goes on
        future.finish(None, failed)
    else:
        future.finish(value)
