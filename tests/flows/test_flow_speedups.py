"""Flows whose jobs have speed-ups: tables, files, epochs, plans, their bound and the checker."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import malleable as mb

TABLE = [1.0, 1.8, 2.4, 2.4, 3.0]


def one_job(work=8.0, **more):
    return [{"name": "a", "work": work, **more}]


@st.composite
def flows_with_speedups(draw, most=4):
    rules = st.sampled_from([None, 1.0, 0.8, 0.5, 0.0, TABLE])
    table = []
    for _ in range(draw(st.integers(1, most))):
        jobs = []
        for k in range(draw(st.integers(1, 4))):
            after = draw(st.sets(st.sampled_from(range(k)), max_size=2)) if k else ()
            jobs.append(
                {"name": str(k), "work": draw(st.sampled_from([0.0, 1.0, 3.0, 10.0]))}
                | {"max_slots": draw(st.integers(1, 9)), "speedup": draw(rules)}
                | {"after": [str(p) for p in sorted(after)]}
            )
        table.append(jobs)
    count = len(table)
    numbers = st.lists(st.sampled_from([0.0, 1.0, 4.0]), min_size=count, max_size=count)
    deadline = [5.0 + t for t in draw(numbers)]
    return mb.Flows(table, arrival=draw(numbers), weight=draw(numbers), deadline=deadline)


def test_tables_and_files_keep_speedups(tmp_path):
    flows = mb.Flows(
        [[*one_job(speedup=0.5), {"name": "b", "work": 2}], one_job(speedup=TABLE), one_job()]
    )
    assert flows.speedup[:2] == (0.5, 1.0) and flows.speedup[2].tolist() == TABLE
    columns = (flows.job_offset, flows.work, flows.parent_offset, flows.parent)
    names = {"name": flows.name, "job_name": flows.local_names()}
    rules = [0.5, None, TABLE, 1.0]
    assert mb.Flows.from_arrays(*columns, speedup=rules, **names, arrival=0.0) == mb.Flows.joined(
        [flows.take([0]), flows.take([1, 2])]
    )
    assert mb.Flows.joined([flows.take([2]), flows.take([1])]).speedup[0] == 1.0
    mb.write_flows(tmp_path / "flows.json", flows)
    again = mb.read_flows(tmp_path / "flows.json")
    assert again.speedup[2].tolist() == TABLE and again.speedup[:2] == (0.5, 1.0)
    assert mb.Flows([one_job()]).speedup is None
    assert mb.cluster_flows(flows, 1.0).speedup[0] == 0.5
    for wrong, says in ((1.5, "must be from 0 to 1"), ([1.0, 0.5], "must not do less")):
        with pytest.raises(ValueError, match=says):
            mb.Flows([one_job(speedup=wrong)])


@given(flows_with_speedups(), st.sampled_from(["flowflex", "flowflex-literal", "fair", "fifo"]))
def test_plans_hold(flows, policy):
    """Every plan is a schedule, and none is below the bound of another."""
    for objective in ("sum:response", "max:stretch", "sum:tardiness", "sum:tardy", "sum:strict"):
        plan = mb.plan(flows, 6, objective, policy)
        plan.validate()
        other = mb.plan(flows, 6, objective, "fair")
        assert plan.lower_bound <= other.value * (1 + 1e-9) + 1e-9
        assert plan.guarantee is None or flows.speedup is None


def test_a_job_takes_what_its_speedup_says():
    for rule, slots, takes in ((0.5, 16, 2.0), (TABLE, 5, 8 / 3), (TABLE, 3, 8 / 2.4), (0.0, 9, 8)):
        plan = mb.plan(mb.Flows([one_job(speedup=rule)]), slots)
        assert plan.flow_completion[0] == pytest.approx(takes)
        assert plan.value == pytest.approx(plan.lower_bound)


def test_speedups_of_programs_are_learnt():
    chain = [*one_job(), {"name": "b", "work": 100.0, "after": ["a"]}, {"name": "c", "work": 50.0}]
    epoch = mb.FlowEpoch(4)
    ids = epoch.add(mb.Flows([chain]), program=[3, -1, 3]).jobs
    assert epoch.rates(3, 2).tolist() == pytest.approx([1.0, 2**0.8])
    slots = epoch.decide(0.0).slots
    assert slots.sum() == 4 and slots[2] > 1
    gained = slots[2] ** 0.5
    epoch.update([ids[2]], work=[50.0 - 10.0 * gained])
    again = pickle.loads(pickle.dumps(epoch))
    assert (epoch.decide(10.0).slots == again.decide(10.0).slots).all()
    assert epoch.rates(3, int(slots[2]))[-1] == again.rates(3, int(slots[2]))[-1]
    assert epoch.rates(3, int(slots[2]))[-1] == pytest.approx(gained)
    for wrong, says in (
        (lambda: epoch.update([ids[2]], speedup=0.5), "it is learnt for jobs that have a program"),
        (lambda: epoch.add(mb.Flows([chain]), program=[0, -2, 0]), r"program\[1\] = -2"),
        (lambda: epoch.add(mb.Flows([chain]), program=[0, 1]), "program has 2"),
    ):
        with pytest.raises(ValueError, match=says):
            wrong()
    epoch.update([ids[1]], speedup=0.5)


def test_the_checker_sees_rates():
    plan = mb.plan(mb.Flows([one_job(speedup=0.5)]), 16)
    plan.flows = mb.Flows([one_job(speedup=0.9)])
    with pytest.raises(ValueError, match="slot-seconds done of 8"):
        plan.validate()


def test_nobody_gets_everything_if_work_swells():
    epoch = mb.FlowEpoch(20)
    epoch.add(mb.Flows([one_job(w, speedup=0.5) for w in (10.0, 20.0, 30.0)]))
    slots = epoch.decide(0.0).slots
    assert epoch.rule == "gains" and slots.sum() == 20
    assert slots[0] > slots[1] > slots[2] > 0
    # A flow spreads over its ready jobs.
    both = mb.FlowEpoch(20)
    both.add(mb.Flows([[{"name": n, "work": 5, "speedup": 0.5} for n in "ab"], one_job(10.0)]))
    assert both.decide(0.0).slots[:2].tolist() == [10, 10]


@pytest.mark.parametrize("policy", ["flowflex", "fair", "fifo", "flowflex-literal"])
def test_a_decision_begins_its_plan(policy):
    rng = np.random.default_rng(3)
    epoch = mb.FlowEpoch(30, policy=policy)
    flows = [
        [
            {"name": "a", "work": w, "speedup": 0.6},
            {"name": "b", "work": 9.0, "speedup": TABLE, "max_slots": 4},
            {"name": "c", "work": w / 2, "after": ["a"]},
        ]
        for w in rng.lognormal(3, 1, 6)
    ]
    ids = epoch.add(mb.Flows(flows))
    first = epoch.decide(0.0)
    plan = first.plan()
    plan.validate()
    assert plan.slots.tolist() == first.slots.tolist()
    assert plan.lower_bound <= plan.value
    epoch.update(ids.jobs[:3], work=[1.0, 2.0, 3.0])
    epoch.finish(ids.jobs[4:5])
    later = epoch.decide(2.0)
    twin = pickle.loads(pickle.dumps(epoch))
    assert twin == epoch and twin.decide(2.0).slots.tolist() == later.slots.tolist()
    there = later.plan()
    there.validate()
    assert there.slots.sum() == later.slots.sum()


def test_speedups_change():
    """A changed flow decides as one that came so; linear ones as if nobody had said anything."""
    rules = [0.5, TABLE, None, 1.0]
    epoch = mb.FlowEpoch(12)
    table = [[{"name": n, "work": 10.0} for n in "ab"], [{"name": n, "work": 15.0} for n in "cd"]]
    ids = epoch.add(mb.Flows(table))
    plain = epoch.decide(0.0).slots.tolist()
    for k, rule in itertools.product(range(4), rules):
        epoch.update(ids.jobs[[k]], speedup=[rule])
        own = [0.5 if j == k else None for j in range(4)]
        own[k] = rule
        fresh = mb.FlowEpoch(12)
        offset = [0, 2, 4]
        fresh.add(
            mb.Flows.from_arrays(offset, [10, 10, 15, 15], [0] * 5, [], speedup=own, arrival=0.0)
        )
        assert epoch.decide(0.0).slots.tolist() == fresh.decide(0.0).slots.tolist()
        epoch.update(ids.jobs, speedup=1.0)
    assert epoch.decide(0.0).slots.tolist() == plain and epoch.rule == "order"
    before = pickle.dumps(epoch)
    with pytest.raises(ValueError, match=r"speedup\[1\] = 2: must be from 0 to 1"):
        epoch.update(ids.jobs[:2], speedup=[0.5, 2.0], work=1.0)
    assert pickle.dumps(epoch) == before


def test_a_period_gives_no_more_than_keeps_busy():
    epoch = mb.FlowEpoch(100, period=10.0)
    ids = epoch.add(mb.Flows([one_job(20.0, speedup=0.5), one_job(1000.0, speedup=0.5)]))
    decision = epoch.decide(0.0)
    assert decision.slots.tolist() == [4, 96] and decision.order.tolist() == ids.jobs.tolist()


def test_linear_flows_beside_curved_ones_keep_their_order():
    epoch = mb.FlowEpoch(10)
    epoch.add(mb.Flows([one_job(30.0), one_job(10.0), one_job(90.0, speedup=[1.0, 1.0])]))
    assert epoch.decide(0.0).slots.tolist()[1] >= 9


def test_rounding_loses_no_job():
    """Two jobs end together but for rounding; what waits for them still runs."""
    first = [{"name": "a", "work": 10, "max_slots": 6}, *one_job(3.0, speedup=0.0)]
    first[1] |= {"name": "b", "after": ["a"]}
    second = [{"name": "c", "work": 10.0, "max_slots": 4, "speedup": 0.0}]
    second.append({"name": "d", "work": 3.0, "max_slots": 8, "speedup": TABLE})
    plan = mb.plan(mb.Flows([first, second], weight=[4.0, 1.0], arrival=4.5), 9, now=6.5)
    plan.validate()
