"""Plans as pictures: the packing of jobs, and flows as a Gantt picture.

A packing has time on x, slots on y, and every job is a coloured block. Jobs that end last lie at the bottom
and those that end first on top: what is freed is freed at the top of the stack, and blocks keep their place
as long as possible. Many jobs are drawn in groups that end one after another, with the mean of their slots
in each of many small steps of time.

Flows have a row per job, and precedence as arrows. A job's bar is as high as its share of its own maximum at
every moment, so what runs slowly shows; flows are separated and coloured by their place in the order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from malleable.flows.plan import FlowPlan
from malleable.jobs.plan import Plan
from malleable.jobs.table import Floats, Integers
from malleable.view.clock import Clock
from malleable.view.drawing import label_times, new_figure, picture
from malleable.view.plan_tables import Steps, plan_clock, slots_over_time
from malleable.view.text import counted, number, percent, printable

_MOST_BANDS = 200
_MOST_INTERVALS = 2000
_NAMED = 20  # with more jobs, colours show the place in the order instead of the job
_SCALE, _SCALE_LOW, _SCALE_HIGH = "turbo", 0.06, 0.94  # its ends are too dark to tell apart
MET, MISSED = "#444444", "#c1121f"
_NAME = {"ha": "center", "va": "center", "fontsize": 8, "parse_math": False}
_LEGEND = {"fontsize": 7, "frameon": False, "borderaxespad": 0.2}
_UNDER = 20.0  # points from an axis to what stands below its numbers


class _Stack(NamedTuple):
    """``height[b, i]`` slots of band b between time[i] and time[i + 1]; band 0 at the bottom."""

    time: Floats
    height: Floats
    band: Integers  # of each job

    @property
    def top(self) -> Floats:
        """Upper edges of the bands."""
        return np.cumsum(self.height, axis=0)


@picture
def draw_packing(
    plan: Plan,
    *,
    axes: Any = None,
    title: str | None = None,
    until: float | None = None,
    colors_of: Plan | None = None,
) -> Any:
    """Draw a plan's schedule.

    Parameters
    ----------
    plan : Plan
    axes : matplotlib Axes, optional
        Draw there instead of into a figure of its own.
    title : str, optional
        Instead of policy, objective, value, bound and gap.
    until : float, optional
        Right end of the time axis [s]; by default the end of the schedule.
    colors_of : Plan, optional
        Another plan of the same jobs, whose order the colours follow instead of this plan's.

    Returns
    -------
    matplotlib Figure

    Notes
    -----
    Up to 200 jobs are drawn one by one, more in groups of about the same work. O(P log P) for P
    pieces.
    """
    axes = new_figure(9.0, 5.0).subplots() if axes is None else axes
    end = float(np.max(plan.pieces["end"], initial=plan.now)) if until is None else until
    span = max(end - plan.now, 1e-9 * max(1.0, abs(plan.now))) or 1.0
    clock = plan_clock(plan)
    begin = clock.shift(plan.now)
    axes.set_xlim(begin, begin + span)
    axes.set_ylim(0, plan.slots * 1.06)
    stack = _stack(plan)
    stack = stack._replace(time=clock.shift(stack.time))
    colors = _draw_blocks(axes, plan, stack, plan if colors_of is None else colors_of)
    axes.axhline(plan.slots, color="#222222", linewidth=0.8)
    _draw_deadlines(axes, plan, clock, colors)
    label_times(axes, clock)
    axes.set_ylabel("slots")
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(title_of(plan) if title is None else title, loc="left", fontsize=10)
    return axes.figure


@picture
def draw_packings(plans: Sequence[Plan]) -> Any:
    """Several plans of the same jobs below each other, with one time axis and the first's colours.

    Returns
    -------
    matplotlib Figure
    """
    figure = new_figure(9.0, 3.2 * len(plans) + 0.6)
    until = max(float(np.max(plan.pieces["end"], initial=plan.now)) for plan in plans)
    rows = figure.subplots(len(plans), 1, squeeze=False)[:, 0]
    for axes, plan in zip(rows, plans, strict=True):
        draw_packing(plan, axes=axes, until=until, colors_of=plans[0])
    return figure


def title_of(plan: Plan | FlowPlan) -> str:
    """The plan and how good it is, in one line."""
    what = counted(len(plan.order), "flow" if isinstance(plan, FlowPlan) else "job")
    return (
        f"{plan.policy.upper()}, {plan.objective}: {number(plan.value)}, lower bound "
        f"{number(plan.lower_bound)}, gap {percent(plan.gap)} "
        f"({what}, {counted(plan.slots, 'slot')})"
    )


def _stack(plan: Plan) -> _Stack:
    """Jobs that end last at the bottom; ties by the order, the first job on top."""
    jobs = len(plan.jobs)
    place = np.empty(jobs, dtype=np.int64)
    place[plan.order] = np.arange(jobs)
    layer = np.empty(jobs, dtype=np.int64)
    layer[np.lexsort((-place, -plan.completion))] = np.arange(jobs)
    band = layer
    if jobs > _MOST_BANDS:
        share = np.empty(jobs)
        share[np.argsort(layer)] = _work_before(plan, np.argsort(layer))
        band = np.unique((share * (_MOST_BANDS - 1)).astype(np.int64), return_inverse=True)[1]
    bands = int(band.max(initial=-1)) + 1
    steps = slots_over_time(plan, band)
    moments = np.unique(np.concatenate([[plan.now], steps.start, steps.end]))
    if len(moments) - 1 > _MOST_INTERVALS:
        moments = np.linspace(plan.now, float(steps.end.max()), _MOST_INTERVALS + 1)
    return _Stack(moments, _mean_slots(steps, bands, moments), band)


def _work_before(plan: Plan, rows: Integers) -> Floats:
    """For jobs in that sequence, the share of all work that comes before each of them."""
    work = plan.jobs.work[rows]
    total = float(work.sum())
    if total <= 0.0:
        return np.linspace(0.0, 1.0, len(rows), endpoint=False)
    return np.minimum((np.cumsum(work) - work) / total, 1.0)


def _mean_slots(steps: Steps, bands: int, moments: Floats) -> Floats:
    """Mean slots of each band in each interval; exact where the intervals are the steps' own."""
    height = np.zeros((bands, len(moments) - 1))
    rows = np.searchsorted(steps.job, np.arange(bands + 1))
    for band in range(bands):
        own = steps.between(int(rows[band]), int(rows[band + 1]))
        if not len(own.job):
            continue
        # Work done up to any moment is piecewise linear: idle before, between and after the steps.
        times = np.ravel(np.column_stack([own.start, own.end]))
        work = np.repeat(np.cumsum(own.slots * (own.end - own.start)), 2)
        work[2::2] = work[1:-1:2]
        work[0] = 0.0
        height[band] = np.diff(np.interp(moments, times, work)) / np.diff(moments)
    height[height < 1e-6] = 0.0
    return height


def _draw_blocks(axes: Any, plan: Plan, stack: _Stack, model: Plan) -> npt.NDArray[Any]:
    """Draw the bands in colours by the model's order; returns the colour of every job."""
    from matplotlib.collections import PolyCollection

    jobs, bands = len(plan.jobs), len(stack.height)
    colors = _job_colors(model)
    if jobs > _NAMED:
        # The mean over a band's work, a little darker in every other band to tell them apart.
        work = np.maximum(plan.jobs.work, 1e-9 * max(1.0, plan.jobs.work.max()))
        total = np.bincount(stack.band, work, bands)
        mean = [np.bincount(stack.band, channel * work, bands) / total for channel in colors.T]
        band_colors = np.column_stack(mean)
        band_colors[1::2, :3] *= 0.86
    else:
        band_colors = np.empty((bands, 4))
        band_colors[stack.band] = colors
    top = stack.top
    blocks = [
        (band, low, high) for band in range(bands) for low, high in _runs(stack.height[band] > 0)
    ]
    polygons = []
    for band, low, high in blocks:
        edge = np.repeat(stack.time[low : high + 1], 2)[1:-1]
        upper = np.repeat(top[band, low:high], 2)
        lower = upper - np.repeat(stack.height[band, low:high], 2)
        outline = np.append(edge, edge[::-1]), np.append(upper, lower[::-1])
        polygons.append(np.column_stack(outline))
    faces: Any = band_colors[[band for band, _, _ in blocks]] if blocks else "none"
    width = 1.0 if jobs <= _NAMED else 0.3 if jobs <= 3 * _NAMED else 0.0
    look: dict[str, Any] = {"edgecolors": "white", "linewidths": width, "antialiaseds": width > 0.0}
    axes.add_collection(PolyCollection(polygons, facecolors=faces, **look))
    if jobs <= _NAMED:
        _name_blocks(axes, plan, stack, blocks, colors)
    else:
        _draw_scale(axes, model)
    return colors


def _job_colors(plan: Plan) -> npt.NDArray[Any]:
    """Few jobs: a colour each. Many: a scale along the order, which every unit of work shares."""
    import matplotlib as mpl

    jobs = len(plan.jobs)
    if jobs <= _NAMED:
        place = np.argsort(plan.order)
        return np.asarray(mpl.colormaps["tab10" if jobs <= 10 else "tab20"](place))
    return order_colors(plan.order, _work_before(plan, plan.order))


def order_colors(order: Integers, along: Floats | None = None) -> npt.NDArray[Any]:
    """Colours on a scale along an order, by what is given of the first, the second ... from 0 to 1."""
    import matplotlib as mpl

    places = np.empty(len(order))
    places[order] = np.linspace(0.0, 1.0, len(order)) if along is None else along
    return np.asarray(mpl.colormaps[_SCALE](_SCALE_LOW + (_SCALE_HIGH - _SCALE_LOW) * places))


def _draw_scale(axes: Any, plan: Plan) -> None:
    """A colour bar that tells the place in the order."""
    import matplotlib as mpl

    shades = order_colors(np.arange(256))
    scale = mpl.cm.ScalarMappable(mpl.colors.Normalize(0, 1), mpl.colors.ListedColormap(shades))
    bar = axes.figure.colorbar(scale, ax=axes, pad=0.01, aspect=30)
    shares = np.linspace(0.0, 1.0, 9)
    found = np.searchsorted(_work_before(plan, plan.order), shares, side="right")
    # A job with much of the work is met more than once: one tick, in the middle of where it is.
    places, member = np.unique(np.maximum(found, 1), return_inverse=True)
    middle = np.bincount(member, shares) / np.bincount(member)
    bar.set_ticks(middle, labels=[f"{place:,}" for place in places.tolist()])
    bar.set_label(f"place in {plan.policy.upper()}'s order (spread by work)")
    bar.ax.invert_yaxis()


def _runs(mask: npt.NDArray[np.bool_]) -> Any:
    """Ranges [low, high) of consecutive true entries."""
    return np.flatnonzero(np.diff(mask, prepend=False, append=False)).reshape(-1, 2).tolist()


def _name_blocks(
    axes: Any, plan: Plan, stack: _Stack, blocks: Sequence[tuple[int, int, int]], colors: Any
) -> None:
    """Names inside blocks that are large enough, upright if need be; the others in a legend."""
    from matplotlib.patches import Patch

    box = axes.get_window_extent()
    scale = box.width / np.ptp(axes.get_xlim()), box.height / np.ptp(axes.get_ylim())
    point = axes.figure.dpi / 72
    job_of = np.empty(len(stack.height), dtype=int)
    job_of[stack.band] = np.arange(len(stack.band))
    spots: dict[int, tuple[float, float, float, bool]] = {}  # area, x, y, upright
    for band, low, high in blocks:
        job = int(job_of[band])
        length, line = (len(printable(plan.jobs.name[job])) * 5.0 + 4) * point, 10 * point
        for left, right, floor, roof in _rectangles(stack, band, low, high):
            width, height = (right - left) * scale[0], (roof - floor) * scale[1]
            level = width >= length and height >= line
            if not level and not (height >= length and width >= line):
                continue
            spot = width * height, (left + right) / 2, (floor + roof) / 2, not level
            if right <= axes.get_xlim()[1]:
                spots[job] = max(spots.get(job, spot), spot)
    for job, (_, x, y, upright) in spots.items():
        dark = colors[job][:3] @ np.array([0.299, 0.587, 0.114]) < 0.6
        look = {"rotation": 90 if upright else 0, "color": "white" if dark else "black"}
        axes.text(x, y, printable(plan.jobs.name[job]), **look, **_NAME)
    rest = [row for row in plan.order.tolist() if row not in spots]
    if rest:
        handles = [
            Patch(color=colors[row], label=_legend_name(plan.jobs.name[row])) for row in rest
        ]
        _add_legend(axes, handles, "upper left", (1.0, 1.0))


def _rectangles(
    stack: _Stack, band: int, low: int, high: int
) -> Iterator[tuple[float, float, float, float]]:
    """All that fit into a band between two moments: left, right, floor, roof."""
    top = stack.top[band]
    bottom = top - stack.height[band]
    for left in range(low, high):
        floor, roof = -np.inf, np.inf
        for right in range(left, high):
            floor, roof = max(floor, bottom[right]), min(roof, top[right])
            yield float(stack.time[left]), float(stack.time[right + 1]), float(floor), float(roof)


def _add_legend(axes: Any, handles: list[Any], where: str, anchor: Any, **options: Any) -> None:
    """A legend outside the axes, beside others that there may be."""
    look = {"loc": where, "bbox_to_anchor": anchor, **options, **_LEGEND}
    legend = axes.legend(handles=handles, **look)
    for text in legend.get_texts():
        text.set_parse_math(False)
    axes.legend_ = None  # so that the next legend does not replace this one
    axes.add_artist(legend)
    legend.set_clip_on(False)  # what is clipped gets no room in the layout


def _legend_name(name: str) -> str:
    text = printable(name)
    text = text if len(text) <= 24 else text[:23] + "…"
    return " " + text if text.startswith("_") else text  # a legend hides what begins with "_"


def _draw_deadlines(axes: Any, plan: Plan, clock: Clock, colors: npt.NDArray[Any]) -> None:
    """Deadlines as marks above the slots: dark if met, red if missed; those that lie beyond the axis
    as arrows at its ends, so that every deadline that is counted is there."""
    from matplotlib.lines import Line2D
    from matplotlib.transforms import ScaledTranslation

    deadline = plan.jobs.deadline
    has = np.isfinite(deadline)
    if not has.any():
        return
    met = plan.completion <= deadline + 1e-9 * np.maximum(1.0, np.abs(deadline))
    few = len(plan.jobs) <= _NAMED
    mark = "v" if few else "|"
    size = {"s": 45, "linewidths": 1.4} if few else {"s": 30, "linewidths": 0.8}
    keys = []
    left, right = axes.get_xlim()
    where = clock.shift(deadline)
    level = plan.slots * 1.03
    at = np.clip(where, left, right)
    for mask, color, word in ((has & met, MET, "met"), (has & ~met, MISSED, "missed")):
        for inside, shape in ((where == at, mark), (where < left, "<"), (where > right, ">")):
            rows = np.flatnonzero(mask & inside)
            if not len(rows):
                continue
            look = {"c": colors[rows], "edgecolors": color} if few else {"c": color}
            heights = np.full(len(rows), level)
            axes.scatter(at[rows], heights, marker=shape, zorder=3, clip_on=False, **size, **look)
            if few or shape != mark:
                _say_how_many(axes, at[rows], level, color)
        label = f"deadline {word} ({np.count_nonzero(mask):,})"
        face = "none" if few else color
        keys.append(
            Line2D([], [], marker=mark, color=color, markerfacecolor=face, ls="none", label=label)
        )
    under = axes.transAxes + ScaledTranslation(0.0, -_UNDER / 72, axes.figure.dpi_scale_trans)
    _add_legend(axes, keys, "upper right", (1.0, 0.0), ncols=2, bbox_transform=under)


def _say_how_many(axes: Any, moments: Floats, level: float, color: str) -> None:
    """Beside marks that lie on each other, their number."""
    look = {"va": "center", "fontsize": 7, "color": color, "annotation_clip": False}
    for moment, count in zip(*np.unique(moments, return_counts=True), strict=True):
        side, away = ("right", -6) if moment > np.mean(axes.get_xlim()) else ("left", 6)
        if count > 1:
            place = (moment, level), (away, 0), "data", "offset points"
            axes.annotate(f"×{count:,}", *place, ha=side, **look)


_MOST_ROWS = 400  # beyond that, a row per flow and no arrows
_NAMED_FLOWS = 60


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
    _draw_flow_deadlines(
        axes, plan, clock.shift(flows.deadline), edges, (begin, 1.5 * last - 0.5 * begin)
    )
    if len(flows) <= _NAMED_FLOWS:
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


def _draw_flow_deadlines(
    axes: Any, plan: FlowPlan, at: Floats, edges: list[int], shown: tuple[float, float]
) -> None:
    """A line across the rows of every flow with a deadline in that range: red if it is missed."""
    place: npt.NDArray[np.int64] = np.argsort(plan.order)
    for flow in np.flatnonzero((shown[0] <= at) & (at <= shown[1])).tolist():
        top, bottom = edges[place[flow]], edges[place[flow] + 1]
        late = plan.flow_completion[flow] - plan.flows.deadline[flow]
        missed = late > 1e-9 * max(1.0, abs(plan.flows.deadline[flow]))
        axes.plot([at[flow]] * 2, [top, bottom], color=MISSED if missed else MET, lw=1.2)
