"""No bound exceeds the true malleable optimum, and for max objectives they meet."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import malleable as mb
from tests.full import part
from tests.oracles.best_order import best_order
from tests.oracles.malleable_optimum import malleable_optimum, max_optimum_lp
from tests.strategies import AGGREGATES, KINDS, OBJECTIVES, limits, penalty_columns, random_jobs

SUMS = [f"sum:{kind}" for kind in KINDS]
MAXES = [f"max:{kind}" for kind in KINDS]


def optimum(jobs, slots, objective, now=0.0):
    low, high = limits(jobs, slots)
    columns = penalty_columns(jobs)
    return malleable_optimum(jobs.work, low, high, slots, objective, now=now, **columns).value


def check(jobs, slots, objective, now=0.0, **options):
    """The optimum stands between bound and value of a plan; returns all three."""
    plan = mb.plan(jobs, slots, objective, now=now, **options)
    plan.validate()
    best = optimum(jobs, slots, objective, now)
    slack = 1e-7 * max(1.0, abs(best))
    assert plan.lower_bound <= best + slack
    assert plan.value >= best - slack
    return plan.lower_bound, best, plan.value


def instance(rng, count, maxima, minima, **options):
    slots = int(rng.integers(2, 9))
    now = float(rng.choice([0.0, 3.0]))
    return (
        random_jobs(rng, count, slots, now=now, maxima=maxima, minima=minima, **options),
        slots,
        now,
    )


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("maxima", ["any", "tight", "all"])
def test_three_jobs(objective, maxima):
    rng = np.random.default_rng([61, len(objective), len(maxima)])
    for minima in ("none", "small", "large"):
        for _ in range(3):
            check(*slot_first(instance(rng, 3, maxima, minima, idle=0.1), objective), effort=20)


def slot_first(drawn, objective):
    jobs, slots, now = drawn
    return jobs, slots, objective, now


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_four_jobs(objective):
    rng = np.random.default_rng([62, len(objective)])
    for maxima, minima in (("tight", "small"), ("any", "none"), ("tight", "large")):
        check(*slot_first(instance(rng, 4, maxima, minima, steps=1), objective), effort=20)


@pytest.mark.parametrize(
    "objective", ["sum:response", "sum:stretch", "sum:tardiness", "max:stretch"]
)
def test_five_jobs(objective):
    rng = np.random.default_rng([63, len(objective)])
    check(*slot_first(instance(rng, 5, "tight", "small"), objective), effort=20)


@st.composite
def lattices(draw):
    """Small whole numbers: ties, tight maxima and deadlines that are met exactly."""
    count = draw(st.integers(1, 3))
    slots = draw(st.integers(1, 4))

    def column(values):
        return draw(st.lists(values, min_size=count, max_size=count))

    high = column(st.integers(1, slots))
    now = draw(st.sampled_from([0.0, 2.0]))
    times = st.sampled_from([now - 1, now, now + 0.5, now + 1, now + 1.5, now + 2, now + 3])
    return (
        mb.Jobs(
            column(st.sampled_from([0.0, 1.0, 2.0, 3.0, 4.0])),
            arrival=column(st.sampled_from([now, now - 1])),
            min_slots=[min(a, b) for a, b in zip(column(st.integers(0, 2)), high, strict=True)],
            max_slots=high,
            weight=column(st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.0])),
            deadline=column(times),
            sla=[
                [(t, p) for p, t in enumerate(sorted(draw(st.sets(times, max_size=2))), 1)]
                for _ in high
            ],
        ),
        slots,
        now,
    )


@settings(max_examples=part(500, 50))
@given(lattices(), st.sampled_from(OBJECTIVES), st.sampled_from([0, 20]))
def test_small_whole_numbers(drawn, objective, effort):
    jobs, slots, now = drawn
    bound, best, value = check(jobs, slots, objective, now, effort=effort)
    if objective.startswith("max"):
        assert value == pytest.approx(best, rel=1e-6, abs=1e-6)
        assert bound == pytest.approx(best, rel=1e-6, abs=1e-6)


@settings(max_examples=part(150, 50))
@given(lattices(), st.sampled_from(AGGREGATES), st.data())
def test_kinds_that_differ_from_job_to_job(drawn, aggregate, data):
    jobs, slots, now = drawn
    kinds = data.draw(st.lists(st.sampled_from(KINDS), min_size=len(jobs), max_size=len(jobs)))
    objective = [f"{aggregate}:{kind}" for kind in kinds]
    bound, best, value = check(jobs, slots, objective, now, effort=20)
    if aggregate == "max":
        assert value == pytest.approx(best, rel=1e-6, abs=1e-6)
        assert bound == pytest.approx(best, rel=1e-6, abs=1e-6)


# Max objectives are solved --------------------------------------------------------------------------


@pytest.mark.parametrize("objective", MAXES)
@pytest.mark.parametrize("maxima", ["any", "tight", "all"])
def test_maxima_without_minima(objective, maxima):
    rng = np.random.default_rng([64, len(objective), len(maxima)])
    for count in (1, 2, 4, 7, 10):
        jobs, slots, now = instance(rng, count, maxima, "none", idle=0.1, steps=4)
        plan = mb.plan(jobs, slots, objective, now=now)
        plan.validate()
        _, high = limits(jobs, slots)
        best = max_optimum_lp(jobs.work, high, slots, objective, now=now, **penalty_columns(jobs))
        assert plan.value == pytest.approx(best, rel=1e-6, abs=1e-6)
        assert plan.lower_bound == pytest.approx(best, rel=1e-6, abs=1e-6)
        assert plan.lower_bound <= plan.value


@pytest.mark.parametrize("objective", MAXES)
@pytest.mark.parametrize("maxima", ["any", "tight"])
@pytest.mark.parametrize("minima", ["small", "large"])
def test_maxima_with_minima(objective, maxima, minima):
    rng = np.random.default_rng([65, len(objective), len(maxima), len(minima)])
    for count in (2, 3, 3, 3, 4):
        jobs, slots, now = instance(rng, count, maxima, minima, steps=2)
        bound, best, value = check(jobs, slots, objective, now)
        assert value == pytest.approx(best, rel=1e-6, abs=1e-6)
        assert bound == pytest.approx(best, rel=1e-6, abs=1e-6)


# Other policies and modes ---------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["fair", "wdeq", "fifo"])
def test_bounds_of_baselines_hold_for_the_limits_they_obey(policy):
    rng = np.random.default_rng([66, len(policy)])
    for objective in OBJECTIVES:
        jobs, slots, now = instance(rng, 3, "tight", "small")
        plan = mb.plan(jobs, slots, objective, policy, now=now)
        low, high = limits(jobs, slots, policy=policy)
        best = malleable_optimum(
            jobs.work, low, high, slots, objective, now=now, **penalty_columns(jobs)
        ).value
        slack = 1e-7 * max(1.0, abs(best))
        assert plan.lower_bound <= best + slack
        assert plan.value >= best - slack


def test_fifo_ignores_minima_in_its_bound_too():
    # With its minimum job 1 holds up job 0; FIFO lets it wait.
    jobs = mb.Jobs(
        [2.0, 100.0], min_slots=[0, 1], max_slots=[2, 2], arrival=[-1.0, 0.0], weight=[1, 0]
    )
    plan = mb.plan(jobs, 2, "sum:completion", "fifo")
    assert plan.value == pytest.approx(1.0)
    assert plan.lower_bound <= 1.0
    assert mb.plan(jobs, 2, "sum:completion").value == pytest.approx(2.0)


def test_bounds_of_gangs_hold_for_schedules_without_minima():
    rng = np.random.default_rng(67)
    for objective in OBJECTIVES:
        for policy in ("flex", "fair"):
            jobs, slots, now = instance(rng, 3, "any", "large")
            plan = mb.plan(jobs, slots, objective, policy, now=now, min_mode="gang")
            _, high = limits(jobs, slots)
            best = malleable_optimum(
                jobs.work, [0] * 3, high, slots, objective, now=now, **penalty_columns(jobs)
            ).value
            assert plan.lower_bound <= best + 1e-7 * max(1.0, abs(best))
            assert plan.value >= best - 1e-7 * max(1.0, abs(best))


def test_a_bound_of_ones_own_penalty():
    pytest.importorskip("numba")
    rng = np.random.default_rng(68)

    def twice(job, time):
        return 2.0 * max(0.0, time - 3.0)

    for aggregate in AGGREGATES:
        for _ in range(5):
            jobs, slots, now = instance(rng, 3, "tight", "small", work=(3.0, 9.0))
            plan = mb.plan(jobs, slots, f"{aggregate}:custom", now=now, penalty=twice)
            low, high = limits(jobs, slots)
            columns = {"weight": [2.0] * 3, "deadline": [3.0] * 3}
            best = malleable_optimum(
                jobs.work, low, high, slots, f"{aggregate}:tardiness", now=now, **columns
            ).value
            assert plan.lower_bound <= best + 1e-7 * max(1.0, best)
            if aggregate == "max":
                assert plan.value == pytest.approx(best, rel=1e-6, abs=1e-6)


# Ten jobs: the best order stands in for the optimum -------------------------------------------------


@pytest.mark.parametrize("maxima", ["tight", "all"])
def test_no_bound_exceeds_the_best_order(maxima):
    rng = np.random.default_rng([69, len(maxima)])
    for _ in range(part(6, 2)):
        jobs, slots, now = instance(rng, 7, maxima, "small", steps=3)
        low, high = limits(jobs, slots)
        best = best_order(
            jobs.work, low, high, slots, OBJECTIVES, now=now, **penalty_columns(jobs)
        ).value
        for objective, value in zip(OBJECTIVES, best, strict=True):
            for effort in (0, 50):
                plan = mb.plan(jobs, slots, objective, now=now, effort=effort)
                assert plan.lower_bound <= value + 1e-9 * max(1.0, abs(value))


# Closed forms ---------------------------------------------------------------------------------------


def test_equal_jobs_on_one_slot():
    plan = mb.plan(mb.Jobs([2.0] * 5), 1, "sum:completion")
    assert plan.value == plan.lower_bound == 2 * (1 + 2 + 3 + 4 + 5)


def test_smith_is_optimal_where_maxima_do_not_bind():
    rng = np.random.default_rng(70)
    for _ in range(20):
        work, weight = rng.uniform(1, 9, 12), rng.uniform(0.1, 1, 12)
        order = np.argsort(work / weight)
        want = float(np.sum(weight[order] * np.cumsum(work[order]) / 7))
        plan = mb.plan(mb.Jobs(work, weight=weight), 7, "sum:completion")
        assert plan.value == pytest.approx(want, rel=1e-12)
        assert plan.lower_bound == pytest.approx(want, rel=1e-9)


def test_makespan_is_the_longest_path_or_the_area():
    rng = np.random.default_rng(71)
    for _ in range(40):
        slots = int(rng.integers(1, 30))
        drawn = random_jobs(rng, 9, slots, minima="none")
        jobs = mb.Jobs(drawn.work, max_slots=drawn.max_slots)
        _, high = limits(jobs, slots)
        want = max(jobs.work.sum() / slots, float(np.max(jobs.work / high)))
        plan = mb.plan(jobs, slots, "max:completion")
        assert plan.value == pytest.approx(want, rel=1e-8)
        assert plan.lower_bound == pytest.approx(want, rel=1e-8)


def test_jobs_that_run_side_by_side_at_their_maxima_have_no_gap():
    jobs = mb.Jobs([4.0, 6.0, 9.0], max_slots=[2, 3, 3], deadline=[1, 1, 5])
    for objective in OBJECTIVES:
        plan = mb.plan(jobs, 8, objective)
        assert plan.completion.tolist() == [2, 2, 3]
        assert plan.lower_bound == pytest.approx(plan.value, rel=1e-9)


def test_bounds_are_finite_where_values_are():
    rng = np.random.default_rng(72)
    for objective in OBJECTIVES:
        jobs = random_jobs(rng, 30, 10, minima="large")
        for policy in ("flex", "fair", "fifo", "wdeq"):
            plan = mb.plan(jobs, 10, objective, policy, effort=0)
            assert math.isfinite(plan.lower_bound)
            if not objective.endswith("lateness"):
                assert plan.lower_bound >= 0
