"""Constructions of the proofs of Zheng, Shroff, Sinha 2013: jobs as hard as 3-Partition, and arrivals on which
every non-preemptive policy is far from the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from malleable.checkpoints import by_value
from malleable.simulation import simulate
from malleable.slotted.table import MapReduceJobs
from malleable.validation import check_whole


@by_value()
class HardJobs(NamedTuple):
    """Jobs, and a total flow time [steps] that they can meet if and only if a partition exists."""

    jobs: MapReduceJobs
    machines: int
    threshold: int


def partition_jobs(numbers: Sequence[int]) -> HardJobs:
    """3-Partition as jobs of unit tasks, so that preemption makes no difference.

    The jobs can have a total flow time of ``threshold`` if and only if the 3 m numbers can be divided into m
    triples of one sum: in step k the maps of triple k run, in step k + 1 its reduces.

    ``numbers`` are 3 m whole numbers from 1 to 2^20 of sum m B (otherwise a ValueError). Jobs ``A0 ...`` have
    a map and Q - a reduce tasks for each number a, ``U0 ...`` are 3 Q - B jobs of one map task; all arrive in
    step 1, on 3 Q machines.

    Notes
    -----
    Every A has Q tasks, and Q is so large that only 3 k of the A can end by step k + 1, unless so many U wait
    that it does not pay. This reduction is ours. O(m Q).
    """
    sizes = [check_whole(f"numbers[{k}]", a, 1, 2**20) for k, a in enumerate(numbers)]
    triples, over = divmod(len(sizes), 3)
    if triples == 0 or over:
        raise ValueError(f"numbers: there are {len(sizes)}, expected three or a multiple of it")
    each, over = divmod(sum(sizes), triples)
    if over:
        raise ValueError(f"numbers: their sum {sum(sizes)} is not {triples} times a whole number")
    tasks = max(each, *sizes) + 3 * triples * (triples + 1) + 1
    units = 3 * tasks - each
    jobs = MapReduceJobs(
        [*sizes, *[1] * units],
        [*([1] * (tasks - a) for a in sizes), *[[]] * units],
        name=[*(f"A{k}" for k in range(len(sizes))), *(f"U{k}" for k in range(units))],
    )
    threshold = units + 3 * sum(range(2, triples + 2))
    return HardJobs(jobs, 3 * tasks, threshold)


@dataclass(frozen=True)
class Adversary:
    """Arrivals of section IV against one policy, and what a scheduler that knows them needs.

    ``jobs`` are for one machine and non-preemptive reduce tasks. ``case`` 1: the policy waited, and no other
    job comes; 2: it began the long reduce task, and short jobs arrive while it runs. ``flow`` is the policy's
    total flow time [steps], ``better_flow`` that of the paper's feasible scheduler S1 or S2."""

    jobs: MapReduceJobs
    case: int
    flow: float
    better_flow: float

    @property
    def ratio(self) -> float:
        """How many times better a schedule could have been; no policy keeps it below a constant."""
        return self.flow / self.better_flow


def adversarial_jobs(policy: str, ratio: float) -> Adversary:
    """Arrivals on which a policy is more than ``ratio`` times worse than it could have been.

    ``policy`` is one of `malleable.slotted.simulate.POLICIES` for non-preemptive reduce tasks; ``ratio`` is
    c0, from 1 to 1000, and there are about as many jobs as its square. One job has 1 map task and a reduce
    task of 2 Q + 1 steps, Q > c0^2 + 2 c0; other arrivals depend on when the policy starts its tasks. Source:
    Zheng, Shroff, Sinha 2013, section IV.
    """
    if not (math.isfinite(ratio) and 1.0 <= ratio <= 1e3):
        raise ValueError(f"ratio = {ratio!r}: must be from 1 to 1000")
    q = math.floor(ratio * ratio + 2.0 * ratio) + 1
    alone = MapReduceJobs([1], [[2 * q + 1]], arrival=1)
    seen = simulate(alone, policy, machines=1, preemptive=False)
    assert seen.records is not None
    reduce_begins = int(seen.records["completion"][0]) - 2 * q
    waited = reduce_begins - 1  # steps before the reduce task: H + L in the paper
    if waited > 2.0 * (ratio - 1.0) * (q + 1) + 1.0:
        return Adversary(alone, 1, float(seen.summary[policy]["total_response"]), 2.0 * q + 2.0)
    arrival = [1, *range(waited + 2, waited + 2 * q + 1, 2)]
    jobs = MapReduceJobs([1] * (q + 1), [[2 * q + 1]] + [[1]] * q, arrival=arrival)
    found = simulate(jobs, policy, machines=1, preemptive=False).summary[policy]
    # S2: the short jobs run on arrival, two steps each; then the long task.
    better = 2.0 * q + (waited + 2 * q + 2) + 2 * q
    return Adversary(jobs, 2, float(found["total_response"]), better)
