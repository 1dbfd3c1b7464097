"""The true optimum over all malleable schedules, by linear programs (for about five jobs).

Proves: no schedule at all has a smaller value, be it a packing or not; slots are fluid here, which
changes nothing as slots can be shared in time.
How: for every order of completions one linear program, whose interval i ends with the i-th
completion. Its variables are the interval lengths L_i >= 0 and the work y_ji of job j in interval
i, with m_j L_i <= y_ji <= M_j L_i up to the job's completion, y_ji = 0 after it, sum_j y_ji <=
S L_i, sum_i y_ji = W_j. Intervals may have length 0, so ties need no care. Penalties with steps
(tardy, sla) are enumerated: a job pays one of its levels, and must then end in time for it.

``max_optimum_lp`` is for maxima without minima: a level is possible if and only if all jobs can
end when their penalties reach it, which is one linear program over the intervals between those
deadlines; the least level is found by bisection.
"""

import math
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from .objectives import aggregate_of, job_data, latest_time, parse, penalty, with_slack

STEP_KINDS = ("tardy", "sla")
EXACT = {
    "presolve": False,
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
}


class Optimum(NamedTuple):
    """Least value; absolute times by which the jobs are done in a schedule that attains it; its
    pieces (job, start, end, fluid slots). A job whose penalty allows may be done earlier.
    """

    value: float
    completion: list
    pieces: list


class Instance(NamedTuple):
    """Jobs with work only, and the kind and the keyword arguments of each one's penalty."""

    work: list
    minimum: list
    maximum: list
    slots: int
    now: float
    aggregate: str
    kinds: list
    jobs: list


def instance_of(work, minimum, maximum, slots, objective, *, now, **penalty_columns):
    """The instance without the jobs that have no work, the indices kept, and those jobs' cost."""
    aggregate, kinds = parse(objective, len(work))
    jobs = job_data(len(work), **penalty_columns)
    kept = [j for j, w in enumerate(work) if w > 0]
    instance = Instance(
        [float(work[j]) for j in kept],
        [int(minimum[j]) for j in kept],
        [min(int(maximum[j]), slots) for j in kept],
        slots,
        float(now),
        aggregate,
        [kinds[j] for j in kept],
        [jobs[j] for j in kept],
    )
    assert sum(instance.minimum) <= slots, "scale the minima first"
    fixed = [penalty(kinds[j], jobs[j]["arrival"], **jobs[j]) for j, w in enumerate(work) if w == 0]
    return instance, kept, fixed


def straight_line(kind, now, job):
    """Penalty of a kind without steps at ``now``, and its slope; for tardiness before the kink."""
    kind = "lateness" if kind == "tardiness" else kind
    slope = job["weight"]
    if kind == "stretch":
        slope = 0.0 if job["size"] == 0 else slope / job["size"]
    return penalty(kind, now, **job), slope


def solve_order(order, instance, floor, latest):
    """Best schedule whose jobs complete in ``order``, job j by ``latest[j]``; None if none does.

    ``floor`` is what the penalties with steps come to, summed or at most. Variables: lengths L,
    works y, one z per job that is no less than its penalty, and top, no less than any z.
    """
    _, minimum, maximum, slots, now, aggregate, kinds, jobs = instance
    count = len(order)
    y = {}
    for place, job in enumerate(order):
        for i in range(place + 1):
            y[job, i] = count + len(y)
    z = {job: count + len(y) + place for place, job in enumerate(order)}
    top = count + len(y) + count
    at_most, at_most_bound, equal, equal_bound = [], [], [], []

    def add_at_most(coefficients, bound):
        at_most.append(np.zeros(top + 1))
        for column, coefficient in coefficients.items():
            at_most[-1][column] = coefficient
        at_most_bound.append(bound)

    for (job, i), column in y.items():
        add_at_most({column: 1.0, i: -maximum[job]}, 0.0)
        if minimum[job] > 0:
            add_at_most({column: -1.0, i: minimum[job]}, 0.0)
    for i in range(count):
        add_at_most({i: -slots} | {y[job, i]: 1.0 for job in order[i:]}, 0.0)

    bounds = [(0.0, None)] * top + [(floor if aggregate == "max" else None, None)]
    for place, job in enumerate(order):
        kind = kinds[job]
        equal.append(np.zeros(top + 1))
        equal[-1][[y[job, i] for i in range(place + 1)]] = 1.0
        equal_bound.append(instance.work[job])
        if latest[job] < math.inf:
            add_at_most(dict.fromkeys(range(place + 1), 1.0), latest[job] - now)
        if kind in STEP_KINDS:
            continue
        add_at_most({z[job]: 1.0, top: -1.0}, 0.0)
        if kind == "tardiness" and math.isinf(jobs[job]["deadline"]):
            continue
        start, slope = straight_line(kind, now, jobs[job])
        add_at_most(dict.fromkeys(range(place + 1), slope) | {z[job]: -1.0}, -start)
        if kind != "tardiness":
            bounds[z[job]] = (None, None)

    cost = np.zeros(top + 1)
    cost[top if aggregate == "max" else list(z.values())] = 1.0
    result = linprog(
        cost,
        A_ub=np.array(at_most),
        b_ub=at_most_bound,
        A_eq=np.array(equal),
        b_eq=equal_bound,
        bounds=bounds,
        method="highs",
        options=EXACT,
    )
    if result.status == 2:
        return None
    assert result.status == 0, result.message
    value = result.fun if aggregate == "max" else result.fun + floor
    ends = now + np.cumsum(result.x[:count])
    pieces = [
        (job, ends[i] - result.x[i], ends[i], result.x[column] / result.x[i])
        for (job, i), column in y.items()
        if result.x[i] > 0 and result.x[column] > 0
    ]
    return value, dict(zip(order, ends, strict=True)), pieces


def levels(kind, job):
    """What a job can pay in steps, and until when: (penalty, latest completion)."""
    if kind not in STEP_KINDS:
        return [(None, math.inf)]
    steps = [(job["deadline"], 1.0)] if kind == "tardy" else job["sla"]
    prices = [0.0, *(job["weight"] * p for _, p in steps)]
    # Half of the slack that a deadline has, so that rounding leaves the completions in time.
    times = [*((t + with_slack(t)) / 2 if t < math.inf else t for t, _ in steps), math.inf]
    return list(zip(prices, times, strict=True))


def plainly_impossible(instance, latest):
    """Whether a job, or the jobs due by some time together, would need more than all slots."""
    tolerance = 1 + 1e-9
    for job, time in enumerate(latest):
        length = (time - instance.now) * tolerance
        due = [j for j, other in enumerate(latest) if other <= time]
        if length < 0 or instance.work[job] > instance.maximum[job] * length:
            return True
        if sum(instance.work[j] for j in due) > instance.slots * length:
            return True
    return False


def malleable_optimum(work, minimum, maximum, slots, objective, *, now=0.0, **penalty_columns):
    """Least value of "sum:KIND" / "max:KIND" (or one text per job); minima must fit.

    ``penalty_columns`` are arrival, size, weight, deadline, sla. A job without work is complete at
    its arrival. Work should be of order one to a thousand, for the solver's tolerances.
    """
    instance, kept, fixed = instance_of(
        work, minimum, maximum, slots, objective, now=now, **penalty_columns
    )
    aggregate, kinds, jobs = instance.aggregate, instance.kinds, instance.jobs

    def total(prices):
        prices = [*fixed, *(p for p in prices if p is not None)]
        if not prices:
            return 0.0 if aggregate == "sum" else -math.inf
        return aggregate_of(aggregate, prices)

    choices = [
        tuple(zip(*choice, strict=True))
        for choice in product(*(levels(k, job) for k, job in zip(kinds, jobs, strict=True)))
    ]
    if not kept:
        return Optimum(aggregate_of(aggregate, fixed), [], [])
    choices.sort(key=lambda choice: total(choice[0]))
    earliest = [now + w / m for w, m in zip(instance.work, instance.maximum, strict=True)]
    best = (math.inf, None, None)
    failed = []
    for prices, latest in choices:
        # The least conceivable with these steps never falls from one choice to the next.
        floor = total(prices)
        least = total(
            penalty(k, t, **job) if p is None else p
            for p, k, t, job in zip(prices, kinds, earliest, jobs, strict=True)
        )
        if least >= best[0]:
            break
        tighter = any(all(a <= b for a, b in zip(latest, other, strict=True)) for other in failed)
        if tighter or plainly_impossible(instance, latest):
            continue
        found = False
        for order in permutations(range(len(kept))):
            solution = solve_order(order, instance, floor, latest)
            found = found or solution is not None
            if solution is not None and solution[0] < best[0]:
                best = solution
                if best[0] <= least:
                    break
        if not found:
            failed.append(latest)
    value, ends, pieces = best
    completion = [job["arrival"] for job in job_data(len(work), **penalty_columns)]
    for k, j in enumerate(kept):
        completion[j] = float(ends[k])
    return Optimum(float(value), completion, [(kept[k], *rest) for k, *rest in pieces])


def deadlines_possible(work, maximum, slots, latest, now):
    """Whether every job can end by its time when there are no minima.

    One linear program: the most work that fits into the intervals between the sorted deadlines,
    as a fraction of all work.
    """
    due = [j for j, time in enumerate(latest) if time < math.inf]
    if not due:
        return True
    if min(latest) < now:
        return False
    times = sorted({latest[j] for j in due})
    lengths = np.diff([now, *times])
    needed = sum(work[j] for j in due)
    y = {}
    for j in due:
        for i, end in enumerate(times):
            if end <= latest[j]:
                y[j, i] = len(y)
    bounds = [(0.0, maximum[j] * lengths[i] / needed) for j, i in y]
    rows, limits = [], []
    for i, length in enumerate(lengths):
        rows.append([float(at == i) for _, at in y])
        limits.append(slots * length / needed)
    for j in due:
        rows.append([float(job == j) for job, _ in y])
        limits.append(work[j] / needed)
    result = linprog(
        -np.ones(len(y)), A_ub=rows, b_ub=limits, bounds=bounds, method="highs", options=EXACT
    )
    assert result.status == 0, result.message
    return -result.fun >= 1.0 - 1e-11


def max_optimum_lp(work, maximum, slots, objective, *, now=0.0, **penalty_columns):
    """Least value of "max:KIND" (or one text per job) with all minima 0, for about ten jobs.

    The result is an attained level within 1e-10 of the least one, relative to the range searched.
    """
    instance, kept, fixed = instance_of(
        work, [0] * len(work), maximum, slots, objective, now=now, **penalty_columns
    )
    assert instance.aggregate == "max"
    if not kept:
        return aggregate_of("max", fixed)
    pairs = list(zip(instance.kinds, instance.jobs, strict=True))

    def possible(level):
        latest = [latest_time(kind, level, **job) for kind, job in pairs]
        return deadlines_possible(instance.work, instance.maximum, slots, latest, instance.now)

    alone = [w / m for w, m in zip(instance.work, instance.maximum, strict=True)]
    low = max(penalty(kind, now + t, **job) for (kind, job), t in zip(pairs, alone, strict=True))
    high = max(penalty(kind, now + sum(alone), **job) for kind, job in pairs)  # one after another
    low, high = max([low, *fixed]), max([high, *fixed])
    if possible(low):
        return low
    tolerance = 1e-10 * (high - low)
    while high - low > tolerance:
        middle = (low + high) / 2
        if possible(middle):
            high = middle
        else:
            low = middle
    return high
