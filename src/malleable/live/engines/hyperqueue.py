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
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from malleable.files.advice import library
from malleable.live.engines.cluster import LOOK, Cluster
from malleable.live.engines.process import pilot, supervisor
from malleable.live.engines.process.child import Frames
from malleable.live.engines.process.local import GONE, event_of
from malleable.live.protocol import Abilities, Event, Task

_GRAIN = 0.25  # seconds of calls that one bundle has
_STUCK = 2.0 * _GRAIN  # seconds after which calls that have not begun are taken back
_TOGETHER = 500  # most calls of a bundle
_AHEAD = 0.2  # seconds before a slot becomes free at which the next bundle is submitted
_SHORT = 1.0  # seconds that a pilot rests whose machine had no room for a command
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


@dataclass(slots=True, eq=False)
class _Bundle:
    """Commands or calls that a pilot runs one after the other."""

    tasks: dict[str, Task]  # by key: tasks without an event yet
    calls: bool
    pilot: _Pilot | None = None
    since: float = 0.0  # time at which a pilot took it
    asked_back: bool = False


@dataclass(slots=True, eq=False)
class _Pilot:
    """A process that HyperQueue has started, or will start, for this engine."""

    place: int  # in its job of the server
    calls: bool  # calls; otherwise commands
    answer: bytes = b""  # proof that the engine shows the process
    job: int = 0  # number of the server's job
    connection: socket.socket | None = None  # None: it has not connected yet
    bundle: _Bundle | None = None  # that it took last
    sending: threading.Lock = field(default_factory=threading.Lock)

    def send(self, *messages: tuple[Any, ...]) -> None:
        assert self.connection
        with self.sending:
            self.connection.sendall(supervisor.pack([*messages]))


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
        # Bundles for a pilot: of calls (True), of commands (False).
        self._waiting = {calls: OrderedDict[_Bundle, None]() for calls in (False, True)}
        self._pilots: dict[bytes, _Pilot] = {}  # by the proof that they show
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
        name, frames = b"", Frames()
        try:
            connection.settimeout(_STARTS)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            found = pilot.read(connection, pilot.HALF)
            connection.settimeout(None)
            with self._lock:
                mine = self._pilots.get(found)
                # the server started the pilot a second time
                if mine is None or mine.connection:
                    return
                name, mine.connection = found, connection
            connection.sendall(mine.answer)
            # random, so that not all leave at once
            leaves = time.monotonic() + _STAY * random.uniform(0.5, 1.5)
            while bundle := self._take(mine, leaves):
                left = set(bundle.tasks)
                self._hand_over(mine, bundle)
                while left:
                    for said in supervisor.unpack(frames, pilot.heard(connection)):
                        left.discard(said[1])
                        if said[0] == "returned" and said[2]:
                            time.sleep(_SHORT)
                        self._said.put(said)
        except (OSError, EOFError):
            pass
        finally:
            connection.close()
            self._said.put(("over", name))

    def _take(self, mine: _Pilot, leaves: float) -> _Bundle | None:
        # What a pilot does next; None: it leaves.
        waiting = self._waiting[mine.calls]
        with self._lock:
            until = time.monotonic() + _IDLE
            while not waiting and not self._closed and self._lock.wait(until - time.monotonic()):
                pass
            over = mine.bundle is not None and time.monotonic() > leaves
            if not waiting or self._closed or over:
                return None
            bundle, _ = waiting.popitem(last=False)
            mine.sending.acquire()  # nothing is said of the bundle before it is sent
            mine.bundle, bundle.pilot, bundle.since = bundle, mine, time.monotonic()
            return bundle

    def _hand_over(self, mine: _Pilot, bundle: _Bundle) -> None:
        tasks, path = bundle.tasks.copy().items(), [each or os.getcwd() for each in sys.path]  # noqa: PTH109
        messages: list[tuple[Any, ...]] = [("path", path)] if mine.calls else []
        messages += [("start", key, *(task.call or task.command())) for key, task in tasks]
        try:
            assert mine.connection
            mine.connection.sendall(supervisor.pack(messages))
        finally:
            mine.sending.release()

    # The loop.

    def start(self, tasks: Sequence[Task]) -> None:
        with self._lock:
            for _, same in groupby(tasks, attrgetter("bundle")):
                own = {task.key: task for task in same}
                calls = any(task.call is not None for task in own.values())
                bundle = _Bundle(own, calls)
                self._waiting[calls][bundle] = None
                self._bundle_of |= dict.fromkeys(own, bundle)
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
        port = str(self._listener.getsockname()[1])
        address = [self._host, port, "calls" if calls else "commands"]
        how = [] if calls else ["-S"]  # without packages
        made = {}
        for place in range(count):
            name, answer = (secrets.token_bytes(pilot.HALF) for _ in range(2))
            made[name] = _Pilot(place, calls, answer)
            job.program(
                [self._python, "-I", *how, str(Path(pilot.__file__)), *address],
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
        bundles = {self._bundle_of[key] for key in keys if key in self._bundle_of}
        with self._lock:  # first, because a pilot whose command ends would take the next bundle
            for these in self._waiting.values():
                for bundle in these.keys() & bundles:
                    del these[bundle]
        for bundle in bundles:
            if bundle.pilot:
                ends = [] if bundle.calls else [("kill", key) for key in bundle.tasks]
                self._tell(bundle.pilot, ("back",), *ends)
            else:
                for key in self._gone(bundle):
                    self._said.put(Event("returned", key))

    def kill(self, keys: Sequence[str]) -> None:
        for bundle, key in [(self._bundle_of.get(key), key) for key in keys]:
            if bundle and bundle.pilot:
                self._tell(bundle.pilot, ("back",), ("kill", key))
            else:
                self.cancel([key])

    def _tell(self, to: _Pilot, *messages: tuple[Any, ...]) -> None:
        with contextlib.suppress(OSError):  # it has ended; poll notices
            to.send(*messages)

    def _gone(self, bundle: _Bundle) -> list[str]:
        # Forget a bundle; returns the keys of its tasks that have not ended.
        left = list(bundle.tasks)
        for key in left:
            del self._bundle_of[key]
        bundle.tasks.clear()
        return left

    def poll(self, seconds: float) -> list[Event]:
        found = super().poll(seconds)
        if self.broken and not found:
            raise OSError(self.broken)
        return found

    def _heard(self, said: Any) -> list[Event]:
        # Handle a message of a pilot, or of the thread that served it: ("over", its proof).
        kind, key, *rest = said
        if kind == "over":
            return self._over(key)
        if kind == "gone":
            self._break(f"{key}: {GONE}")
        bundle = self._bundle_of.pop(key, None)
        if bundle is None:
            return []
        del bundle.tasks[key]
        if not (bundle.calls and kind == "ended"):
            return [event_of(*said)]
        good, result, took = rest
        return [Event("ended", key, 0 if good else 1, took, result=result)]

    def _over(self, name: bytes) -> list[Event]:
        # A pilot has ended, or will never connect. If it has died, its first task ran, the others had not
        # begun.
        with self._lock:
            mine = self._pilots.pop(name, None)
        bundle = mine and mine.bundle
        if not bundle or not bundle.tasks:
            return []
        key, *others = self._gone(bundle)
        self._ask_server()
        if bundle.calls:
            text = "the process of this call ended before the call did"
            first = Event("ended", key, 1, time.monotonic() - bundle.since, text=text)
        else:
            first = Event("lost", key, text="its process was killed")
        return [first, *(Event("returned", key) for key in others)]

    def _look(self) -> list[Event]:
        now = time.monotonic()
        for each in self._pilots.values():
            bundle = each.bundle
            waits = bundle and len(bundle.tasks) > 1 and not bundle.asked_back
            if bundle and waits and now - bundle.since > _STUCK:
                bundle.asked_back = True
                self._tell(each, ("back",))
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
                refused = None if enough else waiting.popitem(last=False)[0]
            if refused:
                found += [Event("refused", key, text=told) for key in self._gone(refused)]
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
        while (
            (self._bundle_of and now < until) or (self._pilots and now < leave)
        ) and not self.broken:
            self.poll(0.02)
            now = time.monotonic()
        with self._lock:
            left = [each.connection for each in self._pilots.values() if each.connection]
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
