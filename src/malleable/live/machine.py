"""Processors and memory that a run may use: those of the machine or of its control group.

A control group is a folder below /sys/fs/cgroup; each limit of it or of those above it counts. Some files are
read once a run.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")


def _read(folder: Path, *names: str) -> list[str]:
    """The words in these files of a group; none if a file is missing."""
    with suppress(OSError):
        return [word for name in names for word in (folder / name).read_text().split()]
    return []


def _limits(
    kind: str, names: tuple[str, ...], older: tuple[str, ...], groups: Path, own: Path
) -> Iterator[list[float]]:
    """Numbers in files of this process' group and those above it; ``older``: their names in version 1."""
    for line in _read(own.parent, own.name):
        _, kinds, path = line.split(":", 2)
        if kinds and kind not in kinds.split(","):
            continue
        base = next((each for each in (groups / kinds, groups / kind) if each.is_dir()), groups)
        base = base if kinds else groups
        at = base / path.lstrip("/")
        for folder in (at, *at.parents):
            with suppress(ValueError):  # "max": no limit
                yield [float(word) for word in _read(folder, *(older if kinds else names))]
            if folder == base:
                break


def processors(groups: Path = _GROUPS, own: Path = _OWN) -> int:
    """Processors that this process may use: by its affinity, and by what its control group gives it.

    A part of a processor counts as a whole one.
    """
    found = float(len(os.sched_getaffinity(0)))
    older = "cpu.cfs_quota_us", "cpu.cfs_period_us"
    for limit in _limits("cpu", ("cpu.max",), older, groups, own):
        if len(limit) == 2 and min(limit) > 0.0:
            found = min(found, limit[0] / limit[1])
    return max(1, math.ceil(found))


def machine_memory(groups: Path = _GROUPS, own: Path = _OWN) -> float:
    """Bytes that this process and its children may use: of the machine, or of its control group."""
    found = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    limits = _limits("memory", ("memory.max",), ("memory.limit_in_bytes",), groups, own)
    return min([found, *(limit[0] for limit in limits if limit)])
