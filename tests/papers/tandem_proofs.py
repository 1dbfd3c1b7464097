"""Constructions of the proofs of Lin et al. 2013: hard batches (jobs that arrive together), and arrivals that
depend on the policy. Pairs (x, y) are map and shuffle size [s]; the larger over the smaller is a job's
imbalance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from malleable.arrays import Floats
from malleable.checkpoints import by_value
from malleable.policies import policy_of
from malleable.tandem.simulate import NOTHING, POLICIES, core_queue
from malleable.tandem.table import MapShuffleJobs
from malleable.validation import as_number, check_whole, checked_choice, shown

_MOST = 10**7  # jobs


def _whole(name: str, value: int, least: int) -> int:
    return check_whole(name, value, least, _MOST)


def _above_one(name: str, value: float) -> float:
    number = as_number(name, value)
    if not 1.0 < number < 1e6:
        raise ValueError(f"{name} = {shown(value)}: must be above 1 and below 10^6")
    return number


def corollary4_jobs(
    jobs: int, alpha: float, epsilon: float = 1e-3
) -> tuple[MapShuffleJobs, MapShuffleJobs]:
    """A batch that MaxSRPT serves 2 alpha / (1 + alpha) times too slowly, as ``jobs`` (an even number) grows,
    and the same jobs in an order that is near the optimum when served first come, first served (FCFS).

    Half the jobs are (alpha - epsilon, 1), half (1, alpha), with alpha above 1, the largest imbalance, and
    epsilon above 0 and below alpha - 1. Lin et al. 2013, after corollary 4."""
    count, ratio = _whole("jobs", jobs, 2), _above_one("alpha", alpha)
    if count % 2:
        raise ValueError(f"jobs = {jobs!r}: must be even")
    if not 0.0 < epsilon < ratio - 1.0:
        raise ValueError(f"epsilon = {epsilon!r}: must be above 0 and below alpha - 1")
    half = count // 2
    pair = [(1.0, ratio), (ratio - epsilon, 1.0)]
    maps, shuffles = np.array(pair).T
    batch = MapShuffleJobs(np.repeat(maps[::-1], half), np.repeat(shuffles[::-1], half))
    return batch, MapShuffleJobs(np.tile(maps, half), np.tile(shuffles, half))


def corollary6_jobs(jobs: int, beta: float) -> MapShuffleJobs:
    """A batch that SplitSRPT serves 1 + 1 / beta times too slowly, as ``jobs`` (at least 2) grows.

    ``jobs - 1`` jobs (beta, 1), then one (jobs - 1, (jobs - 1) beta), with beta above 1, the least imbalance;
    FCFS is near the optimum. Lin et al. 2013, after corollary 6."""
    count, ratio = _whole("jobs", jobs, 2), _above_one("beta", beta)
    many = count - 1
    return MapShuffleJobs([ratio] * many + [float(many)], [1.0] * many + [many * ratio])


@by_value()
class HardBatch(NamedTuple):
    """A batch, and a total response that it can meet if and only if the matching exists."""

    jobs: MapShuffleJobs
    threshold: float


def matching_jobs(f: Sequence[int], g: Sequence[int], h: Sequence[int]) -> HardBatch:
    """Numerical matching with target sums as a batch with equal map sizes.

    The batch has a schedule of total response at most ``threshold`` if and only if each f can be paired with
    a g so that the sums are the h: for every h its f, its g, the job of h (``F0 ...``, ``G0 ...``, ``H0
    ...``), and the large jobs ``E0`` and ``E1`` last. There are equally many positive f, g and h, sum f + sum
    g = sum h; otherwise, or if numbers leave the integers of doubles, a ValueError. Lin et al. 2013, theorem
    1.
    """
    q = len(f)
    if q == 0 or len(g) != q or len(h) != q:
        raise ValueError("f, g, h: expected equally many numbers, at least one each")
    for name, numbers in (("f", f), ("g", g), ("h", h)):
        for row, number in enumerate(numbers):
            check_whole(f"{name}[{row}]", number, 1, 2**50)
    if sum(f) + sum(g) != sum(h):
        raise ValueError("h: its sum must be that of f and g")
    shift = max(0, 3 * sum(f) + 1 - min(g))
    g, h = [x + shift for x in g], [x + shift for x in h]
    a = max(2 * (sum(g) + 2 * sum(f)) * sum(g), max(h) + 1)
    m = 9 * q * a
    total = (9 * q * q + 3 * q) * a // 2 + 2 * sum(f) + sum(g) + 6 * q * a + 3 * m + 3 * a
    if total > 2**50:
        raise ValueError("f, g, h: too large for exact numbers")
    shuffle = [a + x for x in f] + [a + x for x in g] + [a - x for x in h] + [a + m] * 2
    names = [f"{kind}{k}" for kind in "FGH" for k in range(q)] + ["E0", "E1"]
    return HardBatch(MapShuffleJobs([a] * (3 * q + 2), shuffle, name=names), float(total))


def adversary_jobs(k: int, case: int) -> MapShuffleJobs:
    """Arrivals of which one of both cases makes any online policy of order k times too slow; k^3 + k^2 + k +
    1 jobs.

    At 0 there are k^2 jobs (1, 1/2) and k jobs (k, 3 k / 2). ``case`` 1: small jobs follow, one a second from
    k^2 on, which punishes policies that have done k^2 / 5 of the large jobs' map work by k^2. 2: large ones
    follow, one every 3 k / 2 seconds from 2 k^2 on, which punishes the others. `tandem_adversary` chooses.
    Lin et al. 2013, theorem 2."""
    size = _whole("k", k, 1)
    if size > 200:
        raise ValueError(f"k = {k!r}: at most 200, which are 8 million jobs")
    checked_choice("case", str(case), ("1", "2"))
    small, large = (1.0, 0.5), (float(size), 1.5 * size)
    later = np.arange(size**3 + 1, dtype=np.float64)
    first = [small] * size**2 + [large] * size
    more = size**2 + later if case == 1 else 2 * size**2 + later * 1.5 * size
    sizes = np.array(first + [small if case == 1 else large] * len(later))
    arrival = np.concatenate([np.zeros(len(first)), more])
    return MapShuffleJobs(sizes[:, 0], sizes[:, 1], arrival=arrival)


@dataclass(frozen=True)
class TandemAdversary:
    """Arrivals of theorem 2 for one policy. ``case`` as of `adversary_jobs`; ``response`` is the total
    response of the policy [s], ``better_response`` that of the proof's feasible schedule."""

    jobs: MapShuffleJobs
    case: int
    response: float
    better_response: float

    @property
    def ratio(self) -> float:
        """How many times better a schedule could have been; it grows with k for every online policy."""
        return self.response / self.better_response


def tandem_adversary(policy: str, k: int) -> TandemAdversary:
    """Arrivals on which a policy of `malleable.tandem.simulate.POLICIES` is worse, by a factor of order k,
    than it could have been.

    The policy is watched until k^2 (k from 1 to 200). Case 1 is served better with small jobs first, case 2
    with large ones first. O(k^3 log k) for policies that rank jobs. Source: Lin et al. 2013, theorem 2."""
    if policy_of("tandem", policy).batches_only:
        raise ValueError(f"policy = {policy!r}: expected one of {', '.join(POLICIES)}")
    jobs = adversary_jobs(k, 1)
    seen = _fed(policy, jobs.take(jobs.arrival == 0.0))
    seen.advance(float(k**2))
    ids, map_left, _, _ = seen.state()
    large = jobs.map[ids] == k
    begun = k**2 - float(map_left[large].sum())
    case = 1 if begun >= k**2 / 5 else 2
    if case == 2:
        jobs = adversary_jobs(k, 2)
    # The proof's schedule: large jobs wait in case 1, and small ones in case 2.
    later = (jobs.map == k) == (case == 1)
    totals = []
    for name in (policy, "order"):
        queue = _fed(name, jobs, later.astype(np.float64))
        queue.advance(math.inf)
        totals.append(queue.total_response)
    return TandemAdversary(jobs, case, *totals)


def _fed(policy: str, jobs: MapShuffleJobs, order: Floats = NOTHING) -> Any:
    # a queue of the core with these jobs; `order`: their places, for policy `order`
    queue = core_queue(policy)
    columns = jobs.arrival, jobs.map, jobs.shuffle, jobs.weight
    queue.feed(*columns, NOTHING, NOTHING, order, order)
    return queue
