"""A grid of loads, speed-ups and size errors: how a policy's gain over FAIR fades."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from malleable.replications import Interval, Replications, interval
from malleable.view.cluster_views import interval_cell, interval_numbers, replications_dict
from malleable.view.drawing import check_drawing, new_figure, save_figure
from malleable.view.text import counted, table

__all__ = [
    "GRID_ERRORS",
    "GRID_SPEEDUPS",
    "GridPoint",
    "draw_grid",
    "grid_dict",
    "grid_ratio",
    "grid_tables",
]

GRID_SPEEDUPS = (1.0, 0.8, 0.5)
GRID_ERRORS = (0.0, 0.2, 1.0)
_COLUMNS = 5  # policies that a table shows
_APART = 0.015  # of sigma, so that bars of several loads do not cover each other
_TICKS = (
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.3,
    0.5,
    0.7,
    1.0,
    1.5,
    2.0,
    3.0,
    5.0,
    10.0,
    20.0,
    50.0,
    100.0,
)
_SUBJECT, _REFERENCE = "flex", "fair"


class GridPoint(NamedTuple):
    """What was run: ``load`` is None where a cluster was given."""

    load: float | None
    speedup: float
    sigma: float


Grid = Sequence[tuple[GridPoint, Replications]]


def grid_ratio(
    result: Replications, policy: str = _SUBJECT, reference: str = _REFERENCE
) -> Interval:
    """Mean response of one policy over another's, paired over replications; NaN without both."""
    if not {policy, reference} <= set(result.runs):
        return Interval(math.nan, math.nan)
    return interval(
        [
            own["mean_response"] / base["mean_response"] if base["mean_response"] else math.nan
            for own, base in zip(result.runs[policy], result.runs[reference], strict=True)
        ]
    )


def grid_tables(grid: Grid) -> list[Any]:
    """Mean responses at every point, FLEX over FAIR, and where FLEX loses."""
    policies = list(grid[0][1].summary)
    columns = policies[:_COLUMNS]
    loads = any(point.load is not None for point, _ in grid)
    rows, losses = [], []
    for point, result in grid:
        cells = [interval_cell(result.summary[name]["mean_response"]) for name in columns]
        ratio = grid_ratio(result)
        own = [f"{point.load:g}"] if loads and point.load is not None else []
        rows.append((*own, f"{point.speedup:g}", f"{point.sigma:g}", *cells, interval_cell(ratio)))
        if ratio.mean > 1.0:
            load = f"load {point.load:g}, " if own else ""
            losses.append(
                f"{load}p = {point.speedup:g}, sigma = {point.sigma:g} ({ratio.mean:.3f} x)"
            )
    heads = (*(["load"] if loads else []), "p", "sigma", *columns, "flex / fair")
    count = len(grid[0][1].seeds)
    shown: list[Any] = [
        "mean response [s]; s tasks do s^p, policies see sizes times exp(sigma Z); "
        f"{counted(count, 'draw')}",
        table("", heads, rows),
    ]
    if len(policies) > len(columns):
        shown.append(f"and {', '.join(policies[_COLUMNS:])}: see --json")
    if {_SUBJECT, _REFERENCE} <= set(policies):
        shown.append(
            "FLEX loses to FAIR in the mean at " + ", ".join(losses)
            if losses
            else "FLEX loses to FAIR in the mean nowhere on this grid"
        )
    return shown


def grid_dict(grid: Grid) -> dict[str, Any]:
    """The grid as JSON has it."""
    return {
        "model": "cluster",
        "complete": all(result.complete for _, result in grid),
        "grid": [
            {
                **point._asdict(),
                "flex_over_fair": interval_numbers(grid_ratio(result)),
                **replications_dict(result),
            }
            for point, result in grid
        ],
    }


def draw_grid(grid: Grid, path: str | os.PathLike[str] | None = None, force: bool = True) -> Any:
    """Mean response of FLEX over FAIR against the error of sizes: a panel a speed-up, a line a load.

    Raises
    ------
    ValueError
        FLEX or FAIR was not run, or the suffix names no image format.
    ImportError
        matplotlib is not installed.
    """
    check_drawing(path)
    if any(math.isnan(grid_ratio(result).mean) for _, result in grid):
        raise ValueError("the picture of a grid compares flex with fair: run both")
    speedups = list(dict.fromkeys(point.speedup for point, _ in grid))
    figure = new_figure(1.6 + 4.4 * len(speedups), 4.2)
    panels = figure.subplots(1, len(speedups), squeeze=False, sharey=True)[0]
    loads = sorted({point.load for point, _ in grid}, key=lambda load: load or 0.0)
    for axes, speedup in zip(panels, speedups, strict=True):
        for k, load in enumerate(loads):
            own = [
                (point.sigma, grid_ratio(result))
                for point, result in grid
                if (point.load, point.speedup) == (load, speedup)
            ]
            own.sort(key=lambda each: each[0])
            shift = _APART * (k - (len(loads) - 1) / 2)
            means = np.array([ratio.mean for _, ratio in own])
            halves = np.nan_to_num([ratio.half for _, ratio in own])
            axes.errorbar(
                [sigma + shift for sigma, _ in own],
                means,
                yerr=[np.minimum(halves, 0.9 * means), halves] if halves.any() else None,
                marker="o",
                markersize=4,
                linewidth=1.2,
                capsize=3,
                color=f"C{k}",
                label=None if load is None else f"load {load:g}",
            )
        axes.axhline(1.0, color="black", linewidth=0.8, linestyle="--")
        axes.grid(axis="y", alpha=0.3)
        axes.set_xlabel("error of sizes, sigma")
        if len(speedups) > 1:
            axes.set_title(f"s tasks do s^{speedup:g}", fontsize=10)
    every = [grid_ratio(result).mean for _, result in grid]
    low, high = min(0.8, 0.8 * min(every)), max(1.25, 1.6 * max(every))
    panels[0].set(yscale="log", ylim=(low, high))
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    panels[0].set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    panels[0].set_yticks([], minor=True)
    panels[0].set_ylabel("mean response, FLEX / FAIR")
    if loads != [None]:
        panels[-1].legend(fontsize=8)
    if path is not None:
        save_figure(figure, path, force)
    return figure
