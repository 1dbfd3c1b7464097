"""The epoch over flows: what comes, changes, finishes; what is decided."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import malleable as mb
from malleable.flows.generate import section51_flows


def two_steps(work=4.0):
    return mb.Flows(
        [[{"name": "a", "work": work, "max_slots": 2}, {"name": "b", "work": 2.0, "after": ["a"]}]]
    )


def test_a_flow_runs_through():
    epoch = mb.FlowEpoch(3, "sum:response")
    ids = epoch.add(two_steps())
    assert (ids.flows.tolist(), ids.jobs.tolist()) == ([0], [0, 1])
    first = epoch.decide(0.0)
    assert first.ids.tolist() == [0, 1] and first.slots.tolist() == [2, 0]
    assert first.ready.tolist() == [True, False] and first.changed.tolist() == [True, False]
    epoch.update([0], work=1.0)
    again = epoch.decide(1.5)
    assert again.slots.tolist() == [2, 0] and not again.changed.any()
    assert again.plan().flow_completion[0] == pytest.approx(1.5 + 0.5 + 2 / 3)
    epoch.finish([0])
    second = epoch.decide(2.0)
    assert second.ids.tolist() == [1] and second.slots.tolist() == [3]
    assert second.ready.all() and not len(second.ended)
    epoch.finish([1])
    last = epoch.decide(3.0)
    assert last.ended.tolist() == [0] and not len(last.ids) and len(epoch) == 0
    assert epoch.add(two_steps()).flows.tolist() == [1]  # ids are never used twice


def test_stretch_remembers_the_size():
    epoch = mb.FlowEpoch(2, "sum:stretch")
    epoch.add(two_steps())
    epoch.update([0], work=1.0)
    plan = epoch.decide(0.0).plan()
    assert plan.value == pytest.approx(plan.flow_completion[0] / 6.0)


def test_arrivals_slots_and_removal():
    epoch = mb.FlowEpoch(4)
    epoch.add(mb.Flows([[{"work": 8}], [{"work": 8}]], arrival=[0.0, 5.0]))
    early = epoch.decide(0.0)
    assert early.slots.tolist() == [4, 0] and early.ready.tolist() == [True, False]
    fewer = epoch.decide(0.0, slots=1)
    assert fewer.slots.tolist() == [1, 0] and epoch.slots == 1
    none = epoch.decide(0.0, slots=0)
    assert (
        none.slots.tolist() == [0, 0] and epoch.slots == 0 and none.ready.tolist() == [True, False]
    )
    with pytest.raises(ValueError, match="slots = 0"):
        none.plan()
    assert epoch.decide(0.0, slots=1).slots.tolist() == [1, 0]
    epoch.remove(flows=[0])
    assert epoch.decide(6.0).slots.tolist() == [1]


def test_hysteresis_keeps_the_order():
    chosen = []
    for hysteresis in (0.0, 0.5):
        epoch = mb.FlowEpoch(1, "sum:completion", hysteresis=hysteresis)
        epoch.add(mb.Flows([[{"work": 10.0}], [{"work": 10.5}]]))
        assert epoch.decide(0.0).slots.tolist() == [1, 0]
        epoch.update([1], work=9.5)  # now a little better first
        chosen.append(epoch.decide(0.0).slots.tolist())
        plan = epoch.decide(0.0).plan()
        plan.validate()
        assert plan.lower_bound <= plan.value
        epoch.update([1], work=0.5)  # far better
        assert epoch.decide(0.0).slots.tolist() == [0, 1]
    assert chosen == [[0, 1], [1, 0]]


POLICIES = ("flowflex", "flowflex-fast", "flowflex-literal", "fair", "fifo")


@pytest.mark.parametrize("policy", POLICIES)
def test_a_job_whose_estimate_ran_out_runs_until_it_has_finished(policy):
    epoch = mb.FlowEpoch(10, policy=policy)
    epoch.add(two_steps())
    epoch.add(mb.Flows([[{"work": 50.0}]]))
    epoch.update([0], work=0.0)
    decision = epoch.decide(1.0)
    parent, child, ready = decision.slots.tolist()
    assert parent >= 1 and child == 0 and ready >= 8 and decision.slots.sum() == 10
    assert decision.ready.tolist() == [True, False, True]
    # A quarter of its two slot-seconds counts as left.
    plan = decision.plan()
    plan.validate()
    assert plan.completion[0] > 1.0
    epoch.finish([0])
    assert epoch.decide(2.0).slots[0] > 0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 9), st.sampled_from(POLICIES))
def test_estimates_that_run_out_stop_nobody(seed, slots, policy):
    """Whatever is ready keeps its place; nothing blocked runs; no slot idles that somebody can use."""
    rng = np.random.default_rng(seed)
    epoch = mb.FlowEpoch(slots, policy=policy)
    jobs = []
    for _ in range(int(rng.integers(1, 4))):
        rows = [{"name": f"{k}", "work": float(rng.integers(0, 6))} for k in range(4)]
        for k in range(1, 4):
            rows[k]["after"] = [f"{i}" for i in range(k) if rng.random() < 0.4]
            rows[k]["max_slots"] = int(rng.integers(1, 5))
        jobs.append(rows)
    table = mb.Flows(jobs)
    epoch.add(table)
    ran_out = np.flatnonzero(rng.random(len(table.work)) < 0.4)
    epoch.update(ran_out, work=0.0)
    done = np.flatnonzero(
        [not table.after(k) and rng.random() < 0.3 for k in range(len(table.work))]
    )
    epoch.finish(done)
    decision = epoch.decide(0.0)
    got = dict(zip(decision.ids.tolist(), decision.slots.tolist(), strict=True))
    ready = dict(zip(decision.ids.tolist(), decision.ready.tolist(), strict=True))
    assert sum(got.values()) <= slots
    assert all(got[job] <= min(table.max_slots[job], slots) for job in got)
    assert not any(got[job] for job in got if not ready[job])
    held = [job for job in got if ready[job] and table.work[job] == 0.0]  # never had any
    assert sum(got[job] >= 1 for job in held) == min(len(held), slots)
    if held:
        able = sum(min(int(table.max_slots[job]), slots) for job in got if ready[job])
        assert sum(got.values()) == min(slots, able)
    decision.plan().validate()


def test_fair_without_estimates_is_a_water_filling():
    epoch = mb.FlowEpoch(7, policy="fair")
    epoch.add(mb.Flows([[{"work": 5.0, "max_slots": 2}], [{"work": 9.0}], [{"work": 1.0}]]))
    before = epoch.decide(0.0).slots.tolist()
    assert before == [2, 3, 2]
    epoch.update([2], work=0.0)
    assert epoch.decide(0.0).slots.tolist() == before


def test_a_decision_that_is_refused_tells_nothing_and_keeps_nothing():
    epoch = mb.FlowEpoch(4)
    epoch.add(mb.Flows([[{"work": 8}], [{"work": 8}]]))
    epoch.finish([0])
    before = copy.deepcopy(epoch)
    with pytest.raises(ValueError, match="now"):
        epoch.decide(float("nan"), slots=9)
    with pytest.raises(ValueError, match="slots"):
        epoch.decide(1.0, slots=-1)
    assert epoch == before and epoch.slots == 4
    assert epoch.decide(1.0).ended.tolist() == [0]
    after = copy.deepcopy(epoch)
    with pytest.raises(ValueError, match="now = 0.5: before 1.0"):
        epoch.decide(0.5, slots=9)
    assert epoch == after


def test_simulated_epochs_end_and_every_plan_is_valid():
    flows = section51_flows(11, flows=6, jobs=6)
    epoch = mb.FlowEpoch(25, "sum:stretch", effort=20)
    rows = np.arange(len(flows))
    epoch.add(flows.take(rows[:3]))
    rng = np.random.default_rng(1)
    left = dict(enumerate(flows.work[: flows.job_offset[3]].tolist()))
    now, ended = 0.0, []
    for round_number in range(400):
        if round_number == 2:
            ids = epoch.add(flows.take(rows[3:]))
            left |= dict(zip(ids.jobs.tolist(), flows.work[flows.job_offset[3] :], strict=True))
        decision = epoch.decide(now)
        decision.plan().validate()
        ended += decision.ended.tolist()
        assert decision.slots.sum() <= 25 and not decision.slots[~decision.ready].any()
        if not len(decision.ids) and round_number > 2:
            break
        now += 0.05
        for job, slots in zip(decision.ids.tolist(), decision.slots.tolist(), strict=True):
            left[job] -= 0.05 * slots
        done = [j for j in decision.ids.tolist() if left[j] <= 0.0]
        epoch.finish(done)
        running = [j for j in decision.ids.tolist() if j not in done]
        # Estimates are wrong by a fifth either way.
        epoch.update(running, work=[left[j] * rng.uniform(0.8, 1.2) for j in running])
    assert sorted(ended) == list(range(6))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.finish([9]), r"ids\[0\] = 9: no such job"),
        (lambda e: e.finish([0, 0]), "named twice"),
        (lambda e: e.update([0], work=[-1.0]), r"work\[0\] = -1"),
        (lambda e: e.update([0], max_slots=0), r"max_slots\[0\] = 0"),
        (lambda e: e.update([0.5]), "whole number"),
        (lambda e: e.remove([4]), r"ids\[0\] = 4: no such job"),
        (lambda e: e.remove(flows=[1]), r"flows\[0\] = 1: no such flow"),
        (lambda e: e.remove([0], flows=[0, 0]), r"flows\[1\] = 0: named twice"),
        (lambda e: e.update([0], weight=1.0, flows=[3]), r"flows\[0\] = 3"),
        (lambda e: e.update([0], work=3.0, flows=[0], weight=-1.0), r"weight\[0\] = -1"),
        (lambda e: e.update(flows=[0], deadline=[float("nan")]), "deadline"),
        (lambda e: e.update(flows=[0], sla=[[(2, 1), (1, 2)]]), "sla"),
        (lambda e: e.update([0], work=3.0, flows=[0], sla=[]), "sla"),
        (lambda e: e.add(two_steps(), kind="late"), r"kind = 'late'"),
        (lambda e: e.add(two_steps(), kind="custom"), "penalty"),
        (lambda e: e.add(two_steps(), kind="lateness"), "deadline"),
        (lambda e: e.decide(float("nan")), "now"),
        (lambda e: e.decide(0.0, slots=-1), "slots"),
        (lambda e: e.decide(-1.0), "now = -1"),
    ],
)
def test_wrong_calls_change_nothing(call, message):
    epoch = mb.FlowEpoch(3)
    epoch.add(two_steps())
    before = epoch.decide(0.0)
    value, kept = before.value, copy.deepcopy(epoch)
    with pytest.raises(ValueError, match=message):
        call(epoch)
    assert epoch == kept
    after = epoch.decide(0.0)
    assert after.slots.tolist() == before.slots.tolist()
    assert after.plan().value == value and epoch.slots == 3


@pytest.mark.parametrize(
    "options",
    [
        {"policy": "flex"},
        {"objective": "sum:custom"},
        {"objective": ["sum:response", "sum:tardy"]},
        {"effort": -1},
        {"hysteresis": -0.1},
    ],
)
def test_wrong_options(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        mb.FlowEpoch(3, **options)


def diamond():
    names = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}
    return mb.Flows(
        [
            [{"name": n, "work": 4.0, "max_slots": 2, "after": p} for n, p in names.items()],
            [{"work": 1.0}],
        ]
    )


def test_a_job_is_cancelled_with_all_that_wait_for_it():
    epoch = mb.FlowEpoch(4)
    ids = epoch.add(diamond())
    epoch.finish([0])
    epoch.remove([1])
    decision = epoch.decide(0.0)
    assert decision.ids.tolist() == [2, 4] and decision.ready.all()
    plan = decision.plan()
    plan.validate()
    assert plan.flows.job_name == ("flow0/a", "flow0/c", "flow1/job0")
    with pytest.raises(ValueError, match="no such job"):
        epoch.finish([3])
    epoch.remove([2], flows=ids.flows[1:])
    last = epoch.decide(1.0)
    assert not len(last.ids) and last.ended.tolist() == [0] and len(epoch) == 0
    assert epoch.add(diamond()).jobs.tolist() == [5, 6, 7, 8, 9]


def test_what_people_pay_for_flows_may_change():
    epoch = mb.FlowEpoch(1, "sum:completion")
    epoch.add(mb.Flows([[{"work": 4.0}], [{"work": 5.0}]]), kind=["tardiness", None])
    # The first has no deadline yet, so that nothing is paid for it.
    assert epoch.decide(0.0).slots.tolist() == [0, 1]
    epoch.update(flows=[0], deadline=4.0, weight=9.0)
    first = epoch.decide(0.0)
    assert first.slots.tolist() == [1, 0] and first.value == 9.0
    assert first.plan().objective == "sum:mixed" and "flow0" in first.explain()[1]
    steps = mb.FlowEpoch(1, "sum:sla")
    steps.add(mb.Flows([[{"work": 4.0}], [{"work": 5.0}]]))
    steps.update(flows=[1], sla=[[(5.0, 7.0)]])
    assert steps.decide(0.0).slots.tolist() == [0, 1]
    steps.update([1], work=9.0, flows=[0, 1], sla=[[(4.0, 1.0), (5.0, 2.0)], None])
    assert steps.decide(0.0).slots.tolist() == [1, 0]


def late(flow, completion):
    """Only the second flow that ever came matters."""
    return completion if flow == 1 else 0.0


def test_penalties_of_ones_own_know_flows_by_id():
    pytest.importorskip("numba")
    epoch = mb.FlowEpoch(1, "sum:custom", penalty=late)
    epoch.add(mb.Flows([[{"work": 1.0}], [{"work": 9.0}], [{"work": 2.0}]]))
    epoch.remove(flows=[0])
    decision = epoch.decide(0.0)
    assert decision.slots.tolist() == [1, 0] and decision.value == 9.0
    for twin in (copy.deepcopy(epoch), pickle.loads(pickle.dumps(epoch))):
        assert twin == epoch
        assert twin.decide(1.0).slots.tolist() == [1, 0]
    assert mb.FlowEpoch(1, penalty=late) != mb.FlowEpoch(1)


def test_a_plan_belongs_to_the_decision_that_is_the_last():
    epoch = mb.FlowEpoch(3)
    epoch.add(two_steps())
    first = epoch.decide(0.0)
    epoch.update([0], work=2.0)
    with pytest.raises(RuntimeError, match="moved on"):
        first.plan()
    second = epoch.decide(0.0)
    value = second.value
    epoch.finish([0])
    assert second.value == value and second.gap == 0.0  # asked for in time
    assert second.plan().slots.tolist() == second.slots.tolist()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["sum:response", "sum:tardiness", "max:stretch"]))
def test_a_decision_begins_its_plan(seed, objective):
    flows = section51_flows(seed, flows=5, jobs=(1, 8))
    epoch = mb.FlowEpoch(25, objective)
    epoch.add(flows)
    decision = epoch.decide(0.0)
    plan = decision.plan()
    plan.validate()
    assert plan.slots.tolist() == decision.slots.tolist()
    assert decision.lower_bound <= decision.value and plan.guarantee is None
    for options, proved in (({"effort": 0}, False), ({"policy": "flowflex-literal"}, True)):
        planned = mb.FlowEpoch(25, objective, **options)
        planned.add(flows)
        assert (planned.decide(0.0).plan().guarantee is not None) == proved
