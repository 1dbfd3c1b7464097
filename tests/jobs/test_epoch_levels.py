"""Decisions for maxima are the first piece of an optimal plan for the jobs that are there."""

import numpy as np
import pytest

import malleable as mb
from tests.strategies import ALL_SLOTS, KINDS, random_jobs

MAXIMA = [kind for kind in KINDS if kind not in ("strict", "custom")]


def wide_jobs(rng, now=0.0, count=None):
    """Widths from 1 to all, deadlines tight for the work or for the width."""
    slots = int(rng.choice([1, 3, 12, 64]))
    count = int(rng.integers(1, 13)) if count is None else count
    work = np.round(rng.lognormal(1.0, 1.2, count), 2) + 0.01
    some = rng.integers(1, slots + 1, count)
    high = [some, rng.choice([1, slots], count), np.full(count, ALL_SLOTS)][int(rng.integers(3))]
    low = np.minimum(rng.integers(0, 2 + slots // count, count), high) * int(rng.integers(2))
    if low.sum() > slots:
        low[:] = 0
    path = work / np.minimum(high, slots)
    due = now + path * rng.uniform(0.5, 2.0, count) + rng.uniform(0, 1.5) * work.sum() / slots
    steps = [[(t, 1.0), (t + 1.0, 1.5 + k % 3)] for k, t in enumerate(due.tolist())]
    table = mb.Jobs(
        work,
        arrival=now - rng.uniform(0, 3, count) * int(rng.integers(2)),
        min_slots=low,
        max_slots=high,
        weight=rng.uniform(0.2, 3, count) if rng.random() < 0.5 else 1.0,
        deadline=due,
        sla=steps,
        size=work * rng.uniform(1, 3, count),
    )
    return table, slots


def value_from(jobs, slots, objective, allocation, spell):
    """The least value of plans that hold the slots for so many seconds, by a plan for what is left then."""
    rest = jobs._replaced(work=np.maximum(jobs.work - allocation * spell, 0.0))
    return mb.plan(rest, slots, objective, now=spell).value


def check_first_piece(jobs, slots, objective):
    epoch = mb.Epoch(slots, objective)
    epoch.add(jobs)
    decision = epoch.decide(0.0)
    best = mb.plan(jobs, slots, objective)
    plan = decision.plan()
    plan.validate()
    near = pytest.approx(best.value, rel=2e-8, abs=1e-7)
    assert plan.value == near
    assert decision.value == plan.value
    assert decision.lower_bound <= best.value + 1e-7
    first = plan.pieces["start"] == 0.0
    begins = np.bincount(
        plan.pieces["job"][first], plan.pieces["slots"][first], minlength=len(jobs)
    )
    assert begins.tolist() == decision.slots.tolist()
    # A moment later nothing is lost.
    spell = 1e-4 * float((jobs.work / np.minimum(jobs.max_slots, slots)).min())
    assert value_from(jobs, slots, objective, decision.slots, spell) <= best.value + 1e-7 * (
        1 + abs(best.value)
    )


@pytest.mark.parametrize("kind", MAXIMA)
def test_slots_begin_an_optimal_plan(kind):
    rng = np.random.default_rng([201, len(kind)])
    for _ in range(60):
        check_first_piece(*wide_jobs(rng), f"max:{kind}")


def test_slots_begin_an_optimal_plan_with_other_minima():
    rng = np.random.default_rng(202)
    for kind in MAXIMA:
        for _ in range(10):
            slots = int(rng.integers(1, 20))
            jobs = random_jobs(rng, int(rng.integers(1, 10)), slots, minima="small")
            check_first_piece(jobs, slots, f"max:{kind}")


def test_a_narrow_job_is_not_late_for_a_wide_one():
    for objective in ("max:tardiness", "max:tardy"):
        epoch = mb.Epoch(64, objective)
        epoch.add([100.0, 3200.0], max_slots=[1, 64], deadline=[101.0, 100.0])
        decision = epoch.decide(0.0)
        assert decision.slots.tolist() == [1, 63]
        assert decision.value == decision.lower_bound == 0.0


def test_jobs_whose_latest_starts_meet_share_slots_until_one_ends():
    """The long job has to start by 10 s, the short one by 14 s. If the long one runs for 4 s, and then both
    by equal parts of the slots, the short one ends at 6 s; until then it has a sixth of the slots."""
    epoch = mb.Epoch(64, "max:tardiness")
    epoch.add([640.0, 64.0], deadline=[20.0, 15.0])
    assert epoch.decide(0.0).slots.tolist() == [53, 11]


def test_one_slot_goes_to_the_job_that_would_end_first():
    """By latest start the long job would go first, and a job that comes later could make the short one late."""
    epoch = mb.Epoch(1, "max:tardiness")
    epoch.add([10.0, 1.0], deadline=[20.0, 15.0])
    assert epoch.decide(0.0).slots.tolist() == [0, 1]


def test_a_job_of_half_the_slots_goes_almost_by_latest_start():
    """It starts at 20 s at the latest, plus an eighth of its 20 s; the wide job is due later, at 25 s."""
    epoch = mb.Epoch(64, "max:tardiness")
    epoch.add([640.0, 64.0], max_slots=[32, 64], deadline=[40.0, 25.0])
    assert epoch.decide(0.0).slots.tolist() == [32, 32]


def test_slots_stay_right_until_a_job_ends_where_they_can():
    """By latest start alone the long job would begin, and the short one wait for its end."""
    epoch = mb.Epoch(1, "max:lateness")
    epoch.add([10.0, 1.0], deadline=[11.5, 3.0])
    assert epoch.decide(0.0).slots.tolist() == [0, 1]
