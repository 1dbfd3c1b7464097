"""Packing schemes and water-filling plans, literal and quadratic.

Proves: what the malleable packing scheme (FLEX 2010, figure 3), its gang variant and the two
water-filling policies (FAIR, WDEQ) do with an order, job by job and interval by interval.
How: at every completion all allocations are computed anew from their definition; exactly one job
leaves per interval, so jobs that finish together leave through intervals of length zero. With
``number=Fraction`` every time is exact. Water-filling levels are exact fractions in any case.
"""

from bisect import bisect_left
from fractions import Fraction
from math import inf
from typing import NamedTuple


class Schedule(NamedTuple):
    """Completions (relative to 0; inf if a job can never run) and pieces (job, start, end, slots).

    There is one piece per job and interval in which the job has slots; pieces of equal slots in
    neighbouring intervals are not merged.
    """

    completion: list
    pieces: list


def scale_minima(work, minimum, slots):
    """Minima that fit: floor(m S / sum m), left-over by largest fraction, then lower index.

    Only jobs with work count; the others get 0. Minima that fit stay as they are.
    """
    minimum = [int(m) if w > 0 else 0 for w, m in zip(work, minimum, strict=True)]
    total = sum(minimum)
    if total <= slots:
        return minimum
    scaled = [m * slots // total for m in minimum]
    remainder = [m * slots % total for m in minimum]
    by_fraction = sorted(range(len(minimum)), key=lambda j: (-remainder[j], j))
    for j in by_fraction[: slots - sum(scaled)]:
        scaled[j] += 1
    return scaled


def packing_layer(unfinished, minimum, maximum, slots):
    """One interval of figure 3, lines 4 to 11; ``unfinished`` is in priority order."""
    allocation = {j: minimum[j] for j in unfinished}
    slack = slots - sum(allocation.values())
    assert slack >= 0, "scale the minima first"
    for j in unfinished:
        extra = min(slack, maximum[j] - minimum[j])
        allocation[j] += extra
        slack -= extra
    return allocation


def gang_layer(unfinished, minimum, maximum, slots):
    """One interval of the gang variant: none, or at least the minimum (at least one slot)."""
    allocation = {}
    free = slots
    for j in unfinished:
        allocation[j] = min(maximum[j], free) if free >= max(1, minimum[j]) else 0
        free -= allocation[j]
    return allocation


def run_layers(order, work, layer, number):
    """Apply ``layer`` from completion to completion; ``order`` breaks ties between completions."""
    remaining = [number(float(w)) for w in work]
    completion = [number(0)] * len(remaining)
    pieces = []
    unfinished = [int(j) for j in order if remaining[j] > 0]
    now = number(0)
    while unfinished:
        allocation = layer(unfinished)
        running = [j for j in unfinished if allocation[j] > 0]
        if not running:
            for j in unfinished:
                completion[j] = inf
            break
        first = min(running, key=lambda j: remaining[j] / allocation[j])
        length = remaining[first] / allocation[first]
        for j in running:
            if length > 0:
                pieces.append((j, now, now + length, allocation[j]))
            remaining[j] = max(number(0), remaining[j] - allocation[j] * length)
        now += length
        remaining[first] = number(0)
        # Whoever has nothing left leaves at once; an earlier gang might take its slots otherwise.
        for j in running:
            if remaining[j] <= 1e-12 * work[j]:
                completion[j] = now
                unfinished.remove(j)
    return Schedule(completion, pieces)


def packing(order, work, minimum, maximum, slots, *, number=float):
    """Malleable packing scheme of figure 3; minima must fit (``scale_minima``)."""
    assert sorted(order) == list(range(len(work))), "an order names every job once"
    low = [int(m) for m in minimum]
    high = [min(int(m), slots) for m in maximum]
    return run_layers(order, work, lambda jobs: packing_layer(jobs, low, high, slots), number)


def gang_packing(order, work, minimum, maximum, slots, *, number=float):
    """The packing scheme with gang sizes: a job has no slots or at least its minimum."""
    assert sorted(order) == list(range(len(work))), "an order names every job once"
    low = [int(m) for m in minimum]
    high = [min(int(m), slots) for m in maximum]
    return run_layers(order, work, lambda jobs: gang_layer(jobs, low, high, slots), number)


def fifo_order(arrival):
    """Jobs by arrival, ties by index."""
    return sorted(range(len(arrival)), key=lambda j: (arrival[j], j))


def water_filling_level(minimum, maximum, weight, target):
    """The least level with sum of clamp(level w, m, M) = target, an exact fraction.

    The sum is piecewise linear between the sorted break points m / w and M / w, and never falls;
    bisection finds the first break point where it reaches the target, and the level lies on the
    straight line before it.
    """

    def filled(level):
        shares = (
            min(max(level * w, m), M) for m, M, w in zip(minimum, maximum, weight, strict=True)
        )
        return sum(shares)

    breaks = {Fraction(0)}
    for m, M, w in zip(minimum, maximum, weight, strict=True):
        breaks |= {m / w, M / w}
    breaks = sorted(breaks)
    right = bisect_left(breaks, target, key=filled)
    assert right < len(breaks), "the target is more than the maxima hold"
    if right == 0:
        return breaks[0]
    low, high = filled(breaks[right - 1]), filled(breaks[right])
    part = (target - low) / (high - low)
    return breaks[right - 1] + part * (breaks[right] - breaks[right - 1])


def water_filling_shares(minimum, maximum, weight, slots):
    """Exact real-valued shares clamp(level w, m, M) that add up to min(S, sum M).

    Jobs of weight 0 are the limit of small weights: they stay at their minima until every other
    job is at its maximum, and then share equally.
    """
    minimum = [Fraction(int(m)) for m in minimum]
    maximum = [Fraction(min(int(m), slots)) for m in maximum]
    weight = [Fraction(float(w)) for w in weight]
    assert sum(minimum) <= slots, "scale the minima first"
    shares = list(minimum)
    heavy = [j for j, w in enumerate(weight) if w > 0]
    light = [j for j, w in enumerate(weight) if w == 0]
    for group, weights in (
        (heavy, [weight[j] for j in heavy]),
        (light, [Fraction(1)] * len(light)),
    ):
        if not group:
            continue
        low, high = [minimum[j] for j in group], [maximum[j] for j in group]
        rest = slots - sum(shares) + sum(low)
        level = water_filling_level(low, high, weights, min(rest, sum(high)))
        for j, w in zip(group, weights, strict=True):
            shares[j] = min(max(level * w, minimum[j]), maximum[j])
    return shares


def water_filling_allocation(minimum, maximum, weight, slots):
    """Integer water_filling: floors of the shares, then one slot each to the largest fractions.

    Ties go to the lower index; fractions closer than 1e-9 are tied, and a share that close to an
    integer is that integer. No job gets more than its maximum.
    """
    near = Fraction(1, 10**9)
    shares = water_filling_shares(minimum, maximum, weight, slots)
    allocation = [(share + near) // 1 for share in shares]
    fraction = [max(Fraction(0), x - a) for x, a in zip(shares, allocation, strict=True)]
    left_over = sum(shares) - sum(allocation)
    waiting = [j for j in range(len(shares)) if fraction[j] > near and allocation[j] < maximum[j]]
    while left_over > 0:
        largest = max(fraction[j] for j in waiting)
        winner = min(j for j in waiting if largest - fraction[j] <= near)
        allocation[winner] += 1
        waiting.remove(winner)
        left_over -= 1
    return [int(a) for a in allocation]


def water_filling_plan(work, minimum, maximum, weight, slots, *, number=float):
    """FAIR (weight 1 for all) or WDEQ (the jobs' weights): a water-filling anew at every completion."""

    def layer(unfinished):
        jobs = sorted(unfinished)
        columns = ([column[j] for j in jobs] for column in (minimum, maximum, weight))
        return dict(zip(jobs, water_filling_allocation(*columns, slots), strict=True))

    return run_layers(range(len(work)), work, layer, number)
