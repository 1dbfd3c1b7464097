"""Instances for the scheduler of clusters, on which none of its rules was chosen.

Task times are exp(sigma Z) or Pareto times a job's mean. Arrivals give the load by the work that was drawn.

bursts: jobs come in ten bursts; Pareto numbers of tasks (tail 1.2), tasks of sigma 0.8.
small-users: sixty users in turn, most with jobs of one to four tasks, every twentieth with one of 150.
bimodal: nine jobs of ten have three tasks of about 5 s, the others 80 of about 60 s.
correlated: the more tasks a job has, the longer each of them (seconds = 2 sqrt(tasks) at sigma 0.3).
pareto-tasks: task times are Pareto (tail 1.3).
even-tasks: all task times are uniform in 0.9 to 1.1 of a job's mean.
changing-nodes: a third of the nodes leaves at a third of the span and returns at two thirds.
swapped-programs: two programs, of 5 and 40 s; in the middle they swap speeds.
three-rates: nodes of rates 1, 2 and 6.
All but the last two of these have reduce tasks that copy; every second draw has one kind of slots.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import malleable as mb
from benchmarks.instances import TRACED_PHASES, traced_phases, traces
from benchmarks.mechanisms import Instance, instances
from benchmarks.rivals.table import SkippedError

_JOBS = 250
_LOAD = 0.85
_SEEDS = tuple(range(1, 11))


def _counts(rng: np.random.Generator, kind: str) -> Any:
    if kind == "bursts":
        return np.minimum(np.ceil(3.0 * rng.pareto(1.2, _JOBS) + 1.0), 200)
    if kind == "small-users":
        return np.where(np.arange(_JOBS) % 20 == 19, 150, rng.integers(1, 5, _JOBS))
    if kind == "bimodal":
        return np.where(rng.random(_JOBS) < 0.9, 3, 80)
    return np.minimum(rng.geometric(0.05, _JOBS), 150)


def _means(rng: np.random.Generator, kind: str, counts: Any) -> Any:
    if kind == "bimodal":
        return np.where(counts == 3, 5.0, 60.0)
    if kind == "correlated":
        return 2.0 * np.sqrt(counts)
    if kind == "swapped-programs":
        late = np.arange(_JOBS) >= _JOBS // 2
        return np.where((np.arange(_JOBS) % 2 == 0) ^ late, 5.0, 40.0)
    return rng.lognormal(2.5, 0.8, _JOBS)


def _times(rng: np.random.Generator, kind: str, count: int) -> Any:
    if kind == "pareto-tasks":
        return 0.3 * (rng.pareto(1.3, count) + 1.0)
    if kind == "even-tasks":
        return rng.uniform(0.9, 1.1, count)
    sigma = 0.8 if kind == "bursts" else 0.3
    return np.exp(sigma * rng.standard_normal(count))


def _arrivals(rng: np.random.Generator, kind: str, span: float) -> Any:
    if kind == "bursts":
        return np.sort(rng.integers(10, size=_JOBS)) * span / 10.0
    return np.sort(rng.uniform(0.0, span, _JOBS))


def family(kind: str, seed: int) -> tuple[mb.ClusterJobs, mb.Cluster]:
    """Jobs and cluster of one of these families."""
    rng = np.random.default_rng([seed, sum(map(ord, kind))])
    maps = _counts(rng, kind).astype(np.int64)
    reduces = np.zeros_like(maps)
    if kind not in ("swapped-programs", "three-rates"):
        reduces = maps // 3
    mean = _means(rng, kind, maps)
    map_times = np.repeat(mean, maps) * _times(rng, kind, int(maps.sum()))
    reduce_times = 1.5 * np.repeat(mean, reduces) * _times(rng, kind, int(reduces.sum()))
    copying = 0.4 * float(mean.mean())
    work = map_times.sum(), reduce_times.sum() + copying * reduces.sum()
    rates = (1.0, 2.0, 6.0) if kind == "three-rates" else (1.0,) * 12
    one_kind = seed % 2 == 0 or not reduces.any()
    slots = {"slots": 6} if one_kind else {"map_slots": 4, "reduce_slots": 2}
    if one_kind:
        span = sum(work) / (6 * sum(rates) * _LOAD)
    else:
        span = max(work[0] / 4, work[1] / 2) / (sum(rates) * _LOAD)
    gone = range(4) if kind == "changing-nodes" else ()
    changes = [
        {"time": span * part / 3.0, "node": node, "up": part == 2}
        for part in (1, 2)
        for node in gone
    ]
    jobs = mb.ClusterJobs(
        maps,
        _lists(map_times, maps),
        reduces,
        _lists(reduce_times, reduces),
        arrival=_arrivals(rng, kind, span),
        shuffle=np.where(reduces > 0, copying, 0.0),
        user=[f"user{k % 60}" for k in range(_JOBS)] if kind == "small-users" else None,
        program=[f"program{k % (2 if kind == 'swapped-programs' else 12)}" for k in range(_JOBS)],
    )
    return jobs, mb.Cluster([slots | {"rate": rate} for rate in rates], changes=changes)


def _lists(times: Any, counts: Any) -> list[list[float]]:
    return [own.tolist() for own in np.split(times, np.cumsum(counts)[:-1])]


KINDS = ("bursts", "small-users", "bimodal", "correlated", "pareto-tasks", "even-tasks",
         "changing-nodes", "swapped-programs", "three-rates")  # fmt: skip


def _mean_response(
    policy: str, options: dict[str, Any], jobs: mb.ClusterJobs, cluster: mb.Cluster
) -> float:
    options = {"rng": 1} | options
    result = mb.simulate(jobs, policy, cluster=cluster, records=False, **options)
    return float(result.summary[policy]["mean_response"])


def _families(policy: str, **options: Any) -> Iterator[Instance]:
    told = ", ".join([policy, *(f"{name}={value}" for name, value in options.items())])
    for kind in KINDS:
        yield Instance(
            f"{kind}: {told}",
            "mean response [s]",
            lambda seed, kind=kind: _mean_response(policy, options, *family(kind, seed)),
            _SEEDS,
        )


_LEARN = {"estimates": "learn"}
instances("clusters:auto", "families")(partial(_families, "auto", **_LEARN))
instances("clusters:backups", "families")(partial(_families, "auto", **_LEARN, backups=True))
instances("clusters:gittins", "families")(partial(_families, "gittins"))
instances("clusters:asrpt", "families")(partial(_families, "asrpt"))
instances("clusters:flex", "families")(partial(_families, "flex"))
instances("clusters:fair", "families")(partial(_families, "fair"))


@instances("clusters:asrpt-early", "families")
def early_reduces() -> Iterator[Instance]:
    """ASRPT whose reduce tasks hold slots while they wait for maps."""
    return _families("asrpt", slow_start=0.05)


def _traced(policy: str, **options: Any) -> Iterator[Instance]:
    if traces() is None:
        raise SkippedError("no folder of traces: MALLEABLE_TRACES names none")
    for name in TRACED_PHASES:
        yield Instance(
            f"{name} at load 0.8, noise 0.3: {policy}",
            "mean response [s]",
            lambda seed, name=name: _mean_response(
                policy, options | {"noise": 0.3, "rng": seed}, *traced_phases(name, 0.8)
            ),
            (1, 2, 3),
        )


instances("traces:auto", "traces")(partial(_traced, "auto", **_LEARN))
instances("traces:asrpt", "traces")(partial(_traced, "asrpt"))
instances("traces:gittins", "traces")(partial(_traced, "gittins"))
instances("traces:backups", "traces")(partial(_traced, "auto", **_LEARN, backups=True))
