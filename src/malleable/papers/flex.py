"""Figure 5 of FLEX (Wolf et al. 2010, section 4.1; "the paper"), beside the values that it prints.

Every simulation draws jobs (`bimodal_jobs`: small and large ones) and plans them with FIFO, FAIR, FLEX, and
FLEX with its fixed orders only, as the paper describes it. Values are divided by a reference: with 10 jobs the
best order of a search with far more effort, for maxima the optimum over all malleable schedules; with many jobs
FLEX itself. Ratios to a reference that is not positive are left out, and counted. For sentences in words the
criterion is ours.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby, pairwise, permutations
from typing import Any, NamedTuple

import numpy as np

from malleable.jobs.generate import bimodal_jobs
from malleable.jobs.plan import DEFAULT_EFFORT
from malleable.papers.claim import Claim, Verdict, between, judged, observed, paired
from malleable.papers.figure import Figure, Panel, Range, Run, Series, picture, shown
from malleable.planning import plan
from malleable.replications import Interval, interval

# Candidates of the search that gives the reference; ten times FLEX's default.
REFERENCE_EFFORT = 40_000

SERIES = ("fifo", "fair", "flex", "flex-orders")

# Average and worst ratio of the base case, as section 4.1 prints them.
PRINTED = {"fifo": (2.07, 3.24), "fair": (1.54, 1.61)}

_NEAR = (0.10, 0.20)  # tolerances of the mean and of the worst of 100 draws, which varies more
_CLEARLY = 1.5  # a rival's average over FLEX's from which FLEX is "clearly" better
_POSITIVE = 1e-9  # a reference below this is rounding, and no divisor


class Metric(NamedTuple):
    """An objective of section 4.1; weights are those drawn, or all 1."""

    name: str
    objective: str
    weighted: bool = False


METRICS = tuple(
    Metric(f"{name}, weighted" if weighted else name, objective, weighted)
    for name, objective, weights in (
        ("average response", "sum:response", 2),
        ("tardy jobs", "sum:tardy", 2),
        ("average tardiness", "sum:tardiness", 2),
        ("average lateness", "sum:lateness", 2),
        ("SLA costs", "sum:sla", 1),
        ("average stretch", "sum:stretch", 1),
        ("maximum response", "max:response", 2),
        ("maximum tardiness", "max:tardiness", 2),
        ("maximum lateness", "max:lateness", 2),
        ("maximum stretch", "max:stretch", 1),
    )
    for weighted in (False, True)[:weights]
)

# Those on which FLEX "does very well compared to the others".
PRAISED = [METRICS[k].name for k in (1, 13, 2, 3, 9, 16)]


@dataclass
class Point:
    """One point of a panel: ratios of each series to the reference, one entry a simulation."""

    panel: str  # a key of `_PANELS`
    label: str
    metric: Metric = METRICS[0]
    jobs: int = 10
    slots: int = 100
    small: float = 0.8  # part of the jobs that are small
    slack: float = 0.75  # least slots of all jobs together, as a part of the slots: 1 - slack
    ratios: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in SERIES})
    simulations: int = 0

    @property
    def reference(self) -> str:
        if self.panel == "larger":
            return "many jobs: FLEX"
        if self.metric.objective.startswith("max"):
            return "maxima: optimum over all malleable schedules"
        return f"sums: best order found by search with effort {REFERENCE_EFFORT}"

    def range(self, series: str) -> Range | None:
        ratios = self.ratios[series]
        return Range(float(np.mean(ratios)), max(ratios)) if ratios else None

    def row(self) -> dict[str, Any]:
        own = {name: value for name, value in vars(self).items() if name != "ratios"}
        words = {"metric": self.metric._asdict(), "reference": self.reference}
        out = self.simulations - len(self.ratios["flex"])
        return {**own, **words, "left_out": out, **{name: self.range(name) for name in SERIES}}

    def simulate(self, seed: int) -> dict[str, float] | None:
        drawn: dict[str, Any] = {"small": self.small, "slack": self.slack}
        jobs = bimodal_jobs(self.jobs, self.slots, weighted=self.metric.weighted, rng=seed, **drawn)

        def value(policy: str, effort: int | None = None) -> float:
            return plan(jobs, self.slots, self.metric.objective, policy, effort).value

        values = dict(zip(SERIES, (*map(value, SERIES[:3]), value("flex", 0)), strict=True))
        large = self.panel == "larger"
        reference = values["flex"] if large else value("flex", REFERENCE_EFFORT)
        if reference <= _POSITIVE:
            return None
        return {name: own / reference for name, own in values.items()}


def _points(quick: bool) -> Iterator[Point]:
    for slack in (0.05, 0.15, 0.35, 0.55, 0.75, 0.95):
        yield Point("slack", f"{100 * slack:.0f} % slack", slack=slack)
    for tenths in range(10):
        yield Point("small", f"{10 * tenths} % small", small=tenths / 10)
    for metric in METRICS:
        yield Point("metric", metric.name, metric)
    for jobs in (100,) if quick else (100, 1000):
        for metric in METRICS:
            if metric is METRICS[0] or metric.name in PRAISED:
                yield Point("larger", f"{jobs:,} jobs: {metric.name}", metric, jobs, 10 * jobs)


def _simulated(run: Run, points: Sequence[Point]) -> Iterator[tuple[str, None]]:
    # Fill the points; simulations of one run go in threads, as planning does not hold the interpreter's lock.
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        for point in points:
            for ratios in pool.map(point.simulate, run.seeds):
                point.simulations += 1
                for series, ratio in (ratios or {}).items():
                    point.ratios[series].append(ratio)
                yield point.label, None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


# Names of the axes of panels (a) and (b).
_X = {
    "slack": "slack: part of the slots that minima leave free",
    "small": "part of the jobs that are small",
}
_PANELS = {
    "slack": "(a) average response over slack: 80 % small jobs",
    "small": "(b) average response over small jobs: 75 % slack",
    "metric": "(c) metrics: 80 % small jobs, 75 % slack",
    "larger": "Larger experiments of section 4.1: ratio to FLEX, 10 slots a job",
}


def run_points(run: Run) -> list[Point]:
    points = list(_points(run.quick))
    run.steps(_simulated(run, points), run.count * len(points))
    return [point for point in points if point.simulations]


def figure5(run: Run) -> Figure:
    points = run_points(run)
    columns = {"label": "", **dict.fromkeys(SERIES, ".3f"), "left_out": ""}
    panels = [
        Panel(name, columns, [point.row() for point in points if point.panel == name], title)
        for name, title in _PANELS.items()
    ]
    ratio, look = (
        "value over the reference's: mean, worst",
        {"color": "black", "marker": "x", "linestyle": ""},
    )
    printed = [number for numbers in PRINTED.values() for number in numbers]
    axes = []
    for panel, base in zip(panels[:2], (0.75, 0.8), strict=True):
        marks = [Series("the paper's text", printed, [base] * 4, look)]
        axes.append(picture(panel, SERIES[:3], ratio, panel.name, marks, _X[panel.name]))
    bars = picture(panels[2], SERIES[:3], ratio, yscale="log")
    efforts = {"flex": DEFAULT_EFFORT, "flex-orders": 0, "reference": REFERENCE_EFFORT}
    return run.figure(
        "ratio to a reference, mean / worst",
        panels,
        claims=list(claims5(points)),
        notes=[
            f"Seeds {run.seed} to {run.seeds[-1]}; flex: effort {DEFAULT_EFFORT}; flex-orders: "
            "effort 0, the fixed orders, as the paper describes FLEX.",
            f"Reference of {'; '.join(dict.fromkeys(point.reference for point in points))}.",
            "left_out: simulations whose reference is not positive, as in the paper.",
        ],
        axes=[axes, [bars] if bars.groups else []],
        facts={"effort": efforts},
    )


def claims5(points: Sequence[Point]) -> Iterator[Claim]:
    known: dict[str, list[Point]] = {name: [] for name in _PANELS}
    for point in points:
        if point.ratios["flex"]:
            known[point.panel].append(point)
    slack, small, metric, larger = known.values()
    for base in (point for point in slack if point.slack == 0.75):
        yield from _base_case(base)
    yield from _slack(slack) if len(slack) > 1 else ()
    yield from _small_jobs(small) if len(small) > 1 else ()
    praised = [point for point in metric if point.metric.name in PRAISED]
    name = f"FLEX does very well on {len(praised)} named metrics"
    yield from _clearly_better(praised, name, "very well compared to the others")
    for jobs, own in groupby(larger, key=lambda point: point.jobs):
        name = f"much larger experiments, {jobs:,} jobs"
        yield from _clearly_better(list(own), name, "conclusions remain intact")


def _judged(points: Sequence[Point], margins: Iterable[Interval]) -> Verdict:
    return judged(margins, min(point.simulations for point in points))


def _mean(point: Point, series: str) -> float:
    return float(np.mean(point.ratios[series]))


def _base_case(base: Point) -> Iterator[Claim]:
    for series, printed in PRINTED.items():
        ratios = base.ratios[series]
        found = interval(ratios), Interval(max(ratios), 0.0)
        kinds = zip(("average", "worst"), printed, found, _NEAR, strict=True)
        for kind, paper, ours, near in kinds:
            name = f"base case: {series.upper()}, {kind}"
            words = name, f"{100 * paper:.0f} %", f"within {100 * near:.0f} % of it"
            verdict = judged(between(paper * (1.0 - near), ours, paper * (1.0 + near)), len(ratios))
            yield Claim(*words, shown(ours if ours.half else ours.mean, ".1%"), verdict)
    for series, name in (("flex", "FLEX"), ("flex-orders", "FLEX, fixed orders only")):
        yield _optimal([base], series, f"base case: {name}, worst", "less than .1 % higher")


def _optimal(points: Sequence[Point], series: str, name: str, paper: str) -> Claim:
    worst = max(max(point.ratios[series]) for point in points)
    return Claim(name, paper, "below 100.1 %", f"{100 * worst:.2f} %", observed(worst < 1.001))


def _above(high: Point, low: Point, series: str, factor: float = 1.0) -> Interval:
    # The margin by which a series' average, times a factor, is at least that of another point.
    return paired((factor, high.ratios[series]), (-1.0, low.ratios[series]))


def _averages(points: Sequence[Point], series: str) -> str:
    values = [_mean(point, series) for point in points]
    return f"average {100 * min(values):.1f} % to {100 * max(values):.1f} %"


# Claims of section 4.1: the claim, the quote, and the criterion here.
_RISES = "curves increase", "average never falls from one slack to the next"
_ROBUST = (
    "FIFO is not robust, FAIR is",
    "worst far from average, close to it",
    "FIFO's least distance above FAIR's largest",
)
_POOREST = "FIFO is poorest at about 80 % small jobs", "80 %", "70 to 90 %"
_BEST = (
    "FIFO is at its best with jobs of one kind",
    "at both ends",
    "0 % (100 % is the same as 0 %)",
)
_FLAT = "FAIR is flat", "basically flat", "largest at most 10 % above least"
_HALF = "FAIR is about 50 % above FLEX throughout", "about 50 %", "40 to 60 %"
_OVERLAY = "FLEX is very close to the optimum at every slack", "curves overlay 1.0"


def _slack(points: Sequence[Point]) -> Iterator[Claim]:
    for series in ("fifo", "fair"):
        verdict = _judged(points, (_above(b, a, series) for a, b in pairwise(points)))
        name, paper, criterion = f"{series.upper()} increases with slack", *_RISES
        yield Claim(name, paper, criterion, _averages(points, series), verdict)
    yield _optimal(points, "flex", *_OVERLAY)
    fifo, fair = (
        [max(point.ratios[series]) / _mean(point, series) - 1.0 for point in points]
        for series in ("fifo", "fair")
    )
    apart = f"at least {100 * min(fifo):.0f} % and at most {100 * max(fair):.0f} %"
    yield Claim(*_ROBUST, f"worst above average by {apart}", observed(min(fifo) > max(fair)))


def _small_jobs(points: Sequence[Point]) -> Iterator[Claim]:
    by_fifo = sorted(points, key=lambda point: _mean(point, "fifo"))
    least, most = (f"{100 * by_fifo[end].small:.0f} %" for end in (0, -1))
    around = [point for point in by_fifo if 0.65 < point.small < 0.95]
    apart = [point for point in points if point not in around]
    poorest = (_above(around[-1], other, "fifo") for other in apart)
    yield Claim(*_POOREST, most, _judged(points, poorest) if around else observed(False))
    first, *others = points
    best = _judged(points, (_above(other, first, "fifo") for other in others))
    yield Claim(*_BEST, least, best if first.small == 0.0 else observed(False))
    flat = (_above(a, b, "fair", 1.1) for a, b in permutations(points, 2))
    yield Claim(*_FLAT, _averages(points, "fair"), _judged(points, flat))
    over = [100 * _mean(point, "fair") / _mean(point, "flex") - 100 for point in points]
    bands = (
        paired((sign, point.ratios["fair"]), (-sign * factor, point.ratios["flex"]))
        for point in points
        for sign, factor in ((1.0, 1.4), (-1.0, 1.6))
    )
    yield Claim(*_HALF, f"{min(over):.0f} to {max(over):.0f} %", _judged(points, bands))


def _clearly_better(points: Sequence[Point], claim: str, paper: str) -> Iterator[Claim]:
    flex = [(point, point.ratios["flex"]) for point in points]
    rivals = [(point.ratios[series], own) for point, own in flex for series in PRINTED]
    if rivals:
        least = min(np.mean(rival) / np.mean(own) for rival, own in rivals)
        margins = (paired((1.0, rival), (-_CLEARLY, own)) for rival, own in rivals)
        ours = f"FIFO and FAIR at least {least:.2f} times FLEX"
        criterion = f"average at least {_CLEARLY} times"
        yield Claim(claim, paper, criterion, ours, _judged(points, margins))
