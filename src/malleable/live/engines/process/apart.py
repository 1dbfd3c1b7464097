"""Calls in child processes of a process that has threads and is somebody else's, such as a worker of Dask.

A thread cannot be ended from outside, a process can. So a thread gives its call to a child and waits for the
answer; to end the call, somebody has the child killed. The children are forked from a keeper
(`malleable.live.engines.process.worker`), a fresh interpreter with one thread: nothing is forked beside
threads, and a child is there in some milliseconds. Children stay for some seconds, for the next calls. The
keeper kills all that is left when this process ends, however it ended.

The first call costs the start of an interpreter, a call of a child that is there a message there and one back.
"""

from __future__ import annotations

import os
import pickle
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

from malleable.live.engines.process import worker
from malleable.live.engines.remote import Call, Outcome, by_value, outcome

_TICKET = b"\0"
_KEEPER = (
    "import sys; sys.path[:] = sys.argv[3:]; "
    "from malleable.live.engines.process import apart; apart.keep()"
)
_WARM = 5.0  # seconds that children wait for the next call
_LOOK = 1.0  # seconds between two looks whether they waited too long
_BURIED = 5.0  # seconds that the keeper has to say how a child ended
_ENDED = "this call was ended while it ran"


def keep() -> None:
    """The keeper, from its start to its end; ``sys.argv``: its socket, the pid of the process that uses it."""
    import cloudpickle  # noqa: F401 - so that children have it

    descriptor, parent = map(int, sys.argv[1:3])
    sys.argv[1:] = []
    worker.keep(socket.socket(fileno=descriptor), (), parent, None, None, ())


def _import_path() -> list[str]:
    """Where this process imports from, which holds in any folder."""
    return [each or str(Path.cwd()) for each in sys.path]


def _made(path: list[str], call: Call) -> Outcome:
    """In a child: a call that can import what the other process can."""
    if sys.path != path:
        sys.path[:] = path
    return outcome(call)


class _Child(worker.Link):
    """A child: its socket, and whether it has ended."""

    def __init__(self, number: int, control: socket.socket) -> None:
        super().__init__(number, control)
        self._control = control
        self.over = threading.Event()
        self.code = 1  # its exit code, once it is over

    def kill(self) -> None:
        """With all that its call has started."""
        if not self.over.is_set():
            worker.tell_to_kill(self.number, self._control)

    def answer(self, key: str, packed: bytes) -> Outcome | None:
        """What became of a call; None: the child died. Waits for it."""
        body = pickle.dumps((_TICKET, [(key, packed)]), worker.PROTOCOL)
        try:
            os.write(self.gives, _TICKET)
            self.socket.sendall(worker.framed(body))
            while data := self.socket.recv(worker.READ):
                for frame in self.frames.feed(data):
                    about, good, result, _ = pickle.loads(frame)
                    if good and about == key:
                        found: Outcome = pickle.loads(result)
                        return found
        except Exception:  # it is gone, or its call wrote here, too
            return None
        return None


class _Run:
    """A call that runs, or is about to."""

    def __init__(self) -> None:
        self.child: _Child | None = None
        self.ended = False


class _Keeper:
    """The process that starts children and kills them. A thread hears which of them have ended."""

    def __init__(self, rest: Callable[[], object]) -> None:
        self._rest = rest  # called every now and then
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-c", _KEEPER, str(theirs.fileno()), str(os.getpid())),
                    *_import_path(),
                ],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
            )  # fmt: skip
        self._lock = threading.Lock()
        self._children: dict[int, _Child] = {}
        self._count = 0
        self.gone = False
        threading.Thread(target=self._listen, name="malleable-children", daemon=True).start()

    def child(self) -> _Child:
        """A new one; OSError: the keeper is gone."""
        with self._lock:
            if self.gone:
                raise BrokenPipeError
            self._count += 1
            made = self._children[self._count] = _Child(self._count, self.control)
            return made

    def _listen(self) -> None:
        heard = select.poll()
        heard.register(self.control, select.POLLIN)
        with suppress(OSError):
            while True:
                if not heard.poll(1000.0 * _LOOK):
                    self._rest()
                    continue
                data = self.control.recv(worker.ENDED.size)
                if not data:
                    break
                number, code = worker.ENDED.unpack(data)
                with self._lock:
                    self._bury(self._children.pop(number), code)
        with self._lock:
            self.gone = True
            for each in self._children.values():
                self._bury(each, 1)
        self.end()
        self._process.wait()
        self.control.close()

    def _bury(self, child: _Child, code: int) -> None:
        child.code = code
        child.over.set()
        with suppress(
            OSError
        ):  # ends the wait for an answer, even if a process of the call lives on
            child.socket.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """The keeper and all children end soon."""
        with suppress(OSError):
            self.control.shutdown(socket.SHUT_RDWR)


class Children:
    """Child processes that make calls, for any thread. Each makes one call at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keeper: _Keeper | None = None
        self._idle: list[_Child] = []
        self._runs: dict[str, _Run] = {}
        self._used = 0.0  # when the last call ended

    def expect(self, key: str) -> None:
        """A call is about to come; from now on it can be ended."""
        with self._lock:
            self._runs[key] = _Run()

    def outcome(self, key: str, call: Call) -> Outcome:
        """What became of an expected call, made by a child."""
        began = time.monotonic()
        packed = pickle.dumps((partial(_made, _import_path(), call), (), {}), worker.PROTOCOL)
        child = found = None
        try:
            child = self._begun(key)
            found = child.answer(key, packed) if child else None
        finally:
            ended = self._let_go(key, child if found else None)
        text = _ENDED
        if child and not found:
            if not ended:
                text = self._epitaph(child)
            child.close()
        took = time.monotonic() - began
        return found or (False, by_value((BrokenExecutor(text), text)), took)

    def _begun(self, key: str) -> _Child | None:
        """A child for a call; None: it has been ended before it began."""
        while True:
            with self._lock:
                run = self._runs[key]
                if run.ended:
                    return None
                if self._keeper is None or self._keeper.gone:
                    self._idle.clear()
                    self._keeper = _Keeper(self._rest)
                while self._idle and run.child is None:
                    run.child = self._idle.pop()
                    if run.child.over.is_set():
                        run.child.close()
                        run.child = None
                if run.child is None:
                    with suppress(OSError):  # the keeper has just ended
                        run.child = self._keeper.child()
                if run.child is not None:
                    return run.child

    def _let_go(self, key: str, child: _Child | None) -> bool:
        """A call has come to its end, and its child may make the next; whether somebody wanted the end."""
        with self._lock:
            ended = self._runs.pop(key).ended
            self._used = time.monotonic()
            if child and ended:  # it dies
                child.close()
            elif child:
                self._idle.append(child)
            return ended

    def _epitaph(self, child: _Child) -> str:
        """How the child of a call ended that nobody wanted to end."""
        child.kill()  # if it is not over: it has answered what nobody understands
        child.over.wait(_BURIED)
        return worker.died(child.code)

    def end(self, key: str) -> None:
        """End a call, with all processes that it has started. One that is not there stays as it is."""
        with self._lock:
            run = self._runs.get(key)
            if run is not None and not run.ended:
                run.ended = True
                if run.child:
                    run.child.kill()

    def close(self) -> None:
        """End all children, also calls that run. A call that comes later begins anew."""
        with self._lock:
            for run in self._runs.values():
                run.ended = True
            self._end_all()

    def _rest(self) -> None:
        """End children that have waited too long."""
        with self._lock:
            if not self._runs and time.monotonic() - self._used > _WARM:
                self._end_all()

    def _end_all(self) -> None:
        for each in self._idle:
            each.close()
        self._idle.clear()
        if self._keeper:
            self._keeper.end()
        self._keeper = None
