"""The process that starts a run's commands, so that none of them outlives the run, even if the loop is killed.

As a subreaper (a process to which Linux gives orphans among its descendants) it becomes the parent of all that
a command leaves behind, and kills it before the loop, the process that decides, hears of the command's end
(`Supervisor.sweep`). It imports the standard library alone.

It talks over one socket in batches: a length (8 bytes) and a marshalled list. It gets ``("start", key, argv,
environment, folder, output, errors, seconds)`` with a key and a time limit for each command, ``("kill",
key)``, ``("back",)`` (waiting commands are returned), ``("slots", slots)``, ``("stop", grace)``. It sends
``("ended", key, status, seconds, cpu, memory, late, waited)`` (``waited``: how long the slot was free before),
``("refused", key, text)``, ``("returned", key, text)`` (why the machine has no room, or no text), ``("gone",
folder)``, ``("stopping",)``, ``("stopped", left)``. A command gets SIGTERM, after ``GRACE`` seconds SIGKILL.
Commands beyond the slots wait here; while any waits, the loop is told every ``pause`` seconds only.
"""

# ruff: noqa: PTH109, PTH110, PTH120, PTH123, PTH208
# pathlib takes longer to import than everything else here.
from __future__ import annotations

import ctypes
import errno
import heapq
import marshal
import os
import select
import selectors
import signal
import socket
import sys
import time
from collections import deque
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING or __package__:
    from malleable.live.engines.process.child import (
        HEARD,
        SHORT,
        EmptyFiles,
        Frames,
        framed,
        reaped,
        signal_all,
        spawn,
    )
else:  # in a process without packages
    sys.path.insert(0, os.path.dirname(__file__))
    from child import HEARD, SHORT, EmptyFiles, Frames, framed, reaped, signal_all, spawn
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

GRACE = 5.0  # seconds between SIGTERM and SIGKILL
SWEEPS = 200  # searches for left processes at the end; each kills all that it finds
PAUSE = 0.025  # seconds between two batches to the loop while commands wait here
# variable in the environment of all processes of a command: token, colon, key
MARK = b"MALLEABLE_TASK"
SLOT = b"MALLEABLE_SLOT"
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


def pack(batch: list[tuple[object, ...]]) -> bytes:
    return framed(marshal.dumps(batch))


def unpack(frames: Frames, data: bytes) -> list[tuple[Any, ...]]:
    return [each for body in frames.feed(data) for each in marshal.loads(body)]


class _Children:
    """Called: pids of this process' children."""

    def __init__(self) -> None:
        try:
            self._file = os.open(f"/proc/self/task/{os.getpid()}/children", os.O_RDONLY)
        except OSError:  # a kernel without this feature
            self._file = -1

    def __call__(self) -> list[int]:
        if self._file < 0:
            return [pid for pid, parent in _parents().items() if parent == os.getpid()]
        os.lseek(self._file, 0, os.SEEK_SET)
        found = b""
        while data := os.read(self._file, 1 << 16):
            found += data
        return [int(word) for word in found.split()]


def processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _parents() -> dict[int, int]:
    found = {}
    for pid in processes():
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                found[pid] = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue  # it has ended
    return found


def descendants(root: int) -> list[int]:
    below: dict[int, list[int]] = {}
    for pid, parent in _parents().items():
        below.setdefault(parent, []).append(pid)
    found = list(below.get(root, ()))
    for pid in found:  # grows during the loop; every process is appended once
        found += below.get(pid, ())
    return found


def mark_of(pid: int) -> tuple[str, str]:
    """Token of the supervisor and key of the command that a process belongs to; empty if none."""
    with suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
        for entry in file.read().split(b"\0"):
            if entry.startswith(MARK + b"="):
                token, _, key = os.fsdecode(entry.partition(b"=")[2]).partition(":")
                return token, key
    return "", ""


def session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def send_signal(pid: int, number: int) -> None:
    # it may have ended, or its number belong to another process
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def kill_all(find: Callable[[], list[int]], reap: Callable[[], object] = lambda: None) -> int:
    """Kill processes until none is found; returns how many were left after `SWEEPS` looks."""
    left: list[int] = []
    for _ in range(SWEEPS):
        left = find()
        if not left:
            break
        for number in (signal.SIGSTOP, signal.SIGKILL):  # stopped processes cannot start new ones
            for pid in left:
                send_signal(pid, number)
        time.sleep(0.005)
        reap()
    return len(left)


def kill_below(root: int) -> None:
    # Kill all that a process, this one or the parent of its children, has started, and wait for it.
    kill_all(lambda: descendants(root), lambda: [os.waitpid(pid, 0) for pid in ended_children()])


def kill_tree(root: int) -> None:
    """Kill a process and all below it; stopped first, they start no more."""
    found: set[int] = set()
    while more := {root, *descendants(root)} - found:
        for pid in more:
            send_signal(pid, signal.SIGSTOP)
        found |= more
    for pid in found:
        send_signal(pid, signal.SIGKILL)


def ended_children() -> Iterator[int]:
    """Pids of children that have ended; each must be waited for before the next is asked for."""
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None:
            return
        yield found.si_pid


def become_reaper() -> tuple[int, int]:
    """Make orphans below this process its children; returns the ends of a pipe that reports ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)
    woken, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    return woken, wakes


class Supervisor:
    def __init__(self, loop: socket.socket, slots: int, token: str, pause: float = PAUSE) -> None:
        self.loop, self.pause = loop, pause
        self.slots, self.token = slots, token
        # Free slots below the highest number used so far.
        self.free: list[int] = []
        self.freed: list[float] = []  # by slot: the last time at which it became free
        self.queue: deque[tuple[Any, ...]] = deque()  # commands that wait for a slot
        self.told = 0.0  # time of the last batch to the loop
        self.pid_of: dict[str, int] = {}  # by key of an attempt
        # By pid: key, start, slot, how long the slot had been free, paths of output.
        self.running: dict[int, tuple[str, float, int, float, list[str]]] = {}
        self.empty_files = EmptyFiles()  # output files of ended commands, used again
        self.late: set[str] = set()  # keys of commands whose time was over
        # Pids of commands that have ended since the last look for orphans.
        self.over: set[int] = set()
        self.look = False  # there may be orphans
        self.children = _Children()
        self.timers: list[tuple[float, int, str, int]] = []  # time, pid, key, signal
        self.said: list[tuple[object, ...]] = []  # messages for the next batch
        self.here = os.getcwd()
        self.folders = {self.here}  # folders in which commands have begun
        self.environment = dict(os.environb)

    def start_all(self) -> None:
        while self.queue and len(self.running) < self.slots:
            self.start(self.queue.popleft())

    def start(self, command: tuple[Any, ...]) -> None:
        key, argv, environment, folder, *streams, seconds = command
        folder = folder or self.here
        own = {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}
        try:
            os.chdir(folder)  # each time, because the folder may have been removed
            self.folders.add(folder)
            slot = self.free[0] if self.free else len(self.running)
            mark = {MARK: f"{self.token}:{key}".encode(), SLOT: b"%d" % slot}
            environment = {**self.environment, **own, **mark}
            pid = spawn(argv, environment, streams, self.empty_files.open)
        except (OSError, ValueError) as error:
            self.said.append(self._not_started(key, folder, streams, error))
            return
        now = time.monotonic()
        self.over.discard(pid)  # the number was used again: the old process has no orphans
        self.pid_of[key] = pid
        if self.free:
            heapq.heappop(self.free)
        if slot == len(self.freed):
            self.freed.append(now)
        self.running[pid] = key, now, slot, now - self.freed[slot], streams
        if seconds > 0.0:
            heapq.heappush(self.timers, (now + seconds, pid, key, signal.SIGTERM))

    def _not_started(
        self, key: str, folder: str, streams: list[str], error: Exception
    ) -> tuple[object, ...]:
        why, name = getattr(error, "errno", 0), getattr(error, "filename", None)
        if why in SHORT:
            return "returned", key, os.strerror(why)
        if why in (errno.ENOENT, errno.ENOTDIR):
            if name in streams:
                return "gone", os.path.dirname(name)
            if name == folder and folder in self.folders:
                return "gone", folder
        return "refused", key, _wording(error)

    def kill(self, key: str) -> None:
        pid = self.pid_of.get(key)
        if pid is not None:
            self._end(pid, key, signal.SIGTERM)
            return
        for command in self.queue:
            if command[0] == key:
                self.queue.remove(command)
                self.said.append(("ended", key, -signal.SIGTERM, 0.0, 0.0, 0, False, 0.0))
                return

    def _end(self, pid: int, key: str, number: int) -> None:
        signal_all(pid, number)
        if number == signal.SIGTERM:
            heapq.heappush(self.timers, (time.monotonic() + GRACE, pid, key, signal.SIGKILL))

    def expire(self) -> float | None:
        """End commands that are late; returns the seconds until the next look."""
        now = time.monotonic()
        while self.timers and self.timers[0][0] <= now:
            _, pid, key, number = heapq.heappop(self.timers)
            if self.pid_of.get(key) == pid:
                if number == signal.SIGTERM:
                    self.late.add(key)
                self._end(pid, key, number)
        next_times = [self.timers[0][0]] if self.timers else []
        if self.said or self.look:
            next_times.append(self.told + self.pause)
        return max(0.0, min(next_times) - now) if next_times else None

    def reap(self) -> None:
        for pid in ended_children():
            task = self.running.pop(pid, None)
            if task is not None:
                signal_all(pid, signal.SIGKILL)  # before its number can be used again
            code, cpu, memory = reaped(pid)
            self.look = True
            if task is not None:
                self.over.add(pid)
                key, since, slot, waited, streams = task
                for path in filter(None, streams):
                    self.empty_files.keep(path)
                heapq.heappush(self.free, slot)
                self.freed[slot] = now = time.monotonic()
                del self.pid_of[key]
                late = key in self.late
                self.late.discard(key)
                self.said.append(("ended", key, code, now - since, cpu, memory, late, waited))

    def sweep(self) -> None:
        """Kill processes that commands left behind when they ended.

        An orphan belongs to the command that its environment names (`MARK`), or to that of its session. A
        daemon with neither is left alone while a command runs, because it may belong to that one.
        """
        ended, self.over, self.look = self.over, set(), False
        for pid in self.children():
            if pid in self.running:
                continue
            token, key = mark_of(pid)
            session = session_of(pid)
            of_ended = session in ended and not os.path.exists(f"/proc/{session}")
            if of_ended:
                # more orphans of the session may appear when this process is gone
                self.over.add(session)
            ours = token == self.token
            if (ours and key not in self.pid_of) or (not ours and (of_ended or not self.running)):
                send_signal(pid, signal.SIGKILL)

    def stop(self, grace: float) -> int:
        self.queue.clear()
        self.empty_files.close()
        if grace > 0.0:
            for pid in self.running:
                signal_all(pid, signal.SIGTERM)
            until = time.monotonic() + grace
            while self.running and time.monotonic() < until:
                self.reap()
                if select.select([self.loop], [], [], 0.01)[0]:
                    break  # the loop is gone, or does not wait
        for pid in self.running:  # without opening files, because there may be no descriptor left
            signal_all(pid, signal.SIGKILL)
        try:
            return kill_all(lambda: descendants(os.getpid()), self.reap)
        # no descriptor left to list processes; the groups of all commands were killed
        except OSError:
            return 0

    def obey(self, command: tuple[Any, ...]) -> bool:
        verb, *rest = command
        if verb == "start":
            self.queue.append(tuple(rest))
            self.start_all()
        elif verb == "kill":
            self.kill(*rest)
        elif verb == "back":
            self.said += [("returned", command[0], "") for command in self.queue]
            self.queue.clear()
        elif verb == "slots":
            (self.slots,) = rest
            self.start_all()
        elif verb == "stop":
            self.loop.sendall(pack([("stopping",)]))
            self.said.append(("stopped", self.stop(*rest)))
            return True
        return False

    def tell(self) -> None:
        """Send what there is to report, at once if the loop may have something to do."""
        now = time.monotonic()
        if (self.said or self.look) and (not self.queue or now - self.told >= self.pause):
            if self.look:
                self.sweep()
            if self.said:
                self.loop.sendall(pack(self.said))
                self.said.clear()
            self.told = now


def _wording(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        named = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        return f"{named}{error.strerror}"
    return str(error)


def main(descriptor: int, slots: int, token: str, pause: float = PAUSE) -> None:
    """Serve the loop at the other end of the socket until it is gone or says stop."""
    while os.open(os.devnull, os.O_RDWR) < 3:  # no other file gets the number of a standard stream
        pass
    loop = socket.socket(fileno=descriptor)
    loop.set_inheritable(False)
    for number in HEARD:
        # the loop handles these signals and tells the supervisor what to do
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGIO, signal.SIG_IGN)  # of a lease that ends
    woken, _ = become_reaper()
    supervisor, frames = Supervisor(loop, slots, token, pause), Frames()
    with selectors.DefaultSelector() as selector:
        selector.register(loop, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        try:
            while True:
                for event, _ in selector.select(supervisor.expire()):
                    if event.fd == woken:
                        os.read(woken, 4096)
                        supervisor.reap()
                        supervisor.tell()  # first, because the next command may kill this process
                        supervisor.start_all()
                        continue
                    data = loop.recv(1 << 16)
                    if not data:
                        return
                    for command in unpack(frames, data):
                        if supervisor.obey(command):
                            return
                supervisor.tell()
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.ECONNRESET):
                raise
        finally:
            supervisor.stop(0.0)
            with suppress(OSError):  # the reader is gone
                supervisor.tell()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
