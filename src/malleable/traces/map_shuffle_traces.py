"""Map and shuffle jobs from files: our own table, SWIM, Rumen, Google 2011."""

from __future__ import annotations

import numpy as np

from malleable.domain import checked_positive, shown
from malleable.files.bad_records import BadRecords
from malleable.files.csv import CsvRows, read_columns, without_apostrophe
from malleable.files.reading import MAX_SIZE, Source, open_text, parse_number, telling_of
from malleable.tandem.table import MapShuffleJobs
from malleable.traces.rumen import read_rumen_phases
from malleable.traces.swim import swim_rows

__all__ = [
    "read_map_shuffle_google2011",
    "read_map_shuffle_jobs",
    "read_map_shuffle_rumen",
    "read_map_shuffle_swim",
]

_COLUMNS = ("name", "arrival", "map", "shuffle", "weight", "map_estimate", "shuffle_estimate")
_END = 2.0**60


def read_map_shuffle_jobs(
    source: Source, *, errors: str = "raise", max_size: int | None = MAX_SIZE
) -> MapShuffleJobs:
    """Read ``name, arrival, map, shuffle, weight`` from CSV with a header, plain or gzip.

    Only ``map`` and ``shuffle`` are required; ``map_estimate`` and ``shuffle_estimate`` may follow.
    ``errors`` and ``max_size`` are those of `read_swim`.

    Raises
    ------
    ValueError
        One line that names the file, the line (from 1) and the column.
    OSError
        The file cannot be opened.
    """
    bad = BadRecords(errors)
    columns, where = read_columns(source, _COLUMNS, ("map", "shuffle"), _value, bad, max_size)
    bad.settle(where, len(columns["map"]))
    with telling_of(where):
        return MapShuffleJobs(**columns)


def _value(column: str, cell: str) -> str | float:
    return without_apostrophe(cell) if column == "name" else parse_number(cell)


def read_map_shuffle_swim(
    source: Source,
    *,
    map_rate: float = 64 * 2**20 / 20,
    shuffle_rate: float = 1e9 / 300,
    errors: str = "raise",
    max_size: int | None = MAX_SIZE,
) -> MapShuffleJobs:
    """Read a SWIM trace; a phase's work is its bytes / rate [bytes a second at capacity 1].

    ``errors`` and ``max_size`` are those of `read_swim`.

    Raises
    ------
    ValueError, OSError
        As `read_swim`.

    Notes
    -----
    SWIM says nothing of run times; the default rates are those of one slot in `read_swim`.
    """
    rates = checked_positive("map_rate", map_rate), checked_positive("shuffle_rate", shuffle_rate)
    names, rows, where = swim_rows(source, BadRecords(errors), max_size)
    arrival, _, bytes_in, shuffled, _ = rows.T
    with telling_of(where):
        return MapShuffleJobs(bytes_in / rates[0], shuffled / rates[1], arrival=arrival, name=names)


def read_map_shuffle_rumen(
    source: Source,
    *,
    shuffle_rate: float = 1e9 / 300,
    errors: str = "raise",
    max_size: int | None = MAX_SIZE,
) -> MapShuffleJobs:
    """Read a Rumen trace: slot-seconds of the map phase, and bytes shuffled / rate.

    Parameters
    ----------
    source : path or file object
        Plain or gzip.
    shuffle_rate : float
        Bytes a second at capacity 1.
    errors : {"raise", "skip"}
        What to do about a job that contradicts itself, or whose shuffled bytes are unknown.
    max_size : int or None
        Bytes that the file may have, unpacked; None: any number.

    Raises
    ------
    ValueError, OSError
        As `read_rumen`.

    Notes
    -----
    Bytes rather than times, because a first-wave reducer's shuffle contains its waiting for the maps.
    """
    rate = checked_positive("shuffle_rate", shuffle_rate)
    rows, where = read_rumen_phases(source, errors=errors, max_size=max_size)
    names, arrivals, maps, amounts = zip(*rows, strict=True) if rows else ((),) * 4
    with telling_of(where):
        return MapShuffleJobs(maps, np.array(amounts) / rate, arrival=arrivals, name=names)


def read_map_shuffle_google2011(
    source: Source,
    *,
    map_column: str = "sum_cpu_request_x_runtime",
    shuffle_column: str = "sum_disk_request",
    least_tasks: int = 2,
    errors: str = "raise",
    max_size: int | None = MAX_SIZE,
) -> MapShuffleJobs:
    """Read the per-job table of the Google 2011 trace; both phases are scaled to mean 1.

    Jobs of fewer than ``least_tasks`` tasks, jobs that did not end inside the window and jobs with
    nothing in either column are left out (Lin et al. 2013, section 5.1, filters in this spirit and,
    lacking intermediate data too, takes the local disk for the shuffle). ``errors`` and
    ``max_size`` are those of `read_swim`.

    Raises
    ------
    ValueError
        A column is missing or not a number, or no job is left.
    OSError
        The file cannot be opened.
    """
    wanted = ("submit_us", "n_tasks", "complete", map_column, shuffle_column)
    with open_text(source, max_size) as (text, where):
        rows = CsvRows(text, where)
        kept: list[tuple[float, float, float, str]] = []
        bad, read = BadRecords(errors), 0
        for row in rows.dicts(("job_id", *wanted)):
            read += 1
            try:
                numbers = [_google_number(column, row[column]) for column in wanted]
            except ValueError as error:
                bad.add(f"line {rows.line}: {error}")
                continue
            arrival, tasks, complete, size, data = numbers
            if tasks >= least_tasks and complete and size > 0 and data > 0:
                kept.append((arrival / 1e6, size, data, row["job_id"] or ""))
    bad.settle(where, read - bad.count)
    if not kept:
        raise ValueError(f"{where}: no job is left")
    kept.sort(key=lambda job: job[0])
    arrivals, sizes, amounts, names = zip(*kept, strict=True)
    maps, shuffles = np.array(sizes), np.array(amounts)
    with telling_of(where):
        return MapShuffleJobs(
            maps / maps.mean(),
            shuffles / shuffles.mean(),
            arrival=np.array(arrivals) - arrivals[0],
            name=names,
        )


def _google_number(column: str, cell: str | None) -> float:
    try:
        value = parse_number(cell or "")
    except ValueError:
        raise ValueError(f"{column} = {shown(cell)}: not a number") from None
    if not abs(value) < _END:
        raise ValueError(f"{column} = {shown(cell)}: must be below 2^60")
    return value
