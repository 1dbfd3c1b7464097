"""Running a cluster simulation step by step, for Ctrl-C, progress, and means over time. A *series* has the mean
of a figure over each step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from malleable.arrays import Floats
from malleable.cluster.nodes import Cluster
from malleable.cluster.table import ClusterJobs

_STEPS = 100  # steps in the least time of all work
_TAIL = 400  # more such steps, then the rest at once
_SERIES = {
    "map_utilisation": ("map_busy", "map_offered"),
    "reduce_utilisation": ("reduce_busy", "reduce_offered"),
}


def _step(jobs: ClusterJobs, cluster: Cluster) -> float:
    # Length of a step [s].
    power = max(1e-300, float(cluster.rate @ (cluster.map_slots + cluster.reduce_slots)))
    least = float(jobs.map_work.sum() + jobs.reduce_work.sum()) / power
    span = float(np.ptp(jobs.arrival)) if len(jobs) else 0.0
    return max(span, least) / _STEPS


def advance(
    simulation: Any, jobs: ClusterJobs, cluster: Cluster, end: float, progress: Any
) -> tuple[bool, dict[str, Floats]]:
    """Run in steps, so that Ctrl-C is heard (False if it was). Returns means over the steps; the first
    lasts until the first job comes."""
    windows = [simulation.totals()]
    first = float(jobs.arrival.min()) if len(jobs) else 0.0
    step = _step(jobs, cluster)
    complete = True
    last = float(jobs.arrival.max()) if len(jobs) else 0.0

    def go(until: float) -> None:
        simulation.advance(until)
        windows.append(simulation.totals())
        if progress is not None:
            progress(int(windows[-1]["completed"]), len(jobs))

    try:
        if 0.0 < first < end:
            go(first)
        count = _STEPS + _TAIL if step > 0.0 else 0
        for k in range(1, count):
            until = first + k * step
            if until >= end or windows[-1]["completed"] == len(jobs):
                break
            if until - step > last and _busy(windows[-1]) == _busy(windows[-2]):
                break  # no job ran: jobs may wait for ever
            go(until)
        if windows[-1]["completed"] < len(jobs) or math.isfinite(end):
            go(end)
    except KeyboardInterrupt:
        complete = False
    return complete, _means(windows)


def _busy(totals: Mapping[str, Any]) -> float:
    return float(totals["map_busy"] + totals["reduce_busy"])


def _means(windows: list[dict[str, Any]]) -> dict[str, Floats]:
    time = np.array([totals["now"] for totals in windows])
    kept = np.concatenate([[True], np.diff(time) > 0.0])
    time = time[kept]

    def grown(name: str) -> Floats:
        return np.diff(np.array([totals[name] for totals in windows], dtype=np.float64)[kept])

    series: dict[str, Floats] = {"time": time, "jobs": grown("jobs_seconds") / np.diff(time)}
    for name, (part, whole) in _SERIES.items():
        offered = grown(whole)
        series[name] = np.divide(
            grown(part), offered, out=np.full(len(offered), math.nan), where=offered > 0.0
        )
    return series
