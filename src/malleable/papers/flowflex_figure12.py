"""Figure 12 of the FlowFlex paper: FlowFlex against FAIR and FIFO on a cluster, four metrics.

The paper says (section 5.2): 10 flows of 2 to 10 Gridmix2 jobs of random sizes, wired at random as in
its section 5.1 (a pair of jobs with probability 0.5); all at once, or at exponential gaps; three random
sets of each; epochs of about 2 s; jobs run when all they wait for have ended; reduce tasks are ready
when a fixed part of the maps has finished; the work of jobs that have not started is a guess per task,
and then follows the tasks that finished. It does not say the cluster, the sizes or the gaps. Ours: 10
nodes of 8 slots; a job has a log-uniform number of maps from 8 to 400 of 10, 20 or 40 s and a reduce
task for each 10 maps that copies 5 s and works 30 s; task times vary by 20 %; reduces are ready after
half of the maps; gaps of 60 s on average; guesses of 20 s a task; heartbeats of 1 s. FlowFlex is run
once for each metric.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from malleable.cluster.nodes import Cluster
from malleable.cluster.table import ClusterJobs
from malleable.papers.verdict import Verdict, judged
from malleable.replications import Interval, interval, replicate
from malleable.view.drawing import check_drawing, new_figure, save_figure
from malleable.view.text import counted, table

__all__ = ["Figure12", "draw_figure12", "figure12_dict", "figure12_tables", "run_figure12"]

FLOWS, GAP = 10, 60.0
# Metric, FlowFlex's objective, and where the simulation says it.
METRICS = (
    ("average completion time", "sum:response", "flow_response"),
    ("makespan", "max:completion", "makespan"),
    ("average stretch", "sum:stretch", "flow_stretch"),
    ("maximum stretch", "max:stretch", "flow_max_stretch"),
)
ARRIVALS = {"all at once": 0.0, "exponential gaps": GAP}
RIVALS = ("fair", "fifo")


class Figure12(NamedTuple):
    """By arrivals, metric and rival: by what part FlowFlex is lower (paired over replications)."""

    replications: int
    seed: int
    gain: dict[str, dict[str, dict[str, Interval]]]
    complete: bool


def gridmix_flows(seed: int, gap: float) -> ClusterJobs:
    """Ten flows as in the header."""
    rng = np.random.default_rng(seed)
    after: list[list[int]] = []
    flow: list[str] = []
    arrival: list[float] = []
    now = 0.0
    for k in range(FLOWS):
        if k and gap:
            now += float(rng.standard_exponential()) * gap
        size = int(rng.integers(2, 11))
        above = np.triu(rng.random((size, size)) < 0.5, 1)
        above[:-1, -1] |= ~above[:-1].any(axis=1)
        first = len(after)
        after += [(first + np.flatnonzero(above[:, row])).tolist() for row in range(size)]
        flow += [f"flow{k}"] * size
        arrival += [now] * size
    count = len(after)
    maps = np.rint(np.exp(rng.uniform(math.log(8), math.log(400), count))).astype(np.int64)
    return ClusterJobs(
        maps,
        rng.choice([10.0, 20.0, 40.0], count),
        -(-maps // 10),
        30.0,
        arrival=arrival,
        shuffle=5.0,
        after=after,
        flow=flow,
    )


def run_figure12(
    replications: int = 10,
    *,
    seed: int = 0,
    executor: Executor | None = None,
    progress: Callable[[str, int], None] | None = None,
) -> Figure12:
    """Run both kinds of arrivals; Ctrl-C keeps what is finished."""
    gain: dict[str, dict[str, dict[str, Interval]]] = {}
    for arrivals, gap in ARRIVALS.items():
        gain[arrivals] = {}
        for metric, objective, where in METRICS:
            found = replicate(
                partial(gridmix_flows, gap=gap),
                range(seed, seed + replications),
                ("flowflex", *RIVALS),
                executor=executor,
                model="cluster",
                cluster=Cluster([{"count": 10, "slots": 8}]),
                objective=objective,
                estimates="learn",
                prior=20.0,
                epoch=2.0,
                heartbeat=1.0,
                slow_start=0.5,
                noise=0.2,
            )
            if not found.complete:
                return Figure12(replications, seed, gain, False)
            ours = [one[where] for one in found.runs["flowflex"]]
            gain[arrivals][metric] = {
                rival: interval(
                    [1 - a / one[where] for a, one in zip(ours, found.runs[rival], strict=True)]
                )
                for rival in RIVALS
            }
            if progress is not None:
                progress(metric, len(ARRIVALS) * len(METRICS))
    return Figure12(replications, seed, gain, True)


def _claims(figure: Figure12) -> list[tuple[str, Verdict]]:
    """What section 6 says of these experiments, metric by metric."""
    return [
        (
            f'"superiority of FlowFlex" to {rival.upper()}, {metric}, {arrivals} (lower in the mean)',
            judged([own[rival]], figure.replications, strict=True),
        )
        for arrivals, metrics in figure.gain.items()
        for metric, own in metrics.items()
        for rival in RIVALS
    ]


def figure12_dict(figure: Figure12) -> dict[str, Any]:
    """The figure in JSON types."""
    return {
        "figure": "flowflex-fig12",
        "replications": figure.replications,
        "seed": figure.seed,
        "complete": figure.complete,
        "gain": {
            arrivals: {
                metric: {
                    rival: {
                        "mean": value.mean,
                        "half": None if math.isnan(value.half) else value.half,
                    }
                    for rival, value in own.items()
                }
                for metric, own in metrics.items()
            }
            for arrivals, metrics in figure.gain.items()
        },
        "claims": [{"claim": text, **verdict.as_dict()} for text, verdict in _claims(figure)],
    }


def _shown(value: Interval) -> str:
    half = "" if math.isnan(value.half) else f" +- {100 * value.half:.1f}"
    return f"{100 * value.mean:.1f}{half} %"


def figure12_tables(figure: Figure12) -> list[Any]:
    """A table for both kinds of arrivals, and a line a claim; the paper prints no numbers."""
    shown: list[Any] = []
    for arrivals, metrics in figure.gain.items():
        heads = (arrivals, *(f"lower than {rival.upper()} by" for rival in RIVALS))
        rows = [
            (metric, *(_shown(own[rival]) for rival in RIVALS)) for metric, own in metrics.items()
        ]
        title = f"FlowFlex, {counted(figure.replications, 'replication')}, 95 % intervals"
        shown.append(table(title, heads, rows))
    return shown + [f"{verdict.told()}: {text}" for text, verdict in _claims(figure)]


def draw_figure12(
    figure: Figure12, path: str | os.PathLike[str] | None = None, force: bool = True
) -> Any:
    """By what part FlowFlex is lower: a panel a kind of arrivals, a group a metric, a bar a rival.

    Raises
    ------
    ValueError
        Nothing is finished, or the suffix names no image format.
    ImportError
        matplotlib is not installed.
    """
    check_drawing(path)
    gain = {arrivals: metrics for arrivals, metrics in figure.gain.items() if metrics}
    if not gain:
        raise ValueError("flowflex-fig12: no metric is finished")
    drawn = new_figure(1.0 + 4.6 * len(gain), 4.2)
    panels = drawn.subplots(1, len(gain), squeeze=False, sharey=True)[0]
    width = 0.8 / len(RIVALS)
    for axes, (arrivals, metrics) in zip(panels, gain.items(), strict=True):
        for k, rival in enumerate(RIVALS):
            own = [metrics[metric][rival] for metric in metrics]
            axes.bar(
                np.arange(len(own)) + (k - (len(RIVALS) - 1) / 2) * width,
                [100 * each.mean for each in own],
                width,
                yerr=[0.0 if math.isnan(each.half) else 100 * each.half for each in own],
                capsize=3,
                label=f"than {rival.upper()}",
            )
        axes.axhline(0.0, color="black", linewidth=0.8)
        axes.set_xticks(
            range(len(metrics)), [metric.replace(" ", "\n") for metric in metrics], fontsize=8
        )
        axes.set_title(arrivals, fontsize=10)
        axes.grid(axis="y", alpha=0.3)
    panels[0].set_ylabel("FlowFlex lower by [%]")
    panels[0].legend(fontsize=8)
    drawn.suptitle(
        f"flowflex-fig12: {counted(figure.replications, 'replication')}, 95 % intervals (the paper "
        "prints no numbers)",
        fontsize=10,
    )
    if path is not None:
        save_figure(drawn, path, force)
    return drawn
