"""Tables of map and reduce jobs in slots: CSV with ``name, arrival, map, reduce``.

``arrival`` is a slot from 1 (1 if the column is missing), ``reduce`` a list ``r1;r2;...`` of task lengths
(blank: none); only ``map`` and ``reduce`` are required; ``reduce_estimate`` may follow.
"""

from __future__ import annotations

import os
from typing import Any

from malleable.files.csv import csv_text, without_apostrophe
from malleable.files.numbers import parse_number
from malleable.files.writing import write_file
from malleable.slotted.table import MapReduceJobs
from malleable.traces.formats import File, register
from malleable.traces.tables import trace_of
from malleable.traces.trace import Trace

_COLUMNS = ("name", "arrival", "map", "reduce", "reduce_estimate")


def _value(column: str, cell: str) -> str | float | list[float]:
    if column == "name":
        return without_apostrophe(cell)
    if column != "reduce":
        return parse_number(cell)
    try:
        return [parse_number(part) for part in cell.split(";")] if cell.strip() else []
    except ValueError:
        raise ValueError("not a list r1;r2;...") from None


def _read(file: File) -> Trace:
    columns = file.columns(_COLUMNS, ("map", "reduce"), _value)
    file.bad.settle(file.where, len(columns["map"]))
    return trace_of(MapReduceJobs(**columns))


def write_map_reduce_jobs(
    jobs: MapReduceJobs, path: str | os.PathLike[str], force: bool = True
) -> None:
    """Write the table as `malleable.read` reads it; ``force=False`` refuses an existing file."""
    lists = (";".join(map(str, lengths)) for lengths in jobs.reduce)
    columns: list[Any] = [jobs.name, jobs.arrival.tolist(), jobs.map.tolist(), lists]
    if jobs.reduce_estimate is not None:
        columns.append(jobs.reduce_estimate.tolist())
    write_file(path, csv_text(dict(zip(_COLUMNS, columns, strict=False))), force=force)


register("table of map and reduce jobs", lambda head: head.has("reduce"), _read)
