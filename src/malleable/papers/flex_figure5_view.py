"""Figure 5 of the FLEX paper as tables, JSON and a picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from malleable.jobs.plan import DEFAULT_EFFORT
from malleable.papers.flex_figure5 import REFERENCE_EFFORT, SERIES, Figure5, Point
from malleable.papers.flex_figure5_claims import PRINTED, check_claims
from malleable.view.drawing import new_figure
from malleable.view.text import Table, counted, table

__all__ = ["draw_figure5", "figure5_dict", "figure5_notes", "figure5_tables"]

_PANELS = {
    "slack": "(a) average response over slack: 80 % small jobs",
    "small": "(b) average response over small jobs: 75 % slack",
    "metric": "(c) metrics: 80 % small jobs, 75 % slack",
    "larger": "Larger experiments of section 4.1: ratio to FLEX, 10 slots a job",
}
_NAMES = {"fifo": "FIFO", "fair": "FAIR", "flex": "FLEX", "flex-orders": "fixed orders"}
_COLORS = {"fifo": "#d1495b", "fair": "#edae49", "flex": "#00798c", "flex-orders": "#6c9a8b"}
_CUT = 6.0  # larger ratios in panel (c) are cut off and printed


def figure5_dict(result: Figure5) -> dict[str, Any]:
    """All points and claims in JSON types."""
    return {
        "name": "flex-fig5",
        "source": "FLEX (Middleware 2010), section 4.1 and figure 5",
        "complete": result.complete,
        "simulations": result.simulations,
        "seed": result.seed,
        "effort": {"flex": DEFAULT_EFFORT, "flex-orders": 0, "reference": REFERENCE_EFFORT},
        "panels": {name: [point.summary() for point in result.panel(name)] for name in _PANELS},
        "claims": [claim.as_dict() for claim in check_claims(result)],
    }


def _cell(point: Point, series: str) -> str:
    average, worst = point.average(series), point.worst(series)
    if average is None or worst is None:
        return "-"
    return " / ".join(
        f"{ratio:.3f}" if ratio < 10 else f"{ratio:.1f}" for ratio in (average, worst)
    )


def figure5_tables(result: Figure5) -> list[Table]:
    """One table a panel, then the paper's printed claims beside what we found."""
    tables = []
    for panel, title in _PANELS.items():
        rows = [
            (point.label, *(_cell(point, series) for series in SERIES), str(point.left_out or ""))
            for point in result.panel(panel)
        ]
        if rows:
            columns = ["average / worst ratio", *_NAMES.values(), "out"]
            tables.append(table(title, columns, rows))
    claims = [
        (claim.claim, claim.paper, claim.ours, claim.criterion, claim.verdict.word)
        for claim in check_claims(result)
    ]
    heads = ("printed in section 4.1", "paper", "ours", "criterion", "verdict")
    return [*tables, table("Paper and reproduction", heads, claims, left=5)]


def figure5_notes(result: Figure5) -> list[str]:
    """What the numbers of the tables are, one sentence a line."""
    by_panel = [
        point.reference for name in ("slack", "small", "metric") for point in result.panel(name)
    ]
    notes = [
        f"{counted(result.simulations, 'simulation')} a point, seeds {result.seed} to "
        f"{result.seed + result.simulations - 1}; FLEX: effort {DEFAULT_EFFORT}; "
        "fixed orders: effort 0, as the paper describes FLEX.",
        *(
            f"Reference for {'sums' if text.startswith('best') else 'maxima'}: {text}."
            for text in dict.fromkeys(by_panel)
        ),
        "out: simulations left out because their reference is not positive, as in the paper.",
    ]
    notes += [
        f"{claim.verdict.told('simulation')}: {claim.claim}"
        for claim in check_claims(result)
        if claim.verdict.holds is None
    ]
    if not result.complete:
        notes.append("Interrupted: only what was finished is shown.")
    return notes


def draw_figure5(result: Figure5) -> Any:
    """The three panels; returns a matplotlib figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    figure = new_figure(12.0, 9.0)
    grid = figure.add_gridspec(2, 2, height_ratios=(1.0, 1.15))
    _draw_lines(figure.add_subplot(grid[0, 0]), result, "slack")
    _draw_lines(figure.add_subplot(grid[0, 1]), result, "small")
    _draw_bars(figure.add_subplot(grid[1, :]), result)
    figure.suptitle(
        "FLEX (2010), figure 5 again: 10 jobs, 100 slots, "
        + f"{counted(result.simulations, 'simulation')} a point"
        + ("" if result.complete else " (interrupted)"),
        fontsize=11,
    )
    return figure


def _draw_lines(axes: Any, result: Figure5, panel: str) -> None:
    points = [point for point in result.panel(panel) if point.ratios["flex"]]
    x = [100 * (point.slack if panel == "slack" else point.small) for point in points]
    for series in SERIES[:3]:
        color, name = _COLORS[series], _NAMES[series]
        average = [point.average(series) for point in points]
        axes.plot(x, average, "o-", color=color, markersize=4, label=f"{name}, average")
        worst = [point.worst(series) for point in points]
        axes.plot(x, worst, "^--", color=color, markersize=4, label=f"{name}, worst")
    base = 75 if panel == "slack" else 80
    printed = [number for numbers in PRINTED.values() for number in numbers]
    axes.plot([base] * len(printed), printed, "kx", label="paper, printed (base case)")
    _finish(axes, _PANELS[panel])
    axes.set_xlabel("slack [%]" if panel == "slack" else "small jobs [%]")
    axes.set_ylim(bottom=0.8)
    axes.legend(fontsize=7, frameon=False, ncols=3, loc="upper left")
    axes.set_ylim(top=axes.get_ylim()[1] * 1.15)  # room for the legend


def _draw_bars(axes: Any, result: Figure5) -> None:
    points = [point for point in result.panel("metric") if point.ratios["flex"]]
    width = 0.27
    for k, series in enumerate(SERIES[:3]):
        x = np.arange(len(points)) + (k - 1) * width
        worst = np.array([point.worst(series) for point in points], dtype=float)
        average = np.array([point.average(series) for point in points], dtype=float)
        color, name = _COLORS[series], _NAMES[series]
        axes.bar(x, np.minimum(worst, _CUT), width, color=color, alpha=0.35, label=f"{name}, worst")
        axes.bar(x, np.minimum(average, _CUT), width, color=color, label=f"{name}, average")
        for at, high in zip(x, worst, strict=True):
            if high > _CUT:
                axes.annotate(
                    f"{high:.0f}",
                    (at, _CUT),
                    ha="center",
                    va="bottom",
                    fontsize=6,
                    annotation_clip=False,
                )
    title = f"{_PANELS['metric']} (worst ratios above {_CUT:.0f} are cut off and printed)"
    _finish(axes, title, 14)
    axes.set_ylim(0, _CUT)
    axes.axhline(1.0, color="black", linewidth=0.6)
    labels = [point.label.replace(", weighted", ",\nweighted") for point in points]
    axes.set_xticks(range(len(points)), labels, rotation=40, ha="right", fontsize=7)
    axes.legend(fontsize=7, frameon=False, ncols=3, loc="upper right", bbox_to_anchor=(1, 1.16))


def _finish(axes: Any, title: str, pad: int = 6) -> None:
    axes.set_title(title, loc="left", fontsize=9, pad=pad)
    axes.set_ylabel("ratio to reference")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", linewidth=0.3)
