"""Flows by brute force: schedules in whole slots and unit steps, and the min-cost flow as a linear program."""

from functools import cache
from itertools import product

import numpy as np


def best_unit_value(jobs, slots, paid, is_max, horizon):
    """Least objective over all schedules that change only at whole times.

    ``jobs``: per flow a list of (work, max_slots, parents by place), whole numbers; ``paid(flow, t)``
    is the penalty of a flow that ends at t. Every such schedule is a schedule, so no bound may exceed
    this value.
    """
    flat = [(f, i) for f, flow in enumerate(jobs) for i in range(len(flow))]
    place = {key: k for k, key in enumerate(flat)}
    work = tuple(jobs[f][i][0] for f, i in flat)
    maxima = [jobs[f][i][1] for f, i in flat]
    above = [[place[f, p] for p in jobs[f][i][2]] for f, i in flat]
    members = [[place[f, i] for i in range(len(flow))] for f, flow in enumerate(jobs)]
    worst = float("inf")

    def join(a, b):
        return max(a, b) if is_max else a + b

    @cache
    def best(left, t):
        if not any(left):
            return float("-inf") if is_max else 0.0
        if t >= horizon:
            return worst
        ranges = [
            range(min(maxima[k], left[k], slots) + 1)
            if all(left[p] == 0 for p in above[k])
            else (0,)
            for k in range(len(left))
        ]
        least = worst
        for given in product(*ranges):
            if not 0 < sum(given) <= slots:
                continue
            after = tuple(a - g for a, g in zip(left, given, strict=True))
            here = float("-inf") if is_max else 0.0
            for f, rows in enumerate(members):
                if any(left[k] for k in rows) and not any(after[k] for k in rows):
                    here = join(here, paid(f, t + 1))
            least = min(least, join(here, best(after, t + 1)))
        return least

    return best(work, 0)


def min_cost_flow_value(volume, room, cost):
    """The transportation problem min sum cost[j, t] x[j, t] as a linear program (HiGHS)."""
    from scipy.optimize import linprog

    flows, cells = cost.shape
    supply = np.kron(np.eye(flows), np.ones(cells))
    demand = np.kron(np.ones(flows), np.eye(cells))
    solved = linprog(cost.ravel(), A_ub=demand, b_ub=room, A_eq=supply, b_eq=volume, method="highs")
    assert solved.status == 0, solved.message
    return solved.fun
