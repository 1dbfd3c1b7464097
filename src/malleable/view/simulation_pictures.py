"""Pictures of simulations: responses of one run, means over a grid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from malleable.replications import Replications
from malleable.results import SimulationResult
from malleable.view.drawing import new_figure, picture, plain_numbers, policy_look
from malleable.view.simulations import AXES

_ACROSS = 3  # panels beside each other
_FAR = 20.0  # an axis is logarithmic if its largest value is this many times its least positive one
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
    plain_numbers(axes.xaxis)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return figure


@picture
def draw_grid(found: Replications) -> Any:
    """Mean response of every policy over the last parameter of a grid, in a panel for each combination of the
    others; seeds are averaged. ValueError without a grid."""
    if found.points == [{}]:
        raise ValueError("this picture is of a grid, and there is one point")
    *others, last = found.points[0]
    panels = list(dict.fromkeys(tuple(point[name] for name in others) for point in found.points))
    across = min(len(panels), _ACROSS)
    down = -(-len(panels) // across)
    figure = new_figure(1.0 + 4.4 * across, 3.8 * down)
    grid = figure.subplots(down, across, squeeze=False, sharey=True, sharex=True)
    for axes, values in zip(grid.flat, panels, strict=False):
        where = dict(zip(others, values, strict=True))
        _draw_panel(axes, found.at(**where), last)
        named = ", ".join(f"{AXES.get(name, name)} {own:g}" for name, own in where.items())
        axes.set_title(named or f"Mean response over {last}", loc="left", fontsize=10)
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    for axes in grid[-1]:
        axes.set_xlabel(AXES.get(last, last))
    for axes in grid[:, 0]:
        axes.set_ylabel("mean response [s]")
    grid[0, 0].legend(fontsize=8, frameon=False)
    return figure


def _draw_panel(axes: Any, found: Replications, last: str) -> None:
    x = [point[last] for point in found.points]
    summaries = [found.at(**point).summary for point in found.points]
    for policy in found.policies:
        # half: half the width of each confidence interval
        means, half = np.array([own[policy]["mean_response"] for own in summaries]).T
        error = np.minimum(np.nan_to_num(half), 0.9 * np.abs(means))
        look = {**_POINTS, **policy_look(policy)}
        axes.errorbar(x, means, yerr=error if error.any() else None, label=policy, **look)
    axes.set(yscale="log")
    plain_numbers(axes.yaxis)
    least = min((value for value in x if value > 0.0), default=math.inf)
    if max(x) >= _FAR * least:
        axes.set_xscale("symlog", linthresh=least)
    axes.set_xticks(x, [f"{value:g}" for value in x])
    axes.margins(x=0.03)
    axes.grid(alpha=0.3)
