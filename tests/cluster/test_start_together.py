"""Phases that wait until as many tasks as their minimum can start, by an option or job by job."""

import numpy as np
import pytest

import malleable as mb
from tests.full import part

GENERIC = [{"slots": 4, "count": 3}]


def given(scheduler, now):
    """Slots by id, of those that have some."""
    decision = scheduler.decide(now)
    rows = zip(decision.ids.tolist(), decision.slots.tolist(), strict=True)
    return {job: slots for job, slots in rows if slots}


@pytest.mark.parametrize("policy", ["flex", "auto", "fair", "wdeq"])
def test_each_job_says_what_its_minimum_means(policy):
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 10}]), policy)
    least, mode = [6, 6, 3], ["start", "start", "guarantee"]
    jobs = mb.ClusterJobs([6, 9, 9], 10.0, min_map_slots=least, min_mode=mode)
    scheduler.add(jobs, 0.0)
    slots = given(scheduler, 0.0)
    # One of those that start has its minimum, the other one waits; the guarantee has the rest.
    assert sum(slots.values()) == 10 and slots[2] >= 3 and len(slots) == 2
    assert slots.get(0, 6) >= 6 and slots.get(1, 6) >= 6


def test_the_option_counts_for_jobs_that_say_nothing():
    for option, expected in (("start", {0: 6}), ("guarantee", {0: 5, 1: 5})):
        scheduler = mb.Scheduler(mb.Cluster([{"slots": 10}]), "flex", min_mode=option)
        scheduler.add(mb.ClusterJobs([6, 6], [1.0, 10.0], min_map_slots=6), 0.0)
        assert given(scheduler, 0.0) == expected


def test_who_started_keeps_its_minimum_when_shorter_jobs_come():
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 10}]), "flex", min_mode="start")
    scheduler.add(mb.ClusterJobs([30], [100.0], min_map_slots=6), 0.0)
    assert given(scheduler, 0.0) == {0: 10}
    scheduler.add(mb.ClusterJobs([8], [1.0], min_map_slots=8), 1.0)
    assert given(scheduler, 1.0) == {0: 10}
    scheduler.add(mb.ClusterJobs([4], [1.0], min_map_slots=4), 2.0)
    assert given(scheduler, 2.0) == {0: 6, 2: 4}


def test_a_user_keeps_the_minima_of_what_has_started():
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 10}]), "flex", min_mode="start")
    scheduler.add(mb.ClusterJobs([30], [100.0], min_map_slots=8, user="a"), 0.0)
    assert given(scheduler, 0.0) == {0: 10}
    scheduler.add(mb.ClusterJobs([9], [1.0], min_map_slots=1, user="b"), 1.0)
    assert given(scheduler, 1.0) == {0: 8, 1: 2}


@pytest.mark.parametrize("policy", ["flex", "auto", "fair"])
@pytest.mark.parametrize("users", [1, 3])
def test_tasks_of_a_minimum_start_together(policy, users):
    for seed in range(part(12, 3)):
        rng = np.random.default_rng(seed)
        count = 25
        maps = rng.integers(1, 14, count)
        least = np.minimum(maps, rng.integers(0, 9, count))
        mode = rng.choice(["start", "guarantee"], count).tolist()
        jobs = mb.ClusterJobs(
            maps,
            rng.uniform(1.0, 20.0, count),
            arrival=np.sort(rng.uniform(0.0, 60.0, count)),
            min_map_slots=least,
            min_mode=mode,
            user=[f"u{k % users}" for k in range(count)],
        )
        result = mb.simulate(jobs, policy, cluster=mb.Cluster(GENERIC), epoch=0, rng=1)
        assert np.isfinite(result.records["completion"]).all()


def test_words_that_are_none_are_refused():
    with pytest.raises(ValueError, match=r"min_mode\[1\] = 'gang'"):
        mb.ClusterJobs([1, 2], 1.0, min_mode=["start", "gang"])


def test_a_minimum_that_never_fits_is_refused():
    jobs = mb.ClusterJobs([20, 20], 1.0, min_map_slots=13, min_mode=["guarantee", "start"])
    with pytest.raises(ValueError, match=r"min_map_slots\[1\] = 13: they never start together"):
        mb.simulate(jobs, "flex", cluster=mb.Cluster(GENERIC), epoch=0)
