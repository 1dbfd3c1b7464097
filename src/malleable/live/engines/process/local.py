"""Commands as processes of this machine, under a nanny that ends them when the loop ends.

A start or an end costs a message in a batch and the spawn, some 0.6 ms in all on one core. Memory: a
few hundred bytes a running task.
"""

from __future__ import annotations

import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from malleable.domain import check_slots
from malleable.live.engines.process import nanny
from malleable.live.engines.process.child import Frames
from malleable.live.machine import processors
from malleable.live.protocol import Abilities, Event, Task

_STOPPING = 30.0  # seconds that the nanny has to end everything, beyond the grace
_READ = 1 << 16


class Local:
    """An engine of commands on this machine.

    Parameters
    ----------
    slots : int, optional
        Tasks at once; by default the processors that this process may use.
    """

    abilities = Abilities(take_back="cancel", kill=True, ahead=0.02)

    def __init__(self, slots: int | None = None) -> None:
        self.slots = processors() if slots is None else check_slots(slots)
        self._keys: set[str] = set()
        self._full = ""
        self._begin()

    def _begin(self) -> None:
        ours, theirs = socket.socketpair()
        self._frames = Frames()
        self._token = secrets.token_hex(8)
        with theirs:
            nobody = subprocess.DEVNULL
            words = [sys.executable, "-I", "-S", str(Path(nanny.__file__)), str(theirs.fileno())]
            words += [str(self.slots), self._token]
            self._process = subprocess.Popen(  # of its own session: Ctrl-C is the loop's
                words, pass_fds=(theirs.fileno(),), stdin=nobody, start_new_session=True
            )
        self._socket = ours

    def _send(self, batch: list[tuple[Any, ...]]) -> None:
        if batch:
            with suppress(BrokenPipeError, ConnectionResetError):  # poll finds that it is gone
                self._socket.settimeout(None)
                self._socket.sendall(nanny.pack(batch))

    def start(self, tasks: Sequence[Task]) -> None:
        """Hand commands over."""
        self._keys.update(task.key for task in tasks)
        self._send([("start", task.key, *task.command()) for task in tasks])

    def cancel(self, keys: Sequence[str]) -> None:
        """SIGTERM, and SIGKILL five seconds later."""
        self._send([("kill", key) for key in keys])

    kill = cancel

    def poll(self, seconds: float) -> list[Event]:
        """What happened; waits at most so long for the first.

        If the nanny itself was killed, what it ran is killed here and reported as lost, and there is a
        new one; OSError if it ran nothing, or if the disk has no room for what tasks print.
        """
        if self._full:
            raise OSError(f"{self._full}; what has ended is kept, --resume goes on")
        said = self._said(seconds)
        if said is None:
            return self._all_lost()
        self._full = next((str(each[1]) for each in said if each[0] == "full"), "")
        return [self._event(each) for each in said if each[0] != "full"]

    def _said(self, seconds: float) -> list[tuple[Any, ...]] | None:
        """What the nanny says within so long; None: it is gone."""
        self._socket.settimeout(max(seconds, 1e-4))
        try:
            data = self._socket.recv(_READ)
        except (TimeoutError, BlockingIOError):
            return []
        except ConnectionResetError:
            return None
        return nanny.unpack(self._frames, data) if data else None

    def _event(self, said: tuple[Any, ...]) -> Event:
        kind, key, *rest = said
        if kind == "stopped":
            return Event("lost", "", status=key)
        self._keys.discard(key)
        if kind == "refused":
            return Event("refused", key, text=rest[0])
        status, took, cpu, memory, late = rest
        return Event("ended", key, status, took, cpu, memory, late)

    def _all_lost(self) -> list[Event]:
        lost, self._keys = self._keys, set()
        self._end_orphans()
        if not lost:
            raise OSError("the process that starts commands was killed")
        self._socket.close()
        self._process.kill()
        self._process.wait()
        self._begin()
        return [
            Event("lost", key, text="the process that starts commands was killed") for key in lost
        ]

    def _end_orphans(self) -> None:
        """Kill what a dead nanny has left: all processes that carry its token, children of children too."""
        nanny.kill_all(
            lambda: [pid for pid in nanny.processes() if nanny.mark_of(pid)[0] == self._token]
        )

    def close(self, grace: float = nanny.GRACE) -> int:
        """End everything; how many processes would not go. Closed twice: nothing is left to end."""
        if self._socket.fileno() < 0:
            return 0
        self._send([("stop", float(grace))])
        left, until = 0, time.monotonic() + grace + _STOPPING
        while (
            time.monotonic() < until and (heard := self._said(until - time.monotonic())) is not None
        ):
            left = sum((int(said[1]) for said in heard if said[0] == "stopped"), left)
        self._socket.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.1, until - time.monotonic()))
        self._process.kill()  # nothing, where it has ended
        self._process.wait()
        return left
