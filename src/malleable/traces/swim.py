"""SWIM traces: jobs of Facebook's Hadoop clusters, known by their bytes only.

Source: Chen et al., "The case for evaluating MapReduce performance using workload suites"
(MASCOTS 2011). Tab-separated lines without a header: name, submit time [s], gap to the previous
submit [s], map input [bytes], shuffle [bytes], reduce output [bytes]; some samples append paths of
their input and output, one or several, which are ignored. There are no task counts and no run
times, so the rates that turn bytes into tasks and slot-seconds are parameters, and choices.
"""

from __future__ import annotations

import math

import numpy as np

from malleable.domain import checked_choice, checked_positive, shown
from malleable.files.bad_records import BadRecords, trace_lines
from malleable.files.reading import MAX_SIZE, Source, open_text, parse_number, telling_of
from malleable.jobs.table import Floats, Jobs

_FIELDS = ("submit time", "gap", "map input", "shuffle", "reduce output")
_END = 2.0**60  # no time in seconds and no number of bytes comes near it


def _parse(line: str) -> tuple[str, list[float]]:
    """Name and the five numbers of a line; ValueError says what is wrong with it."""
    cells = line.split("\t")
    if len(cells) < 1 + len(_FIELDS):
        raise ValueError(f"{len(cells)} tab-separated fields, expected at least 6")
    if not cells[0]:
        raise ValueError("blank job name")
    numbers: list[float] = []
    for field, cell in zip(_FIELDS, cells[1:], strict=False):
        try:
            value = parse_number(cell)
        except ValueError:
            raise ValueError(f"{field} = {shown(cell)}: not a number") from None
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{field} = {shown(cell)}: must be finite and not negative")
        if value >= _END:
            raise ValueError(f"{field} = {shown(cell)}: must be below 2^60")
        numbers.append(value)
    return cells[0], numbers


def swim_rows(
    source: Source, bad: BadRecords, max_size: int | None
) -> tuple[list[str], Floats, str]:
    """Names and numbers of all jobs by arrival (ties: as in the file), and its name for messages.

    The columns are submit time, gap, map input, shuffle, reduce output. Malformed lines go to
    ``bad``.
    """
    names: list[str] = []
    numbers: list[list[float]] = []
    with open_text(source, max_size) as (text, where):
        for index, line in trace_lines(text, bad):
            try:
                name, values = _parse(line)
            except ValueError as error:
                bad.add(f"line {index}: {error}")
                continue
            names.append(name)
            numbers.append(values)
    bad.settle(where, len(names), 4)
    if not names:
        raise ValueError(f"{where}: empty; a SWIM trace has one line a job")
    rows = np.array(numbers, dtype=np.float64)
    order = np.argsort(rows[:, 0], kind="stable")
    return [names[row] for row in order.tolist()], rows[order], where


def read_swim(
    source: Source,
    *,
    phase: str = "map",
    block_bytes: float = 64 * 2**20,
    task_seconds: float = 20.0,
    reduce_bytes: float = 1e9,
    reduce_seconds: float = 300.0,
    keep_zero: bool = True,
    errors: str = "raise",
    max_size: int | None = MAX_SIZE,
) -> Jobs:
    """Read one phase of a SWIM trace.

    With ``bytes`` the map input (phase "map") or the shuffle (phase "reduce") of a job::

        map:    work = bytes / block_bytes * task_seconds     max_slots = ceil(bytes / block_bytes)
        reduce: work = bytes / reduce_bytes * reduce_seconds  max_slots = ceil(bytes / reduce_bytes)

    and ``max_slots`` at least 1. The last block of a job counts by its size, and starting a task
    costs nothing, so work is proportional to bytes.

    Parameters
    ----------
    source : path or file object
        Plain or gzip.
    phase : {"map", "reduce"}
        Which of the two to read.
    block_bytes : float
        Input of one map task [bytes]; 64 MiB is the file system block of Hadoop at the time.
    task_seconds : float
        Time of a map task with a whole block [s].
    reduce_bytes : float
        Shuffle bytes of one reduce task; 1e9 was Hive's default at the time.
    reduce_seconds : float
        Time of a reduce task with so many bytes [s]; 300 s is about the map tasks' rate.
    keep_zero : bool
        Keep jobs without bytes in this phase as jobs of zero work (they count as done at their
        arrival). Both phases then have the same jobs. False leaves them out.
    errors : {"raise", "skip"}
        Malformed lines: one error that counts them and shows the first, or a warning that counts.
    max_size : int or None
        Bytes that the file may have, unpacked; None: any number.

    Returns
    -------
    Jobs
        In order of arrival (submit time, in seconds since the trace's own origin); jobs that
        arrive together stay in the order of the file.

    Raises
    ------
    ValueError
        One line that names the file and, for a malformed line, its number (from 1) and field; an
        empty file; a parameter that is not above 0.
    OSError
        The file cannot be opened.

    Notes
    -----
    The gap and the reduce output are checked to be numbers and not used further.
    """
    checked_choice("phase", phase, ("map", "reduce"))
    block = checked_positive("block_bytes", block_bytes)
    seconds = checked_positive("task_seconds", task_seconds)
    if phase == "reduce":
        block = checked_positive("reduce_bytes", reduce_bytes)
        seconds = checked_positive("reduce_seconds", reduce_seconds)
    names, rows, where = swim_rows(source, BadRecords(errors), max_size)
    blocks = rows[:, 2 if phase == "map" else 3] / block
    kept = np.flatnonzero((blocks > 0) | keep_zero)
    blocks = blocks[kept]
    with telling_of(where):
        return Jobs(
            blocks * seconds,
            arrival=rows[kept, 0],
            max_slots=np.maximum(np.ceil(blocks), 1).astype(np.int64),
            name=[names[row] for row in kept.tolist()],
        )
