"""Speed of the adaptive scheduler: matching classes, choosing tasks, a whole simulation."""

import numpy as np
import pytest

import malleable as mb
from benchmarks.instances import matching_instance

CLASSES, NODES, TYPES = 50, 2_000, 8


@pytest.mark.parametrize("nodes", [NODES, 10 * NODES])
def test_matching(benchmark, nodes):
    arrival, execution, _ = matching_instance(CLASSES, nodes, TYPES)
    found = benchmark(mb.match_classes, arrival, execution)
    assert np.count_nonzero(found.share[:, :TYPES]) <= CLASSES + TYPES - 1


def test_matching_node_by_node(benchmark):
    arrival, execution, _ = matching_instance(10, 40, TYPES)
    benchmark(mb.match_classes, arrival, execution, group=False)


@pytest.mark.parametrize("users", [4, 100])
def test_decisions(benchmark, users):
    """8,000 free slots of 2,000 nodes get tasks of 1,000 jobs."""
    cluster = mb.Cluster(
        [{"count": NODES // TYPES, "map_slots": 4, "rate": 1.0 + k} for k in range(TYPES)]
    )
    generator = np.random.default_rng(1)
    jobs = mb.ClusterJobs(
        np.full(1_000, 8),
        generator.choice([5.0, 50.0, 500.0], 1_000),
        user=[f"user{k % users}" for k in range(1_000)],
        program=[f"program{k % CLASSES}" for k in range(1_000)],
    )

    def fresh():
        scheduler = mb.Scheduler(
            cluster, mb.AdaptiveLiteral(grouped=True, fallback=True, threshold=1e9)
        )
        scheduler.add(jobs, 1.0)
        return (scheduler, 1.0, cluster.map_slots), {}

    starts = benchmark.pedantic(mb.Scheduler.assign, setup=fresh, rounds=5)
    assert len(starts.ids) == 8_000


@pytest.mark.parametrize("policy", ["fair", "adaptive"])
def test_simulation(benchmark, policy):
    jobs = mb.generate_cluster_jobs(2_000, 1, gap=2.0, users=8)
    cluster = mb.Cluster(
        [{"count": 50, "map_slots": 8, "reduce_slots": 4, "rate": 1.0 + k} for k in range(4)]
    )
    options = {"rng": 1, "cluster": cluster, "records": False}
    result = benchmark.pedantic(mb.simulate, (jobs, policy), options, rounds=1)
    assert result.summary[policy]["unfinished"] == 0
