"""Policies of papers, and of loops, against the plainest rule of the same build.

Such a mechanism has no patch: the set `against:NAME` runs the policy, `against:NAME:plain` the rule.

slotted: 200 jobs on 20 machines at load 0.85; geometric maps (mean 12), Pareto reduce work (tail 1.5), cut
    into geometric numbers of tasks (mean 3); Poisson arrivals.
adaptive: the nine benchmarks of Rasooli and Down 2011, as in its figures 7 to 9.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import malleable as mb
from benchmarks.mechanisms import Instance, instances
from benchmarks.rivals.table import SECTIONS
from malleable.papers.adaptive import benchmark_jobs, table3_cluster

# The name of a section of the benchmarks against rivals, ours, the plainest rule.
_SECTIONS = {
    "overlap": ("tandem", "two-srpt", "ps"),
    "flows": ("flows", "flowflex", "srwf"),
    "flow-loops": ("loops-period-flows", "FlowEpoch", "srwf"),
    "period": ("loops-period-jobs", "FLEX", "SRPT, left-over"),
}


def _of_section(section: str, rule: str) -> Iterator[Instance]:
    for row in SECTIONS[section].rows(False):
        yield Instance(
            f"{section}: {row.instance}",
            "as the section says",
            lambda seed, row=row: row.run(rule, seed),
            row.seeds[:5],
        )


for _name, (_section, *_rules) in _SECTIONS.items():
    for _rule, _end in zip(_rules, ("", ":plain"), strict=True):
        instances(f"against:{_name}{_end}", "benchmarks")(partial(_of_section, _section, _rule))


def _slotted(policy: str, preemptive: bool, seed: int) -> float:
    rng = np.random.default_rng([seed, 300])
    maps = rng.geometric(1 / 12, 200)
    work = np.ceil(4.0 * (1.0 + rng.pareto(1.5, 200))).astype(int)
    reduces = [
        [int(part.size) for part in np.array_split(np.arange(own), min(own, count))]
        for own, count in zip(work, rng.geometric(1 / 3, 200), strict=True)
    ]
    span = (maps.sum() + work.sum()) / (20 * 0.85)
    arrival = 1 + np.sort(rng.integers(0, int(span), 200))
    jobs = mb.MapReduceJobs(arrival=arrival, map=maps, reduce=reduces)
    found = mb.simulate(jobs, policy, machines=20, preemptive=preemptive, bound=False)
    return float(found.records["turnaround_time"].mean())


def _slotted_rows(policy: str) -> Iterator[Instance]:
    for preemptive in (True, False):
        yield Instance(
            f"200 jobs on 20 machines, {'' if preemptive else 'non-'}preemptive reduce tasks",
            "mean flow time",
            lambda seed, preemptive=preemptive: _slotted(policy, preemptive, seed),
            (1, 2, 3, 4, 5, 6, 7, 8),
        )


instances("against:slotted", "families")(partial(_slotted_rows, "asrpt"))
instances("against:slotted:plain", "families")(partial(_slotted_rows, "fair"))


def _adaptive(policy: str, workload: int, ordering: int, seed: int) -> float:
    jobs, cluster = benchmark_jobs(workload, ordering, seed), table3_cluster()
    options: dict[str, Any] = {"replicas": 3, "slow_start": 1.0, "ageing": 0.0, "rng": seed}
    found = mb.simulate(jobs, policy, cluster=cluster, records=False, **options)
    return float(found.summary[policy]["mean_response"])


def _adaptive_rows(policy: str) -> Iterator[Instance]:
    for workload in (1, 2, 3):
        for ordering in (1, 2, 3):
            yield Instance(
                f"BM {workload}.{ordering}, figure {6 + workload} of the paper",
                "mean completion time [s]",
                lambda seed, w=workload, o=ordering: _adaptive(policy, w, o, seed),
                (1, 2, 3, 4, 5, 6, 7, 8),
            )


instances("against:adaptive", "benchmarks")(partial(_adaptive_rows, "adaptive"))
instances("against:adaptive:plain", "benchmarks")(partial(_adaptive_rows, "fair"))
