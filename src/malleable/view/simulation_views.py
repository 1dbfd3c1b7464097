"""Simulations for people and machines: tables, JSON, the distribution of responses."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from malleable.result import SimulationResult
from malleable.view.drawing import new_figure, save_figure
from malleable.view.slotted_views import slotted_table
from malleable.view.text import Table, number, percent, table

__all__ = ["draw_response_cdf", "simulation_dict", "simulation_table"]


def simulation_table(result: SimulationResult) -> Table:
    """One line a policy."""
    if result.model == "slotted":
        return slotted_table(result)
    rows = [
        (
            policy,
            number(s["mean_response"]),
            number(s["mean_response"] / s["lower_bound"]) if s.get("lower_bound") else "-",
            number(s["mean_stretch"]),
            number(s["p50"]),
            number(s["p99"]),
            number(s["max_response"]),
            percent(s["map_utilisation"]),
            percent(s["shuffle_utilisation"]),
        )
        for policy, s in result.summary.items()
    ]
    heads = ("policy", "response [s]", "/ bound", "stretch", "p50", "p99", "max", "map", "shuffle")
    return table("", heads, rows)


def simulation_dict(result: SimulationResult) -> dict[str, Any]:
    """Summaries as JSON has them: no NaN."""
    return {
        "model": result.model,
        "complete": result.complete,
        "policies": {
            policy: {name: None if math.isnan(value) else value for name, value in summary.items()}
            for policy, summary in result.summary.items()
        },
        "timing": dict(result.timing),
    }


def draw_response_cdf(
    result: SimulationResult, path: str | os.PathLike[str] | None = None, force: bool = True
) -> Any:
    """The share of jobs with a response of at most t, t on a logarithmic axis."""
    if result.records is None:
        raise ValueError("records were not kept: simulate(..., records=True)")
    figure = new_figure(6.0, 4.0)
    axes = figure.subplots()
    for policy in result.summary:
        response = np.sort(result.records["turnaround_time"][result.records["policy"] == policy])
        axes.step(response, np.arange(1, len(response) + 1) / max(len(response), 1), label=policy)
    unit = "slots" if result.model == "slotted" else "s"
    axes.set(xscale="log", xlabel=f"response [{unit}]", ylabel="share of jobs", ylim=(0.0, 1.0))
    axes.legend()
    if path is not None:
        save_figure(figure, path, force)
    return figure
