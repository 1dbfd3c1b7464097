"""Tables of cluster jobs as CSV."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from malleable.workloads.bad_records import BadRecords
from malleable.workloads.cluster_jobs import ClusterJobs, checked_rates
from malleable.workloads.files import Source, parse_number, read_columns, telling_of

__all__ = ["CLUSTER_COLUMNS", "read_cluster_jobs"]

_WORDS = ("name", "user", "program")
_COUNTS = ("maps", "reduces", "min_map_slots", "min_reduce_slots")
_TIMES = ("map_seconds", "reduce_seconds")
CLUSTER_COLUMNS = (
    "name", "arrival", "maps", "map_seconds", "reduces", "reduce_seconds", "shuffle",
    "shuffle_bytes", "block", "min_map_slots", "min_reduce_slots", "weight", "deadline",
    "speedup", "user", "program",
)  # fmt: skip


def _amount(cell: str, whole: bool) -> float:
    value = parse_number(cell)
    if not (math.isfinite(value) and value >= 0.0):
        raise ValueError("must be finite and at least 0")
    if whole and value != math.floor(value):
        raise ValueError("must be a whole number")
    return value


def _list_or_number(cell: str) -> float | list[float]:
    if ";" in cell:
        return [_amount(part, False) for part in cell.split(";") if part.strip()]
    return _amount(cell, False)


def _cell(column: str, cell: str) -> Any:
    if column in _WORDS:
        return cell
    if column == "deadline":
        value = parse_number(cell) if cell.strip() else math.inf
        if math.isnan(value) or value == -math.inf:
            raise ValueError("must be a time (none: empty)")
        return value
    if column == "speedup":
        return checked_rates("speedup", _list_or_number(cell)) if cell.strip() else None
    if column in _TIMES:
        return _list_or_number(cell)
    return _amount(cell, column in _COUNTS)


def read_cluster_jobs(source: Source, *, errors: str = "raise") -> ClusterJobs:
    """Read a table of cluster jobs from CSV with a header; ``maps`` and ``map_seconds`` are needed.

    Columns are the parameters of `ClusterJobs`; ``map_seconds`` and ``reduce_seconds`` are a number
    or ``s1;s2;...``, one for each task, and ``speedup`` is blank, p or the rates ``r1;r2;...`` of 1, 2,
    ... running tasks (``r1;`` where they are one). Not ``after`` and ``flow``: see
    `read_cluster_flows`.

    Parameters
    ----------
    source : path or file object
        Plain or gzip.
    errors : {"raise", "skip"}
        Malformed lines: one error that counts them and shows the first, or a warning that counts.

    Raises
    ------
    ValueError
        One line that names the file, and lines (from 1) and columns.
    OSError
        The file cannot be opened.
    """
    bad = BadRecords(errors)
    columns, where = read_columns(
        source, CLUSTER_COLUMNS, ("maps", "map_seconds"), _cell, bad=bad.add
    )
    count = len(columns["maps"])
    sound = np.ones(count, dtype=bool)
    for phase in ("map", "reduce"):
        times = columns.get(f"{phase}_seconds", [])
        if not any(isinstance(value, list) for value in times):
            continue
        tasks = columns.get(f"{phase}s", [0] * count)
        for row, (value, number) in enumerate(zip(times, tasks, strict=True)):
            if not isinstance(value, list):
                times[row] = [value] * int(number)
            elif len(value) != number:
                sound[row] = False
                bad.add(f"{phase}_seconds[{row}]: {len(value)} times for {number:g} tasks")
    bad.settle(where, int(sound.sum()))
    rows = np.flatnonzero(sound).tolist()
    with telling_of(where):
        return ClusterJobs(**{c: [values[row] for row in rows] for c, values in columns.items()})
