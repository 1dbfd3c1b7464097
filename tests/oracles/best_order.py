"""The best value over all packing orders, for several objectives in one search.

Proves: no priority order gives the packing scheme a smaller value. (A malleable schedule may:
see ``malleable_optimum``.)
How: depth first through simulated time. An interval gives every unfinished job its minimum and
then the slack to the jobs placed so far, in order. Only when slack is left over and a job without
a place could use it does the search branch, on which job is placed next; orders that agree so far
share all that came before. A job that finishes on its minimum never needs a place, nor does one
whose minimum is its maximum. Once the rest fits at its maxima it stays so, and no order matters.
A branch is cut when no objective can improve: penalties are non-decreasing in time, so those of
the finished jobs together with those of the others at their earliest conceivable completions are a
bound. Conceivable is: at its maximum from now on; and, for the last of the others, all slots busy
until then. ``prune=False`` leaves the cut out.
"""

import math
from typing import NamedTuple

import numba
import numpy as np

from .objectives import KINDS, job_data, parse

RESPONSE, COMPLETION, STRETCH, TARDY, TARDINESS, LATENESS, SLA = range(len(KINDS))


class Best(NamedTuple):
    """Per objective the least value and an order that attains it; nodes visited by the search."""

    value: np.ndarray
    order: np.ndarray
    nodes: int


class Sizes(NamedTuple):
    """What the simulation needs: slots between low and high while a job has work."""

    work: np.ndarray
    low: np.ndarray
    high: np.ndarray
    slots: int
    now: float


class Penalties(NamedTuple):
    """What the objectives need; ``kind`` has a row per objective, steps are one list per job."""

    kind: np.ndarray
    is_max: np.ndarray
    arrival: np.ndarray
    size: np.ndarray
    weight: np.ndarray
    deadline: np.ndarray
    sla_row: np.ndarray
    sla_time: np.ndarray
    sla_penalty: np.ndarray


@numba.njit(cache=True)
def _meets(time, deadline):
    return time <= deadline + 1e-9 * max(1.0, abs(deadline))


@numba.njit(cache=True)
def _add(is_max, value, more):
    return max(value, more) if is_max else value + more


@numba.njit(cache=True)
def _search(sizes, data, prune, best, best_order):
    """Fill ``best`` and ``best_order`` and return the number of nodes."""
    work, low, high, slots, now = sizes
    kinds, is_max, arrival, size, weight, deadline, sla_row, sla_time, sla_penalty = data
    jobs, goals = len(work), len(is_max)

    # One row per depth of branching; row d is the state of the node at depth d.
    remaining = np.zeros((jobs + 1, jobs))
    time = np.zeros(jobs + 1)
    value = np.zeros((jobs + 1, goals))
    place = np.full((jobs + 1, jobs), -1)  # the order as far as it is decided
    places = np.zeros(jobs + 1, np.int64)
    candidates = np.zeros((jobs + 1, jobs), np.int64)
    width = np.zeros(jobs + 1, np.int64)  # number of candidates
    tried = np.zeros(jobs + 1, np.int64)
    slots_of = np.zeros(jobs, np.int64)

    def penalty_of(goal, j, at):
        kind = kinds[goal, j]
        if weight[j] == 0.0:
            return 0.0
        if kind == RESPONSE:
            return weight[j] * (at - arrival[j])
        if kind == COMPLETION:
            return weight[j] * at
        if kind == STRETCH:
            return 0.0 if size[j] == 0.0 else weight[j] * (at - arrival[j]) / size[j]
        if kind == SLA:
            charged = 0.0
            for k in range(sla_row[j], sla_row[j + 1]):
                if not _meets(at, sla_time[k]):
                    charged = sla_penalty[k]
            return weight[j] * charged
        if kind == LATENESS:
            return weight[j] * (at - deadline[j])
        if kind == TARDINESS:
            return 0.0 if np.isinf(deadline[j]) else weight[j] * max(0.0, at - deadline[j])
        return 0.0 if _meets(at, deadline[j]) else weight[j]

    def cannot_improve(d):
        busy = time[d]
        for j in range(jobs):
            busy += remaining[d, j] / slots
        for goal in range(goals):
            bound = value[d, goal]
            last = np.inf  # the least that the last job adds by ending when all work can be done
            for j in range(jobs):
                if remaining[d, j] > 0:
                    early = time[d] + remaining[d, j] / high[j]
                    penalty = penalty_of(goal, j, early)
                    late = penalty_of(goal, j, max(early, busy))
                    last = min(last, late if is_max[goal] else late - penalty)
                    bound = _add(is_max[goal], bound, penalty)
            if last < np.inf:
                bound = _add(is_max[goal], bound, last)
            if bound < best[goal]:
                return False
        return True

    def advance(d):
        """Run row d until it must branch (True) or all is done (False)."""
        while True:
            slack = slots
            wanted = 0
            for j in range(jobs):
                slots_of[j] = low[j] if remaining[d, j] > 0 else 0
                slack -= slots_of[j]
                if remaining[d, j] > 0:
                    wanted += high[j] - low[j]
            everyone = wanted <= slack
            for k in range(places[d]):
                j = place[d, k]
                if remaining[d, j] > 0:
                    extra = min(slack, high[j] - low[j])
                    slots_of[j] += extra
                    slack -= extra
            if everyone:
                for j in range(jobs):
                    if remaining[d, j] > 0:
                        slots_of[j] = high[j]
            elif slack > 0:
                return True
            length = np.inf
            for j in range(jobs):
                if slots_of[j] > 0:
                    length = min(length, remaining[d, j] / slots_of[j])
            if length == np.inf:
                return False
            time[d] += length
            for j in range(jobs):
                if slots_of[j] > 0:
                    remaining[d, j] -= slots_of[j] * length
                    if remaining[d, j] <= 1e-13 * work[j]:  # rounding
                        remaining[d, j] = 0.0
                        for goal in range(goals):
                            penalty = penalty_of(goal, j, time[d])
                            value[d, goal] = _add(is_max[goal], value[d, goal], penalty)

    def list_candidates(d):
        width[d] = 0
        tried[d] = 0
        for j in range(jobs):
            placed = False
            for k in range(places[d]):
                placed = placed or place[d, k] == j
            if remaining[d, j] > 0 and high[j] > low[j] and not placed:
                candidates[d, width[d]] = j
                width[d] += 1

    def record(d):
        for goal in range(goals):
            if value[d, goal] < best[goal]:
                best[goal] = value[d, goal]
                best_order[goal] = place[d]
                best_order[goal, places[d] :] = -1

    remaining[0] = work
    time[0] = now
    for goal in range(goals):
        value[0, goal] = -np.inf if is_max[goal] else 0.0
        for j in range(jobs):
            if work[j] == 0:
                penalty = penalty_of(goal, j, arrival[j])
                value[0, goal] = _add(is_max[goal], value[0, goal], penalty)
    nodes = 1
    if not advance(0):
        record(0)
        return nodes
    list_candidates(0)
    d = 0
    while d >= 0:
        if tried[d] == width[d]:
            d -= 1
            continue
        nodes += 1
        remaining[d + 1] = remaining[d]
        time[d + 1] = time[d]
        value[d + 1] = value[d]
        place[d + 1] = place[d]
        place[d + 1, places[d]] = candidates[d, tried[d]]
        places[d + 1] = places[d] + 1
        tried[d] += 1
        if advance(d + 1):
            if not (prune and cannot_improve(d + 1)):
                d += 1
                list_candidates(d)
        else:
            record(d + 1)
    return nodes


def best_order(
    work,
    minimum,
    maximum,
    slots,
    objectives,
    *,
    now=0.0,
    arrival=None,
    size=None,
    weight=None,
    deadline=None,
    sla=None,
    prune=True,
):
    """Least value over all orders for each of ``objectives``; minima must fit.

    An objective is "sum:KIND", "max:KIND" or a sequence of such texts, one per job. A job without
    work is complete at its arrival. Returns ``Best``.
    """
    count = len(work)
    assert count > 0
    work = np.asarray(work, float)
    low = np.where(work > 0, np.asarray(minimum, np.int64), 0)
    high = np.minimum(np.asarray(maximum, np.int64), slots)
    assert low.sum() <= slots, "scale the minima first"
    jobs = job_data(count, arrival=arrival, size=size, weight=weight, deadline=deadline, sla=sla)
    parsed = [parse(objective, count) for objective in objectives]
    kind = np.array([[KINDS.index(k) for k in kinds] for _, kinds in parsed], np.int64)
    is_max = np.array([aggregate == "max" for aggregate, _ in parsed])
    names = ("arrival", "size", "weight", "deadline")
    columns = [np.array([job[name] for job in jobs], float) for name in names]
    assert not np.any((kind == LATENESS) & np.isinf(columns[3])), "lateness needs a deadline"
    steps = [list(job["sla"]) for job in jobs]
    columns.append(np.cumsum([0, *map(len, steps)], dtype=np.int64))
    columns.append(np.array([t for row in steps for t, _ in row], float))
    columns.append(np.array([p for row in steps for _, p in row], float))
    sizes = Sizes(work, low, high, int(slots), float(now))
    value = np.full(len(parsed), math.inf)
    order = np.full((len(parsed), count), -1)
    nodes = 0
    # The cut is sharpest for one objective at a time; without it one search serves all.
    goals = range(len(parsed))
    for group in [slice(g, g + 1) for g in goals] if prune else [slice(None)]:
        data = Penalties(kind[group], is_max[group], *columns)
        nodes += _search(sizes, data, prune, value[group], order[group])
    for row in order:
        placed = row[row >= 0]
        row[len(placed) :] = [j for j in range(count) if j not in placed]
    return Best(value, order, nodes)
