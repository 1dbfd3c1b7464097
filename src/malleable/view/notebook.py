"""What notebooks show of tables, plans, decisions, results and epochs: a line and small tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import singledispatch
from html import escape
from typing import Any

import numpy as np

from malleable.cluster.epoch import AdaptiveDecision, AdaptiveMatching, TaskStarts
from malleable.cluster.matching import ClassMatching
from malleable.cluster.nodes import Cluster
from malleable.cluster.table import ClusterJobs
from malleable.epoch import BaseDecision
from malleable.flows.epoch import FlowDecision
from malleable.flows.plan import FlowPlan
from malleable.flows.table import Flows
from malleable.jobs.epoch import Decision
from malleable.jobs.plan import Plan
from malleable.jobs.table import ALL_SLOTS, Jobs
from malleable.replications import Replications
from malleable.result import SimulationResult
from malleable.slotted.epoch import SlottedDecision
from malleable.slotted.table import MapReduceJobs
from malleable.sweeps import SweepRows
from malleable.tandem.epoch import OverlapDecision
from malleable.tandem.table import MapShuffleJobs
from malleable.view.clock import Clock
from malleable.view.cluster_views import cluster_tables, replications_tables
from malleable.view.flow_views import flow_headline, flow_rows
from malleable.view.plan_views import plan_headline, plan_rows
from malleable.view.simulation_views import simulation_table
from malleable.view.text import Table, counted, number, table

__all__ = ["html"]

_MOST = 20  # rows, and columns of matrices

Parts = Iterable["str | Table"]
Column = tuple[str, Callable[[int], str]]


def html(shown: object) -> str:
    """The object as HTML: every text in it is escaped, of long tables the first rows are there."""
    parts = [
        part._repr_html_() if isinstance(part, Table) else f"<p>{escape(part)}</p>\n"
        for part in _parts(shown)
    ]
    return f"<div>\n{''.join(parts)}</div>"


@singledispatch
def _parts(shown: Any) -> Parts:
    return [repr(shown)]


def _rows(count: int, columns: Sequence[Column], left: int = 1) -> list[str | Table]:
    """A table of the first rows, and how many there are more."""
    heads = [head for head, _ in columns]
    cells = [[cell(row) for _, cell in columns] for row in range(min(count, _MOST))]
    return [table("", heads, cells, left), *_more(count)]


def _more(count: int, noun: str = "row") -> list[str | Table]:
    return [f"and {counted(count - _MOST, noun)} more"] if count > _MOST else []


def _numbers(values: Any) -> Callable[[int], str]:
    return lambda row: number(float(values[row]))


def _whole(values: Any) -> Callable[[int], str]:
    return lambda row: f"{int(values[row]):,}"


def _times(values: Any, clock: Clock) -> Callable[[int], str]:
    return lambda row: clock.text(float(values[row])) if np.isfinite(values[row]) else "-"


def _optional(head: str, values: Any, usual: Any, cell: Callable[[int], str]) -> list[Column]:
    """A column unless all of it is as usual."""
    return [(head, cell)] if np.any(np.asarray(values) != usual) else []


def _labels(head: str, values: Sequence[str] | None) -> list[Column]:
    return [] if values is None else [(head, lambda row: values[row])]


def _described(shown: Any, clock: Clock) -> list[str | Table]:
    note = clock.note()
    return [repr(shown)] if note is None else [repr(shown), note]


def _name(shown: Any) -> Callable[[int], str]:
    return lambda row: f"job{row}" if shown.name is None else shown.name[row]


@_parts.register
def _(shown: Jobs) -> Parts:
    clock = Clock.of(0.0, shown.arrival)
    most = shown.max_slots
    columns: list[Column] = [
        ("job", _name(shown)),
        ("arrival [s]", _times(shown.arrival, clock)),
        ("work [slot-seconds]", _numbers(shown.work)),
        ("min slots", _whole(shown.min_slots)),
        ("max slots", lambda row: "all" if most[row] == ALL_SLOTS else f"{most[row]:,}"),
        *_optional("weight", shown.weight, 1.0, _numbers(shown.weight)),
        *_optional("deadline [s]", shown.deadline, np.inf, _times(shown.deadline, clock)),
        *_labels("user", shown.user),
    ]
    steps = np.diff(shown.sla_offset)
    columns += _optional("SLA steps", steps, 0, _whole(steps))
    return [*_described(shown, clock), *_rows(len(shown), columns)]


@_parts.register
def _(shown: Flows) -> Parts:
    clock = Clock.of(0.0, shown.arrival)
    columns: list[Column] = [
        ("flow", lambda row: shown.name[row]),
        ("arrival [s]", _times(shown.arrival, clock)),
        ("jobs", _whole(np.diff(shown.job_offset))),
        ("work [slot-seconds]", _numbers(shown.volume())),
        *_optional("weight", shown.weight, 1.0, _numbers(shown.weight)),
        *_optional("deadline [s]", shown.deadline, np.inf, _times(shown.deadline, clock)),
    ]
    return [*_described(shown, clock), *_rows(len(shown), columns)]


@_parts.register
def _(shown: MapShuffleJobs) -> Parts:
    clock = Clock.of(0.0, shown.arrival)
    columns: list[Column] = [
        ("job", _name(shown)),
        ("arrival [s]", _times(shown.arrival, clock)),
        ("map [s]", _numbers(shown.map)),
        ("shuffle [s]", _numbers(shown.shuffle)),
        *_optional("weight", shown.weight, 1.0, _numbers(shown.weight)),
    ]
    return [*_described(shown, clock), *_rows(len(shown), columns)]


@_parts.register
def _(shown: MapReduceJobs) -> Parts:
    columns: list[Column] = [
        ("job", _name(shown)),
        ("arrival [slot]", _whole(shown.arrival)),
        ("map tasks", _whole(shown.map)),
        ("reduce tasks", _whole(np.diff(shown.task_offset))),
        ("reduce units", _whole(shown.reduce_work)),
    ]
    return [repr(shown), *_rows(len(shown), columns)]


@_parts.register
def _(shown: ClusterJobs) -> Parts:
    clock = Clock.of(0.0, shown.arrival)
    columns: list[Column] = [
        ("job", _name(shown)),
        ("arrival [s]", _times(shown.arrival, clock)),
        ("map tasks", _whole(shown.maps)),
        ("map [slot-seconds]", _numbers(shown.map_work)),
        ("reduce tasks", _whole(shown.reduces)),
        ("reduce [slot-seconds]", _numbers(shown.reduce_work)),
        *_optional("weight", shown.weight, 1.0, _numbers(shown.weight)),
        *_optional("deadline [s]", shown.deadline, np.inf, _times(shown.deadline, clock)),
        *_labels("flow", shown.flow),
        *_labels("user", shown.user),
        *_labels("program", shown.program),
    ]
    return [*_described(shown, clock), *_rows(len(shown), columns)]


@_parts.register
def _(shown: Cluster) -> Parts:
    columns: list[Column] = [
        ("type", lambda row: shown.type_names[shown.type[row]]),
        ("rack", lambda row: shown.rack_names[shown.rack[row]]),
        ("slots" if shown.generic else "map slots", _whole(shown.map_slots)),
        *_optional("reduce slots", shown.reduce_slots, 0, _whole(shown.reduce_slots)),
        ("rate", _numbers(shown.rate)),
    ]
    return [repr(shown), *_rows(len(shown), columns, left=2)]


@_parts.register
def _(shown: Plan) -> Parts:
    heads, rows = plan_rows(shown, _MOST)
    return [*plan_headline(shown), table("", heads, rows), *_more(len(shown.order), "job")]


@_parts.register
def _(shown: FlowPlan) -> Parts:
    heads, rows = flow_rows(shown, _MOST)
    return [*flow_headline(shown), table("", heads, rows), *_more(len(shown.order), "flow")]


def _yes(values: Any) -> Callable[[int], str]:
    return lambda row: "yes" if values[row] else ""


def _decided(shown: BaseDecision, kinds: Sequence[str]) -> list[Column]:
    """What all decisions show of a job."""
    slots = shown.slots.reshape(len(shown.ids), len(kinds))
    return [
        ("id", lambda row: str(shown.ids[row])),
        *((kind, _whole(slots[:, k])) for k, kind in enumerate(kinds)),
        ("changed", _yes(shown.changed)),
    ]


@_parts.register
def _(shown: Decision) -> Parts:
    columns: list[Column] = [
        ("id", lambda row: str(shown.ids[row])),
        ("slots", _whole(shown.slots)),
        ("changed", _yes(shown.changed)),
    ]
    return [repr(shown), *_rows(len(shown.ids), columns)]


@_parts.register
def _(shown: FlowDecision) -> Parts:
    columns: list[Column] = [
        ("id", lambda row: str(shown.ids[row])),
        ("slots", _whole(shown.slots)),
        ("changed", _yes(shown.changed)),
        ("ready", _yes(shown.ready)),
    ]
    return [repr(shown), *_rows(len(shown.ids), columns)]


@_parts.register
def _(shown: OverlapDecision) -> Parts:
    columns = _decided(shown, ("map slots", "shuffle slots"))
    columns += [
        ("map share", _numbers(shown.share[:, 0])),
        ("shuffle share", _numbers(shown.share[:, 1])),
    ]
    return [repr(shown), *_rows(len(shown.ids), columns)]


@_parts.register
def _(shown: SlottedDecision) -> Parts:
    columns = _decided(shown, ("slots",))
    columns += [("map tasks", _whole(shown.maps)), ("reduce tasks", _whole(shown.reduces))]
    return [repr(shown), *_rows(len(shown.ids), columns)]


@_parts.register
def _(shown: AdaptiveDecision) -> Parts:
    columns = _decided(shown, ("map slots", "reduce slots"))
    return [repr(shown), *_rows(len(shown.ids), columns), *_parts(shown.starts)]


@_parts.register
def _(shown: TaskStarts) -> Parts:
    columns: list[Column] = [
        ("id", lambda row: str(shown.ids[row])),
        ("phase", lambda row: "reduce" if shown.phase[row] else "map"),
        ("task", lambda row: "any" if shown.task[row] < 0 else f"{shown.task[row]:,}"),
        ("node", _whole(shown.node)),
    ]
    return [f"TaskStarts({counted(len(shown.ids), 'task')})", *_rows(len(shown.ids), columns)]


def _matrix(share: Any, rows: Sequence[str], heads: Sequence[str]) -> list[str | Table]:
    """Shares by class and node: the first rows and columns."""
    columns: list[Column] = [("class", lambda row: rows[row])]
    columns += [
        (heads[k], lambda row, k=k: number(float(share[row, k])))  # type: ignore[misc]
        for k in range(min(len(heads), _MOST))
    ]
    return [*_rows(len(rows), columns), *_more(len(heads), "column")]


@_parts.register
def _(shown: ClassMatching) -> Parts:
    classes, nodes = shown.share.shape
    heads = [f"node {k}" for k in range(nodes)]
    return [
        f"ClassMatching(growth {number(shown.growth)})",
        *_matrix(shown.share, list(map(str, range(classes))), heads),
    ]


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
    if shown.model == "cluster":
        return [repr(shown), *cluster_tables(shown)]
    return [repr(shown), simulation_table(shown)]


@_parts.register
def _(shown: Replications) -> Parts:
    return [repr(shown), *replications_tables(shown)]


@_parts.register
def _(shown: SweepRows) -> Parts:
    heads = list(dict.fromkeys(key for row in shown for key in row))

    def cell(key: str) -> Callable[[int], str]:
        def text(row: int) -> str:
            value = shown[row].get(key, "-")
            return value if isinstance(value, str) else number(value)

        return text

    return [repr(shown), *_rows(len(shown), [(head, cell(head)) for head in heads], left=0)]
