"""Section 4.1 of the FLEX paper again: figure 5's three panels, and the larger experiments.

Every simulation draws one table of jobs (`section41`) and plans it with FIFO, FAIR, FLEX with its
default effort, and FLEX with its fixed orders only (effort 0), as the paper describes it. Their
values are divided by a reference. With 10 jobs that is the best order found by a search with far
more effort than FLEX has by default; where the objective is a maximum it is the optimum over all
malleable schedules. With many jobs it is FLEX itself. As in the paper, ratios to a reference that
is not positive are left out, and counted. Simulation i of every point has seed ``seed + i``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from malleable.jobs.generate import section41
from malleable.jobs.plan import plan
from malleable.jobs.table import Jobs

__all__ = ["METRICS", "REFERENCE_EFFORT", "SERIES", "Figure5", "Metric", "Point", "run_figure5"]

REFERENCE_EFFORT = 40_000
"""Candidates of the search that gives the reference; ten times FLEX's default."""

SERIES = ("fifo", "fair", "flex", "flex-orders")
"""What is compared; ``flex-orders`` is FLEX with effort 0."""

SLACKS = (0.05, 0.15, 0.35, 0.55, 0.75, 0.95)
SMALL = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_JOBS, _SLOTS = 10, 100
_LARGER = ((100, 1000), (1000, 10_000))
_POSITIVE = 1e-9  # a reference below that is rounding, not a value to divide by


@dataclass(frozen=True)
class Metric:
    """An objective of section 4.1; weights are those drawn, or all 1."""

    name: str
    objective: str
    weighted: bool = False


METRICS = (
    Metric("average response", "sum:response"),
    Metric("average response, weighted", "sum:response", True),
    Metric("tardy jobs", "sum:tardy"),
    Metric("tardy jobs, weighted", "sum:tardy", True),
    Metric("average tardiness", "sum:tardiness"),
    Metric("average tardiness, weighted", "sum:tardiness", True),
    Metric("average lateness", "sum:lateness"),
    Metric("average lateness, weighted", "sum:lateness", True),
    Metric("SLA costs", "sum:sla"),
    Metric("average stretch", "sum:stretch"),
    Metric("maximum response", "max:response"),
    Metric("maximum response, weighted", "max:response", True),
    Metric("maximum tardiness", "max:tardiness"),
    Metric("maximum tardiness, weighted", "max:tardiness", True),
    Metric("maximum lateness", "max:lateness"),
    Metric("maximum lateness, weighted", "max:lateness", True),
    Metric("maximum stretch", "max:stretch"),
)
"""All the metrics that section 4.1 lists."""

PRAISED = (
    "average response, weighted",
    "maximum tardiness, weighted",
    "tardy jobs",
    "tardy jobs, weighted",
    "average stretch",
    "maximum stretch",
)
"""Those on which FLEX "does very well compared to the others"."""


@dataclass
class Point:
    """One point of a panel: ratios of each series to the reference, one entry a simulation."""

    panel: str
    label: str
    metric: Metric
    jobs: int
    slots: int
    small: float
    slack: float
    reference: str
    ratios: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in SERIES})
    simulations: int = 0
    left_out: int = 0

    def average(self, series: str) -> float | None:
        """Mean ratio; None without one."""
        return float(np.mean(self.ratios[series])) if self.ratios[series] else None

    def worst(self, series: str) -> float | None:
        """Largest ratio; None without one."""
        return max(self.ratios[series], default=None)

    def summary(self) -> dict[str, Any]:
        """The point in JSON types, without the single ratios."""
        return {
            "panel": self.panel,
            "label": self.label,
            "metric": asdict(self.metric),
            "jobs": self.jobs,
            "slots": self.slots,
            "small": self.small,
            "slack": self.slack,
            "reference": self.reference,
            "simulations": self.simulations,
            "left_out": self.left_out,
            "ratio": {
                name: {"average": self.average(name), "worst": self.worst(name)} for name in SERIES
            },
        }


@dataclass
class Figure5:
    """All points that were finished; ``complete`` unless it was interrupted."""

    simulations: int
    seed: int
    points: list[Point]
    complete: bool

    def panel(self, name: str) -> list[Point]:
        """The points of "slack", "small", "metric" or "larger" that have simulations."""
        return [point for point in self.points if point.panel == name and point.simulations]

    @property
    def base(self) -> Point | None:
        """The base case: average response, 80 % small jobs, 75 % slack."""
        for point in self.panel("slack"):
            if point.slack == 0.75:
                return point
        return None


def _points(quick: bool) -> Iterator[Point]:
    response = METRICS[0]
    best = f"best order found by search with effort {REFERENCE_EFFORT}"
    optimum = "optimum over all malleable schedules"
    base = _JOBS, _SLOTS
    for slack in SLACKS:
        yield Point("slack", f"{100 * slack:.0f} % slack", response, *base, 0.8, slack, best)
    for small in SMALL:
        yield Point("small", f"{100 * small:.0f} % small", response, *base, small, 0.75, best)
    for metric in METRICS:
        to = best if metric.objective.startswith("sum") else optimum
        yield Point("metric", metric.name, metric, *base, 0.8, 0.75, to)
    for jobs, slots in _LARGER[:1] if quick else _LARGER:
        for metric in METRICS:
            if metric is response or metric.name in PRAISED:
                label = f"{jobs:,} jobs: {metric.name}"
                yield Point("larger", label, metric, jobs, slots, 0.8, 0.75, "FLEX")


def _simulate(point: Point, seed: int) -> dict[str, float]:
    """Values of one simulation, the reference's among them."""
    jobs = section41(
        point.jobs,
        point.slots,
        small=point.small,
        slack=point.slack,
        weighted=point.metric.weighted,
        rng=seed,
    )
    goal = point.metric.objective
    values = {
        "fifo": _value(jobs, point.slots, goal, "fifo"),
        "fair": _value(jobs, point.slots, goal, "fair"),
        "flex": _value(jobs, point.slots, goal, "flex"),
        "flex-orders": _value(jobs, point.slots, goal, "flex", 0),
    }
    large = point.panel == "larger"
    values["reference"] = (
        values["flex"] if large else _value(jobs, point.slots, goal, "flex", REFERENCE_EFFORT)
    )
    return values


def _value(jobs: Jobs, slots: int, goal: str, policy: str, effort: int | None = None) -> float:
    return plan(jobs, slots, goal, policy, effort).value


def _record(point: Point, values: dict[str, float]) -> None:
    point.simulations += 1
    if values["reference"] <= _POSITIVE:
        point.left_out += 1
        return
    for name in SERIES:
        point.ratios[name].append(values[name] / values["reference"])


def run_figure5(
    simulations: int = 100,
    *,
    quick: bool = False,
    seed: int = 0,
    progress: Callable[[str, int], None] | None = None,
) -> Figure5:
    """Run all experiments.

    Parameters
    ----------
    simulations : int
        Per point.
    quick : bool
        Without the largest experiments (1,000 jobs).
    seed : int
        Of the first simulation of every point.
    progress : callable, optional
        Called as ``progress(what, total)`` after each of ``total`` simulations.

    Returns
    -------
    Figure5
        After a KeyboardInterrupt: what was finished, with ``complete`` false.

    Raises
    ------
    ValueError
        Fewer than 1 simulation, or a negative seed.

    Notes
    -----
    Simulations of a point run side by side (planning needs no interpreter lock); results do not
    depend on that.
    """
    if simulations < 1:
        raise ValueError(f"simulations = {simulations}: must be at least 1")
    if seed < 0:
        raise ValueError(f"seed = {seed}: must be at least 0")
    result = Figure5(simulations, seed, list(_points(quick)), False)
    total = simulations * len(result.points)
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        for point in result.points:
            waiting = [pool.submit(_simulate, point, seed + k) for k in range(simulations)]
            for values in _in_order(waiting):
                _record(point, values)
                if progress is not None:
                    progress(point.label, total)
        result.complete = True
    except KeyboardInterrupt:
        pass
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return result


def _in_order(waiting: Sequence[Future[dict[str, float]]]) -> Iterator[dict[str, float]]:
    for future in waiting:
        yield future.result()
