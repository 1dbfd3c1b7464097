"""Charts of a page: matplotlib draws them as SVG that is part of the page, each in two sizes. The page shows
the size that fits. Colours are variables of the page's style, so that they follow light and dark screens.
Control characters in names are escaped."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from malleable.display import printable
from malleable.simulation import FAIR, is_fair
from malleable.view.drawing import COLORS, image_bytes, new_figure, plain_numbers, policy_look

_SIZES = {"wide": (5.6, 2.4), "narrow": (3.8, 2.6)}  # inches, for texts as large as those of tables
_LINE, _STRONG = "#d5dbe3", "#8591a1"
_VARIABLES = {
    **{f"c-{name}": own for name, own in COLORS.items()},
    "line": _LINE,
    "strong": _STRONG,
}
_DASHES = {"--": "6 3", ":": "2 3", "-.": "8 3 2 3"}
# Ids of groups would be there twice; a page needs no metadata, and has the style of lines itself.
_SUPERFLUOUS = re.compile(
    r'<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->| id="[\w.]+_\d+"', re.DOTALL
)
# the font that matplotlib writes; the page has its own
_FONT = re.compile(r"'DejaVu Sans'[^;\"]*")
# Colours of the areas of a stack, by place.
AREAS = ("blue", "ochre", "green", "violet", "sky", "red", "rose", "ink")


class Line(NamedTuple):
    """A policy's line."""

    policy: str
    x: Sequence[float]
    y: Sequence[float | None]


def time_unit(longest: float) -> tuple[float, str]:
    # The unit of an axis up to this time: its seconds, and its name.
    for size, unit in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if longest >= 2.5 * size:
            return size, unit
    return 1.0, "seconds"


def _look(policy: str) -> dict[str, Any]:
    # Colour and dashes of a policy's line; FAIR has one setting in a chart.
    known = policy_look(FAIR if is_fair(policy) else policy)
    return {"color": COLORS["ink"], "linestyle": ":", **known}


def swatch(policy: str) -> str:
    """A piece of the policy's line, for legends and tables."""
    look = _look(policy)
    dash = _DASHES.get(look["linestyle"], "none")
    return (
        '<svg class="swatch" viewBox="0 0 24 4" aria-hidden="true" focusable="false">'
        + _colored(
            f'<path d="M0 2H24" style="stroke: {look["color"]}; stroke-dasharray: {dash}"/></svg>'
        )
    )


def _colored(svg: str) -> str:
    for name, color in _VARIABLES.items():
        svg = svg.replace(color, f"var(--{name})")
    return svg


def lines(
    drawn: Sequence[Line],
    names: tuple[str, str],
    told: str,
    *,
    log: bool = False,
    mark: tuple[float, str] | None = None,
    points: bool = False,
) -> str:
    """A chart of lines. ``names`` of both axes; ``told`` for screen readers; ``mark``, (x, text), a vertical
    line; ``points``: a dot at every point."""
    if not any(
        value is not None and (value > 0.0 or not log) for line in drawn for value in line.y
    ):
        return ""

    def draw(axes: Any) -> None:
        for line in drawn:
            y = np.array(line.y, dtype=np.float64)
            axes.plot(line.x, y, marker="o" if points else "", ms=4, **_look(line.policy))
        if log:
            axes.set_yscale("log")
            plain_numbers(axes.yaxis)
        else:
            axes.set_ylim(bottom=0.0)
            axes.yaxis.get_major_locator().set_params(integer=True)
        if mark is not None:
            axes.axvline(mark[0], color=_STRONG, linestyle=":")
            side = "right" if mark[0] > sum(axes.get_xlim()) / 2 else "left"
            where = axes.get_xaxis_transform()
            axes.text(mark[0], 1.0, f" {mark[1]} ", transform=where, va="top", ha=side)

    return _both(draw, names, told)


def stacked(
    edges: Sequence[float],
    layers: Sequence[Sequence[float]],
    names: tuple[str, str],
    told: str,
    most: float | None = None,
) -> str:
    """Areas upon each other, one a layer; ``most``: a line at what there is."""
    if len(edges) < 2 or not layers:
        return ""
    steps = [[*own, own[-1]] for own in layers]  # the last step is drawn up to the last edge
    colors = [COLORS[AREAS[k % len(AREAS)]] for k in range(len(layers))]

    def draw(axes: Any) -> None:
        axes.stackplot(edges, steps, step="post", colors=colors)
        axes.margins(x=0.0)
        axes.yaxis.get_major_locator().set_params(integer=True)
        if most is not None:
            axes.axhline(most, color=_STRONG, linestyle=":")
            where = axes.get_yaxis_transform()
            axes.text(0.0, most, f" all {most:,.0f}", transform=where, va="bottom")

    return _both(draw, names, told)


def _both(draw: Callable[[Any], None], names: tuple[str, str], told: str) -> str:
    # The chart in both sizes.
    return "".join(_svg(draw, names, told, kind) for kind in _SIZES)


def _svg(draw: Callable[[Any], None], names: tuple[str, str], told: str, kind: str) -> str:
    import matplotlib as mpl

    with mpl.rc_context({"svg.fonttype": "none", "font.size": 9}):
        figure = new_figure(*_SIZES[kind])
        figure.set_facecolor("none")
        axes = figure.subplots()
        draw(axes)
        axes.set(facecolor="none", xlabel=names[0], ylabel=names[1])
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.spines["bottom"].set_color(_STRONG)
        axes.tick_params(length=0, which="both")
        axes.grid(axis="y", which="both", color=_LINE)
        axes.set_axisbelow(True)
        drawn = image_bytes(figure, "chart.svg", salt=kind + told).decode()
    svg = _SUPERFLUOUS.sub("", drawn[drawn.index("<svg ") + 5 :])
    label = escape(printable(told), quote=True)
    head = f'<svg class="chart {kind}" role="img" aria-label="{label}" '
    return head + _colored(_FONT.sub("system-ui, sans-serif", svg))
