"""Jobs with deadlines on clusters, with one pool of slots or two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import malleable as mb
from benchmarks.instances import late_stream
from benchmarks.rivals import rules as rivals
from benchmarks.rivals.table import Row, section

_RULES = {
    "Smith": rivals.cluster_smith,
    "Smith in turn": rivals.in_turn(rivals.smith_key),
    "apparent cost in turn": rivals.in_turn(rivals.cost_key),
    "hopeful in turn": rivals.in_turn(rivals.hopeful_key),
    "FAIR": rivals.cluster_fair,
}


def _late(kind: str, pools: int, load: float, rule: str, seed: int) -> float:
    """Mean of weight times tardiness, or weight of the late jobs over the number of jobs."""
    jobs, cluster = late_stream(seed, pools, load)
    policy: Any = _RULES.get(rule, rule)
    found = mb.simulate(jobs, policy=policy, objective=f"sum:{kind}", cluster=cluster, rng=1)
    end = np.empty(len(jobs))
    end[np.asarray(found.records["job_id"])] = found.records["finish_time"]
    late = np.maximum(end - jobs.deadline, 0.0)
    return float((jobs.weight * (late if kind == "tardiness" else late > 1e-6)).mean())


@section(
    "cluster-late",
    "Jobs with weights and deadlines come to a cluster (`late_stream`). With two pools they also have "
    "reduce tasks, with slots of their own. The figures are the weight of the late jobs (`tardy`, "
    "`strict`), or the sum of weight times tardiness [s], over the number of jobs. All rules know how long "
    "tasks take. Ours is `auto`",
)
def late_rows(quick: bool) -> Iterator[Row]:
    for kind in ("tardy", "tardiness", "strict"):
        for pools in (1, 2):
            for load in (0.8,) if quick else (0.8, 1.1):
                yield Row(
                    f"sum:{kind}, {('one pool', 'two pools')[pools - 1]}, load {load:g}",
                    lambda rule, seed, kind=kind, pools=pools, load=load: _late(
                        kind, pools, load, rule, seed
                    ),
                    ours=("auto", "flex"),
                    rivals=tuple(_RULES),
                    seeds=range(1 if quick else 12),
                )
