"""Python calls in threads of this process: nothing is pickled, and one interpreter runs all.

A thread has one bundle of short calls, or one call, at a time. Calls behind one that takes longer than was
expected are taken back. A call costs some 2 us here.
"""

from __future__ import annotations

import math
import os
import queue
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures.thread import BrokenThreadPool
from contextlib import suppress
from itertools import groupby
from typing import Any

from malleable.live.engines.remote import exit_code, leave
from malleable.live.protocol import Abilities, Event, Task, heard

_GRAIN = 0.01  # seconds of calls that a thread gets at once
_STUCK = 2.0 * _GRAIN  # seconds after which the others of a bundle are taken back


class Threads:
    """An engine of Python calls in threads.

    Parameters
    ----------
    slots : int
        Threads.
    *how
        What each thread runs first, or None, and its arguments.
    """

    abilities = Abilities(withdraw=True, grain=_GRAIN, together=200, calls="plain")
    error = BrokenThreadPool

    def __init__(self, slots: int, *how: Any) -> None:
        self.slots = slots
        self.broken = ""
        self._pid = os.getpid()
        self._bundles: queue.SimpleQueue[deque[Task] | None] = queue.SimpleQueue()
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        # By slot, calls that have not begun, and since when some wait behind others. A thread begins a call by
        # taking it out.
        self._flying: dict[int, tuple[float, deque[Task]]] = {}
        self._lock = threading.Lock()  # whoever takes calls back
        self._threads = [
            threading.Thread(target=self._work, args=how, name=f"malleable-{k}", daemon=True)
            for k in range(self.slots)
        ]
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Let `poll` return now; from any thread."""
        self._events.put(None)

    def start(self, tasks: Sequence[Task]) -> None:
        """Hand calls over: ``task.call`` is (function, arguments, named arguments)."""
        for slot, group in groupby(tasks, lambda task: task.slot):
            bundle = deque[Task]()
            with self._lock:
                for task in group:
                    if task.withdrawn:
                        self._events.put(Event("returned", task.key))
                    else:
                        task.holder = bundle
                        bundle.append(task)
                since = time.monotonic() if len(bundle) > 1 else math.inf
                self._flying[slot] = since, bundle
            self._bundles.put(bundle)

    def _work(self, initializer: Callable[..., Any] | None, initargs: Sequence[Any]) -> None:
        if initializer is not None:
            try:
                initializer(*initargs)
            except BaseException:
                self.broken = f"an initializer raised an error:\n{traceback.format_exc()}"
                self.wake()
                return
        while (bundle := self._bundles.get()) is not None:
            with suppress(IndexError):  # that was the last, or the rest was taken back
                while True:
                    self._run(bundle.popleft())

    def _run(self, task: Task) -> None:
        began = time.monotonic()
        function, arguments, named = task.call
        status, result, code = 0, None, 0
        try:
            result = function(*arguments, **named)
        except BaseException as error:
            status, result, code = 1, error, exit_code(error)
        if os.getpid() != self._pid:  # the call has forked, and this is its child
            leave(code)
        took = time.monotonic() - began
        self._events.put(Event("ended", task.key, status, took, result=result))

    def cancel(self, keys: Sequence[str]) -> None:
        """Take back calls that have not started, and what lies with them."""
        gone = set(keys)
        for slot, (_, bundle) in list(self._flying.items()):
            if any(task.key in gone for task in list(bundle)):
                self._take_back(slot)

    def _take_back(self, slot: int) -> None:
        _, bundle = self._flying.pop(slot)
        with self._lock, suppress(IndexError):
            while True:
                task = bundle.pop()
                task.holder = None
                self._events.put(Event("returned", task.key))

    def runs(self, task: Task) -> bool:
        """Whether this call runs."""
        with self._lock:
            return task.holder is not None and task not in task.holder

    def withdraw(self, task: Task) -> bool:
        """Let this call never begin; False: it may have begun."""
        with self._lock:
            if task.holder is None:  # it comes, or goes back
                task.withdrawn = True
                return True
            try:
                task.holder.remove(task)
            except ValueError:  # a thread has taken it
                return False
            task.holder = None
            self._events.put(Event("returned", task.key))
            return True

    def poll(self, seconds: float) -> list[Event]:
        """What happened; waits at most so long for the first."""
        stuck = min((since for since, _ in self._flying.values()), default=None)
        if stuck is not None:
            seconds = min(seconds, stuck + _STUCK - time.monotonic())
        found = [said for said in heard(self._events, seconds) if said is not None]
        now = time.monotonic()
        for slot, (since, bundle) in list(self._flying.items()):
            if not bundle:
                del self._flying[slot]
            elif now - since >= _STUCK:
                self._take_back(slot)
        return found

    def close(self, grace: float = 5.0) -> int:
        """Threads end after the call that they are at; how many had not ended after ``grace``."""
        for _ in self._threads:
            self._bundles.put(None)
        until = time.monotonic() + grace
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        return sum(thread.is_alive() for thread in self._threads)
