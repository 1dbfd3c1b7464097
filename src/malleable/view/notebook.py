"""What notebooks show of tables, plans, decisions, results and epochs: a line and small tables."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from functools import singledispatch
from html import escape
from typing import Any

import numpy as np

from malleable.cluster.matching import AdaptiveMatching, ClassMatching
from malleable.cluster.nodes import Cluster
from malleable.cluster.scheduler import TaskStarts
from malleable.cluster.table import ClusterJobs
from malleable.epoch import BaseDecision
from malleable.flows.epoch import FlowDecision
from malleable.flows.plan import FlowPlan
from malleable.flows.table import Flows
from malleable.jobs.plan import Plan
from malleable.jobs.table import ALL_SLOTS, Jobs
from malleable.replications import Replications
from malleable.result import SimulationResult
from malleable.slotted.epoch import SlottedDecision
from malleable.slotted.table import MapReduceJobs
from malleable.tandem.epoch import OverlapDecision
from malleable.tandem.table import MapShuffleJobs
from malleable.view.clock import Clock
from malleable.view.drawing import image_bytes
from malleable.view.flow_picture import draw_flows
from malleable.view.packing_picture import draw_packing
from malleable.view.plan_tables import plan_columns, plan_headline
from malleable.view.simulations import replications_tables, simulation_tables
from malleable.view.text import Column, Table, columns_table, counted, number

_MOST = 20  # rows, and columns of matrices

Parts = Iterable["str | Table"]


def html(shown: object) -> str:
    """The object as HTML: every text in it is escaped, of long tables the first rows are there."""
    parts = [
        part._repr_html_() if isinstance(part, Table) else f"<p>{escape(part)}</p>\n"
        for part in _parts(shown)
    ]
    picture = _picture(shown) if isinstance(shown, (Plan, FlowPlan)) else ""
    return f"<div>\n{''.join(parts)}{picture}</div>"


def _picture(plan: Plan | FlowPlan) -> str:
    """The plan's picture as an image within the page; nothing without matplotlib, or of an empty plan."""
    if not len(plan.order):
        return ""
    try:
        figure = draw_flows(plan) if isinstance(plan, FlowPlan) else draw_packing(plan)
    except ImportError:
        return ""
    image = base64.b64encode(image_bytes(figure, "plan.png")).decode()
    return f'<img alt="the plan" style="max-width: 100%" src="data:image/png;base64,{image}" />\n'


def _rows(count: int, columns: Sequence[Column], left: int = 1, noun: str = "row") -> Parts:
    """A table of the first rows, and how many there are more."""
    return [columns_table("", range(min(count, _MOST)), columns, left), *_more(count, noun)]


def _more(count: int, noun: str) -> list[str]:
    return [f"and {counted(count - _MOST, noun)} more"] if count > _MOST else []


_text, _whole, _yes = str, "{:,}".format, {True: "yes", False: ""}.__getitem__


def _numbers(value: Any) -> str:
    return number(float(value))


def _slots(value: Any) -> str:
    return "all" if value == ALL_SLOTS else _whole(value)


def _times(value: Any, clock: Clock) -> str:
    return clock.text(float(value)) if np.isfinite(value) else "-"


def _column(head: str, values: Any, cell: Callable[..., str], *clock: Clock) -> Column:
    return head, lambda row: cell(values[row], *clock)


def _lengths(offset: str) -> Callable[[Any], Any]:
    return lambda shown: np.diff(getattr(shown, offset))


def _names(shown: Any) -> Sequence[str]:
    return [f"job{row}" for row in range(len(shown))] if shown.name is None else shown.name


# Columns of what has rows: a head, an attribute or what gives the values, how a cell reads, and the
# value that makes a column needless if all rows have it (or None in place of the values).
_COMMON = (("weight", "weight", _numbers, 1.0), ("deadline [s]", "deadline", _times, np.inf))
_COLUMNS: dict[type, tuple[tuple[Any, ...], ...]] = {
    Jobs: (
        ("job", _names, _text),
        ("arrival [s]", "arrival", _times),
        ("work [slot-seconds]", "work", _numbers),
        ("min slots", "min_slots", _whole),
        ("max slots", "max_slots", _slots),
        *_COMMON,
        ("user", "user", _text),
        ("SLA steps", _lengths("sla_offset"), _whole, 0),
    ),
    Flows: (
        ("flow", "name", _text),
        ("arrival [s]", "arrival", _times),
        ("jobs", _lengths("job_offset"), _whole),
        ("work [slot-seconds]", Flows.volume, _numbers),
        *_COMMON,
    ),
    MapShuffleJobs: (
        ("job", _names, _text),
        ("arrival [s]", "arrival", _times),
        ("map [s]", "map", _numbers),
        ("shuffle [s]", "shuffle", _numbers),
        _COMMON[0],
    ),
    MapReduceJobs: (
        ("job", _names, _text),
        ("arrival [slot]", "arrival", _whole),
        ("map tasks", "map", _whole),
        ("reduce tasks", _lengths("task_offset"), _whole),
        ("reduce units", "reduce_work", _whole),
    ),
    ClusterJobs: (
        ("job", _names, _text),
        ("arrival [s]", "arrival", _times),
        ("map tasks", "maps", _whole),
        ("map [slot-seconds]", "map_work", _numbers),
        ("reduce tasks", "reduces", _whole),
        ("reduce [slot-seconds]", "reduce_work", _numbers),
        *_COMMON,
        ("flow", "flow", _text),
        ("user", "user", _text),
        ("program", "program", _text),
    ),
    Cluster: (
        ("type", lambda own: [own.type_names[k] for k in own.type], _text),
        ("rack", lambda own: [own.rack_names[k] for k in own.rack], _text),
        ("slots", lambda own: own.map_slots if own.generic else None, _whole),
        ("map slots", lambda own: None if own.generic else own.map_slots, _whole),
        ("reduce slots", "reduce_slots", _whole, 0),
        ("rate", "rate", _numbers),
    ),
    TaskStarts: (
        ("id", "ids", _text),
        ("phase", lambda own: np.where(own.phase, "reduce", "map"), _text),
        ("task", lambda own: ["any" if k < 0 else f"{k:,}" for k in own.task], _text),
        ("node", "node", _whole),
    ),
    BaseDecision: (),
    FlowDecision: (("ready", "ready", _yes),),
    OverlapDecision: (
        ("map share", lambda own: own.share[:, 0], _numbers),
        ("shuffle share", lambda own: own.share[:, 1], _numbers),
    ),
    SlottedDecision: (("map tasks", "maps", _whole), ("reduce tasks", "reduces", _whole)),
}


def _columns(shown: Any, clock: Clock) -> list[Column]:
    columns: list[Column] = []
    kind = next(each for each in type(shown).__mro__ if each in _COLUMNS)
    for head, source, cell, *usual in _COLUMNS[kind]:
        values = source(shown) if callable(source) else getattr(shown, source)
        if values is not None and not (usual and np.all(np.asarray(values) == usual[0])):
            columns.append(_column(head, values, cell, *([clock] if cell is _times else [])))
    return columns


@singledispatch
def _parts(shown: Any) -> Parts:
    if type(shown) not in _COLUMNS:
        return [repr(shown)]
    moments = () if isinstance(shown, MapReduceJobs) else getattr(shown, "arrival", ())
    clock = Clock.of(0.0, moments)  # slots are counted, not dated
    note = clock.note()
    words = 2 if isinstance(shown, Cluster) else 1
    count = len(shown.ids) if isinstance(shown, TaskStarts) else len(shown)
    rows = _rows(count, _columns(shown, clock), words)
    return [repr(shown), *([] if note is None else [note]), *rows]


@_parts.register(Plan)
@_parts.register(FlowPlan)
def _(shown: Plan | FlowPlan) -> Parts:
    columns = plan_columns(shown)
    noun = columns[0][0].partition(",")[0]
    return [*plan_headline(shown), *_rows(len(shown.order), columns, noun=noun)]


@_parts.register
def _(shown: BaseDecision) -> Parts:
    slots = shown.slots.reshape(len(shown.ids), len(shown.kinds))
    columns: list[Column] = [
        _column("id", shown.ids, _text),
        *(_column(f"{kind}s", slots[:, k], _whole) for k, kind in enumerate(shown.kinds)),
        _column("changed", shown.changed, _yes),
        *_columns(shown, Clock()),
    ]
    return [repr(shown), *_rows(len(shown.ids), columns)]


def _matrix(share: Any, rows: Sequence[str], heads: Sequence[str]) -> Parts:
    """Shares by class and node: the first rows and columns."""
    columns = [_column("class", rows, _text)]
    columns += [_column(head, share[:, k], _numbers) for k, head in enumerate(heads[:_MOST])]
    return [*_rows(len(rows), columns), *_more(len(heads), "column")]


@_parts.register
def _(shown: ClassMatching) -> Parts:
    classes, nodes = shown.share.shape
    heads = [f"node {k}" for k in range(nodes)]
    growth = f"ClassMatching(growth {number(shown.growth)})"
    return [growth, *_matrix(shown.share, list(map(str, range(classes))), heads)]


@_parts.register
def _(shown: AdaptiveMatching) -> Parts:
    rows = [f"{program}, priority {priority:g}" for priority, program in shown.classes]
    heads = [
        f"node {own[0]}" if len(own) == 1 else f"{counted(len(own), 'node')} like {own[0]}"
        for own in shown.nodes
    ]
    solves = counted(shown.solves, "solution")
    return [f"AdaptiveMatching({solves})", *_matrix(shown.share, rows, heads)]


@_parts.register
def _(shown: SimulationResult) -> Parts:
    return [repr(shown), *simulation_tables(shown)]


@_parts.register
def _(shown: Replications) -> Parts:
    return [repr(shown), *replications_tables(shown, _MOST)]
