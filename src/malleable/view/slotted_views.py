"""Simulations of map and reduce in slots: table, promises of the theory, ratio over time."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any

import numpy as np

from malleable.result import SimulationResult
from malleable.slotted.simulate import efficiency_over_time
from malleable.slotted.table import MapReduceJobs
from malleable.slotted.theory import EfficiencyConstants
from malleable.view.drawing import new_figure, save_figure
from malleable.view.text import Table, number, percent, table

__all__ = [
    "constants_dict",
    "constants_lines",
    "draw_ratio_over_time",
    "draw_slowdown_by_work",
    "slotted_table",
]


def slotted_table(result: SimulationResult) -> Table:
    """One line a policy; flow times are in slots."""
    rows = [
        (
            policy,
            number(s["mean_response"]),
            f"{s['ratio']:.3f}" if "ratio" in s else "-",
            f"{s['tight_ratio']:.3f}" if "tight_ratio" in s else "-",
            number(s["p50"]),
            number(s["p99"]),
            number(s["max_response"]),
            percent(s["utilisation"]),
            f"{s['unfinished']:,.0f}",
        )
        for policy, s in result.summary.items()
    ]
    heads = (
        "policy",
        "flow [slots]",
        "/ SRPT bound",
        "/ our bound",
        "p50",
        "p99",
        "max",
        "busy",
        "unfinished",
    )
    return table("", heads, rows)


def constants_lines(constants: EfficiencyConstants, preemptive: bool) -> list[str]:
    """What the theory promises, in words."""
    promised = constants.preemptive if preemptive else constants.non_preemptive
    which = "theorem 2" if preemptive else "theorem 3"
    if not math.isfinite(promised):
        return [f"load {constants.load:.3f}: {which} promises nothing at load 1 or more"]
    return [
        f"load {constants.load:.3f}, B1 {constants.b1:,.6g} slots, B2 {constants.b2:,.6g} slots^2: in the"
        f" long run {which} promises every work-conserving policy a ratio below {promised:.3g}",
    ]


def constants_dict(constants: EfficiencyConstants) -> dict[str, float | None]:
    """The constants as JSON has them: no infinities."""
    return {
        name: value if math.isfinite(value) else None
        for name, value in dataclasses.asdict(constants).items()
    }


def draw_slowdown_by_work(
    result: SimulationResult, path: str | os.PathLike[str] | None = None, force: bool = True
) -> Any:
    """Mean flow time over the slots alone on all machines, by work, one curve a policy.

    Buckets are powers of two of a job's units. ValueError if nothing has finished.
    """
    if not any(len(count) for count, _ in result.slowdown.values()):
        raise ValueError("slowdown: no job has finished")
    figure = new_figure(6.0, 4.0)
    axes = figure.subplots()
    for policy, (count, mean) in result.slowdown.items():
        some = np.flatnonzero(count)
        axes.plot(2.0**some, mean[some], marker=".", label=policy)
    axes.set(xscale="log", yscale="log", xlabel="work of a job [units]", ylabel="mean slowdown")
    axes.legend()
    if path is not None:
        save_figure(figure, path, force)
    return figure


def draw_ratio_over_time(
    result: SimulationResult,
    jobs: MapReduceJobs,
    machines: int,
    path: str | os.PathLike[str] | None = None,
    force: bool = True,
) -> Any:
    """Efficiency ratio to the SRPT bound up to every slot, one curve a policy (the paper's figure 9)."""
    figure = new_figure(6.0, 4.0)
    axes = figure.subplots()
    for policy, ratio in efficiency_over_time(result, jobs, machines).items():
        axes.plot(np.arange(1, len(ratio) + 1), ratio, label=policy)
    axes.set(xlabel="slot", ylabel="flow time so far / that of the SRPT bound")
    axes.set_ylim(bottom=0.0)
    axes.legend()
    if path is not None:
        save_figure(figure, path, force)
    return figure
