"""HTML for notebooks of tables, plans, decisions, results and epochs: a line and small tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial, singledispatch
from html import escape
from typing import Any

import numpy as np

from malleable.cluster.nodes import Cluster
from malleable.cluster.scheduler_decision import TaskStarts
from malleable.cluster.table import ClusterJobs
from malleable.epoch import BaseDecision
from malleable.flows.epoch import FlowDecision
from malleable.flows.plan import FlowPlan
from malleable.flows.table import Flows
from malleable.jobs.plan import Plan
from malleable.jobs.table import ALL_SLOTS, Jobs
from malleable.replications import Replications
from malleable.results import SimulationResult
from malleable.slotted.epoch import SlottedDecision
from malleable.slotted.table import MapReduceJobs
from malleable.tandem.epoch import TandemDecision
from malleable.tandem.table import MapShuffleJobs
from malleable.view.plan_tables import plan_columns, plan_headline
from malleable.view.simulations import replications_tables, simulation_tables
from malleable.view.text import Column, Table, columns_table, counted, number

_MOST = 20  # rows

Parts = Iterable["str | Table"]


def html(shown: object) -> str:
    parts = [
        part._repr_html_() if isinstance(part, Table) else f"<p>{escape(part)}</p>\n"
        for part in _parts(shown)
    ]
    return f"<div>\n{''.join(parts)}</div>"


def _rows(count: int, columns: Sequence[Column], left: int = 1, noun: str = "row") -> Parts:
    more = [f"and {counted(count - _MOST, noun)} more"] if count > _MOST else []
    return [columns_table("", range(min(count, _MOST)), columns, left), *more]


# By class: the attributes that are shown, arrays with an entry per row, or per row and kind of
# slots.
_SHOWN: dict[type, str] = {
    Jobs: "name arrival work min_slots max_slots weight deadline user",
    Flows: "name arrival volume weight deadline",
    MapShuffleJobs: "name arrival map shuffle weight",
    MapReduceJobs: "name arrival map reduce_work",
    ClusterJobs: "name arrival maps map_work reduces reduce_work weight deadline flow user program",
    Cluster: "type map_slots reduce_slots rate",
    TaskStarts: "ids phase task node",
    BaseDecision: "ids slots changed",
    FlowDecision: "ids slots changed ready",
    TandemDecision: "ids slots share changed",
    SlottedDecision: "ids slots maps reduces changed",
}


def _cell(values: Sequence[Any], row: int) -> str:
    value = values[row]
    if isinstance(value, (bool, str)):
        return "yes" * value if isinstance(value, bool) else value
    if isinstance(value, float):
        return number(value) if np.isfinite(value) else "-"
    return "all" if value == ALL_SLOTS else f"{value:,}"


def _values(shown: Any, name: str) -> Any:
    values = getattr(shown, name)
    if callable(values):
        values = values()
    if name == "name" and values is None:
        return [f"job{row}" for row in range(len(shown))]
    words = getattr(shown, f"{name}_names", None)
    return [words[k] for k in values] if words else values


def _columns(shown: Any, names: str) -> Iterator[Column]:
    for name in names.split():
        head, values = name.replace("_", " "), _values(shown, name)
        parts = {head: values}
        if np.ndim(values) == 2:
            parts = {f"{kind}: {head}": values[:, k] for k, kind in enumerate(shown.kinds)}
        for head, own in parts.items():
            if own is not None:
                cells = own.tolist() if isinstance(own, np.ndarray) else own
                yield head, partial(_cell, cells)


@singledispatch
def _parts(shown: Any) -> Parts:
    names = next((_SHOWN[each] for each in type(shown).__mro__ if each in _SHOWN), None)
    if names is None:
        return [repr(shown)]
    count = len(shown.ids) if hasattr(shown, "ids") else len(shown)
    return [repr(shown), *_rows(count, list(_columns(shown, names)))]


@_parts.register(Plan)
@_parts.register(FlowPlan)
def _(shown: Plan | FlowPlan) -> Parts:
    columns = plan_columns(shown)
    # the noun in a column's head, such as "job, by order"
    noun = columns[0][0].partition(",")[0]
    return [*plan_headline(shown), *_rows(len(shown.order), columns, noun=noun)]


@_parts.register
def _(shown: SimulationResult) -> Parts:
    return [repr(shown), *simulation_tables(shown)]


@_parts.register
def _(shown: Replications) -> Parts:
    return [repr(shown), *replications_tables(shown, _MOST)]
