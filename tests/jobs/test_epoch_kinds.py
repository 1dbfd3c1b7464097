"""Epochs whose jobs have penalties of different kinds, and penalties of one's own."""

import copy
import math
import pickle

import numpy as np
import pytest

import malleable as mb
from malleable.jobs.plan import POLICIES
from tests import custom_penalties
from tests.jobs.epoch_model import catch_up
from tests.strategies import KINDS, MIN_MODES, random_jobs

STEADY = ("response", "completion", "stretch", "lateness")


def drawn(rng, count, kinds=(*KINDS, "strict")):
    return rng.choice(kinds, count).tolist()


@pytest.mark.parametrize("min_mode", MIN_MODES)
@pytest.mark.parametrize("aggregate", ["sum", "max"])
def test_with_an_effort_mixed_epochs_decide_as_mixed_plans(aggregate, min_mode):
    rng = np.random.default_rng(31)
    for _ in range(12):
        slots = int(rng.integers(2, 25))
        jobs = random_jobs(rng, 9, slots, maxima="tight", now=3.0)
        kinds = drawn(rng, 9)
        epoch = mb.Epoch(slots, f"{aggregate}:response", min_mode=min_mode, effort=12)
        epoch.add(jobs, kind=kinds)
        decision = epoch.decide(3.0)
        objective = [f"{aggregate}:{kind}" for kind in kinds]
        plan = mb.plan(jobs, slots, objective, effort=12, now=3.0, min_mode=min_mode)
        assert decision.slots.tolist() == plan.slots.tolist()
        assert (decision.value, decision.lower_bound) == (plan.value, plan.lower_bound)
        own = decision.plan()
        own.validate()
        assert own.penalty.tolist() == plan.penalty.tolist()
        assert own.objective == plan.objective
        assert decision.explain()[1:] == own.explain()
        assert len(decision.explain()) == 10


@pytest.mark.parametrize("hysteresis", [0.0, 0.4])
def test_kinds_that_rise_steadily_are_decided_by_key(hysteresis):
    """Without the kinds' own slopes another job would be first."""
    rng = np.random.default_rng(32)
    for _ in range(20):
        jobs = random_jobs(rng, 300, 14, minima="none")
        kinds = drawn(rng, 300, STEADY)
        epoch = mb.Epoch(14, hysteresis=hysteresis)
        epoch.add(jobs, kind=kinds)
        plan = epoch.decide(0.0).plan()
        size = np.where(np.array(kinds) == "stretch", jobs.size, 1.0)
        key = catch_up(jobs.work, jobs.work * (size / jobs.weight), jobs.max_slots, 14)
        assert plan.order.tolist() == np.argsort(key, kind="stable").tolist()
        again = mb.plan(jobs, 14, [f"sum:{kind}" for kind in kinds], effort=0)
        assert plan.value >= again.lower_bound * (1 - 1e-9)


@pytest.mark.parametrize("kind", [*KINDS, "strict"])
@pytest.mark.parametrize("aggregate", ["sum", "max"])
def test_one_kind_for_all_is_the_same_as_that_objective(aggregate, kind):
    rng = np.random.default_rng([33, len(kind)])
    other = "response" if kind != "response" else "tardy"
    one = mb.Epoch(12, f"{aggregate}:{kind}", hysteresis=0.3)
    two = mb.Epoch(12, f"{aggregate}:{other}", hysteresis=0.3)
    for step in range(8):
        jobs = random_jobs(rng, 6, 12, minima="small", now=float(step))
        assert one.add(jobs).tolist() == two.add(jobs, kind=kind).tolist()
        for epoch in (one, two):
            epoch.update(range(0, len(epoch), 2), work=1.0 + step / 7)
        a, b = one.decide(float(step)), two.decide(float(step))
        assert (a.slots.tolist(), a.changed.tolist()) == (b.slots.tolist(), b.changed.tolist())
        assert (a.value, a.lower_bound) == (b.value, b.lower_bound)
        assert a.plan().objective == b.plan().objective == f"{aggregate}:{kind}"


def test_a_kind_leaves_with_its_jobs():
    """Keys decide again when the last job that has none is gone: as if it had never been there."""
    epoch, never = mb.Epoch(5), mb.Epoch(5)
    for each in (epoch, never):
        each.add([4.0, 2.0, 8.0], max_slots=3, arrival=0.0)
    gone = epoch.add([1.0], deadline=3.0, kind="tardiness")
    epoch.decide(0.0)
    epoch.finish(gone)
    a, b = epoch.decide(1.0), never.decide(1.0)
    assert a.slots.tolist() == b.slots.tolist()
    assert (a.value, a.lower_bound) == (b.value, b.lower_bound)
    assert a.plan().objective == "sum:response"


def test_kinds_of_single_jobs_need_their_data():
    epoch = mb.Epoch(4)
    jobs = mb.Jobs([1.0, 2.0], deadline=[5.0, None])
    before = copy.deepcopy(epoch)
    for kind, says in (
        (["lateness", "lateness"], r"deadline\[1\] = inf: lateness needs a deadline"),
        ("custom", "kind custom needs"),
        ([None, "custom"], "kind custom needs"),
        (["lateness"], r"kind has 1 entry but there are 2 jobs"),
        (["tardy", "tard"], r"kind\[1\] = 'tard': .*did you mean 'tardy'"),
        ("respons", r"kind = 'respons': .*did you mean 'response'"),
        ([0, 1], r"kind\[0\] = 0"),
    ):
        with pytest.raises(ValueError, match=says):
            epoch.add(jobs, kind=kind)
        assert epoch == before
    ids = epoch.add(jobs, kind=["lateness", None])
    before = copy.deepcopy(epoch)
    with pytest.raises(ValueError, match=r"deadline\[1\] = inf: lateness"):
        epoch.update(ids[::-1], deadline=[None, None])
    assert epoch == before
    epoch.update(ids[1:], deadline=math.inf)


def test_steps_can_be_updated():
    """As if the job had come with them, and whatever was there before."""
    new = [(1.0, 1.0), (6.0, 9.0)]
    for old in (None, [(2.0, 0.5)], [(1.0, 1.0), (2.0, 2.0), (3.0, 4.0)]):
        changed, fresh = mb.Epoch(3, "sum:sla"), mb.Epoch(3, "sum:sla")
        ids = changed.add([4.0, 5.0, 9.0], sla=[old, [(2.0, 3.0)], old])
        changed.update(ids[[2, 0]], sla=[None, new])
        fresh.add([4.0, 5.0, 9.0], sla=[new, [(2.0, 3.0)], None])
        a, b = changed.decide(0.0), fresh.decide(0.0)
        assert a.slots.tolist() == b.slots.tolist()
        assert (a.value, a.lower_bound) == (b.value, b.lower_bound)
        assert a.plan().jobs.sla == b.plan().jobs.sla == [new, [(2.0, 3.0)], []]


def test_steps_that_were_replaced_leave_no_room_behind():
    epoch = mb.Epoch(3, "sum:sla")
    ids = epoch.add([1.0, 2.0], sla=[[(1.0, 1.0)]] * 2)
    small = len(pickle.dumps(epoch))
    for k in range(3000):
        epoch.update(ids, sla=[[(1.0, k)], [(2.0, 1.0)]])
    assert len(pickle.dumps(epoch)) < small + 40_000


def loop(epoch, other, rng, number, steps=25):
    """The same random calls for two epochs; they must decide alike. ``number``: of jobs so far."""
    known, now = [], 0.0
    for step in range(steps):
        count = int(rng.integers(1, 9))
        table = {
            "work": rng.integers(1, 60, count) / 4.0,
            "max_slots": rng.integers(1, 9, count),
            "arrival": now,
        }
        ids = np.arange(number, number + count)
        own = {
            "weight": custom_penalties.WEIGHT[ids],
            "deadline": custom_penalties.DUE[ids],
        }
        assert epoch.add(**table, weight=own["weight"]).tolist() == ids.tolist()
        assert other.add(**table, **own).tolist() == ids.tolist()
        number += count
        known += ids.tolist()
        some = [k for k in known if rng.random() < 0.3]
        gone = [k for k in known if rng.random() < 0.1]
        known = [k for k in known if k not in gone]
        left = rng.integers(1, 60, len(some)) / 4.0
        now += float(rng.integers(0, 6))
        for each in (epoch, other):
            each.update(some, work=left)
            each.finish(gone)
        a, b = epoch.decide(now), other.decide(now)
        assert a.ids.tolist() == b.ids.tolist()
        assert a.slots.tolist() == b.slots.tolist(), step
        if step % 5 == 0:
            assert a.value == pytest.approx(b.value)
            assert a.lower_bound <= a.value * (1 + 1e-9)
            a.plan().validate()


@pytest.mark.parametrize("aggregate", ["sum", "max"])
def test_a_penalty_of_ones_own_decides_as_the_kind_that_it_copies(aggregate):
    """By its key; with hysteresis, as without any several orders are tried for the package's kinds."""
    little = 1e-9
    epoch = mb.Epoch(9, f"{aggregate}:custom", "flex", little, penalty=custom_penalties.tardiness)
    other = mb.Epoch(9, f"{aggregate}:tardiness", "flex", little)
    loop(epoch, other, np.random.default_rng(34), 0)


def test_its_own_penalty_that_is_infinite_is_a_strict_deadline():
    epoch = mb.Epoch(9, "sum:custom", penalty=custom_penalties.strict)
    other = mb.Epoch(9, "sum:strict")
    for each in (epoch, other):
        ids = each.add([20.0, 6.0, 9.0], max_slots=4, deadline=custom_penalties.DUE[:3])
    a, b = epoch.decide(0.0), other.decide(0.0)
    assert a.slots.tolist() == b.slots.tolist()
    assert a.plan().status == b.plan().status
    assert ids.tolist() == [0, 1, 2]


def test_only_those_who_want_it_pay_the_penalty_of_ones_own():
    epoch = mb.Epoch(1, penalty=custom_penalties.squared)
    epoch.add([2.0, 2.0, 2.0], weight=[1.0, 1.0, 1.0], kind=[None, "custom", "response"])
    plan = epoch.decide(0.0).plan()
    assert plan.objective == "sum:mixed"
    ends = plan.completion
    assert plan.penalty.tolist() == [
        ends[0],
        custom_penalties.squared(1, ends[1]),
        ends[2],
    ]
    assert plan.value == pytest.approx(plan.penalty.sum())


def test_it_is_told_ids_and_remembers_nothing_wrong():
    """Cached searches give what fresh ones do, whichever rows jobs move to."""
    rng = np.random.default_rng(35)
    epoch = mb.Epoch(7, "sum:custom", penalty=custom_penalties.squared)
    ids = epoch.add(rng.uniform(1, 20, 40), max_slots=3)
    for step in range(12):
        epoch.remove(ids[step : step + 1])
        epoch.update(ids[20:], work=rng.uniform(1, 20, 20))
        cold = copy.deepcopy(epoch)
        a, b = epoch.decide(float(step)), cold.decide(float(step))
        assert a.slots.tolist() == b.slots.tolist()
        assert (a.value, a.lower_bound) == (b.value, b.lower_bound)
        assert epoch == cold


def test_copies_and_pickles_take_it_along():
    epoch = mb.Epoch(5, "sum:custom", penalty=custom_penalties.tardiness)
    epoch.add([5.0, 8.0, 3.0], max_slots=3)
    epoch.decide(0.0)
    for work, copied in enumerate(
        (lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy)
    ):
        again = copied(epoch)
        assert again == epoch
        for each in (again, epoch):
            each.update([0], work=1.0 + work)
        assert again.decide(0.5).slots.tolist() == epoch.decide(0.5).slots.tolist()
        assert again == epoch
    assert epoch != mb.Epoch(5, "sum:custom", penalty=custom_penalties.squared)


def test_one_that_has_no_name_does_not_pickle_but_copies():
    epoch = mb.Epoch(5, "sum:custom", penalty=lambda job, completion: completion + 0.0 * job)
    epoch.add([5.0, 8.0])
    with pytest.raises(ValueError, match=r"^penalty: .*does not pickle"):
        pickle.dumps(epoch)
    assert copy.deepcopy(epoch) == epoch
    assert epoch.decide(0.0).slots.sum() == 5


@pytest.mark.parametrize("penalty", [3, "f", None])
def test_what_is_no_penalty(penalty):
    with pytest.raises(ValueError, match=r"^(penalty: expected|objective custom needs)"):
        mb.Epoch(4, "sum:custom", penalty=penalty)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("min_mode", MIN_MODES)
def test_without_slots_nobody_gets_any_and_later_all_goes_on(policy, min_mode):
    rng = np.random.default_rng(36)
    epoch = mb.Epoch(0, "sum:tardy", policy, min_mode=min_mode)
    jobs = random_jobs(rng, 7, 12, idle=0.3)
    epoch.add(jobs)
    none = epoch.decide(0.0)
    assert none.slots.tolist() == [0] * 7
    assert not none.changed.any()
    late = np.where(jobs.work > 0, jobs.weight, (jobs.deadline < 0.0) * jobs.weight)
    assert none.value == none.lower_bound == pytest.approx(late.sum())
    plan = none.plan()
    plan.validate()
    assert plan.status == ("infeasible" if np.any(jobs.work > 0) else "ok")
    assert ["there are no slots" in line for line in none.explain()[1:]] == (jobs.work > 0).tolist()
    other = mb.Epoch(12, "sum:tardy", policy, min_mode=min_mode)
    other.add(jobs)
    some, fresh = epoch.decide(1.0, slots=12), other.decide(1.0)
    assert some.slots.tolist() == fresh.slots.tolist()
    assert some.changed.tolist() == fresh.changed.tolist()
    assert epoch.decide(2.0, slots=0).changed.tolist() == (some.slots > 0).tolist()
    assert epoch.slots == 0
    again = other.decide(3.0).slots.tolist()
    assert epoch.decide(3.0, slots=12).slots.tolist() == again


def test_without_slots_all_that_waits_costs_what_it_ever_will():
    epoch = mb.Epoch(0, "sum:response")
    epoch.add([3.0], weight=0.0)
    assert epoch.decide(0.0).value == 0.0
    epoch.add([3.0])
    decision = epoch.decide(0.0)
    assert decision.value == decision.lower_bound == math.inf
    assert decision.gap == 0.0


def test_times_never_fall():
    epoch = mb.Epoch(4)
    epoch.add([2.0, 3.0])
    epoch.decide(5.0, slots=3)
    before = copy.deepcopy(epoch)
    with pytest.raises(ValueError, match=r"^now = 4.5: before 5.*times never fall"):
        epoch.decide(4.5, slots=2)
    assert epoch == before
    epoch.add([1.0], arrival=1.0)  # what is told late is no fault
    assert epoch.decide(5.0).slots.sum() == 3


def test_ids_are_never_used_twice():
    epoch = mb.Epoch(4)
    first = epoch.add([1.0, 2.0])
    epoch.finish(first[:1])
    epoch.remove(first[1:])
    assert epoch.add([1.0]).tolist() == [2]
    for call in (epoch.finish, epoch.remove, epoch.update):
        with pytest.raises(ValueError, match=r"ids\[0\] = 0: no such job"):
            call([0])
