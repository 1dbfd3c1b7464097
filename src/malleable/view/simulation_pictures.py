"""Pictures of simulations: responses, means over periods, gains over a grid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from malleable.replications import Interval, Replications
from malleable.results import SimulationResult
from malleable.view.drawing import new_figure, picture, plain_numbers, policy_look
from malleable.view.simulations import REFERENCE, SUBJECT, gain

_APART = 0.015  # shift of sigma, so that bars of several loads do not cover each other
_POINTS = {"marker": "o", "markersize": 4, "linewidth": 1.2, "capsize": 3}


@picture
def draw_response_cdf(result: SimulationResult) -> Any:
    """The share of jobs with a response of at most t, t on a logarithmic axis."""
    records = result.kept_records()
    unit = "steps" if result.model == "slotted" else "s"
    figure = new_figure(6.0, 4.0)
    axes = figure.add_subplot()
    axes.set(
        xlabel=f"response time [{unit}]", ylabel="share of jobs", xscale="log", ylim=(0.0, 1.0)
    )
    axes.set_title("Share of jobs by response time", loc="left")
    for policy in result.summary:
        response = np.sort(records["turnaround_time"][records["policy"] == policy])
        share = np.arange(1, len(response) + 1) / max(len(response), 1)
        axes.plot(response, share, drawstyle="steps-pre", label=policy, **policy_look(policy))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return figure


@picture
def draw_periods(found: Replications) -> Any:
    """Mean response and mean tardiness over the period, one curve a policy; seeds are averaged. ValueError
    unless there are several periods."""
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
            look = {**_POINTS, **policy_look(policy)}
            axes.errorbar(periods, means, yerr=error if error.any() else None, label=policy, **look)
        axes.set_title(panels[name].capitalize().split(" [")[0] + " over the period", loc="left")
        axes.set(ylabel=panels[name], yscale="symlog" if name == "mean_tardiness" else "log")
        _scale_periods(axes, periods)
    figure.axes[0].legend(fontsize=8, frameon=False)
    return figure


def _scale_periods(axes: Any, periods: list[float]) -> None:
    plain_numbers(axes.yaxis)
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
    ValueError unless both were run at every point."""
    axes_of = [
        (point.get("load"), point.get("speedup"), point.get("estimates", 0.0))
        for point in found.points
    ]
    gains = [gain(found.at(**point)) for point in found.points]
    if any(math.isnan(ratio.mean) for ratio in gains):
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
    panels[0].set(yscale="log", ylabel="mean response, FLEX / FAIR (below 1: FLEX is better)")
    plain_numbers(panels[0].yaxis)
    if loads != [None]:
        panels[-1].legend(fontsize=8)
    return figure


def _draw_gains(axes: Any, points: list[Any], loads: list[Any]) -> None:
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
