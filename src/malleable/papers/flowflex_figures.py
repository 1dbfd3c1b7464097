"""Figures 10 and 11 of the FlowFlex paper: FlowFlex, FAIR and FIFO against the best bound.

25 generated instances (section 5.1), 9 sums and 8 maxima over flows; average and worst ratio
(value + 1) / (bound + 1), with times in units of the mean Q. The paper prints no numbers for single
bars; what its text says of them is quoted beside the table.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from malleable.flows.generate import section51_flows
from malleable.flows.plan import plan_flows
from malleable.view.drawing import check_drawing, new_figure, save_figure
from malleable.view.text import counted, table

__all__ = [
    "FIGURES",
    "FigureRow",
    "FlowFigure",
    "draw_flow_figure",
    "flow_figure_dict",
    "flow_figure_table",
    "run_flow_figure",
]

SLOTS = 25
INSTANCES = 25
_POLICIES = ("flowflex", "flowflex-literal", "fair", "fifo")

_KINDS = (
    ("completion", "completion", False),
    ("weighted completion", "completion", True),
    ("stretch", "stretch", False),
    ("tardy", "tardy", False),
    ("weighted tardy", "tardy", True),
    ("tardiness", "tardiness", False),
    ("weighted tardiness", "tardiness", True),
    ("SLA", "sla", False),
    ("weighted SLA", "sla", True),
)
FIGURES = {
    "flowflex-fig10": ("sum", _KINDS),
    # With weight 1 the largest tardy penalty is 1 or 0, so the paper leaves it out.
    "flowflex-fig11": ("max", tuple(kind for kind in _KINDS if kind[0] != "tardy")),
}
CLAIMS = {
    "flowflex-fig10": (
        'Section 5.1: FlowFlex "performs significantly better than either Fair or FIFO, and often is'
        ' close to optimal"; FIFO "particularly poorly on average stretch".',
    ),
    "flowflex-fig11": (
        'Section 5.1: "In all 8 sets of experiments, FlowFlex is within 1.26 of optimal on average";'
        ' "makespan is fine for all schemes".',
    ),
}


class FigureRow(NamedTuple):
    """A metric: per policy, the mean and the worst ratio over the instances."""

    metric: str
    objective: str
    weighted: bool
    mean: dict[str, float]
    worst: dict[str, float]


class FlowFigure(NamedTuple):
    """One figure; not ``complete`` where it was interrupted."""

    name: str
    instances: int
    seed: int
    rows: list[FigureRow]
    complete: bool


def run_flow_figure(
    name: str,
    instances: int = INSTANCES,
    *,
    seed: int = 0,
    effort: int | None = None,
    progress: Callable[[str, int], None] | None = None,
) -> FlowFigure:
    """Run the experiments of one figure; Ctrl-C keeps the metrics that are finished.

    Every schedule is checked by the validator. Instance k has seed ``seed + k``.
    """
    aggregate, kinds = FIGURES[name]
    rows: list[FigureRow] = []
    complete = True
    try:
        for metric, kind, weighted in kinds:
            ratios: dict[str, list[float]] = {policy: [] for policy in _POLICIES}
            for k in range(instances):
                flows = section51_flows(seed + k, slots=SLOTS, weighted=weighted)
                bound = 0.0
                for policy in _POLICIES:  # FlowFlex first: its bound is the best one
                    plan = plan_flows(flows, SLOTS, f"{aggregate}:{kind}", policy, effort)
                    plan.validate()
                    if policy == "flowflex":
                        bound = plan.lower_bound
                    ratios[policy].append((plan.value + 1.0) / (bound + 1.0))
                if progress is not None:
                    progress(metric, instances * len(kinds))
            rows.append(
                FigureRow(
                    metric if (aggregate, metric) != ("max", "completion") else "makespan",
                    f"{aggregate}:{kind}",
                    weighted,
                    {policy: float(np.mean(values)) for policy, values in ratios.items()},
                    {policy: float(np.max(values)) for policy, values in ratios.items()},
                )
            )
    except KeyboardInterrupt:
        complete = False
    return FlowFigure(name, instances, seed, rows, complete)


def flow_figure_dict(figure: FlowFigure) -> dict[str, Any]:
    """The figure in JSON types."""
    return {
        "figure": figure.name,
        "instances": figure.instances,
        "seed": figure.seed,
        "slots": SLOTS,
        "complete": figure.complete,
        "paper": list(CLAIMS[figure.name]),
        "metrics": [
            {
                "metric": row.metric,
                "objective": row.objective,
                "weighted": row.weighted,
                "mean": row.mean,
                "worst": row.worst,
            }
            for row in figure.rows
        ],
    }


def flow_figure_table(figure: FlowFigure) -> list[Any]:
    """The figure as a table, and what the paper's text says."""
    heads = ["ratio to the bound"]
    for policy in _POLICIES:
        heads += [policy, "worst"]
    rows = [
        [row.metric]
        + [f"{which[policy]:.3f}" for policy in _POLICIES for which in (row.mean, row.worst)]
        for row in figure.rows
    ]
    title = (
        f"{figure.name}: {counted(figure.instances, 'instance')} on {SLOTS} slots, mean and worst"
    )
    return [table(title, heads, rows), *CLAIMS[figure.name]]


def draw_flow_figure(
    figure: FlowFigure, path: str | os.PathLike[str] | None = None, force: bool = True
) -> Any:
    """The figure as bars: mean, with a mark for the worst case, on a logarithmic scale."""
    check_drawing(path)
    drawn = new_figure(11.0, 4.5)
    axes = drawn.add_subplot()
    places = np.arange(len(figure.rows))
    width = 0.8 / len(_POLICIES)
    for k, policy in enumerate(_POLICIES):
        at = places + (k - (len(_POLICIES) - 1) / 2) * width
        axes.bar(at, [row.mean[policy] for row in figure.rows], width, label=policy)
        axes.plot(at, [row.worst[policy] for row in figure.rows], "k_", markersize=8)
    axes.set_yscale("log")
    axes.axhline(1.0, color="#444444", linewidth=0.8)
    axes.set_xticks(places, [row.metric for row in figure.rows], rotation=20, fontsize=8)
    axes.set_ylabel("(value + 1) / (bound + 1)")
    axes.legend(fontsize=8)
    axes.set_title(f"{figure.name}: mean (bars) and worst (marks)", loc="left", fontsize=10)
    if path is not None:
        save_figure(drawn, path, force)
    return drawn
