"""Commands and Python calls as tasks of HyperQueue: on a running server, or on one that the engine starts.

HyperQueue starts pilots: small processes that connect to the engine, so that ends, cancels and deaths are
known at once. A pilot gets a bundle (some short commands or calls, or one), reports the outcomes, and gets the
next; after a while it leaves its slot to HyperQueue's choice. A pilot costs some 20 ms of a processor, for
calls some 60; a command or bundle 1 ms.
"""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from malleable.files.advice import library
from malleable.live.engines.cluster import LOOK, RESUMES
from malleable.live.engines.process import pilot, supervisor
from malleable.live.engines.process.child import Frames
from malleable.live.engines.process.local import GONE, event_of
from malleable.live.engines.process.workers import Worker, Workers
from malleable.live.protocol import Abilities, Event, Task
from malleable.validation import check_slots

_GRAIN = 0.25  # seconds of calls that one bundle has
_TOGETHER = 500  # most calls of a bundle
_AHEAD = 0.2  # seconds before a slot becomes free at which the next bundle is submitted
_SHORT = 1.0  # seconds that a pilot rests whose machine had no room for a command
_STAY = 20.0  # approximate seconds that a process keeps its slot while there is work
_LEAVE = 1.0  # seconds that processes which are not needed any more have to connect
_IDLE = 0.2  # seconds that a process waits for more work
_STARTS = 20.0  # seconds within which a server must start, or end
_OPEN = (
    "the HyperQueue server that is started here asks for no password: anyone who can reach this machine's ports"
    " can run commands as you. If others can reach them, use hq server start (hq is part of HyperQueue's"
    " releases), and give the server's folder"
)

# A server with one worker; it ends with the process that started it.
_SERVER = """
import sys
from hyperqueue import LocalCluster
from hyperqueue.cluster import WorkerConfig
with LocalCluster() as cluster:
    cluster.start_worker(WorkerConfig(cores=int(sys.argv[1])))
    print("\\nready", cluster.cluster.server_dir, flush=True)
    sys.stdin.read()
"""


@dataclass(slots=True)
class _Coming:
    """A pilot that HyperQueue has started, or will start, for this engine: ``calls`` or commands."""

    place: int  # in its job of the server
    calls: bool
    answer: bytes  # proof that the engine shows the process
    job: int = 0  # number of the server's job


class _Pilot(Worker):
    """A pilot that has connected."""

    def __init__(self, connection: socket.socket, name: bytes, calls: bool) -> None:
        super().__init__(connection, Frames())
        self.name, self.calls = name, calls
        # It gets a bundle from then on, and leaves if there is none for a while.
        self.rests = time.monotonic()
        # random, so that not all leave at once
        self.leaves = self.rests + _STAY * random.uniform(0.5, 1.5)


class HyperQueue(Workers[_Pilot]):
    """An engine that runs commands and Python calls on HyperQueue.

    Parameters
    ----------
    slots : int
        Tasks at once. If the engine starts a server, the server has a worker with so many cores.
    server : path, optional
        Folder of a running server (``hq server start --server-dir``). By default the engine starts and ends a
        server on this machine. It listens on all interfaces without a password; a RuntimeWarning says this.
    priority : int
        Priority of all tasks of the engine against tasks of others. A higher priority goes first.
    host : str, optional
        Name or address under which workers reach this machine. By default its name; with a server of its own
        the engine listens on 127.0.0.1 alone.
    python : path
        The Python interpreter of all workers. Workers must see this package and your files at the same places
        as this machine.

    Raises
    ------
    ImportError
        ``hyperqueue`` is not installed.
    OSError
        No server is there.

    Notes
    -----
    A task takes one core. The output of a command or call goes to the files of its task; if there are none,
    it is dropped. If a process dies, its call fails; a command counts as lost. If the server dies, the engine
    can run nothing any more.
    """

    abilities = Abilities(
        kill=True, grain=_GRAIN, ahead=_AHEAD, together=_TOGETHER, calls="by value"
    )
    error = BrokenExecutor

    def __init__(
        self,
        slots: int,
        server: str | os.PathLike[str] | None = None,
        *,
        priority: int = 0,
        host: str | None = None,
        python: str | os.PathLike[str] = sys.executable,
    ) -> None:
        self._library = library("hyperqueue", "the HyperQueue engine", "'malleable[hyperqueue]'")
        self.slots = check_slots(slots)
        self._priority, self._python = priority, os.fspath(python)
        self._own: subprocess.Popen[str] | None = None
        self.server = self._started() if server is None else os.fspath(server)
        self._client: Any = None
        try:
            self._client = self._library.Client(self.server)
        except Exception as error:
            self._end_server()
            told = f"no HyperQueue server answers: {_first_line(error)}"
            raise OSError(f"server = {self.server!r}: {told}") from None
        super().__init__(slots, 2.0 * _GRAIN)
        local = server is None and host is None
        self._host = socket.gethostbyname("localhost" if local else host or socket.gethostname())
        self._listener = socket.create_server(("127.0.0.1" if local else "", 0), backlog=1024)
        self._listener.setblocking(False)
        self._listen(self._listener, lambda mask: self._accept())
        self._coming: dict[bytes, _Coming] = {}  # by the proof that they show
        self._looked = time.monotonic()  # when the server was asked for failed pilots

    def _started(self) -> str:
        warnings.warn(_OPEN, RuntimeWarning, stacklevel=3)
        self._own = subprocess.Popen(
            [sys.executable, "-c", _SERVER, str(self.slots)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        assert self._own.stdout
        for line in self._own.stdout:
            if line.startswith("ready "):
                return line[6:].rstrip("\n")
        self._end_server()
        raise OSError("no HyperQueue server could be started; its messages are above")

    def _end_server(self) -> None:
        if self._own:
            assert self._own.stdin
            assert self._own.stdout
            with contextlib.suppress(BrokenPipeError):
                self._own.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._own.wait(_STARTS)
            self._own.kill()  # does nothing if it has ended
            self._own.wait()
            self._own.stdout.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # it has gone meanwhile
            connection, _ = self._listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setblocking(False)
            found = bytearray()
            self._listen(connection, lambda mask: self._greet(connection, found))

    def _greet(self, connection: socket.socket, found: bytearray) -> None:
        # A process that has connected shows who it is.
        data = b""
        with contextlib.suppress(OSError):
            data = connection.recv(pilot.HALF - len(found))
        found += data
        if data and len(found) < pilot.HALF:
            return
        self._selector.unregister(connection)
        name = bytes(found)
        mine = self._coming.pop(name, None)
        if mine is None:  # a stranger, or the server started the pilot a second time
            connection.close()
            return
        made = _Pilot(connection, name, mine.calls)
        self._join(name, made)
        made.unsent += mine.answer
        self._send(made)

    # Tasks.

    def start(self, tasks: Sequence[Task]) -> None:
        super().start(tasks)
        for calls in (False, True):
            count = len(self._waiting_for(calls)) - self._absent(calls)
            if count > 0 and not self.broken:
                self._submit(count, calls)

    def _waiting_for(self, calls: bool) -> list[list[Task]]:
        # Waiting bundles of calls, or of commands.
        return [bundle for bundle in self._waiting if (bundle[0].call is not None) is calls]

    def _absent(self, calls: bool) -> int:
        return sum(each.calls is calls for each in self._coming.values())

    def _hand_out(self) -> None:
        now = time.monotonic()
        for each in [each for each in self._idle if now >= each.rests]:
            bundle = next(iter(self._waiting_for(each.calls)), None)
            if bundle and (not each.since or now < each.leaves):
                self._waiting.remove(bundle)
                self._idle.remove(each)
                self._give(each, bundle)
            elif bundle or now > each.rests + _IDLE:
                self._leave(each)

    def _leave(self, each: _Pilot) -> None:
        self._idle.remove(each)
        with contextlib.suppress(OSError):
            each.socket.shutdown(socket.SHUT_WR)

    def _packed(self, to: _Pilot, bundle: Sequence[Task]) -> bytes:
        path = [each or os.getcwd() for each in sys.path]  # noqa: PTH109
        messages: list[tuple[Any, ...]] = [("path", path)] if to.calls else []
        messages += [("start", task.key, *(task.call or task.command())) for task in bundle]
        return supervisor.pack(messages)

    def _submit(self, count: int, calls: bool) -> None:
        job = self._library.Job(name="malleable", max_fails=None)
        port = str(self._listener.getsockname()[1])
        address = [self._host, port, "calls" if calls else "commands"]
        how = [] if calls else ["-S"]  # without packages
        made = {}
        for place in range(count):
            name, answer = (secrets.token_bytes(pilot.HALF) for _ in range(2))
            made[name] = _Coming(place, calls, answer)
            job.program(
                [self._python, "-I", *how, str(Path(pilot.__file__)), *address],
                env={pilot.SECRET: (name + answer).hex()}, cwd=os.getcwd(), stdout=None, stderr=None,  # noqa: PTH109
                priority=self._priority,
            )  # fmt: skip
        self._coming |= made
        try:
            number = self._client.submit(job).id
        except Exception as error:
            self._break(f"the server does not answer: {_first_line(error)}")
            return
        for each in made.values():
            each.job = number

    def cancel(self, keys: Sequence[str]) -> None:
        """End commands, and take back calls that have not begun, with all calls of their bundle."""
        super().cancel(keys)
        for each in self._running(keys):
            if not each.calls:
                self._tell(each, *(("kill", task.key) for task in each.sent))

    def kill(self, keys: Sequence[str]) -> None:
        super().cancel(keys)
        for each in self._running(keys):
            self._tell(each, *(("kill", key) for key in keys))

    def _running(self, keys: Sequence[str]) -> list[_Pilot]:
        gone = set(keys)
        workers = self._workers.values()
        return [each for each in workers if any(task.key in gone for task in each.sent)]

    def _tell(self, to: _Pilot, *messages: tuple[Any, ...]) -> None:
        to.unsent += supervisor.pack([*messages])
        self._send(to)

    def _take_back(self, each: _Pilot) -> None:
        each.whole = False
        self._tell(each, ("back",))

    def poll(self, seconds: float) -> list[Event]:
        self._look()
        found = super().poll(min(seconds, _IDLE if self._idle else LOOK))
        if self.broken and not found:
            raise OSError(self.broken)
        return found

    def _hear(self, each: _Pilot) -> None:
        try:
            data = pilot.heard(each.socket)
        except BlockingIOError:
            return
        except (OSError, EOFError):
            self._over(each)
            return
        each.rests = time.monotonic()
        for kind, key, *rest in supervisor.unpack(each.frames, data):
            if kind == "gone":
                self._break(f"{key}: {GONE}")
                continue
            each.sent.remove(next(task for task in each.sent if task.key == key))
            if kind == "ended" and each.calls:
                good, result, took = rest
                self._events.append(Event(kind, key, 0 if good else 1, took, result=result))
            else:
                self._events.append(event_of(kind, key, *rest))
            if kind == "returned" and rest[0]:  # its machine has no room
                each.rests += _SHORT
        self._rest(each)

    def _over(self, each: _Pilot) -> None:
        # A pilot has ended. If it has died, its first task ran, and the others had not begun.
        self._forget(each.name)
        if not each.sent:
            return
        first = each.sent.popleft()
        self._ask_server()
        if each.calls:
            text, took = "the process of this call ended before the call did", time.monotonic()
            self._events.append(Event("ended", first.key, 1, took - each.since, text=text))
        else:
            self._events.append(Event("lost", first.key, text="its process was killed"))
        self._returned(each.sent)

    def _look(self) -> None:
        # Tasks of pilots that HyperQueue could not start are refused.
        if time.monotonic() - self._looked < LOOK:
            return
        self._looked = time.monotonic()
        failed = self._ask_server()
        for name, each in list(self._coming.items()):
            context = failed.get(each.job, {}).get(each.place)
            if context is None:
                continue
            del self._coming[name]
            waiting = self._waiting_for(each.calls)
            if len(waiting) > self._absent(each.calls):
                self._waiting.remove(waiting[0])
                told = _first_line(context.error)
                self._events += [Event("refused", task.key, text=told) for task in waiting[0]]

    def _break(self, why: str) -> None:
        super()._break(f"HyperQueue takes no more tasks: {why}; {RESUMES}")

    def _ask_server(self) -> dict[int, Any]:
        try:
            absent = {each.job for each in self._coming.values()}
            failed: dict[int, Any] = self._client.connection.get_failed_tasks(sorted(absent))
        except Exception as error:
            self._break(f"the server does not answer: {_first_line(error)}")
            return {}
        return failed

    def close(self, grace: float = 5.0) -> int:
        if self._listener.fileno() < 0:
            return 0
        sent = (each.sent for each in self._workers.values())
        self.cancel([task.key for bundle in (*self._waiting, *sent) for task in bundle])
        until = time.monotonic() + grace
        leave = time.monotonic() + (0.0 if self._own else min(grace, _LEAVE))
        while not self.broken and (now := time.monotonic()) < until:
            there = self._coming or self._workers if now < leave else None
            if not (there or any(each.sent for each in self._workers.values())):
                break
            self.poll(0.02)
        self._close_files()
        self._coming.clear()
        self._client = None
        self._end_server()
        self._own = None
        return 0


def _first_line(error: object) -> str:
    return str(error).partition("\n")[0]
