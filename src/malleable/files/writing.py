"""Output files: whether they can be written is checked before the work; existing files are kept without
``force``. `write_file` writes all files: tables, results, plans and pictures."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from malleable.files.advice import ThereError


def check_targets(
    targets: Mapping[str, str | os.PathLike[str] | None],
    force: bool = False,
    sources: Sequence[str | os.PathLike[str]] = (),
) -> None:
    """Refuse output files that could not be written, before the work that leads to them.

    ``targets`` maps what the message calls the target (``--json``) to its path (None: not wanted), ``force``
    allows replacing existing files, ``sources`` are never replaced. An OSError of one line names the target
    and the path. ValueError: two targets, or a target and an input, are the same file."""
    taken = {os.path.realpath(source): "the input" for source in sources}
    for what, given in targets.items():
        if given is None:
            continue
        where = f"{what} {os.fspath(given)}".lstrip()
        if _is_special(Path(given)):
            continue
        path = Path(os.path.realpath(given))
        if path.is_dir():
            raise IsADirectoryError(f"{where}: is a folder")
        if str(path) in taken:
            raise ValueError(f"{where}: the same file as {taken[str(path)]}")
        taken[str(path)] = what
        if not path.parent.is_dir():
            raise FileNotFoundError(f"{where}: its folder does not exist")
        if path.exists() and not force:
            raise ThereError(where)
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise PermissionError(f"{where}: its folder cannot be written to")


def write_file(path: str | os.PathLike[str], content: str | bytes, force: bool = False) -> None:
    """Write a file as a whole or not at all.

    The content goes into a temporary file in the same folder, which then gets its name in one step. An
    existing regular file is replaced only with ``force`` (its permissions stay, and a symbolic link keeps
    pointing to it). Devices and pipes are written to directly. Text is UTF-8, newlines unchanged; ValueError
    if it cannot be. OSErrors have the path."""
    where = os.fspath(path)
    try:
        data = content if isinstance(content, bytes) else content.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{where}: cannot be written as UTF-8 ({error.reason})") from None
    check_targets({"": path}, force)
    try:
        if _is_special(Path(path)):
            with Path(path).open("wb") as handle:
                handle.write(data)
            return
        _write_regular(Path(os.path.realpath(path)), data, where, force)
    except OSError as error:
        if error.strerror is None:
            raise
        raise OSError(error.errno, error.strerror, where) from None


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Adds the place to the system's errors, which only say what went wrong."""
    try:
        yield
    except OSError as error:
        if error.strerror is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, where) from None


def _is_special(path: Path) -> bool:
    # Whether it is a device or a pipe, which has no contents to lose.
    return path.exists() and not path.is_file() and not path.is_dir()


def _write_regular(target: Path, data: bytes, where: str, force: bool) -> None:
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        _publish(temporary, target, where, force)
    finally:
        temporary.unlink(missing_ok=True)


def _publish(temporary: Path, target: Path, where: str, force: bool) -> None:
    if force:
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
        return
    try:
        # A hard link fails if the name was taken meanwhile; a rename would replace that file.
        target.hardlink_to(temporary)
    except FileExistsError:
        raise ThereError(where) from None
    except OSError:  # a file system without hard links
        if os.path.lexists(target):
            raise ThereError(where) from None
        temporary.replace(target)
