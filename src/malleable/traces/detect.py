"""Reading a workload whose format is known only by looking at it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

from malleable.domain import checked_choice, shown
from malleable.files.reading import MAX_SIZE, Source, head_of, open_bytes, parse_number
from malleable.jobs.table import Jobs
from malleable.traces.arrow_columns import PARQUET_MAGIC, is_frame
from malleable.traces.job_table import COLUMNS, nearest_column, read_jobs
from malleable.traces.rumen import read_rumen
from malleable.traces.swim import read_swim

_FORMATS: dict[str, Callable[..., Jobs]] = {
    "job table": read_jobs,
    "SWIM trace": read_swim,
    "Rumen trace": read_rumen,
}


def _looks_like_swim(line: str) -> bool:
    cells = line.split("\t")
    try:
        return len(cells) >= 6 and math.isfinite(parse_number(cells[1]))
    except ValueError:
        return False


def _format(head: bytes, where: str) -> str:
    """The format of a file that begins with ``head``."""
    if head.startswith(PARQUET_MAGIC):
        return "job table"
    if b"\0" in head:
        raise ValueError(f"{where}: binary data, neither gzip nor Parquet")
    # The head may end within a character; a wrong byte elsewhere is the reader's to report.
    start = head.decode("utf-8-sig", errors="replace").lstrip("\r\n \f\v")
    if not start:
        raise ValueError(f"{where}: empty, no workload in it")
    if start[0] == "{":
        return "Rumen trace"
    line = start.splitlines()[0]
    if _looks_like_swim(line):
        return "SWIM trace"
    cells = [cell.strip().strip('"') for cell in line.split(",")]
    # A header with a misspelt column is still a header: its reader says which column it is.
    if any(cell in COLUMNS or nearest_column(cell) for cell in cells):
        return "job table"
    raise ValueError(
        f"{where}: unknown format, begins with {shown(line)}; expected a job table (CSV with a"
        " header that has 'work', or Parquet), a SWIM trace (tab-separated) or a Rumen trace"
        " (JSON objects)"
    )


def workload_format(source: Source | Any) -> str:
    """What `read_workload` takes a source for: a job table, a SWIM trace or a Rumen trace.

    Parameters
    ----------
    source : path, file object or data frame
        A file object has to be able to go back to where it stands, and does.

    Returns
    -------
    str
        ``job table``, ``SWIM trace`` or ``Rumen trace``.

    Raises
    ------
    ValueError, OSError
        As `read_workload` for an unknown format, and for a file that cannot be opened.
    """
    if is_frame(source):
        return "job table"
    return _format(*head_of(source))


def read_workload(
    source: Source | Any,
    *,
    phase: str = "map",
    at: float | None = None,
    errors: str = "raise",
    max_size: int | None = MAX_SIZE,
    **options: Any,
) -> Jobs:
    """Read a job table or a trace, whichever it is by its content.

    Parameters
    ----------
    source : path, file object or data frame
        A job table (CSV or Parquet), a SWIM trace or a Rumen trace, plain or gzip.
    phase : {"map", "reduce"}
        The phase to read from a trace; a job table has no phases.
    at : float, optional
        Time of a snapshot [s]. Rumen traces: see `read_rumen`. Tables and SWIM traces, which do
        not say when work was done: the jobs that had arrived by then, with all of their work.
    errors : {"raise", "skip"}
        What to do about malformed records of a trace; a job table is right or wrong as a whole.
    max_size : int or None
        Bytes that the file may have, unpacked; None: any number.
    **options
        Further keyword arguments of `read_swim` or `read_rumen`.

    Returns
    -------
    Jobs
        As `read_jobs`, `read_swim` or `read_rumen` gives them.

    Raises
    ------
    ValueError
        The format is unknown, an option is not for it, or the reader finds something wrong.
    ImportError
        Parquet or a data frame, and pyarrow is not installed.
    OSError
        The file cannot be opened.
    """
    checked_choice("errors", errors, ("raise", "skip"))
    options = {**options, "max_size": max_size}
    if is_frame(source):
        return _read_as("job table", source, phase, at, errors, options)
    with open_bytes(source, max_size) as (stream, where):
        return _read_as(_format(stream.peek(), where), stream, phase, at, errors, options)


def _read_as(
    kind: str, source: Any, phase: str, at: float | None, errors: str, options: dict[str, Any]
) -> Jobs:
    reader = _FORMATS[kind]
    known = [name for name in inspect.signature(reader).parameters if name != "source"]
    for name in options:
        if name not in known:
            raise ValueError(f"option {name!r} does not apply to a {kind}")
    if "phase" in known:
        options = {**options, "phase": phase, "errors": errors}
    if "at" in known:
        return reader(source, at=at, **options)
    jobs = reader(source, **options)
    return jobs if at is None else jobs.at(at)
