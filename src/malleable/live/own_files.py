"""Files and folders that a run trusts: they belong to its user, are no links, and are closed to others, because
a user who can write there can run or overwrite anything. Checks are made when something is opened: links and
files of other users are refused, and rights of others to own files are removed."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

_OTHERS = 0o077  # permissions of group and others
# Folders of this name are ours.
OURS = ".malleable"


def _owner(path: Path, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise ValueError(
            f"{path}: belongs to user {found.st_uid}, and you are user {os.geteuid()}; "
            "only files that belong to you are used"
        )


def _check(path: Path, found: os.stat_result, kind: str, closed: bool = True) -> None:
    # ValueError for a link, another kind of file and a file of another user; takes others' rights away.
    if stat.S_ISLNK(found.st_mode):
        raise ValueError(f"{path}: is a link; links are not followed here")
    if stat.S_IFMT(found.st_mode) != {"file": stat.S_IFREG, "folder": stat.S_IFDIR}[kind]:
        raise ValueError(f"{path}: is no {kind}")
    _owner(path, found)
    if closed and found.st_mode & _OTHERS:
        path.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)


def open_file(path: Path, flags: int, closed: bool = True) -> int:
    """A descriptor of an own plain file, made with mode 600, and closed to others if ``closed``. ValueError
    for a link, no file, or a file of another user; OSError if it cannot be opened."""
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.EISDIR, errno.ENXIO):
            check_file(path, closed=False)
        raise
    try:
        _check(path, os.fstat(descriptor), "file", closed)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def check_file(path: Path, closed: bool) -> None:
    """Check a file as `open_file` does, without opening it; a missing file is fine. For files of SQLite:
    closing any descriptor of them would drop this process' locks."""
    with suppress(FileNotFoundError):
        _check(path, path.lstat(), "file", closed)


def own_folder(path: Path) -> None:
    """A folder of the user, closed to others; made with its parents if missing. ValueError for a link, no
    folder, or a folder of another user."""
    with suppress(FileExistsError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700)
    _check(path, path.lstat(), "folder")


def check_parent(folder: Path) -> None:
    """The folder of a file of the user: an own folder is closed to others, another one does not change.
    ValueError if it belongs to another user (except the system, as /tmp does), or all users may rename
    what is in it."""
    if folder.name == OURS or not folder.exists():
        own_folder(folder)
    found = folder.stat()
    if found.st_uid != 0:
        _owner(folder, found)
    if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
        raise ValueError(
            f"{folder}: every user may rename files in it; take another folder, or chmod o-w it"
        )
