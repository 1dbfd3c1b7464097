"""More effort is never worse: the candidates of an effort are the first of those of a larger one."""

import time

import numpy as np
import pytest

import malleable as mb
from benchmarks.instances import due_steps, due_table
from tests.strategies import random_jobs

EFFORTS = [0, 1, 3, 8, 20, 31, 64, 100, 300, 499, 500, 900, 1500]
SUMS = ["sum:response", "sum:stretch", "sum:tardiness", "sum:tardy", "sum:sla"]


@pytest.mark.parametrize("objective", [*SUMS, "max:lateness", "max:stretch"])
def test_more_effort_is_never_worse(objective):
    rng = np.random.default_rng(3)
    for count in (6, 15, 40, 120, 450):
        for draw in range(3 if count < 100 else 1):
            slots = int(rng.integers(2, max(3, count)))
            minima, maxima = ("none", "small")[draw % 2], ("any", "tight")[draw // 2]
            jobs = random_jobs(rng, count, slots, minima=minima, maxima=maxima)
            plans = [mb.plan(jobs, slots, objective, effort=effort) for effort in EFFORTS]
            for less, more in zip(plans, plans[1:], strict=False):
                assert more.value <= less.value + 1e-12 * abs(less.value)
                assert more.lower_bound >= less.lower_bound - 1e-12 * abs(less.lower_bound)


def test_the_default_is_close_to_its_bound():
    jobs, slots = due_table(10_000, 0.35)
    for kind in ("tardiness", "tardy"):
        plan = mb.plan(jobs, slots, f"sum:{kind}")
        plan.validate()
        assert plan.gap < 0.05


@pytest.mark.parametrize(("make", "kind"), [(due_table, "tardy"), (due_steps, "sla")])
def test_sets_that_spare_some_slots_are_packed_without_a_miss(make, kind):
    for jobs, tightness, gap in ((1_000, 0.35, 0.08), (1_000, 0.06, 0.02), (10_000, 0.35, 0.02)):
        table, slots = make(jobs, tightness)
        plan = mb.plan(table, slots, f"sum:{kind}")
        plan.validate()
        assert plan.gap < gap


@pytest.mark.parametrize("kind", ["tardiness", "tardy"])
def test_a_budget_ends_prices(kind):
    jobs, slots = due_table(4_000, 0.35)
    began = time.process_time()
    plan = mb.plan(jobs, slots, f"sum:{kind}", effort=10**6, budget=0.3)
    assert plan.status == "truncated"
    assert time.process_time() - began < 1.5
    assert plan.lower_bound <= plan.value


@pytest.mark.parametrize(("make", "kind"), [(due_table, "tardiness"), (due_steps, "sla")])
def test_a_short_budget_has_the_best_fixed_orders_of_very_many_jobs(make, kind):
    jobs, slots = make(25_000, 0.35)
    fixed = mb.plan(jobs, slots, f"sum:{kind}", effort=0)
    short = mb.plan(jobs, slots, f"sum:{kind}", budget=1e-9)
    short.validate()
    assert short.status == "truncated"
    assert short.value <= 1.05 * fixed.value
