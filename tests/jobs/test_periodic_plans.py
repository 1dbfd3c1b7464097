"""Plans of loops that decide every few seconds: against the best loop of all, the checker, and bounds."""

import math

import numpy as np
import pytest

import malleable as mb
from tests.full import part
from tests.oracles.periodic_optimum import loop_value, periodic_optimum
from tests.strategies import POLICIES, STRICT, limits, penalty_columns

SUMS = ("sum:response", "sum:stretch", "sum:completion", "sum:lateness")
LATE = ("sum:tardiness", "sum:tardy", "sum:sla")
MAXIMA = ("max:response", "max:stretch", "max:tardiness", "max:lateness", "max:tardy", "max:sla")


def drawn(seed, jobs=4, slots=6):
    """A small instance: jobs, slots and a period, from much shorter than jobs to much longer."""
    rng = np.random.default_rng(seed)
    work = rng.lognormal(1.5, 1.0, jobs)
    work[rng.random(jobs) < 0.1] = 0.0
    if seed % 5 == 0:
        work = np.ceil(work)
    maximum = rng.integers(1, slots + 3, jobs)
    minimum = np.zeros(jobs, dtype=int)
    if seed % 3 == 0:
        minimum = np.minimum(rng.integers(0, 3, jobs), maximum)
        while minimum.sum() > slots:
            minimum[np.argmax(minimum)] -= 1
    due = np.maximum(work / maximum, 0.1) * rng.uniform(0.5, 4.0, jobs)
    steps = [[(float(at), 1.0), (float(2 * at), 3.0)] for at in due]
    table = mb.Jobs(
        work=work,
        min_slots=minimum,
        max_slots=maximum,
        weight=rng.integers(1, 9, jobs),
        deadline=due,
        sla=steps,
        arrival=-rng.uniform(0.0, 2.0, jobs),
    )
    # No more than so many slot-periods a job, that the oracle looks at all of them.
    longest = max(float(work.max()), 1.0)
    period = longest / rng.choice([0.05, 0.7, 2.0, 4.0, 7.0])
    return table, slots, float(period)


def optimum(table, slots, period, objective, policy="flex", now=0.0):
    minimum, maximum = limits(table, slots, policy=policy)
    return periodic_optimum(
        table.work.tolist(),
        maximum,
        slots,
        period,
        objective,
        minimum=minimum,
        now=now,
        **penalty_columns(table),
    ).value


def below(bound, value):
    """Whether a bound is no larger but for rounding."""
    return bound <= value + 1e-9 * max(1.0, abs(value))


def allocations(plan):
    """Slots of every job in the periods 0, 1, ..., while it runs."""
    pieces = plan.pieces
    last = max((plan.completion[plan.jobs.work > 0.0]).tolist(), default=plan.now)
    found = []
    for number in range(math.ceil((last - plan.now) / plan.period - 1e-9)):
        middle = plan.now + number * plan.period
        given = np.zeros(len(plan.jobs), dtype=int)
        holds = (pieces["start"] <= middle + 1e-9) & (pieces["end"] > middle + 1e-9)
        np.add.at(given, pieces["job"][holds], pieces["slots"][holds])
        found.append(given.tolist())
    return found


@pytest.mark.parametrize("objective", SUMS + LATE + MAXIMA)
@pytest.mark.parametrize("part", range(3))
def test_no_loop_is_below_its_bound_and_none_beats_the_best(objective, part):
    """The plan is a loop: no better than the best one, which is no better than the bound."""
    for seed in range(12 * part, 12 * part + 12):
        table, slots, period = drawn(seed)
        made = mb.plan(table, slots, objective, period=period)
        best = optimum(table, slots, period, objective)
        assert below(best, made.value), (seed, made.value, best)
        assert below(made.lower_bound, best), (seed, made.lower_bound, best)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("objective", ["sum:response", "max:tardiness", "sum:sla"])
def test_plans_are_valid_and_worth_what_they_say(policy, objective):
    for seed in range(40):
        table, slots, period = drawn(seed, jobs=7, slots=9)
        made = mb.plan(table, slots, objective, policy, period=period, now=3.0)
        made.validate()
        assert made.period == period
        worth = loop_value(
            table.work.tolist(),
            allocations(made),
            period,
            objective,
            now=3.0,
            **penalty_columns(table),
        )
        assert made.value == pytest.approx(worth, rel=1e-9, abs=1e-9)
        assert below(made.lower_bound, made.value)


@pytest.mark.parametrize("seed", range(part(6, 2)))
@pytest.mark.parametrize("period", [0.01, 0.3, 2.0, 50.0])
def test_bounds_of_larger_tables(seed, period):
    """No plan of any policy is below the bound of another one that obeys the same limits."""
    rng = np.random.default_rng(seed)
    jobs = part(30, 12)
    table = mb.Jobs(
        work=rng.lognormal(2.0, 1.5, jobs),
        max_slots=rng.integers(1, 65, jobs),
        weight=rng.integers(1, 9, jobs),
        deadline=rng.uniform(1.0, 30.0, jobs),
    )
    for objective in (
        "sum:response",
        "sum:stretch",
        "sum:tardiness",
        "max:tardiness",
        "max:stretch",
    ):
        plans = [mb.plan(table, 20, objective, policy, period=period) for policy in POLICIES]
        best = min(own.value for own in plans)
        assert all(below(own.lower_bound, best) for own in plans)


@pytest.mark.parametrize("objective", STRICT)
def test_strict_deadlines_that_no_loop_meets(objective):
    """Two slots do both jobs by 2 s, but not if slots that one of them frees stay idle."""
    table = mb.Jobs(work=[1.0, 3.0], max_slots=2, deadline=[1.0, 2.0])
    assert mb.plan(table, 2, objective).status == "ok"
    made = mb.plan(table, 2, objective, period=2.0)
    assert made.status == "unmet"
    assert made.value == math.inf
    relaxed = mb.plan(table.take([1]), 2, objective, period=2.0)
    assert relaxed.status == "ok"


@pytest.mark.parametrize("objective", STRICT)
def test_strict_deadlines_that_some_loop_meets(objective):
    """Whatever the best of all loops meets, the plan meets."""
    wide = mb.Jobs([100.0, 3200.0], max_slots=[1, 64], deadline=[101.0, 100.0])
    for period in (0.3, 1.0):
        assert mb.plan(wide, 64, objective, period=period).status == "ok"
    rng, met = np.random.default_rng(31), 0
    for _ in range(120):
        count, slots = int(rng.integers(2, 5)), int(rng.integers(1, 6))
        period = float(rng.choice([0.3, 1.0, 2.0]))
        most = rng.integers(1, slots + 1, count)
        work = np.round(rng.uniform(0.1, 4.0, count) * period, 2)
        due = work / most * rng.uniform(1, 1.6, count) + rng.uniform(0, 1.2) * work.sum() / slots
        table = mb.Jobs(work, max_slots=most, deadline=np.round(due, 2))
        made = mb.plan(table, slots, objective, period=period)
        made.validate()
        best = periodic_optimum(
            work.tolist(),
            most.tolist(),
            slots,
            period,
            objective,
            deadline=table.deadline.tolist(),
        )
        assert made.value == best.value
        met += made.value == 0.0
    assert met > 60


def test_a_checker_that_sees_slots_move_within_a_period():
    table = mb.Jobs(work=[4.0, 6.0], max_slots=4)
    made = mb.plan(table, 4, period=3.0)
    made.validate()
    free = mb.plan(table, 4)
    free.validate()
    free.period = 3.0
    with pytest.raises(ValueError, match="between two decisions"):
        free.validate()


def test_gangs_and_minima_hold():
    table = mb.Jobs(work=[5.0, 9.0, 7.0], min_slots=[2, 3, 2], max_slots=[4, 4, 4])
    for mode in mb.jobs.table.MIN_MODES:
        for policy in POLICIES:
            made = mb.plan(table, 5, policy=policy, period=1.0, min_mode=mode)
            made.validate()


def test_speedups_below_linear():
    table = mb.Jobs(work=[5.0, 9.0, 7.0], max_slots=4, speedup=[0.5, [1.0, 1.8, 2.4], None])
    for policy in ("flex", "fair", "fifo", "hesrpt"):
        made = mb.plan(table, 5, policy=policy, period=1.5)
        made.validate()
        assert below(made.lower_bound, made.value)


def test_empty_tables_and_jobs_without_work():
    nobody = mb.plan(mb.Jobs(work=[]), 3, period=1.0)
    assert nobody.value == nobody.lower_bound == 0.0
    done = mb.plan(mb.Jobs(work=[0.0, 2.0], arrival=-1.0), 3, period=1.0)
    done.validate()
    assert done.completion.tolist() == [-1.0, 2.0 / 3.0]


@pytest.mark.parametrize("period", [-1.0, math.inf, math.nan, 1e-13])
def test_periods_that_make_no_sense(period):
    with pytest.raises(ValueError, match="period = "):
        mb.plan(mb.Jobs(work=[1.0]), 1, period=period)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_plan_of_a_decision_begins_with_it(policy):
    """It is what the epoch goes on to decide if nothing else happens, and leaves the epoch as it was."""
    rng = np.random.default_rng(4)
    epoch = mb.Epoch(12, "sum:stretch", policy, period=2.0)
    ids = epoch.add(rng.lognormal(2.0, 1.0, 9), max_slots=rng.integers(1, 9, 9), arrival=0.0)
    epoch.decide(0.0)
    epoch.finish(ids[:2])
    before = epoch.decide(2.0)
    saved = mb.Epoch.__reduce_ex__(epoch, 4)
    plan = before.plan()
    plan.validate()
    assert plan.period == 2.0
    assert plan.slots.tolist() == before.slots.tolist()
    assert plan.value == before.value
    assert before.lower_bound <= plan.lower_bound <= before.value
    assert len(before.explain()) == 8
    assert saved == mb.Epoch.__reduce_ex__(epoch, 4)
    # The loop that follows ends each job when the plan says so.
    ended, now, decision = {}, 2.0, before
    left = dict(zip(decision.ids.tolist(), plan.jobs.work.tolist(), strict=True))
    ends = dict(zip(decision.ids.tolist(), plan.completion.tolist(), strict=True))
    while left:
        gone = []
        for job, held in zip(decision.ids.tolist(), decision.slots.tolist(), strict=True):
            if held * 2.0 >= left[job] * (1 - 1e-12):
                ended[job] = now + left.pop(job) / held
                gone.append(job)
            else:
                left[job] -= held * 2.0
        epoch.finish(gone)
        epoch.update(list(left), work=list(left.values()))
        now += 2.0
        decision = epoch.decide(now)
    assert ended == pytest.approx(ends)


def test_a_job_that_outlives_its_estimate_has_a_plan():
    epoch = mb.Epoch(4, period=5.0)
    ids = epoch.add([8.0, 50.0], max_slots=2)
    epoch.decide(0.0)
    epoch.update(ids, work=[0.0, 40.0])
    decision = epoch.decide(5.0)
    plan = decision.plan()
    plan.validate()
    assert plan.jobs.work[0] == pytest.approx(0.25 * 10.0)  # of what two slots did in five seconds
    assert decision.value == plan.value


def test_without_slots_nobody_ends():
    epoch = mb.Epoch(4, period=5.0)
    epoch.add([8.0])
    decision = epoch.decide(0.0, slots=0)
    assert decision.value == math.inf
    assert decision.plan().status == "infeasible"


def random_decision(seed):
    """A decision that is held, of one of many kinds of tables."""
    rng = np.random.default_rng([seed, 57])
    count, slots = int(rng.integers(1, 100)), int(rng.choice([1, 4, 20, 100, 1000]))
    work = rng.lognormal(rng.uniform(0.0, 4.0), rng.uniform(0.2, 2.0), count)
    most = rng.integers(1, 2 * slots + 1, count)
    span = work.sum() / slots
    objective = (
        f"{rng.choice(['sum', 'sum', 'max'])}:{rng.choice(['response', 'stretch', 'tardiness'])}"
    )
    period = float(span * rng.choice([1e-2, 0.1, 1.0]))
    policy = str(rng.choice(["flex", "flex", "fair", "fifo", "wdeq"]))
    epoch = mb.Epoch(slots, objective, policy, period=period)
    low = np.minimum(rng.integers(0, 2, count), most)
    due = rng.uniform(0.1, 2.0, count) * span
    weight = rng.choice([1.0, 1.0, 5.0], count)
    epoch.add(work, max_slots=most, min_slots=low, weight=weight, deadline=due)
    return epoch.decide(0.0)


@pytest.mark.parametrize("seed", range(part(300, 40)))
def test_a_value_is_near_that_of_the_loop_and_its_bound_is_one(seed):
    """The value of a decision is that of its plan, unless the loop is very long."""
    decision = random_decision(seed)
    value, bound, plan = decision.value, decision.lower_bound, decision.plan()
    assert below(bound, plan.lower_bound) or below(bound, plan.value)
    assert value == pytest.approx(plan.value, rel=0.05, abs=1e-9 * plan.completion.max())


def test_an_explanation_of_some_jobs():
    epoch = mb.Epoch(20, period=5.0)
    ids = epoch.add(
        [400.0, 90.0, 30.0, 6.0], max_slots=[20, 10, 10, 2], deadline=[None, None, None, 2.0]
    )
    decision = epoch.decide(0.0)
    head, *lines = decision.explain()
    assert head.startswith("rule period: ")
    assert [line.partition(":")[0] for line in lines] == [str(job) for job in ids]
    assert decision.explain(ids[::-2]) == [head, lines[3], lines[1]]
    assert decision.explain([]) == [head]
    plan = decision.plan()
    for job, line in enumerate(lines):
        assert f": {decision.slots[job]:,} slot" in line
        assert ("ends at" in line) == (plan.completion[job] <= 5.0)
    assert "ends at 3 s, 1 s after its deadline" in lines[3]
    assert "slot-seconds left at 5 s" in lines[0]
    with pytest.raises(ValueError, match=r"ids\[1\] = 7: no such job"):
        decision.explain([0, 7])
    whole = epoch.decide(1.0, period=0.0)
    assert whole.explain([2, 0])[1:] == [whole.plan().explain()[k] for k in (2, 0)]
    epoch.finish([0])
    with pytest.raises(RuntimeError, match="moved on"):
        whole.explain()


def test_a_plan_says_whose_slots_are_all_that_a_period_needs():
    made = mb.plan(mb.Jobs(work=[40.0, 9.0], max_slots=8), 8, period=5.0)
    long, short = made.explain()
    assert "ends within the 5 s that they are held" in short
    assert "held" not in long


@pytest.mark.parametrize("objective", ["sum:response", "sum:stretch"])
@pytest.mark.parametrize("parts", [2, 4])
def test_plans_of_small_batches_are_near_the_best_loop(objective, parts):
    """Jobs that wait for the next period may leave slots that end the others much sooner."""
    over = []
    for seed in range(100, 100 + part(60, 20)):
        rng = np.random.default_rng(seed)
        table = mb.Jobs(rng.lognormal(2.0, 1.0, 4), max_slots=rng.integers(1, 9, 4))
        period = float(table.work.max()) / parts
        plan = mb.plan(table, 6, objective, period=period)
        plan.validate()
        over.append(plan.value / optimum(table, 6, period, objective))
    assert np.mean(over) < 1.02
