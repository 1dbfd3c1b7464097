"""Futures of ``concurrent.futures`` that cost little until somebody waits for them.

A future of the standard library has a condition of its own, a kilobyte and some microseconds. Here it is
made when it is first asked for: most futures of a large job have ended before anybody looks. Without one,
changes of state are made under one lock of all; with one, under it, as everywhere.
"""

from __future__ import annotations

import logging
import pickle
import threading
from collections.abc import Callable
from concurrent import futures
from contextlib import suppress
from typing import Any, TypeVar

from malleable.live.protocol import RemoteValue

T = TypeVar("T")

_PENDING, _RUNNING, _CANCELLED = "PENDING", "RUNNING", "CANCELLED"
_NOTIFIED, _FINISHED = "CANCELLED_AND_NOTIFIED", "FINISHED"
_ENDED = (_CANCELLED, _NOTIFIED, _FINISHED)
_lock = threading.Lock()
_log = logging.getLogger("concurrent.futures")  # where others tell it, too


class Future(futures.Future[T]):
    """What a call will return; ``concurrent.futures.wait`` and ``concurrent.futures.as_completed`` know it.

    Parameters
    ----------
    call : object
        What the engine gets.
    number : int
        Its place in its job.
    forget : callable
        Called with the number once the future has been cancelled.
    """

    __slots__ = (
        "_done_callbacks", "_exception", "_forget", "_own", "_result", "_state", "_waiters", "call",
        "number",
    )  # fmt: skip

    def __init__(self, call: Any, number: int, forget: Callable[[int], object]) -> None:
        self.call, self.number, self._forget = call, number, forget
        self._own: threading.Condition | None = None
        self._state = _PENDING
        self._result: Any = None
        self._exception: BaseException | None = None

    @property
    def _condition(self) -> threading.Condition:  # type: ignore[override]
        if self._own is None:
            with _lock:
                if self._own is None:
                    self._waiters: list[Any] = []  # both are used under the condition alone
                    self._done_callbacks: list[Any] = []
                    self._own = threading.Condition()
        return self._own

    def done(self) -> bool:
        """Whether it has ended or was cancelled."""
        return self._state in _ENDED

    def running(self) -> bool:
        """Whether it was handed to a worker."""
        return self._state == _RUNNING

    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self._state in (_CANCELLED, _NOTIFIED)

    def result(self, timeout: float | None = None) -> Any:
        """What the call returned; raises what it raised. As in ``concurrent.futures.Future``.

        What is elsewhere is brought, once, and may take longer than ``timeout``.
        """
        ready = self._state == _FINISHED and self._exception is None
        found = self._result if ready else super().result(timeout)
        if isinstance(found, RemoteValue):
            found = self._result = pickle.loads(found.bring())
        return found

    def cancel(self) -> bool:
        """Cancel the call, unless it was handed to a worker or has ended; whether that was done."""
        if not super().cancel():
            return False
        with self._condition:
            first = self._state == _CANCELLED
            if first:
                self.set_running_or_notify_cancel()
        if first:
            self._forget(self.number)
            self.call = None
        return True

    # What follows is the pool's.

    def begin(self) -> bool:
        """It is handed to a worker; False: it was cancelled."""
        with _lock:
            if self._own is None:
                self._state = _RUNNING
                return True
        with self._condition:
            if self._state in _ENDED:
                return False
            self._state = _RUNNING
            return True

    def finish(self, result: Any, error: BaseException | None = None) -> None:
        """It has ended."""
        self.call = None
        with _lock:
            lean = self._own is None
            if lean:
                self._result, self._exception, self._state = result, error, _FINISHED
        if lean:
            return
        with suppress(futures.InvalidStateError):  # it was cancelled, or set by somebody else
            if error is None:
                self.set_result(result)
            else:
                self.set_exception(error)

    def _invoke_callbacks(self) -> None:
        """All of them, whatever one raises: the thread is the pool's, or that of who cancels."""
        for callback in self._done_callbacks:
            try:
                callback(self)
            except BaseException as error:
                _log.exception("exception calling callback for %r", self)
                if threading.current_thread() is threading.main_thread() and not isinstance(
                    error, Exception
                ):
                    raise
