"""Rigid jobs (all their slots at once, or none) in a queue with backfill.

EASY lets later jobs start if that does not delay the first waiting one; easy-sjf takes the shortest requested
time first. WFP3 is the longest wait over the requested time, cubed and times slots; F1 is short and narrow jobs
first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import malleable as mb
from benchmarks.instances import RIGID_SLOTS, lublin, rigid_log, traces
from benchmarks.rivals.table import Row, SkippedError, section

_BOUND = 10.0  # s: shorter jobs count as if they ran so long
_OURS = {
    "mean response": "sum:response",
    "bounded slowdown": "sum:stretch",
    "longest wait": "sum:response",
}
_RIVALS = ("easy", "easy-sjf", "easy(order=wfp3)", "easy(order=f1)")


def _figure(what: str, jobs: mb.ClusterJobs, slots: int, policy: str) -> float:
    cluster = mb.Cluster([{"slots": slots}])
    found = mb.simulate(jobs, policy, cluster=cluster, objective=_OURS[what]).records
    response = found["finish_time"] - jobs.arrival
    if what == "mean response":
        return float(response.mean())
    if what == "longest wait":
        return float((found["starting_time"] - jobs.arrival).max())
    return float(np.maximum(response / np.maximum(jobs.map_seconds, _BOUND), 1.0).mean())


@section(
    "rigid",
    "Rigid jobs on one pool of slots (`rigid_log`: 120 jobs on 16, `lublin`: 256 slots). Mean response [s], "
    "mean bounded slowdown (bound 10 s; ours with sum:stretch), longest wait [s]. Ours: auto. Rivals: EASY by "
    "arrival, by shortest requested time, WFP3 and F1",
)
def rigid(quick: bool) -> Iterator[Row]:
    seeds = range(4 if quick else 40)
    logs: dict[str, dict[str, Any]] = {
        "load 0.8": {},
        "load 1.0": {"gap": 125.0},
        "load 0.6": {"gap": 210.0},
        "users ask for more": {"exact": False},
    }
    for what in _OURS:
        for name, how in logs.items():

            def run(rule: str, seed: int, what: str = what, how: dict[str, Any] = how) -> float:
                return _figure(what, rigid_log(seed, **how), RIGID_SLOTS, rule)

            yield Row(f"{name}: {what}", run, ["auto"], _RIVALS, seeds)
        if traces() is None:
            raise SkippedError("no folder of traces: MALLEABLE_TRACES names none")
        count = 1000 if quick else 10_000

        def long(rule: str, seed: int, what: str = what, count: int = count) -> float:
            return _figure(what, lublin(0, count), 256, rule)

        yield Row(f"lublin: {what}", long, ["auto"], _RIVALS)
