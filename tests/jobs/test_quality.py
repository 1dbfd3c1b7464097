"""Ten jobs on a hundred slots (Wolf et al. 2010, FLEX, section 4.1): plans against the best of all orders."""

from typing import NamedTuple

import numpy as np
import pytest

import malleable as mb
from malleable.jobs.generate import bimodal_jobs
from tests.full import part
from tests.oracles.best_order import best_order
from tests.strategies import KINDS, limits, penalty_columns

SEEDS = range(part(8, 2))
SUMS = [f"sum:{kind}" for kind in KINDS if kind != "completion"]  # the same as response here
MAXES = [f"max:{kind}" for kind in KINDS if kind != "response"]
TASKS = {"wide": None, "tight": 300}


class Result(NamedTuple):
    plan: mb.Plan
    best: float


def tables(tasks, weighted):
    return [bimodal_jobs(tasks=tasks, weighted=weighted, rng=seed) for seed in SEEDS]


@pytest.fixture(scope="module", params=TASKS)
def shape(request):
    return request.param


@pytest.fixture(scope="module", params=["weighted", "unweighted"])
def results(request, shape):
    """Per objective, one result a seed; and the names of both parameters."""
    found = {objective: [] for objective in (*SUMS, *MAXES)}
    for jobs in tables(TASKS[shape], request.param == "weighted"):
        low, high = limits(jobs, 100)
        best = best_order(jobs.work, low, high, 100, list(found), **penalty_columns(jobs)).value
        for (objective, rows), value in zip(found.items(), best.tolist(), strict=True):
            plan = mb.plan(jobs, 100, objective)
            plan.validate()
            rows.append(Result(plan, value))
    return found, shape, request.param


def ratios(rows):
    """Value over the best order's. Where that is 0, so must the value be."""
    for plan, best in rows:
        if best == 0.0:
            assert plan.value == 0.0
    return [plan.value / best for plan, best in rows if best > 0.0]


@pytest.mark.parametrize(
    ("kind", "mean", "worst"),
    [
        ("response", 1.0005, 1.002),
        ("stretch", 1.0005, 1.002),
        ("tardiness", 1.001, 1.01),
        ("tardy", 1.005, 1.05),
        ("sla", 1.005, 1.05),
    ],
)
def test_sums_are_as_good_as_the_best_order(results, kind, mean, worst):
    found = ratios(results[0][f"sum:{kind}"])
    assert len(found) >= len(SEEDS) // 4
    assert np.mean(found) <= mean
    assert max(found) <= worst
    # The oracle is right: no order is better than the best. Packing for deadlines is none.
    if kind in ("response", "stretch"):
        assert min(found) >= 1 - 1e-9


def test_the_sum_of_lateness_is_as_good_as_the_best_order(results):
    for plan, best in results[0]["sum:lateness"]:
        # It may be near 0 or below: measure against what the completions cost.
        scale = float(np.sum(plan.jobs.weight * plan.completion))
        assert -1e-9 * scale <= plan.value - best <= 0.002 * scale


@pytest.mark.parametrize("objective", MAXES)
def test_maxima_are_at_least_as_good_as_the_best_order(results, objective):
    for plan, best in results[0][objective]:
        # Deadlines are met to 1e-9 of the time, here some hundred seconds; penalties rise by 1 a second.
        slack = max(1.0, abs(best), float(plan.completion.max()))
        assert plan.value <= best + 1e-9 * slack


def test_tight_maxima_are_where_schedules_beat_orders(results):
    found, shape, weights = results
    if (shape, weights) == ("tight", "weighted"):
        assert min(ratios(found["max:tardiness"])) < 0.99
        assert min(ratios(found["max:completion"])) < 0.99


def test_gaps_of_sums(results):
    found, _, weights = results
    response = [plan.gap for plan, _ in found["sum:response"]]
    stretch = [plan.gap for plan, _ in found["sum:stretch"]]
    assert np.mean(response) < (0.07 if weights == "weighted" else 0.05)
    assert np.mean(stretch) < 0.10
    assert min(response) >= 0 and min(stretch) >= 0


@pytest.mark.parametrize("kind", ["completion", "stretch", "lateness", "tardiness"])
def test_gaps_of_maxima(results, kind):
    found, shape, _ = results
    gaps = [plan.gap for plan, best in found[f"max:{kind}"] if best != 0.0]
    assert max(gaps) < (0.001 if shape == "wide" else 0.04)


def test_flex_beats_fair_by_far_and_fifo_on_average():
    """Section 4.2's point, on the unweighted base case."""
    fair, fifo = [], []
    for jobs in tables(None, False):
        flex = mb.plan(jobs, 100).value
        fair.append(mb.plan(jobs, 100, policy="fair").value / flex)
        fifo.append(mb.plan(jobs, 100, policy="fifo").value / flex)
    assert np.mean(fair) > 1.3
    assert np.mean(fifo) > 1.3
    assert min(fair) > 1.0


def test_the_fixed_orders_alone_are_close():
    for shape, tasks in TASKS.items():
        found = []
        for jobs in tables(tasks, True):
            full = mb.plan(jobs, 100).value
            found.append(mb.plan(jobs, 100, effort=0).value / full)
        assert np.mean(found) < 1.02, shape


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_on_time_sets_leave_room_for_the_minima_of_others(seed):
    """Many jobs with minima: whoever is late still takes its minimum before everybody's deadline."""
    slots = 3000
    jobs = bimodal_jobs(300, slots, small=0.8, slack=0.75, weighted=True, rng=seed)
    for objective, of_fair, gap in (
        ("sum:tardy", 0.1, 1.2),
        ("sum:sla", 0.3, 1.0),
        ("sum:tardiness", 0.2, None),
    ):
        plan = mb.plan(jobs, slots, objective, effort=0)
        assert plan.value < of_fair * mb.plan(jobs, slots, objective, "fair").value
        assert gap is None or plan.gap < gap


@pytest.mark.parametrize(
    ("objective", "gap"), [("sum:tardy", 1.15), ("sum:sla", 1.2), ("sum:tardiness", 1.3)]
)
def test_late_jobs_among_a_thousand(objective, gap):
    """Prices say what lateness costs where nearly everything can be on time."""
    jobs = bimodal_jobs(1_000, 10_000, small=0.8, slack=0.75, weighted=True, rng=1)
    plan = mb.plan(jobs, 10_000, objective)
    assert plan.lower_bound <= plan.value <= gap * plan.lower_bound
    fixed = mb.plan(jobs, 10_000, objective, effort=0)
    assert plan.value <= fixed.value
