"""What a job is compared by when it comes between two decisions, and that nothing else counts."""

import numpy as np
import pytest

import malleable as mb
from malleable.cluster.simulate import CLUSTER_POLICIES
from tests.full import part
from tests.oracles import ranked_pools

LEARNING = ("auto", "gittins", "adaptive", "adaptive-literal")
FREE = [name for name in CLUSTER_POLICIES if name not in LEARNING]


def two_kinds(seed):
    """Jobs, their columns, and nodes with map and reduce slots; times are multiples of 1/64 s."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 30))
    maps, reduces = rng.integers(0, 6, count), rng.integers(0, 5, count)
    maps[maps + reduces == 0] = 1
    seconds = rng.integers(1, 512, (2, count)) / 64
    arrival = np.sort(rng.integers(0, 2560, count)) / 64
    columns = [own.tolist() for own in (arrival, maps, seconds[0], reduces, seconds[1])]
    jobs = mb.ClusterJobs(maps, seconds[0], reduces, seconds[1], arrival=arrival)
    slots = int(rng.integers(1, 6)), int(rng.integers(1, 5))
    return jobs, list(zip(*columns, strict=True)), slots


@pytest.mark.parametrize("epoch", [0.0, 0.5, 3.0])
@pytest.mark.parametrize(
    ("policy", "rank"), [("srpt", ranked_pools.srpt), ("max-srpt", ranked_pools.max_srpt)]
)
def test_ranks_on_two_kinds_of_slots(policy, rank, epoch):
    """Both phases count in both pools: what happens in one is a reason to decide for the other."""
    for seed in range(part(100)):
        jobs, table, slots = two_kinds(seed)
        cluster = mb.Cluster([{"map_slots": slots[0], "reduce_slots": slots[1]}])
        for slow_start in (0.05, 1.0):
            expected = ranked_pools.completions(table, slots, epoch, rank, slow_start)
            found = mb.simulate(
                jobs, policy, cluster=cluster, epoch=epoch, slow_start=slow_start, ageing=0
            )
            assert found.records["completion"].tolist() == expected


def crowded(seed, generic, before):
    """60 jobs behind so many tiny ones that ended long ago."""
    rng = np.random.default_rng(seed)
    maps, reduces = rng.integers(1, 9, 60), rng.integers(0, 4, 60)
    seconds = rng.integers(32, 640, (2, 60)) / 64
    arrival = 3072 + np.sort(rng.integers(0, 64 * 120, 60)) / 64
    tiny = np.ones(before)
    return mb.ClusterJobs(
        np.concatenate([tiny, maps]).astype(int),
        np.concatenate([tiny / 64, seconds[0]]),
        np.concatenate([0 * tiny, reduces]).astype(int),
        np.concatenate([tiny, seconds[1]]),
        arrival=np.concatenate([np.arange(before) / 4, arrival]),
        user=["ann", "bob"] * ((before + 60) // 2),
    ), mb.Cluster([{"count": 2, "slots": 4} if generic else {"map_slots": 5, "reduce_slots": 3}])


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("policy", FREE)
def test_jobs_that_ended_long_ago_change_nothing(policy, generic):
    if policy.startswith("flowflex") and not generic:
        pytest.skip("generic slots only")
    for seed in range(4):
        runs = []
        for before in (0, 5_000):
            jobs, cluster = crowded(seed, generic, before)
            found = mb.simulate(jobs, policy, cluster=cluster, epoch=3, rng=1)
            runs.append(found.records["completion"][before:].tolist())
        assert runs[0] == runs[1]


@pytest.mark.parametrize("policy", FREE)
def test_a_scheduler_forgets_jobs_that_ended(policy):
    """What starts between two decisions does not depend on numbers of jobs, or on whose rows they are."""
    seen = []
    for before in (0, 500):
        scheduler = mb.Scheduler(mb.Cluster([{"slots": 8}]), policy, learn=False)
        for k in range(before):
            old = scheduler.add(mb.ClusterJobs([1], 0.125), k / 4)
            scheduler.decide(k / 4)
            scheduler.assign(k / 4, free=8)
            scheduler.ended(old, seconds=0.125, now=(k + 0.5) / 4)
            scheduler.finish(old, (k + 0.5) / 4)
        first = scheduler.add(mb.ClusterJobs([6, 4], [2.0, 5.0]), 200.0)
        scheduler.decide(200.0)
        scheduler.assign(200.0, free=4)
        late = scheduler.add(mb.ClusterJobs([2, 9], [1.0, 8.0]), 200.5)
        names = {job: k for k, job in enumerate([*first.tolist(), *late.tolist()])}
        starts = scheduler.assign(200.5, free=4)
        said = scheduler.decide(201.0)
        seen.append(
            (
                [names[job] for job in starts.ids.tolist()],
                [(names[job], n) for job, n in zip(said.ids.tolist(), said.slots, strict=True)],
            )
        )
    assert seen[0] == seen[1]


@pytest.mark.parametrize(("policy", "first"), [("srpt", [1, 1]), ("fifo", [0, 0])])
def test_who_comes_between_decisions_has_a_rank(policy, first):
    """One slot, decisions at 0, 8, 16: the short job comes at 1 and is there when the slot is free at 4."""
    jobs = mb.ClusterJobs([3, 2], [4.0, 1.0], arrival=[0.0, 1.0])
    found = mb.simulate(
        jobs, policy, cluster=mb.Cluster([{"map_slots": 1}]), epoch=8, trace=True, rng=1
    )
    trace = found.trace[policy]
    assert trace["job"][trace["kind"] == 0].tolist()[1:3] == first
