"""Commands as processes of this machine, under a supervisor: a process that starts them, and ends them when
the loop of the run ends, even if that is killed. A command costs some 0.6 ms of a core."""

from __future__ import annotations

import errno
import secrets
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from malleable.live.engines.process import supervisor
from malleable.live.engines.process.child import Frames
from malleable.live.machine import processors
from malleable.live.protocol import Abilities, Event, Task
from malleable.validation import check_slots

_STOPPING = 30.0  # seconds after the grace within which the supervisor must have ended everything
_SILENT = 2.0  # seconds within which the supervisor must confirm that it begins to stop
_AGAIN = 1.0  # seconds after a shortage of memory or processes until one more command may run
_LOOK = 0.05  # seconds between two looks whether processes have ended
_READ = 1 << 16  # bytes read at once
# messages of the supervisor that are not about one command
_OF_ALL = ("gone", "stopping", "stopped")


# What is said of a folder of commands or output that was removed.
GONE = "this folder is gone; ended tasks are kept, --resume continues the run once it is there"


def event_of(kind: Any, key: str, *rest: Any) -> Event:
    """The event of a supervisor's message about a command."""
    if kind != "ended":
        return Event(kind, key, text=rest[0])
    status, took, cpu, memory, late, waited = rest
    return Event("ended", key, status, took, cpu, memory, late, waited=waited)


class Local:
    """An engine of commands on this machine, by default with a slot for each processor of this process.

    If the machine has no room for another process or file, ``slots`` falls to the number of running commands,
    and then rises by one a second."""

    # If tasks take less than 0.05 s, it gets as many tasks early as end within 0.05 s.
    abilities = Abilities(kill=True, ahead=0.05, short=0.05)

    def __init__(self, slots: int | None = None) -> None:
        # `_all`: what the user asked for; `slots` is less after a shortage
        self.slots = self._all = processors() if slots is None else check_slots(slots)
        self._more = 0.0  # time at which `slots` rises again
        self._keys: set[str] = set()  # of attempts that were handed over and have not ended
        self._gone = ""  # a folder of commands or output that was removed
        self._begin()

    def _begin(self) -> None:
        ours, theirs = socket.socketpair()
        self._frames = Frames()
        self._unsent = bytearray()
        self._token = secrets.token_hex(8)  # in the environment of all processes that it starts
        with theirs:
            program = [sys.executable, "-I", "-S", str(Path(supervisor.__file__))]
            # in its own session, so that only the loop gets Ctrl-C
            self._process = subprocess.Popen(
                [*program, str(theirs.fileno()), str(self._all), self._token],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        ours.setblocking(False)
        self._socket = ours

    def resize(self, slots: int) -> None:
        self.slots = self._all = slots
        self._send([("slots", slots)])

    def _send(self, batch: list[tuple[Any, ...]]) -> None:
        # The supervisor may be stopped; what it does not take now is sent later.
        if batch:
            self._unsent += supervisor.pack(batch)
        # If the supervisor is gone, poll notices.
        with suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            while self._unsent:
                del self._unsent[: self._socket.send(self._unsent)]

    def start(self, tasks: Sequence[Task]) -> None:
        self._keys.update(task.key for task in tasks)
        self._send([("start", task.key, *task.command()) for task in tasks])

    def cancel(self, keys: Sequence[str]) -> None:
        self._send([("kill", key) for key in keys])

    kill = cancel

    def poll(self, seconds: float) -> list[Event]:
        """If the supervisor itself was killed, its commands are killed here and reported as lost, and a new one
        starts; OSError if it ran nothing, or if a folder of the commands or their output is gone."""
        if self._gone:
            raise FileNotFoundError(errno.ENOENT, GONE, self._gone)
        if self.slots < self._all:
            now = time.monotonic()
            if now >= self._more:
                self.slots, self._more = self.slots + 1, now + _AGAIN
            seconds = min(seconds, self._more - now)
        said = self._said(seconds)
        if said is None:
            return self._all_lost()
        self._gone = next((str(each[1]) for each in said if each[0] == "gone"), "")
        events = [event_of(*each) for each in said if each[0] not in _OF_ALL]
        self._keys.difference_update(event.key for event in events)
        if any(event.kind == "returned" for event in events):
            self.slots = min(self.slots, len(self._keys))
            self._more = time.monotonic() + _AGAIN
        return events

    def _said(self, seconds: float) -> list[tuple[Any, ...]] | None:
        # Messages of the supervisor; None: it is gone.
        writes = [self._socket] if self._unsent else []
        ready, writable, _ = select.select([self._socket], writes, [], max(seconds, 0.0))
        if writable:
            self._send([])
        if not ready:
            return []
        try:
            data = self._socket.recv(_READ)
        except ConnectionResetError:
            return None
        return supervisor.unpack(self._frames, data) if data else None

    def _all_lost(self) -> list[Event]:
        lost, self._keys = self._keys, set()
        supervisor.kill_all(self._marked)
        if not lost:
            raise OSError("the process that starts commands was killed")
        self._socket.close()
        self._process.kill()
        self._process.wait()
        self._begin()
        return [
            Event("lost", key, text="the process that starts commands was killed") for key in lost
        ]

    def _marked(self) -> list[int]:
        # All processes with the supervisor's token in their environment, including indirect children.
        return [pid for pid in supervisor.processes() if supervisor.mark_of(pid)[0] == self._token]

    def close(self, grace: float = supervisor.GRACE) -> int:
        if self._socket.fileno() < 0:
            return 0
        self._process.send_signal(signal.SIGCONT)
        self._send([("stop", float(grace))])
        left = self._heard_end(grace)
        if left is None:
            left = self._end_by_hand(grace)
        self._socket.close()
        for _ in range(2):  # waits until it ends by itself, then kills it
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_SILENT)
            self._process.kill()
        return left

    def _heard_end(self, grace: float) -> int | None:
        # How many processes would not end, as the supervisor says; None: it does not answer.
        until = time.monotonic() + _SILENT
        while (wait := until - time.monotonic()) > 0.0:
            said = self._said(wait)
            if said is None:
                return None
            for kind, *rest in said:
                if kind == "stopping":
                    until = time.monotonic() + grace + _STOPPING
                elif kind == "stopped":
                    return int(rest[0])
        return None

    def _end_by_hand(self, grace: float) -> int:
        # Ends processes if the supervisor was killed, or a debugger or a freezer stops it.
        for pid in self._marked() if grace > 0.0 else ():
            supervisor.send_signal(pid, signal.SIGTERM)
        until = time.monotonic() + grace
        while time.monotonic() < until and self._marked():
            time.sleep(_LOOK)
        self._process.kill()
        return supervisor.kill_all(self._marked)
