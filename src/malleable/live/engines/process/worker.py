"""Worker processes that run Python calls, and the keeper: the process that starts them, so that none outlives
the pool, which is the object that the user calls.

The keeper has one thread and is forked before the pool has others, so workers are forked from it without
harm. As a subreaper (Linux gives it orphans among its descendants) it kills all that workers and calls have
left when the pool or its process ends.

The pool sends it datagrams: a worker's number with two descriptors (its end of a socket, and of a pipe of
tickets), or a number alone: kill this worker. It answers with (number, exit code) of workers that ended. A
worker gets pickled ``(bundle, [(key, call), ...])``, where ``bundle`` is a byte that names it, and answers
each call with ``(key, good, result, seconds)``, behind its seal: random bytes, because calls may write into
the socket, too. Before each call it takes a ticket, the byte of the bundle, out of the pipe; a call whose
ticket the pool has taken out never runs.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import selectors
import signal
import socket
import struct
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from typing import Any

from malleable.live.engines.process import supervisor
from malleable.live.engines.process.child import HEARD, READ, Frames, framed
from malleable.live.engines.remote import leave, outcome_of

ENDED = struct.Struct("<qi")  # number and exit code of a worker that ended
SEAL = 8  # bytes
PROTOCOL = pickle.HIGHEST_PROTOCOL
LARGE = 1 << 20  # bytes from which a result is passed in shared memory
_QUICK = 1e-5  # seconds: a shorter call has not closed the socket and opened something else
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl: the signal that a process gets if its parent ends
_pickled = partial(pickle.dumps, protocol=PROTOCOL)


def _answer(connection: socket.socket, seal: bytes, *answer: Any) -> None:
    # Send (key, good, result, seconds); a large result is a file in memory, sent beside the others.
    key, good, result, took = answer
    if len(result) < LARGE:
        connection.sendall(framed(pickle.dumps(answer, PROTOCOL), seal))
        return
    with os.fdopen(os.memfd_create("malleable-result", os.MFD_CLOEXEC), "wb") as file:
        file.write(result)
        file.flush()
        body = pickle.dumps((key, good, None, took), PROTOCOL)
        socket.send_fds(connection, [framed(body, seal)], [file.fileno()])


def _run_calls(connection: socket.socket, tickets: int, seal: bytes, most: int | None) -> None:
    # Run calls until the pool closes the connection, at most ``most``.
    frames, spare, run = Frames(), b"", 0
    own = os.fstat(connection.fileno()).st_ino
    while data := connection.recv(READ):
        for frame in frames.feed(data):
            bundle, calls = pickle.loads(frame)
            for key, call in calls:
                try:
                    ticket = spare or os.read(tickets, 1)
                except BlockingIOError:
                    break  # the rest was taken back
                spare = b""
                if ticket != bundle:
                    spare = ticket  # ticket of the next bundle; the rest of this one was taken back
                    break
                began = time.monotonic()
                good, result, _ = outcome_of(partial(pickle.loads, call), _pickled)
                took = time.monotonic() - began
                if took > _QUICK and os.fstat(connection.fileno()).st_ino != own:
                    os._exit(1)  # the call has closed the socket, and another file has its number
                _answer(connection, seal, key, good, result, took)
                run += 1
                if run == most:
                    return


def _work(
    keeper: Keeper,
    seal: bytes,
    descriptors: Sequence[int],
    most: int | None,
    initializer: Any,
    initargs: Any,
) -> None:
    keeper.leave()
    process = os.getpid()
    connection = socket.socket(fileno=descriptors[0])
    try:
        if initializer is not None:
            try:
                initializer(*initargs)
            except BaseException:
                answer = (None, False, traceback.format_exc(), 0.0)
                if os.getpid() == process:
                    connection.sendall(framed(pickle.dumps(answer, PROTOCOL), seal))
                return
            if os.getpid() != process:
                leave(0)  # the call has forked, and this is the child
        _run_calls(connection, descriptors[1], seal, most)
    except (BrokenPipeError, ConnectionResetError):
        return  # the pool is gone
    except OSError:
        os._exit(1)  # a call has closed a file that is needed


class Keeper:
    """The process that starts, kills and reports workers. ``control``: its socket to the pool; ``parent``: pid
    of the pool's process."""

    def __init__(self, control: socket.socket, parent: int) -> None:
        with suppress(PermissionError):
            os.setsid()  # in its own session, so that only the pool gets Ctrl-C
        self._handlers: dict[int, Any] = {
            each: signal.signal(each, signal.SIG_IGN) for each in HEARD
        }
        self._control = control
        self._handlers[signal.SIGCHLD] = signal.getsignal(signal.SIGCHLD)
        self._woken, self._wakes = supervisor.become_reaper()
        self._parent = os.pidfd_open(parent)
        self._pid = os.getpid()
        self._workers: dict[int, tuple[int, Any]] = {}  # pid -> number, process
        self._fork = get_context("fork").Process
        self._selector = selectors.DefaultSelector()
        for each in (control, self._woken, self._parent):
            self._selector.register(each, selectors.EVENT_READ)

    def leave(self) -> None:
        """In a worker: close all files of the keeper, and restore signals."""
        ctypes.CDLL(None, use_errno=True).prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != self._pid:
            os._exit(1)
        signal.set_wakeup_fd(-1)
        for number, handler in self._handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._selector.close()
        self._control.close()
        for each in (self._woken, self._wakes, self._parent):
            os.close(each)

    def serve(self, *how: Any) -> None:
        while True:
            for found, _ in self._selector.select():
                if found.fd == self._parent:
                    return
                if found.fd == self._woken:
                    with suppress(BlockingIOError):
                        os.read(self._woken, 4096)
                    self._reap()
                    continue
                data, descriptors, _, _ = socket.recv_fds(self._control, 8 + SEAL, 2)
                if not data:
                    return
                number, seal = int.from_bytes(data[:8], "little"), data[8:]
                if not descriptors:
                    self._kill(number)
                    continue
                process = self._fork(target=_work, args=(self, seal, descriptors, *how))
                process.start()
                for each in descriptors:
                    os.close(each)
                assert process.pid is not None
                self._workers[process.pid] = number, process
                self._look_behind()

    def _kill(self, number: int) -> None:
        for own, process in self._workers.values():
            if own == number and process.pid is not None:
                supervisor.kill_tree(
                    process.pid
                )  # processes that its call has started are ended, too

    def _reap(self) -> None:
        for pid in supervisor.ended_children():
            if pid in self._workers:
                self._bury(pid)
            else:
                os.waitpid(pid, 0)

    def _look_behind(self) -> None:
        # Report workers that the start of another process has reaped already.
        for pid, (_, process) in list(self._workers.items()):
            if process.exitcode is not None:
                self._bury(pid)

    def _bury(self, pid: int) -> None:
        number, process = self._workers.pop(pid)
        process.join()
        with suppress(OSError):
            self._control.send(ENDED.pack(number, process.exitcode))


def keep(control: socket.socket, unused: Sequence[int], parent: int, *how: Any) -> None:
    """Start workers until the pool is gone. ``unused``: descriptors that the fork copied; ``how``: calls after
    which a worker ends, or None; what each runs first, or None, and its arguments."""
    for descriptor in unused:
        os.close(descriptor)
    try:
        keeper = Keeper(control, parent)
    except ProcessLookupError:
        return  # the pool is gone already
    try:
        keeper.serve(*how)
    except OSError:
        pass  # the pool is gone
    finally:
        if os.getpid() == keeper._pid:
            supervisor.kill_below(keeper._pid)
            os._exit(0)
