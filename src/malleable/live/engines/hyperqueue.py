"""Commands and Python calls as tasks of HyperQueue: on a running server, or on one that the engine starts.

HyperQueue starts pilots: small processes that connect to the engine, so that ends, cancels and deaths are
known at once. A pilot gets a bundle (a command, or some short calls), reports the outcome, and gets the next;
after a while it leaves its slot to HyperQueue's choice. A pilot costs some 12 ms of a processor, for calls
some 60; a command or bundle 1 ms.
"""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from malleable.files.advice import library
from malleable.live.engines.cluster import LOOK, Cluster
from malleable.live.engines.process import pilot
from malleable.live.protocol import Abilities, Event, Task

_GRAIN = 0.25  # seconds of calls that one bundle has
_STUCK = 2.0 * _GRAIN  # seconds after which calls that have not begun are taken back
_TOGETHER = 500  # most calls of a bundle
_AHEAD = 0.2  # seconds before a slot becomes free at which the next bundle is submitted
_GRACE = 5.0  # seconds between SIGTERM and SIGKILL
_STAY = 20.0  # approximate seconds that a process keeps its slot while there is work
_LEAVE = 1.0  # seconds that processes which are not needed any more have to connect
_IDLE = 0.2  # seconds that a process waits for more work
_STARTS = 20.0  # seconds within which a server must start, and a process must identify itself
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
class _Bundle:
    """A command, or short calls that a pilot runs one after the other."""

    tasks: dict[int, Task]  # by place: tasks without an event yet
    pilot: _Pilot | None = None
    since: float = 0.0  # time at which a process took it
    asked_back: bool = False


@dataclass(slots=True)
class _Pilot:
    """A process that HyperQueue has started, or will start, for this engine."""

    job: int  # number of the server's job
    place: int  # its place in that job
    calls: bool  # calls; otherwise commands
    answer: bytes = b""  # proof that the engine shows the process
    connection: socket.socket | None = None  # None: it has not connected yet
    number: int = 0  # number of the bundle that it took last
    sending: threading.Lock = field(default_factory=threading.Lock)

    def send(self, value: Any) -> None:
        assert self.connection
        with self.sending:
            pilot.send(self.connection, value)


class HyperQueue(Cluster):
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
        super().__init__("HyperQueue", slots)
        self._priority, self._python = priority, os.fspath(python)
        self._own: subprocess.Popen[str] | None = None
        self.server = self._started() if server is None else os.fspath(server)
        self._client: Any = None
        try:
            self._client = self._library.Client(self.server)
        except Exception as error:
            self._end_server()
            told = str(error).partition("\n")[0]
            raise OSError(
                f"server = {self.server!r}: no HyperQueue server answers: {told}"
            ) from None
        local = server is None and host is None
        self._host = socket.gethostbyname("localhost" if local else host or socket.gethostname())
        self._listener = socket.create_server(("127.0.0.1" if local else "", 0), backlog=1024)
        # Attributes from here on are changed under the lock; a thread may wait for more work.
        self._lock = threading.Condition()
        self._given: dict[int, _Bundle] = {}  # by number: bundles that have not ended
        # Bundles for a process: of calls (True), of commands (False).
        self._waiting = {calls: OrderedDict[int, _Bundle]() for calls in (False, True)}
        self._pilots: dict[bytes, _Pilot] = {}  # by the proof that they show
        # Used by the loop only.
        self._count = 0  # number of the last bundle
        self._closed = False
        self._looked = time.monotonic()  # when the server was asked for failed pilots
        threading.Thread(target=self._accept, name="malleable-accept", daemon=True).start()

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

    # Threads: one accepts connections, one serves each pilot.

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        name, mine = b"", _Pilot(0, 0, calls=False)
        try:
            connection.settimeout(_STARTS)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            found = pilot.read(connection, pilot.HALF)
            connection.settimeout(None)
            with self._lock:
                known = self._pilots.get(found)
                # the server started the pilot a second time
                if known is None or known.connection:
                    return
                name, mine, known.connection = found, known, connection
            connection.sendall(mine.answer)
            # random, so that not all leave at once
            leaves = time.monotonic() + _STAY * random.uniform(0.5, 1.5)
            while tasks := self._take(mine, leaves):
                number = self._hand_over(mine, tasks)
                for _ in tasks:
                    self._said.put((number, pilot.receive(connection)))
            mine.send(None)
            while connection.recv(1 << 10):  # until it has ended
                pass
        except (OSError, EOFError):
            self._said.put((mine.number, None))
        finally:
            connection.close()
            self._said.put((name, None))

    def _take(self, mine: _Pilot, leaves: float) -> list[Task]:
        # What a pilot does next; nothing: it leaves.
        waiting = self._waiting[mine.calls]
        with self._lock:
            until = time.monotonic() + _IDLE
            while not waiting and not self._closed and self._lock.wait(until - time.monotonic()):
                pass
            over = mine.number > 0 and time.monotonic() > leaves
            if not waiting or self._closed or over:
                return []
            mine.sending.acquire()
            mine.number, bundle = waiting.popitem(last=False)
            bundle.pilot, bundle.since = mine, time.monotonic()
            return list(bundle.tasks.values())

    def _hand_over(self, mine: _Pilot, tasks: Sequence[Task]) -> int:
        try:
            work: tuple[Any, ...]
            if mine.calls:
                path = [each or os.getcwd() for each in sys.path]  # noqa: PTH109
                work = "call", mine.number, path, [task.call for task in tasks]
            else:
                work = "run", mine.number, [(*task.command(), _GRACE) for task in tasks]
            assert mine.connection
            pilot.send(mine.connection, work)
        finally:
            mine.sending.release()
        return mine.number

    # The loop.

    def start(self, tasks: Sequence[Task]) -> None:
        with self._lock:
            for _, same in groupby(tasks, lambda task: task.bundle):
                self._count += 1
                bundle = self._given[self._count] = _Bundle(dict(enumerate(same)))
                self._waiting[bundle.tasks[0].call is not None][self._count] = bundle
                for task in bundle.tasks.values():
                    self._bundle_of[task.key] = self._count
            self._lock.notify_all()
            lack = {
                calls: len(these) - self._absent(calls) for calls, these in self._waiting.items()
            }
        for calls, count in lack.items():
            if count > 0 and not self.broken:
                self._submit(count, calls)

    def _absent(self, calls: bool) -> int:
        # Pilots for calls, or for commands, that have not connected yet.
        return sum(each.calls is calls and not each.connection for each in self._pilots.values())

    def _submit(self, count: int, calls: bool) -> None:
        job = self._library.Job(name="malleable", max_fails=None)
        address = [self._host, str(self._listener.getsockname()[1])]
        made = {}
        for place in range(count):
            name, answer = (secrets.token_bytes(pilot.HALF) for _ in range(2))
            made[name] = _Pilot(0, place, calls, answer)
            job.program(
                [self._python, "-I", *([] if calls else ["-S"]), str(Path(pilot.__file__)), *address],
                env={pilot.SECRET: (name + answer).hex()}, cwd=os.getcwd(), stdout=None, stderr=None,  # noqa: PTH109
                priority=self._priority,
            )  # fmt: skip
        with self._lock:  # processes may connect before the server has answered
            self._pilots |= made
        try:
            number = self._client.submit(job).id
        except Exception as error:
            self._break(f"the server does not answer: {_first_line(error)}")
            return
        for each in made.values():
            each.job = number

    def cancel(self, keys: Sequence[str]) -> None:
        """End commands, and take back calls that have not begun, with all calls of their bundle."""
        numbers = {self._bundle_of[key] for key in keys if key in self._bundle_of}
        with self._lock:  # first, because a process whose command ends would take the next command
            for these in self._waiting.values():
                for number in these.keys() & numbers:
                    del these[number]
        for number in numbers:
            if process := self._given[number].pilot:
                self._send(process, "end", number)
            else:
                for task in self._gone(number):
                    self._said.put(Event("returned", task.key))

    def kill(self, keys: Sequence[str]) -> None:
        for key in keys:
            number = self._bundle_of.get(key, 0)
            process = self._given[number].pilot if number else None
            if process is None:
                self.cancel([key])
                continue
            tasks = self._given[number].tasks
            place = next(place for place, task in tasks.items() if task.key == key)
            self._send(process, "kill", number, place)

    def _send(self, process: _Pilot, what: str, number: int, *place: int) -> None:
        with contextlib.suppress(OSError):  # it has ended; poll notices
            process.send((what, number, *place))

    def _gone(self, number: int) -> list[Task]:
        # Forget a bundle; returns its tasks that have not ended.
        with self._lock:
            left = list(self._given.pop(number).tasks.values())
        for task in left:
            del self._bundle_of[task.key]
        return left

    def poll(self, seconds: float) -> list[Event]:
        found = super().poll(seconds)
        if self.broken and not found:
            raise OSError(self.broken)
        return found

    def _heard(self, said: Any) -> list[Event]:
        # Handle a report about a bundle, by number, or about the end of a pilot, by its proof (bytes).
        about, told = said
        if isinstance(about, bytes):
            with self._lock:  # a pilot has ended, or will never connect
                self._pilots.pop(about, None)
            return []
        bundle = self._given.get(about)
        if bundle is None:
            return []
        if told is None:
            return self._lost(about, bundle)
        kind, *rest = told
        task = bundle.tasks.pop(rest[0])
        del self._bundle_of[task.key]
        if not bundle.tasks:
            self._gone(about)
        if kind != "ended":
            return [Event(kind, task.key, text="".join(rest[1:]))]
        if task.call is None:
            return [Event("ended", task.key, *rest[1:])]
        good, result, took = rest[1:]
        return [Event("ended", task.key, 0 if good else 1, took, result=result)]

    def _lost(self, number: int, bundle: _Bundle) -> list[Event]:
        # Events of a bundle whose pilot has died: its first task ran, the others had not begun.
        left = self._gone(number)
        self._ask_server()
        if left[0].call is None:
            first = Event("lost", left[0].key, text="its process was killed")
        else:
            text = "the process of this call ended before the call did"
            first = Event("ended", left[0].key, 1, time.monotonic() - bundle.since, text=text)
        return [first, *(Event("returned", task.key) for task in left[1:])]

    def _look(self) -> list[Event]:
        now = time.monotonic()
        for number, bundle in self._given.items():
            waits = len(bundle.tasks) > 1 and not bundle.asked_back
            if bundle.pilot and waits and now - bundle.since > _STUCK:
                bundle.asked_back = True
                self._send(bundle.pilot, "back", number)
        if now - self._looked < LOOK:
            return []
        self._looked = now
        failed = self._ask_server()
        found = []
        for name, each in list(self._pilots.items()):
            context = failed.get(each.job, {}).get(each.place)
            if context is None or each.connection:
                continue
            self._pilots.pop(name, None)
            told = _first_line(context.error)
            with self._lock:
                waiting = self._waiting[each.calls]
                enough = len(waiting) <= self._absent(each.calls)
                number = 0 if enough else waiting.popitem(last=False)[0]
            if number:
                found += [Event("refused", task.key, text=told) for task in self._gone(number)]
        return found

    def _ask_server(self) -> dict[int, Any]:
        try:
            absent = {each.job for each in self._pilots.values() if not each.connection}
            failed: dict[int, Any] = self._client.connection.get_failed_tasks(sorted(absent))
        except Exception as error:
            self._break(f"the server does not answer: {_first_line(error)}")
            return {}
        return failed

    def close(self, grace: float = 5.0) -> int:
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        self.cancel(list(self._bundle_of))
        now = time.monotonic()
        until, leave = now + grace, now + (0.0 if self._own else min(grace, _LEAVE))
        while ((self._given and now < until) or (self._pilots and now < leave)) and not self.broken:
            self.poll(0.02)
            now = time.monotonic()
        with self._lock:
            left = [each.connection for each in self._pilots.values() if each.connection]
            self._given.clear()
            self._pilots.clear()
        for connection in left:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):  # wakes the thread that waits there
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._client = None
        self._end_server()
        self._own = None
        return 0


def _first_line(error: object) -> str:
    return str(error).partition("\n")[0]
