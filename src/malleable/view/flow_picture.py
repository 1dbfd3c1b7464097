"""A Gantt picture of flows: time on x, a row per job, precedence as arrows.

A job's bar is as high as its share of its own maximum at every moment, so what runs slowly shows;
flows are separated and coloured by their place in the order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from malleable.flows.plan import FlowPlan
from malleable.jobs.table import Floats, Integers
from malleable.view.drawing import label_times, new_figure, picture
from malleable.view.packing_picture import MET, MISSED, order_colors, title_of
from malleable.view.plan_tables import plan_clock
from malleable.view.text import counted, printable

_MOST_ROWS = 400  # beyond that, a row per flow and no arrows
_NAMED = 60


@picture
def draw_flows(plan: FlowPlan, *, title: str | None = None) -> Any:
    """Draw a plan of flows; ``title`` instead of policy, objective, value, bound and gap."""
    from matplotlib.collections import LineCollection, PolyCollection

    flows, clock = plan.flows, plan_clock(plan)
    single = len(flows.work) <= _MOST_ROWS
    row, edges = _rows(plan, single)
    figure = new_figure(10.0, min(2.0 + 0.12 * max(edges[-1], 1), 24.0))
    axes = figure.add_subplot()
    begin = 0.0 if clock.origin else plan.now  # where nothing runs before the origin
    job = np.asarray(plan.pieces["job"])
    start, end = (clock.shift(np.asarray(plan.pieces[key])) for key in ("start", "end"))
    share = np.asarray(plan.pieces["slots"]) / np.minimum(flows.max_slots, plan.slots)[job]
    base = row[job] + 0.95
    top = base - (0.9 * share if single else 0.9)
    corners = [(start, base), (start, top), (end, top), (end, base)]
    bars = PolyCollection(
        list(np.stack([np.stack(corner, axis=1) for corner in corners], axis=1)),
        facecolors=order_colors(plan.order)[flows.flow[job]] if len(job) else None,
        alpha=1.0 if single else 0.3,
        linewidths=0,
    )
    axes.add_collection(bars)
    if single and len(flows.parent):
        child = np.repeat(np.arange(len(row)), np.diff(flows.parent_offset))
        ends = (clock.shift(plan.completion[flows.parent]), row[flows.parent] + 0.5)
        starts = (clock.shift(plan.start[child]), row[child] + 0.5)
        arrows = np.stack([np.stack(ends, axis=1), np.stack(starts, axis=1)], axis=1)
        axes.add_collection(
            LineCollection(list(arrows), colors="#333333", linewidths=0.4, alpha=0.6, zorder=3)
        )
    for edge in edges[1:-1]:
        axes.axhline(edge, color="#bbbbbb", linewidth=0.5)
    last = float(end.max(initial=begin + 1e-9))
    _draw_deadlines(
        axes, plan, clock.shift(flows.deadline), edges, (begin, 1.5 * last - 0.5 * begin)
    )
    if len(flows) <= _NAMED:
        middle = [(a + b) / 2 for a, b in zip(edges[:-1], edges[1:], strict=True)]
        names = [printable(flows.name[flow]) for flow in plan.order.tolist()]
        axes.set_yticks(middle, names, fontsize=7)
    else:
        axes.set_yticks([])
        axes.set_ylabel(f"{counted(len(flows), 'flow')}, by order")
    axes.set_xlim(begin, last + 0.02 * (last - begin))
    axes.set_ylim(max(edges[-1], 1), 0)
    label_times(axes, clock)
    axes.set_title(title_of(plan) if title is None else title, loc="left", fontsize=10)
    return figure


def _rows(plan: FlowPlan, single: bool) -> tuple[Integers, list[int]]:
    """Rows of jobs from the top, flows in their order, their jobs by start; where each flow begins."""
    flows = plan.flows
    row = np.zeros(len(flows.work), dtype=np.int64)
    edges = [0]
    for flow in plan.order.tolist():
        own = np.arange(flows.job_offset[flow], flows.job_offset[flow + 1])
        places = np.arange(len(own)) if single else np.zeros(len(own), dtype=np.int64)
        row[own[np.argsort(plan.start[own], kind="stable")]] = edges[-1] + places
        edges.append(edges[-1] + (len(own) if single else 1))
    return row, edges


def _draw_deadlines(
    axes: Any, plan: FlowPlan, at: Floats, edges: list[int], shown: tuple[float, float]
) -> None:
    """A line across the rows of every flow with a deadline in that range: red if it is missed."""
    place: npt.NDArray[np.int64] = np.argsort(plan.order)
    for flow in np.flatnonzero((shown[0] <= at) & (at <= shown[1])).tolist():
        top, bottom = edges[place[flow]], edges[place[flow] + 1]
        late = plan.flow_completion[flow] - plan.flows.deadline[flow]
        missed = late > 1e-9 * max(1.0, abs(plan.flows.deadline[flow]))
        axes.plot([at[flow]] * 2, [top, bottom], color=MISSED if missed else MET, lw=1.2)
