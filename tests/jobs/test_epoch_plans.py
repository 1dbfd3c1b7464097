"""Decisions against plans of the same table, and the plans behind decisions."""

import numpy as np
import pytest

import malleable as mb
from tests.jobs.epoch_model import LINEAR, catch_up_of, rows_of
from tests.strategies import KINDS, MIN_MODES, OBJECTIVES, POLICIES, random_jobs


@pytest.mark.parametrize("min_mode", MIN_MODES)
@pytest.mark.parametrize("policy", ["fair", "fifo", "wdeq"])
def test_baselines_decide_as_they_plan(policy, min_mode):
    rng = np.random.default_rng([102, len(policy)])
    for _ in range(15):
        slots = int(rng.integers(1, 25))
        jobs = random_jobs(rng, int(rng.integers(1, 12)), slots, minima="large")
        epoch = mb.Epoch(slots, policy=policy, min_mode=min_mode)
        epoch.add(jobs)
        decision = epoch.decide(0.0)
        plan = mb.plan(jobs, slots, policy=policy, min_mode=min_mode)
        assert decision.slots.tolist() == plan.slots.tolist()
        own = decision.plan()
        assert own.completion.tolist() == plan.completion.tolist()
        assert own.value == plan.value


@pytest.mark.parametrize("min_mode", MIN_MODES)
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("effort", [0, 40])
def test_with_an_effort_flex_decides_as_it_plans(objective, effort, min_mode):
    rng = np.random.default_rng([103, len(objective), effort])
    for _ in range(4):
        slots = int(rng.integers(2, 25))
        jobs = random_jobs(rng, 9, slots, minima="small", maxima="tight", idle=0.0, now=3.0)
        epoch = mb.Epoch(slots, objective, effort=effort, min_mode=min_mode)
        epoch.add(jobs)
        decision = epoch.decide(3.0)
        plan = mb.plan(jobs, slots, objective, effort=effort, now=3.0, min_mode=min_mode)
        assert decision.slots.tolist() == plan.slots.tolist()
        own = decision.plan()
        assert own.value == plan.value
        assert own.completion.tolist() == plan.completion.tolist()
        assert own.order.tolist() == plan.order.tolist()
        for name in ("job", "start", "end", "slots"):
            assert own.pieces[name].tolist() == plan.pieces[name].tolist()


@pytest.mark.parametrize("objective", LINEAR)
def test_few_jobs_get_what_the_plan_says_and_many_go_by_key(objective):
    rng = np.random.default_rng([104, len(objective)])
    for _ in range(20):
        slots = int(rng.integers(1, 25))
        few, many = random_jobs(rng, 9, slots), random_jobs(rng, 300, slots, minima="none")
        epoch, other = mb.Epoch(slots, objective), mb.Epoch(slots, objective)
        epoch.add(few)
        other.add(many)
        assert epoch.decide(0.0).slots.tolist() == mb.plan(few, slots, objective).slots.tolist()
        keys = catch_up_of(rows_of(many), objective, slots)
        order = np.argsort(keys, kind="stable")
        assert other.decide(0.0).plan().order.tolist() == order.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_maxima_without_effort_come_near_their_bound(kind):
    """The deadlines of the optimal level give the order: rarely far from the optimum."""
    rng = np.random.default_rng([105, len(kind)])
    for _ in range(10):
        jobs = random_jobs(rng, 9, 14, maxima="all", minima="none")
        epoch = mb.Epoch(14, f"max:{kind}")
        epoch.add(jobs)
        plan = epoch.decide(0.0).plan()
        plan.validate()
        assert plan.value == pytest.approx(
            mb.plan(jobs, 14, f"max:{kind}").value, rel=1e-6, abs=1e-6
        )


def test_a_simulated_run_ends_every_job():
    """Decide, let half a second pass, tell what remains: an epoch loop as a scheduler has it."""
    rng = np.random.default_rng(106)
    for policy in POLICIES:
        jobs = random_jobs(rng, 20, 12, minima="large", work=(0.5, 9))
        epoch = mb.Epoch(12, policy=policy)
        ids = epoch.add(jobs)
        left = dict(zip(ids.tolist(), jobs.work.tolist(), strict=True))
        now, rounds = 0.0, 0
        while left:
            decision = epoch.decide(now)
            assert decision.slots.sum() > 0
            now += 0.5
            rounds += 1
            given = dict(zip(decision.ids.tolist(), decision.slots.tolist(), strict=True))
            left = {job: work - 0.5 * given[job] for job, work in left.items()}
            gone = [job for job, work in left.items() if work <= 0]
            left = {job: work for job, work in left.items() if work > 0}
            epoch.remove(gone)
            epoch.update(list(left), work=list(left.values()))
        assert len(epoch) == 0
        # 20 jobs waste less than an epoch's slots each.
        assert rounds * 0.5 <= jobs.work.sum() / 12 + 0.5 * 21 + float(np.max(jobs.work))


@pytest.mark.parametrize(
    "change",
    [
        lambda epoch: epoch.add([1.0]),
        lambda epoch: epoch.update([0], work=1.0),
        lambda epoch: epoch.remove([0]),
        lambda epoch: epoch.decide(1.0),
        lambda epoch: epoch.decide(0.0, slots=3),
    ],
)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_plan_must_be_asked_for_before_anything_changes(policy, change):
    epoch = mb.Epoch(4, policy=policy)
    epoch.add([2.0, 3.0])
    decision = epoch.decide(0.0)
    assert decision.plan().value == decision.plan().value
    change(epoch)
    with pytest.raises(RuntimeError, match="moved on"):
        decision.plan()
    epoch.decide(1.0).plan().validate()


@pytest.mark.parametrize(
    "change", [lambda epoch: epoch.add([1.0]), lambda epoch: epoch.decide(1.0)]
)
def test_a_value_is_kept_but_must_first_be_asked_for_in_time(change):
    epoch = mb.Epoch(4)
    epoch.add([2.0, 3.0])
    asked = epoch.decide(0.0)
    assert asked.value == pytest.approx(1.75)
    assert asked.lower_bound == pytest.approx(1.75)  # all slots for the shorter, then the longer
    assert asked.gap == pytest.approx(0.0, abs=1e-12)
    silent = epoch.decide(0.0)
    change(epoch)
    assert asked.value == pytest.approx(1.75)
    with pytest.raises(RuntimeError, match="ask for the value first"):
        _ = silent.lower_bound


@pytest.mark.parametrize(
    ("policy", "effort"), [*((policy, None) for policy in POLICIES), ("flex", 50)]
)
@pytest.mark.parametrize("objective", ["sum:response", "sum:tardiness", "sum:sla", "max:stretch"])
def test_value_and_bound_are_those_of_the_plan(objective, policy, effort):
    rng = np.random.default_rng([106, len(objective), len(policy)])
    for _ in range(10):
        slots = int(rng.integers(1, 25))
        jobs = random_jobs(rng, int(rng.integers(1, 40)), slots, minima="small", idle=0.0, now=3.0)
        epoch = mb.Epoch(slots, objective, policy=policy, effort=effort)
        epoch.add(jobs)
        decision = epoch.decide(now=3.0)
        value, bound = decision.value, decision.lower_bound
        plan = decision.plan()
        assert value == plan.value
        assert bound <= value
        if policy != "fifo":  # which has no minima to obey, so that its bound is a lower one
            best = mb.plan(jobs, slots, objective, now=3.0)
            assert bound <= best.value * (1 + 1e-9) + 1e-9
        assert (decision.gap == 0.0) == (value == bound)


def test_decisions_are_copies():
    epoch = mb.Epoch(4)
    epoch.add([2.0, 3.0])
    decision = epoch.decide(0.0)
    decision.slots[:] = 99
    with pytest.raises(ValueError, match="read-only"):  # later decisions share them
        decision.ids[:] = 77
    assert epoch.decide(0.0).slots.tolist() == [4, 0]
    plan = epoch.decide(0.0).plan()
    plan.completion[:] = -1.0
    assert epoch.decide(0.0).plan().completion.tolist() != [-1.0, -1.0]
