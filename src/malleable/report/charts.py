"""Line charts and stacked areas as SVG. Names are escaped here, with their control characters. Colours are
variables of the page's style (``--c-auto``). Each chart has a description and a table of values for readers
without scripts; scripts read ``data-`` attributes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, NamedTuple

from malleable.display import printable

_TOP, _BOTTOM, _EDGE = 14, 44, 16
_DASHES = {"recorded": "", "auto": "", "fair": "7 3", "fifo": "2 3", "flex": "10 3 2 3"}
_LEAST_GAP = 15  # least distance of two names at the right


def _text(name: str) -> str:
    return escape(printable(name), quote=True)


class Paper(NamedTuple):
    """The size of a chart, its margins, and whether lines have names at their ends."""

    kind: str
    width: int
    left: int
    right: int
    height: int
    marks: int
    named: bool


_PAPERS = (Paper("wide", 760, 64, 118, 300, 7, True), Paper("narrow", 380, 56, 14, 260, 4, False))
"""A page has each chart twice, and shows the one that fits."""


class Line(NamedTuple):
    """A line: its colour, name, points, and half widths of intervals if there are any."""

    key: str
    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    half: Sequence[float | None] | None = None


def _rule(kind: str, first: tuple[float, float], last: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = first, last
    return f'<line class="{kind}" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}"/>'


def _words(kind: str, x: float, y: float, text: str, anchor: str = "start") -> str:
    at = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {at}>{_text(text)}</text>'


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    if not high > low:
        return [low]
    rough = (high - low) / most
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(
        size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough * (1 - 1e-9)
    )
    first = math.floor(low / step + 1e-9)
    found = [first * step]
    while found[-1] < high - step * 1e-9:
        found.append((first + len(found)) * step)
    return [round(value, 12) for value in found]


def time_unit(longest: float) -> tuple[float, str]:
    for size, unit in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if longest >= 2.5 * size:
            return size, unit
    return 1.0, "seconds"


class Frame(NamedTuple):
    """Coordinates of values on a chart, its axes, its right edge, and the least and largest x."""

    x: Callable[[float], float]
    y: Callable[[float], float]
    parts: list[str]
    end: int
    low: float
    high: float


def _frame(
    xs: Sequence[float],
    ys: Sequence[float],
    names: tuple[str, str],
    paper: Paper,
    log: bool = False,
) -> Frame:
    left, end, height = paper.left, paper.width - paper.right, paper.height
    wide, high = end - left, height - _TOP - _BOTTOM
    x_low, x_high = min(xs), max(xs)
    span = (x_high - x_low) or 1.0
    values = [math.log10(value) for value in ys] if log else list(ys)
    if log:
        low, top = math.floor(min(values)), math.ceil(max(values))
        marks = [10.0**k for k in range(low, max(top, low + 1) + 1)]
        floor, ceiling = float(low), float(max(top, low + 1))
    else:
        marks = ticks(min(0.0, *values), max(*values, 1e-12), 5)
        floor, ceiling = marks[0], marks[-1]

    def x(value: float) -> float:
        return left + wide * (value - x_low) / span

    def y(value: float) -> float:
        own = math.log10(max(value, 1e-12)) if log else value
        return _TOP + high * (1.0 - (own - floor) / ((ceiling - floor) or 1.0))

    parts = []
    for mark in marks:
        at = y(mark)
        parts.append(_rule("grid", (left, at), (end, at)))
        parts.append(_words("tick", left - 8, at + 4, _tick(mark), "end"))
    base = height - _BOTTOM
    for mark in ticks(x_low, x_high, paper.marks):
        if x_low - span * 1e-9 <= mark <= x_high + span * 1e-9:
            parts.append(_words("tick", x(mark), base + 18, _tick(mark), "middle"))
    parts.append(_rule("axis", (left, base), (end, base)))
    parts.append(_words("axis-name", left + wide / 2, height - 6, names[0], "middle"))
    parts.append(
        f'<text class="axis-name" transform="translate(14 {_TOP + high / 2:.0f}) rotate(-90)"'
        f' text-anchor="middle">{_text(names[1])}</text>'
    )
    return Frame(x, y, parts, end, x_low, x_high)


def _tick(value: float) -> str:
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return text.replace("-", "−")


def lines(
    drawn: Sequence[Line],
    names: tuple[str, str],
    title: str,
    told: str,
    *,
    log: bool = False,
    mark: tuple[float, str] | None = None,
    level: tuple[float, str] | None = None,
    points: bool = False,
) -> str:
    """A chart of lines. ``names`` of both axes; ``title`` and ``told`` for screen readers; ``mark``, (x,
    text), a vertical and ``level``, (y, text), a horizontal line; ``points``: a dot at every point."""
    ys = [value for line in drawn for value in _reached(line) if value > 0.0 or not log]
    ys += [level[0]] if level else []
    xs = [value for line in drawn for value in line.x] + ([mark[0]] if mark else [])
    if not ys or not xs:
        return ""
    pages = []
    for paper in _PAPERS:
        frame = _frame(xs, ys, names, paper, log)
        body = [*frame.parts, *_marked(frame, paper, mark, level)]
        pages.append(_lines(drawn, frame, names, f"{title}. {told}", paper, body, points))
    return "".join(pages)


def _reached(line: Line) -> list[float]:
    halves = line.half or [None] * len(line.y)
    return [
        value + sign * (half or 0.0)
        for value, half in zip(line.y, halves, strict=True)
        if value is not None
        for sign in (-1, 1)
    ]


def _lines(
    drawn: Sequence[Line],
    frame: Frame,
    names: tuple[str, str],
    told: str,
    paper: Paper,
    body: list[str],
    points: bool,
) -> str:
    shown = [line for line in drawn if any(value is not None for value in line.y)]
    ends: list[tuple[float, str, str]] = []
    for line in shown:
        path, last = _line(line, frame, points)
        body += path
        ends.append((last, line.key, line.name))
    if paper.named:
        body += _names(sorted(ends), frame.end, paper.height)
    first = list(drawn[0].x)
    if any(list(line.x) != first for line in drawn):
        return _svg(body, told, paper)
    hover = {
        "x": [round(value, 9) for value in first],
        "left": paper.left, "right": frame.end, "top": _TOP, "bottom": paper.height - _BOTTOM,
        "low": frame.low, "high": frame.high, "unit": names[0], "value": names[1],
        "lines": [
            {
                "name": printable(line.name),
                "key": line.key,
                "y": [None if b is None else round(b, 6) for b in line.y],
            }
            for line in shown
        ],
    }  # fmt: skip
    return _svg(body, told, paper, hover)


def _line(line: Line, frame: Frame, points: bool) -> tuple[list[str], float]:
    parts = []
    for a, b, half in zip(line.x, line.y, line.half or [], strict=False):
        if b is not None and half:
            top, foot = ((frame.x(a), frame.y(end)) for end in (b + half, b - half))
            parts.append(_rule(f"whisker k-{line.key}", top, foot))
    known = [(frame.x(a), frame.y(b)) for a, b in zip(line.x, line.y, strict=True) if b is not None]
    path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in known)
    dash = _DASHES.get(line.key, "4 4")
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    parts.append(f'<path class="line k-{line.key}" d="{path}"{dashed}/>')
    if points:
        parts += [
            f'<circle class="dot k-{line.key}" cx="{a:.1f}" cy="{b:.1f}" r="3.5"/>'
            for a, b in known
        ]
    return parts, known[-1][1]


def _marked(
    frame: Frame, paper: Paper, mark: tuple[float, str] | None, level: tuple[float, str] | None
) -> list[str]:
    parts = []
    if mark is not None:
        at = frame.x(mark[0])
        parts.append(_rule("mark", (at, _TOP), (at, paper.height - _BOTTOM)))
        parts.append(_words("mark-name", at + 5, _TOP + 11, mark[1]))
    if level is not None:
        at, left = frame.y(level[0]), paper.left
        parts.append(_rule("mark", (left, at), (frame.end, at)))
        parts.append(_words("mark-name", left + 5, at - 5, level[1]))
    return parts


def _names(ends: list[tuple[float, str, str]], x: int, height: int) -> list[str]:
    places: list[float] = []
    lowest, limit = float(_TOP + 4), float(height - _BOTTOM)
    for at, _, _ in ends:
        places.append(max(at, lowest))
        lowest = places[-1] + _LEAST_GAP
    for k in reversed(range(len(places))):
        places[k] = min(places[k], limit)
        limit = places[k] - _LEAST_GAP
    found = []
    for place, (at, key, name) in zip(places, ends, strict=True):
        found.append(f'<path class="lead" d="M{x + 2} {at:.1f}L{x + 9} {place:.1f}"/>')
        found.append(_words(f"name k-{key}", x + 12, place + 4, name))
    return found


def _svg(body: Sequence[str], told: str, paper: Paper, hover: Any = None) -> str:
    # In an attribute: escaped, so that no name ends it.
    data = f' data-hover="{escape(json.dumps(hover), quote=True)}"' if hover else ""
    label = _text(told)
    return (
        f'<svg class="chart {paper.kind}" viewBox="0 0 {paper.width} {paper.height}" role="img"'
        f' aria-label="{label}"{data}>' + "".join(body) + "</svg>"
    )


def stacked(
    edges: Sequence[float],
    layers: Sequence[tuple[str, Sequence[float]]],
    names: tuple[str, str],
    title: str,
    told: str,
    *,
    level: tuple[float, str] | None = None,
) -> str:
    if len(edges) < 2 or not layers:
        return ""
    totals = [sum(values) for values in zip(*(own for _, own in layers), strict=True)]
    pages = []
    for each in _PAPERS:
        paper = each._replace(right=_EDGE)
        frame = _frame(edges, [*totals, level[0] if level else 0.0], names, paper)
        body = list(frame.parts)
        below = [0.0] * (len(edges) - 1)
        for k, (name, own) in enumerate(layers):
            above = [a + b for a, b in zip(below, own, strict=True)]
            top = _outline(frame, edges, above, range(len(above)), (0, 1))
            foot = _outline(frame, edges, below, reversed(range(len(below))), (1, 0))
            body.append(
                f'<path class="area a-{k % 8}" d="M{top}L{foot}Z"><title>{_text(name)}</title></path>'
            )
            below = above
        body += _marked(frame, paper, None, level)
        pages.append(_svg(body, f"{title}. {told}", paper))
    return "".join(pages)


def _outline(
    frame: Frame, edges: Sequence[float], y: Sequence[float], windows: Any, sides: tuple[int, int]
) -> str:
    points = ((edges[j + side], y[j]) for j in windows for side in sides)
    return "L".join(f"{frame.x(at):.1f} {frame.y(value):.1f}" for at, value in points)


def bar(ratio: float | None, most: float = 2.0) -> str:
    """A bar to the left for what takes less time, to the right for more, by factors."""
    if ratio is None or not ratio > 0.0 or math.isinf(ratio):
        return ""
    part = max(-1.0, min(1.0, math.log(ratio) / math.log(most)))
    wide = max(abs(part) * 48.0, 0.5)
    x = 50.0 - wide if part < 0 else 50.0
    kind = "gain" if part < 0 else "loss"
    return (
        '<svg class="bar" viewBox="0 0 100 12" aria-hidden="true" focusable="false">'
        f'<rect class="{kind}" x="{x:.1f}" y="1" width="{wide:.1f}" height="10"/>'
        '<line class="axis" x1="50" x2="50" y1="0" y2="12"/></svg>'
    )
