"""joblib under an objective: each call of ``joblib.Parallel`` is a job of a pool (`malleable.Executor`), and
its batches (some of joblib's calls together) are the pool's calls.

All batches are submitted at once, so that the scheduler knows how much is left. Workers of this machine map
large arrays from one file. joblib is imported when a backend (its word for what runs the calls) is asked for;
``parallel_config`` knows the name ``malleable`` from then on, or as soon as both packages are imported, joblib
first.
"""

from __future__ import annotations

import io
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from typing import Any

from malleable.files.advice import library
from malleable.live.calls import end_calls
from malleable.live.executor import Executor, ExecutorJob

_AHEAD = "2*n_jobs"  # the default of joblib and scikit-learn
_MOMENT = 0.02  # seconds within which a short call shows that it is short
_lock = threading.Lock()
_own: list[Executor] = []  # the pool that is used if none is named
_numbers = count()  # of jobs without a name


def _pool() -> Executor:
    with _lock:
        if not _own or not _own[0]._usable:  # it broke, or it belongs to the parent of this process
            _own[:] = [Executor()]
        return _own[0]


def _run(packed: bytes, threads: int) -> tuple[Any, float]:
    # In a worker: run a batch with at most so many threads of BLAS and the like; results and seconds.
    _limit(threads)
    return _timed(pickle.loads(packed))


def _timed(batch: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    return batch(), time.perf_counter() - began


_limited: list[Any] = []


def _limit(threads: int) -> None:
    if not _limited or _limited[0] != threads:
        with suppress(ImportError):
            from threadpoolctl import threadpool_limits

            _limited[:] = [threads, threadpool_limits(limits=threads)]


class _Backend:
    """What `_backend` adds to joblib's classes: the pool, the name of its job, the settings of
    `Executor.job`."""

    supports_retrieve_callback = True
    supports_inner_max_num_threads = True
    default_n_jobs = -1
    MIN_IDEAL_BATCH_DURATION, MAX_IDEAL_BATCH_DURATION = 0.1, 1.0  # seconds
    nesting_level: int | None
    inner_max_num_threads: int | None

    def __init__(
        self,
        pool: Executor | None = None,
        job: str | None = None,
        settings: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self._given, self._name, self._settings = pool, job, settings or {}
        self._job: ExecutorJob | None = None
        # Most slots of this call of ``Parallel``, and of the present job.
        self._most: int | None = None
        self._kept: int | None = None
        self._unfinished: set[Any] = set()  # futures of batches
        self._guard = threading.Lock()
        self._ended = threading.Event()  # set when a batch has ended
        self._tried: set[int] = set()  # sizes of batches that are known not to be short
        self._root: str | None = None  # the folder for arrays that the caller asked for
        self._arrays: Any = None  # joblib's manager of that folder, made when the first array comes

    def __reduce__(self) -> Any:  # for calls whose arguments contain a backend
        return _made, ()

    @property
    def _executor(self) -> Executor:
        return self._given or _pool()

    @property
    def uses_threads(self) -> bool:
        return self._given is not None and self._given.threads

    @property
    def supports_sharedmem(self) -> bool:
        return self.uses_threads

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        # Calls at once: at most the pool's slots; 1: in this thread, without the pool.
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        slots = self._executor.slots
        if n_jobs is None:
            return 1
        if n_jobs < 0:
            n_jobs = max(slots + 1 + n_jobs, 2 if n_jobs == -1 else 1)
        # A pool with one slot runs the calls, too, because other calls share it.
        return n_jobs if n_jobs == 1 else max(2, min(n_jobs, slots))

    def configure(
        self,
        n_jobs: int = 1,
        parallel: Any = None,
        prefer: Any = None,
        require: Any = None,
        max_nbytes: Any = "1M",
        mmap_mode: str = "r",
        temp_folder: str | None = None,
        **more: Any,
    ) -> int:
        from joblib import cpu_count
        from joblib._memmapping_reducer import get_memmapping_reducers
        from joblib._parallel_backends import FallbackToBackend, SequentialBackend
        from joblib.disk import memstr_to_bytes
        from joblib.externals.loky.backend.reduction import get_loky_pickler

        found = self.effective_n_jobs(n_jobs)
        if found == 1:
            raise FallbackToBackend(SequentialBackend(nesting_level=self.nesting_level))
        self.parallel = parallel
        if str(getattr(parallel, "pre_dispatch", "")).replace(" ", "") == _AHEAD:
            parallel.pre_dispatch = "all"
        pool = self._executor
        # Most tasks at once; None: all slots.
        self._most = None if n_jobs < 0 or n_jobs >= pool.slots else n_jobs
        self._threads = self.inner_max_num_threads or max(1, cpu_count() // max(1, pool.slots))
        if not pool.threads:
            self._pickler, self._reducers = get_loky_pickler(), {}
            if not pool.remote:
                self._root = temp_folder
                self._reducers, _ = get_memmapping_reducers(
                    temp_folder_resolver=self._array_folder,
                    max_nbytes=memstr_to_bytes(max_nbytes)
                    if isinstance(max_nbytes, str)
                    else max_nbytes,
                    mmap_mode=mmap_mode,
                    unlink_on_gc_collect=False,
                )
        self._begin()
        return found

    def _array_folder(self) -> Any:
        from joblib._memmapping_reducer import TemporaryResourcesManager

        if self._arrays is None:
            self._arrays = TemporaryResourcesManager(self._root)
        return self._arrays.resolve_temp_folder_name()

    def _begin(self) -> None:
        # The job of this name, or a new one if another maximum of slots is asked for.
        pool = self._executor
        with self._guard:
            name = self._name or "parallel"
            if self._job is not None and self._name and self._kept == self._most:
                return
            settings = dict(self._settings)
            if self._most is not None:
                least = min(self._most, settings.get("max_slots") or self._most)
                settings["max_slots"] = max(least, settings.get("min_slots") or 1)
            old, self._job = self._job, None
            while self._job is None:
                try:
                    self._job = pool.job(name, **settings)
                except ValueError as error:
                    if "there is a job of this name" not in str(error):
                        raise
                    name = f"{self._name or 'parallel'}-{next(_numbers)}"
            self._kept = self._most
            if old is not None:
                old.close()

    def submit(self, func: Callable[[], Any], callback: Any = None) -> Any:
        job = self._job
        assert job is not None
        if self._executor.threads:
            future = job.submit(_timed, func)
        else:
            file = io.BytesIO()
            self._pickler(file, reducers=self._reducers, protocol=5).dump(func)
            future = job.submit(_run, file.getvalue(), self._threads)
        self._unfinished.add(future)
        future.add_done_callback(self._unfinished.discard)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, out: Any) -> Any:
        found, seconds = out.result()
        super().batch_completed(len(found), seconds)  # type: ignore[misc]
        self._ended.set()
        return found

    def batch_completed(self, batch_size: int, duration: float) -> None:
        """Nothing: joblib would count the time of waiting, too; `retrieve_result_callback` says how long a
        batch ran."""

    def compute_batch_size(self) -> int:
        # Calls of the next batch: the first calls of a size get a moment to show that they are short.
        size: int = super().compute_batch_size()  # type: ignore[misc]
        mine = self.parallel.pre_dispatch == "all"  # otherwise the pool's thread may be the caller
        if mine and size not in self._tried and len(self._unfinished) >= 2 * self._executor.slots:
            self._ended.clear()
            if not self._ended.wait(_MOMENT):
                self._tried.add(size)  # they are not short
            size = super().compute_batch_size()  # type: ignore[misc]
        return size

    def abort_everything(self, ensure_ready: bool = True) -> None:
        # Calls that wait never start. Running calls are ended if the engine can end them.
        unfinished = list(self._unfinished)
        self._unfinished.clear()
        end_calls(unfinished)

    def terminate(self) -> None:
        if self._job is not None and self._name is None:
            self._job.close()
            self._job = None
        if self._arrays is not None:
            self._arrays._clean_temporary_resources(force=True)
            self._arrays = None
        self._tried.clear()
        self.reset_batch_stats()  # type: ignore[attr-defined]

    def close(self) -> None:
        if self._job is not None:
            self._job.close()
            self._job = None


@cache
def _backend() -> Any:
    library("joblib", "the joblib backend", "'malleable[joblib]'")
    from joblib.parallel import AutoBatchingMixin, ParallelBackendBase

    return type("MalleableBackend", (_Backend, AutoBatchingMixin, ParallelBackendBase), {})


def _made(*args: Any, **named: Any) -> Any:
    return _backend()(*args, **named)


def register() -> None:
    """Make the name ``malleable`` known to joblib, if that is imported."""
    if "joblib.parallel" in sys.modules:
        sys.modules["joblib.parallel"].EXTERNAL_BACKENDS["malleable"] = _register


def _register() -> None:
    from joblib import register_parallel_backend

    register_parallel_backend("malleable", _backend())


@contextmanager
def joblib_backend(
    pool: Executor | None = None,
    *,
    job: str | None = None,
    n_jobs: int = -1,
    inner_max_num_threads: int | None = None,
    **settings: Any,
) -> Iterator[Any]:
    """In a ``with`` block of this, joblib runs its calls in a pool.

    Parameters
    ----------
    pool : Executor, optional
        The pool. By default all blocks share one pool of this process.
    job : str, optional
        The name of a job of the pool, to which all calls of the block belong. By default each call of
        ``Parallel`` makes a job of its own.
    n_jobs : int
        How many calls may run at once, if ``Parallel`` is given no number. -1: as many as the pool has slots.
    inner_max_num_threads : int, optional
        How many threads a library, such as BLAS, may use within a call.
    **settings
        Settings of the jobs, as for `Executor.job`, without ``resources``.

    Raises
    ------
    ImportError
        joblib is not installed.
    ValueError
        A setting is wrong; raised when the first call begins.

    See Also
    --------
    malleable.Executor : The same as an executor of futures.

    Notes
    -----
    A call costs as much as one of `Executor`, O(1).

    Examples
    --------
    >>> import math
    >>> import malleable as mb
    >>> from joblib import Parallel, delayed  # needs malleable[joblib]
    >>> with mb.joblib_backend(job="roots"):
    ...     print(Parallel()(delayed(math.sqrt)(value) for value in [1, 4, 9]))
    [1.0, 2.0, 3.0]
    """
    library("joblib", "the joblib backend", "'malleable[joblib]'")
    from joblib import parallel_config

    register()
    backend = _made(
        pool, job, settings, nesting_level=0, inner_max_num_threads=inner_max_num_threads
    )
    try:
        with parallel_config(backend=backend, n_jobs=n_jobs):
            yield backend
    finally:
        backend.close()
