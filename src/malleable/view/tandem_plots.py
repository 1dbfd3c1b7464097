"""Curves of the overlapping tandem queue: slowdown by size, and ratio to the bound over load."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from malleable.result import SimulationResult
from malleable.view.cluster_plots import draw_stretch_by_decade
from malleable.view.drawing import check_drawing, new_figure, save_figure
from malleable.view.slotted_views import draw_slowdown_by_work

__all__ = ["draw_ratio_over_load", "draw_slowdown", "plot_ratios", "plot_slowdowns"]

_FEWEST = 30  # jobs in a bucket that is shown


def plot_slowdowns(axes: Any, slowdown: Mapping[str, tuple[Any, Any]], width: float) -> None:
    """Mean slowdown of every bucket with enough jobs, one curve a policy."""
    for policy, (count, mean) in slowdown.items():
        shown = np.asarray(count) >= _FEWEST
        middle = (np.arange(len(shown)) + 0.5) * width
        axes.plot(middle[shown], np.asarray(mean)[shown], linewidth=1.0, label=policy)
    axes.set(xlabel="size max(map, shuffle) [s]", ylabel="mean slowdown", yscale="log")
    axes.legend(fontsize=8)


def plot_ratios(axes: Any, rows: Iterable[Mapping[str, Any]]) -> None:
    """Mean response over its bound against load, one curve a policy; seeds are averaged."""
    points: dict[str, dict[float, list[float]]] = {}
    for row in rows:
        if row.get("lower_bound"):
            at = points.setdefault(row["policy"], {}).setdefault(row["load"], [])
            at.append(row["mean_response"] / row["lower_bound"])
    for policy, found in points.items():
        loads = sorted(found)
        axes.plot(loads, [float(np.mean(found[load])) for load in loads], marker=".", label=policy)
    axes.set(xlabel="load", ylabel="mean response / bound")
    axes.legend(fontsize=8)


def draw_slowdown(
    result: SimulationResult,
    path: str | os.PathLike[str] | None = None,
    force: bool = True,
    *,
    width: float = 0.25,
) -> Any:
    """Mean slowdown by size, as `SimulationResult.slowdown` has it.

    Parameters
    ----------
    result : SimulationResult
        With buckets; for the slotted model see `draw_slowdown_by_work`, for the cluster
        `draw_stretch_by_decade`.
    path : path, optional
        Where to write the picture.
    force : bool
        False: an existing file is refused.
    width : float
        Of the buckets [s]: ``bucket_width`` of the simulation.

    Raises
    ------
    ValueError
        No bucket has enough jobs, or the suffix names no image format.
    ImportError
        matplotlib is not installed.
    """
    if result.model == "slotted":
        return draw_slowdown_by_work(result, path, force)
    if result.model == "cluster":
        return draw_stretch_by_decade(result, path, force)
    check_drawing(path)
    if not any((np.asarray(count) >= _FEWEST).any() for count, _ in result.slowdown.values()):
        raise ValueError(f"slowdown: no bucket of size has {_FEWEST} jobs")
    figure = new_figure(6.0, 4.0)
    plot_slowdowns(figure.add_subplot(), result.slowdown, width)
    if path is not None:
        save_figure(figure, path, force)
    return figure


def draw_ratio_over_load(
    rows: Sequence[Mapping[str, Any]],
    path: str | os.PathLike[str] | None = None,
    force: bool = True,
) -> Any:
    """Mean response over its lower bound against load, from the rows of `sweep`.

    Raises
    ------
    ValueError
        No row has a bound, or the suffix names no image format.
    ImportError
        matplotlib is not installed.
    """
    check_drawing(path)
    if not any(row.get("lower_bound") for row in rows):
        raise ValueError("rows: none has a lower bound")
    figure = new_figure(6.0, 4.0)
    plot_ratios(figure.add_subplot(), rows)
    if path is not None:
        save_figure(figure, path, force)
    return figure
