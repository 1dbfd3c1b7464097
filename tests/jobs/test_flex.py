"""FLEX: orders, search, and water-filling for max objectives."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import malleable as mb
from tests.full import part
from tests.oracles import packing as oracle
from tests.oracles.best_order import best_order
from tests.strategies import (
    KINDS,
    OBJECTIVES,
    cases,
    limits,
    literal_value,
    penalty_columns,
    random_jobs,
)

# Sums of the others may be packed for deadlines instead.
LINEAR = ["response", "completion", "stretch", "lateness"]


def packed(plan, scheme=oracle.packing):
    """Completions of the plan's own order by the oracle."""
    low, high = limits(plan.jobs, plan.capacity, min_mode=plan.min_mode)
    times = scheme(plan.order.tolist(), plan.jobs.work, low, high, plan.capacity).completion
    return [
        plan.now + t if w > 0 else a
        for t, w, a in zip(times, plan.jobs.work, plan.jobs.arrival, strict=True)
    ]


@settings(max_examples=part(200, 50))
@given(cases(extreme=False, deadlines=True), st.sampled_from(LINEAR))
def test_a_sum_is_the_packing_of_its_order(case, kind):
    jobs, slots, now = case
    plan = mb.plan(jobs, slots, f"sum:{kind}", effort=30, now=now)
    assert plan.completion.tolist() == pytest.approx(packed(plan), rel=1e-9, abs=1e-9)


def test_gangs_are_the_gang_packing_of_the_order():
    rng = np.random.default_rng(80)
    for objective in OBJECTIVES:
        for _ in range(4):
            jobs = random_jobs(rng, 8, 11, minima="large", idle=0.1)
            plan = mb.plan(jobs, 11, objective, effort=30, min_mode="gang")
            assert plan.completion.tolist() == pytest.approx(packed(plan, oracle.gang_packing))


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_of_all_orders_is_found_for_six_jobs(kind):
    rng = np.random.default_rng([81, len(kind)])
    found = []
    for maxima in ("any", "tight", "all"):
        for _ in range(12):
            slots = int(rng.integers(2, 20))
            jobs = random_jobs(rng, 6, slots, maxima=maxima, steps=3)
            low, high = limits(jobs, slots)
            best = best_order(
                jobs.work, low, high, slots, [f"sum:{kind}"], **penalty_columns(jobs)
            ).value[0]
            value = mb.plan(jobs, slots, f"sum:{kind}").value
            scale = max(abs(best), 1e-3)
            if kind in LINEAR:
                assert value >= best - 1e-9 * scale
            found.append(value <= best + 1e-9 * scale)
    assert np.mean(found) > 0.94


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_best_of_all_orders_is_found_for_five_gangs(objective):
    rng = np.random.default_rng([82, len(objective)])
    found = []
    for _ in range(15):
        slots = int(rng.integers(3, 12))
        jobs = random_jobs(rng, 5, slots, minima="large", steps=3)
        low, high = limits(jobs, slots, min_mode="gang")
        best = min(
            literal_value(
                objective, oracle.gang_packing(order, jobs.work, low, high, slots).completion, jobs
            )
            for order in permutations(range(5))
        )
        value = mb.plan(jobs, slots, objective, min_mode="gang").value
        scale = max(abs(best), 1e-3)
        assert value >= best - 1e-9 * scale
        found.append(value <= best + 1e-9 * scale)
    assert np.mean(found) > 0.9


def test_maxima_are_never_worse_than_any_order():
    rng = np.random.default_rng(83)
    for maxima in ("any", "tight"):
        for _ in range(10):
            slots = int(rng.integers(2, 12))
            jobs = random_jobs(rng, 6, slots, maxima=maxima, steps=3)
            low, high = limits(jobs, slots)
            names = [f"max:{kind}" for kind in KINDS]
            best = best_order(jobs.work, low, high, slots, names, **penalty_columns(jobs)).value
            for objective, value in zip(names, best.tolist(), strict=True):
                plan = mb.plan(jobs, slots, objective)
                assert plan.value <= value + 1e-8 * max(1.0, abs(value))


def test_deadlines_that_can_be_met_are_met():
    """Deadlines taken from a schedule, to the last digit: no job is late."""
    rng = np.random.default_rng(84)
    for _ in range(60):
        slots = int(rng.integers(2, 20))
        count = int(rng.integers(1, 12))
        jobs = random_jobs(rng, count, slots, maxima="tight")
        low, high = limits(jobs, slots)
        order = rng.permutation(count).tolist()
        due = oracle.packing(order, jobs.work, low, high, slots).completion
        tight = mb.Jobs(jobs.work, min_slots=jobs.min_slots, max_slots=jobs.max_slots, deadline=due)
        for objective in ("max:tardy", "max:tardiness", "max:lateness"):
            plan = mb.plan(tight, slots, objective)
            plan.validate()
            assert plan.value <= 1e-8 * max(due)
            assert np.all(plan.completion <= np.array(due) + 2e-9 * max(1.0, *due))


def test_a_crowd_of_equal_deadlines():
    """Water-filling where every column has the same height and every pour is shallow."""
    jobs = mb.Jobs(np.full(40, 5.0), max_slots=3, deadline=[10.0] * 20 + [20.0] * 20)
    plan = mb.plan(jobs, 10, "max:lateness")
    plan.validate()
    assert plan.value == pytest.approx(0.0, abs=1e-6)


def test_ties_go_to_the_lower_index():
    plan = mb.plan(mb.Jobs([2.0] * 4, max_slots=1), 2, effort=0)
    assert plan.order.tolist() == [0, 1, 2, 3]
    assert plan.completion.tolist() == [2, 2, 4, 4]
    plan = mb.plan(mb.Jobs([3.0, 1.0, 3.0, 1.0]), 1, effort=0)
    assert plan.order.tolist() == [1, 3, 0, 2]


def test_smith_and_due_dates_by_hand():
    jobs = mb.Jobs([6.0, 2.0, 4.0], weight=[6, 1, 1], deadline=[12, 8, 5])
    assert mb.plan(jobs, 1, "sum:completion").order.tolist() == [0, 1, 2]
    assert mb.plan(jobs, 1, "max:lateness").order.tolist()[0] in (0, 2)
    even = mb.Jobs(jobs.work, deadline=jobs.deadline)
    plan = mb.plan(even, 1, "max:lateness")
    assert plan.order.tolist() == [2, 1, 0]
    assert (plan.completion.tolist(), plan.value) == ([12, 6, 4], 0.0)
    # Moore and Hodgson: 3, 2 and 2 by 4: one must be late.
    tardy = mb.plan(mb.Jobs([3.0, 2.0, 2.0], deadline=4), 1, "sum:tardy")
    assert tardy.value == 1.0
    assert tardy.completion[0] == 7.0


def test_weight_zero_comes_last():
    plan = mb.plan(mb.Jobs([1.0, 5.0, 2.0], weight=[0, 1, 1]), 2)
    assert plan.order.tolist() == [2, 1, 0]


def test_hopeless_jobs_do_not_stand_in_the_way():
    jobs = mb.Jobs([4.0, 4.0, 4.0], deadline=[1, 4, 8])
    plan = mb.plan(jobs, 1, "sum:tardy")
    assert (plan.value, plan.lower_bound) == (1.0, 1.0)
    assert plan.completion.tolist() == [12, 4, 8]


def test_the_search_stops_at_the_bound():
    """Where the bound is reached there is nothing to search."""
    plan = mb.plan(mb.Jobs([3.0, 5.0, 7.0]), 4, "sum:completion")
    assert plan.value == plan.lower_bound
    assert plan.candidates == 0
    wide = mb.plan(mb.Jobs(np.arange(1.0, 30.0)), 5, "max:completion")
    assert wide.candidates == 0


def test_a_level_that_rounding_could_pass_by():
    """The test of levels ends where it meets the optimum, jobs without a deadline or not."""
    jobs = mb.Jobs([49.0, 4.0, 3.0], deadline=[3, None, 1])
    plan = mb.plan(jobs, 10, "max:tardiness")
    assert plan.value == pytest.approx(2.2, abs=1e-7)
    assert plan.lower_bound == pytest.approx(2.2, abs=1e-7)


def test_effort_is_spent_to_the_letter():
    rng = np.random.default_rng(86)
    jobs = random_jobs(rng, 20, 12, maxima="tight", steps=4)
    for effort in (1, 7, 100, 1234):
        assert mb.plan(jobs, 12, "sum:tardiness", effort=effort).candidates <= effort
    assert mb.plan(jobs, 12, "sum:tardiness", effort=1234).candidates > 1000


def test_many_jobs_of_every_objective():
    rng = np.random.default_rng(87)
    for objective in OBJECTIVES:
        jobs = random_jobs(rng, 2000, 500, work=(0.1, 40), steps=3, minima="large")
        plan = mb.plan(jobs, 500, objective, effort=3)
        plan.validate()
        assert math.isfinite(plan.value)
        assert plan.lower_bound <= plan.value
