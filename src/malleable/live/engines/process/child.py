"""How a process of a task begins and ends, and how messages about it are framed (a length, then bytes). It
imports little besides ``os``, because processes that start commands are started often."""

# ruff: noqa: PTH104, PTH108, PTH116, PTH120, SIM105
# contextlib and pathlib take longer to import than everything else here.
from __future__ import annotations

import os
import resource  # noqa: F401 - os.wait4 imports it, and there may be no room for another file by then
import stat
from errno import EAGAIN, EDQUOT, EMFILE, ENFILE, ENOMEM, ENOSPC
from fcntl import F_SETLEASE, F_UNLCK, F_WRLCK, fcntl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from signal import SIGHUP, SIGINT, SIGIO, SIGPIPE, SIGTERM, SIGXFSZ
    from typing import Any
else:  # with fewer imports
    from _signal import SIGHUP, SIGINT, SIGIO, SIGPIPE, SIGTERM, SIGXFSZ

# Bytes of the length before a frame.
HEAD = 8
# Bytes that are read or written at once.
READ = 1 << 18
# Signals that only the loop of the run handles, in the process of the user; it decides what to do.
HEARD = (SIGINT, SIGTERM, SIGHUP)
# Errors of a machine that has no room for another command now.
SHORT = frozenset((EAGAIN, EDQUOT, EMFILE, ENFILE, ENOMEM, ENOSPC))
_DEFAULT = (*HEARD, SIGIO, SIGPIPE, SIGXFSZ)  # signals that commands handle by default


def framed(body: bytes, seal: bytes = b"") -> bytes:
    # A frame: its length, then the body; before both a seal, random bytes by which the reader finds frames.
    return seal + len(body).to_bytes(HEAD, "little") + body


class Frames:
    """Finds frames in incoming bytes; bytes before a seal are skipped."""

    def __init__(self, seal: bytes = b"") -> None:
        self._bytes = bytearray()
        self._seal, self._head = seal, len(seal) + HEAD

    def feed(self, data: bytes) -> list[bytes]:
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


def new_file(path: str) -> int:
    """A descriptor of a new file for writing, or of the null device without a path; OSError."""
    return os.open(path or os.devnull, os.O_WRONLY | (os.O_CREAT | os.O_EXCL if path else 0), 0o600)


class EmptyFiles:
    """Empty output files of commands that have ended, for commands that begin. Each costs six system calls.

    Most commands write nothing. A file that is made and removed for each of them costs more than the command
    on ext4, which passes over all inodes that were freed within the last minutes whenever it makes a file. So
    an empty file gets another name instead, if nothing else has it open."""

    def __init__(self) -> None:
        self._paths: list[str] = []
        self._named = 0

    def keep(self, path: str) -> None:
        """Take over the file of a command that has ended, if it is empty; other files stay."""
        self._named += 1
        spare = f"{os.path.dirname(path)}/.spare-{os.getpid()}-{self._named}"
        try:
            if not os.stat(path).st_size:
                os.rename(path, spare)
                self._paths.append(spare)
        except OSError:
            pass  # it was removed, or its folder was

    def open(self, path: str) -> int:
        """A descriptor of an empty new file for writing, or of the null device without a path; OSError."""
        while path and self._paths:
            spare = self._paths.pop()
            try:
                file = os.open(spare, os.O_WRONLY | os.O_NOFOLLOW)
            except OSError:
                continue
            try:
                # The system grants a lease only if nothing else has the file open, to write into it later.
                fcntl(file, F_SETLEASE, F_WRLCK)
                fcntl(file, F_SETLEASE, F_UNLCK)
                found = os.fstat(file)
                if (found.st_size, found.st_nlink, found.st_mode) == (0, 1, stat.S_IFREG | 0o600):
                    os.link(spare, path)
                    return file
            except OSError:
                pass  # it is in use, or cannot get this name; a new file tells why
            finally:
                _remove(spare)
            os.close(file)
        return new_file(path)

    def close(self) -> None:
        while self._paths:
            _remove(self._paths.pop())


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # its folder is gone, too


def spawn(
    argv: list[str],
    environment: Mapping[Any, Any],
    streams: Sequence[str],
    opened_new: Callable[[str], int] = new_file,
) -> int:
    """Start a command in a session of its own, in the folder of this process; returns its pid.

    ``streams`` are paths of its output and errors, which may be equal; empty: none. It has no input. The
    files are new, and removed if the command cannot be started: OSError or ValueError with the file or the
    program."""
    opened: dict[str, int] = {}
    files: list[int] = []
    try:
        files.append(os.open(os.devnull, os.O_RDONLY))
        for path in streams:
            if path not in opened:
                opened[path] = opened_new(path)
            files.append(opened[path])
        actions = [(os.POSIX_SPAWN_DUP2, file, k) for k, file in enumerate(files)]
        return os.posix_spawnp(
            argv[0], argv, environment, file_actions=actions, setsid=True, setsigmask=(),
            setsigdef=_DEFAULT,
        )  # fmt: skip
    except (OSError, ValueError):
        for path in filter(None, opened):
            _remove(path)
        raise
    finally:
        for file in (*files[:1], *opened.values()):
            os.close(file)


def signal_all(pid: int, number: int) -> None:
    """Signal a command and its group, unless that has ended or belongs to another command."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def reaped(pid: int) -> tuple[int, float, int]:
    # Wait for a child; returns its exit code, processor seconds, and most bytes of memory.
    _, status, used = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
