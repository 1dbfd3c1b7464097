"""Plans as pictures. A packing (how jobs fill the slots over time) has time on x, slots on y, and a coloured
block for each job; jobs that end last are at the bottom, so that blocks keep their place as long as possible.
Many jobs are drawn in groups, with the mean of their slots in small steps of time. Flows (graphs of jobs) have
a row for each job, and precedence as arrows; a bar is as high as the job's share of its own maximum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable.flows.plan import FlowPlan
from malleable.jobs.plan import Plan
from malleable.jobs.table import Floats, Integers
from malleable.objective import relative_gap
from malleable.policies import policy_of
from malleable.view.clock import Clock
from malleable.view.drawing import label_times, new_figure, picture
from malleable.view.plan_tables import plan_clock, slots_over_time
from malleable.view.text import counted, number, percent, printable

_MOST_BANDS = 200  # blocks of a packing; a band is a job, or a group of jobs if there are more
_MOST_INTERVALS = 2000  # of time; with more, means over equal intervals are drawn
_NAMED = 20  # with more jobs, colours show the place in the order instead of the job
_SECONDS = {"response", "completion", "tardiness", "lateness"}  # penalties that are times
MET, MISSED = "#444444", "#c1121f"  # colours of deadlines


@picture
def draw_packing(
    plan: Plan,
    *,
    axes: Any = None,
    until: float | None = None,
    colors_of: Plan | None = None,
    bound: float | None = None,
) -> Any:
    """Draw a plan's schedule into ``axes`` or a figure of its own. O(P log P) for P pieces.

    ``until`` is the right end of the time axis [s]; ``colors_of`` is another plan of the same jobs, whose order
    the colours follow; ``bound`` is told in place of the plan's lower bound. More than 200 jobs are drawn in
    groups."""
    axes = new_figure(9.0, 5.0).subplots() if axes is None else axes
    end = float(np.max(plan.pieces["end"], initial=plan.now)) if until is None else until
    span = max(end - plan.now, 1e-9 * max(1.0, abs(plan.now))) or 1.0
    clock = plan_clock(plan)
    begin = clock.shift(plan.now)
    axes.set(xlim=(begin, begin + span), ylim=(0, plan.capacity * 1.06), ylabel="slots")
    few, (time, height, band) = len(plan.jobs) <= _NAMED, _stack(plan)
    time, colors = clock.shift(time), _colors(colors_of or plan, band)
    # The last step is drawn up to the last time.
    steps = np.append(height, height[:, -1:], axis=1)
    edge = (
        {"edgecolor": "white", "linewidth": 1.0}
        if few
        else {"linewidth": 0.0, "antialiased": False}
    )
    if len(height) and len(time) > 1:
        axes.stackplot(time, steps, step="post", colors=list(colors), **edge)
    axes.axhline(plan.capacity, color="#222222", linewidth=0.8)
    keys = _name_blocks(axes, plan, time, height, band, colors) if few else []
    if not few:
        _draw_scale(axes, colors_of or plan)
    keys += _draw_deadlines(axes, plan, clock)
    where, anchor = ("upper left", (1.0, 1.0)) if few else ("upper right", (1.0, -0.13))
    look = {"fontsize": 7, "frameon": False, "ncols": 1 if few else 2}
    legend = axes.legend(handles=keys, loc=where, bbox_to_anchor=anchor, **look)
    for text in legend.get_texts():
        text.set_parse_math(False)
    label_times(axes, clock)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.set_title(title_of(plan, bound), loc="left", fontsize=10)
    return axes.figure


@picture
def draw_packings(plans: Sequence[Plan]) -> Any:
    """Several plans of the same jobs below each other, with one time axis, the first's colours, and one lower
    bound."""
    figure = new_figure(9.0, 2.4 * len(plans) + 0.4)
    until = max(float(np.max(plan.pieces["end"], initial=plan.now)) for plan in plans)
    rows = figure.subplots(len(plans), 1, squeeze=False)[:, 0]
    bound = common_bound(plans)
    for axes, plan in zip(rows, plans, strict=True):
        draw_packing(plan, axes=axes, until=until, colors_of=plans[0], bound=bound)
        if axes is not rows[-1]:
            axes.set_xlabel("")
            axes.tick_params(labelbottom=False)
    return figure


def common_bound(plans: Sequence[Plan]) -> float:
    """The best lower bound that holds for all plans of the same jobs: if some policies ignore the jobs'
    minima, only their bounds do."""
    free = [plan for plan in plans if policy_of("jobs", plan.policy).ignores_minima]
    binding = free if free and plans[0].jobs.min_slots.any() else plans
    return max(plan.lower_bound for plan in binding)


def title_of(plan: Plan | FlowPlan, bound: float | None = None) -> str:
    what = counted(len(plan.order), "flow" if isinstance(plan, FlowPlan) else "job")
    bound = plan.lower_bound if bound is None else bound
    unit = " s" if plan.objective.partition(":")[2] in _SECONDS else ""
    return (
        f"{plan.policy.upper()}, {plan.objective.replace(':', ' of ')}: {number(plan.value)}{unit}, lower "
        f"bound {number(bound)}{unit}, gap {percent(relative_gap(plan.value, bound))} "
        f"({what}, {counted(plan.capacity, 'slot')})"
    )


def _stack(plan: Plan) -> tuple[Floats, Floats, Integers]:
    # Moments, the slots of each band between them, and each job's band; the last to end is at the bottom.
    jobs = len(plan.jobs)
    layer = np.argsort(np.lexsort((-np.argsort(plan.order), -plan.completion)))
    band = layer * _MOST_BANDS // jobs if jobs > _MOST_BANDS else layer
    steps = slots_over_time(plan, band)
    moments = np.unique(np.concatenate([[plan.now], steps.start, steps.end]))
    if len(moments) - 1 > _MOST_INTERVALS:
        moments = np.linspace(plan.now, float(steps.end.max()), _MOST_INTERVALS + 1)
    height = np.zeros((int(band.max(initial=-1)) + 1, len(moments) - 1))
    rows = np.searchsorted(steps.job, np.arange(len(height) + 1)).tolist()
    for row, own in enumerate(map(steps.between, rows, rows[1:])):
        if len(own.job):
            # The work done up to any time is piecewise linear; it is constant before, between and
            # after the steps.
            times = np.ravel(np.column_stack([own.start, own.end]))
            work = np.repeat(np.cumsum(own.slots * (own.end - own.start)), 2)
            work = np.concatenate([[0.0, work[0]], work[1:-1]])
            height[row] = np.diff(np.interp(moments, times, work)) / np.diff(moments)
    height[height < 1e-6] = 0.0
    return moments, height, band


def _colors(plan: Plan, band: Integers) -> npt.NDArray[Any]:
    # The colour of each band: few jobs have one each, many a scale along the order.
    import matplotlib as mpl

    place: Integers = np.argsort(plan.order)
    if len(place) <= _NAMED:
        names = mpl.colormaps["tab10" if len(place) <= 10 else "tab20"]
        return np.asarray(names(place[np.argsort(band)]))
    return order_colors(np.bincount(band, place) / np.bincount(band) / (len(place) - 1))


def order_colors(places: Floats) -> npt.NDArray[Any]:
    """Colours on a scale along an order, from 0 to 1; the ends, too dark to tell apart, are left out."""
    import matplotlib as mpl

    return np.asarray(mpl.colormaps["turbo"](0.06 + 0.88 * places))


def _draw_scale(axes: Any, plan: Plan) -> None:
    import matplotlib as mpl

    shades = mpl.colors.ListedColormap(order_colors(np.linspace(0.0, 1.0, 256)))
    scale = mpl.cm.ScalarMappable(mpl.colors.Normalize(1, len(plan.order)), shades)
    bar = axes.figure.colorbar(scale, ax=axes, pad=0.01, aspect=30, format="{x:,.0f}")
    bar.set_label(f"place in {plan.policy.upper()}'s order")
    bar.ax.invert_yaxis()


def _name_blocks(
    axes: Any, plan: Plan, time: Floats, height: Floats, band: Integers, colors: Any
) -> list[Any]:
    # Names inside blocks that are large enough; keys of the others for the legend.
    from matplotlib.patches import Patch

    box, point = axes.get_window_extent(), axes.figure.dpi / 72
    across, up = box.width / np.ptp(axes.get_xlim()), box.height / np.ptp(axes.get_ylim())
    top = np.cumsum(height, axis=0)
    keys = []
    for row in plan.order.tolist():
        own, name = int(band[row]), printable(plan.jobs.name[row])
        # The largest part of the block in which its slots and place do not change.
        begins = np.flatnonzero(np.diff(height[own], prepend=-1) + np.diff(top[own], prepend=0))
        begins = begins if len(begins) else np.zeros(1, dtype=np.int64)
        ends = np.append(begins[1:], len(time) - 1)
        area = (time[ends] - time[begins]) * height[own][begins] if len(time) > 1 else np.zeros(1)
        k = int(np.argmax(area))
        a, b = time[begins[k]], time[ends[k]]
        slots = height[own][begins[k]] if len(time) > 1 else 0.0
        size, least = ((b - a) * across, slots * up), ((5 * len(name) + 4) * point, 10 * point)
        level, upright = (
            size[0] >= along and size[1] >= beside for along, beside in (least, least[::-1])
        )
        if not (level or upright):
            short = name if len(name) <= 24 else name[:23] + "…"
            # A legend hides what begins with "_".
            keys.append(Patch(color=colors[own], label=" " * short.startswith("_") + short))
            continue
        dark = colors[own][:3] @ np.array([0.299, 0.587, 0.114]) < 0.6
        look = {"ha": "center", "va": "center", "fontsize": 8, "parse_math": False}
        look |= {"rotation": 0 if level else 90, "color": "white" if dark else "black"}
        middle = top[own][begins[k]] - slots / 2
        axes.text((a + b) / 2, middle, name, **look)
    return keys


def _draw_deadlines(axes: Any, plan: Plan, clock: Clock) -> list[Any]:
    # Deadlines as marks above the slots: dark if met, red if missed. Returns their keys, with counts.
    deadline, few = plan.jobs.deadline, len(plan.jobs) <= _NAMED
    has = np.isfinite(deadline)
    met = plan.completion <= deadline + 1e-9 * np.maximum(1.0, np.abs(deadline))
    keys = []
    for mask, color, word in ((has & met, MET, "met"), (has & ~met, MISSED, "missed")):
        at = np.clip(clock.shift(deadline[mask]), *axes.get_xlim())
        label = f"deadline {word} ({len(at):,})"
        look = {"marker": "v" if few else "|", "color": color, "zorder": 3, "clip_on": False}
        keys.append(
            axes.scatter(at, np.full(len(at), plan.capacity * 1.03), s=30, label=label, **look)
        )
    return keys if has.any() else []


_MOST_ROWS = 400  # beyond that, a row per flow and no arrows
_NAMED_FLOWS = 60  # with more, rows have no names


@picture
def draw_flows(plan: FlowPlan, *, title: str | None = None) -> Any:
    """Draw a plan of flows; ``title`` replaces policy, objective, value, bound and gap."""
    from matplotlib.collections import PolyCollection

    flows, clock = plan.flows, plan_clock(plan)
    single = len(flows.work) <= _MOST_ROWS
    row, edges = _rows(plan, single)
    place: Integers = np.argsort(plan.order)
    figure = new_figure(10.0, min(2.0 + 0.12 * max(edges[-1], 1), 24.0))
    axes = figure.add_subplot()
    begin = 0.0 if clock.origin else plan.now  # if nothing runs before the origin
    job = np.asarray(plan.pieces["job"])
    start, end = (clock.shift(np.asarray(plan.pieces[key])) for key in ("start", "end"))
    share = np.asarray(plan.pieces["slots"]) / np.minimum(flows.max_slots, plan.capacity)[job]
    base = row[job] + 0.95
    above = base - (0.9 * share if single else 0.9)
    corners = [(start, base), (start, above), (end, above), (end, base)]
    bars = PolyCollection(
        list(np.stack([np.stack(corner, axis=1) for corner in corners], axis=1)),
        facecolors=order_colors(place / max(len(place) - 1, 1))[flows.flow[job]]
        if len(job)
        else None,
        alpha=1.0 if single else 0.3,
        linewidths=0,
    )
    axes.add_collection(bars)
    keys = []
    if single and len(flows.parent):
        child = np.repeat(np.arange(len(row)), np.diff(flows.parent_offset))
        time = [clock.shift(plan.completion[flows.parent]), clock.shift(plan.start[child])]
        look = {"color": "#333333", "linewidth": 0.4, "zorder": 3}
        keys = axes.plot(time, [row[flows.parent] + 0.5, row[child] + 0.5], alpha=0.6, **look)[:1]
        keys[0].set_label("waits for")
    for edge in edges[1:-1]:
        axes.axhline(edge, color="#bbbbbb", linewidth=0.5)
    last = float(end.max(initial=begin + 1e-9))
    keys += _draw_due(axes, plan, clock.shift(flows.deadline), (begin, last), edges)
    if keys:
        look = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "fontsize": 7, "frameon": False}
        axes.legend(handles=keys, **look)
    _name_rows(axes, plan, row, edges)
    axes.set_xlim(begin, last + 0.02 * (last - begin))
    axes.set_ylim(max(edges[-1], 1), 0)
    label_times(axes, clock)
    axes.set_axisbelow(True)
    axes.set_title(title_of(plan) if title is None else title, loc="left", fontsize=10)
    return figure


def _draw_due(
    axes: Any, plan: FlowPlan, due: Floats, span: tuple[float, float], edges: Sequence[int]
) -> list[Any]:
    # A line across the rows of every flow whose deadline is not far beyond: red if it is missed. Returns keys.
    begin, last = span
    near = np.flatnonzero((begin <= due) & (due <= 1.5 * last - 0.5 * begin))
    deadline, place = plan.flows.deadline, np.argsort(plan.order)
    late = plan.flow_completion - deadline > 1e-9 * np.maximum(1.0, np.abs(deadline))
    top, bottom = np.array(edges[:-1])[place], np.array(edges[1:])[place]
    keys = []
    for own, color, word in ((near[~late[near]], MET, "met"), (near[late[near]], MISSED, "missed")):
        if len(own):
            look = {"lw": 1.2, "label": f"deadline {word} ({len(own):,})"}
            keys.append(axes.vlines(due[own], top[own], bottom[own], color, **look))
    return keys


def _name_rows(axes: Any, plan: FlowPlan, row: Integers, edges: Sequence[int]) -> None:
    # Names of jobs if there are few, of flows if these are few, or how many flows there are.
    flows = plan.flows
    if len(row) <= _NAMED:
        axes.set_yticks(row + 0.5, [printable(name) for name in flows.job_name], fontsize=8)
    elif len(flows) <= _NAMED_FLOWS:
        middle = [(a + b) / 2 for a, b in zip(edges[:-1], edges[1:], strict=True)]
        names = [printable(flows.name[flow]) for flow in plan.order.tolist()]
        axes.set_yticks(middle, names, fontsize=7)
    else:
        axes.set_yticks([])
        axes.set_ylabel(f"{counted(len(flows), 'flow')}, by order")


def _rows(plan: FlowPlan, single: bool) -> tuple[Integers, list[int]]:
    # Rows of jobs from the top, flows in their order, their jobs by start; where each flow begins.
    flows = plan.flows
    row = np.zeros(len(flows.work), dtype=np.int64)
    edges = [0]
    for flow in plan.order.tolist():
        own = np.arange(flows.job_offset[flow], flows.job_offset[flow + 1])
        places = np.arange(len(own)) if single else np.zeros(len(own), dtype=np.int64)
        row[own[np.argsort(plan.start[own], kind="stable")]] = edges[-1] + places
        edges.append(edges[-1] + (len(own) if single else 1))
    return row, edges
