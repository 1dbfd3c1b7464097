"""How a process of a task begins and ends, and how messages about it are cut: one way for all that start some.

It needs ``os`` alone, as those that start commands are started often.
"""

# ruff: noqa: SIM105
# contextlib takes longer to import than all else here.
from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from signal import SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXFSZ
    from typing import Any
else:  # which imports less
    from _signal import SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXFSZ

HEAD = 8
"""Bytes of a frame's length."""
HEARD = (SIGINT, SIGTERM, SIGHUP)
"""Signals that go to the loop, which decides what to do."""
_DEFAULT = (*HEARD, SIGPIPE, SIGXFSZ)  # what this process does about them is not theirs


def framed(body: bytes, seal: bytes = b"") -> bytes:
    """Bytes with a seal and their number before them."""
    return seal + len(body).to_bytes(HEAD, "little") + body


class Frames:
    """Frames out of the bytes that come in; what stands before a seal is no frame."""

    def __init__(self, seal: bytes = b"") -> None:
        self._bytes = bytearray()
        self._seal, self._head = seal, len(seal) + HEAD

    def feed(self, data: bytes) -> list[bytes]:
        """What is complete now."""
        self._bytes += data
        found, at = [], 0
        while len(self._bytes) - at >= self._head:
            if not self._bytes.startswith(self._seal, at):
                begin = self._bytes.find(self._seal, at)
                at = begin if begin >= 0 else len(self._bytes) - len(self._seal) + 1
                continue
            begin = at + self._head
            end = begin + int.from_bytes(self._bytes[begin - HEAD : begin], "little")
            if len(self._bytes) < end:
                break
            found.append(bytes(self._bytes[begin:end]))
            at = end
        del self._bytes[:at]
        return found


def spawn(argv: list[str], environment: Mapping[Any, Any], streams: Sequence[str]) -> int:
    """Starts a command in a session of its own, in the folder of this process; its pid.

    ``streams``: paths of its input, output and errors; empty: nothing, and nowhere. If errors and output
    have one path, they share it.

    Raises
    ------
    OSError, ValueError
        It cannot be started.
    """
    source, output, errors = streams
    made = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    actions: list[tuple[Any, ...]] = [
        (os.POSIX_SPAWN_OPEN, 0, source or os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, output or os.devnull, made, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2)
        if errors == output
        else (os.POSIX_SPAWN_OPEN, 2, errors or os.devnull, made, 0o600),
    ]
    return os.posix_spawnp(
        argv[0], argv, environment, file_actions=actions, setsid=True, setsigmask=(),
        setsigdef=_DEFAULT,
    )  # fmt: skip


def signal_all(pid: int, number: int) -> None:
    """A signal to a command and whatever is in its group, unless that has ended or is somebody else's."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def reaped(pid: int) -> tuple[int, float, int]:
    """Exit status (below 0 the signal) of a child that has ended, its processor seconds, and most bytes."""
    _, status, used = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
