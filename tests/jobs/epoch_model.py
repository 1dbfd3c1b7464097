"""What a decision of the epoch object must be: a simple model of it, and checks."""

import math

import numpy as np
import pytest

from tests.oracles.packing import scale_minima, water_filling_allocation
from tests.oracles.validate import violations
from tests.strategies import limits, literal_value, pieces_of

LINEAR = ("sum:response", "sum:completion", "sum:stretch", "sum:lateness")
INF = math.inf
LEAST_WORK = 1e-12


class Row:
    """A job as the model sees it."""

    def __init__(self, work, low, high, weight, arrival, deadline, size, sla):
        self.work, self.low, self.high, self.weight = work, low, high, weight
        self.arrival, self.deadline, self.size, self.sla = arrival, deadline, size, sla
        self.done, self.since = max(0.0, size - work), -INF
        self.tell(work)

    def serve(self, now, given):
        """Count what it did until now, with so many slots."""
        if given:
            self.done += (now - self.since) * given
        self.since = now

    def tell(self, left):
        """A job that outlives its estimate has a quarter of what it did left."""
        believed = 0.25 * max(self.done, self.size)
        self.outlived = left == 0 and believed >= LEAST_WORK
        self.work = believed if self.outlived else left


def rows_of(jobs):
    columns = (jobs.work, jobs.min_slots, jobs.max_slots, jobs.weight, jobs.arrival, jobs.deadline)
    lists = [column.tolist() for column in (*columns, jobs.size)]
    return [Row(*values) for values in zip(*lists, jobs.sla, strict=True)]


def least_and_most(rows, slots, policy, min_mode):
    """What each job is guaranteed (a gang: needs) and may have."""
    low = [r.low if policy != "fifo" else 0 for r in rows]
    if min_mode == "guarantee":
        low = scale_minima([1.0] * len(rows), low, slots)
    # Who has nothing left keeps what it runs on until it is removed.
    return low, [min(r.high if r.work > 0 else max(1, r.low), slots) for r in rows]


def urgency(row, objective, policy):
    """Small is urgent: arrival for FIFO, otherwise Smith's ratio; before all, who has nothing left."""
    if row.work == 0:
        return -INF
    if policy == "fifo":
        return row.arrival
    size = row.size if objective.endswith("stretch") else 1.0
    return row.work * size / row.weight if row.weight > 0 and size > 0 else INF


def catch_up(work, ratio, most, slots):
    """Keys of many jobs: Smith's ratio, less for those that take long alone beside half of all work."""
    beside = 2.0 ** (np.round(np.log2(0.5 * np.sum(work) / slots) * 4.0) / 4.0)
    return np.where(work > 0, ratio / (beside + work / np.minimum(most, slots)), 0.0)


def catch_up_of(rows, objective, slots):
    work = np.array([row.work for row in rows])
    ratio = np.array([urgency(row, objective, "flex") for row in rows])
    return catch_up(work, ratio, np.array([row.high for row in rows]), slots)


def by_water_filling(rows, slots, policy, min_mode):
    """FAIR's or WDEQ's slots; gangs are admitted by row while they fit. First who has nothing left."""
    low, high = least_and_most(rows, slots, policy, min_mode)
    given = [0] * len(rows)
    gang = min_mode == "gang"
    free = slots if gang else slots - sum(low)
    for j, row in enumerate(rows):
        if row.work > 0 or (gang and max(1, low[j]) > free):
            continue
        base = 0 if gang else low[j]
        given[j] = base + min(high[j] - base, free)
        free -= given[j] - base
    slots -= sum(given)
    high = [min(most, slots) for most in high]
    running, left = [], slots
    for j, row in enumerate(rows):
        need = max(1, low[j]) if min_mode == "gang" else 0
        if row.work > 0 and need <= left:
            left -= need
            running.append(j)
    shares = water_filling_allocation(
        [low[j] for j in running],
        [high[j] for j in running],
        [rows[j].weight if policy == "wdeq" else 1.0 for j in running],
        slots,
    )
    for j, share in zip(running, shares, strict=True):
        given[j] = share
    return given


def check_slots_given(given, rows, slots, policy, min_mode):
    """Capacity, limits, and no slot idle that somebody could use."""
    low, high = least_and_most(rows, slots, policy, min_mode)
    assert sum(given) <= slots
    for j, got in enumerate(given):
        assert got <= high[j]
        assert got >= low[j] or (min_mode == "gang" and got == 0)
    if min_mode == "guarantee" or policy == "fifo":
        assert sum(given) == min(slots, sum(high))


def check_priority(given, keys, low, high):
    """Whoever has more than its minimum is at least as urgent as whoever could use more."""
    winners = [k for k, got, m in zip(keys, given, low, strict=True) if got > m]
    losers = [k for k, got, M in zip(keys, given, high, strict=True) if got < M]
    if winners and losers:
        assert max(winners) <= min(losers) * (1 + 1e-12) or max(winners) == min(losers)
    between = [j for j, got in enumerate(given) if low[j] < got < high[j]]
    assert len(between) <= 1


def check_plan(decision, epoch, rows, objective, policy, min_mode):
    """The plan behind a decision starts with it, and is a valid plan of the epoch's jobs."""
    plan = decision.plan()
    assert plan.slots.tolist() == decision.slots.tolist()
    plan.validate()
    jobs = plan.jobs
    assert jobs.name == tuple(str(job) for job in decision.ids.tolist())
    for name, want in {
        "work": "work",
        "size": "size",
        "arrival": "arrival",
        "weight": "weight",
        "deadline": "deadline",
        "min_slots": "low",
        "max_slots": "high",
    }.items():
        assert getattr(jobs, name).tolist() == [getattr(row, want) for row in rows], name
    assert jobs.sla == [row.sla for row in rows]
    assert (plan.capacity, plan.now) == (epoch.slots, decision.now)
    assert (plan.policy, plan.objective, plan.min_mode) == (policy, objective, min_mode)
    assert plan.lower_bound <= plan.value
    assert plan.value == pytest.approx(
        literal_value(objective, plan.completion, jobs), rel=1e-9, abs=1e-9
    )
    low, high = limits(jobs, epoch.slots, policy=policy, min_mode=min_mode)
    runs = np.isfinite(plan.completion)
    # Ended already, or never going to end: nothing of it may be in the schedule.
    has_work = (jobs.work > 0) & runs
    found = violations(
        pieces_of(plan),
        np.where(has_work, jobs.work, 0.0),
        low,
        high,
        epoch.slots,
        completion=np.where(has_work, plan.completion, 0.0),
        now=decision.now,
        min_mode="none" if policy == "fifo" else min_mode,
    )
    assert found == []
    return plan
