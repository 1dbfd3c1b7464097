"""The best loop that decides every P seconds and holds its slots, by dynamic programming (four jobs or so).

Proves: no integer allocations held for a period each have a smaller value.
How: a state is the number of the period and, job by job, the slot-periods that it has had. In every
state each allocation between the minima and the maxima that leaves no slot free which somebody could
take is tried; a job ends within the period if its slots do what is left of its work by then, and its
slots idle until the next one. Slots that stay free help nobody: whoever has had more ends no later.

``loop_value`` walks through allocations that somebody else decided on, in the same model.
"""

import math
from functools import cache
from itertools import product
from typing import NamedTuple

from .objectives import aggregate_of, job_data, parse, penalty

_SAME = 1e-12
"""Of a job's work: less than that is nothing left."""


class PeriodicOptimum(NamedTuple):
    """Least value, and slots of every job in the periods 0, 1, ... of a loop that attains it."""

    value: float
    allocations: list


def _allocations(lowest, highest, slots):
    """All that leave no slot free which a job could take."""
    most = min(slots, sum(highest))
    ranges = [range(low, high + 1) for low, high in zip(lowest, highest, strict=True)]
    for head in product(*ranges[:-1]):
        last = most - sum(head)
        if lowest[-1] <= last <= highest[-1]:
            yield (*head, last)


def periodic_optimum(
    work, maximum, slots, period, objective, *, minimum=None, now=0.0, **penalty_columns
):
    """Least value of all loops from ``now`` on; minima, which fit together, hold while there is work."""
    aggregate, kinds = parse(objective, len(work))
    jobs = job_data(len(work), **penalty_columns)
    minimum = [0] * len(work) if minimum is None else minimum
    assert sum(minimum) <= slots
    idle = -math.inf if aggregate == "max" else 0.0

    def paid(j, time):
        return penalty(kinds[j], time, **jobs[j])

    @cache
    def best(number, had):
        left = [w - b * period for w, b in zip(work, had, strict=True)]
        open_ = [j for j, w in enumerate(work) if left[j] > _SAME * w]
        if not open_:
            return idle, None
        lowest = [minimum[j] if j in open_ else 0 for j in range(len(work))]
        highest = [min(maximum[j], slots) if j in open_ else 0 for j in range(len(work))]
        least = (math.inf, None)
        for given in _allocations(lowest, highest, slots):
            ended = [j for j in open_ if left[j] <= given[j] * period + _SAME * work[j]]
            costs = [paid(j, now + number * period + left[j] / given[j]) for j in ended]
            after = tuple(
                math.ceil(work[j] / period) if j in ended else had[j] + given[j]
                for j in range(len(work))
            )
            costs.append(best(number + 1, after)[0])
            value = aggregate_of(aggregate, costs)
            if least[1] is None or value < least[0]:
                least = value, (given, after)
        return least

    empty = [paid(j, jobs[j]["arrival"]) for j, w in enumerate(work) if w == 0.0]
    had = tuple(0 for _ in work)
    value = aggregate_of(aggregate, [*empty, best(0, had)[0]])
    allocations = []
    while (step := best(len(allocations), had)[1]) is not None:
        given, had = step
        allocations.append(list(given))
    return PeriodicOptimum(value, allocations)


def loop_value(work, allocations, period, objective, *, now=0.0, **penalty_columns):
    """What a loop is worth whose slots in the periods 0, 1, ... are these."""
    aggregate, kinds = parse(objective, len(work))
    jobs = job_data(len(work), **penalty_columns)
    left = list(work)
    ends = [jobs[j]["arrival"] if w == 0.0 else math.inf for j, w in enumerate(work)]
    for number, given in enumerate(allocations):
        for j, slots in enumerate(given):
            if slots == 0 or ends[j] < math.inf:
                continue
            if left[j] <= slots * period + _SAME * work[j]:
                ends[j] = now + number * period + left[j] / slots
            left[j] -= slots * period
    return aggregate_of(
        aggregate, [penalty(k, end, **job) for k, end, job in zip(kinds, ends, jobs, strict=True)]
    )
