"""Folders of a Spark event log in parts."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

_PART = re.compile(r"events_([0-9]{1,9})_")


def parts_of(folder: Path) -> list[Path]:
    """The files of a rolling log in their order, from the last one that is compacted on.

    Their names are ``events_NUMBER_APPLICATION``, with ``.compact`` and the name of a codec behind.
    ValueError if there are none, or if one is missing.
    """
    found: dict[int, Path] = {}
    first = 0
    for path in sorted(folder.iterdir()):
        named = _PART.match(path.name)
        if named is None:
            continue
        number = int(named[1])
        compact = ".compact" in path.name
        if compact or number not in found:
            found[number] = path
        first = max(first, number if compact else 0)
    if not found:
        raise ValueError(
            f"{folder}: a directory without parts of a Spark event log (events_1_ ...)"
        )
    numbers = range(first or 1, max(found) + 1)
    for number in numbers:
        if number not in found:
            raise ValueError(f"{folder}: part {number} of the Spark event log is missing")
    return [found[number] for number in numbers]


def is_part(path: Path) -> bool:
    """Whether a file is called as a part of a rolling log is."""
    return _PART.match(path.name) is not None and path.is_file()


def check_part(path: Path) -> None:
    """ValueError for a part of a rolling log without its beginning, a warning for one without its end."""
    named = _PART.match(path.name)
    if named is None:
        return
    number = int(named[1])
    whole = f"part {number} of a rolling log: the folder {path.absolute().parent} is the whole one"
    if number > 1 and ".compact" not in path.name:
        raise ValueError(f"{whole}; parts before this one are missing")
    if any(
        other.name != path.name and is_part(other) for other in path.absolute().parent.iterdir()
    ):
        warnings.warn(f"{path}: {whole}; parts after this one are left out", stacklevel=4)
