"""The separable resource allocation problem, in three ways that must agree.

Proves: the least sum or maximum of F_j(s_j) with m_j <= s_j <= M_j and sum s_j <= S.
How: from a table F[j][s], s = 0 ... S, with F non-increasing in s: all allocations (tiny cases);
a naive dynamic program, O(J S^2), for any F; Fox's greedy for convex sums; "the next slot to the
currently worst" for the maximum. All return (value, allocation), or (inf, None) if the minima do
not fit. Ties go to the lower index.
"""

import math
from itertools import product

from .objectives import aggregate_of, job_data, parse, penalty


def moldable_table(work, slots, objective, *, now=0.0, **penalty_columns):
    """Aggregate and F[j][s] = penalty of job j on s slots from ``now`` on until it ends.

    Without slots a job with work never ends; one without work is complete at its arrival.
    """
    aggregate, kinds = parse(objective, len(work))
    table = []
    jobs = job_data(len(work), **penalty_columns)
    for w, kind, job in zip(work, kinds, jobs, strict=True):
        ends = [now + w / s if s > 0 else math.inf for s in range(slots + 1)]
        if w == 0:
            ends = [job["arrival"]] * (slots + 1)
        table.append([penalty(kind, end, **job) for end in ends])
    return aggregate, table


def speedup_completion(times, slots):
    """F(s) = min of F(p) over possible p <= s, inf if there is none (section 2.3); s = 0 ... S.

    ``times`` maps each possible number of slots p to F(p).
    """
    return [min((times[p] for p in times if p <= s), default=math.inf) for s in range(slots + 1)]


def ranges_of(minimum, maximum, slots):
    """The numbers of slots that each job may have."""
    return [range(m, min(M, slots) + 1) for m, M in zip(minimum, maximum, strict=True)]


def brute_force(table, minimum, maximum, slots, aggregate):
    """Try every allocation; the first best in lexicographic order."""
    best = (math.inf, None)
    for allocation in product(*ranges_of(minimum, maximum, slots)):
        if sum(allocation) <= slots:
            value = aggregate_of(aggregate, [F[s] for F, s in zip(table, allocation, strict=True)])
            if best[1] is None or value < best[0]:
                best = (value, list(allocation))
    return best


def dynamic_program(table, minimum, maximum, slots, aggregate):
    """Best value of the first jobs on at most s slots together, job by job."""
    best = [(0.0 if aggregate == "sum" else -math.inf, [])] * (slots + 1)
    for F, choices in zip(table, ranges_of(minimum, maximum, slots), strict=True):
        following = []
        for s in range(slots + 1):
            least = (math.inf, None)
            for own in choices:
                if own > s or best[s - own][1] is None:
                    continue
                before, allocation = best[s - own]
                value = before + F[own] if aggregate == "sum" else max(before, F[own])
                if least[1] is None or value < least[0]:
                    least = (value, [*allocation, own])
            following.append(least)
        best = following
    return best[slots]


def fox_greedy(table, minimum, maximum, slots):
    """Least sum of convex F: from the minima, each slot to where the sum falls most.

    Stops when no slot helps, so slots may be left. A job that leaves inf has an infinite gain.
    """
    allocation = list(minimum)
    if sum(allocation) > slots:
        return math.inf, None
    for _ in range(slots - sum(allocation)):
        gains = []
        for j, (F, s) in enumerate(zip(table, allocation, strict=True)):
            if s < min(maximum[j], slots) and F[s + 1] < F[s]:
                gains.append((F[s] - F[s + 1], -j))
        if not gains:
            break
        allocation[-max(gains)[1]] += 1
    return aggregate_of("sum", [F[s] for F, s in zip(table, allocation, strict=True)]), allocation


def worst_first(table, minimum, maximum, slots):
    """Least maximum of any non-increasing F: each slot to the job that is the worst now.

    Nothing else can lower the maximum. Stops when the worst job is at its own maximum.
    """
    allocation = list(minimum)
    if sum(allocation) > slots:
        return math.inf, None
    values = [F[s] for F, s in zip(table, allocation, strict=True)]
    for _ in range(slots - sum(allocation)):
        worst = values.index(max(values))
        if allocation[worst] == min(maximum[worst], slots):
            break
        allocation[worst] += 1
        values[worst] = table[worst][allocation[worst]]
    return max(values), allocation
