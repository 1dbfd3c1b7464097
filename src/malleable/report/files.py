"""Where output goes: checked before anything is computed, overwritten only when told to."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from malleable.workloads.files import write_text

__all__ = ["check_targets", "write_bytes", "write_text"]


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
        path = Path(os.path.realpath(given))
        where = f"{what} {os.fspath(given)}"
        if path.is_dir():
            raise IsADirectoryError(f"{where}: is a folder")
        if path.exists() and not path.is_file():
            continue  # a device or a pipe has nothing to lose
        if str(path) in taken:
            raise ValueError(f"{where}: the same file as {taken[str(path)]}")
        taken[str(path)] = what
        if not path.parent.is_dir():
            raise FileNotFoundError(f"{where}: its folder does not exist")
        if path.exists() and not force:
            raise FileExistsError(f"{where}: exists; say force=True (--force) to overwrite it")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise PermissionError(f"{where}: its folder cannot be written to")


def write_bytes(path: str | os.PathLike[str], data: bytes, force: bool = False) -> None:
    """Write a binary file as a whole or not at all; an existing one only with ``force``.

    Raises
    ------
    OSError
        As `check_targets`.
    """
    check_targets({"file": path}, force)
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    if not force:
        with target.open("xb") as handle:  # fails if somebody else was faster
            handle.write(data)
        return
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(target)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
