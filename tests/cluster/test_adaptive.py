"""The adaptive scheduler of Rasooli and Down 2011 on simulated clusters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import malleable as mb
from tests.oracles.class_matching import EAGER

pytest.importorskip("highspy")

NODES = [
    {"count": 3, "map_slots": 2, "reduce_slots": 1, "storage": 1e7, "link": 1e7},
    {"count": 2, "map_slots": 4, "reduce_slots": 2, "rate": 4.0},
]
USERS = [
    {"name": "user0", "minimum": 4, "priority": 2},
    {"name": "user1", "minimum": 1, "priority": 1},
]


OWN = mb.AdaptiveLiteral(**EAGER, name="adaptive")


def run(policy, seed=0, nodes=NODES, users=USERS, count=60, **options):
    jobs = mb.generate_cluster_jobs(count, seed, gap=15.0, mean_maps=10.0, users=3)
    return mb.simulate(jobs, policy, cluster=mb.Cluster(nodes, users), rng=seed, **options)


@settings(max_examples=25)
@given(
    st.integers(0, 10**6),
    st.booleans(),
    st.sampled_from([0, 2]),
    st.sampled_from([0.0, 0.3]),
    st.booleans(),
)
def test_work_is_conserved(seed, grouped, replicas, failure, generic):
    nodes = [{"slots": 3}, {"slots": 2, "rate": 3.0}] if generic else NODES
    policy = mb.AdaptiveLiteral(**EAGER | {"grouped": grouped}, name="adaptive")
    slow = {"slow_start": 1.0} if generic else {}
    found = run(policy, seed, nodes, count=30, replicas=replicas, failure=failure, **slow)
    summary = found.summary["adaptive"]
    assert summary["unfinished"] == 0
    assert summary["idle_slots"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("policy", [OWN, "adaptive-literal"])
def test_same_seed_same_records(policy):
    one, other = (run(policy, 5, replicas=2, noise=0.3) for _ in range(2))
    for name, column in one.records.items():
        assert np.array_equal(column, other.records[name]), name


def test_with_all_alike_minima_order_users():
    # One class and one type of node: only the users' rules are left.
    jobs = mb.ClusterJobs([8, 8], 10.0, arrival=0.0, user=["user1", "user0"], program=["p", "p"])
    place = mb.Cluster([{"map_slots": 4}], [{"name": "user0", "minimum": 4, "priority": 1}])
    found = mb.simulate(jobs, OWN, cluster=place, rng=0)
    end = dict(zip(found.records["user"], found.records["completion"], strict=True))
    assert end == {"user0": 20.0, "user1": 40.0}


def test_without_users_it_is_first_come_first_served():
    jobs = mb.generate_cluster_jobs(40, 3, gap=5.0, mean_maps=8.0)
    place = mb.Cluster([{"count": 3, "map_slots": 3, "reduce_slots": 1}])
    found = mb.simulate(jobs, ["fifo", OWN], cluster=place, rng=0)
    ends = [
        found.records["completion"][found.records["policy"] == name]
        for name in ("fifo", "adaptive")
    ]
    # One user, one type: every class is suggested everywhere, so the earliest job goes first.
    assert np.allclose(*ends)


def test_as_printed_slots_idle_and_with_a_fallback_none_does():
    found = run([OWN, "adaptive-literal"], 2)
    assert found.summary["adaptive"]["idle_slots"] == 0.0
    assert found.summary["adaptive-literal"]["idle_slots"] > 0.1


def test_placement_brings_locality():
    policies = [OWN, mb.AdaptiveLiteral(**EAGER, placement=False, name="at random")]
    nodes = [
        {"count": 6, "map_slots": 2, "reduce_slots": 1},
        {"count": 2, "map_slots": 4, "reduce_slots": 2, "rate": 4.0},
    ]
    jobs = mb.generate_cluster_jobs(80, 1, gap=60.0, mean_maps=10.0)
    found = mb.simulate(jobs, policies, cluster=mb.Cluster(nodes), rng=1, replicas=1).summary
    assert found["adaptive"]["locality"] > found["at random"]["locality"]


def test_nodes_that_leave_are_suggested_to_nobody():
    changes = [{"time": 5.0, "node": node, "up": False} for node in (0, 1)]
    cluster = mb.Cluster([{"count": 2, "slots": 2, "rate": 50.0}, {"slots": 2}], changes=changes)
    jobs = mb.ClusterJobs([4] * 6, 10.0, program=["p"] * 6, arrival=np.arange(6.0))
    found = mb.simulate(jobs, "adaptive-literal", cluster=cluster, rng=1, ageing=0)
    assert found.summary["adaptive-literal"]["unfinished"] == 0


def test_gangs_start_whole():
    # Two slots on two nodes; the gang holds the free one until the other job's task has ended.
    jobs = mb.ClusterJobs([1, 2], [10, 5], arrival=[0, 1], min_map_slots=[0, 2])
    cluster = mb.Cluster([{"map_slots": 1, "count": 2}])
    result = mb.simulate(jobs, OWN, cluster=cluster, min_mode="start", epoch=0, rng=1)
    assert result.records["starting_time"].tolist() == [0, 10]


def test_noisy_estimates_do_not_stop_it():
    found = run([OWN, "adaptive-literal"], 4, estimates=1.0)
    assert found.summary["adaptive"]["unfinished"] == 0
    learnt = run(OWN, 4, estimates="learn").summary["adaptive"]
    assert learnt["unfinished"] == 0


def test_flows_and_jobs_without_tasks():
    flows = mb.Flows(
        [
            [
                {"name": "a", "work": 30, "max_slots": 4},
                {"name": "b", "work": 0, "max_slots": 4, "after": ["a"]},
                {"name": "c", "work": 20, "max_slots": 4, "after": ["b"]},
            ]
        ]
    )
    jobs = mb.cluster_flows(flows, 5.0)
    place = mb.Cluster([{"slots": 2}, {"slots": 1, "rate": 2.0}])
    found = mb.simulate(jobs, ["fifo", OWN], cluster=place, rng=0)
    for policy in ("fifo", "adaptive"):
        assert found.summary[policy]["unfinished"] == 0
        assert found.summary[policy]["tasks"] == 10


def test_ageing_bounds_waits_as_printed():
    # As printed, jobs of a class wait while slots are kept for others: here for 107 s.
    waits = {
        ageing: run("adaptive-literal", 3, ageing=ageing).summary["adaptive-literal"][
            "longest_wait"
        ]
        for ageing in (0.0, 50.0)
    }
    assert waits[0.0] > 100.0
    # Somewhere a slot is free when its 50 s are over.
    assert waits[50.0] == pytest.approx(50.0)
    own = mb.AdaptiveLiteral(max_wait=50.0)
    found = run(own, 3).summary["adaptive-literal"]["longest_wait"]
    assert waits[50.0] <= found < 60.0  # without the option's clock, at the next event after 50 s


def test_policies_of_ones_own_see_users():
    class Owners:
        name, style = "owners", "node"

        def begin(self, state):
            self.user = state.user.tolist()

        def choose(self, state, node, pool):
            ready = [job for job in state.present.tolist() if state.eligible(job, pool)]
            return (min(ready, key=lambda job: self.user[job]), pool) if ready else None

    jobs = mb.ClusterJobs([2, 2, 2], 10, user=["b", "a", "b"])
    cluster = mb.Cluster([{"map_slots": 2}], [{"name": "a"}, {"name": "b"}])
    own = Owners()
    found = mb.simulate(jobs, own, cluster=cluster, epoch=0)
    assert own.user == [1, 0, 1]
    assert found.records["completion"].tolist() == [20, 10, 30]
