"""Strict deadlines: met where that is possible, `infeasible` only where it is not, no false bound."""

import math

import numpy as np
import pytest

import malleable as mb
from malleable.flows.generate import section51_flows
from tests.flows.flow_instances import as_flows
from tests.oracles.flow_schedules import best_unit_value
from tests.oracles.malleable_optimum import malleable_optimum

AGGREGATES = ("sum", "max")


def random_table(rng, count, *, minima):
    """Jobs on a few slots, and their deadlines; about as many sets can be met as cannot."""
    slots = int(rng.integers(2, 7))
    high = rng.integers(1, slots + 1, count)
    low = np.zeros(count, dtype=np.int64)
    if minima:
        low = np.minimum(rng.integers(0, 3, count), high)
        while low.sum() > slots:
            low[int(np.argmax(low))] -= 1
    work = rng.uniform(1.0, 9.0, count)
    load = work.sum() / slots
    deadline = np.maximum(rng.uniform(0.3, 1.4, count) * load, work / high * rng.uniform(0.95, 1.4))
    weight = rng.choice([1.0, 1.0, 3.0, 10.0], count)
    return mb.Jobs(work, min_slots=low, max_slots=high, deadline=deadline, weight=weight), slots


def best_missed(jobs, slots):
    """Least weight of missed deadlines, by linear programs for every choice and order."""
    return malleable_optimum(
        jobs.work.tolist(),
        jobs.min_slots.tolist(),
        jobs.max_slots.tolist(),
        slots,
        "sum:tardy",
        weight=jobs.weight.tolist(),
        deadline=jobs.deadline.tolist(),
    ).value


@pytest.mark.parametrize("minima", [False, True])
def test_jobs_against_every_choice_and_order(minima):
    rng = np.random.default_rng([8, minima])
    statuses, missed, least = [], 0.0, 0.0
    for _ in range(40):
        jobs, slots = random_table(rng, int(rng.integers(2, 5)), minima=minima)
        best = best_missed(jobs, slots)
        for aggregate in AGGREGATES:
            plan = mb.plan(jobs, slots, f"{aggregate}:strict")
            plan.validate()
            if best == 0.0:
                assert (plan.status, plan.value, plan.lower_bound) == ("ok", 0.0, 0.0)
                assert plan.met.all()
            else:
                assert (plan.status, plan.value, plan.lower_bound) == ("infeasible",) + 2 * (
                    math.inf,
                )
                assert plan.gap == 0.0 and not plan.met.all()
                missed += jobs.weight[~plan.met].sum()
                least += best
            assert (plan.penalty == np.where(plan.met, 0.0, np.inf)).all()
            statuses.append(plan.status)
        for policy in ("fair", "fifo", "wdeq"):
            other = mb.plan(jobs, slots, "sum:strict", policy=policy)
            assert other.status == ("ok" if other.met.all() else other.status)
            assert other.status in ("ok", "unmet", "infeasible")
            if best == 0.0:
                assert other.lower_bound == 0.0 and other.status != "infeasible"
        epoch = mb.Epoch(slots, "sum:strict")
        epoch.add(
            jobs.work,
            min_slots=jobs.min_slots,
            max_slots=jobs.max_slots,
            weight=jobs.weight,
            deadline=jobs.deadline,
        )
        decision = epoch.decide(0.0)
        expected = 0.0 if best == 0.0 else math.inf
        assert (decision.value, decision.lower_bound) == (expected, expected)
        assert decision.plan().status == ("ok" if best == 0.0 else "infeasible")
        decision.plan().validate()
    assert 20 < statuses.count("infeasible") < 60  # both kinds are many
    assert missed <= 1.05 * least


def test_following_the_epoch_meets_what_can_be_met():
    rng = np.random.default_rng(3)
    followed = 0
    for _ in range(30):
        jobs, slots = random_table(rng, 4, minima=False)
        if best_missed(jobs, slots) > 0.0:
            continue
        followed += 1
        epoch = mb.Epoch(slots, "max:strict", hysteresis=float(rng.choice([0.0, 0.5])))
        epoch.add(jobs.work, max_slots=jobs.max_slots, deadline=jobs.deadline)
        now, left = 0.0, jobs.work.copy()
        while len(epoch):
            decision = epoch.decide(now)
            plan = decision.plan()
            assert plan.status == "ok" and plan.value == 0.0
            # On to where the plan changes first.
            step = min(t for t in (*plan.pieces["start"], *plan.pieces["end"]) if t > now) - now
            left[decision.ids] -= step * decision.slots
            now += step
            ended = decision.ids[left[decision.ids] <= 1e-9]
            epoch.remove(ended)
            others = np.setdiff1d(decision.ids, ended)
            epoch.update(others, work=left[others])
    assert followed > 5


def test_weight_decides_what_is_missed_and_weight_0_is_strict_as_well():
    jobs = mb.Jobs([4.0, 4.0, 4.0], deadline=4.5, weight=[1.0, 5.0, 3.0])
    plan = mb.plan(jobs, 2, "sum:strict")
    assert plan.status == "infeasible" and plan.met.tolist() == [False, True, True]
    lines = plan.explain()
    assert "not all strict deadlines can be met" in lines[0]
    assert not any("strict" in line for line in lines[1:])
    light = mb.Jobs([4.0, 4.0], deadline=[1.9, 4.0], weight=[0.0, 1.0])
    assert mb.plan(light, 2, "sum:strict").status == "infeasible"
    assert mb.plan(mb.Jobs([1.0], deadline=1.0, weight=0.0), 1, "sum:strict").value == 0.0


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_jobs_without_deadline_cost_nothing(aggregate):
    jobs = mb.Jobs([4.0, 2.0, 8.0], deadline=[None, 1.0, None])
    plan = mb.plan(jobs, 2, f"{aggregate}:strict")
    assert (plan.status, plan.value, plan.lower_bound) == ("ok", 0.0, 0.0)
    assert mb.plan(mb.Jobs([4.0]), 2, f"{aggregate}:strict").value == 0.0
    assert mb.plan(mb.Jobs([]), 2, f"{aggregate}:strict").value == 0.0


def test_work_that_ended_too_late_proves_it():
    jobs = mb.Jobs([0.0, 1.0], arrival=[3.0, 0.0], deadline=[2.0, 9.0])
    plan = mb.plan(jobs, 2, "sum:strict", now=4.0)
    assert plan.status == "infeasible" and plan.met.tolist() == [False, True]


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_strict_beside_other_kinds(aggregate):
    """Deadlines are met first; what they leave goes to the others, and bounds stay bounds."""
    rng = np.random.default_rng(11)
    feasible, worst = 0, 1.0
    for _ in range(15):
        jobs, slots = random_table(rng, 4, minima=bool(rng.integers(2)))
        kinds = [f"{aggregate}:{k}" for k in ("strict", "strict", "response", "response")]
        only = np.where(np.arange(4) < 2, jobs.deadline, np.inf)
        strict = mb.Jobs(
            jobs.work,
            min_slots=jobs.min_slots,
            max_slots=jobs.max_slots,
            weight=jobs.weight,
            deadline=only,
        )
        possible = best_missed(strict, slots) == 0.0
        plan = mb.plan(strict, slots, kinds)
        plan.validate()
        if not possible:
            assert plan.status == "infeasible" and plan.lower_bound == math.inf
            continue
        feasible += 1
        assert plan.status == "ok" and plan.met.all() and 0.0 < plan.value < math.inf
        assert 0.0 < plan.lower_bound <= plan.value
        # With deadlines dear instead of strict, the oracle knows the optimum.
        dear = malleable_optimum(
            strict.work.tolist(),
            strict.min_slots.tolist(),
            strict.max_slots.tolist(),
            slots,
            [k.replace("strict", "sla") for k in kinds],
            weight=[1.0, 1.0, *strict.weight[2:].tolist()],
            sla=[[(d, 1e6)] if math.isfinite(d) else [] for d in only],
        ).value
        assert plan.lower_bound <= dear * (1 + 1e-9)
        assert plan.value >= dear * (1 - 1e-9)
        worst = max(worst, plan.value / dear)
    assert feasible > 4
    assert worst <= (1.5 if aggregate == "sum" else 1.0 + 1e-6)  # of orders none may be good


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_a_penalty_that_returns_infinity(aggregate):
    pytest.importorskip("numba")

    def strict(job, time):
        return 0.0 if time <= 2.0 else math.inf

    jobs = mb.Jobs([3.0, 3.0], min_slots=1, max_slots=2)
    plan = mb.plan(jobs, 3, f"{aggregate}:custom", penalty=strict)
    assert (plan.status, plan.value, plan.lower_bound) == ("ok", 0.0, 0.0)
    late = mb.plan(mb.Jobs([3.0, 3.1], max_slots=2), 3, f"{aggregate}:custom", penalty=strict)
    assert (late.status, late.value, late.lower_bound) == ("infeasible", math.inf, math.inf)
    assert late.met.sum() == 1
    flows = as_flows([[(3, 2, [])], [(3, 2, [])]])
    assert mb.plan(flows, 4, f"{aggregate}:custom", penalty=strict).value == 0.0
    flows = as_flows([[(3, 2, [])], [(4, 2, [])]])
    late = mb.plan(flows, 3, f"{aggregate}:custom", penalty=strict)
    assert (late.status, late.lower_bound) == ("infeasible", math.inf)

    def both(job, time):  # a slope, then infinity
        return time if time <= 9.0 else math.inf

    plan = mb.plan(jobs, 3, f"{aggregate}:custom", penalty=both)
    assert plan.status == "ok" and 0.0 < plan.lower_bound <= plan.value < math.inf


def test_flows_against_unit_steps():
    """Nothing that some schedule meets is called infeasible; small cases are decided mostly."""
    rng = np.random.default_rng(5)
    statuses = []
    for _ in range(60):
        table = []
        for _ in range(int(rng.integers(1, 4))):
            rows = [
                (
                    int(rng.integers(1, 4)),
                    int(rng.integers(1, 4)),
                    [p for p in range(i) if rng.random() < 0.5],
                )
                for i in range(int(rng.integers(1, 3)))
            ]
            table.append(rows)
        slots = int(rng.integers(2, 4))
        total = sum(w for rows in table for w, _, _ in rows)
        deadline = rng.integers(1, max(2, 1 + round(1.3 * total / slots)) + 1, len(table)).astype(
            float
        )
        flows = as_flows(table, deadline=deadline)

        def paid(f, t, deadline=deadline):
            return 0.0 if t <= deadline[f] else 1.0

        reachable = best_unit_value(table, slots, paid, False, total + 1) == 0.0
        for aggregate in AGGREGATES:
            plan = mb.plan(flows, slots, f"{aggregate}:strict")
            plan.validate()
            assert plan.met.all() == (plan.value == 0.0) == (plan.status == "ok")
            assert plan.lower_bound == (math.inf if plan.status == "infeasible" else 0.0)
            if reachable:
                assert plan.status != "infeasible"
            statuses.append((reachable, plan.status))
    reached = [s for r, s in statuses if r]
    assert reached.count("ok") >= 0.95 * len(reached) > 10
    assert sum(s == "infeasible" for _, s in statuses) > 20
    assert sum(s == "unmet" for _, s in statuses) <= 0.1 * len(statuses)


@pytest.mark.parametrize(
    "policy", ["flowflex", "flowflex-fast", "flowflex-literal", "fair", "fifo"]
)
def test_deadlines_of_a_schedule_are_never_infeasible(policy):
    rng = np.random.default_rng(9)
    for seed in range(12):
        flows = section51_flows(seed, slots=25, flows=5, jobs=4)
        ends = mb.plan(flows, 25, "sum:response", effort=0).flow_completion
        some = np.where(rng.random(len(ends)) < 0.8, ends, np.inf)
        strict = flows._replaced(deadline=some)
        plan = mb.plan(strict, 25, "sum:strict", policy=policy)
        plan.validate()
        assert plan.status in ("ok", "unmet") and plan.lower_bound == 0.0
        if policy == "flowflex":
            assert plan.guarantee == ((1.0, 2.0),)
        if policy == "flowflex-literal":
            assert plan.speed <= 2.0 * (1 + 1e-9)  # theorem 2


def test_flows_that_are_late_by_twice_their_deadlines_are_infeasible():
    flows = as_flows([[(4, 2, []), (4, 2, [0])], [(6, 3, [])]], deadline=[1.9, 4.0])
    assert mb.plan(flows, 3, "sum:strict").status == "infeasible"


def test_the_flow_epoch_takes_strict():
    epoch = mb.FlowEpoch(3, "sum:strict")
    epoch.add(as_flows([[(3, 3, [])], [(3, 3, [])]], deadline=[2.0, 1.0]))
    first = epoch.decide(0.0)
    assert first.slots.tolist() == [0, 3] and first.plan().status == "ok"
    epoch.update([0], work=5.0)
    second = epoch.decide(0.0).plan()
    assert second.status == "infeasible" and second.met.sum() == 1
    assert "not all strict deadlines" in "".join(second.explain())
