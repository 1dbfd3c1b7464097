"""The file of a journal (an SQLite file that records runs): its lock, by which one process at a time writes,
its owner and modes, its version, and errors that name it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sqlite3
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from malleable.display import printable
from malleable.live.journal_rows import SCHEMA, JournalError
from malleable.live.own_files import check_file, check_parent, open_file

if TYPE_CHECKING:
    from typing_extensions import Self

VERSION = 1
_APPLICATION = 0x6D616C6C  # "mall", in the header of the file
# attempts to lock, and seconds between: readers take the lock for a moment, too
_LOOKS, _LOOK = 6, 0.02
_OWNER = 100  # most bytes of a lock
_SIDES = ("-wal", "-shm", "-journal")  # SQLite's own files beside a journal
_NEW = ".new"  # suffix of a journal that is being made


@contextlib.contextmanager
def telling(path: Path) -> Iterator[None]:
    # Errors of SQLite and of broken content become a `JournalError` that names the file.
    try:
        yield
    except (sqlite3.Error, OverflowError, UnicodeError, json.JSONDecodeError, zlib.error) as error:
        full = "disk is full" in str(error)
        hint = "; what was recorded is kept, --resume continues the run" if full else ""
        raise JournalError(f"{path}: {error}{hint}") from None


def take_lock(path: Path, owner: str) -> IO[str]:
    """A file, with this process' id in it, that is locked until it is closed or the process ends.

    Raises
    ------
    BlockingIOError
        Names the process that holds it.
    ValueError
        The file is no lock of this user.
    """
    lock = os.fdopen(open_file(path, os.O_CREAT | os.O_RDWR), "r+", errors="replace")
    if os.fstat(lock.fileno()).st_size > _OWNER:  # it would be truncated
        lock.close()
        raise ValueError(f"{path}: this file must be a lock, and it is none")
    for _ in range(_LOOKS):
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lock.truncate(0)
            lock.write(owner[:_OWNER])
            lock.flush()
            return lock
        time.sleep(_LOOK)
    with lock:
        raise BlockingIOError(printable(lock.read(_OWNER).strip()) or "unknown")


class JournalFile:
    """An open file. ``write``: for the process that writes; ``durable``: records survive a loss of power."""

    def __init__(self, path: str | Path, write: bool = True, durable: bool = False) -> None:
        self.path = Path(path)
        self._lock: IO[str] | None = None
        try:
            self._own(write)
            with telling(self.path):
                self._open(write, durable)
        except BaseException as error:
            self.close()
            if isinstance(error, ValueError):
                raise JournalError(str(error)) from None
            raise

    def _own(self, write: bool) -> None:
        if not write and not os.path.lexists(self.path):
            raise JournalError(f"{self.path}: no journal there")
        check_parent(self.path.absolute().parent)
        if write:
            try:
                self._lock = take_lock(self._lock_path(), str(os.getpid()))
            except BlockingIOError as owner:
                told = f"{self.path}: another run writes to it (process {owner}); "
                told += "give this run another journal by --journal FILE"
                raise JournalError(told) from None
            # left by a run that was killed while it made a journal
            self._new.unlink(missing_ok=True)
        self._look_at_files(closed=False)

    def _look_at_files(self, closed: bool) -> None:
        for side in ("", *_SIDES):
            check_file(self.path.with_name(self.path.name + side), closed)

    def _make(self) -> None:
        # Make a new journal. It gets its name when it is whole and on the disk, and overwrites no file.
        new = self._new
        descriptor = open_file(new, os.O_CREAT | os.O_EXCL | os.O_RDWR)
        try:
            with contextlib.closing(sqlite3.connect(new, isolation_level=None)) as base:
                base.executescript(  # without side files that could be left behind
                    "pragma journal_mode = off; pragma synchronous = off; begin;"
                    f" pragma application_id = {_APPLICATION}; pragma user_version = {VERSION};"
                    f" {SCHEMA} commit;"
                )
            os.fsync(descriptor)
            self.path.unlink(missing_ok=True)  # the file is empty
            try:
                os.link(new, self.path)
            except FileExistsError:
                raise
            except OSError:  # a file system without links
                new.rename(self.path)
        finally:
            os.close(descriptor)
            new.unlink(missing_ok=True)

    @property
    def _new(self) -> Path:
        return self.path.with_name(self.path.name + _NEW)

    def _lock_path(self) -> Path:
        return self.path.with_name(self.path.name + ".lock")

    def _open(self, write: bool, durable: bool) -> None:
        if write and not (self.path.exists() and self.path.stat().st_size):
            self._make()
        found = self.path.stat()
        self._place = found.st_dev, found.st_ino
        mode = "rw" if write else "ro"
        uri = f"{self.path.absolute().as_uri()}?mode={mode}"
        # Only one thread at a time uses it.
        options: dict[str, Any] = {"isolation_level": None, "check_same_thread": False}
        self._base: sqlite3.Connection = sqlite3.connect(uri, 10.0, uri=True, **options)
        application, version = (
            self._base.execute(f"pragma {name}").fetchone()[0]
            for name in ("application_id", "user_version")
        )
        if application != _APPLICATION:
            raise JournalError(f"{self.path}: not a journal of runs")
        self._look_at_files(closed=True)  # only now, so that a file of another kind is not changed
        if version != VERSION:
            raise JournalError(f"{self.path}: of version {version}; this one knows {VERSION}")
        if write:
            self._base.execute("pragma journal_mode = wal")  # another program may have changed it
            self._base.execute(f"pragma synchronous = {'full' if durable else 'off'}")
            self._base.execute("begin")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _do(self, statement: str, *values: Any) -> sqlite3.Cursor:
        with telling(self.path):
            return self._base.execute(statement, values)

    def _each(self, query: str, *values: Any) -> Iterator[Any]:
        with telling(self.path):
            cursor = self._base.execute(query, values)
            while (row := cursor.fetchone()) is not None:
                yield row

    def written(self) -> bool:
        # Whether a process has the journal open for writing.
        try:
            with os.fdopen(open_file(self._lock_path(), os.O_RDONLY)) as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except (OSError, ValueError) as error:
            return isinstance(error, BlockingIOError)
        return False

    def check_there(self) -> None:
        """JournalError if the file has been removed or replaced."""
        try:
            found = self.path.stat()
        except OSError:
            found = None
        if not found or (found.st_dev, found.st_ino) != self._place:
            folder = self.path.absolute().parent
            gone = f"{self.path}: this journal" if folder.is_dir() else f"{folder}: this folder"
            raise JournalError(f"{gone} is gone, and the run cannot go on")

    def commit(self) -> None:
        with telling(self.path):
            self._base.execute("commit")
            self._base.execute("begin")

    def shrink(self) -> None:
        # Give the space of removed runs back to the disk.
        with telling(self.path):
            for statement in ("commit", "vacuum", "pragma wal_checkpoint(truncate)", "begin"):
                self._base.execute(statement)

    def close(self) -> None:
        base = self.__dict__.pop("_base", None)
        if base is not None:
            with contextlib.suppress(sqlite3.DatabaseError):
                if base.in_transaction:
                    base.execute("commit")
            base.close()
        if self._lock is not None:
            self._lock.close()
            self._lock = None
