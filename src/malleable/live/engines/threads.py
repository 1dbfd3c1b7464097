"""Python calls in threads of this process: nothing is pickled, and one interpreter runs all."""

from __future__ import annotations

import os
import queue
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures.thread import BrokenThreadPool
from contextlib import suppress
from typing import Any

from malleable.live.engines.remote import exit_code, leave
from malleable.live.protocol import Abilities, Event, Task, heard


class Threads:
    """An engine of Python calls in ``slots`` threads; ``how``: what each runs first, or None, and its
    arguments."""

    # Waiting calls can be taken back; it gets as many calls early as end within 0.01 s, unpickled.
    abilities = Abilities(withdraw=True, ahead=0.01, calls="plain")
    error = BrokenThreadPool

    def __init__(self, slots: int, *how: Any) -> None:
        self.slots = slots
        self.broken = ""
        self._pid = os.getpid()
        self._waiting: deque[Task] = deque()
        # True for each call; False ends a thread.
        self._wakes: queue.SimpleQueue[bool] = queue.SimpleQueue()
        # None makes ``poll`` return.
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._lock = threading.Lock()  # held to put calls in and to take them back
        self._threads = [
            threading.Thread(target=self._work, args=how, name=f"malleable-{k}", daemon=True)
            for k in range(self.slots)
        ]
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        self._events.put(None)

    def start(self, tasks: Sequence[Task]) -> None:
        with self._lock:
            for task in tasks:
                if task.withdrawn:
                    self._events.put(Event("returned", task.key))
                else:
                    task.holder = self
                    self._waiting.append(task)
                    self._wakes.put(True)  # one thread looks for a task

    def _work(self, initializer: Callable[..., Any] | None, initargs: Sequence[Any]) -> None:
        if initializer is not None:
            try:
                initializer(*initargs)
            except BaseException:
                self.broken = f"an initializer raised an error:\n{traceback.format_exc()}"
                self.wake()
                return
        while self._wakes.get():
            with suppress(IndexError):  # the call was taken back
                self._run(self._waiting.popleft())

    def _run(self, task: Task) -> None:
        began = time.monotonic()
        function, arguments, named = task.call
        status, result, code = 0, None, 0
        try:
            result = function(*arguments, **named)
        except BaseException as error:
            status, result, code = 1, error, exit_code(error)
        if os.getpid() != self._pid:  # the call has forked, and this is the child
            leave(code)
        took = time.monotonic() - began
        self._events.put(Event("ended", task.key, status, took, result=result))

    def cancel(self, keys: Sequence[str]) -> None:
        gone = set(keys)
        for task in list(self._waiting):
            if task.key in gone:
                self.withdraw(task)

    def runs(self, task: Task) -> bool:
        with self._lock:
            return task.holder is not None and task not in self._waiting

    def withdraw(self, task: Task) -> bool:
        with self._lock:
            if task.holder is None:  # its result comes, or it is returned
                task.withdrawn = True
                return True
            try:
                self._waiting.remove(task)
            except ValueError:  # a thread has already taken it
                return False
            task.holder = None
            self._events.put(Event("returned", task.key))
            return True

    def poll(self, seconds: float) -> list[Event]:
        return [said for said in heard(self._events, seconds) if said is not None]

    def close(self, grace: float = 5.0) -> int:
        """Threads end after their present call; returns how many had not ended after ``grace``."""
        self._waiting.clear()
        for _ in self._threads:
            self._wakes.put(False)  # one thread ends
        until = time.monotonic() + grace
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        return sum(thread.is_alive() for thread in self._threads)
