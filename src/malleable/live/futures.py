"""Futures of ``concurrent.futures`` that cost little until a thread waits for them.

The condition (lock and waiters) of a standard future costs a kilobyte and some microseconds; here it is made
when first asked for. Without one, changes of state are made under one lock of all futures. A call counts as
running as soon as an engine has it, unless the engine can take it back unstarted (withdraw it).
"""

from __future__ import annotations

import logging
import pickle
import threading
from concurrent import futures
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from malleable.live.protocol import RemoteValue, Task

if TYPE_CHECKING:
    from malleable.live.calls import CallJob

T = TypeVar("T")

_PENDING, _RUNNING, _CANCELLED = "PENDING", "RUNNING", "CANCELLED"
_NOTIFIED, _FINISHED = "CANCELLED_AND_NOTIFIED", "FINISHED"
_ENDED = (_CANCELLED, _NOTIFIED, _FINISHED)  # states of a future
_lock = threading.Lock()
_log = logging.getLogger("concurrent.futures")  # the logger that concurrent.futures uses, too


class Future(futures.Future[T]):
    """What a call will return; ``concurrent.futures.wait`` and ``concurrent.futures.as_completed`` know it.

    ``call`` is what the engine gets, ``number`` its place in ``job``.
    """

    __slots__ = (
        "_done_callbacks", "_exception", "_own", "_result", "_state", "_task", "_waiters", "call",
        "job", "number",
    )  # fmt: skip

    def __init__(self, call: Any, number: int, job: CallJob) -> None:
        self.call, self.number, self.job = call, number, job
        self._task: Task | None = None  # set while the call is with the engine and may be withdrawn
        self._own: threading.Condition | None = None  # of this future, once it is asked for
        self._state = _PENDING
        self._result: Any = None
        self._exception: BaseException | None = None

    @property
    def _condition(self) -> threading.Condition:  # type: ignore[override]
        if self._own is None:
            with _lock:
                if self._own is None:
                    self._waiters: list[Any] = []  # both are used only under the condition
                    self._done_callbacks: list[Any] = []
                    self._own = threading.Condition()
        return self._own

    def done(self) -> bool:
        return self._state in _ENDED

    def running(self) -> bool:
        task = self._task
        if task is not None and self._state == _PENDING:
            return self.job.runs(task)
        return self._state == _RUNNING

    def cancelled(self) -> bool:
        return self._state in (_CANCELLED, _NOTIFIED)

    def result(self, timeout: float | None = None) -> Any:
        """What the call returned or raised, as in ``concurrent.futures.Future``. A result on another machine
        is fetched once, which may take longer than ``timeout``."""
        ready = self._state == _FINISHED and self._exception is None
        found = self._result if ready else super().result(timeout)
        if isinstance(found, RemoteValue):
            found = self._result = pickle.loads(found.bring())
        return found

    def cancel(self) -> bool:
        """Cancel the call, unless it runs or has ended; returns whether it did."""
        with self._condition:
            if self._state != _PENDING:
                return self.cancelled()
            task = self._task
            if task is not None and not self.job.withdraw(task):
                return False
            self._cancel()
        self._invoke_callbacks()
        if task is None:  # otherwise the engine returns it
            self.job.forget(self.number)
        return True

    def _cancel(self) -> None:
        self._state = _CANCELLED
        self.set_running_or_notify_cancel()
        self._condition.notify_all()
        self.call = self._task = None

    # Methods from here on are called by the pool.

    def begin(self, task: Task, runs: bool) -> bool:
        """The call is handed to an engine, which ``runs`` it if it cannot be withdrawn; False: it was
        cancelled."""
        with _lock:
            if self._own is None:
                self._begin(task, runs)
                return True
        with self._condition:
            if self._state in _ENDED:
                return False
            self._begin(task, runs)
            return True

    def _begin(self, task: Task, runs: bool) -> None:
        # The second task of a call is a backup task beside a running one.
        if runs or self._task is not None:
            self._state, self._task = _RUNNING, None
        else:
            self._task = task

    def rest(self) -> bool:
        """The engine no longer has it, and it has not ended; False: it was cancelled."""
        with self._condition:
            if self._state in _ENDED:
                return False
            self._state, self._task = _PENDING, None
            return True

    def drop(self) -> None:
        # The call will never run: cancel it.
        with self._condition:
            if self._state in _ENDED:
                return
            self._cancel()
        self._invoke_callbacks()

    def finish(self, result: Any, error: BaseException | None = None) -> None:
        self.call = None
        with _lock:
            lean = self._own is None
            if lean:
                self._result, self._exception, self._state = result, error, _FINISHED
        if not lean:
            # the future was cancelled, or set from outside
            with suppress(futures.InvalidStateError):
                if error is None:
                    self.set_result(result)
                else:
                    self.set_exception(error)
        self._task = None  # not before, because a call without a task counts as waiting

    def _invoke_callbacks(self) -> None:
        # Call all, even if one raises. The thread is the pool's, or the thread that cancels.
        for callback in self._done_callbacks:
            try:
                callback(self)
            except BaseException as error:
                _log.exception("exception calling callback for %r", self)
                if threading.current_thread() is threading.main_thread() and not isinstance(
                    error, Exception
                ):
                    raise
