"""The epoch object by hand."""

import numpy as np
import pytest

import malleable as mb
from tests.jobs.epoch_model import catch_up_of, check_priority, least_and_most, rows_of
from tests.strategies import MIN_MODES, OBJECTIVES, POLICIES, random_jobs


def test_the_urgent_get_the_slack():
    epoch = mb.Epoch(10, "sum:response")
    ids = epoch.add([30.0, 10.0, 20.0], min_slots=1, max_slots=[9, 4, 9], weight=[1, 1, 4])
    assert ids.tolist() == [0, 1, 2]
    first = epoch.decide(0.0)
    assert first.ids.tolist() == [0, 1, 2]
    assert first.slots.tolist() == [1, 1, 8]
    assert first.changed.tolist() == [True, True, True]
    epoch.update([2], work=0.0)
    second = epoch.decide(now=1.0)
    # The estimate has run out, the job has not ended: a quarter of its size counts as left.
    assert second.slots.tolist() == [1, 1, 8]
    assert not second.changed.any()
    assert second.plan().jobs.work.tolist() == [30.0, 10.0, 5.0]
    epoch.remove([0])
    third = epoch.decide(now=2.0)
    assert dict(zip(third.ids.tolist(), third.slots.tolist(), strict=True)) == {1: 1, 2: 9}


def test_no_jobs():
    for policy in POLICIES:
        for min_mode in MIN_MODES:
            for objective in OBJECTIVES:
                epoch = mb.Epoch(3, objective, policy, min_mode=min_mode)
                assert epoch.add([]).tolist() == []
                epoch.update([], work=[])
                epoch.remove([])
                decision = epoch.decide(4.0)
                assert decision.ids.tolist() == decision.slots.tolist() == []
                plan = decision.plan()
                plan.validate()
                assert (plan.value, plan.gap, len(plan.order)) == (0.0, 0.0, 0)


def test_stretch_divides_by_the_original_size():
    epoch = mb.Epoch(1, "sum:stretch")
    ids = epoch.add([4.0, 6.0], size=[40.0, 6.0])
    assert epoch.decide(0.0).slots.tolist() == [0, 1]
    # What remains changes, the size does not.
    epoch.update(ids, work=[0.5, 6.0])
    decision = epoch.decide(0.0)
    assert decision.slots.tolist() == [1, 0]
    assert decision.plan().penalty.tolist() == [0.5 / 40, 6.5 / 6]


def test_the_size_is_the_first_work_unless_given():
    epoch = mb.Epoch(2, "sum:stretch")
    ids = epoch.add([8.0], arrival=0.0)
    epoch.update(ids, work=2.0)
    assert epoch.decide(3.0).plan().penalty.tolist() == [(3.0 + 1.0) / 8]


def test_who_has_nothing_left_ends_now_and_keeps_its_slots():
    epoch = mb.Epoch(2, "sum:completion")
    ids = epoch.add([0.0, 0.0, 3.0], arrival=[0.0, 1.0, 1.0])
    decision = epoch.decide(5.0)
    assert decision.slots.tolist() == [1, 1, 0]
    plan = decision.plan()
    plan.validate()
    assert plan.slots.tolist() == [1, 1, 0]
    assert plan.completion.tolist() == [5.0, 5.0, 6.5]
    assert decision.value == plan.value == 5.0 + 5.0 + 6.5
    assert decision.lower_bound <= plan.lower_bound == plan.value
    # A plan of the same table ends them when they came, and the checker tells the two apart.
    table = mb.plan(plan.jobs, 2, "sum:completion", now=5.0)
    table.validate()
    assert table.completion.tolist() == [0.0, 1.0, 6.5]
    for wrong in (plan, table):
        wrong.live = not wrong.live
        with pytest.raises(ValueError, match="has no work and should end"):
            wrong.validate()
    epoch.update(ids[2:], min_slots=2)
    assert epoch.decide(5.0).slots.tolist() == [0, 0, 2]  # guarantees come first
    epoch.remove(ids[:2])
    assert epoch.decide(5.0).slots.tolist() == [2]


def test_capacity_comes_and_goes():
    epoch = mb.Epoch(10)
    epoch.add([10.0, 20.0], max_slots=8)
    assert epoch.decide(0.0).slots.tolist() == [8, 2]
    assert epoch.decide(0.0, slots=3).slots.tolist() == [3, 0]
    assert epoch.slots == 3
    assert epoch.decide(0.0).slots.tolist() == [3, 0]
    again = epoch.decide(0.0, slots=100)
    assert again.slots.tolist() == [8, 8]
    assert again.changed.tolist() == [True, True]
    assert again.plan().capacity == 100


def test_minima_that_stop_fitting_are_scaled():
    epoch = mb.Epoch(8)
    epoch.add([5.0, 9.0], min_slots=[2, 6])
    assert epoch.decide(0.0).slots.tolist() == [2, 6]
    small = epoch.decide(0.0, slots=4)
    assert small.slots.tolist() == [1, 3]
    assert small.plan().status == "minima_scaled"
    assert epoch.decide(0.0, slots=9).slots.tolist() == [2, 7]


def test_huge_minima_leave_no_trace():
    """Sums of slot counts stay exact after a minimum that dwarfs them has come and gone."""
    epoch = mb.Epoch(100)
    epoch.add([3.0, 4.0], min_slots=[3, 4], max_slots=[5, 200])
    ids = epoch.add([1.0, 1.0], min_slots=[2**50, 2**50 - 1])
    assert epoch.decide(0.0).slots.sum() == 100
    epoch.update(ids[1:], min_slots=1)
    epoch.remove(ids[:1])
    assert sorted(epoch.decide(0.0).slots.tolist()) == [4, 5, 91]
    epoch.remove(ids[1:])
    assert epoch.decide(0.0).slots.tolist() == [5, 95]


def test_huge_work_leaves_no_trace():
    rng = np.random.default_rng(5)
    work, most = rng.lognormal(3.0, 1.5, 300), rng.integers(1, 65, 300)
    epochs = [mb.Epoch(64) for _ in range(2)]
    for epoch in epochs:
        ids = epoch.add(work, max_slots=most)
    huge = epochs[0].add([1e12], max_slots=64)
    epochs[0].decide(0.0)
    epochs[0].remove(huge)
    epochs[1].decide(0.0)
    for now in (1.0, 2.0):
        mine, other = (dict(zip(*epoch_slots(epoch, now), strict=True)) for epoch in epochs)
        assert mine == other
        for epoch in epochs:
            epoch.update(ids[:50], work=work[:50] * 0.5**now)


def epoch_slots(epoch: mb.Epoch, now: float):
    decision = epoch.decide(now)
    return decision.ids.tolist(), decision.slots.tolist()


def test_ids_are_one_array_until_jobs_come_or_go():
    epoch = mb.Epoch(8)
    ids = epoch.add([5.0, 6.0, 7.0])
    first, second = epoch.decide(0.0), epoch.decide(1.0)
    assert second.ids is first.ids
    assert not first.ids.flags.writeable
    epoch.remove(ids[:1])
    epoch.add([8.0])
    assert first.ids.tolist() == [0, 1, 2]
    assert sorted(epoch.decide(2.0).ids.tolist()) == [1, 2, 3]


@pytest.mark.parametrize("policy", ["fair", "wdeq"])
def test_equal_shares_go_to_the_oldest(policy):
    """Whoever leaves, a slot goes to those who came first, and the plan says the same."""
    epoch = mb.Epoch(2, policy=policy)
    ids = epoch.add([5.0] * 4)
    epoch.decide(0.0)
    epoch.finish(ids[:1])
    for expected in (ids[1:3], ids[2:4]):
        decision = epoch.decide(1.0)
        assert decision.ids[decision.slots > 0].tolist() == expected.tolist()
        assert decision.plan().slots.tolist() == decision.slots.tolist()
        epoch.remove(expected[:1])


def test_ids_stay_unique_over_many_jobs():
    epoch = mb.Epoch(50)
    rng = np.random.default_rng(100)
    alive, seen = {}, set()
    for batch in range(40):
        work = rng.uniform(1, 100, 500)
        ids = epoch.add(work).tolist()
        assert not seen & set(ids)
        seen |= set(ids)
        alive |= dict(zip(ids, work.tolist(), strict=True))
        gone = rng.choice(sorted(alive), int(rng.integers(300, 520)), replace=False).tolist()
        epoch.remove(gone)
        for job in gone:
            del alive[job]
        if batch % 5 == 0:
            decision = epoch.decide(0.0)
            assert set(decision.ids.tolist()) == set(alive)
            # The shortest has everything.
            shortest = min(alive, key=lambda job: (alive[job], job))
            assert decision.slots.sum() == 50
            assert decision.ids[decision.slots == 50].tolist() == [shortest]
    with pytest.raises(ValueError, match="no such job"):
        epoch.update([gone[0]], work=1.0)


def test_steps_of_an_sla_survive_removals():
    epoch = mb.Epoch(4, "sum:sla")
    kept = {}
    for batch in range(30):
        sla = [[(10.0 * batch + k, 1.0), (10.0 * batch + k + 0.5, 2.0 + k)] for k in range(60)]
        ids = epoch.add(np.ones(60), sla=sla)
        keep = batch % 7
        kept |= {int(job): steps for job, steps in zip(ids[:keep], sla[:keep], strict=True)}
        epoch.remove(ids[keep:])
    decision = epoch.decide(0.0)
    plan = decision.plan()
    assert dict(zip(decision.ids.tolist(), plan.jobs.sla, strict=True)) == kept


def test_ten_thousand_jobs():
    rng = np.random.default_rng(101)
    epoch = mb.Epoch(20_000, "sum:response")
    jobs = random_jobs(rng, 10_000, 40, minima="none", work=(0.1, 100))
    epoch.add(jobs)
    for now in range(4):
        decision = epoch.decide(float(now), slots=20_000 + 500 * now)
        rows = rows_of(jobs)
        low, high = least_and_most(rows, epoch.slots, "flex", "guarantee")
        keys = catch_up_of(rows, "sum:response", epoch.slots)
        assert decision.slots.sum() == min(epoch.slots, sum(high))
        check_priority(decision.slots.tolist(), keys, low, high)
        left = np.maximum(0.001, jobs.work - decision.slots * 0.1)
        ids = decision.ids[decision.slots > 0]
        epoch.update(ids, work=left[ids])
        jobs = mb.Jobs(left, max_slots=jobs.max_slots, weight=jobs.weight, arrival=jobs.arrival)


def test_what_it_says_about_itself():
    epoch = mb.Epoch(4, "max:stretch")
    epoch.add([2.0, 3.0])
    assert epoch.objective == "max:stretch"
    assert repr(epoch.decide(2.0)) == "Decision(now=2.0, 2 jobs, 4 slots, 2 changed)"
