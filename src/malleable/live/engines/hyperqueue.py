"""Commands and Python calls as tasks of HyperQueue: a server that runs already, or one of the engine's own.

HyperQueue queues and starts a small process for each command or bundle of short calls (`errand`); that one
connects to the engine and says what became of it, so that ends, cancels and deaths are known at once.
There are as many on the server as the engine has slots, and a few more. A command costs some
12 ms of a processor beside its own, a bundle of calls some 60.
"""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from malleable.domain import check_slots
from malleable.files.advice import library
from malleable.live.engine import Abilities, Event, Task
from malleable.live.engines import errand

__all__ = ["HyperQueue"]

_GRAIN = 0.25  # seconds of calls that are sent together
_STUCK = 2.0 * _GRAIN  # seconds after which those that were not begun are taken back
_TOGETHER = 500  # calls at most
_AHEAD = 0.2  # seconds before a slot comes free that the next process is on the server
_LARGEST = 1 << 30  # bytes of a call
_SETTLE = 0.01  # seconds without another call before the first of an idle pool start
_GRACE = 5.0  # seconds between SIGTERM and SIGKILL
_LOOK = 1.0  # seconds between two times that the server is asked what failed
_STARTS = 20.0  # seconds that a server has to start, and a process to say who it is
_UNGOVERNED = "what others submit to the server is started as HyperQueue decides"

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
    """A command, or calls that one process runs."""

    tasks: dict[int, Task]  # by place; of which nothing was heard
    place: int  # in its job of the server
    job: int = 0
    since: float = 0.0  # when its process was there; 0: not yet
    connection: socket.socket | None = None
    asked_back: bool = False


class HyperQueue:
    """An engine of commands and Python calls on HyperQueue.

    Parameters
    ----------
    slots : int
        Tasks at once. An own server has a worker with so many.
    server : path, optional
        Folder of a server that is there (``hq server start --server-dir``); by default an own one is started on
        this machine and ends with the engine.
    priority : int
        Of all tasks against what others submit: higher first.
    host : str, optional
        Name or address of this machine for workers; by default its own name, for an own server this machine
        alone.
    python : path
        The interpreter, the same for all workers. They see this package and your files as this machine does.

    Raises
    ------
    ImportError
        ``hyperqueue`` is not installed.
    OSError
        No server is there.

    Notes
    -----
    A task asks for one core. What a command or call prints goes to the files of its task, or nowhere. If a
    process dies, its call fails, and a command counts as lost; if the server does, the engine is broken.
    """

    abilities = Abilities(
        order="at submit", take_back="cancel", grain=_GRAIN, ahead=_AHEAD, together=_TOGETHER,
        calls="by value", settle=_SETTLE, largest=_LARGEST, ungoverned=(_UNGOVERNED,),
    )  # fmt: skip
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
        self.broken = ""
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
        self._door = socket.create_server(("127.0.0.1" if local else "", 0), backlog=1024)
        self._secret = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._bundles: dict[str, _Bundle] = {}
        self._bundle_of: dict[str, str] = {}  # by key of a task
        self._count = 0
        self._done: list[int] = []  # jobs of the server of which nothing is to come
        self._open: dict[int, int] = {}  # bundles of a job of the server of which something is
        self._said: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._looked = time.monotonic()
        threading.Thread(target=self._welcome, name="malleable-door", daemon=True).start()

    def _started(self) -> str:
        """An own server's folder."""
        self._own = subprocess.Popen(
            [sys.executable, "-c", _SERVER, str(self.slots)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        assert self._own.stdout
        for line in self._own.stdout:
            if line.startswith("ready "):
                return line[6:].rstrip("\n")
        self._end_server()
        raise OSError("no HyperQueue server could be started; what it said stands above")

    def _end_server(self) -> None:
        if self._own:
            assert self._own.stdin
            assert self._own.stdout
            with contextlib.suppress(BrokenPipeError):
                self._own.stdin.close()
            try:
                self._own.wait(_STARTS)
            except subprocess.TimeoutExpired:
                self._own.kill()
                self._own.wait()
            self._own.stdout.close()

    # Of threads: one waits at the door, one is with each process that runs.

    def _welcome(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                connection, _ = self._door.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        name = ""
        try:
            connection.settimeout(_STARTS)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if not errand.agree(connection, self._secret, b"engine", b"errand"):
                return
            name = errand.receive(connection)
            connection.settimeout(None)
            with self._lock:
                bundle = self._bundles.get(name)
                if bundle is None or bundle.connection:
                    errand.send(connection, None)
                    return
                bundle.connection, bundle.since = connection, time.monotonic()
                tasks = list(bundle.tasks.values())
            errand.send(connection, self._work(tasks))
            while True:
                self._said.put((name, errand.receive(connection)))
        except (OSError, EOFError):
            self._said.put((name, None))
        finally:
            connection.close()

    def _work(self, tasks: Sequence[Task]) -> tuple[Any, ...]:
        first = tasks[0]
        if first.call is not None:
            return [each or os.getcwd() for each in sys.path], [task.call for task in tasks]  # noqa: PTH109
        return (
            list(first.argv), dict(first.environment), first.folder, first.source, first.output,
            first.errors, float(first.seconds), _GRACE,
        )  # fmt: skip

    # Of the loop.

    def wake(self) -> None:
        """Let `poll` return now; from any thread."""
        self._said.put(None)

    def start(self, tasks: Sequence[Task]) -> None:
        """Hand tasks over: commands, or ``task.call``, a packed one."""
        job = self._library.Job(name="malleable", max_fails=None)
        bundles: dict[str, _Bundle] = {}
        address = [self._host, str(self._door.getsockname()[1])]
        for _, same in groupby(tasks, lambda task: task.slot):
            bundle = _Bundle(dict(enumerate(same)), len(bundles))
            self._count += 1
            name = str(self._count)
            bundles[name] = bundle
            site = [] if bundle.tasks[0].call is not None else ["-S"]
            job.program(
                [self._python, "-I", *site, str(Path(errand.__file__)), *address, name],
                env={errand.SECRET: self._secret.hex()}, cwd=os.getcwd(), stdout=None, stderr=None,  # noqa: PTH109
                priority=self._priority,
            )  # fmt: skip
            for task in bundle.tasks.values():
                self._bundle_of[task.key] = name
        with self._lock:
            self._bundles |= bundles
        try:
            number = self._client.submit(job).id
        except Exception as error:
            self._break(error)
            return
        self._open[number] = len(bundles)
        for bundle in bundles.values():
            bundle.job = number

    def cancel(self, keys: Sequence[str]) -> None:
        """End commands, and take back what has not begun, with the calls that lie beside it."""
        for name in {self._bundle_of[key] for key in keys if key in self._bundle_of}:
            with self._lock:
                bundle = self._bundles[name]
                if bundle.connection is None:
                    del self._bundles[name]
            if bundle.connection is None:
                for task in self._gone(bundle):
                    self._said.put(Event("returned", task.key))
            else:
                self._ask_back(bundle)

    def _ask_back(self, bundle: _Bundle) -> None:
        bundle.asked_back = True
        assert bundle.connection
        with contextlib.suppress(OSError):  # it has ended, which poll hears
            errand.send(bundle.connection, "back")

    def _gone(self, bundle: _Bundle) -> list[Task]:
        """Tasks of a bundle of which nothing more is heard."""
        left = list(bundle.tasks.values())
        bundle.tasks.clear()
        for task in left:
            del self._bundle_of[task.key]
        self._open[bundle.job] -= 1
        if self._open[bundle.job] == 0:
            del self._open[bundle.job]
            self._done.append(bundle.job)
        return left

    def poll(self, seconds: float) -> list[Event]:
        """What happened; waits at most so long for the first."""
        until = time.monotonic() + seconds
        found: list[Event] = []
        while not found and not self.broken:
            found += self._look()
            wait = 0.0 if found else until - time.monotonic()
            wait = min(wait, _LOOK if self._bundles else wait)
            try:
                said = self._said.get(timeout=max(1e-4, wait))
                while True:
                    if said is None:
                        return found
                    found += [said] if isinstance(said, Event) else self._heard(*said)
                    said = self._said.get_nowait()
            except queue.Empty:
                if time.monotonic() >= until:
                    break
        if self.broken and not found:
            raise OSError(self.broken)
        return found

    def _heard(self, name: str, said: tuple[Any, ...] | None) -> list[Event]:
        bundle = self._bundles.get(name)
        if bundle is None:
            return []
        if said is None:
            with self._lock:
                del self._bundles[name]
            return self._ended(bundle)
        kind, *rest = said
        if kind == "refused":
            task = bundle.tasks.pop(0)
            del self._bundle_of[task.key]
            return [Event("refused", task.key, text=rest[0])]
        task = bundle.tasks.pop(rest[0])
        del self._bundle_of[task.key]
        if kind == "returned":
            return [Event("returned", task.key)]
        if task.call is None:
            return [Event("ended", task.key, *rest[1:])]
        good, result, took = rest[1:]
        return [Event("ended", task.key, 0 if good else 1, took, result=result)]

    def _ended(self, bundle: _Bundle) -> list[Event]:
        """Events of a bundle whose process is gone, or will never be there."""
        began, left = bundle.since, self._gone(bundle)
        if not left:
            return []
        self._ask_server()
        if left[0].call is None:
            return [Event("lost", left[0].key, text="its process was killed")]
        text = "the process of this call ended before the call did"
        first = Event("ended", left[0].key, 1, time.monotonic() - began, text=text)
        return [first, *(Event("returned", task.key) for task in left[1:])]

    def _look(self) -> list[Event]:
        """Once a while: what takes too long, and what the server could not start."""
        now = time.monotonic()
        for bundle in self._bundles.values():
            waits = len(bundle.tasks) > 1 and bundle.since and not bundle.asked_back
            if waits and now - bundle.since > _STUCK:
                self._ask_back(bundle)
        if now - self._looked < _LOOK:
            return []
        self._looked = now
        failed = self._ask_server()
        found = []
        for name, bundle in list(self._bundles.items()):
            context = failed.get(bundle.job, {}).get(bundle.place)
            if context is None or bundle.connection:
                continue
            told = context.error.partition("\n")[0]
            with self._lock:
                del self._bundles[name]
            found += [Event("refused", task.key, text=told) for task in self._gone(bundle)]
        return found

    def _ask_server(self) -> dict[int, Any]:
        """Tasks that failed of jobs that are open; those that are done are forgotten."""
        with contextlib.suppress(Exception):  # the server itself has not heard of its end yet
            while self._done:
                self._client.forget(self._done[-1])
                self._done.pop()
        try:
            waiting = {b.job for b in self._bundles.values() if b.connection is None}
            failed: dict[int, Any] = self._client.connection.get_failed_tasks(sorted(waiting))
        except Exception as error:
            self._break(error)
            return {}
        return failed

    def _break(self, error: Exception) -> None:
        told = str(error).partition("\n")[0]
        why = f"the HyperQueue server does not answer: {told}; with a journal, resume=True goes on"
        self.broken = self.broken or why

    def close(self, grace: float = 5.0) -> int:
        """End everything, an own server too, after ``grace`` seconds by force; 0. May be called twice."""
        self.cancel(list(self._bundle_of))
        until = time.monotonic() + (0.0 if self.broken else grace)
        while self._bundles and time.monotonic() < until and not self.broken:
            self.poll(min(0.05, until - time.monotonic()))
        with self._lock:
            left = [b.connection for b in self._bundles.values() if b.connection]
            self._bundles.clear()
        for connection in left:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):  # who waits there hears it
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        self._client = None
        self._end_server()
        self._own = None
        return 0
