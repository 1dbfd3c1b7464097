"""Plans try orders packed for deadlines."""

import numpy as np
import pytest

import malleable as mb
from benchmarks.instances import due_table, section41_larger


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
