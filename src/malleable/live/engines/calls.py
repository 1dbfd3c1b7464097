"""Python calls in worker processes of this machine, or in threads.

A worker has one socket. It gets batches of calls and answers in batches: some short calls lie ahead of
it, so that it never waits for the loop. A worker that dies takes one call with it; those ahead of
it go to another. A call costs two messages of a batch, some 20 us in all on one core, and what pickling
takes.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import selectors
import socket
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from malleable.domain import check_slots
from malleable.live.engine import Abilities, Event, Task

__all__ = ["Processes", "Threads"]

_HEAD = 4
_READ = 1 << 18
_AHEAD_SECONDS = 0.002  # work that may lie ahead of a worker
_MOST_AHEAD = 64
_PROTOCOL = pickle.HIGHEST_PROTOCOL


def _framed(body: bytes) -> bytes:
    return len(body).to_bytes(_HEAD, "big") + body


class _Frames:
    """Frames out of the bytes that come in."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        self._bytes += data
        found, at = [], 0
        while len(self._bytes) - at >= _HEAD:
            end = at + _HEAD + int.from_bytes(self._bytes[at : at + _HEAD], "big")
            if len(self._bytes) < end:
                break
            found.append(bytes(self._bytes[at + _HEAD : end]))
            at = end
        del self._bytes[:at]
        return found


class _RemoteError(Exception):
    """Where in the worker it happened; shown as the cause of what a call raised."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


def _outcome(call: bytes) -> tuple[bool, bytes]:
    """Whether a call returned, and what, pickled."""
    try:
        function, arguments, named = pickle.loads(call)
        return True, pickle.dumps(function(*arguments, **named), _PROTOCOL)
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            error = RuntimeError(f"the call left by {type(error).__name__}: {error}")
        text = traceback.format_exc()
        try:
            return False, pickle.dumps((error, text), _PROTOCOL)
        except Exception:  # what was raised does not pickle
            told = RuntimeError(f"{type(error).__name__}: {error}")
            return False, pickle.dumps((told, text), _PROTOCOL)


def _work(connection: socket.socket, others: Sequence[socket.socket]) -> None:
    """Answers calls until the loop is gone."""
    for other in others:  # a forked worker has copies of the loop's ends
        with suppress(OSError):
            other.close()
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the loop hears it
    frames, answers, said = _Frames(), [], time.monotonic()
    with suppress(OSError):
        while data := connection.recv(_READ):
            for frame in frames.feed(data):
                for key, call in pickle.loads(frame):
                    began = time.monotonic()
                    good, result = _outcome(call)
                    now = time.monotonic()
                    answers.append((key, good, result, now - began))
                    if now - said > _AHEAD_SECONDS / 4:
                        connection.sendall(_framed(pickle.dumps(answers, _PROTOCOL)))
                        answers, said = [], now
            if answers:
                connection.sendall(_framed(pickle.dumps(answers, _PROTOCOL)))
                answers, said = [], time.monotonic()
    os._exit(0)  # nothing of the parent's is cleaned up here


class _Worker:
    """A process, its socket, and the calls that were sent to it, the oldest first."""

    def __init__(self, context: Any, others: Sequence[socket.socket]) -> None:
        self.socket, theirs = socket.socketpair()
        with theirs:
            self.process = context.Process(
                target=_work, args=(theirs, [self.socket, *others]), daemon=True
            )
            self.process.start()
        self.socket.setblocking(False)
        self.frames = _Frames()
        self.unsent = bytearray()
        self.sent: deque[Task] = deque()


class Processes:
    """An engine of Python calls in processes.

    Parameters
    ----------
    slots : int, optional
        Workers; by default the processors that this process may use. They are started when there is work.
    context : multiprocessing context, optional
        How workers are started.
    """

    abilities = Abilities(grain=_AHEAD_SECONDS)

    def __init__(self, slots: int | None = None, context: Any = None) -> None:
        self.slots = len(os.sched_getaffinity(0)) if slots is None else check_slots(slots)
        self._context = context or multiprocessing.get_context()
        self._workers: list[_Worker] = []
        self._selector = selectors.DefaultSelector()
        self._woken, self._wakes = socket.socketpair()
        self._woken.setblocking(False)
        self._wakes.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._mean = 1.0  # seconds of a call, of late
        self._waiting: deque[Task] = deque()
        self._events: list[Event] = []

    @property
    def ahead(self) -> int:
        """Calls that may lie with a worker, the one that runs among them."""
        return max(1, min(_MOST_AHEAD, int(_AHEAD_SECONDS / max(self._mean, 1e-9))))

    def wake(self) -> None:
        """Let `poll` return now, from another thread."""
        with suppress(BlockingIOError):
            self._wakes.send(b"x")

    def start(self, tasks: Sequence[Task]) -> None:
        """Hand calls over: ``task.call`` is the pickled (function, arguments, named arguments)."""
        self._waiting.extend(tasks)
        self._hand_out()

    def _hand_out(self) -> None:
        most = self.ahead
        while self._waiting:
            worker = min(self._workers, key=lambda each: len(each.sent), default=None)
            if (worker is None or worker.sent) and len(self._workers) < self.slots:
                worker = self._begin()
            if worker is None or len(worker.sent) >= most:
                return
            batch: list[Task] = []
            share = max(1, min(most, len(self._waiting) // self.slots + 1)) - len(worker.sent)
            while self._waiting and len(batch) < max(1, share):
                batch.append(self._waiting.popleft())
            worker.sent.extend(batch)
            body = pickle.dumps([(task.key, task.call) for task in batch], _PROTOCOL)
            worker.unsent += _framed(body)
            self._send(worker)

    def _send(self, worker: _Worker) -> None:
        """What its socket takes now: a worker may wait to be read before it reads."""
        # Full, or dead, which poll finds.
        with suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            while worker.unsent:
                del worker.unsent[: worker.socket.send(worker.unsent)]
        writes = selectors.EVENT_WRITE if worker.unsent else 0
        self._selector.modify(worker.socket, selectors.EVENT_READ | writes, worker)

    def _begin(self) -> _Worker:
        worker = _Worker(
            self._context, [self._woken, self._wakes, *(w.socket for w in self._workers)]
        )
        self._workers.append(worker)
        self._selector.register(worker.socket, selectors.EVENT_READ, worker)
        return worker

    def cancel(self, keys: Sequence[str]) -> None:
        """Take calls out of the queue; one that a worker has already is not taken back."""
        gone = set(keys)
        self._events += [
            Event("ended", t.key, status=1, text="cancelled")
            for t in self._waiting
            if t.key in gone
        ]
        self._waiting = deque(task for task in self._waiting if task.key not in gone)

    def poll(self, seconds: float) -> list[Event]:
        """What happened; waits at most so long for the first."""
        events, self._events = self._events, []
        for found, _ in self._selector.select(0.0 if events else seconds):
            worker = found.data
            if worker is None:
                with suppress(BlockingIOError):
                    self._woken.recv(4096)
                continue
            if worker.unsent:
                self._send(worker)
            try:
                data = worker.socket.recv(_READ)
            except BlockingIOError:
                continue  # it could be written to
            except ConnectionResetError:
                data = b""
            if not data:
                events += self._died(worker)
                continue
            for frame in worker.frames.feed(data):
                for key, good, result, took in pickle.loads(frame):
                    worker.sent.popleft()
                    self._mean += 0.1 * (took - self._mean)
                    events.append(
                        Event("ended", key, 0 if good else 1, took, result=(good, result))
                    )
        self._hand_out()
        return events

    def _died(self, worker: _Worker) -> list[Event]:
        self._selector.unregister(worker.socket)
        worker.socket.close()
        worker.process.join(1.0)
        self._workers.remove(worker)
        if not worker.sent:
            return []
        first = worker.sent.popleft()
        self._waiting.extendleft(reversed(worker.sent))
        how = f"its worker ended with {worker.process.exitcode}"
        return [Event("lost", first.key, text=how)]

    def close(self, grace: float = 5.0) -> int:
        """Workers end after the call that they are at, after ``grace`` seconds by force."""
        until = time.monotonic() + grace
        for worker in self._workers:
            self._selector.unregister(worker.socket)
            worker.socket.close()
        for worker in self._workers:
            worker.process.join(max(0.0, until - time.monotonic()))
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._workers.clear()
        self._selector.close()
        self._woken.close()
        self._wakes.close()
        return 0


class Threads:
    """An engine of Python calls in threads: nothing is pickled, and one interpreter runs all."""

    abilities = Abilities()

    def __init__(self, slots: int | None = None) -> None:
        self.slots = len(os.sched_getaffinity(0)) if slots is None else check_slots(slots)
        self._calls: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    def wake(self) -> None:
        """Let `poll` return now, from another thread."""
        self._events.put(None)

    def start(self, tasks: Sequence[Task]) -> None:
        """Hand calls over: ``task.call`` is (function, arguments, named arguments)."""
        for task in tasks:
            self._calls.put(task)
        while len(self._threads) < self.slots:
            self._threads.append(threading.Thread(target=self._work, daemon=True))
            self._threads[-1].start()

    def _work(self) -> None:
        while (task := self._calls.get()) is not None:
            began = time.monotonic()
            call: Callable[..., Any]
            call, arguments, named = task.call
            try:
                outcome: tuple[bool, Any] = True, call(*arguments, **named)
            except BaseException as error:
                outcome = False, error
            took = time.monotonic() - began
            self._events.put(Event("ended", task.key, 0 if outcome[0] else 1, took, result=outcome))

    def cancel(self, keys: Sequence[str]) -> None:
        """A call that was handed over is not taken back."""

    def poll(self, seconds: float) -> list[Event]:
        """What happened; waits at most so long for the first."""
        found: list[Event] = []
        with suppress(queue.Empty):
            first = self._events.get(timeout=max(seconds, 1e-4))
            found += [first] if first is not None else []
            while True:
                event = self._events.get_nowait()
                found += [event] if event is not None else []
        return found

    def close(self, grace: float = 5.0) -> int:
        """Threads end after the call that they are at; how many had not ended after ``grace``."""
        for _ in self._threads:
            self._calls.put(None)
        until = time.monotonic() + grace
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        return sum(thread.is_alive() for thread in self._threads)
