"""Nodes that have room for so many bytes of blocks (adaptive, table 3)."""

import math

import pytest

import malleable as mb
from tests.cluster.cluster_runs import AllOnNodeZero, run

# Four maps of a block of 10 bytes, all placed on node 0; nodes of one slot, two tasks each.
JOBS = mb.ClusterJobs([4], 10, block=10)


def local(jobs, *capacities, replicas=1, policy=None):
    cluster = mb.Cluster([{"slots": 1, "capacity": own} for own in capacities])
    found = run(jobs, policy or AllOnNodeZero(), cluster, replicas=replicas)
    (summary,) = found.summary.values()
    return summary["locality"]


@pytest.mark.parametrize(
    ("capacities", "locality"),
    [
        ((math.inf, math.inf), 0.5),
        ((40.0, 1.0), 0.5),
        ((20.0, math.inf), 1.0),  # two blocks go on to node 1
        ((29.0, 29.0), 1.0),
        ((30.0, 10.0), 0.75),
        ((20.0, 10.0), 0.75),  # the last block finds no room and stays
        ((9.0, 9.0), 0.5),  # none does
    ],
)
def test_blocks_go_where_there_is_room(capacities, locality):
    assert local(JOBS, *capacities) == locality


def test_copies_of_a_block_stay_apart():
    # Two copies of each block fill both of three nodes that have room: everybody else reads from afar.
    nodes = (40.0, 1.0, 40.0)
    whole = mb.ClusterJobs([3], 10, block=10)
    assert local(whole, *nodes, replicas=2, policy="fifo") == pytest.approx(2 / 3)


def test_blocks_outlive_their_jobs():
    """Node 1 is twice as fast, and jobs wait for their blocks: times say where these are."""
    jobs = mb.ClusterJobs([2, 2], 10, block=10, arrival=[0, 100])
    for capacity, ends in ((20.0, [20, 110]), (40.0, [20, 120])):
        cluster = mb.Cluster([{"slots": 1, "capacity": capacity}, {"slots": 1, "rate": 2.0}])
        found = run(jobs, AllOnNodeZero(), cluster, replicas=1, delay=1000)
        assert found.records["completion"].tolist() == ends


@pytest.mark.parametrize("capacity", [0, -1, math.nan, "x"])
def test_wrong_capacities(capacity):
    with pytest.raises(ValueError, match=r"node\[0\]\.capacity = "):
        mb.Cluster([{"slots": 1, "capacity": capacity}])
