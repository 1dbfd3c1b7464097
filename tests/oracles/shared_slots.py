"""Schedules of jobs whose speed-up is below linear, literal and quadratic.

Proves: what FIFO, FAIR, WDEQ and heSRPT do with such jobs, and the best that small instances allow.
How: at every completion slots are worked out anew from their definition, and every job runs at the
rate of the slots that it has; the best schedule is found by trying all allocations from completion
to completion, which any other schedule of whole slots that changes nowhere else is one of.
"""

from itertools import product
from math import floor, inf

from tests.oracles.packing import packing_layer, water_filling_allocation


def rate(rule, slots):
    """What so many slots do together; a rule is p or a list of rates."""
    if slots == 0:
        return 0.0
    return float(slots) ** rule if isinstance(rule, float) else rule[min(slots, len(rule)) - 1]


def run(work, rules, layer):
    """Completions from 0 on; ``layer(unfinished, left)`` gives the slots of those that are left."""
    left = [float(w) for w in work]
    completion = [0.0] * len(left)
    unfinished = [j for j, w in enumerate(left) if w > 0.0]
    now = 0.0
    while unfinished:
        slots = layer(unfinished, left)
        speed = {j: rate(rules[j], slots[j]) for j in unfinished}
        ends = {j: left[j] / speed[j] if speed[j] > 0.0 else inf for j in unfinished}
        span = min(ends.values())
        if span == inf:
            for j in unfinished:
                completion[j] = inf
            break
        now += span
        for j in list(unfinished):
            left[j] -= speed[j] * span
            if ends[j] <= span * (1 + 1e-12):
                completion[j] = now
                unfinished.remove(j)
    return completion


def by_policy(policy, work, rules, minimum, maximum, slots, *, arrival, weight):
    """Completions under ``fifo``, ``fair`` or ``wdeq``."""
    order = sorted(range(len(work)), key=lambda j: (arrival[j], j))

    def layer(unfinished, _):
        if policy == "fifo":
            return packing_layer([j for j in order if j in unfinished], minimum, maximum, slots)
        shares = weight if policy == "wdeq" else [1.0] * len(work)
        columns = ([column[j] for j in unfinished] for column in (minimum, maximum, shares))
        return dict(zip(unfinished, water_filling_allocation(*columns, slots), strict=True))

    return run(work, rules, layer)


def hesrpt_value(work, p, slots):
    """The least sum of completions without limits: Berg, Vesilo and Harchol-Balter 2020."""
    q = 1.0 / (1.0 - p)
    sizes = sorted(work, reverse=True)
    parts = ((k**q - (k - 1) ** q) ** (1.0 / q) for k in range(1, len(sizes) + 1))
    return sum(w * part for w, part in zip(sizes, parts, strict=True)) / float(slots) ** p


def best_value(work, rules, maximum, slots, cost):
    """The least ``cost(completion)`` over all allocations that change at completions only."""
    count = len(work)
    best = inf

    def go(left, completion, now):
        nonlocal best
        unfinished = [j for j in range(count) if left[j] > 0.0]
        if not unfinished:
            best = min(best, cost(completion))
            return
        most = [min(maximum[j], slots) if left[j] > 0.0 else 0 for j in range(count)]
        ranges = [range(m + 1) for m in most]
        for given in product(*ranges):
            if not 0 < sum(given) <= slots:
                continue
            speed = [rate(rules[j], given[j]) for j in range(count)]
            span = min(left[j] / speed[j] for j in unfinished if speed[j] > 0.0)
            after = [left[j] - speed[j] * span for j in range(count)]
            after = [0.0 if a <= 1e-9 * work[j] else a for j, a in enumerate(after)]
            ends = list(completion)
            for j in unfinished:
                if after[j] == 0.0:
                    ends[j] = now + span
            go(after, ends, now + span)

    go([float(w) for w in work], [0.0] * count, 0.0)
    return best


def makespan(work, p, slots):
    """When all jobs can have ended, without limits: they end together. By halving."""
    low, high = 0.0, sum(work)
    for _ in range(200):
        middle = (low + high) / 2
        if sum((w / middle) ** (1.0 / p) for w in work) > slots:
            low = middle
        else:
            high = middle
    return high


def whole_table(p, slots):
    """Rates of s^p as a list."""
    return [float(s) ** p for s in range(1, floor(slots) + 1)]
