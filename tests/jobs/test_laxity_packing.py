"""Orders packed for deadlines: what is met, and plans that try it first."""

import numpy as np
import pytest

import malleable as mb
from benchmarks.instances import due_table, section41_larger
from malleable import _core
from malleable.jobs.kernels import malleable_packing
from tests.strategies import random_jobs


def laxity_packing(jobs, slots, order=None, now=0.0):
    by = np.argsort(jobs.deadline, kind="stable") if order is None else np.array(order)
    return _core.laxity_packing(jobs, slots, now, by)


def test_two_jobs_by_hand():
    jobs = mb.Jobs([6, 4], max_slots=2, deadline=[None, 13])
    assert laxity_packing(jobs, 2, [0, 1], now=10.0).tolist() == [5, 3]
    assert laxity_packing(jobs, 2, now=10.0).tolist() == [5, 2]  # by deadline


def test_without_deadlines_it_is_malleable_packing():
    rng = np.random.default_rng(5)
    for _ in range(20):
        drawn = random_jobs(rng, 30, 7)
        jobs = mb.Jobs(drawn.work, min_slots=drawn.min_slots, max_slots=drawn.max_slots)
        order = rng.permutation(len(jobs))
        assert laxity_packing(jobs, 7, order) == pytest.approx(malleable_packing(jobs, 7, order))


def test_deadlines_that_can_be_met_are_met():
    for seed in range(3):
        jobs, slots = due_table(2_000, 1.0, seed)
        assert (laxity_packing(jobs, slots) <= jobs.deadline * (1 + 1e-9)).all()
        by_deadline = malleable_packing(jobs, slots, np.argsort(jobs.deadline))
        assert (by_deadline > jobs.deadline).any()


def test_wrong_input():
    with pytest.raises(ValueError, match="order"):
        laxity_packing(mb.Jobs([1, 2]), 2, [0, 0])


@pytest.mark.parametrize("objective", ["sum:tardiness", "sum:tardy"])
def test_plans_try_it_first(objective):
    jobs, slots = due_table(2_000, 1.0)
    plan = mb.plan(jobs, slots, objective, effort=0)
    assert plan.value == plan.lower_bound == 0
    plan.validate()


def test_maxima_have_no_limit_of_jobs():
    jobs, slots = due_table(6_000, 0.35)
    plan = mb.plan(jobs, slots, "max:lateness")
    assert plan.gap < 0.01
    plan.validate()


def test_sets_of_jobs_that_can_fill_all_slots_are_met():
    """Whoever can take all slots is served by the end that it aims at, not by its latest start."""
    over = []
    for seed in range(6):
        jobs, slots = section41_larger(600, seed, weighted=True)
        plan = mb.plan(jobs, slots, "sum:sla", effort=60)
        plan.validate()
        over.append(plan.value / plan.lower_bound)
    assert np.mean(over) < 1.075  # by latest start alone: 1.1
