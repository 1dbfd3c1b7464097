"""Files and folders that a run trusts: they belong to its user, are no links, and are closed to others.

A journal says what is run, and its folder says where output goes. Whoever can write there can have anything
run or overwritten. So owner and mode are looked at when something is opened, through the descriptor that
is then used, and links are not followed. What belongs to somebody else is refused. What is one's own and
open to others is closed: they lose their rights. Each check costs some microseconds.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

_OTHERS = 0o077
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LINKED = (errno.ELOOP, errno.EMLINK, errno.ENOTDIR)
OURS = ".malleable"
"""Folders of this name are ours."""


def _owner(path: Path, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise ValueError(
            f"{path}: belongs to user {found.st_uid}, and you are user {os.geteuid()}; "
            "only what is your own is used"
        )


def _closed(path: Path, descriptor: int, found: os.stat_result) -> bool:
    """Takes the rights of others away; whether they had some."""
    if not found.st_mode & _OTHERS:
        return False
    try:
        os.fchmod(descriptor, stat.S_IMODE(found.st_mode) & ~_OTHERS)
    except OSError:  # of a file system without modes
        mode = f"{stat.S_IMODE(found.st_mode):o}"
        told = f"{path}: others may use it (mode {mode}), and its mode cannot be changed"
        raise ValueError(told) from None
    return True


def _other_kind(path: Path, kind: str) -> ValueError:
    """What to say of something that is no plain file or folder of one's own."""
    link = f"{path}: is a link; links are not followed here"
    return ValueError(link if path.is_symlink() else f"{path}: is no {kind}")


def open_file(path: Path, flags: int, closed: bool = True) -> int:
    """A descriptor of one's own plain file, made with mode 600, and closed to others if ``closed``.

    Raises
    ------
    ValueError
        It is a link or no file, or belongs to somebody else.
    OSError
        It cannot be opened.
    """
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.EISDIR, errno.ENXIO):
            raise _other_kind(path, "file") from None
        raise
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise _other_kind(path, "file")
        _owner(path, found)
        if closed:
            _closed(path, descriptor, found)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def check_file(path: Path, closed: bool) -> None:
    """Check a file as `open_file` does, without opening it; a missing file is fine.

    For files of SQLite: closing any descriptor of them would drop the locks that this process holds.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode):
        raise _other_kind(path, "file")
    _owner(path, found)
    if closed and found.st_mode & _OTHERS:
        path.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)


def _entries(path: Path, descriptor: int) -> None:
    """ValueError for what others may have put into a folder while they could."""
    with os.scandir(descriptor) as entries:
        for entry in entries:
            found = entry.stat(follow_symlinks=False)
            plain = stat.S_ISDIR(found.st_mode) or (
                stat.S_ISREG(found.st_mode) and found.st_nlink == 1
            )
            own = path / entry.name
            if not plain:
                told = f"{own}: others could write to its folder, and it is a link or no file; remove it"
                raise ValueError(told)
            _owner(own, found)


def own_folder(path: Path) -> None:
    """A folder of the user, closed to others; made with its parents if it does not exist.

    If others could write to it, what is in it is looked at: links and what belongs to somebody else are
    refused.

    Raises
    ------
    ValueError
        It is a link or no folder, or belongs to somebody else.
    """
    with suppress(FileExistsError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700)
    try:
        descriptor = os.open(path, _FOLDER)
    except OSError as error:
        if error.errno in _LINKED:
            raise _other_kind(path, "folder") from None
        raise
    try:
        found = os.fstat(descriptor)
        _owner(path, found)
        if _closed(path, descriptor, found) and found.st_mode & 0o022:
            _entries(path, descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> bool:
    """A new folder of one's own; False: there is something of that name."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        return False
    return True


def check_parent(folder: Path) -> None:
    """The folder of a file of the user: our own folder is closed to others, any other one stays as it is.

    Raises
    ------
    ValueError
        It belongs to somebody else (but for the system, as /tmp does), or everybody may rename what is in it.
    """
    if folder.name == OURS:
        own_folder(folder)
        return
    if not folder.exists():
        own_folder(folder)
    found = folder.stat()
    if found.st_uid != 0:
        _owner(folder, found)
    if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
        raise ValueError(
            f"{folder}: everybody may rename files in it; take another folder, or chmod o-w it"
        )
