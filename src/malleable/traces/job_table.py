"""The job table: CSV with a header, Parquet, or a data frame; and CSV back again."""

from __future__ import annotations

import difflib
import io
import math
import os
from collections.abc import Sequence
from typing import IO, Any

from malleable.domain import shown
from malleable.files.csv import CsvRows, csv_text, without_apostrophe
from malleable.files.reading import MAX_SIZE, Source, as_text, open_bytes, parse_number, telling_of
from malleable.files.writing import write_file
from malleable.jobs.table import ALL_SLOTS, Jobs
from malleable.traces.arrow_columns import (
    PARQUET_MAGIC,
    frame_columns,
    is_frame,
    parquet_columns,
)
from malleable.traces.formats import Head, register
from malleable.traces.tables import trace_of
from malleable.traces.trace import Trace

COLUMNS = (
    "name",
    "arrival",
    "work",
    "min_slots",
    "max_slots",
    "weight",
    "deadline",
    "sla",
    "user",
)
_NAME = "job table"
_FLOATS = {"arrival": 0.0, "work": None, "weight": 1.0, "deadline": math.inf}
_SLOTS = {"min_slots": 0, "max_slots": ALL_SLOTS}
_TEXTS = ("name", "user")
_INT64_END = 2**63


def nearest_column(name: str) -> str | None:
    """The job table's column whose name is most like ``name``, or None if none is like it."""
    found = difflib.get_close_matches(name.strip().lower(), COLUMNS, n=1)
    return found[0] if found else None


def _check_header(names: Sequence[str], where: str) -> None:
    for index, name in enumerate(names):
        if name not in COLUMNS:
            near = nearest_column(name)
            hint = f"nearest: {near!r}" if near else f"known: {', '.join(COLUMNS)}"
            raise ValueError(f"{where}: unknown column {shown(name)} ({hint})")
        if name in names[:index]:
            raise ValueError(f"{where}: column {name!r} occurs twice")
    if "work" not in names:
        raise ValueError(f"{where}: column 'work' is missing")


def _csv_columns(text: IO[str], where: str) -> list[tuple[str, Sequence[Any]]]:
    rows = [row for row in CsvRows(text, where, strict=True) if row]
    if not rows:
        raise ValueError(f"{where}: empty; a job table starts with a header line")
    header = [cell.strip() for cell in rows.pop(0)]
    _check_header(header, where)
    for index, row in enumerate(rows):
        if len(row) != len(header):
            raise ValueError(
                f"{where}: row {index}: {len(row)} cells, but the header has {len(header)}"
            )
    columns: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(header)
    return [
        (name, [without_apostrophe(cell) for cell in cells] if name in _TEXTS else cells)
        for name, cells in zip(header, columns, strict=True)
    ]


def _is_blank(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _to_float(cell: Any) -> float:
    if isinstance(cell, str):
        return parse_number(cell)
    if isinstance(cell, bool):
        raise ValueError("not a number")
    return float(cell)


def _to_slots(cell: Any) -> int:
    if isinstance(cell, str) and "_" not in cell:
        try:
            return int(cell)
        except ValueError:
            pass  # "4.0" and "1e3" are whole numbers too
    if isinstance(cell, int) and not isinstance(cell, bool):
        return cell
    value = _to_float(cell)
    if not value.is_integer():
        raise ArithmeticError("not a whole number")
    return int(value)


def _to_steps(cell: Any) -> list[tuple[float, float]]:
    if not isinstance(cell, str):
        return [(_to_float(time), _to_float(penalty)) for time, penalty in cell]
    if "_" in cell:
        raise ValueError("not a number")
    pairs = [step.split(":") for step in cell.split(";")]
    return [(float(time), float(penalty)) for time, penalty in pairs]


def _floats(cells: Sequence[Any], field: str, where: str) -> list[float]:
    try:  # a column of plain numbers, as most are
        if "_" not in "".join(cells):
            return list(map(float, cells))
    except (ValueError, TypeError):
        pass
    default = _FLOATS[field]
    values: list[float] = []
    for row, cell in enumerate(cells):
        try:
            values.append(_to_float(cell))
        except (ValueError, TypeError, OverflowError):
            if not _is_blank(cell):
                raise ValueError(
                    f"{where}: row {row}, {field} = {shown(cell)}: not a number"
                ) from None
            if default is None:
                raise ValueError(f"{where}: row {row}, {field}: blank, but required") from None
            values.append(default)
    return values


def _slots(cells: Sequence[Any], field: str, where: str) -> list[int]:
    default = _SLOTS[field]
    values: list[int] = []
    for row, cell in enumerate(cells):
        if _is_blank(cell):
            values.append(default)
            continue
        try:
            value = _to_slots(cell)
            problem = None if -_INT64_END <= value < _INT64_END else "too large"
        except ArithmeticError:
            problem = "not a whole number"
        except (ValueError, TypeError):
            problem = "not a number"
        if problem:
            raise ValueError(f"{where}: row {row}, {field} = {shown(cell)}: {problem}")
        values.append(value)
    return values


def _sla(cells: Sequence[Any], where: str) -> list[list[tuple[float, float]]]:
    values: list[list[tuple[float, float]]] = []
    for row, cell in enumerate(cells):
        try:
            values.append([] if _is_blank(cell) else _to_steps(cell))
        except (ValueError, TypeError):
            raise ValueError(
                f"{where}: row {row}, sla = {shown(cell)}: not of the form t:p;t:p"
            ) from None
    return values


def _texts(cells: Sequence[Any], field: str) -> list[str]:
    blank = "job{}" if field == "name" else ""
    return [
        blank.format(row) if cell is None or cell == "" else str(cell)
        for row, cell in enumerate(cells)
    ]


def _build(columns: Sequence[tuple[str, Sequence[Any]]], where: str) -> Jobs:
    _check_header([name for name, _ in columns], where)
    fields: dict[str, Any] = {}
    for field, cells in columns:
        if field in _FLOATS:
            fields[field] = _floats(cells, field, where)
        elif field in _SLOTS:
            fields[field] = _slots(cells, field, where)
        elif field == "sla":
            fields[field] = _sla(cells, where)
        else:
            fields[field] = _texts(cells, field)
    with telling_of(where):
        return Jobs(**fields)


def read_jobs(source: Source | Any, *, max_size: int | None = MAX_SIZE) -> Jobs:
    """Read a job table.

    Parameters
    ----------
    source : path, file object or data frame
        CSV with a header or Parquet, plain or gzip, known by content; or an object with
        ``__arrow_c_stream__`` or ``__dataframe__`` (pandas, polars, pyarrow ...).
    max_size : int or None
        Bytes that a file may have, unpacked; None: any number.

    Returns
    -------
    Jobs
        One job a row, in the order of the table.

    Raises
    ------
    ValueError
        One line that names the file and what is wrong: an unknown column (with the nearest known
        name), one that occurs twice, no ``work``, a row of another length than the header, a cell
        that is not a number, slots that are not whole, a value that `Jobs` rejects, bytes that
        are not text. Rows are counted from 0 and without the header and blank lines.
    ImportError
        Parquet or a data frame, and pyarrow is not installed.
    OSError
        The file cannot be opened.

    Notes
    -----
    Columns: ``name``, ``arrival`` [s, 0], ``work`` [slot-seconds, required], ``min_slots`` [0],
    ``max_slots`` [all], ``weight`` [1], ``deadline`` [s, none], ``sla`` (``t:p;t:p``) and
    ``user``, in any order. A blank cell means the default in brackets. In CSV an
    apostrophe before a name that begins with one of ``= + - @`` is not part of it (see
    `write_jobs`). Time and memory are linear in the size of the table.
    """
    if is_frame(source):
        return _build(frame_columns(source, "data frame"), "data frame")
    with open_bytes(source, max_size) as (stream, where):
        return _jobs(stream, where, max_size)


def _jobs(stream: Any, where: str, max_size: int | None) -> Jobs:
    if stream.peek(4)[:4] == PARQUET_MAGIC:
        return _build(parquet_columns(stream, where, max_size), where)
    with as_text(stream, where) as text:
        return _build(_csv_columns(text, where), where)


def frame_trace(frame: Any) -> Trace:
    """The trace of a data frame."""
    return trace_of(read_jobs(frame), format=_NAME, where="data frame")


def _looks(head: Head) -> bool:
    # A header with a misspelt column is still a header: the reader says which column it is.
    return head.data.startswith(PARQUET_MAGIC) or any(
        cell in COLUMNS or nearest_column(cell) for cell in head.cells
    )


register(_NAME, _looks, lambda file: trace_of(_jobs(file.stream, file.where, file.max_size)))


def _writable(values: Sequence[str], field: str) -> Sequence[str]:
    for index, value in enumerate(values):
        # Lone surrogates, which UTF-8 cannot hold, are not printable either.
        if not value.isprintable() and ("\0" in value or value != _utf8(value)):
            raise ValueError(f"{field}[{index}] = {shown(value)}: cannot be written as text")
        if field == "name" and not value:
            raise ValueError(f"name[{index}] = '': a blank name does not survive a job table")
    return values


def _utf8(value: str) -> str:
    return value.encode(errors="replace").decode()


def _csv_text(jobs: Jobs) -> str:
    columns: dict[str, Sequence[Any]] = {
        "name": _writable(jobs.name, "name"),
        "arrival": jobs.arrival.tolist(),
        "work": jobs.work.tolist(),
        "min_slots": jobs.min_slots.tolist(),
        "max_slots": ["" if m == ALL_SLOTS else m for m in jobs.max_slots.tolist()],
        "weight": jobs.weight.tolist(),
        "deadline": ["" if math.isinf(d) else d for d in jobs.deadline.tolist()],
    }
    if len(jobs.sla_time):
        columns["sla"] = [";".join(f"{t!r}:{p!r}" for t, p in steps) for steps in jobs.sla]
    if jobs.user is not None:
        columns["user"] = _writable(jobs.user, "user")
    return csv_text(columns, plain=["sla"])


def write_jobs(
    jobs: Jobs, target: str | os.PathLike[str] | IO[str] | IO[bytes], force: bool = True
) -> None:
    """Write a job table as CSV that `read_jobs` reads back identically, to the last bit.

    Parameters
    ----------
    jobs : Jobs
        The table. ``max_slots`` of all slots and no deadline become blank cells.
    target : path or file object
        A path is written as a whole or not at all; a file object, text or binary, is written to
        where it stands and left open.
    force : bool
        False: an existing file is refused.

    Raises
    ------
    FileExistsError
        The path exists and ``force`` is false.
    ValueError
        A name or user that text cannot hold (NUL, lone surrogates), or a blank name.

    Notes
    -----
    A name or user that a spreadsheet would run (it begins with ``=``, ``+``, ``-``, ``@``, a tab or
    a line break) gets an apostrophe in front, as spreadsheets themselves write it.
    """
    text = _csv_text(jobs)
    if isinstance(target, (str, os.PathLike)):
        write_file(target, text, force=force)
        return
    stream: Any = target
    if isinstance(target, (io.RawIOBase, io.BufferedIOBase)) or "b" in getattr(target, "mode", ""):
        stream.write(text.encode())
    else:
        stream.write(text)
