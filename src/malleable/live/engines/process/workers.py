"""What engines share whose tasks run in workers: processes at the other ends of sockets, which have one bundle
of short tasks, or one task, at a time. A subclass starts and hears workers, and knows their language."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Generic, TypeVar

from malleable.live.engines.process.child import READ, Frames
from malleable.live.protocol import Event, Task


class Worker:
    """A process, and the tasks of its bundle that it has not answered."""

    def __init__(self, connection: socket.socket, frames: Frames) -> None:
        self.socket, self.frames = connection, frames
        self.unsent = bytearray()
        self.sent: deque[Task] = deque()
        self.since = 0.0  # time at which the last bundle was sent
        self.whole = False  # it has several tasks, and none was taken back

    def close(self) -> None:
        self.socket.close()


Own = TypeVar("Own", bound=Worker)


class Workers(Generic[Own]):
    """An engine of at most ``slots`` workers. After ``stuck`` seconds the tasks of a bundle that have not begun
    are taken back."""

    def __init__(self, slots: int, stuck: float) -> None:
        self.slots, self._stuck = slots, stuck
        self.broken = ""  # why it can run nothing any more
        # A byte into the second socket ends a wait at the first.
        self._woken, self._wakes = socket.socketpair()
        for each in (self._woken, self._wakes):
            each.setblocking(False)
        # Each file has a function that is called with what it is ready for.
        self._selector = selectors.DefaultSelector()
        self._listen(self._woken, lambda mask: self._woken.recv(4096))
        self._workers: dict[Any, Own] = {}
        self._idle: list[Own] = []
        self._waiting: deque[list[Task]] = deque()  # bundles
        self._events: list[Event] = []
        # Held while tasks are sent to a worker, come back, or are read by another thread.
        self._lock = threading.RLock()

    def _listen(self, file: socket.socket, ready: Any) -> None:
        self._selector.register(file, selectors.EVENT_READ, ready)

    def _join(self, name: Any, made: Own) -> None:
        # A worker is there; ``name`` is its key.
        made.socket.setblocking(False)
        self._workers[name] = made
        self._idle.append(made)
        self._listen(made.socket, partial(self._ready, made))

    def _ready(self, each: Own, mask: int) -> None:
        if each.socket.fileno() >= 0:  # otherwise it has just ended
            if mask & selectors.EVENT_WRITE:
                self._send(each)
            if mask & selectors.EVENT_READ:
                self._hear(each)

    def wake(self) -> None:
        with suppress(OSError):  # full, or closed
            self._wakes.send(b"x")

    def start(self, tasks: Sequence[Task]) -> None:
        with self._lock:
            self._waiting += [list(same) for _, same in groupby(tasks, attrgetter("bundle"))]
            self._hand_out()

    def _hand_out(self) -> None:
        # Give waiting bundles to idle workers.
        raise NotImplementedError

    def _hear(self, each: Own) -> Any:
        # Read what a worker says.
        raise NotImplementedError

    def _packed(self, to: Own, bundle: Sequence[Task]) -> bytes:
        # A bundle in the language of a worker.
        raise NotImplementedError

    def _take_back(self, each: Own) -> None:
        # Take back the tasks of a worker that have not begun, at once or later.
        raise NotImplementedError

    def _give(self, to: Own, bundle: Sequence[Task]) -> None:
        to.sent.extend(bundle)
        to.since, to.whole = time.monotonic(), len(bundle) > 1
        to.unsent += self._packed(to, bundle)
        self._send(to)

    def _send(self, to: Own) -> None:
        # Send what the socket takes now: a worker may wait to be read before it reads.
        had = bool(to.unsent)
        with suppress(OSError):  # full, or dead, which is noticed elsewhere
            while to.unsent:
                with memoryview(to.unsent) as rest:
                    count = to.socket.send(rest[:READ])
                del to.unsent[:count]
        known = self._selector.get_map().get(to.socket) if had else None
        if known:
            writes = selectors.EVENT_WRITE if to.unsent else 0
            self._selector.modify(to.socket, selectors.EVENT_READ | writes, known.data)

    def _rest(self, each: Own) -> None:
        # If a worker has nothing to do, it may have the next bundle.
        if not each.sent and each not in self._idle:
            each.whole = False
            self._idle.append(each)

    def _forget(self, name: Any) -> None:
        # A worker has ended.
        each = self._workers.pop(name)
        with suppress(KeyError):  # it is not heard any more
            self._selector.unregister(each.socket)
        with suppress(ValueError):
            self._idle.remove(each)
        each.close()

    def cancel(self, keys: Sequence[str]) -> None:
        """Take back tasks that have not begun, with all tasks of their bundles."""
        gone = set(keys)
        with self._lock:
            waiting, self._waiting = self._waiting, deque()
            for bundle in waiting:
                if gone.isdisjoint(task.key for task in bundle):
                    self._waiting.append(bundle)
                else:
                    self._returned(bundle)
            for each in self._workers.values():
                if any(task.key in gone for task in each.sent):
                    self._take_back(each)

    def _returned(self, tasks: Sequence[Task]) -> None:
        self._events += [Event("returned", task.key) for task in tasks]

    def poll(self, seconds: float) -> list[Event]:
        stuck = min((w.since for w in self._workers.values() if w.whole), default=None)
        if stuck is not None:
            seconds = min(seconds, max(0.0, stuck + self._stuck - time.monotonic()))
        for found, mask in self._selector.select(0.0 if self._events else seconds):
            found.data(mask)
        now = time.monotonic()
        with self._lock:
            for each in self._workers.values():
                if each.whole and now - each.since >= self._stuck:
                    self._take_back(each)
            self._hand_out()
            events, self._events = self._events, []
        return events

    def _break(self, why: str) -> None:
        self.broken = self.broken or why

    def _close_files(self) -> None:
        heard: list[Any] = [found.fileobj for found in self._selector.get_map().values()]
        for own in (*self._workers.values(), *heard, self._wakes, self._selector):
            own.close()
        self._workers.clear()
        self._idle.clear()
