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
import socket
import sys
import termios
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from itertools import islice
from multiprocessing.context import BaseContext
from multiprocessing.spawn import get_preparation_data
from typing import Any, Literal, cast

from malleable.live.engines.process import worker
from malleable.live.engines.process.child import READ, Frames, framed
from malleable.live.engines.process.workers import Worker, Workers
from malleable.live.protocol import Abilities, Event, Task

_GRAIN = 0.01  # seconds of calls in one bundle for a worker
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


class _Worker(Worker):
    """OSError if the keeper is busy or gone."""

    def __init__(self, number: int, control: socket.socket) -> None:
        self.number = number
        ours, theirs = socket.socketpair()
        # The pipe of tickets: the end that is read, and the end that is written.
        self.tickets, self.gives = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        # Descriptors of large results whose answers have not come yet.
        self.shared: deque[int] = deque()
        # random bytes before each answer, because a call may write into the socket, too
        seal = secrets.token_bytes(worker.SEAL)
        super().__init__(ours, Frames(seal))
        with theirs:
            name = number.to_bytes(8, "little")
            try:
                socket.send_fds(control, [name + seal], [theirs.fileno(), self.tickets])
            except OSError:
                self.close()
                raise
        self.mad = False  # it will be killed, and its messages are ignored
        self.ends: set[str] = set()  # calls because of which it will be killed
        # The number of its last bundle (a byte), and how many calls it has answered.
        self.bundle = self.answered = 0

    def close(self) -> None:
        super().close()
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


class Processes(Workers[_Worker]):
    """An engine of Python calls in at most ``slots`` processes, which are started when there is work.

    ``context`` starts the process from which workers are forked. After ``max_calls`` a worker is replaced.
    ``how``: what each worker runs first, or None, and its arguments."""

    # Running calls can be killed, waiting calls taken back; a slot gets 0.01 s of calls at once, at most 200.
    abilities = Abilities(kill=True, withdraw=True, grain=_GRAIN, together=200, calls="pickled")
    error = BrokenProcessPool

    def __init__(self, slots: int, context: Any, max_calls: int | None, *how: Any) -> None:
        # RuntimeError in a process that still imports a main module without ``if __name__ == "__main__"``.
        get_preparation_data("")
        super().__init__(slots, 2.0 * _GRAIN)
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
        self._listen(self._control, lambda mask: self._hear_keeper())
        # Workers started so far; those in a row that ended without an answer.
        self._number = self._barren = 0

    def _hand_out(self) -> None:
        while self._waiting and not self.broken:
            if not self._idle and len(self._workers) < self.slots:
                self._begin()
            if not self._idle:
                return
            if bundle := self._wanted(self._waiting.popleft()):
                self._give(self._idle.pop(), bundle)

    def _wanted(self, bundle: list[Task]) -> list[Task]:
        self._returned([task for task in bundle if task.withdrawn])
        return [task for task in bundle if not task.withdrawn]

    def _begin(self) -> None:
        self._number += 1
        try:
            made = _Worker(self._number, self._control)
        except (BlockingIOError, BrokenPipeError, ConnectionResetError):
            # the keeper is busy, and the next event comes back here; or it is gone, which poll
            # notices
            return
        self._join(self._number, made)

    def _packed(self, to: _Worker, bundle: Sequence[Task]) -> bytes:
        # ``task.call`` is the pickled (function, arguments, named arguments).
        to.bundle = (to.bundle + 1) % 256
        ticket = bytes([to.bundle])
        os.write(to.gives, ticket * len(bundle))
        for task in bundle:
            task.holder = to
        body = (ticket, [(task.key, task.call) for task in bundle])
        return framed(pickle.dumps(body, worker.PROTOCOL))

    def kill(self, keys: Sequence[str]) -> None:
        self.cancel(keys)
        gone = set(keys)
        for each in self._workers.values():
            if found := {task.key for task in each.sent} & gone:
                each.ends |= found
                self._tell_to_kill(each)

    def _take_back(self, each: _Worker) -> None:
        self._returned(each.take_back()[::-1])
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

    def _hear(self, each: _Worker) -> bool:
        try:
            data, shared, _, _ = socket.recv_fds(each.socket, READ, 1)
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
        worn = self._max_calls is not None and each.answered >= self._max_calls
        if not (each.mad or each.ends or worn):
            super()._rest(each)

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
        with self._lock:
            self._take_back(each)
            self._forget(each.number)
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

    def close(self, grace: float = 5.0) -> int:
        """Workers end after their present call, and by force after ``grace`` seconds. If closed twice, the
        second call has nothing to end."""
        if self._control.fileno() < 0:
            return 0
        with self._lock:
            self._waiting.clear()
            for each in self._workers.values():
                self._take_back(each)
                with suppress(OSError):
                    each.socket.shutdown(socket.SHUT_RDWR)
        until = time.monotonic() + (0.0 if self.broken else grace)
        while self._workers and self._keeper.is_alive() and time.monotonic() < until:
            self.poll(0.1)
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        self._keeper.join(_STOPPING)
        stays = self._keeper.is_alive()
        if stays:
            self._keeper.kill()
            self._keeper.join()
        self._close_files()
        self._control.close()
        return int(stays)
