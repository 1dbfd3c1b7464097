"""``concurrent.futures`` under an objective: a pool that runs jobs of many Python calls. This is the part
that users see; a `CallRun`, which begins with the first call, has the loop in its own thread."""

from __future__ import annotations

import logging
import math
import multiprocessing.util
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent import futures
from concurrent.futures import thread as _thread  # noqa: F401 - its hook is registered before ours
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

from malleable.live.calls import CallJob, CallRun
from malleable.live.decider import SchedulerDecider
from malleable.live.futures import Future
from malleable.live.guard import Guard
from malleable.live.jobs_file import checked_settings
from malleable.live.journal import ExpectedEnd, Journal
from malleable.live.machine import processors
from malleable.live.protocol import CallEngine
from malleable.live.resources import Resources, check_needs
from malleable.policies import ClusterPolicy, ObjectiveName
from malleable.validation import check_slots, check_whole

P = ParamSpec("P")
T = TypeVar("T")
_SETTINGS = (
    "weight", "deadline", "min_slots", "max_slots", "user", "retries", "seconds", "backups",
    "resources",
)  # fmt: skip
_CALLS = "calls"  # the job of calls that are submitted to the pool itself

_log = logging.getLogger("malleable")
_runs: weakref.WeakSet[CallRun] = weakref.WeakSet()
_exiting = threading.Event()  # set when the interpreter ends: no run begins any more


def _end_all() -> None:
    # At exit, run all that was submitted, except after Ctrl-C.
    interrupted = getattr(sys, "last_type", None) is KeyboardInterrupt
    _exiting.set()
    for run in list(_runs):
        run.shutdown(wait=True, cancel=interrupted, stop=interrupted)


def _forked() -> None:
    # A forked child does not own the runs of its parent.
    _exiting.clear()
    _runs.clear()


# As ``concurrent.futures`` does it, and before it does: pools end before hooks of ``atexit`` wait for their
# processes or close what their engines need.
threading._register_atexit(_end_all)  # type: ignore[attr-defined]
os.register_at_fork(after_in_child=_forked)


class Progress(NamedTuple):
    """How far a job of a pool is; `ExecutorJob.progress` and `Executor.progress` return it.

    Attributes
    ----------
    done : int
        Calls that have returned.
    failed : int
        Calls that raised an error, broke off or were cancelled.
    left : int
        Calls that have not ended.
    slots, running : int
        Slots that the job should have, and has now.
    why : str
        Why the job should have so many slots, or what it waits for.
    seconds : float
        Mean time of a call [s]: expected while calls are left, measured at the end. NaN: not known.
    end : float
        Seconds from now until the job is expected to end. 0: no call is left. NaN: not known.
    """

    done: int
    failed: int
    left: int
    slots: int
    running: int
    why: str
    seconds: float
    end: float


class ExecutorJob:
    """A job of a pool: calls that belong together. `Executor.job` makes it.

    In a ``with`` block the job takes no more calls after the end of the block.

    Attributes
    ----------
    name : str
        Name of the job, unique in the pool.

    See Also
    --------
    malleable.Executor.job : Makes a job, with its settings.

    Notes
    -----
    Any thread may call the methods. They take O(1), ``map`` O(calls).

    Examples
    --------
    >>> import malleable as mb
    >>> with mb.Executor(slots=2) as pool:
    ...     sweep = pool.job("sweep")
    ...     results = sweep.map(pow, [2, 3], [2, 2])
    ...     print([future.result() for future in results], sweep.progress().done)
    [4, 9] 2
    """

    def __init__(self, pool: Executor, job: CallJob) -> None:
        self._pool, self._job = pool, job
        self.name = job.work.name

    def __repr__(self) -> str:
        job = self._job
        return f"<job {self.name!r}: {job.work.done} of {job.count} calls done>"

    def __enter__(self) -> ExecutorJob:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Submit the call ``fn(*args, **kwargs)`` as a part of this job; as `Executor.submit`."""
        return self._job.run.submit(self._job, (fn, args, kwargs))

    def map(self, fn: Callable[..., T], *iterables: Iterable[Any]) -> list[Future[T]]:
        """Submit a call of ``fn`` for each entry of the iterables, up to the end of the shortest.

        All calls are submitted before ``map`` returns. Returns a list of futures, in order; `Executor.map`
        returns results. Raises as `submit`."""
        return [self.submit(fn, *args) for args in zip(*iterables)]  # noqa: B905 - as map does

    def progress(self) -> Progress:
        """The `Progress` of this job; as `Executor.progress`."""
        return self._pool.progress()[self.name]

    def cancel(self) -> None:
        """Cancel all calls that have not started. Running calls go on to their end.

        The job takes no more calls. Jobs that come ``after`` this job are cancelled, too.
        """
        job = self._job
        job.close("it was cancelled")
        job.run.ask(lambda: job.run.loop.cancel(job.row))

    def close(self) -> None:
        """Take no more calls, so that jobs ``after`` this job can begin."""
        self._job.close("it was closed")


def _check_workers(threads: bool, engine: CallEngine | None, own: Mapping[str, Any]) -> None:
    # ValueError for settings of workers that contradict each other, TypeError for what is no function.
    if engine is not None:
        for name in (name for name, value in own.items() if value is not None):
            raise ValueError(f"{name}: the engine sets it")
        if engine.abilities.calls == "none":
            raise ValueError("engine: runs commands only")
    if own["initializer"] is not None and not callable(own["initializer"]):
        raise TypeError("initializer must be a callable")
    most = own["max_tasks_per_child"]
    if threads and not own["mp_context"] is most is None:
        raise ValueError("mp_context, max_tasks_per_child: for processes only")
    if most is not None:
        check_whole("max_tasks_per_child", most, 1, 2**53)


class Executor(futures.Executor):
    """A pool of ``concurrent.futures`` for several jobs under an objective.

    Parameters
    ----------
    slots : int, optional
        How many calls run at once. By default as many as there are processors that this process may use; with
        ``threads`` 4 more, but at most 32.
    threads : bool
        True: calls run in threads of this process, so nothing is pickled. False: calls run in processes of
        their own (the workers).
    objective, policy : str
        As for `malleable.Scheduler`.
    mp_context : multiprocessing context, optional
        How to start the process from which workers are forked. By default that of ``multiprocessing``, but
        ``forkserver`` in place of ``fork`` if this process has other threads and workers can import what they
        need.
    initializer, initargs, max_tasks_per_child
        As for ``ProcessPoolExecutor``.
    journal : path, optional
        A file that records what happened and what calls returned (``docs/calls.md``).
    durable : bool
        True: the journal survives a loss of power, too.
    resume : bool
        True: continue the last run of the journal, if it is not done. A call with the same job, place in it,
        function and arguments as a call of that run has its result at once.
    resources : mapping, optional
        Named things of this machine, and their names or how many there are: ``{"gpu": [0, 1]}``. Jobs say how
        many of them each of their calls holds. No two calls hold the same one.
    engine : CallEngine, optional
        Runs the calls elsewhere: ``mb.engines.Dask(client)`` or ``mb.engines.Ray()``. The engine says how
        many ``slots`` there are and how workers start. An engine belongs to one pool, which closes it.

    Raises
    ------
    ValueError
        An argument is wrong; names the argument and says why.
    JournalError
        The journal cannot be used.

    See Also
    --------
    malleable.engines : Other places where calls run.

    Notes
    -----
    Differences from ``concurrent.futures.ProcessPoolExecutor``:

    - If a worker dies, its call fails with ``BrokenProcessPool``, or is tried again if the job has
      ``retries``. The worker is replaced, and other calls go on.
    - A call that cannot be pickled fails when it is submitted.
    - Ctrl-C in a ``with`` block ends running calls.
    - No process outlives this one, however this one ends.
    - A worker gets several short calls at once.

    Any thread may use the pool. A call costs some 20 us here and in the worker, and about 400 bytes while it
    waits, O(1). Source of the decisions: Wolf et al. 2010 (FLEX), sections 1 and 2.

    Examples
    --------
    >>> import math
    >>> import malleable as mb
    >>> with mb.Executor(slots=2) as pool:
    ...     sweep = pool.job("sweep", weight=2)
    ...     results = sweep.map(math.sqrt, [1, 4, 9])
    ...     print([future.result() for future in results])
    [1.0, 2.0, 3.0]
    """

    def __init__(
        self,
        slots: int | None = None,
        *,
        threads: bool = False,
        objective: ObjectiveName | str = "sum:response",
        policy: ClusterPolicy | str = "auto",
        mp_context: Any = None,
        initializer: Callable[..., Any] | None = None,
        initargs: Sequence[Any] = (),
        max_tasks_per_child: int | None = None,
        journal: str | PathLike[str] | None = None,
        durable: bool = False,
        resume: bool = False,
        engine: CallEngine | None = None,
        resources: Mapping[str, int | Sequence[Any]] | None = None,
    ) -> None:
        own: dict[str, Any] = {"slots": slots, "mp_context": mp_context, "initializer": initializer}
        own |= {"max_tasks_per_child": max_tasks_per_child, "resources": resources}
        _check_workers(threads, engine, own)
        if journal is None and (resume or durable):
            raise ValueError("resume, durable: need a journal")
        if engine is not None:
            slots = engine.slots
        elif slots is None:
            slots = processors()
            slots = min(32, slots + 4) if threads else slots
        self._slots = check_slots(slots, least=0 if engine else 1)
        self._engine, self._threads = engine, threads
        self._how = (initializer, tuple(initargs))  # what each worker runs first
        self._context, self._max_calls = mp_context, max_tasks_per_child
        self._described = (objective, policy)  # as texts
        self._resources = Resources(resources or {})
        capacity = self._resources.capacity
        made = partial(SchedulerDecider, max(1, self._slots), policy, objective, capacity)
        made()  # refuses unknown policies and options
        self._journal = None if journal is None else Journal(Path(journal), durable=durable)
        known = self._journal.history if self._journal else lambda: None
        history = Guard(_log.warning)("the history of programs", known)
        self._decider = made(history=history, **self._processors())
        self._resume = resume
        self._lock = threading.Lock()
        self._run: CallRun | None = None
        self._calls: CallJob | None = None  # the job of calls without a job
        self._shut = False  # no more calls are taken
        self._pid = os.getpid()

    def __repr__(self) -> str:
        kind = "threads" if self._threads else "processes"
        what = type(self._engine).__name__ if self._engine else kind
        return f"Executor({self.slots} slots, {what}, {self._described[1]}, {self._described[0]})"

    def _processors(self) -> dict[str, Any]:
        # What is known of the processors of calls, as the decider takes it: each call has its "own", or there
        # are calls "beyond" them.
        if self._engine is not None:
            return {}
        # threads share one processor, unless they wait, or compute without the interpreter
        if self._threads:
            return {"processors": "beyond", "machine": 1, "clock": time.process_time}
        return {"processors": "beyond" if self._slots > processors() else "own"}

    @property
    def slots(self) -> int:
        """Calls at once; with an engine whose workers come and go, the present number."""
        return self._engine.slots if self._engine else self._slots

    @property
    def threads(self) -> bool:
        """Whether calls run in this process."""
        return self._threads and self._engine is None

    @property
    def remote(self) -> bool:
        """Whether calls may run on other machines."""
        return self._engine is not None

    @property
    def _usable(self) -> bool:
        # Whether this process may submit calls: the pool is open, not broken, and not a parent's.
        broken = self._run is not None and self._run.broken
        return not (self._shut or broken) and self._pid == os.getpid()

    def _begun(self) -> CallRun:
        # The run, which the first call begins.
        if self._pid != os.getpid():
            raise RuntimeError(f"this pool belongs to process {self._pid}")
        with self._lock:
            if self._run is None:
                if self._shut:
                    raise RuntimeError("cannot schedule new futures after shutdown")
                self._run = self._new_run()
                weakref.finalize(self, self._run.shutdown, wait=False).atexit = False
            return self._run

    def _new_run(self) -> CallRun:
        late = "cannot schedule new futures after interpreter shutdown"
        if _exiting.is_set():
            raise RuntimeError(late)
        engine = self._engine or self._made_engine()
        of_run = self._journal, self._described, self._resume, self._resources
        run = CallRun(engine, self._decider, *of_run)
        _runs.add(run)
        if _exiting.is_set():  # set meanwhile; `_end_all` may have missed this run
            run.shutdown(wait=True)
            raise RuntimeError(late)
        # A child of multiprocessing waits for its own children before it ends.
        if multiprocessing.parent_process() is not None:
            multiprocessing.util.Finalize(None, _end_all, exitpriority=sys.maxsize)
        return run

    def _made_engine(self) -> CallEngine:
        if self._threads:
            from malleable.live.engines.threads import Threads

            return Threads(self._slots, *self._how)
        from malleable.live.engines.process.processes import Processes

        return Processes(self._slots, self._context, self._max_calls, *self._how)

    def job(
        self, name: str, *, after: ExecutorJob | Sequence[ExecutorJob] = (), **settings: Any
    ) -> ExecutorJob:
        """Make a job: calls that belong together.

        The ``settings`` are ``weight`` to ``backups`` below. Their defaults stand in brackets.

        Parameters
        ----------
        name : str
            Unique in the pool.
        after : job or jobs, optional
            Jobs that must end before this job begins. They take no more calls. If one of their calls fails,
            this job is cancelled.
        weight : float
            Weight in the objective [1].
        deadline : float
            When the job should end: seconds from now on [none]. If a run is resumed, its jobs keep their
            first deadlines.
        min_slots, max_slots : int
            The slots that the job is guaranteed while it has calls [0], and the most that it may use [all].
        user : str
            Whose job it is [none].
        retries : int
            How often a call is tried again if it failed or its worker died [0].
        seconds : float
            How long a call will probably take [not known].
        backups : bool
            True: a call that will probably run for long is made a second time in a slot that no other call
            wants. The first of the two to return counts, and the other one is ended [False].
        resources : mapping
            How many of each resource of the pool a call holds while it runs, as ``{"gpu": 1}`` [none]. Their
            names are in ``os.environ["MALLEABLE_GPU"]`` and ``CUDA_VISIBLE_DEVICES``, unless it runs in a
            thread.

        Raises
        ------
        ValueError
            Names the setting and what is wrong; nothing has changed.
        RuntimeError
            The pool is shut down.
        """
        if not isinstance(name, str) or not name or name == _CALLS:
            raise ValueError(f"name = {name!r}: expected text, not empty, and not {_CALLS!r}")
        found = checked_settings(settings, _SETTINGS)
        parents = [after] if isinstance(after, ExecutorJob) else list(after)
        for k, parent in enumerate(parents):
            if not isinstance(parent, ExecutorJob) or parent._pool is not self:
                raise ValueError(f"after[{k}]: no job of this pool")
        found["needs"] = needs = found.pop("resources", {})
        check_needs("resources", needs, self._resources.capacity, " in the pool")
        run = self._begun()
        if found.get("backups") and not run.engine.abilities.kill:
            kind = type(run.engine).__name__
            raise ValueError(f"backups = True: {kind} cannot end a call that runs")
        job = run.job(name, [parent._job for parent in parents], **found)
        return ExecutorJob(self, job)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Submit the call ``fn(*args, **kwargs)``. It belongs to the job "calls", of all calls without a job.

        Raises
        ------
        RuntimeError
            The pool is shut down, or broken (BrokenProcessPool, BrokenThreadPool).
        """
        job = self._calls
        if job is None:
            job = self._calls = self._begun().job_of_pool(_CALLS)
        return job.run.submit(job, (fn, args, kwargs))

    def progress(self) -> dict[str, Progress]:
        """How far each job is, by name. Calls without a job have the name "calls". Expected ends are computed
        once a second at most: O(jobs), and the time of `malleable.Scheduler.expected_ends`."""
        run = self._begun()
        jobs = list(run.jobs.values())
        expected = run.look_ahead()
        now = run.loop.now
        found = {}
        waits = getattr(self._engine, "waits", "")
        for row, job in enumerate(jobs):
            work = job.work
            left = max(0, job.count - work.done - work.failed)
            end = expected.get(row, ExpectedEnd(row))
            at = max(end.at - now, 0.0) if left else 0.0  # max keeps NaN
            mean = work.sums.seconds / work.done if work.done else math.nan
            why = waits if waits and left else work.why
            found[work.name] = Progress(
                *(work.done, work.failed, left, work.slots, work.running, why),
                *((end.seconds or math.nan) if left else mean, at),
            )
        return found

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls; ``wait`` and ``cancel_futures`` as of
        ``concurrent.futures.Executor.shutdown``."""
        self._end(wait, cancel=cancel_futures)

    def _end(self, wait: bool, cancel: bool = False, stop: bool = False) -> None:
        with self._lock:
            self._shut = True
            if self._run is None and self._journal is not None:
                self._journal.close()
            if self._run is None and self._engine is not None:
                self._engine.close(0.0)
        if self._run is not None and self._pid == os.getpid():
            self._run.shutdown(wait, cancel, stop)

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        stopped = kind is not None and issubclass(kind, KeyboardInterrupt)
        self._end(wait=True, cancel=stopped, stop=stopped)
