"""Seconds, bytes and work as whole slots of time: what tables of map and reduce tasks count in."""

from __future__ import annotations

import numpy as np

from malleable.jobs.table import Floats, Integers

__all__ = ["all_tasks", "slots_of", "units", "whole"]

_MOST_TASKS = 1 << 26  # reduce tasks of a table


def slots_of(seconds: Floats, slot: float) -> Integers:
    """The slots in which these times lie, the first time being in slot 1."""
    first = float(seconds.min()) if len(seconds) else 0.0
    return whole("arrival", np.floor((seconds - first) / slot) + 1)


def whole(field: str, values: Floats) -> Integers:
    """Whole numbers as integers, which have to hold them."""
    for row in np.flatnonzero(~(np.abs(values) < 2.0**60))[:1]:
        raise ValueError(f"{field}[{row}] = {values[row]:g}: more than 2^60 slots or units")
    return values.astype(np.int64)


def all_tasks(counts: Integers) -> Integers:
    """Offsets of so many reduce tasks a job."""
    if counts.sum(dtype=np.float64) > _MOST_TASKS:
        row = int(np.argmax(counts))
        raise ValueError(
            f"{counts.sum(dtype=np.float64):,.0f} reduce tasks, {counts[row]:,} of them of job {row};"
            f" there may be {_MOST_TASKS:,}"
        )
    return np.concatenate(([0], np.cumsum(counts)))


def units(work: Floats) -> Integers:
    """Units of one slot that hold so much work."""
    # 1e-9: a whole number of units that rounding put a hair above it stays that number.
    return whole("units", np.ceil(work - 1e-9))
