"""Tables of jobs of every model: CSV with a header, Parquet, or a data frame; and how job tables are written as
CSV. The header shows the model (`_TABLES`); the parameters of its table's class are the columns. The name of a
column says how its cells are read (`_CELLS`); a blank cell is the default."""

from __future__ import annotations

import inspect
import io
import math
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from datetime import date
from itertools import chain
from typing import IO, Any, NamedTuple, TypeAlias

from malleable.cluster.table import ClusterJobs
from malleable.files.bad_records import BadRecords
from malleable.files.csv import check_head, csv_rows, csv_text, without_apostrophe
from malleable.files.numbers import parse_moment, parse_number
from malleable.files.reading import (
    MAX_SIZE,
    DamageError,
    Source,
    as_text,
    open_bytes,
    telling_of,
)
from malleable.files.writing import write_file
from malleable.flows.table import Flows
from malleable.jobs.table import ALL_SLOTS, RESTARTS, Jobs
from malleable.slotted.table import MapReduceJobs
from malleable.tandem.table import MapShuffleJobs
from malleable.traces.arrow_columns import PARQUET_MAGIC, frame_columns, is_frame, parquet_columns
from malleable.traces.formats import File, Format, Head
from malleable.traces.tables import trace_of
from malleable.traces.trace import Trace
from malleable.validation import check_keys, near, shown

_Rows: TypeAlias = "tuple[Sequence[str], Sequence[Sequence[Any]]]"  # header, and cells of each row
_INT64_END = 2**63
_MOST_TIMED = 1 << 26  # most tasks of all jobs, if some tasks have their own times


def _float(cell: Any) -> float:
    if isinstance(cell, bool):
        raise ValueError("not a number")
    try:
        return parse_number(cell) if isinstance(cell, str) else float(cell)
    except (ValueError, TypeError, OverflowError):
        raise ValueError("not a number") from None


def _moment(cell: Any) -> float:
    if isinstance(cell, date):
        cell = cell.isoformat()
    return parse_moment(cell) if isinstance(cell, str) else _float(cell)


def _slots(cell: Any) -> int:
    if isinstance(cell, str) and "_" not in cell:
        with suppress(ValueError):  # "4.0" and "1e3" are whole numbers too
            cell = int(cell)
    if not isinstance(cell, int) or isinstance(cell, bool):
        cell = _float(cell)
        if not cell.is_integer():
            raise ValueError("not a whole number")
    if not -_INT64_END <= cell < _INT64_END:
        raise ValueError("too large")
    return int(cell)


def _steps(cell: Any) -> list[tuple[float, float]]:
    pairs = [step.rsplit(":", 1) for step in cell.split(";")] if isinstance(cell, str) else cell
    try:
        return [(_moment(time), _float(penalty)) for time, penalty in pairs]
    except (ValueError, TypeError):
        raise ValueError("not of the form t:p;t:p") from None


def _list(cell: Any) -> list[float]:
    parts = cell.split(";") if isinstance(cell, str) else cell
    return [
        _float(part)
        for part in parts
        if not ((isinstance(part, str) and part.isspace()) or part == "")
    ]


def _number_or_list(cell: Any) -> float | list[float]:
    several = ";" in cell if isinstance(cell, str) else hasattr(cell, "__iter__")
    return _list(cell) if several else _float(cell)


# By field: the function that reads a cell.
_CELLS: dict[str, Callable[[Any], Any]] = {
    "name": str, "user": str, "program": str, "min_mode": str,
    "arrival": _moment, "deadline": _moment, "sla": _steps,
    "min_slots": _slots, "max_slots": _slots, "preferred": _slots,
    "speedup": _number_or_list, "map_seconds": _number_or_list, "reduce_seconds": _number_or_list,
    "reduce": _list,
}  # fmt: skip
# Values of blank cells, if they differ from the parameter's default (`_column` makes names).
_BLANKS: dict[str, Any] = {
    "name": None, "user": "", "program": "", "deadline": math.inf, "sla": (), "max_slots": ALL_SLOTS,
    "speedup": None, "reduce": (), "min_mode": "guarantee", "preferred": 0,
    "restart": 0.0, "restart_slot": 0.0,
}  # fmt: skip
# Faster functions for cells that are plain numbers.
_PLAIN: dict[Any, Callable[[str], Any]] = {_float: float, _moment: float, _slots: int}


class _Table(NamedTuple):
    """A kind of table: its name, its class, and columns by which it is recognised."""

    name: str
    make: Callable[..., Any]
    told: Sequence[str] = ()

    @property
    def columns(self) -> list[str]:
        # Not columns: rates by node, and the links of flows, which other formats give; sizes are computed.
        known = inspect.signature(self.make).parameters
        return [name for name in known if name not in ("rate", "after", "flow", "size")]

    @property
    def needed(self) -> list[str]:
        # Those without which there is no table.
        known = inspect.signature(self.make).parameters.values()
        return [one.name for one in known if one.default is one.empty]

    def blank(self, column: str) -> Any:
        # What a blank cell means. None: it must not be blank (for names and speed-ups None is the value).
        default = inspect.signature(self.make).parameters[column].default
        if column == "arrival" and default is None:
            return 0.0
        return _BLANKS.get(column, None if default is inspect.Parameter.empty else default)


_JOBS = _Table("job table", Jobs)
_FLOWS = _Table("table of flows", Flows, ("jobs",))
_TABLES = (
    _Table("table of cluster jobs", ClusterJobs, ("maps", "map_seconds")),
    _Table("table of map and reduce jobs", MapReduceJobs, ("reduce",)),
    _Table("table of map and shuffle jobs", MapShuffleJobs, ("map", "shuffle")),
    _JOBS,
)


def _table_of(header: Collection[str], known: Sequence[_Table] = _TABLES) -> _Table:
    # The first of these kinds of which one of its own columns is in the header, or the last kind.
    return next((each for each in known if not set(each.told).isdisjoint(header)), known[-1])


def _column(field: str, cells: Sequence[Any], numbers: Sequence[int], of: _Table) -> list[Any]:
    # Values of a column; ``numbers`` are the numbers of its rows, for errors.
    parse: Any = _CELLS.get(field, _float)
    blank = of.blank(field)
    plain = _PLAIN.get(parse)
    if plain is not None:
        with suppress(ValueError, TypeError):  # a column of plain numbers, the usual case
            numbers_only = "_" not in "".join(cells) and list(map(plain, cells))
            if numbers_only and (plain is float or max(map(abs, numbers_only)) < _INT64_END):
                return numbers_only
    values = []
    for row, cell in zip(numbers, cells, strict=True):
        if cell is None or cell == "" or (parse is not str and str(cell).isspace()):
            if blank is None and field not in _BLANKS:
                raise ValueError(f"row {row}, {field}: blank, but required")
            values.append(f"job{row}" if field == "name" else blank)
            continue
        try:
            values.append(parse(cell))
        except ValueError as error:
            raise ValueError(f"row {row}, {field} = {shown(cell)}: {error}") from None
    return values


def _spread(fields: dict[str, list[Any]]) -> None:
    # A time for each task, where some jobs of a column have a list of them and others a number.
    for phase in ("map", "reduce"):
        times = fields.get(f"{phase}_seconds", [])
        if not any(isinstance(own, list) for own in times):
            continue
        tasks = fields.get(f"{phase}s", [0.0] * len(times))
        if sum(tasks) > _MOST_TIMED:
            most = f"where some have times of their own there may be {_MOST_TIMED:,}"
            raise ValueError(f"{sum(tasks):,.0f} {phase} tasks; {most}")
        fields[f"{phase}_seconds"] = [
            own if isinstance(own, list) else [own] * int(max(number, 0.0))
            for own, number in zip(times, tasks, strict=True)
        ]


def _build(of: _Table, header: Sequence[str], rows: Sequence[tuple[int, Sequence[Any]]]) -> Any:
    for row, cells in rows:
        if len(cells) != len(header):
            raise ValueError(f"row {row}: {len(cells)} cells, but the header has {len(header)}")
    columns = list(zip(*(cells for _, cells in rows), strict=True)) or [()] * len(header)
    numbers = [row for row, _ in rows]
    each = zip(header, columns, strict=True)
    fields = {name: _column(name, own, numbers, of) for name, own in each}
    _spread(fields)
    with telling_of(f"row {numbers[0]}") if len(numbers) == 1 and numbers[0] else nullcontext():
        return of.make(**fields)


def _of_columns(columns: Sequence[tuple[str, Sequence[Any]]]) -> _Rows:
    return [name for name, _ in columns], list(zip(*(cells for _, cells in columns), strict=True))


def _between(header: str) -> str:
    # What stands between cells: semicolons (as where a comma is the decimal point), or commas.
    return ";" if ";" in header and "," not in header else ","


def _rows(stream: Any, where: str, max_size: int | None, bad: BadRecords | None = None) -> _Rows:
    if stream.peek(4)[:4] == PARQUET_MAGIC:
        return _of_columns(parquet_columns(stream, where, max_size))
    with as_text(stream, where) as text:
        head = [text.readline()]
        while head[-1] and not head[-1].strip():
            head.append(text.readline())
        lines, between = chain(head, text), _between(head[-1])
        with csv_rows(lines, strict=True, between=between) as cells:
            rows: list[list[str]] = []
            try:
                rows.extend(filter(None, cells))
            except DamageError as error:
                if bad is None or not rows:
                    raise
                bad.add(f"after row {len(rows) - 2}: {error}")
    if not rows:
        raise ValueError("empty; a job table starts with a header line")
    header = [cell.strip() for cell in rows[0]]
    texts = [column for column, name in enumerate(header) if _CELLS.get(name) is str]
    for row in rows[1:]:
        for column in texts:
            row[column : column + 1] = map(without_apostrophe, row[column : column + 1])
    return header, rows[1:]


def _made(table: _Rows, of: _Table, file: File | None = None) -> Any:
    header, rows = table
    check_keys("", header, of.columns, "column")
    check_head(header, of.needed)
    numbered = list(enumerate(rows))
    if file is None:
        return _build(of, header, numbered)
    # All rows at once; if that fails and bad rows may be left out, halves of them, down to single bad rows.
    return file.whole(numbered, lambda some: _build(of, header, some), "rows")


def table_of(given: Any, *kinds: type, field: str = "jobs") -> Any:
    """A table of one of these kinds: itself, or of a data frame, or of a dict of its arguments. ValueError
    for others, and for columns that the table does not have (with the nearest known name)."""
    if isinstance(given, kinds):
        return given
    known = [each for each in (_FLOWS, *_TABLES) if each.make in kinds]
    if is_frame(given):
        rows = _of_columns(frame_columns(given, "data frame"))
        with telling_of("data frame"):
            return _made(rows, _table_of(rows[0], known))
    if isinstance(given, Mapping):
        of = _table_of(given, known)
        check_keys(f"{field}: ", given, list(inspect.signature(of.make).parameters), "column")
        if missing := [name for name in of.needed if name not in given]:
            raise ValueError(f"{field}: column {missing[0]!r} is missing")
        return of.make(**given)
    if isinstance(given, (str, os.PathLike)):
        of_flows = "mb.read_flows" if known == [_FLOWS] else "mb.read"
        reader = "mb.read_jobs" if _JOBS in known else of_flows
        raise ValueError(f"{field} = {shown(given)}: a path; {reader}(path) reads it")
    names = " or ".join(each.make.__name__ for each in known)
    told = "expected a table ({}), a data frame or a dict of columns, not {}"
    raise ValueError(f"{field}: {told.format(names, type(given).__name__)}")


def read_jobs(source: Source | Any, *, max_size: int | None = MAX_SIZE) -> Jobs:
    r"""Read a job table.

    Parameters
    ----------
    source : path, file object or data frame
        CSV with a header or Parquet, plain, gzip or zstd (the content tells which); or an object with
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
        One line that names the file and what is wrong. Rows are counted from 0 and without the header and
        blank lines.
    ImportError
        Parquet or a data frame, and pyarrow is not installed.
    OSError
        The file cannot be opened.

    See Also
    --------
    malleable.Jobs : What is returned.

    Notes
    -----
    Columns: ``name``, ``arrival`` [s, 0], ``work`` [slot-seconds, required], ``min_slots`` [0], ``max_slots``
    [all], ``weight`` [1], ``deadline`` [s, none], ``sla`` (``t:p;t:p``: a job that ends after time t costs p),
    ``speedup`` (p, or rates ``1;1.9;2.7``; linear), ``min_mode`` (``guarantee`` or ``start``), ``preferred``
    [none], ``restart`` and the other columns of restarts [s, 0] and ``user``, in any order. A blank cell means
    the default in brackets. Times are numbers or ISO dates such as ``2024-05-01T09:30`` (seconds since 1970;
    UTC unless they have a zone). Commas separate cells of CSV, or semicolons if the header has no comma. If a
    name in CSV has an apostrophe before one of ``= + - @``, the apostrophe is not part of the name (see
    `write_jobs`). Time and memory are linear in the size of the table.

    Examples
    --------
    >>> import io
    >>> import malleable as mb
    >>> jobs = mb.read_jobs(io.StringIO("name,work,max_slots\nnightly,4000,100\nadhoc,300,20\n"))
    >>> jobs.max_slots
    array([100,  20])
    """
    if is_frame(source):
        found: Jobs = table_of(source, Jobs)
        return found
    with open_bytes(source, max_size) as (stream, where), telling_of(where):
        made: Jobs = _made(_rows(stream, where, max_size), _JOBS)
        return made


def frame_trace(frame: Any) -> Trace:
    """The trace of a data frame."""
    with telling_of("data frame"):
        return _traced(_of_columns(frame_columns(frame, "data frame")), where="data frame")


def _traced(rows: _Rows, file: File | None = None, **more: Any) -> Trace:
    of = _table_of(rows[0])
    return trace_of(_made(rows, of, file), format=of.name, **more)


def _writable(values: Sequence[str], field: str) -> Sequence[str]:
    for index, value in enumerate(values):
        # Lone surrogates, which UTF-8 cannot hold, are not printable either.
        utf8 = value.encode(errors="replace").decode()
        if not value.isprintable() and ("\0" in value or value != utf8):
            raise ValueError(f"{field}[{index}] = {shown(value)}: cannot be written as text")
        if field == "name" and not value:
            raise ValueError(f"name[{index}] = '': a blank name does not survive a job table")
    return values


def _rule_text(rule: Any) -> Any:
    return rule if isinstance(rule, float) else ";".join(map(repr, rule.tolist()))


def _csv_text(jobs: Jobs) -> str:
    columns: dict[str, Any] = {"name": _writable(jobs.name, "name")}
    for field in ("arrival", "work", "min_slots", "max_slots", "weight", "deadline"):
        none, values = _BLANKS.get(field), getattr(jobs, field).tolist()
        columns[field] = ["" if value == none else value for value in values]
    steps = jobs.sla if len(jobs.sla_time) else []
    more: dict[str, Any] = {
        "sla": [";".join(f"{t!r}:{p!r}" for t, p in own) for own in steps] or None,
        "speedup": None if jobs.speedup is None else list(map(_rule_text, jobs.speedup)),
        "min_mode": jobs.min_mode,
        "preferred": jobs.preferred.tolist() or None,
        **{name: getattr(jobs, name).tolist() or None for name in RESTARTS},
        "user": None if jobs.user is None else _writable(jobs.user, "user"),
    }
    columns |= {name: column for name, column in more.items() if column is not None}
    return csv_text(columns, plain=["sla", "speedup"])


def write_jobs(
    jobs: Jobs, target: str | os.PathLike[str] | IO[str] | IO[bytes], force: bool = True
) -> None:
    """Write a job table as CSV that `read_jobs` reads back identically, to the last bit.

    Parameters
    ----------
    jobs : Jobs
        The table. ``max_slots`` of all slots and no deadline become blank cells.
    target : path or file object
        A path is written as a whole or not at all. A file object, text or binary, is written at its current
        place and stays open.
    force : bool
        False: an existing file is refused.

    Raises
    ------
    FileExistsError
        The path exists and ``force`` is false.
    ValueError
        A name or user that text cannot hold (NUL, lone surrogates), or a blank name.

    See Also
    --------
    malleable.read_jobs : Reads the file again.

    Notes
    -----
    A name or user that a spreadsheet would run (it begins with ``=``, ``+``, ``-``, ``@``, a tab or
    a line break) gets an apostrophe in front, as spreadsheets themselves write it. O(J).

    Examples
    --------
    >>> import malleable as mb
    >>> mb.write_jobs(mb.Jobs(work=[4000, 300], name=["nightly", "adhoc"]), "jobs.csv")
    >>> mb.read_jobs("jobs.csv").name
    ('nightly', 'adhoc')
    """
    text = _csv_text(jobs)
    if isinstance(target, (str, os.PathLike)):
        write_file(target, text, force=force)
        return
    stream: Any = target
    binary = isinstance(target, (io.RawIOBase, io.BufferedIOBase))
    stream.write(text.encode() if binary or "b" in getattr(target, "mode", "") else text)


def _looks(head: Head) -> bool:
    # A header with a misspelt column is still a header: the reader's error names the column.
    known = {name for of in _TABLES for name in of.columns}
    return head.data.startswith(PARQUET_MAGIC) or any(
        cell in known or near(cell.strip().lower(), _JOBS.columns)
        for cell in head.line.replace('"', "").split(_between(head.line))
    )


def _read(file: File) -> Trace:
    return _traced(_rows(file.stream, file.where, file.max_size, file.bad), file)


FORMAT = Format("table of jobs", _looks, _read, frame_trace)
