"""What the figures of all papers share: a run, panels of rows, claims, one drawing. An experiment is a
function of a `Run`: it returns a `Figure`, which is data, of which text, JSON and pictures are made here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from malleable.papers.claim import Claim
from malleable.replications import Interval, Replications, replicate
from malleable.view.drawing import new_figure, plain_numbers, policy_look
from malleable.view.text import Table, counted, plain


class Range(NamedTuple):
    """A result of some simulations."""

    mean: float
    worst: float


_BETWEEN = {Interval: " +- ", Range: " / "}  # what is printed between the two numbers of a pair


def shown(value: Any, form: str = ".3f") -> str:
    """A value of a row as text in the format ``form`` (two for a pair). NaN parts are left out; an empty
    value is a dash."""
    if value is None or isinstance(value, str):
        return value or "-"
    first, _, second = form.partition(" ")
    parts = value if isinstance(value, tuple) else (value,)
    known = zip(parts, (first, second or first), strict=False)
    told = [f"{part:{own}}" for part, own in known if not math.isnan(part)]
    return _BETWEEN.get(type(value), " to ").join(told).replace("%", " %") or "-"


class Panel(NamedTuple):
    """Rows of one table. ``columns`` are those shown, with their formats (`shown`); rows may have more for
    JSON. ``title`` replaces the name above the table."""

    name: str
    columns: Mapping[str, str]
    rows: Sequence[Mapping[str, Any]]
    title: str = ""

    def table(self) -> Table:
        cells = [
            [shown(row.get(head), form) for head, form in self.columns.items()] for row in self.rows
        ]
        return Table(self.title or self.name, list(self.columns), cells)


class Series(NamedTuple):
    """A curve over ``x``, or without it bars, one a group. An `Interval` has an error bar; the worst value of a
    `Range` is a dashed curve, or a mark above its bar. ``look`` is passed to matplotlib."""

    label: str
    y: Iterable[Any]
    x: Iterable[float] | None = None
    look: Mapping[str, Any] = {}


class Axes(NamedTuple):
    """One picture of a figure; ``groups`` name the bars, ``options`` are of matplotlib's ``set``."""

    title: str
    xlabel: str
    ylabel: str
    series: Sequence[Series]
    groups: Sequence[str] = ()
    options: Mapping[str, Any] = {}

    @property
    def width(self) -> float:
        bars = sum(own.x is None for own in self.series)
        return max(4.5, 1.5 + 0.22 * bars * len(self.groups))


def picture(
    panel: Panel,
    names: Sequence[str],
    ylabel: str,
    x: str | None = None,
    more: Sequence[Series] = (),
    xlabel: str = "",
    **options: Any,
) -> Axes:
    """Columns of a panel as curves over the column ``x``, or as bars grouped by its first column. Rows
    without a value are left out; ``more`` is drawn, too."""
    rows = [row for row in panel.rows if row[names[0]] is not None]
    places = None if x is None else [row[x] for row in rows]
    groups = [str(row[next(iter(panel.columns))]) for row in rows] if x is None else ()
    series = [Series(name, [row[name] for row in rows], places) for name in names]
    title = panel.title or panel.name
    return Axes(title, xlabel or x or "", ylabel, [*series, *more], groups, options)


@dataclass
class Run:
    """A request for an experiment, and whether it was completed.

    Attributes
    ----------
    name, shows : str
        The figure, and what it is about.
    count : int
        Simulations a point, or jobs (``unit``).
    seed : int
        Of the first simulation.
    quick : bool
        Without the largest experiments.
    trace : object, optional
        Jobs to take instead of generated ones.
    executor : concurrent.futures.Executor, optional
        Where replications run.
    progress : callable
        Called with (label, all steps) after each step.
    """

    name: str
    shows: str
    count: int
    seed: int = 0
    quick: bool = False
    trace: Any = None
    executor: Executor | None = None
    progress: Callable[[str, int], object] = lambda label, total: None
    unit: str = "simulation"
    complete: bool = True

    @property
    def seeds(self) -> range:
        return range(self.seed, self.seed + self.count)

    def steps(self, work: Iterable[tuple[str, Any]], total: int) -> list[Any]:
        """Results of the steps of an experiment; after Ctrl-C the finished ones."""
        found = []
        try:
            for label, step in work:
                found.append(step)
                self.progress(label, total)
        except KeyboardInterrupt:
            self.complete = False
        return found

    def replicate(
        self, points: Sequence[tuple[str, Callable[[int], Any], Any]], policies: Any, **options: Any
    ) -> list[Replications]:
        """All seeds of some points on a cluster; after Ctrl-C the finished points. A point is a label, a
        function that makes its jobs, and options of its own."""
        found = []
        for label, make, own in points:
            progress = partial(self.advance, label, self.count * len(points))
            how = {**options, **own, "executor": self.executor, "progress": progress}
            one = replicate(make, self.seeds, policies, **how)
            self.complete = one.complete
            if not one.complete:
                break
            found.append(one)
        return found

    def advance(self, label: str, total: int, *_: int) -> None:
        self.progress(label, total)

    def figure(self, what: str, panels: Sequence[Panel], **more: Any) -> Figure:
        title = f"{self.shows}: {what}, {counted(self.count, self.unit)}"
        return Figure(self, title, [panel for panel in panels if panel.rows], **more)


@dataclass(frozen=True)
class Figure:
    """A figure as data, without what was not finished. ``axes`` are rows of pictures that share their y axis;
    ``claims`` are the paper's beside ours, ``notes`` sentences for people, ``facts`` more for JSON."""

    run: Run
    title: str
    panels: Sequence[Panel]
    claims: Sequence[Claim] = ()
    notes: Sequence[str] = ()
    axes: Sequence[Sequence[Axes]] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {
            "figure": self.run.name,
            "title": self.title,
            self.run.unit + "s": self.run.count,
            "seed": self.run.seed,
            "complete": self.run.complete,
            **plain(self.facts),
            "panels": {panel.name: plain(panel.rows) for panel in self.panels},
            "claims": [claim.as_dict() for claim in self.claims],
            "notes": list(self.notes),
        }

    def parts(self) -> list[Table | str]:
        parts: list[Table | str] = [f"{self.run.name}: {self.title}", ""]
        parts += [panel.table() for panel in self.panels]
        if self.claims:
            columns = dict(zip(Claim._fields, zip(*self.claims, strict=True), strict=True))
            heads = [head for head, own in columns.items() if any(own)]
            cells = [[str(getattr(claim, head)) for head in heads] for claim in self.claims]
            parts.append(Table("", heads, cells, left=len(heads)))
            opened = [claim for claim in self.claims if claim.verdict.holds is None]
            parts += [f"{own.verdict.told(self.run.unit)}: {own.claim}" for own in opened]
        parts += self.notes
        if not self.run.complete:
            parts.append("Interrupted: only what was finished is shown.")
        return parts

    def draw(self) -> Any:
        rows = [row for row in self.axes if row]
        width = max((sum(each.width for each in row) for row in rows), default=4.5)
        drawn = new_figure(width, 0.5 + 3.7 * len(rows))
        parts = drawn.subfigures(max(len(rows), 1), 1, squeeze=False)[:, 0]
        for part, row in zip(parts, rows, strict=False):
            across = part.subplots(1, len(row), sharey=True, squeeze=False)[0]
            for axes, each in zip(across, row, strict=True):
                _draw(axes, each if len(row) * len(rows) > 1 else each._replace(title=""))
                axes.label_outer()
        ended = "" if self.run.complete else " (interrupted)"
        shows = f"{self.run.shows[:1].upper()}{self.run.shows[1:]}"
        source = f"{self.run.name}, {counted(self.run.count, self.run.unit)}{ended}"
        drawn.suptitle(f"{shows} ({source})", fontsize=10, wrap=True)
        return drawn


_WIDTH = 0.8  # width of a group of bars


def bar_place(group: int, bar: int, bars: int) -> float:
    # the x of a bar's middle; group k has its middle at x = k
    return group + (bar - (bars - 1) / 2) * _WIDTH / bars


def _draw(axes: Any, what: Axes) -> None:
    bars = [own for own in what.series if own.x is None]
    for k, own in enumerate(bars):
        x = [bar_place(group, k, len(bars)) for group in range(len(what.groups))]
        _draw_bars(axes, own, x, _WIDTH / len(bars), what.groups if len(bars) == 1 else ())
    for own in what.series:
        if own.x is not None:
            _draw_curve(axes, own)
    if what.groups:
        turn = {"rotation": 25, "ha": "right"} if len("".join(what.groups)) > 8 * what.width else {}
        axes.set_xticks(range(len(what.groups)), what.groups, fontsize=8, **turn)
    axes.set(xlabel=what.xlabel, ylabel=what.ylabel, **what.options)
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":
            plain_numbers(axis)
    axes.set_title(what.title, loc="left", fontsize=9)
    axes.grid(axis="y", linewidth=0.3)
    axes.set_axisbelow(True)
    handles, names = axes.get_legend_handles_labels()
    shown = dict(zip(names, handles, strict=True))  # the worst of several bars has one entry
    if len(shown) > 1 or "worst" in shown:
        beside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if bars else {}
        axes.legend(shown.values(), shown, fontsize=7, frameon=False, **beside)


def _draw_bars(axes: Any, own: Series, x: Any, width: float, policies: Sequence[str]) -> None:
    # A bar a group, in the colour of its policy if groups are policies.
    mean, error, worst = _values(own.y)
    look: dict[str, Any] = {"label": own.label}
    colors = [policy_look(each).get("color") for each in policies]
    if colors and all(colors):
        look |= {"color": colors, "label": ""}
    elif color := policy_look(own.label).get("color"):
        look["color"] = color
    axes.bar(x, mean, width, **{**look, **own.look})
    if error is not None:
        thin = {"fmt": "none", "ecolor": "0.4", "elinewidth": 1.0, "capsize": 2}
        axes.errorbar(x, mean, error, label="95 % interval", **thin)
    if worst is not None:
        axes.plot(x, worst, "k_", markersize=9, label="worst")


def _draw_curve(axes: Any, own: Series) -> None:
    x, (mean, error, worst) = [] if own.x is None else list(own.x), _values(own.y)
    look = {"marker": "o", "markersize": 3.5, "linewidth": 1.2}
    look |= {**policy_look(own.label), **own.look}
    line = axes.errorbar(x, mean, yerr=error, capsize=2, label=own.label, **look)[0]
    if worst is not None:
        thin = {"markersize": 4, "linewidth": 1.0, "color": line.get_color()}
        axes.plot(x, worst, "^--", label=f"{own.label}, worst", **thin)


def _values(y: Iterable[Any]) -> tuple[Any, Any, Any]:
    # means, half widths of intervals if they are known, worst values if they are known
    values = list(y)
    pairs = [each if isinstance(each, tuple) else (each, math.nan) for each in values]
    mean, second = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    if any(isinstance(each, Range) for each in values):
        return mean, None, second
    return mean, None if np.isnan(second).all() else second, None
