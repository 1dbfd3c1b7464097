"""Files of jobs of map and reduce tasks in slots: CSV tables, SWIM, Rumen and Google 2011 traces."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from malleable.domain import checked_positive
from malleable.files.advice import AdvisedError
from malleable.files.bad_records import BadRecords
from malleable.files.csv import csv_text, read_columns, without_apostrophe
from malleable.files.reading import MAX_SIZE, Source, name_of, parse_number, telling_of
from malleable.files.writing import write_file
from malleable.jobs.table import Floats, Integers
from malleable.slotted.generate import even_split, task_range
from malleable.slotted.table import MapReduceJobs
from malleable.traces.map_shuffle_traces import read_map_shuffle_google2011, read_map_shuffle_swim
from malleable.traces.rumen import read_rumen_tasks

__all__ = [
    "read_map_reduce_google2011",
    "read_map_reduce_jobs",
    "read_map_reduce_rumen",
    "read_map_reduce_swim",
    "write_map_reduce_jobs",
]

_MOST_TASKS = 1 << 26  # reduce tasks of a table
_COLUMNS = ("name", "arrival", "map", "reduce", "reduce_estimate")


def read_map_reduce_jobs(
    source: Source, *, errors: str = "raise", max_size: int | None = MAX_SIZE
) -> MapReduceJobs:
    """Read ``name, arrival, map, reduce`` from CSV with a header, plain or gzip.

    ``arrival`` is a slot from 1 (1 if the column is missing), ``reduce`` a list ``r1;r2;...`` of
    task lengths (blank: none); only ``map`` and ``reduce`` are required; ``reduce_estimate`` may
    follow. ``errors`` and ``max_size`` are those of `read_swim`.

    Raises
    ------
    ValueError
        One line that names the file, the line (from 1) and the column.
    OSError
        The file cannot be opened.
    """
    bad = BadRecords(errors)
    columns, where = read_columns(source, _COLUMNS, ("map", "reduce"), _value, bad, max_size)
    bad.settle(where, len(columns["map"]))
    with telling_of(where):
        return MapReduceJobs(**columns)


def _value(column: str, cell: str) -> str | float | list[float]:
    if column == "name":
        return without_apostrophe(cell)
    if column != "reduce":
        return parse_number(cell)
    try:
        return [parse_number(part) for part in cell.split(";")] if cell.strip() else []
    except ValueError:
        raise ValueError("not a list r1;r2;...") from None


def write_map_reduce_jobs(
    jobs: MapReduceJobs, path: str | os.PathLike[str], force: bool = True
) -> None:
    """Write the table as `read_map_reduce_jobs` reads it; ``force=False`` refuses an existing file."""
    lists = (";".join(map(str, lengths)) for lengths in jobs.reduce)
    columns: list[Any] = [jobs.name, jobs.arrival.tolist(), jobs.map.tolist(), lists]
    if jobs.reduce_estimate is not None:
        columns.append(jobs.reduce_estimate.tolist())
    write_file(path, csv_text(dict(zip(_COLUMNS, columns, strict=False))), force=force)


def _slots_of(seconds: Floats, slot_seconds: float) -> Integers:
    """The slots in which these times lie, the first time being in slot 1."""
    first = float(seconds.min()) if len(seconds) else 0.0
    return _whole("arrival", np.floor((seconds - first) / slot_seconds) + 1)


def _whole(field: str, values: Floats) -> Integers:
    """Whole numbers as integers, which have to hold them."""
    for row in np.flatnonzero(~(np.abs(values) < 2.0**60))[:1]:
        raise ValueError(f"{field}[{row}] = {values[row]:g}: more than 2^60 slots or units")
    return values.astype(np.int64)


def _all_tasks(counts: Integers) -> Integers:
    """Offsets of so many reduce tasks a job."""
    if counts.sum(dtype=np.float64) > _MOST_TASKS:
        row = int(np.argmax(counts))
        raise ValueError(
            f"{counts.sum(dtype=np.float64):,.0f} reduce tasks, {counts[row]:,} of them of job {row};"
            f" there may be {_MOST_TASKS:,}"
        )
    return np.concatenate(([0], np.cumsum(counts)))


def _units(work: Floats) -> Integers:
    # 1e-9: a whole number of units that rounding put a hair above it stays that number.
    return _whole("units", np.ceil(work - 1e-9))


def read_map_reduce_swim(
    source: Source,
    *,
    slot_seconds: float = 20.0,
    block_bytes: float = 64 * 2**20,
    reduce_bytes: float = 1e9,
    reduce_seconds: float = 300.0,
    errors: str = "raise",
    max_size: int | None = MAX_SIZE,
) -> MapReduceJobs:
    """Read a SWIM trace: a map task a block of input, a reduce task per ``reduce_bytes`` shuffled.

    Parameters
    ----------
    source : path or file object
        Plain or gzip.
    slot_seconds : float
        Length of a slot [s], which is the time of a map task.
    block_bytes, reduce_bytes : float
        Bytes of one map and of one reduce task.
    reduce_seconds : float
        Time of a whole reduce task [s]; it takes the slots that this fills, rounded up. What is
        left over makes one more, shorter task.
    errors, max_size
        As `read_swim`.

    Raises
    ------
    ValueError, OSError
        As `read_swim`; a parameter that is not above 0.

    Notes
    -----
    The trace knows bytes only; all four parameters are choices.
    """
    length = checked_positive("slot_seconds", slot_seconds)
    seconds = checked_positive("reduce_seconds", reduce_seconds)
    read = read_map_shuffle_swim(
        source,
        map_rate=checked_positive("block_bytes", block_bytes),
        shuffle_rate=checked_positive("reduce_bytes", reduce_bytes),
        errors=errors,
        max_size=max_size,
    )
    with telling_of(name_of(source)):
        whole = np.floor(read.shuffle)
        rest = _units((read.shuffle - whole) * seconds / length)
        offset = _all_tasks(_whole("shuffle", whole) + (rest > 0))
        task = np.full(offset[-1], _units(np.array([seconds / length]))[0])
        task[offset[1:][rest > 0] - 1] = rest[rest > 0]
        arrival = _slots_of(read.arrival, length)
        return MapReduceJobs.from_columns(arrival, _units(read.map), offset, task, read.name)


def read_map_reduce_rumen(
    source: Source,
    *,
    slot_seconds: float | None = None,
    reduce_from: str = "shuffleFinished",
    errors: str = "raise",
    max_size: int | None = MAX_SIZE,
) -> MapReduceJobs:
    """Read a Rumen trace with the lengths of its reduce tasks.

    Parameters
    ----------
    source : path or file object
        Plain or gzip.
    slot_seconds : float, optional
        Length of a slot [s]; the mean time of the trace's map tasks by default, because a map task
        takes one slot whatever its time was.
    reduce_from, errors, max_size
        As `read_rumen`.

    Raises
    ------
    ValueError, OSError
        As `read_rumen`; no map task to take the slot length from.
    """
    given = None if slot_seconds is None else checked_positive("slot_seconds", slot_seconds)
    jobs, where = read_rumen_tasks(
        source, reduce_from=reduce_from, errors=errors, max_size=max_size
    )
    length = given
    if length is None:
        times = [time for job in jobs for time in job.maps]
        if not times or sum(times) <= 0.0:
            raise AdvisedError(
                f"{where}: no map task has a time that could be a slot's length",
                "say slot_seconds",
                "--slot-seconds S says it",
            )
        length = sum(times) / len(times)
    order = sorted(range(len(jobs)), key=lambda row: jobs[row].submit)
    with telling_of(where):
        reduce = [
            [max(1, math.ceil(time / length - 1e-9)) for time in jobs[row].reduces] for row in order
        ]
        submit = np.array([jobs[row].submit for row in order], dtype=np.float64)
        return MapReduceJobs(
            [len(jobs[row].maps) for row in order],
            reduce,
            arrival=_slots_of(submit, length),
            name=[jobs[row].name for row in order],
        )


def read_map_reduce_google2011(
    source: Source,
    *,
    slot_seconds: float = 60.0,
    map_units: float = 15.0,
    reduce_units: float = 15.0,
    tasks: int = 10,
    least_tasks: int = 2,
    errors: str = "raise",
    max_size: int | None = MAX_SIZE,
) -> MapReduceJobs:
    """Read the per-job table of the Google 2011 trace as map and reduce work.

    Parameters
    ----------
    source : path or file object
        Plain or gzip.
    slot_seconds : float
        Length of a slot [s].
    map_units, reduce_units : float
        Mean units of a job's phases; the trace's columns give the proportions, rounded up.
    tasks : int
        Reduce tasks of a job (fewer where there are fewer units), evenly split.
    least_tasks, errors, max_size
        As `read_map_shuffle_google2011`, which says what map and reduce are taken from.

    Raises
    ------
    ValueError, OSError
        As `read_map_shuffle_google2011`; a parameter out of its range.
    """
    length = checked_positive("slot_seconds", slot_seconds)
    maps = checked_positive("map_units", map_units)
    reduces = checked_positive("reduce_units", reduce_units)
    most, _ = task_range(tasks)
    read = read_map_shuffle_google2011(
        source, least_tasks=least_tasks, errors=errors, max_size=max_size
    )
    with telling_of(name_of(source)):
        work = _units(read.shuffle * reduces)
        _all_tasks(np.minimum(work, most))
        split = even_split(work, np.full(len(work), most))
        arrival = _slots_of(read.arrival, length)
        return MapReduceJobs.from_columns(arrival, _units(read.map * maps), *split, read.name)
