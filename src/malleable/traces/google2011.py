"""The per-job table of the Google 2011 trace (CSV with a header): one phase of tasks of equal times.

A job has ``n_tasks`` tasks, each of the mean time of those that finished; the table knows no phases and
no time of a single task. Jobs that did not end inside the window, and jobs no task of which finished,
have no known times. All other columns are kept by name, blank cells as NaN.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from malleable.files.numbers import parse_number
from malleable.traces.formats import File, Head, register
from malleable.traces.phases import Phase
from malleable.traces.trace import Trace

_NEEDED = ("job_id", "submit_us", "n_tasks", "complete")
_SECONDS = ("n_finish", "sum_finished_runtime_s")


def _looks(head: Head) -> bool:
    return {"job_id", "submit_us"} <= set(head.cells)


def _value(column: str, cell: str) -> Any:
    if column == "job_id":
        return cell
    if not cell and column not in _NEEDED:
        return math.nan
    value = parse_number(cell)
    if not 0.0 <= value < 2.0**60:
        raise ValueError("must be from 0 to 2^60")
    if column.startswith("n_") and value != math.floor(value):
        raise ValueError("must be a whole number")
    return value


def _read(file: File) -> Trace:
    columns = file.columns(None, _NEEDED, _value)
    names = columns.pop("job_id")
    file.settle(len(names))
    order = np.argsort(columns["submit_us"], kind="stable")
    known: dict[str, Any] = {name: np.array(cells)[order] for name, cells in columns.items()}
    finished, seconds = (known.get(name, np.zeros(len(order))) for name in _SECONDS)
    mean = np.divide(seconds, finished, out=np.zeros(len(order)), where=finished > 0)
    return Trace(
        arrival=known["submit_us"] / 1e6,
        map=Phase(tasks=known["n_tasks"].astype(np.int64), seconds=mean),
        name=[names[row] for row in order],
        known=(known["complete"] != 0) & (known["n_tasks"] > 0) & (finished > 0),
        columns=known,
        wall=True,
    )


register("Google 2011 table", _looks, _read)
