"""Columns of formats that are read by way of sacct, Slurm's table of ended jobs: each format says what it calls
a column and what sacct calls it, and the reader of sacct makes jobs of the records. An *element* is a part of
a job that ran by itself, such as a task of an array."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from malleable.files.numbers import parse_number
from malleable.traces.formats import File
from malleable.traces.sacct import element_of, trace_of
from malleable.traces.trace import Trace


class Column(NamedTuple):
    """A column: name or path (``a/b``) in the format, name in sacct, and how a value becomes sacct's."""

    name: str
    sacct: str
    read: Callable[[Any], str] = str


def cells_of(record: Any, table: Sequence[Column]) -> dict[str, str]:
    """A record by sacct's names, without what it does not say; of several columns the first counts."""
    cells: dict[str, str] = {}
    for name, sacct, read in table:
        value = record
        for step in [name] if isinstance(record, Mapping) and name in record else name.split("/"):
            value = value.get(step) if isinstance(value, Mapping) else None
        if value not in (None, "") and sacct not in cells:
            cells[sacct] = read(value)
    return cells


def rows_of(file: File) -> Iterator[tuple[int, dict[str, str]]]:
    """Lines of a table with tabs between its cells by the names of columns, with their numbers (also as "")."""
    lines = file.lines()
    names = next(lines)[1].split("\t")
    for number, line in lines:
        yield number, {"": f"{number}", **dict(zip(names, line.split("\t"), strict=False))}


def trace_of_cells(
    file: File,
    parse: Callable[[Any], Iterable[dict[str, str]]],
    records: Any,
    noun: str = "line",
    slurm_ids: bool = False,
) -> Trace:
    """The jobs of records. ``parse`` makes cells (values by sacct's names) of each element of a record;
    ``slurm_ids``: elements of one job have IDs as Slurm's, ``12_3``."""

    def elements(record: Any) -> list[Any]:
        return [element_of(cells, file.slots_from, slurm_ids=slurm_ids) for cells in parse(record)]

    def each() -> Iterator[Any]:
        for found in file.records(elements, records, noun):
            yield from found

    return trace_of(file, each())


def clock(seconds: Any) -> str:
    """A number of seconds as sacct writes it; a text such as ``1:30:00`` stays."""
    if ":" in f"{seconds}":
        return f"{seconds}"
    whole = parse_number(f"{seconds}")
    return f"{int(whole // 60)}:{whole % 60:06.3f}"


def of_ms(value: Any) -> str:
    number = parse_number(f"{value}")
    return f"{number / 1000.0!r}" if number > 0.0 else "Unknown"
