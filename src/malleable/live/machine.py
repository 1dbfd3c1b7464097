"""Processors and memory that a run may use: those of the machine, or of its control group (how Linux limits a
set of processes), whose parents' limits count, too."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")


def _read(file: Path) -> list[str]:
    with suppress(OSError):
        return file.read_text().split()
    return []


def _limits(name: str, groups: Path, own: Path) -> Iterator[list[float]]:
    # Numbers in files of this name, of this process' group and the groups above it.
    for line in _read(own):
        if line.startswith("0::"):
            at = groups / line[3:].lstrip("/")
            for folder in (at, *at.parents):
                with suppress(ValueError):  # "max": no limit
                    yield [float(word) for word in _read(folder / name)]
                if folder == groups:
                    break


def processors(groups: Path = _GROUPS, own: Path = _OWN) -> int:
    """Processors that this process may use, by its affinity and its control group; a part counts as a whole
    one."""
    found = float(len(os.sched_getaffinity(0)))
    for limit in _limits("cpu.max", groups, own):
        if len(limit) == 2 and min(limit) > 0.0:
            found = min(found, limit[0] / limit[1])
    return max(1, math.ceil(found))


def machine_memory(groups: Path = _GROUPS, own: Path = _OWN) -> float:
    """Bytes that this process and its children may use: of the machine, or of its control group."""
    found = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    limits = _limits("memory.max", groups, own)
    return min([found, *(limit[0] for limit in limits if limit)])
