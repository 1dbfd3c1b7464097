"""Pictures of simulations: responses, slowdown by size, load over time, gains over a grid."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from malleable.replications import Interval, Replications
from malleable.result import SimulationResult
from malleable.view.clock import Clock
from malleable.view.drawing import label_times, new_figure, picture
from malleable.view.simulations import REFERENCE, SUBJECT, gain

_FEWEST = 30  # jobs in a bucket of the tandem queue that is shown
_FAR = 8.0  # ratio of mean numbers of jobs from which on their axis is logarithmic
_APART = 0.015  # of sigma, so that bars of several loads do not cover each other
_DECADE = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
_POINTS = {"marker": "o", "markersize": 4, "linewidth": 1.2, "capsize": 3}
_UNITS = (("days", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))
_PANELS = {
    "map_utilisation": "map slots in use [%]",
    "reduce_utilisation": "reduce slots in use [%]",
    "jobs": "jobs in the system",
}


def _curves(
    curves: Mapping[str, tuple[Any, Any]], look: Mapping[str, Any], size: Any = None, **labels: Any
) -> Any:
    """A figure with one panel: a curve a policy, labels and scales; ``size`` of the legend's letters."""
    figure = new_figure(6.0, 4.0)
    axes = figure.add_subplot()
    axes.set(**labels)
    for policy, places in curves.items():
        axes.plot(*places, label=policy, **look)
    axes.legend(fontsize=size)
    return figure


@picture
def draw_response_cdf(result: SimulationResult) -> Any:
    """The share of jobs with a response of at most t, t on a logarithmic axis."""
    records = result.kept_records()
    unit = "slots" if result.model == "slotted" else "s"
    curves = {}
    for policy in result.summary:
        response = np.sort(records["turnaround_time"][records["policy"] == policy])
        curves[policy] = response, np.arange(1, len(response) + 1) / max(len(response), 1)
    labels = {"xlabel": f"response [{unit}]", "ylabel": "share of jobs"}
    return _curves(curves, {"drawstyle": "steps-pre"}, xscale="log", ylim=(0.0, 1.0), **labels)


@picture
def draw_slowdown(result: SimulationResult, *, width: float = 0.25) -> Any:
    """Mean slowdown by size, one curve a policy, as `SimulationResult.slowdown` has it.

    ``width`` is that of the tandem queue's buckets [s]. Those of the slotted model are powers of two,
    those of the cluster and of jobs decades of work, with the number of jobs below them. ValueError
    where no bucket has enough jobs.
    """
    if result.model in ("cluster", "jobs"):
        return _draw_decades(result)
    tandem = result.model == "tandem"
    few = _FEWEST if tandem else 1
    if not any((count >= few).any() for count, _ in result.slowdown.values()):
        nobody = f"no bucket of size has {few} jobs" if few > 1 else "no job has finished"
        raise ValueError(f"slowdown: {nobody}")
    curves = {}
    for policy, (count, mean) in result.slowdown.items():
        at = np.flatnonzero(count >= few)
        curves[policy] = (at + 0.5) * width if tandem else 2.0**at, mean[at]
    labels = {"ylabel": "mean slowdown", "yscale": "log"}
    if tandem:
        size = "size max(map, shuffle) [s]"
        return _curves(curves, {"linewidth": 1.0}, 8, xlabel=size, **labels)
    return _curves(curves, {"marker": "."}, xscale="log", xlabel="work of a job [units]", **labels)


def _draw_decades(result: SimulationResult) -> Any:
    """Mean response / work by decade of work, one line a policy, over the number of jobs there."""
    figure = new_figure(6.4, 5.0)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    highest = 0
    for policy, (count, mean) in result.slowdown.items():
        shown = np.flatnonzero((count > 0) & (mean > 0.0))
        highest = max(highest, int(np.flatnonzero(count).max(initial=0)))
        upper.plot(shown, mean[shown], marker="o", markersize=4, label=policy)
    upper.set(ylabel="mean response / work", yscale="log")
    upper.legend(fontsize=8)
    upper.grid(axis="y", alpha=0.3)
    count = next(iter(result.slowdown.values()))[0]
    lower.bar(np.arange(len(count)), count, color="0.6", width=0.8)
    names = ["< 10", *(f"$10^{{{k}}}$" for k in range(1, highest + 1))]
    lower.set(xlabel="work of the job, from [slot-seconds]", ylabel="jobs", yscale="log")
    lower.set_xticks(range(highest + 1), names)
    return figure


@picture
def draw_load(result: SimulationResult) -> Any:
    """Utilisation of each kind of slots and jobs in the system over time, one line a policy.

    ValueError where the simulation has no series: only those of the cluster model do.
    """
    if result.model != "cluster" or not result.series:
        raise ValueError("kind = 'load': only of the cluster model")
    every = result.series.values()
    begun = [own["time"][:-1][own["jobs"] > 0.0] for own in every]
    clock = Clock.of(0.0, *begun)
    times = {policy: clock.shift(own["time"]) for policy, own in result.series.items()}
    longest = max(float(own[-1]) for own in times.values())
    unit, seconds = next((own for own in _UNITS if longest >= 4 * own[1]), _UNITS[-1])
    edges = {policy: time / seconds for policy, time in times.items()}
    panels = [name for name in _PANELS if any(np.isfinite(own[name]).any() for own in every)]
    figure = new_figure(7.0, 1.4 + 1.9 * len(panels))
    rows = figure.subplots(len(panels), 1, sharex=True)
    for axes, name in zip(rows, panels, strict=True):
        _draw_series(axes, name, result.series, edges)
    _scale_jobs(rows[-1], [(own["jobs"], times[name]) for name, own in result.series.items()])
    label_times(rows[-1], clock, unit)
    if clock.origin:
        rows[-1].set_xlim(0.0, longest / seconds)  # nothing is there before
    rows[0].legend(fontsize=8, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def _draw_series(axes: Any, name: str, series: Mapping[str, Any], edges: Mapping[str, Any]) -> None:
    """One panel: a line a policy."""
    scale, top = (1, None) if name == "jobs" else (100, 105)
    for k, (policy, own) in enumerate(series.items()):
        width = max(0.8, 3.0 - 0.8 * k)  # lines that lie on each other stay visible
        axes.stairs(scale * own[name], edges[policy], baseline=None, label=policy, linewidth=width)
    axes.set(ylabel=_PANELS[name], ylim=(0, top))
    axes.grid(alpha=0.3)


def _scale_jobs(axes: Any, series: list[tuple[Any, Any]]) -> None:
    """A logarithmic axis where policies leave very different numbers of jobs."""
    means = [float(jobs @ np.diff(time)) / float(time[-1]) for jobs, time in series]
    if max(means) > _FAR * min(means):
        axes.set_yscale("symlog", linthresh=1.0)
    axes.set_ylim(bottom=0)


@picture
def draw_periods(found: Replications) -> Any:
    """Mean response and mean tardiness over the period, one curve a policy; seeds are averaged.

    ValueError unless several periods were run.
    """
    periods = sorted({point.get("period", 0.0) for point in found.points})
    if len(periods) < 2 or any(set(point) != {"period"} for point in found.points):
        raise ValueError("the picture of periods is of a grid of periods, and of nothing else")
    panels = {"mean_response": "mean response [s]", "mean_tardiness": "mean tardiness [s]"}
    summary = {period: found.at(period=period).summary for period in periods}
    late = any("mean_tardiness" in own for own in summary[periods[0]].values())
    shown = [name for name in panels if late or name == "mean_response"]
    figure = new_figure(1.0 + 4.4 * len(shown), 3.8)
    for axes, name in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        for policy in found.policies:
            own = [summary[period][policy].get(name, Interval(math.nan, 0.0)) for period in periods]
            means, half = np.array(own).T
            error = np.minimum(np.nan_to_num(half), 0.9 * np.abs(means))
            axes.errorbar(
                periods, means, yerr=error if error.any() else None, label=policy, **_POINTS
            )
        axes.set(ylabel=panels[name], yscale="symlog" if name == "mean_tardiness" else "log")
        _scale_periods(axes, periods)
    figure.axes[0].legend(fontsize=8)
    return figure


def _scale_periods(axes: Any, periods: list[float]) -> None:
    """A logarithmic axis of periods, which may begin with 0, and plain numbers at both axes."""
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.set_xlabel("period [s]")
    if periods[0] == 0.0:
        axes.set_xscale("symlog", linthresh=periods[1])
        axes.set_xlim(left=0.0)
    else:
        axes.set_xscale("log")
    axes.set_xticks(periods, [f"{period:g}" for period in periods])
    axes.set_xticks([], minor=True)
    axes.grid(alpha=0.3)


@picture
def draw_grid(found: Replications) -> Any:
    """Mean response of FLEX over FAIR against the error of sizes: a panel a speed-up, a line a load.

    ValueError unless both were run at every point.
    """
    axes_of = [
        (point.get("load"), point.get("speedup"), point.get("estimates", 0.0))
        for point in found.points
    ]
    gains = [gain(found.at(**point)) for point in found.points]
    every = [ratio.mean for ratio in gains]
    if any(map(math.isnan, every)):
        raise ValueError(f"the picture of a grid compares {SUBJECT} with {REFERENCE}: run both")
    points = [(*own, ratio) for own, ratio in zip(axes_of, gains, strict=True)]
    speedups = list(dict.fromkeys(speedup for _, speedup, _ in axes_of))
    loads = sorted({load for load, _, _ in axes_of}, key=lambda load: load or 0.0)
    figure = new_figure(1.6 + 4.4 * len(speedups), 4.2)
    panels = figure.subplots(1, len(speedups), squeeze=False, sharey=True)[0]
    for axes, speedup in zip(panels, speedups, strict=True):
        _draw_gains(axes, [own for own in points if own[1] == speedup], loads)
        if len(speedups) > 1:
            axes.set_title(f"s tasks do s^{speedup:g}", fontsize=10)
    _scale_gains(panels[0], every)
    if loads != [None]:
        panels[-1].legend(fontsize=8)
    return figure


def _scale_gains(axes: Any, every: list[float]) -> None:
    """A logarithmic axis around 1 with ticks that read well."""
    low, high = min(0.8, 0.8 * min(every)), max(1.25, 1.6 * max(every))
    ticks = [tick * 10.0**k for k in range(-3, 3) for tick in _DECADE]
    ticks = [tick for tick in ticks if low <= tick <= high]
    axes.set(yscale="log", ylim=(low, high), ylabel="mean response, FLEX / FAIR")
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_yticks([], minor=True)


def _draw_gains(axes: Any, points: list[Any], loads: list[Any]) -> None:
    """One panel: means with their intervals over the error of sizes, a line a load."""
    for k, line in enumerate(loads):
        own = sorted((sigma, *ratio) for load, _, sigma, ratio in points if load == line)
        sigmas, means, halves = np.nan_to_num(np.array(own).T)
        places = sigmas + _APART * (k - (len(loads) - 1) / 2)
        error = [np.minimum(halves, 0.9 * means), halves] if halves.any() else None
        label = None if line is None else f"load {line:g}"
        axes.errorbar(places, means, yerr=error, color=f"C{k}", label=label, **_POINTS)
    axes.axhline(1.0, color="black", linewidth=0.8, linestyle="--")
    axes.grid(axis="y", alpha=0.3)
    axes.set_xlabel("error of sizes, sigma")
