"""Python calls in worker processes of this machine, under a keeper: a process that starts the workers, and
ends them when the pool (the object that the user calls) ends.

A worker has one bundle of short calls, or one call, at a time, and answers each call at once, so that a call
that kills it is known. Each bundle comes with tickets: one byte for each call, in a pipe. The worker reads a
ticket before it starts a call; to take calls back, the pool reads their tickets itself. A call costs some
15 us, and its pickling.
"""

from __future__ import annotations

import fcntl
import mmap
import multiprocessing
import os
import pickle
import secrets
import selectors
import socket
import sys
import termios
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from itertools import groupby, islice
from multiprocessing.context import BaseContext
from multiprocessing.spawn import get_preparation_data
from typing import Any, Literal, cast

from malleable.live.engines.process import worker
from malleable.live.engines.process.child import Frames, framed
from malleable.live.protocol import Abilities, Event, Task

_GRAIN = 0.01  # seconds of calls in one bundle for a worker
_STUCK = 2.0 * _GRAIN  # seconds after which the remaining calls of a bundle are taken back
_STOPPING = 10.0  # seconds within which the keeper must kill all processes that are left
_BARREN = 10  # workers that may end in a row before any has answered a call


def safe_context() -> BaseContext:
    """The default way to start processes: that of ``multiprocessing``, but without forks beside other threads
    if workers can import what they need."""
    forks = multiprocessing.get_start_method() == "fork" and threading.active_count() > 1
    main = __import__("__main__")
    importable = getattr(main, "__spec__", None) is not None or hasattr(main, "__file__")
    return multiprocessing.get_context("forkserver" if forks and importable else None)


def _exit_text(code: int) -> str:
    return f"by signal {-code}" if code < 0 else f"with exit code {code}"


def _mapped(descriptor: int) -> bytes | mmap.mmap:
    # What a worker has written; nothing if it cannot be mapped, which is this call's error alone.
    try:
        return mmap.mmap(descriptor, 0)
    except (OSError, ValueError):
        return b""
    finally:
        os.close(descriptor)


class _Worker:
    """A process and the calls that it has not answered. OSError if the keeper is busy or gone."""

    def __init__(self, number: int, control: socket.socket) -> None:
        self.number = number
        self.socket, theirs = socket.socketpair()
        # The pipe of tickets: the end that is read, and the end that is written.
        self.tickets, self.gives = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        # Descriptors of large results whose answers have not come yet.
        self.shared: deque[int] = deque()
        # random bytes before each answer, because a call may write into the socket, too
        seal = secrets.token_bytes(worker.SEAL)
        self.frames = Frames(seal)
        with theirs:
            name = number.to_bytes(8, "little")
            try:
                socket.send_fds(control, [name + seal], [theirs.fileno(), self.tickets])
            except OSError:
                self.close()
                raise
        self.socket.setblocking(False)
        self.mad = False  # it will be killed, and its messages are ignored
        self.ends: set[str] = set()  # calls because of which it will be killed
        self.unsent = bytearray()
        self.sent: deque[Task] = deque()
        self.since = 0.0  # time at which the last bundle was sent
        self.whole = False  # no call of that bundle was taken back
        # The number of its last bundle (a byte), and how many calls it has answered.
        self.bundle = self.answered = 0

    def close(self) -> None:
        self.socket.close()
        for each in (self.tickets, self.gives):
            os.close(each)
        while self.shared:
            os.close(self.shared.popleft())

    def has_begun(self, task: Task) -> bool:
        # Whether it took a ticket for this call; if it has ended, whether it did so before.
        if task not in self.sent or self.socket.fileno() < 0:
            return False
        left = int.from_bytes(fcntl.ioctl(self.tickets, termios.FIONREAD, bytes(4)), sys.byteorder)
        return task in islice(self.sent, len(self.sent) - left)

    def take_back(self) -> list[Task]:
        # Calls that it will surely never start, the last first.
        self.whole = False
        try:
            count = len(os.read(self.tickets, 4096))
        except BlockingIOError:
            return []
        found = [self.sent.pop() for _ in range(count)]
        for task in found:
            task.holder = None
        return found


class Processes:
    """An engine of Python calls in at most ``slots`` processes, which are started when there is work.

    ``context`` starts the process from which workers are forked. After ``max_calls`` a worker is replaced.
    ``how``: what each worker runs first, or None, and its arguments."""

    # Running calls can be killed, waiting calls taken back; a slot gets 0.01 s of calls at once, at most 200.
    abilities = Abilities(kill=True, withdraw=True, grain=_GRAIN, together=200, calls="pickled")
    error = BrokenProcessPool

    def __init__(self, slots: int, context: Any, max_calls: int | None, *how: Any) -> None:
        # RuntimeError in a process that still imports a main module without ``if __name__ == "__main__"``.
        get_preparation_data("")
        self.slots = slots
        self.broken = ""
        self._max_calls = max_calls
        context = context or safe_context()
        # The keeper is a process that starts workers, and ends them if this process dies.
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        forked = context.get_start_method() == "fork"
        with theirs:
            unused = [self._control.fileno()] if forked else []
            args = theirs, unused, os.getpid(), max_calls, *how
            self._keeper = context.Process(target=worker.keep, args=args, name="malleable-keeper")
            self._keeper.start()
        self._control.setblocking(False)
        # A byte into the second socket ends a wait at the first.
        self._woken, self._wakes = socket.socketpair()
        for each in (self._woken, self._wakes):
            each.setblocking(False)
        self._selector = selectors.DefaultSelector()
        for each in (self._control, self._woken):
            self._selector.register(each, selectors.EVENT_READ, each)
        self._workers: dict[int, _Worker] = {}
        self._idle: list[_Worker] = []
        self._waiting: deque[list[Task]] = deque()  # tasks for one slot together
        # Workers started so far; those in a row that ended without an answer.
        self._number = self._barren = 0
        self._events: list[Event] = []
        # Held while calls are sent to a worker, come back, or are read by another thread.
        self._lock = threading.RLock()

    def wake(self) -> None:
        with suppress(OSError):  # full, or closed
            self._wakes.send(b"x")

    def start(self, tasks: Sequence[Task]) -> None:
        """``task.call`` is the pickled (function, arguments, named arguments)."""
        with self._lock:
            self._waiting += [list(group) for _, group in groupby(tasks, lambda task: task.bundle)]
            self._hand_out()

    def _hand_out(self) -> None:
        while self._waiting and not self.broken:
            if not self._idle and len(self._workers) < self.slots:
                self._begin()
            if not self._idle:
                return
            if bundle := self._wanted(self._waiting.popleft()):
                self._give(self._idle.pop(), bundle)

    def _wanted(self, bundle: list[Task]) -> list[Task]:
        self._events += [Event("returned", task.key) for task in bundle if task.withdrawn]
        return [task for task in bundle if not task.withdrawn]

    def _begin(self) -> None:
        self._number += 1
        try:
            made = _Worker(self._number, self._control)
        except (BlockingIOError, BrokenPipeError, ConnectionResetError):
            # the keeper is busy, and the next event comes back here; or it is gone, which poll
            # notices
            return
        self._workers[self._number] = made
        self._idle.append(made)
        self._selector.register(made.socket, selectors.EVENT_READ, made)

    def _give(self, to: _Worker, bundle: list[Task]) -> None:
        to.bundle = (to.bundle + 1) % 256
        ticket = bytes([to.bundle])
        os.write(to.gives, ticket * len(bundle))
        to.sent.extend(bundle)
        for task in bundle:
            task.holder = to
        to.since, to.whole = time.monotonic(), len(bundle) > 1
        body = (ticket, [(task.key, task.call) for task in bundle])
        to.unsent += framed(pickle.dumps(body, worker.PROTOCOL))
        self._send(to)

    def _send(self, to: _Worker) -> None:
        # Send what the socket takes now: a worker may wait to be read before it reads.
        had = bool(to.unsent)
        # Full, or dead, which the keeper reports.
        with suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            while to.unsent:
                with memoryview(to.unsent) as rest:
                    count = to.socket.send(rest[: worker.READ])
                del to.unsent[:count]
        if had and to.socket.fileno() in self._selector.get_map():
            writes = selectors.EVENT_WRITE if to.unsent else 0
            self._selector.modify(to.socket, selectors.EVENT_READ | writes, to)

    def cancel(self, keys: Sequence[str]) -> None:
        """Take back calls that have not started, with all calls of their bundles."""
        gone = set(keys)
        with self._lock:
            kept: deque[list[Task]] = deque()
            for bundle in self._waiting:
                if any(task.key in gone for task in bundle):
                    self._events += [Event("returned", task.key) for task in bundle]
                else:
                    kept.append(bundle)
            self._waiting = kept
            for each in self._workers.values():
                if any(task.key in gone for task in each.sent):
                    self._take_back(each)

    def kill(self, keys: Sequence[str]) -> None:
        self.cancel(keys)
        gone = set(keys)
        for each in self._workers.values():
            if found := {task.key for task in each.sent} & gone:
                each.ends |= found
                self._tell_to_kill(each)

    def _take_back(self, each: _Worker) -> None:
        self._events += [Event("returned", task.key) for task in reversed(each.take_back())]
        self._rest(each)

    def runs(self, task: Task) -> bool:
        with self._lock:
            return task.holder is not None and task.holder.has_begun(task)

    def withdraw(self, task: Task) -> bool:
        with self._lock:
            if task.holder is not None:
                has = cast(_Worker, task.holder)
                if has.number in self._workers:  # otherwise it has ended
                    self._take_back(has)
                    self.wake()
                return task.holder is None
            task.withdrawn = True  # its result comes, or it is returned
            return True

    def poll(self, seconds: float) -> list[Event]:
        stuck = min((w.since for w in self._workers.values() if w.whole), default=None)
        if stuck is not None:
            seconds = min(seconds, max(0.0, stuck + _STUCK - time.monotonic()))
        for found, mask in self._selector.select(0.0 if self._events else seconds):
            if found.data is self._woken:
                with suppress(BlockingIOError):
                    self._woken.recv(4096)
            elif found.data is self._control:
                self._hear_keeper()
            elif found.data.number in self._workers:
                if mask & selectors.EVENT_WRITE:
                    self._send(found.data)
                if mask & selectors.EVENT_READ:
                    self._hear(found.data)
        now = time.monotonic()
        with self._lock:
            for each in self._workers.values():
                if each.whole and now - each.since >= _STUCK:
                    self._take_back(each)
            self._hand_out()
            events, self._events = self._events, []
        return events

    def _hear(self, each: _Worker) -> bool:
        try:
            data, shared, _, _ = socket.recv_fds(each.socket, worker.READ, 1)
            each.shared += shared
        except BlockingIOError:
            return False
        except ConnectionResetError:
            data = b""
        if not data:  # the keeper reports how it ended
            self._selector.unregister(each.socket)
            return False
        for frame in each.frames.feed(data):
            try:
                key, good, result, took = pickle.loads(frame)
            except Exception:  # a thread of a call may have written here, too
                each.mad = True
                self._tell_to_kill(each)
                break
            if result is None and each.shared:
                result = _mapped(each.shared.popleft())
            if key is None:
                self._break(f"an initializer raised an error:\n{result}")
                continue
            with self._lock:
                if each.mad or not each.sent or key != each.sent[0].key:
                    continue  # no such call is expected
                each.sent.popleft()
                self._events.append(Event("ended", key, 0 if good else 1, took, result=result))
            self._barren = 0
            each.answered += 1
        with self._lock:
            self._rest(each)
        return True

    def _tell_to_kill(self, each: _Worker) -> None:
        # Have a worker killed, with all processes that its call started.
        with suppress(OSError):  # the keeper is gone, which its socket shows
            self._control.send(each.number.to_bytes(8, "little"))

    def _rest(self, each: _Worker) -> None:
        # If a worker has nothing to do, it may have the next bundle.
        if not each.sent and each not in self._idle and not each.mad and not each.ends:
            each.whole = False
            if self._max_calls is None or each.answered < self._max_calls:
                self._idle.append(each)

    def _hear_keeper(self) -> None:
        while True:
            try:
                data = self._control.recv(worker.ENDED.size)
            except BlockingIOError:
                return
            except ConnectionResetError:
                data = b""
            if not data:
                self._selector.unregister(self._control)
                self._keeper.join(1.0)
                code = self._keeper.exitcode
                self._break(f"the process that starts workers has ended (exit code {code})")
                return
            number, code = worker.ENDED.unpack(data)
            if number in self._workers:
                self._bury(self._workers[number], code)

    def _bury(self, each: _Worker, code: int) -> None:
        # The answers of a worker that ended count; calls that it has not started go to others.
        while each.socket.fileno() in self._selector.get_map() and self._hear(each):
            pass
        with suppress(KeyError):  # it was unregistered just before it ended
            self._selector.unregister(each.socket)
        with self._lock:
            self._take_back(each)
            with suppress(ValueError):
                self._idle.remove(each)
            del self._workers[each.number]
            each.close()
        took = time.monotonic() - each.since
        text = f"the worker process of this call ended {_exit_text(code)} before the call did"
        # At most one call: its ticket was taken, but there is no answer. If it is not the call that
        # was to be ended, it has just begun.
        for task in each.sent:
            lost = bool(each.ends) and task.key not in each.ends
            kind: Literal["lost", "ended"] = "lost" if lost else "ended"
            self._events.append(Event(kind, task.key, code or 1, took, text=text))
        self._barren += not each.ends
        if self._barren > _BARREN:
            self._break(f"workers end {_exit_text(code)} before they have answered a call")

    def _break(self, why: str) -> None:
        self.broken = self.broken or why

    def close(self, grace: float = 5.0) -> int:
        """Workers end after their present call, and by force after ``grace`` seconds. If closed twice, the
        second call has nothing to end."""
        if self._control.fileno() < 0:
            return 0
        with self._lock:
            left, self._workers = self._workers, {}
            for each in left.values():
                self._take_back(each)
        for each in left.values():
            with suppress(OSError):
                each.socket.shutdown(socket.SHUT_RDWR)
        until = time.monotonic() + (0.0 if self.broken else grace)
        alive = set(left)
        self._control.settimeout(0.1)
        while alive and time.monotonic() < until:
            try:
                data = self._control.recv(worker.ENDED.size)
            except TimeoutError:
                continue
            except OSError:
                break
            if not data:
                break
            alive.discard(worker.ENDED.unpack(data)[0])
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        self._keeper.join(_STOPPING)
        stays = self._keeper.is_alive()
        if stays:
            self._keeper.kill()
            self._keeper.join()
        for each in left.values():
            each.close()
        for own in (self._control, self._woken, self._wakes):
            own.close()
        self._selector.close()
        self._idle.clear()
        return int(stays)
