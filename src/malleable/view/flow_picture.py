"""A Gantt picture of flows: time on x, a row per job, precedence as arrows.

A job's bar is as high as its share of its own maximum at every moment, so what runs slowly shows;
flows are separated and coloured by their place in the order.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from malleable.flows.plan import FlowPlan
from malleable.view.drawing import check_drawing, label_times, new_figure, save_figure
from malleable.view.flow_views import flow_clock
from malleable.view.text import counted, number, percent, printable

__all__ = ["draw_flows"]

_MOST_ROWS = 400  # beyond that, a row per flow and no arrows
_NAMED = 60
_SCALE, _SCALE_LOW, _SCALE_HIGH = "turbo", 0.06, 0.94


def draw_flows(
    plan: FlowPlan,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    force: bool = True,
) -> Any:
    """Draw a plan of flows.

    Parameters
    ----------
    plan : FlowPlan
    path : path, optional
        Where to save the picture; its suffix says the format.
    title : str, optional
        Instead of policy, objective, value, bound and gap.
    force : bool
        False: an existing file is refused.

    Returns
    -------
    matplotlib Figure
    """
    check_drawing(path)
    import matplotlib as mpl
    from matplotlib.collections import LineCollection, PolyCollection

    flows = plan.flows
    jobs = len(flows.work)
    single = jobs <= _MOST_ROWS
    flow_of = flows.flow
    # Rows from the top: flows in their order, their jobs by start.
    row = np.zeros(jobs, dtype=np.int64)
    edges = [0]
    for flow in plan.order.tolist():
        own = np.arange(flows.job_offset[flow], flows.job_offset[flow + 1])
        if single:
            row[own[np.argsort(plan.start[own], kind="stable")]] = edges[-1] + np.arange(len(own))
            edges.append(edges[-1] + len(own))
        else:
            row[own] = edges[-1]
            edges.append(edges[-1] + 1)
    count = max(edges[-1], 1)
    place = np.empty(len(flows), dtype=np.int64)
    place[plan.order] = np.arange(len(flows))
    colours = mpl.colormaps[_SCALE](np.linspace(_SCALE_LOW, _SCALE_HIGH, max(len(flows), 1)))

    figure = new_figure(10.0, min(2.0 + 0.12 * count, 24.0))
    axes = figure.add_subplot()
    job = np.asarray(plan.pieces["job"])
    clock = flow_clock(plan)
    begin = 0.0 if clock.origin else plan.now  # where nothing runs before the origin
    start = clock.shift(np.asarray(plan.pieces["start"]))
    end = clock.shift(np.asarray(plan.pieces["end"]))
    most = np.minimum(flows.max_slots, plan.slots)
    share = plan.pieces["slots"] / most[job] if len(job) else np.empty(0)
    base = row[job] + 0.95
    height = 0.9 * share if single else np.full(len(job), 0.9)
    corners = np.stack(
        [
            np.stack([start, base], axis=1),
            np.stack([start, base - height], axis=1),
            np.stack([end, base - height], axis=1),
            np.stack([end, base], axis=1),
        ],
        axis=1,
    )
    bars = PolyCollection(
        list(corners),
        facecolors=colours[place[flow_of[job]]] if len(job) else None,
        alpha=1.0 if single else 0.3,
        linewidths=0,
    )
    axes.add_collection(bars)
    if single and len(flows.parent):
        child = np.repeat(np.arange(jobs), np.diff(flows.parent_offset))
        above = flows.parent
        lines = np.stack(
            [
                np.stack([clock.shift(plan.completion[above]), row[above] + 0.5], axis=1),
                np.stack([clock.shift(plan.start[child]), row[child] + 0.5], axis=1),
            ],
            axis=1,
        )
        axes.add_collection(
            LineCollection(list(lines), colors="#333333", linewidths=0.4, alpha=0.6, zorder=3)
        )
    for edge in edges[1:-1]:
        axes.axhline(edge, color="#bbbbbb", linewidth=0.5)
    last = float(end.max(initial=begin + 1e-9))
    for flow in range(len(flows)):
        due = float(flows.deadline[flow])
        at = clock.shift(due)
        if begin <= at <= 1.5 * last - 0.5 * begin:
            missed = plan.flow_completion[flow] > due + 1e-9 * max(1.0, abs(due))
            top, bottom = edges[place[flow]], edges[place[flow] + 1]
            axes.plot([at, at], [top, bottom], color="#c1121f" if missed else "#444444", lw=1.2)
    if len(flows) <= _NAMED:
        axes.set_yticks(
            [(a + b) / 2 for a, b in zip(edges[:-1], edges[1:], strict=True)],
            [printable(flows.name[flow]) for flow in plan.order.tolist()],
            fontsize=7,
        )
    else:
        axes.set_yticks([])
        axes.set_ylabel(f"{counted(len(flows), 'flow')}, by order")
    axes.set_xlim(begin, last + 0.02 * (last - begin))
    axes.set_ylim(count, 0)
    label_times(axes, clock)
    axes.set_title(
        f"{plan.policy.upper()}, {plan.objective}: {number(plan.value)}, bound "
        f"{number(plan.lower_bound)}, gap {percent(plan.gap)}"
        if title is None
        else title,
        loc="left",
        fontsize=10,
    )
    if path is not None:
        save_figure(figure, path, force)
    return figure
