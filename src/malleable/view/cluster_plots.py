"""Pictures of cluster simulations: stretch by size of jobs, utilisation and jobs over time."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from malleable.result import SimulationResult
from malleable.view.clock import Clock
from malleable.view.drawing import check_drawing, label_times, new_figure, save_figure

__all__ = ["draw_load", "draw_stretch_by_decade"]

_FAR = 8.0  # ratio of mean numbers of jobs from which on their axis is logarithmic


def draw_stretch_by_decade(
    result: SimulationResult, path: str | os.PathLike[str] | None = None, force: bool = True
) -> Any:
    """Mean response / work by decade of work, one line a policy, over the number of jobs there."""
    check_drawing(path)
    figure = new_figure(6.4, 5.0)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    highest = 0
    for policy, (count, mean) in result.slowdown.items():
        rows = np.flatnonzero(np.asarray(count) > 0)
        shown = rows[np.asarray(mean)[rows] > 0.0]
        highest = max(highest, int(rows.max(initial=0)))
        upper.plot(shown, np.asarray(mean)[shown], marker="o", markersize=4, label=policy)
    upper.set(ylabel="mean response / work", yscale="log")
    upper.legend(fontsize=8)
    upper.grid(axis="y", alpha=0.3)
    count = np.asarray(next(iter(result.slowdown.values()))[0])
    lower.bar(np.arange(len(count)), count, color="0.6", width=0.8)
    names = ["< 10", *(f"$10^{{{k}}}$" for k in range(1, highest + 1))]
    lower.set(xlabel="work of the job, from [slot-seconds]", ylabel="jobs", yscale="log")
    lower.set_xticks(range(highest + 1), names)
    if path is not None:
        save_figure(figure, path, force)
    return figure


def _time_unit(longest: float) -> tuple[str, float]:
    for unit, seconds in (("days", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if longest >= 4 * seconds:
            return unit, seconds
    return "s", 1.0


def draw_load(
    result: SimulationResult, path: str | os.PathLike[str] | None = None, force: bool = True
) -> Any:
    """Utilisation of each kind of slots and jobs in the system over time, one line a policy.

    Raises
    ------
    ValueError
        The simulation has no series (of the cluster model only), or an unknown image format.
    ImportError
        matplotlib is not installed.
    """
    check_drawing(path)
    if not result.series:
        raise ValueError("kind = 'load': only of the cluster model")
    kinds = {"map_utilisation": "map slots", "reduce_utilisation": "reduce slots"}
    kinds = {
        name: label
        for name, label in kinds.items()
        if any(np.isfinite(series[name]).any() for series in result.series.values())
    }
    begun = [own["time"][:-1][own["jobs"] > 0.0] for own in result.series.values()]
    clock = Clock.of(0.0, *begun)
    times = {policy: clock.shift(own["time"]) for policy, own in result.series.items()}
    longest = max(float(own[-1]) for own in times.values())
    unit, seconds = _time_unit(longest)
    figure = new_figure(7.0, 1.4 + 1.9 * (len(kinds) + 1))
    panels = figure.subplots(len(kinds) + 1, 1, sharex=True)
    # Lines that lie on each other stay visible: the later ones are thinner.
    looks = {
        policy: {"baseline": None, "label": policy, "linewidth": max(0.8, 3.0 - 0.8 * k)}
        for k, policy in enumerate(result.series)
    }
    for axes, (name, label) in zip(panels, kinds.items(), strict=False):
        for policy, series in result.series.items():
            axes.stairs(100 * series[name], times[policy] / seconds, **looks[policy])
        axes.set(ylabel=f"{label} in use [%]", ylim=(0, 105))
    means = []
    for policy, series in result.series.items():
        panels[-1].stairs(series["jobs"], times[policy] / seconds, **looks[policy])
        means.append(float(series["jobs"] @ np.diff(times[policy])) / float(times[policy][-1]))
    panels[-1].set(ylabel="jobs in the system")
    label_times(panels[-1], clock, unit)
    if clock.origin:
        panels[-1].set_xlim(0.0, longest / seconds)  # nothing is there before
    if max(means) > _FAR * min(means):
        panels[-1].set_yscale("symlog", linthresh=1.0)
    panels[-1].set_ylim(bottom=0)
    for axes in panels:
        axes.grid(alpha=0.3)
    panels[0].legend(fontsize=8, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    if path is not None:
        save_figure(figure, path, force)
    return figure
