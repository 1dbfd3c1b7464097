"""Jobs whose speed-up is below linear: plans, bounds, epochs, tables and files."""

import copy
import io
import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import malleable as mb
from malleable.jobs.check import check_schedule
from malleable.traces.job_table import read_jobs, write_jobs
from tests.oracles import shared_slots as oracle
from tests.strategies import (
    AGGREGATES,
    KINDS,
    MIN_MODES,
    Case,
    cases,
    limits,
    literal_value,
    random_jobs,
    with_deadlines,
)

POLICIES = ("flex", "fair", "fifo", "wdeq", "hesrpt")


def rates(rng, count):
    """Concave rates of 1 to ``count`` slots."""
    gains = np.sort(rng.uniform(0.0, 1.0, count))[::-1]
    return np.cumsum(np.append(1.0, gains[1:])).tolist()


def measured(rng, count):
    """Rates of any shape that do not fall: steps, flat parts, slots that add more than those before."""
    gains = rng.uniform(0.0, 2.0, count) * (rng.random(count) < 0.6)
    return np.cumsum(np.append(1.0, gains[1:])).tolist()


@st.composite
def curved_cases(draw, **options):
    case = draw(cases(**{"min_jobs": 1, "extreme": False, **options}))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = draw(st.lists(st.integers(0, 5), min_size=len(case.jobs), max_size=len(case.jobs)))

    def rule(kind):
        count = int(rng.integers(1, 12))
        p = float(rng.uniform(0.05, 0.999))
        return (None, 1.0, 0.0, p, rates(rng, count), measured(rng, count))[kind]

    rules = [rule(kind) for kind in kinds]
    jobs = mb.Jobs(
        case.jobs.work,
        arrival=case.jobs.arrival,
        min_slots=case.jobs.min_slots,
        max_slots=case.jobs.max_slots,
        weight=case.jobs.weight,
        deadline=case.jobs.deadline,
        sla=case.jobs.sla,
        size=case.jobs.size,
        speedup=rules,
    )
    return Case(jobs, case.slots, case.now)


def rules_of(jobs):
    return [rule if isinstance(rule, float) else rule.tolist() for rule in jobs.speedup]


# Schedules ------------------------------------------------------------------------------------------


@given(curved_cases(), st.sampled_from(("fair", "fifo", "wdeq")))
def test_baselines(case, policy):
    """They share as they always do, and jobs run at the rates of what they get."""
    jobs, slots, now = case
    minimum, maximum = limits(jobs, slots, policy=policy)
    expected = oracle.by_policy(
        policy,
        jobs.work.tolist(),
        rules_of(jobs),
        minimum,
        maximum,
        slots,
        arrival=jobs.arrival.tolist(),
        weight=jobs.weight.tolist(),
    )
    plan = mb.plan(jobs, slots, "sum:completion", policy, now=now)
    ends = np.where(jobs.work > 0.0, now + np.array(expected), jobs.arrival)
    np.testing.assert_allclose(plan.completion, ends, rtol=1e-9, atol=1e-9)


@given(
    curved_cases(),
    st.sampled_from(POLICIES),
    st.sampled_from(AGGREGATES),
    st.sampled_from(KINDS),
    st.sampled_from(MIN_MODES),
)
def test_plans_are_valid(case, policy, aggregate, kind, min_mode):
    jobs, slots, now = case
    if kind == "lateness":
        jobs = with_deadlines_and_speedup(jobs)
    objective = f"{aggregate}:{kind}"
    plan = mb.plan(
        jobs, slots, objective, policy, 20 if policy == "flex" else None, now=now, min_mode=min_mode
    )
    plan.validate()
    assert plan.value == pytest.approx(
        literal_value(objective, plan.completion, jobs), rel=1e-9, abs=1e-9
    )
    assert plan.lower_bound <= plan.value
    assert len(plan.explain()) == len(jobs)


def with_deadlines_and_speedup(jobs):
    made = with_deadlines(jobs)
    return mb.Jobs(
        **{name: getattr(made, name) for name in ("work", "arrival", "min_slots", "max_slots")},
        weight=made.weight,
        deadline=made.deadline,
        sla=made.sla,
        size=made.size,
        speedup=jobs.speedup,
    )


@given(
    curved_cases(),
    st.sampled_from(AGGREGATES),
    st.sampled_from(("response", "tardiness", "sla", "tardy")),
)
def test_flex_is_never_worse_than_what_it_tries(case, aggregate, kind):
    """Equal shares and heSRPT's are among its candidates, where all may have all slots that help."""
    jobs, slots, now = case
    free = mb.Jobs(
        jobs.work, arrival=jobs.arrival, deadline=jobs.deadline, sla=jobs.sla, speedup=0.7
    )
    objective = f"{aggregate}:{kind}"
    flex = mb.plan(free, slots, objective, effort=0, now=now)
    fair = mb.plan(free, slots, objective, "fair", now=now)
    assert flex.value <= fair.value * (1 + 1e-9) + 1e-9
    more = mb.plan(free, slots, objective, effort=60, now=now)
    assert more.value <= flex.value * (1 + 1e-9) + 1e-9
    assert more.candidates <= 60


def test_without_limits_hesrpt_is_the_best():
    """Where rounding hardly counts plans attain the closed form, and it is their bound."""
    rng = np.random.default_rng(3)
    for p in (0.3, 0.5, 0.8, 0.95):
        work = rng.lognormal(3.0, 1.5, 12)
        jobs, slots = mb.Jobs(work, speedup=p), 10_000_000
        best = oracle.hesrpt_value(work.tolist(), p, slots)
        for policy in ("hesrpt", "flex"):
            plan = mb.plan(
                jobs, slots, "sum:completion", policy, effort=0 if policy == "flex" else None
            )
            assert plan.value == pytest.approx(best, rel=1e-5)
            assert plan.lower_bound == pytest.approx(best, rel=1e-6)
            assert plan.lower_bound <= best * (1 + 1e-9)
        fair = mb.plan(jobs, slots, "sum:completion", "fair")
        assert fair.value > (1.001 if p < 0.5 else 1.02) * best


def test_makespan():
    """All jobs end together, on the slots of the resource allocation problem."""
    rng = np.random.default_rng(4)
    for p in (0.4, 0.7, 0.9):
        work = rng.lognormal(3.0, 1.0, 10)
        plan = mb.plan(mb.Jobs(work, speedup=p), 100_000, "max:completion")
        assert plan.value == pytest.approx(oracle.makespan(work.tolist(), p, 100_000), rel=1e-3)


@pytest.mark.parametrize(
    ("kind", "far"), [("completion", 1.2), ("stretch", 1.25), ("tardiness", 2.0), ("tardy", 2.0)]
)
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_small_optima(aggregate, kind, far):
    """No schedule of whole slots that changes at completions is below the bound; plans come near it."""
    rng = np.random.default_rng(5)
    ratios = []
    for _ in range(60):
        count, slots = int(rng.integers(2, 4)), int(rng.integers(1, 5))
        work = rng.uniform(0.5, 10.0, count).round(2)
        table = (rates, measured)[len(ratios) % 2](rng, slots)
        rules = [float(rng.uniform(0.2, 1.0)), table, float(rng.uniform(0.5, 0.9))]
        jobs = mb.Jobs(
            work,
            max_slots=rng.integers(1, slots + 1, count),
            weight=rng.choice([0.0, 0.5, 1.0, 3.0], count),
            deadline=rng.uniform(0.0, 1.5, count) * work.sum() / slots**0.6,
            speedup=rules[:count],
        )
        objective = f"{aggregate}:{kind}"
        best = oracle.best_value(
            work.tolist(),
            rules[:count],
            jobs.max_slots.tolist(),
            slots,
            partial(literal_value, objective, jobs=jobs),
        )
        plan = mb.plan(jobs, slots, objective)
        assert plan.lower_bound <= best * (1 + 1e-9) + 1e-9
        if best > 0.0:
            ratios.append(plan.value / best)
    assert len(ratios) > 20
    assert np.mean(ratios) < 1.05
    assert max(ratios) < far


@given(curved_cases(extreme=False), st.sampled_from(POLICIES))
def test_a_table_of_powers_is_the_power(case, policy):
    jobs, slots, now = case
    power, table = 0.6, oracle.whole_table(0.6, slots)
    columns = {"arrival": jobs.arrival, "max_slots": jobs.max_slots, "min_slots": jobs.min_slots}
    a = mb.plan(
        mb.Jobs(jobs.work, **columns, speedup=power),
        slots,
        policy=policy,
        now=now,
        effort=0 if policy == "flex" else None,
    )
    b = mb.plan(
        mb.Jobs(jobs.work, **columns, speedup=[table] * len(jobs)),
        slots,
        policy=policy,
        now=now,
        effort=0 if policy == "flex" else None,
    )
    assert b.value == pytest.approx(a.value, rel=0.05)
    if policy in ("fair", "fifo", "wdeq"):
        np.testing.assert_allclose(b.completion, a.completion, rtol=1e-9)


def test_linear_rules_change_nothing():
    jobs = random_jobs(np.random.default_rng(1), 40, 30)
    same = jobs._replaced(exponent=np.ones(40))
    for policy in POLICIES:
        a, b = (mb.plan(table, 30, "sum:stretch", policy) for table in (jobs, same))
        assert a.completion.tolist() == b.completion.tolist()
        assert a.lower_bound == b.lower_bound


def test_linear_hesrpt_serves_the_shortest():
    jobs = mb.Jobs([8.0, 2.0, 4.0])
    assert mb.plan(jobs, 2, policy="hesrpt").completion.tolist() == [7.0, 1.0, 3.0]
    epoch = mb.Epoch(2, policy="hesrpt")
    epoch.add(jobs)
    assert epoch.decide(0.0).slots.tolist() == [0, 2, 0]


def test_strict_deadlines():
    """Half the slots do not do for both: the heavier one is met, and nobody could meet both."""
    jobs = mb.Jobs([10.0, 10.0], deadline=[3.0, 3.0], weight=[1.0, 5.0], speedup=0.5)
    plan = mb.plan(jobs, 16, "sum:strict")
    assert plan.met.tolist() == [False, True]
    easy = mb.plan(mb.Jobs([10.0, 10.0], deadline=[4.0, 4.0], speedup=0.5), 16, "max:strict")
    assert easy.status == "ok"
    assert easy.value == 0.0


def test_budget_and_progress():
    jobs = mb.Jobs(np.arange(1.0, 30.0), speedup=0.7)
    assert mb.plan(jobs, 50, "sum:response", budget=0.0).status == "truncated"
    seen = []
    plan = mb.plan(
        jobs, 50, "sum:response", effort=25, progress=lambda tried, of: seen.append((tried, of))
    )
    assert seen[: plan.candidates] == [(k, 25) for k in range(plan.candidates)]


def test_effort_counts_the_work_of_its_candidates():
    """One of J jobs takes O(J^2), and counts as (J / 100)^2."""
    rng = np.random.default_rng(7)
    jobs = mb.Jobs(rng.lognormal(3, 1.5, 300), min_slots=2, max_slots=40, speedup=0.7)
    for effort, least in ((8, 0), (90, 1), (900, 50)):
        plan = mb.plan(jobs, 500, effort=effort, min_mode="gang")
        assert least <= plan.candidates <= effort // 9
    # Too little for any: the decision is that of no effort.
    many = mb.Jobs(rng.lognormal(3, 1.5, 1500), min_slots=2, max_slots=40, speedup=0.7)
    slots = []
    for effort in (None, 30):
        epoch = mb.Epoch(500, min_mode="gang", effort=effort)
        epoch.add(many)
        slots.append(epoch.decide(0.0).slots.tolist())
    assert slots[0] == slots[1]


def test_the_checker_sees_work_that_was_not_done():
    """It counts what slots do together, not slots."""
    jobs = mb.Jobs([10.0], speedup=0.5)
    plan = mb.plan(jobs, 4)
    assert plan.completion.tolist() == [5.0]
    plan.jobs = mb.Jobs([10.0])
    with pytest.raises(ValueError, match="20.0 slot-seconds done of 10.0"):
        check_schedule(plan)
    plan.jobs = mb.Jobs([10.0], speedup=[[1.0, 1.5, 1.75, 1.8]])
    with pytest.raises(ValueError, match="9.0 slot-seconds done of 10.0"):
        check_schedule(plan)


# Epochs ---------------------------------------------------------------------------------------------


@given(
    curved_cases(),
    st.sampled_from(POLICIES),
    st.sampled_from(MIN_MODES),
    st.sampled_from(("sum:response", "max:stretch", "sum:tardiness")),
)
def test_epochs_decide_as_their_plans(case, policy, min_mode, objective):
    jobs, slots, now = case
    jobs = jobs.take(np.flatnonzero(jobs.work > 0.0))
    epoch = mb.Epoch(slots, objective, policy, min_mode=min_mode)
    epoch.add(jobs)
    decision = epoch.decide(now)
    again = pickle.loads(pickle.dumps(epoch))
    assert again == epoch
    assert copy.copy(epoch) == epoch
    plan = decision.plan()
    plan.validate()
    assert plan.slots.tolist() == decision.slots.tolist()
    assert decision.value == plan.value
    assert decision.lower_bound <= plan.lower_bound * (1 + 1e-9)  # the quick one
    if policy != "flex":
        whole = mb.plan(jobs, slots, objective, policy, now=now, min_mode=min_mode)
        assert whole.slots.tolist() == decision.slots.tolist()
        np.testing.assert_allclose(plan.completion, whole.completion)


@pytest.mark.parametrize("effort", [None, 0, 30])
def test_an_epoch_lives(effort):
    """Jobs come, work, run out and leave; those that are left decide as if the others had never been."""
    rng = np.random.default_rng(6)
    epoch = mb.Epoch(20, "sum:response", effort=effort)
    rules = [0.5, None, rates(rng, 9), 0.9, 1.0]
    ids = epoch.add([10.0, 20.0, 30.0, 5.0, 7.0], speedup=rules)
    first = epoch.decide(0.0)
    assert first.slots.sum() == 20
    epoch.update(ids[[0, 3]], work=[2.0, 0.0])
    second = epoch.decide(1.0)
    assert second.slots[3] == 18  # a quarter of its work is believed to be left: the least of all
    epoch.finish(ids[[2, 0, 3]])
    left = epoch.decide(2.0)
    assert left.ids.tolist() == ids[[4, 1]].tolist() or left.ids.tolist() == ids[[1, 4]].tolist()
    linear = mb.Epoch(20, "sum:response", effort=effort)
    linear.add([20.0, 7.0])
    assert sorted(left.slots.tolist()) == sorted(linear.decide(2.0).slots.tolist())
    late = epoch.add([3.0], speedup=[rates(rng, 4)])
    third = epoch.decide(3.0)
    assert third.slots[third.ids.tolist().index(int(late[0]))] <= 4
    third.plan().validate()


def test_nobody_starves_where_shares_pay():
    epoch = mb.Epoch(100)
    epoch.add([10.0, 20.0, 30.0, 40.0], speedup=0.5)
    assert epoch.decide(0.0).slots.tolist() == [44, 31, 19, 6]  # 7, 5, 3, 1 of 16


@pytest.mark.parametrize("rule", [None, [1.0], 0.0, [1.0, 1.0, 1.0]])
@pytest.mark.parametrize("policy", ["flex", "hesrpt"])
def test_a_job_for_one_slot_counts_alike_however_it_is_written(policy, rule):
    """It says nothing of how steep the shares of the others should be."""
    table = [1.0, 1.5, 1.8, 2.0]
    wide, narrow = [5.0, 6.0, 7.0], np.arange(8.0, 28.0)
    jobs = mb.Jobs(
        np.append(wide, narrow),
        max_slots=[8] * 3 + [1 if rule is None else 8] * 20,
        speedup=[table] * 3 + [rule] * 20,
    )
    epoch, same = mb.Epoch(8, policy=policy), mb.Epoch(8, policy=policy)
    epoch.add(jobs)
    same.add(jobs.work, max_slots=[4] * 3 + [1] * 20, speedup=[table] * 3 + [0.5] * 20)
    assert epoch.decide(0.0).slots.tolist() == same.decide(0.0).slots.tolist()


def test_slots_end_where_a_table_meets_its_hull():
    """Between its steps a job wastes slots: it has those of a step, or none beyond the step before."""
    steps = [1.0, 1.0, 1.0, 4.0, 4.0, 4.0, 4.0, 6.0]
    rng = np.random.default_rng(8)
    for objective in ("sum:response", "max:completion"):
        for _ in range(30):
            count, slots = int(rng.integers(2, 6)), int(rng.integers(8, 40))
            jobs = mb.Jobs(rng.uniform(1.0, 30.0, count), speedup=[steps] * count)
            plan = mb.plan(jobs, slots, objective, effort=0)
            plan.validate()
            assert set(plan.pieces["slots"].tolist()) <= {1, 4, 8}
            epoch = mb.Epoch(slots, objective)
            epoch.add(jobs)
            decision = epoch.decide(0.0)
            assert set(decision.slots.tolist()) <= {0, 1, 4, 8}
            decision.plan().validate()


def test_left_over_slots_go_by_the_table():
    """The step to four slots does not fit: three do what the table says of them."""
    epoch = mb.Epoch(5)
    epoch.add([8.0, 9.0], speedup=[[1.0, 1.0, 1.0, 4.0], [1.0, 1.2, 1.3, 4.0]])
    assert epoch.decide(0.0).slots.tolist() == [4, 1]
    epoch.decide(0.0, slots=4)
    alone = mb.Epoch(3)
    alone.add([9.0], speedup=[[1.0, 1.2, 1.3, 4.0]])
    decision = alone.decide(0.0)
    assert decision.slots.tolist() == [3]
    assert decision.plan().completion[0] == pytest.approx(9.0 / 1.3)


def test_slots_that_do_more_than_one_each():
    """A bound holds for them, too: the best of all schedules is not below it."""
    rng = np.random.default_rng(9)
    for _ in range(20):
        work, slots = rng.uniform(1.0, 9.0, 2).round(2), int(rng.integers(2, 5))
        rules = [[1.0, 3.0, 3.5], np.cumsum(rng.uniform(1.0, 2.0, slots)).tolist()]
        rules[1][0] = 1.0
        jobs = mb.Jobs(work, speedup=rules)
        for objective in ("sum:completion", "max:completion"):
            best = oracle.best_value(
                work.tolist(),
                rules,
                [slots] * 2,
                slots,
                partial(literal_value, objective, jobs=jobs),
            )
            plan = mb.plan(jobs, slots, objective)
            plan.validate()
            assert plan.lower_bound <= best * (1 + 1e-9) <= plan.value * (1 + 1e-6)
            held = mb.plan(jobs, slots, objective, period=0.5)
            held.validate()
            assert held.lower_bound <= held.value


def test_where_speed_ups_differ_slots_go_where_they_add_most():
    """A job that gains by slots has them, one that hardly does has few, however much work is left."""
    epoch = mb.Epoch(16)
    epoch.add([100.0, 60.0], speedup=[0.9, [1.0, 1.1, 1.15]])
    assert epoch.decide(0.0).slots.tolist() == [14, 2]


def test_jobs_that_keep_coming_make_prices_higher():
    """A job counts as one that came if it was added after the time of the first decision."""
    batch, loop = mb.Epoch(12), mb.Epoch(12)
    for epoch in (batch, loop):
        epoch.add([30.0, 20.0, 10.0], speedup=[0.9, 0.8, [1.0, 1.6, 2.0, 2.2, 2.3, 2.4]])
    came = []
    for now in range(1, 40):
        batch.decide(float(now))
        loop.decide(float(now))
        came += loop.add([5.0], speedup=0.7).tolist()
    assert pickle.loads(pickle.dumps(loop)) == loop
    loop.decide(40.0)
    loop.finish(came)
    few, many = batch.decide(41.0).slots, loop.decide(41.0).slots
    assert few.sum() == many.sum() == 12
    assert many[2] < few[2]  # slots of the job that gains least by them


def test_hysteresis():
    """Who holds slots keeps more of them when another one comes."""
    held = []
    for hysteresis in (0.0, 1.0):
        epoch = mb.Epoch(20, hysteresis=hysteresis)
        epoch.add([10.0], speedup=0.7)
        assert epoch.decide(0.0).slots.tolist() == [20]
        epoch.add([9.9], speedup=0.7)
        held.append(epoch.decide(1.0).slots[0])
    assert held[0] < held[1] < 10


def test_a_refused_call_changes_nothing():
    epoch = mb.Epoch(4)
    epoch.add([1.0], speedup=0.5)
    before = pickle.dumps(epoch)
    for speedup in (1.5, [[1.0, 0.9]], [0.5, 0.5]):
        with pytest.raises(ValueError, match="speedup"):
            epoch.add([1.0], speedup=speedup)
    assert pickle.dumps(epoch) == before


# Tables ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("speedup", "message"),
    [
        (1.5, r"speedup\[0\] = 1.5: must be from 0 to 1"),
        ([0.5, float("nan")], r"speedup\[1\] = nan: must be from 0 to 1"),
        ([0.5], r"speedup has 1 entry but work has 2"),
        ([0.5, "fast"], r"speedup\[1\] = 'fast': not a number or rates"),
        ([0.5, []], r"speedup\[1\] = \[\]: not a number or rates"),
        ([0.5, [[1.0]]], r"speedup\[1\] = \[\[1.0\]\]: not a number or rates"),
        ([True, 0.5], r"speedup\[0\] = True: not a number or rates"),
        ([0.5, [0.9, 1.0]], r"speedup\[1\]\[0\] = 0.9: one slot does 1"),
        ([0.5, [1.0, 0.5]], r"speedup\[1\]\[1\] = 0.5: more slots must not do less"),
        ([0.5, [1.0, 1.2, 1.1]], r"speedup\[1\]\[2\] = 1.1: more slots must not do less"),
        ([0.5, [1.0, 1e13]], r"speedup\[1\]\[1\] = .*: must be from 1e-12 to 1e12"),
        ([0.5, [1.0, float("inf")]], r"speedup\[1\]\[1\] = inf: must be finite"),
    ],
)
def test_wrong_speedups(speedup, message):
    with pytest.raises(ValueError, match=message):
        mb.Jobs([1.0, 2.0], speedup=speedup)


def test_tables_keep_their_rules():
    jobs = mb.Jobs([1.0, 2.0, 3.0], speedup=[0.5, None, [1.0, 1.9, 2.7]])
    assert rules_of(jobs) == [0.5, 1.0, [1.0, 1.9, 2.7]]
    for same in (pickle.loads(pickle.dumps(jobs)), copy.deepcopy(jobs), jobs.take([0, 1, 2])):
        assert same == jobs
        assert rules_of(same) == rules_of(jobs)
    assert jobs != mb.Jobs([1.0, 2.0, 3.0], speedup=[0.5, None, [1.0, 1.9, 2.6]])
    assert rules_of(jobs.take([2, 0])) == [[1.0, 1.9, 2.7], 0.5]
    assert rules_of(jobs.take([1])) == [1.0]
    assert jobs.rates([4, 4, 4]).tolist() == [2.0, 4.0, 2.7]
    assert jobs.rates([2, 0], [2, 1]).tolist() == [1.9, 0.0]
    assert mb.Jobs([1.0]).speedup is None
    assert mb.Jobs([], speedup=0.5).take([]).work.tolist() == []


def test_files():
    jobs = mb.Jobs([1.0, 2.0, 3.0], speedup=[0.5, None, [1.0, 1.9, 2.7]])
    out = io.StringIO()
    write_jobs(jobs, out)
    assert "1.0;1.9;2.7" in out.getvalue()
    assert read_jobs(io.BytesIO(out.getvalue().encode())) == jobs
    blank = read_jobs(io.BytesIO(b"work,speedup\n1,\n2,0.8\n"))
    assert rules_of(blank) == [1.0, 0.8]
    with pytest.raises(ValueError, match="row 0, speedup = 'x;2': not a number"):
        read_jobs(io.BytesIO(b"work,speedup\n1,x;2\n"))


def test_measured_tables_go_through_files():
    """Tables whose steps rise and fall, in both kinds of CSV: the same jobs, and the same decisions."""
    tables = [[1.0, 1.1, 2.6, 2.7], [1.0, 1.9, 1.9, 3.5], [1.0, 2.0]]
    jobs = mb.Jobs([40.0, 30.0, 9.0], weight=[1.0, 2.0, 3.0], speedup=tables)
    text = io.StringIO()
    mb.write_jobs(jobs, text)
    again = mb.read_jobs(io.StringIO(text.getvalue()))
    assert again == jobs
    whole = [mb.plan(each, 6, policy="flex") for each in (jobs, again)]
    assert whole[0] == whole[1]
    head = "name,arrival,maps,map_seconds,reduces,reduce_seconds,shuffle,speedup\n"
    rows = [
        f"{name},0,8,2.5,0,0,0,{';'.join(map(str, table))}\n"
        for name, table in zip("abc", tables, strict=True)
    ]
    found = mb.read(io.StringIO(head + "".join(rows))).table
    assert [rule.tolist() for rule in found.speedup] == tables
    cluster = mb.Cluster([{"slots": 4}])
    named = mb.ClusterJobs([8] * 3, 2.5, speedup=tables, name=["a", "b", "c"])
    results = [mb.simulate(each, "flex", cluster=cluster, rng=1) for each in (found, named)]
    np.testing.assert_array_equal(*(one.records["completion"] for one in results))


@pytest.mark.parametrize("mode", ["guarantee", "start"])
@pytest.mark.parametrize("effort", [None, 20])
def test_speedups_change(mode, effort):
    """A changed job decides as one that came so, through curves, tables and back to linear."""
    if mode == "start" and effort:
        return  # no such epoch
    work, table = [30.0, 20.0, 10.0], [1.0, 1.8, 2.4, 2.7]
    epoch = mb.Epoch(12, min_mode=mode, effort=effort)
    ids = epoch.add(work, min_slots=1)
    epoch.decide(0.0)
    for now, rules in enumerate(([0.5, None, table], 0.7, [table, 0.0, 0.9], [1.0, None, 1])):
        epoch.update(ids, speedup=rules)
        fresh = mb.Epoch(12, min_mode=mode, effort=effort)
        fresh.add(work, min_slots=1, speedup=rules, arrival=0.0)
        decisions = epoch.decide(now), fresh.decide(now)
        if mode == "guarantee":  # with a start condition, what a job holds and found counts, too
            assert decisions[0].plan().value == decisions[1].plan().value
            assert epoch.decide(now).slots.tolist() == fresh.decide(now).slots.tolist()
    epoch.update(ids[:1], speedup=[[1.0, 2.0, 2.0]])
    twin = pickle.loads(pickle.dumps(epoch))
    assert twin == epoch and twin.decide(9.0).slots.tolist() == epoch.decide(9.0).slots.tolist()


def test_a_changed_speedup_counts_from_then_on():
    """What was done before is done at the old rate: so much is believed to be left of who outlives."""
    epoch = mb.Epoch(4)
    ids = epoch.add([100.0, 60.0], max_slots=2, speedup=[0.5, 0.5], size=100.0)
    epoch.decide(0.0)
    epoch.decide(100.0)
    epoch.update(ids[:1], speedup=1.0)
    epoch.decide(100.0)
    epoch.update(ids[:1], work=0.0)
    epoch.decide(150.0)
    done = 100 * np.sqrt(2) + 50 * 2.0
    assert epoch.decide(150.0).plan().jobs.work[0] == pytest.approx(done / 4)


@pytest.mark.parametrize(
    ("speedup", "says"),
    [
        ([0.5], "speedup has 1 entry but ids has 2"),
        ([0.5, 1.5], r"speedup\[1\] = 1.5: must be from 0 to 1"),
        ([0.5, [1.0, 0.5]], r"speedup\[1\]\[1\] = 0.5: more slots"),
        ([0.5, "fast"], r"speedup\[1\] = 'fast'"),
    ],
)
def test_a_wrong_speedup_changes_nothing(speedup, says):
    epoch = mb.Epoch(4)
    ids = epoch.add([10.0, 20.0])
    before = pickle.dumps(epoch)
    with pytest.raises(ValueError, match=says):
        epoch.update(ids, speedup=speedup, work=[1.0, 1.0])
    assert pickle.dumps(epoch) == before


def test_a_learnt_speedup_is_not_told():
    epoch = mb.Epoch(4)
    ids = epoch.add([10.0, 20.0], program=[-1, 3])
    epoch.update(ids[:1], speedup=0.5)
    with pytest.raises(ValueError, match=r"speedup\[1\]: it is learnt"):
        epoch.update(ids, speedup=0.5)
