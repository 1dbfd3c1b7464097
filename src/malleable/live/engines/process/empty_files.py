"""Empty output files of commands that have ended, for commands that begin.

Most commands write nothing. A file that is made and removed for each of them costs more than the command on
ext4, which passes over all inodes that were freed within the last minutes whenever it makes a file. So an empty
file gets another name instead, if nothing else has it open. It imports little besides ``os``, because the
process that starts commands must start fast.
"""

# ruff: noqa: PTH104, PTH108, PTH116, PTH120, SIM105
# contextlib and pathlib take longer to import than everything else here.
from __future__ import annotations

import os
import stat
from fcntl import F_SETLEASE, F_UNLCK, F_WRLCK, fcntl

TYPE_CHECKING = False
if TYPE_CHECKING or __name__ != "empty_files":
    from malleable.live.engines.process.child import new_file
else:  # of a process that knows no packages
    from child import new_file


class EmptyFiles:
    """At most as many files as the commands that ran at once had; each costs six calls of the system."""

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
        pass
