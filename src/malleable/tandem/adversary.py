"""Theorem 2 of the overlap paper against one policy: arrivals that depend on what it did."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from malleable.columns import Floats
from malleable.policies import policy_of
from malleable.tandem.generate import theorem2_jobs
from malleable.tandem.simulate import NOTHING, POLICIES, core_queue
from malleable.tandem.table import MapShuffleJobs


@dataclass(frozen=True)
class OverlapAdversary:
    """Arrivals of theorem 2 for one policy, and what a scheduler that knows them needs.

    Attributes
    ----------
    jobs : MapShuffleJobs
    case : int
        1: the policy had begun the large jobs, and small ones follow; 2: it had not, and large ones
        follow.
    response, better_response : float
        Total response of the policy, and of the feasible schedule of the proof [s].
    """

    jobs: MapShuffleJobs
    case: int
    response: float
    better_response: float

    @property
    def ratio(self) -> float:
        """How many times better one could have been; it grows with k for every online policy."""
        return self.response / self.better_response


def overlap_adversary(policy: str, k: int) -> OverlapAdversary:
    """Arrivals on which a policy is worse, by a factor of order k, than it could have been.

    Parameters
    ----------
    policy : str
        One of `malleable.tandem.simulate.POLICIES`.
    k : int
        From 1 to 200; there are about k^3 jobs.

    Notes
    -----
    The policy is watched until k^2. Case 1 is served better with small jobs first, case 2 with large
    ones first. O(k^3 log k) for policies that rank jobs. Source: Lin et al. 2013, theorem 2.
    """
    if policy_of("tandem", policy).batches_only:
        raise ValueError(f"policy = {policy!r}: expected one of {', '.join(POLICIES)}")
    jobs = theorem2_jobs(k, 1)
    seen = _fed(policy, jobs.take(jobs.arrival == 0.0))
    seen.advance(float(k**2))
    ids, map_left, _, _ = seen.state()
    large = jobs.map[ids] == k
    begun = k**2 - float(map_left[large].sum())
    case = 1 if begun >= k**2 / 5 else 2
    if case == 2:
        jobs = theorem2_jobs(k, 2)
    # The proof's schedule: large jobs wait in case 1, and small ones in case 2.
    later = (jobs.map == k) == (case == 1)
    totals = []
    for name in (policy, "order"):
        queue = _fed(name, jobs, later.astype(np.float64))
        queue.advance(math.inf)
        totals.append(queue.total_response)
    return OverlapAdversary(jobs, case, *totals)


def _fed(policy: str, jobs: MapShuffleJobs, order: Floats = NOTHING) -> Any:
    queue = core_queue(policy)
    columns = jobs.arrival, jobs.map, jobs.shuffle, jobs.weight
    queue.feed(*columns, NOTHING, NOTHING, order, order)
    return queue
