"""Tables of cluster jobs: CSV with a header; ``maps`` and ``map_seconds`` are needed.

Columns are the parameters of `ClusterJobs`; ``map_seconds`` and ``reduce_seconds`` are a number or
``s1;s2;...``, one for each task, and ``speedup`` is blank, p or the rates ``r1;r2;...`` of 1, 2, ...
running tasks (``r1;`` where they are one); ``sla`` is ``t:p;t:p``. Not ``after`` and ``flow``: those are flows.
"""

from __future__ import annotations

import inspect
import math
from itertools import compress
from typing import Any

from malleable import _core
from malleable.cluster.table import ClusterJobs, checked_rates
from malleable.files.csv import without_apostrophe
from malleable.files.numbers import parse_number
from malleable.lines import counted
from malleable.traces.formats import File, register
from malleable.traces.job_table import sla_steps
from malleable.traces.tables import trace_of
from malleable.traces.trace import Trace

_WORDS = ("name", "user", "program")
_COUNTS = tuple(row["name"] for row in _core.CLUSTER_COLUMNS if row["whole"] and row["by_row"])
_TIMES = ("map_seconds", "reduce_seconds")
_MOST = 1 << 31  # tasks of a job
_MOST_TIMED = 1 << 26  # tasks of all jobs, where tasks have times of their own
# Parameters of the table, but for what lists of words and flows say.
_COLUMNS = tuple(
    name
    for name in inspect.signature(ClusterJobs).parameters
    if name not in ("rate", "after", "flow")
)


def _amount(cell: str, whole: bool) -> float:
    value = parse_number(cell)
    if not (math.isfinite(value) and value >= 0.0):
        raise ValueError("must be finite and at least 0")
    if whole and (value != math.floor(value) or value > _MOST):
        raise ValueError(f"must be a whole number up to {_MOST:,}")
    return value


def _list_or_number(cell: str) -> float | list[float]:
    if ";" in cell:
        return [_amount(part, False) for part in cell.split(";") if part.strip()]
    return _amount(cell, False)


def _cell(column: str, cell: str) -> Any:
    if column in _WORDS:
        return without_apostrophe(cell)
    if column == "deadline":
        value = parse_number(cell) if cell.strip() else math.inf
        if math.isnan(value) or value == -math.inf:
            raise ValueError("must be a time (none: empty)")
        return value
    if column == "speedup":
        return checked_rates("speedup", _list_or_number(cell)) if cell.strip() else None
    if column == "sla":
        return sla_steps(cell) if cell.strip() else ()
    if column in _TIMES:
        return _list_or_number(cell)
    return _amount(cell, column in _COUNTS)


def _read(file: File) -> Trace:
    columns = file.columns(_COLUMNS, ("maps", "map_seconds"), _cell)
    count = len(columns["maps"])
    sound = [True] * count
    for phase in ("map", "reduce"):
        times = columns.get(f"{phase}_seconds", [])
        if not any(isinstance(value, list) for value in times):
            continue
        tasks = columns.get(f"{phase}s", [0] * count)
        if sum(tasks) > _MOST_TIMED:
            most = f"where some have times of their own there may be {_MOST_TIMED:,}"
            raise ValueError(f"{sum(tasks):,.0f} {phase} tasks; {most}")
        for row, (value, number) in enumerate(zip(times, tasks, strict=True)):
            if not isinstance(value, list):
                times[row] = [value] * int(number)
            elif len(value) != number:
                sound[row] = False
                told = f"{counted(len(value), 'time')} for {number:g} tasks"
                file.bad.add(f"{phase}_seconds[{row}]: {told}")
    file.bad.settle(file.where, sum(sound))
    taken: Any = {name: [*compress(values, sound)] for name, values in columns.items()}
    return trace_of(ClusterJobs(**taken))


register("table of cluster jobs", lambda head: head.has("maps", "map_seconds"), _read)
