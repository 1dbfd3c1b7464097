"""Figure 6 of the FLEX paper: FLEX against FAIR on its cluster, by slack, arrivals and sizes of jobs.

The paper says (section 4.2): 26 hosts, 13 with 4 and 13 with 8 cores; 10 jobs that take about 45
minutes; one pool, whose minimum is a part of the slots (slack is the rest), the same for maps and
reduces; exponential gaps with a mean of lambda minutes; a standard deviation sigma of the jobs' work,
such that at sigma = 4 the smallest is a tenth of the largest. It does not say slots, task times,
reduce tasks, or what is held fixed. Ours: a map slot a core and half as many reduce slots; heartbeats
of 1 s; jobs of 900 maps of 30 s on average, one reduce task for 6.7 maps that copies 20 s and works
60 s; task times vary by 20 %; slow start 0.05; estimates are extrapolated from finished tasks; slack
75 %, lambda 0 and sigma 2 where they do not vary; work m + sigma z, z evenly spaced with standard
deviation 1 and m such that sigma = 4 gives the ratio of ten.
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
from malleable.papers.verdict import Verdict, between, judged, margin
from malleable.replications import Interval, interval, replicate
from malleable.view.drawing import check_drawing, new_figure, save_figure
from malleable.view.text import counted, table

__all__ = ["Figure6", "Point", "draw_figure6", "figure6_dict", "figure6_tables", "run_figure6"]

SLACK, GAP, SIGMA, JOBS = 0.75, 0.0, 2.0, 10
PANELS: dict[str, tuple[float, ...]] = {
    "slack": (0.15, 0.35, 0.55, 0.75, 0.95),
    "lambda": (0.0, 0.5, 1.0, 1.5, 2.0, 4.0),
    "sigma": (0.0, 1.0, 2.0, 3.0, 4.0),
    "sigma, copying apart": (0.0, 1.0, 2.0, 3.0, 4.0),
    "jobs": (20.0, 40.0),
}
_POLICIES = ("flex", "fair")
# Where section 4.2 prints by what part FLEX is lower, "almost" or "as low as" so much [%].
PRINTED: dict[str, dict[float, float]] = {
    "slack": {0.95: 50.0},
    "lambda": {0.0: 50.0},
    "sigma": {1.0: 50.0},
    "jobs": {20.0: 20.0, 40.0: 20.0},
}
_AXES = {
    "slack": "slack, part of the slots",
    "lambda": "mean gap [min]",
    "sigma": "sigma of the jobs' work",
    "jobs": "jobs",
}
_MAPS, _MAP_SECONDS = 900, 30.0
_MAPS_PER_REDUCE, _SHUFFLE, _REDUCE_SECONDS = 6.7, 20.0, 60.0


class Point(NamedTuple):
    """Mean responses [min], and by what part FLEX's is below FAIR's (paired)."""

    value: float
    flex: Interval
    fair: Interval
    gain: Interval


class Figure6(NamedTuple):
    """Panels by name; not ``complete`` where it was interrupted."""

    replications: int
    seed: int
    panels: dict[str, list[Point]]
    complete: bool


def paper_cluster() -> Cluster:
    """26 hosts with a map slot a core and half as many reduce slots."""
    return Cluster(
        [
            {"count": 13, "map_slots": 4, "reduce_slots": 2, "name": "4-core", "rack": "rack"},
            {"count": 13, "map_slots": 8, "reduce_slots": 4, "name": "8-core", "rack": "switch"},
        ]
    )


def paper_jobs(seed: int, count: int = JOBS, gap: float = GAP, sigma: float = SIGMA) -> ClusterJobs:
    """Jobs as in the header; ``gap`` in minutes. More jobs are smaller: the work in all stays."""
    rng = np.random.default_rng(seed)
    even = np.arange(count) - (count - 1) / 2
    z = even / even.std()
    mean = 4.0 * z[-1] * 11 / 9  # (mean + 4 z) / (mean - 4 z) = 10 at the ends
    size = rng.permutation((mean + sigma * z) / mean) * JOBS / count
    maps = np.maximum(np.rint(_MAPS * size), 1).astype(np.int64)
    gaps = rng.standard_exponential(count) * gap * 60.0
    return ClusterJobs(
        maps,
        _MAP_SECONDS,
        np.maximum(np.rint(maps / _MAPS_PER_REDUCE), 1).astype(np.int64),
        _REDUCE_SECONDS,
        arrival=np.cumsum(gaps) - gaps[0],
        shuffle=_SHUFFLE,
    )


def run_figure6(
    replications: int = 10,
    *,
    seed: int = 0,
    executor: Executor | None = None,
    progress: Callable[[str, int], None] | None = None,
) -> Figure6:
    """Run all panels; Ctrl-C keeps the points that are finished."""
    panels: dict[str, list[Point]] = {}
    total = sum(len(values) for values in PANELS.values())
    for panel, values in PANELS.items():
        panels[panel] = []
        for value in values:
            slack = value if panel == "slack" else SLACK
            found = replicate(
                partial(
                    paper_jobs,
                    count=int(value) if panel == "jobs" else JOBS,
                    gap=value if panel == "lambda" else GAP,
                    sigma=value if panel.startswith("sigma") else SIGMA,
                ),
                range(seed, seed + replications),
                _POLICIES,
                executor=executor,
                model="cluster",
                cluster=paper_cluster(),
                estimates="learn",
                prior=_MAP_SECONDS,
                at_least_one=True,
                pool_minimum=1.0 - slack,
                heartbeat=1.0,
                noise=0.2,
                split_copy=panel.endswith("apart"),
            )
            if not found.complete:
                return Figure6(replications, seed, panels, False)
            means = {
                policy: [one["mean_response"] / 60.0 for one in found.runs[policy]]
                for policy in _POLICIES
            }
            gains = [1 - a / b for a, b in zip(means["flex"], means["fair"], strict=True)]
            panels[panel].append(
                Point(value, interval(means["flex"]), interval(means["fair"]), interval(gains))
            )
            if progress is not None:
                progress(panel, total)
    return Figure6(replications, seed, panels, True)


def _claims(figure: Figure6) -> list[tuple[str, Verdict]]:
    """What section 4.2 says, and whether it holds here."""
    gain = {
        panel: {point.value: point.gain for point in points}
        for panel, points in figure.panels.items()
    }
    slack, arrivals, sizes = gain["slack"], gain["lambda"], gain["sigma"]
    fair = {point.value: point.fair for point in figure.panels["lambda"]}
    flex = {point.value: point.flex for point in figure.panels["lambda"]}
    rising = [slack[value] for value in PANELS["slack"]]

    def below_half(small: Interval, large: Interval) -> list[Interval]:
        return [margin(0.0, (0.5, large), (-1.0, small))]

    claims = [
        (
            '"When slack is small, flex does not do much better than fair" (gain at 15 % below half'
            " of that at 95 %)",
            below_half(slack[0.15], slack[0.95]),
        ),
        (
            '"significantly better as slack is increased" (the gain falls by 1 % at most from point'
            " to point)",
            [
                margin(0.01, (1.0, b), (-1.0, a))
                for a, b in zip(rising[:-1], rising[1:], strict=True)
            ],
        ),
        (
            '"outperforming fair by almost 50% when slack is large" (40 to 55 %)',
            between(0.4, slack[0.95], 0.55),
        ),
        (
            '"both flex and fair perform better as the inter-arrival time is increased" (lambda 2'
            " against 0)",
            [margin(0.0, (1.0, own[0.0]), (-1.0, own[2.0])) for own in (fair, flex)],
        ),
        ('"almost 50% when lambda = 0" (40 to 55 %)', between(0.4, arrivals[0.0], 0.55)),
        (
            '"lambda > 3: very little difference" (at 4 below 10 %)',
            between(-0.1, arrivals[4.0], 0.1),
        ),
        (
            '"as low as 50% better in some cases (sigma = 1)" (40 to 55 %)',
            between(0.4, sizes[1.0], 0.55),
        ),
        (
            '"for larger values of sigma (> 3) ... flex is not much better" (gain at 4 below half of'
            " that at 1)",
            below_half(sizes[4.0], sizes[1.0]),
        ),
        (
            '"no worse than fair even in these cases" (a gain of at least -1 % everywhere)',
            [margin(0.01, (1.0, own)) for panel in gain.values() for own in panel.values()],
        ),
        (
            '"20 and 40 jobs ... continues to outperform fair by almost 20%" (at least 15 %)',
            [margin(-0.15, (1.0, own)) for own in gain["jobs"].values()],
        ),
    ]
    return [(text, judged(margins, figure.replications)) for text, margins in claims]


def _numbers(own: Interval) -> dict[str, float | None]:
    return {"mean": own.mean, "half": None if math.isnan(own.half) else own.half}


def figure6_dict(figure: Figure6) -> dict[str, Any]:
    """The figure in JSON types."""
    return {
        "figure": "flex-fig6",
        "replications": figure.replications,
        "seed": figure.seed,
        "complete": figure.complete,
        "panels": {
            panel: [
                {
                    "value": point.value,
                    "flex": _numbers(point.flex),
                    "fair": _numbers(point.fair),
                    "gain": _numbers(point.gain),
                }
                for point in points
            ]
            for panel, points in figure.panels.items()
        },
        "claims": [{"claim": text, **verdict.as_dict()} for text, verdict in _claims(figure)]
        if figure.complete
        else [],
    }


def _shown(own: Interval, scale: float = 1.0) -> str:
    half = "" if math.isnan(own.half) else f" +- {scale * own.half:.1f}"
    return f"{scale * own.mean:.1f}{half}"


def figure6_tables(figure: Figure6) -> list[Any]:
    """One table a panel, and a line a claim; the paper prints its curves only in the figure."""
    shown: list[Any] = []
    count = counted(figure.replications, "replication")
    for panel, points in figure.panels.items():
        rows = [
            (
                f"{point.value:g}",
                _shown(point.flex),
                _shown(point.fair),
                _shown(point.gain, 100.0) + " %",
            )
            for point in points
        ]
        heads = (panel, "FLEX [min]", "FAIR [min]", "FLEX lower by")
        shown.append(table(f"{count}, 95 % intervals", heads, rows))
    if figure.complete:
        shown += [f"{verdict.told()}: {text}" for text, verdict in _claims(figure)]
    return shown


def _curve(axes: Any, points: list[Point], which: str, scale: float = 1.0, **look: Any) -> None:
    own = [getattr(point, which) for point in points]
    axes.errorbar(
        [point.value for point in points],
        [scale * each.mean for each in own],
        yerr=[0.0 if math.isnan(each.half) else scale * each.half for each in own],
        marker="o",
        markersize=3.5,
        linewidth=1.2,
        capsize=2.5,
        **look,
    )


def draw_figure6(
    figure: Figure6, path: str | os.PathLike[str] | None = None, force: bool = True
) -> Any:
    """Mean responses above, FLEX's gain below with what the paper's text prints of it.

    Raises
    ------
    ValueError
        The suffix names no image format.
    ImportError
        matplotlib is not installed.
    """
    check_drawing(path)
    names = [name for name in _AXES if figure.panels.get(name)]
    if not names:
        raise ValueError("flex-fig6: no point is finished")
    drawn = new_figure(1.0 + 3.3 * len(names), 6.0)
    panels = drawn.subplots(2, len(names), squeeze=False, sharex="col", sharey="row")
    for column, name in enumerate(names):
        upper, lower = panels[0][column], panels[1][column]
        points = figure.panels[name]
        _curve(upper, points, "flex", color="C0", label="FLEX")
        _curve(upper, points, "fair", color="C1", label="FAIR")
        _curve(lower, points, "gain", 100.0, color="C2", label="FLEX lower by")
        apart = figure.panels.get(f"{name}, copying apart")
        if apart:
            dashes: dict[str, Any] = {"linestyle": "--", "alpha": 0.6}
            _curve(upper, apart, "flex", color="C0", label="FLEX, copying apart", **dashes)
            _curve(upper, apart, "fair", color="C1", label="FAIR, copying apart", **dashes)
            _curve(lower, apart, "gain", 100.0, color="C2", label="copying apart", **dashes)
        printed = PRINTED[name]
        lower.plot(
            list(printed), list(printed.values()), "k*", markersize=10, label="the paper's text"
        )
        lower.axhline(0.0, color="black", linewidth=0.8)
        lower.set_xlabel(_AXES[name])
        for axes in (upper, lower):
            axes.grid(alpha=0.3)
            axes.legend(fontsize=7)
    panels[0][0].set(ylabel="mean response [min]", ylim=(0.0, None))
    panels[1][0].set_ylabel("FLEX lower than FAIR by [%]")
    drawn.suptitle(
        f"flex-fig6: FLEX and FAIR, {counted(figure.replications, 'replication')}, 95 % intervals",
        fontsize=11,
    )
    if path is not None:
        save_figure(drawn, path, force)
    return drawn
