"""Which of the jobs below their targets gets a free slot: FLEX, sections 1 and 4.2."""

import numpy as np
import pytest

import malleable as mb
from tests.cluster.cluster_runs import nodes, run

TARGETS = np.array([5.0, 3.0])


def goals(state, now):
    """The first job should have five slots, the second three; there are four."""
    return np.column_stack([TARGETS[state.ids], np.zeros(len(state.ids))])


@pytest.mark.parametrize("heartbeat", [0, 10])
def test_by_hand(heartbeat):
    """Running / target: 0, 0, 1/5, 1/3 -> two each, always."""
    jobs = mb.ClusterJobs([20, 20], 10)
    trace = run(jobs, goals, nodes(4), trace=True, heartbeat=heartbeat).trace["goals"]
    begun = trace["kind"] == 0
    for time in (0.0, 10.0):
        assert np.bincount(trace["job"][begun & (trace["time"] == time)]).tolist() == [2, 2]


def test_every_task_runs_and_no_slot_idles():
    jobs = mb.generate_cluster_jobs(30, 4, gap=5.0, mean_maps=8)
    for cluster in (nodes(3, 2), mb.Cluster([{"slots": 5}])):
        for policy in ("flex", "fair"):
            summary = run(jobs, policy, cluster).summary[policy]
            assert summary["jobs"] == 30
            assert summary["idle_slots"] == 0
