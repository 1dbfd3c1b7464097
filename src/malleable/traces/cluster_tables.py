"""Tables of cluster jobs as CSV."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from malleable.cluster.table import ClusterJobs, checked_rates
from malleable.files.bad_records import BadRecords
from malleable.files.csv import read_columns, without_apostrophe
from malleable.files.reading import MAX_SIZE, Source, parse_number, telling_of
from malleable.views import counted

__all__ = ["CLUSTER_COLUMNS", "read_cluster_jobs"]

_WORDS = ("name", "user", "program")
_COUNTS = ("maps", "reduces", "min_map_slots", "min_reduce_slots")
_TIMES = ("map_seconds", "reduce_seconds")
_MOST = 1 << 31  # tasks of a job
_MOST_TIMED = 1 << 26  # tasks of all jobs, where tasks have times of their own
CLUSTER_COLUMNS = (
    "name", "arrival", "maps", "map_seconds", "reduces", "reduce_seconds", "shuffle",
    "shuffle_bytes", "block", "min_map_slots", "min_reduce_slots", "weight", "deadline",
    "speedup", "user", "program",
)  # fmt: skip


def _amount(cell: str, whole: bool) -> float:
    value = parse_number(cell)
    if not (math.isfinite(value) and value >= 0.0):
        raise ValueError("must be finite and at least 0")
    if whole and (value != math.floor(value) or value > _MOST):
        raise ValueError(f"must be a whole number up to {_MOST:,}")
    return value


def _list_or_number(cell: str) -> float | list[float]:
    if ";" in cell:
        return [_amount(part, False) for part in cell.split(";") if part.strip()]
    return _amount(cell, False)


def _cell(column: str, cell: str) -> Any:
    if column in _WORDS:
        return without_apostrophe(cell)
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


def read_cluster_jobs(
    source: Source, *, errors: str = "raise", max_size: int | None = MAX_SIZE
) -> ClusterJobs:
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
    max_size : int or None
        Bytes that the file may have, unpacked; None: any number.

    Raises
    ------
    ValueError
        One line that names the file, and lines (from 1) and columns.
    OSError
        The file cannot be opened.
    """
    bad = BadRecords(errors)
    columns, where = read_columns(
        source, CLUSTER_COLUMNS, ("maps", "map_seconds"), _cell, bad, max_size=max_size
    )
    count = len(columns["maps"])
    sound = np.ones(count, dtype=bool)
    for phase in ("map", "reduce"):
        times = columns.get(f"{phase}_seconds", [])
        if not any(isinstance(value, list) for value in times):
            continue
        tasks = columns.get(f"{phase}s", [0] * count)
        if sum(tasks) > _MOST_TIMED:
            raise ValueError(
                f"{where}: {sum(tasks):,.0f} {phase} tasks; where some have times of their own there"
                f" may be {_MOST_TIMED:,}"
            )
        for row, (value, number) in enumerate(zip(times, tasks, strict=True)):
            if not isinstance(value, list):
                times[row] = [value] * int(number)
            elif len(value) != number:
                sound[row] = False
                bad.add(
                    f"{phase}_seconds[{row}]: {counted(len(value), 'time')} for {number:g} tasks"
                )
    bad.settle(where, int(sound.sum()))
    rows = np.flatnonzero(sound).tolist()
    with telling_of(where):
        return ClusterJobs(**{c: [values[row] for row in rows] for c, values in columns.items()})
