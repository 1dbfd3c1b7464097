"""Figure 6 of FLEX (Wolf et al. 2010, section 4.2; "the paper"), on a cluster, beside the values that it
prints.

The paper: 26 hosts, 13 with 4 and 13 with 8 cores; 10 jobs that take about 45 minutes; one pool, whose
minimum is a part of the slots (slack is the rest); exponential gaps with a mean of lambda minutes; a standard
deviation sigma of the jobs' work, such that at sigma = 4 the smallest is a tenth of the largest. Ours: a map
slot a core and half as many reduce slots; heartbeats of 1 s; jobs of 900 maps of 30 s on average, one reduce
task for 6.7 maps that copies 20 s and works 60 s; task times vary by 20 %; reduce tasks start once 5 % of the
maps have ended (slow start); estimates from finished tasks; slack 75 %, lambda 0 and sigma 2 where they do not
vary. "Copying apart": copying takes no slot (option ``split_copy``).

GridMix2 (Hadoop 0.20, src/benchmarks) is a workload of 172 jobs there: small, medium and large jobs, 40, 20
and 3 of each class, which read 3, 30 and 100 files. Ours: five map tasks of 30 s a file; all jobs at once, in
random order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from malleable.cluster.nodes import Cluster
from malleable.cluster.table import ClusterJobs
from malleable.papers.claim import Claim, between, judged, margin, observed
from malleable.papers.figure import Axes, Figure, Panel, Run, Series, picture, shown
from malleable.replications import Interval, interval
from malleable.simulation import simulate

SLACK, GAP, SIGMA, JOBS = 0.75, 0.0, 2.0, 10  # GAP: mean time between arrivals [min]
PANELS: dict[str, tuple[float, ...]] = {
    "slack": (0.15, 0.35, 0.55, 0.75, 0.95),
    "lambda": (0.0, 0.5, 1.0, 1.5, 2.0, 4.0),
    "sigma": (0.0, 1.0, 2.0, 3.0, 4.0),
    "sigma, copying apart": (0.0, 1.0, 2.0, 3.0, 4.0),
    "jobs": (20.0, 40.0),
    "GridMix2": (172.0,),
}
# By panel: its axis, and the parts by which FLEX is lower, where section 4.2 prints them ("almost"
# or "as low as").
_AXES: dict[str, tuple[str, dict[float, float]]] = {
    "slack": ("slack, part of the slots", {0.95: 0.5}),
    "lambda": ("mean gap [min]", {0.0: 0.5}),  # between arrivals
    "sigma": ("sigma of the jobs' work", {1.0: 0.5}),
    "jobs": ("jobs", {20.0: 0.2, 40.0: 0.2}),
}
_MAPS, _MAP_SECONDS = 900, 30.0
_HOW: dict[str, Any] = {  # options of the simulations
    "estimates": "learn",
    "prior": _MAP_SECONDS,
    "at_least_one": True,  # the minimum of every job is one slot
    "heartbeat": 1.0,
    "slow_start": 0.05,
    "ageing": 0.0,  # no job goes first because it has waited
    "noise": 0.2,
}
_MAPS_PER_REDUCE, _SHUFFLE, _REDUCE_SECONDS = 6.7, 20.0, 60.0


def paper_cluster() -> Cluster:
    """26 hosts with a map slot a core and half as many reduce slots."""
    small = {"count": 13, "map_slots": 4, "reduce_slots": 2, "name": "4-core"}
    large = {"count": 13, "map_slots": 8, "reduce_slots": 4, "name": "8-core"}
    return Cluster([small, large])


def paper_jobs(seed: int, count: int = JOBS, gap: float = GAP, sigma: float = SIGMA) -> ClusterJobs:
    """Jobs as in the header; ``gap`` in minutes. More jobs are smaller: the total work stays."""
    rng = np.random.default_rng(seed)
    even = np.arange(count) - (count - 1) / 2
    deviation = even / even.std()
    # (mean + 4 d) / (mean - 4 d) = 10, where d is the largest deviation
    mean = 4.0 * deviation[-1] * 11 / 9
    size = rng.permutation((mean + sigma * deviation) / mean) * JOBS / count
    maps = np.maximum(np.rint(_MAPS * size), 1).astype(np.int64)
    gaps = rng.standard_exponential(count) * gap * 60.0
    arrival = np.cumsum(gaps) - gaps[0]
    return _with_reduces(maps, arrival)


# GridMix2's small, medium and large jobs: how many there are of a class, and the files that one reads.
_OF_SIZE, _FILES, _MAPS_A_FILE = (40, 20, 3), (3, 30, 100), 5


def gridmix2_jobs(seed: int, count: int = 172) -> ClusterJobs:
    """GridMix2's jobs as in the header: sizes in its proportions, for any number of jobs."""
    bounds = np.rint(np.cumsum([0, *_OF_SIZE]) * (count / sum(_OF_SIZE))).astype(np.int64)
    maps = np.repeat(np.array(_FILES) * _MAPS_A_FILE, np.diff(bounds))
    return _with_reduces(np.random.default_rng(seed).permutation(maps), np.zeros(count))


def _with_reduces(maps: Any, arrival: Any) -> ClusterJobs:
    reduces = np.maximum(np.rint(maps / _MAPS_PER_REDUCE), 1).astype(np.int64)
    times = _MAP_SECONDS, reduces, _REDUCE_SECONDS
    return ClusterJobs(maps, *times, arrival=arrival, shuffle=_SHUFFLE)


def figure6(run: Run) -> Figure:
    """FLEX against FAIR on a cluster, by slack, arrivals and sizes of jobs: mean responses [min], and by what
    part FLEX's is lower (paired)."""
    places = [(panel, value) for panel, values in PANELS.items() for value in values]
    points = []
    for panel, value in places:
        count = int(value) if panel == "jobs" else JOBS
        gap = value if panel == "lambda" else GAP
        sigma = value if panel.startswith("sigma") else SIGMA
        minimum = 1.0 - (value if panel == "slack" else SLACK)
        make: Any = partial(paper_jobs, count=count, gap=gap, sigma=sigma)
        if panel == "GridMix2":
            make = partial(gridmix2_jobs, count=int(value))
        own = {"pool_minimum": minimum, "split_copy": panel.endswith("apart")}
        points.append((panel, make, own))
    found = run.replicate(points, ("flex", "fair"), cluster=paper_cluster(), **_HOW)
    rows: dict[str, list[dict[str, Any]]] = {panel: [] for panel in PANELS}
    for (panel, value), one in zip(places, found, strict=False):
        flex, fair = ([own["mean_response"] / 60.0 for own in runs] for runs in one.runs.values())
        gain = [1 - a / b for a, b in zip(flex, fair, strict=True)]
        means = {"flex": interval(flex), "fair": interval(fair), "gain": interval(gain)}
        rows[panel].append({"value": value, **means})
    return figure6_of(run, rows, longest_decision(run.seed) if run.complete else math.nan)


def longest_decision(seed: int, count: int = 172) -> float:
    # seconds within which 99 of 100 decisions with so many jobs are made
    jobs = gridmix2_jobs(seed, count)
    made = simulate(jobs, "flex", cluster=paper_cluster(), rng=seed, **_HOW)
    return made.timing["flex", "decision p99"]


def figure6_of(run: Run, rows: dict[str, list[dict[str, Any]]], decision: float) -> Figure:
    columns = {"value": "g", "flex": ".1f", "fair": ".1f", "gain": ".1%"}
    panels = {name: Panel(name, columns, own) for name, own in rows.items()}
    axes: list[list[Axes]] = [[], []]
    dash = {"linestyle": "--", "alpha": 0.6}
    star = {"color": "black", "marker": "*", "markersize": 10, "linestyle": ""}
    for name, (xlabel, printed) in _AXES.items():
        marks = [Series("the paper's text", [*printed.values()], [*printed], star)]
        shapes: Any = (("mean response [min]", ("flex", "fair"), []), ("gain", ("gain",), marks))
        for row, (ylabel, names, more) in zip(axes, shapes, strict=True):
            apart = panels.get(f"{name}, copying apart")
            dashed = picture(apart, names, "", "value").series if apart else []
            others = [
                own._replace(label=f"{own.label}, copying apart", look={**dash, "color": f"C{k}"})
                for k, own in enumerate(dashed)
            ]
            row.append(picture(panels[name], names, ylabel, "value", [*others, *more], xlabel))
    return run.figure(
        "mean response [min], and by what part FLEX's is lower, 95 % intervals",
        list(panels.values()),
        claims=[*_claims6(run.count, rows), _quick_enough(decision)] if run.complete else [],
        axes=axes,
    )


def _claims6(count: int, rows: dict[str, list[dict[str, Any]]]) -> Iterator[Claim]:
    by = {panel: {row["value"]: row for row in own} for panel, own in rows.items()}
    gain = {panel: {at: row["gain"] for at, row in own.items()} for panel, own in by.items()}
    slack, arrivals, sizes, jobs = (gain[name] for name in _AXES)
    every = [own for panel in gain.values() for own in panel.values()]
    # The observation, the criterion of the claim, and the distances from it.
    Found = tuple[Iterable[Interval], str, list[Interval]]

    # margin(c, (f, x), ...) is c + f x + ..., which is positive if the criterion holds.
    def halved(own: dict[float, Interval], small: float, large: float) -> Found:
        criterion = f"gain at {small:g} below half of that at {large:g}"
        pair = own[small], own[large]
        return pair, criterion, [margin(0.0, (0.5, pair[1]), (-1.0, pair[0]))]

    def near(low: float, own: Sequence[Interval], high: float) -> Found:
        margins = [each for one in own for each in between(low, one, high)]
        return own, f"{100 * low:.0f} to {100 * high:.0f} %", margins

    def at_least(low: float, own: Sequence[Interval]) -> Found:
        criterion = f"a gain of at least {100 * low:.0f} % everywhere"
        return [min(own)], criterion, [margin(-low, (1.0, each)) for each in own]

    rises = [margin(0.01, (1.0, b), (-1.0, a)) for a, b in pairwise(slack.values())]
    steady = slack.values(), "the gain falls by 1 % at most from point to point", rises
    at, later = by["lambda"][0.0], by["lambda"][2.0]
    falls = [margin(0.0, (1.0, at[own]), (-1.0, later[own])) for own in ("fair", "flex")]
    means = [own[name] for name in ("fair", "flex") for own in (at, later)]
    spread = means, "lambda 2 against 0 [min]", falls
    little = between(-0.1, arrivals[4.0], 0.1)
    more = list(jobs.values())
    found: dict[str, Found] = {
        "When slack is small, flex does not do much better than fair": halved(slack, 0.15, 0.95),
        "significantly better as slack is increased": steady,
        "outperforming fair by almost 50% when slack is large": near(0.4, [slack[0.95]], 0.55),
        "both flex and fair perform better as the inter-arrival time is increased": spread,
        "almost 50% when lambda = 0": near(0.4, [arrivals[0.0]], 0.55),
        "lambda > 3: very little difference": ([arrivals[4.0]], "at 4 below 10 %", little),
        "as low as 50% better in some cases (sigma = 1)": near(0.4, [sizes[1.0]], 0.55),
        "for larger values of sigma (> 3) ... flex is not much better": halved(sizes, 4.0, 1.0),
        "no worse than fair even in these cases": at_least(-0.01, every),
        "20 and 40 jobs ... continues to outperform fair by almost 20%": near(0.16, more, 0.22),
        "20 and 40 jobs ... continues to outperform fair": at_least(0.0, more),
        "GridMix2 ... with an average 30% improvement in response time over fair": near(
            0.24, [*gain["GridMix2"].values()], 0.33
        ),
    }
    for text, (own, criterion, margins) in found.items():
        ours = ", ".join(shown(each, ".1f" if margins is falls else ".1%") for each in own)
        yield Claim(f'"{text}"', "", criterion, ours, judged(margins, count))


def _quick_enough(seconds: float) -> Claim:
    text = '"flex takes less than 10 milliseconds per run" in the largest experiments'
    below = 10.0 ** math.ceil(math.log10(max(1e3 * seconds, 1e-6)))
    criterion = "99 of 100 decisions with 172 jobs"
    return Claim(text, "10 ms", criterion, f"below {below:g} ms", observed(seconds < 0.01))
