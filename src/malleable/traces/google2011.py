"""The per-job table of the Google 2011 trace (CSV with a header): one phase of tasks of equal times.

A job has ``n_tasks`` tasks, each of the mean time of those that finished; the table knows no phases and
no time of a single task. Jobs that did not end inside the window, and jobs no task of which finished,
have no known times. All other columns are kept by name, blank cells as NaN.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from malleable.domain import shown
from malleable.files.csv import CsvRows
from malleable.files.reading import DAMAGED, parse_number
from malleable.traces.formats import File, Head, register
from malleable.traces.phases import Phase
from malleable.traces.trace import Trace

_NEEDED = ("job_id", "submit_us", "n_tasks", "complete")
_SECONDS = ("n_finish", "sum_finished_runtime_s")


def _looks(head: Head) -> bool:
    return {"job_id", "submit_us"} <= set(head.cells)


def _number(column: str, cell: str | None) -> float:
    if not cell and column not in _NEEDED:
        return math.nan
    try:
        value = parse_number(cell or "")
    except ValueError:
        raise ValueError(f"{column} = {shown(cell)}: not a number") from None
    if not 0.0 <= value < 2.0**60:
        raise ValueError(f"{column} = {shown(cell)}: must be from 0 to 2^60")
    if column.startswith("n_") and value != math.floor(value):
        raise ValueError(f"{column} = {shown(cell)}: must be a whole number")
    return value


def _read(file: File) -> Trace:
    names: list[str] = []
    kept: list[list[float]] = []
    columns: list[str] = []
    with file.text() as text:
        rows = CsvRows(text, file.where)
        try:
            for row in rows.dicts(_NEEDED):
                columns = columns or [name for name in row if name != "job_id"]
                try:
                    kept.append([_number(name, row[name]) for name in columns])
                    names.append(row["job_id"] or "")
                except ValueError as error:
                    file.bad.add(f"line {rows.line}: {error}")
        except DAMAGED as error:
            file.bad.add(f"after line {rows.line}: damaged or truncated gzip data ({error})")
    file.settle(len(kept))
    order = sorted(range(len(kept)), key=lambda row: kept[row][columns.index("submit_us")])
    known: dict[str, Any] = {
        name: np.array([kept[row][k] for row in order]) for k, name in enumerate(columns)
    }
    finished, seconds = (known.get(name, np.zeros(len(order))) for name in _SECONDS)
    return Trace(
        arrival=known["submit_us"] / 1e6,
        map=Phase(
            tasks=known["n_tasks"].astype(np.int64),
            seconds=np.divide(seconds, finished, out=np.zeros(len(order)), where=finished > 0),
        ),
        name=[names[row] for row in order],
        known=(known["complete"] != 0) & (known["n_tasks"] > 0) & (finished > 0),
        columns=known,
        wall=True,
    )


register("Google 2011 table", _looks, _read)
