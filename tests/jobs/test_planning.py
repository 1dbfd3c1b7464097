"""Plans of every policy, objective and mode: valid, worth what they say, and no worse than they claim."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import malleable as mb
from malleable.jobs.generate import lognormal_jobs
from malleable.jobs.plan import DEFAULT_EFFORT, default_effort
from malleable.validation import ALL_SLOTS
from tests.full import part
from tests.oracles.validate import violations
from tests.strategies import (
    AGGREGATES,
    KINDS,
    MIN_MODES,
    OBJECTIVES,
    POLICIES,
    STRICT,
    Case,
    cases,
    limits,
    literal_value,
    pieces_of,
    random_jobs,
    wild_case,
    with_deadlines,
)

ARRAYS = ("order", "start", "completion", "penalty", "slots")
PIECES = ("job", "start", "end", "slots")


def check_plan(plan, objective, *, tolerance=1e-6):
    """Everything that holds for any plan, by the oracles' standards."""
    jobs, slots, now = plan.jobs, plan.capacity, plan.now
    plan.validate()
    assert sorted(plan.order.tolist()) == list(range(len(jobs)))
    want = literal_value(objective, plan.completion, jobs)
    assert plan.value == pytest.approx(want, rel=1e-9, abs=1e-9)
    assert not math.isnan(plan.lower_bound)
    assert plan.lower_bound <= plan.value
    low, high = limits(jobs, slots, policy=plan.policy, min_mode=plan.min_mode)
    runs = np.isfinite(plan.completion)
    mode = "none" if plan.policy == "fifo" else plan.min_mode
    found = violations(
        pieces_of(plan),
        np.where(runs, jobs.work, 0.0),
        low,
        high,
        slots,
        completion=np.where(runs, plan.completion, jobs.arrival),
        arrival=jobs.arrival,
        now=now,
        min_mode=mode,
        tolerance=tolerance,
    )
    assert found == []
    # Nobody ends before the time that the work takes at the maximum.
    has_work = jobs.work > 0
    alone = jobs.work / np.array(high, float)
    assert np.all((plan.completion - now)[has_work] >= alone[has_work] * (1 - 1e-9) - 1e-9)
    assert np.all(plan.completion[~has_work] == jobs.arrival[~has_work])
    assert np.all(plan.start[~has_work] == jobs.arrival[~has_work])
    # Only a gang that is larger than the cluster never runs.
    never = has_work & (np.array(low) > slots)
    assert (~runs).tolist() == never.tolist()
    assert np.all(np.isinf(plan.start) == never)
    held = np.zeros(len(jobs), np.int64)
    first = np.full(len(jobs), np.inf)
    for j, start, _, given_slots in pieces_of(plan):
        held[j] += given_slots if start == now else 0
        first[j] = min(first[j], start)
    assert plan.slots.tolist() == held.tolist()
    ran = has_work & ~never
    assert plan.start[ran].tolist() == first[ran].tolist()
    if plan.min_mode == "guarantee":
        usable = sum(h for h, w in zip(high, jobs.work, strict=True) if w > 0)
        assert plan.slots.sum() == min(slots, usable)
    return plan


def same_bytes(one, other):
    assert one.value == other.value
    assert one.lower_bound == other.lower_bound
    assert one.status == other.status
    assert one.candidates == other.candidates
    for name in ARRAYS:
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    for name in PIECES:
        assert one.pieces[name].tobytes() == other.pieces[name].tobytes(), name


# Every combination ----------------------------------------------------------------------------------


@pytest.mark.parametrize("min_mode", MIN_MODES)
@pytest.mark.parametrize("objective", OBJECTIVES + STRICT)
@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_objective_and_mode(policy, objective, min_mode):
    rng = np.random.default_rng([len(policy), len(objective), len(min_mode)])
    for minima in ("none", "small", "large"):
        for maxima in ("any", "tight", "all"):
            count, slots = int(rng.integers(1, 12)), int(rng.integers(1, 25))
            now = float(rng.choice([0.0, 7.0, -2.5]))
            jobs = random_jobs(rng, count, slots, now=now, minima=minima, maxima=maxima, idle=0.1)
            options = {"now": now, "min_mode": min_mode, "effort": 60}
            plan = mb.plan(jobs, slots, objective, policy, **options)
            check_plan(plan, objective)
            assert (plan.jobs, plan.capacity, plan.now) == (jobs, slots, now)
            assert plan.allocation is plan.slots
            assert (plan.policy, plan.objective, plan.min_mode) == (policy, objective, min_mode)
            same_bytes(plan, mb.plan(jobs, slots, objective, policy, **options))


@settings(max_examples=part(700, 50))
@given(
    cases(extreme=False, deadlines=True),
    st.sampled_from(OBJECTIVES + STRICT),
    st.sampled_from(POLICIES),
    st.sampled_from(MIN_MODES),
    st.sampled_from([0, 30]),
)
def test_any_table(case, objective, policy, min_mode, effort):
    jobs, slots, now = case
    plan = mb.plan(jobs, slots, objective, policy, effort, now=now, min_mode=min_mode)
    check_plan(plan, objective)


@settings(max_examples=part(8000, 50))
@given(
    st.integers(0, 12),
    st.integers(0, 2**32 - 1),
    st.sampled_from(OBJECTIVES + STRICT),
    st.sampled_from(POLICIES),
    st.sampled_from(MIN_MODES),
    st.sampled_from([0, 15]),
)
def test_no_table_breaks_a_plan(count, seed, objective, policy, min_mode, effort):
    """Also work from 1e-9 to 1e15 in one table, where only the package's own tolerances fit."""
    jobs, slots, now = wild_case(np.random.default_rng(seed), count)
    jobs = with_deadlines(jobs) if "lateness" in objective else jobs
    plan = mb.plan(jobs, slots, objective, policy, effort, now=now, min_mode=min_mode)
    plan.validate()
    assert not math.isnan(plan.value) and not math.isnan(plan.lower_bound)
    assert plan.lower_bound <= plan.value
    assert plan.value == pytest.approx(
        literal_value(objective, plan.completion, jobs), rel=1e-9, abs=1e-9
    )
    assert sorted(plan.order.tolist()) == list(range(count))


@settings(max_examples=part(1300, 50))
@given(
    cases(),
    st.sampled_from(OBJECTIVES + STRICT),
    st.sampled_from(POLICIES),
    st.sampled_from(MIN_MODES),
)
def test_no_table_breaks_a_plan_and_small_ones_tell_why(case, objective, policy, min_mode):
    jobs, slots, now = case
    jobs = with_deadlines(jobs) if "lateness" in objective else jobs
    plan = mb.plan(jobs, slots, objective, policy, effort=0, now=now, min_mode=min_mode)
    plan.validate()
    assert plan.lower_bound <= plan.value


@settings(max_examples=part(300, 50))
@given(cases(min_jobs=1, extreme=False, deadlines=True), st.sampled_from(AGGREGATES), st.data())
def test_kinds_that_differ_from_job_to_job(case, aggregate, data):
    jobs, slots, now = case
    kinds = data.draw(
        st.lists(st.sampled_from((*KINDS, "strict")), min_size=len(jobs), max_size=len(jobs))
    )
    objective = [f"{aggregate}:{kind}" for kind in kinds]
    plan = mb.plan(jobs, slots, objective, effort=20, now=now)
    check_plan(plan, objective)
    same = len(set(kinds)) == 1
    assert plan.objective == (objective[0] if same else f"{aggregate}:mixed")


def test_a_few_hundred_jobs():
    rng = np.random.default_rng(21)
    for policy in POLICIES:
        for objective in ("sum:response", "sum:sla", "max:stretch", "max:tardiness"):
            jobs = random_jobs(rng, 300, 90, minima="large", work=(0.01, 30))
            check_plan(mb.plan(jobs, 90, objective, policy, effort=50), objective)


# What each policy is: see tests/policy ---------------------------------------------------------------


def test_where_no_order_is_optimal_the_maximum_is():
    """Lemma 1 of the paper fails: every order needs 2.25, both can end at 2."""
    jobs = mb.Jobs([3, 3], min_slots=1, max_slots=2, deadline=2)
    plan = check_plan(mb.plan(jobs, 3, "max:completion"), "max:completion")
    assert plan.value == pytest.approx(2.0, rel=1e-8)
    assert check_plan(mb.plan(jobs, 3, "max:tardiness"), "max:tardiness").value < 1e-8
    assert check_plan(mb.plan(jobs, 3, "max:tardy"), "max:tardy").value == 0.0


def test_more_jobs_than_slots():
    jobs = mb.Jobs([1.0] * 10, min_slots=1)
    plan = check_plan(mb.plan(jobs, 3), "sum:response")
    assert plan.status == "minima_scaled"
    # The first three are guaranteed one slot; the others run one after another on all of them.
    assert plan.completion.tolist() == pytest.approx([1, 1, *(1 + k / 3 for k in range(8))])
    assert plan.slots.tolist() == [1, 1, 1] + [0] * 7


def test_huge_clusters():
    jobs = mb.Jobs([2.0**49, 2.0**48], max_slots=[ALL_SLOTS, 2**49], min_slots=[0, 2**49])
    for policy in POLICIES:
        plan = mb.plan(jobs, 2**50, policy=policy)
        plan.validate()
        assert plan.slots.sum() == 2**50


# Effort, budget, determinism ------------------------------------------------------------------------


@pytest.mark.parametrize("min_mode", MIN_MODES)
@pytest.mark.parametrize("objective", OBJECTIVES + STRICT)
def test_more_effort_is_never_worse(objective, min_mode):
    rng = np.random.default_rng([31, len(objective)])
    for _ in range(4):
        jobs = random_jobs(rng, 8, 14, maxima="tight", minima="small")
        values, bounds = [], []
        for effort in (0, 10, 300, None):
            plan = mb.plan(jobs, 14, objective, effort=effort, min_mode=min_mode)
            values.append(plan.value)
            bounds.append(plan.lower_bound)
            assert plan.candidates <= (DEFAULT_EFFORT if effort is None else effort)
        pairs = zip(values, values[1:], strict=False)
        assert all(a == b or a >= b - 1e-9 * abs(b) for a, b in pairs)
        # Any of the bounds holds for all of the plans.
        assert max(bounds) <= min(values) + 1e-9 * max(1.0, abs(min(values)))


def test_the_search_finds_what_the_fixed_orders_miss():
    rng = np.random.default_rng(32)
    for objective in ("sum:response", "sum:tardiness", "sum:sla"):
        better = 0
        for _ in range(10):
            jobs = random_jobs(rng, 30, 20, maxima="tight", steps=4)
            without = mb.plan(jobs, 20, objective, effort=0)
            better += mb.plan(jobs, 20, objective).value < without.value
            assert without.candidates == 0
        assert better >= 3, objective


@pytest.mark.parametrize("objective", OBJECTIVES + STRICT)
def test_a_budget_of_nothing_is_the_fixed_orders(objective):
    rng = np.random.default_rng([33, len(objective)])
    for _ in range(6):
        jobs = random_jobs(rng, 9, 12, maxima="tight", steps=4)
        nothing = check_plan(mb.plan(jobs, 12, objective, budget=0), objective)
        fixed = mb.plan(jobs, 12, objective, effort=0)
        assert nothing.value == pytest.approx(fixed.value, rel=1e-9, abs=1e-9)
        assert nothing.candidates == 0
        settled = "ok" if fixed.value < np.inf else "infeasible"
        assert nothing.status in (settled, "truncated")
        assert fixed.status == settled
        assert mb.plan(jobs, 12, objective, effort=0, budget=0).status == settled
        plenty = mb.plan(jobs, 12, objective, effort=200, budget=1000)
        same_bytes(plenty, mb.plan(jobs, 12, objective, effort=200))


def test_a_plan_that_was_cut_short_says_so():
    rng = np.random.default_rng(34)
    jobs = random_jobs(rng, 40, 30, maxima="tight", steps=4)
    plan = mb.plan(jobs, 30, "sum:sla", effort=10**6, budget=0.05)
    assert plan.status == "truncated"
    assert 0 < plan.candidates < 10**6
    check_plan(plan, "sum:sla")


def test_a_table_is_planned_the_same_whatever_was_planned_before():
    rng = np.random.default_rng(35)
    tables = [random_jobs(rng, int(rng.integers(1, 30)), 12, steps=4) for _ in range(12)]
    first = [mb.plan(jobs, 12, "sum:sla", effort=100) for jobs in tables]
    for plan, jobs in reversed(list(zip(first, tables, strict=True))):
        same_bytes(plan, mb.plan(jobs, 12, "sum:sla", effort=100))


def test_time_can_be_moved():
    """All times later by the same amount: the same schedule, later."""
    rng = np.random.default_rng(36)
    for objective in ("sum:response", "sum:tardiness", "max:lateness", "sum:sla", "max:stretch"):
        jobs = random_jobs(rng, 8, 10)
        moved = mb.Jobs(
            jobs.work,
            arrival=jobs.arrival + 64.0,
            min_slots=jobs.min_slots,
            max_slots=jobs.max_slots,
            weight=jobs.weight,
            deadline=jobs.deadline + 64.0,
            sla=[[(t + 64.0, p) for t, p in steps] for steps in jobs.sla],
            size=jobs.size,
        )
        for policy in POLICIES:
            here = mb.plan(jobs, 10, objective, policy, effort=0)
            there = mb.plan(moved, 10, objective, policy, effort=0, now=64.0)
            assert there.value == pytest.approx(here.value, rel=1e-6, abs=1e-6)


# A penalty of one's own -----------------------------------------------------------------------------


def tardiness_twice(job, time):
    return 2.0 * max(0.0, time - 3.0)


def test_a_custom_penalty_that_is_a_built_in_one():
    pytest.importorskip("numba")
    rng = np.random.default_rng(41)
    for aggregate in AGGREGATES:
        for minima in ("none", "small"):
            jobs = random_jobs(rng, 5, 7, minima=minima, work=(2.0, 12.0))
            as_given = mb.Jobs(
                jobs.work, min_slots=jobs.min_slots, max_slots=jobs.max_slots, weight=2, deadline=3
            )
            own = mb.plan(jobs, 7, f"{aggregate}:custom", penalty=tardiness_twice)
            built_in = mb.plan(as_given, 7, f"{aggregate}:tardiness")
            assert own.value == pytest.approx(built_in.value, rel=1e-8)
            assert own.lower_bound <= own.value
            own.validate()
            assert own.penalty.tolist() == [tardiness_twice(0, t) for t in own.completion]
            for policy in ("fair", "fifo", "wdeq"):
                theirs = mb.plan(jobs, 7, f"{aggregate}:custom", policy, penalty=tardiness_twice)
                theirs.validate()
                want = [tardiness_twice(0, t) for t in theirs.completion]
                assert theirs.value == pytest.approx(
                    sum(want) if aggregate == "sum" else max(want), rel=1e-12
                )


def test_a_custom_penalty_knows_its_job():
    pytest.importorskip("numba")
    jobs = mb.Jobs([6.0, 6.0, 6.0])
    plan = mb.plan(jobs, 3, "sum:custom", penalty=lambda job, time: (1 + 10 * (job == 2)) * time)
    assert plan.order.tolist()[0] == 2
    assert plan.value == pytest.approx(2 * 11 + 4 + 6)


# Special cases --------------------------------------------------------------------------------------


@pytest.mark.parametrize("min_mode", MIN_MODES)
@pytest.mark.parametrize("policy", POLICIES)
def test_no_jobs_are_an_empty_plan(policy, min_mode):
    for objective in OBJECTIVES + STRICT:
        plan = mb.plan(mb.Jobs([]), 5, objective, policy, min_mode=min_mode, now=3.0)
        plan.validate()
        assert (plan.value, plan.lower_bound, plan.gap, plan.status) == (0.0, 0.0, 0.0, "ok")
        for name in ARRAYS:
            assert getattr(plan, name).shape == (0,), name
        for name in PIECES:
            assert plan.pieces[name].shape == (0,), name


@pytest.mark.parametrize("policy", POLICIES)
def test_only_jobs_without_work(policy):
    jobs = mb.Jobs([0.0, 0.0], arrival=[-5.0, 1.0], min_slots=3, weight=[2, 1])
    for objective, value in (
        ("sum:response", 0.0),
        ("sum:completion", -9.0),
        ("max:completion", 1.0),
    ):
        plan = check_plan(mb.plan(jobs, 2, objective, policy, now=1.0), objective)
        assert (plan.value, plan.lower_bound, plan.status) == (value, value, "ok")
        assert plan.completion.tolist() == plan.start.tolist() == [-5.0, 1.0]
        assert plan.slots.tolist() == [0, 0]


@pytest.mark.parametrize("policy", ["flex", "fair", "wdeq"])
def test_minima_that_do_not_fit_say_so(policy):
    jobs = mb.Jobs([4.0, 4.0, 0.0], min_slots=[3, 2, 50], max_slots=60)
    plan = check_plan(mb.plan(jobs, 4, policy=policy), "sum:response")
    assert plan.status == "minima_scaled"
    assert mb.plan(jobs, 5, policy=policy).status == "ok"
    assert mb.plan(jobs, 4, policy=policy, min_mode="gang").status == "ok"


@pytest.mark.parametrize("policy", ["flex", "fair", "wdeq"])
@pytest.mark.parametrize("objective", OBJECTIVES + STRICT)
def test_a_gang_that_is_too_large_never_runs(policy, objective):
    jobs = mb.Jobs([4.0, 4.0, 4.0], min_slots=[2, 9, 1], weight=[1, 2, 3], deadline=[3, 4, 1])
    plan = check_plan(mb.plan(jobs, 4, objective, policy, min_mode="gang"), objective)
    assert plan.status == "infeasible"
    assert plan.completion[1] == plan.start[1] == math.inf
    assert np.all(np.isfinite(plan.completion[[0, 2]]))
    assert plan.slots[1] == 0
    finite = objective.endswith((":tardy", ":sla"))
    assert math.isfinite(plan.value) == finite
    assert plan.lower_bound <= plan.value


def test_an_arrival_in_the_future_is_an_error():
    jobs = mb.Jobs([1, 1, 1], arrival=[0.0, 2.5, 3.0])
    for policy in POLICIES:
        with pytest.raises(ValueError, match=re.escape("arrival[1] = 2.5: after now = 2")) as error:
            mb.plan(jobs, 2, policy=policy, now=2.0)
        assert "\n" not in str(error.value)
    check_plan(mb.plan(jobs, 2, now=3.0), "sum:response")
    check_plan(mb.plan(jobs.at(2.5), 2, now=2.5), "sum:response")


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"slots": 0}, "slots = 0: must be at least 1"),
        ({"slots": -4}, "slots = -4"),
        ({"slots": 2.5}, "slots = 2.5: must be a whole number"),
        ({"slots": NAN}, "slots = nan"),
        ({"slots": INF}, "slots = inf"),
        ({"slots": True}, "slots = True"),
        ({"slots": "seven"}, "slots = 'seven'"),
        ({"slots": None}, "slots = None"),
        ({"slots": 2**50 + 1}, f"slots = {2**50 + 1}"),
        ({"now": NAN}, "now = nan: must be finite"),
        ({"now": INF}, "now = inf"),
        ({"now": "noon"}, "now = 'noon'"),
        ({"effort": -1}, "effort = -1"),
        ({"effort": 1.5}, "effort = 1.5"),
        ({"effort": "much"}, "effort = 'much'"),
        ({"budget": -0.5}, "budget = -0.5"),
        ({"budget": NAN}, "budget = nan"),
        ({"budget": "all"}, "budget = 'all'"),
        ({"policy": "flexible"}, "policy = 'flexible'"),
        ({"policy": 7}, "policy = 7"),
        ({"min_mode": "gangs"}, "min_mode = 'gangs'"),
        ({"objective": "sum:responce"}, "objective = 'sum:responce'"),
        ({"objective": ["sum:tardy"] * 3}, "objective has 3 entries but there are 2 jobs"),
        ({"jobs": [1, 2]}, "jobs: expected a table (Flows or Jobs), a data frame or a dict"),
    ],
)
def test_bad_input_names_field_and_value(options, says):
    call = {"jobs": mb.Jobs([1.0, 2.0]), "slots": 3, **options}
    with pytest.raises(ValueError, match=re.escape(says)) as error:
        mb.plan(**call)
    assert "\n" not in str(error.value)


def test_slots_may_be_any_whole_number():
    jobs = mb.Jobs([6.0])
    for slots in (3, 3.0, np.int32(3), np.float64(3)):
        assert mb.plan(jobs, slots).completion.tolist() == [2.0]


# What a plan says about itself ----------------------------------------------------------------------


def gap_of(value, bound):
    plan = mb.plan(mb.Jobs([1.0]), 1)
    plan.value, plan.lower_bound = value, bound
    return plan.gap


def test_gap():
    assert gap_of(3.0, 2.0) == 0.5
    assert gap_of(-1.0, -2.0) == 0.5
    assert gap_of(1.0, -2.0) == 1.5
    assert gap_of(0.0, 0.0) == 0.0
    assert gap_of(1.0, 0.0) is None
    assert gap_of(5.0, 5.0) == 0.0


def test_what_depends_on_the_clock_stands_apart():
    plan = mb.plan(mb.Jobs([3.0, 5.0]), 2)
    assert plan.timing["seconds"] >= 0
    assert set(plan.timing) == {"seconds"}


def test_a_case_prints_as_what_rebuilds_it():
    case = Case(mb.Jobs([3.0], deadline=[5.0]), 2, 0.0)
    assert repr(case) == "slots=2, now=0.0, mb.Jobs([3.0], deadline=[5.0])"


def test_speedup_of_one_large_slot_count_is_linear():
    """Twice the slots, half the time, up to the maximum."""
    for slots in (1, 2, 5, 8):
        plan = mb.plan(mb.Jobs([40.0], max_slots=5), slots)
        assert plan.completion.tolist() == [40.0 / min(slots, 5)]


def test_plans_of_different_threads_do_not_meet():
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(51)
    tables = [random_jobs(rng, 30, 12, steps=3) for _ in range(16)]

    def work(jobs):
        return mb.plan(jobs, 12, "sum:tardiness", effort=300)

    alone = [work(jobs) for jobs in tables]
    with ThreadPoolExecutor(4) as pool:
        for one, other in zip(alone, pool.map(work, tables), strict=True):
            same_bytes(one, other)


def test_default_effort():
    """Full effort for up to 2,000 jobs, then ever fewer candidates; none is more than asked for."""
    assert [default_effort(n) for n in (0, 1, 2000)] == [DEFAULT_EFFORT] * 3
    assert [default_effort(n) for n in (4000, 100_000, 10**9)] == [1000, 60, 60]
    jobs = lognormal_jobs(4000, 400, min_slots=0, max_slots=(1, 40), rng=2)
    made = mb.plan(jobs, 400)
    assert made.candidates <= 1000
    assert made.value == mb.plan(jobs, 400, effort=1000).value


def test_progress_hears_of_every_candidate():
    jobs = lognormal_jobs(60, 20, min_slots=0, max_slots=(1, 9), rng=2)
    heard = []
    made = mb.plan(jobs, 20, effort=50, progress=lambda *step: heard.append(step))
    assert heard[: made.candidates] == [(k, 50) for k in range(made.candidates)]
    assert made.candidates > 0
    assert made.value == mb.plan(jobs, 20, effort=50).value

    def stop(tried, effort):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        mb.plan(jobs, 20, effort=50, progress=stop)
    assert mb.plan(jobs, 20, effort=50).value == made.value
