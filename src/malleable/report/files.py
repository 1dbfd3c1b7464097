"""Where output goes: checked before anything is computed, overwritten only when told to."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["check_targets", "write_file"]


def check_targets(
    targets: Mapping[str, str | os.PathLike[str] | None],
    force: bool = False,
    sources: Sequence[str | os.PathLike[str]] = (),
) -> None:
    """Refuse output files that could not be written, before the work that leads to them.

    Parameters
    ----------
    targets : mapping
        From what the message calls the target (``--json``) to its path; None: not wanted.
    force : bool
        Allow replacing existing files.
    sources : sequence of paths
        Input files, never replaced.

    Raises
    ------
    FileExistsError, FileNotFoundError, IsADirectoryError, PermissionError, ValueError
        One line that names the target and the path. ValueError: two targets, or a target and an
        input, are the same file.
    """
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
            raise FileExistsError(f"{where}: exists; say force=True (--force) to overwrite it")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise PermissionError(f"{where}: its folder cannot be written to")


def write_file(path: str | os.PathLike[str], content: str | bytes, force: bool = False) -> None:
    """Write a file as a whole or not at all; an existing one is replaced only with ``force``.

    Text is written as UTF-8. A device or a pipe is written to directly.

    Raises
    ------
    OSError
        As `check_targets`, or what went wrong while writing, with the path.
    ValueError
        Text that UTF-8 cannot hold.
    """
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
        _write_regular(Path(os.path.realpath(path)), data, force)
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.strerror is None:
            raise
        raise OSError(error.errno, error.strerror, where) from None


def _is_special(path: Path) -> bool:
    """Whether it is a device or a pipe, which has nothing to lose."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _write_regular(target: Path, data: bytes, force: bool) -> None:
    if force:
        temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
        created = temporary
    else:
        created = target
    try:
        with created.open("xb") as handle:  # fails if somebody else was faster
            try:
                handle.write(data)
            except BaseException:
                created.unlink()
                raise
        if force:
            if target.exists():
                shutil.copymode(target, created)
            created.replace(target)
    finally:
        if force:
            created.unlink(missing_ok=True)
