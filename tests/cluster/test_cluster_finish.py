"""Jobs on nodes of unlike kinds, by the time at which tasks would end elsewhere."""

import copy
import pickle

import numpy as np
import pytest

import malleable as mb

PAIR = [{"slots": 1, "name": "good"}, {"slots": 1, "name": "bad"}]


def scheduler(nodes=PAIR, **more):
    return mb.Scheduler(mb.Cluster(nodes, **more), "adaptive", learn=False)


def started(scheduler, now, free):
    starts = scheduler.assign(now, free)
    return list(zip(starts.ids.tolist(), starts.node.tolist(), strict=True))


def test_a_slot_is_left_where_waiting_for_a_better_one_ends_the_task_earlier():
    own = scheduler()
    # One task waits for 10 s on the good node rather than run for 30 s; the last of four does not.
    own.add(mb.ClusterJobs([2], 10.0, rate={"good": [1.0], "bad": [1.0 / 3.0]}), 0.0)
    assert started(own, 0.0, [1, 1]) == [(0, 0)]
    many = scheduler()
    many.add(mb.ClusterJobs([1] * 5, 10.0, rate={"good": 1.0, "bad": 1.0 / 3.0}), 0.0)
    assert sorted(node for _, node in started(many, 0.0, [1, 1])) == [0, 1]


def test_jobs_go_where_their_class_is_fast():
    own = scheduler()
    rate = {"good": [1.0, 5.0], "bad": [5.0, 1.0]}
    own.add(mb.ClusterJobs([1, 1], 10.0, rate=rate), 0.0)
    assert sorted(started(own, 0.0, [1, 1])) == [(0, 1), (1, 0)]


def test_users_below_their_minimum_go_first_whatever_the_kind():
    users = [{"name": "ann", "minimum": 1}, {"name": "bob"}]
    own = scheduler(users=users)
    rate = {"good": [1.0, 1.0], "bad": [0.1, 0.1]}
    own.add(mb.ClusterJobs([1, 1], [1.0, 90.0], user=["bob", "ann"], rate=rate), 0.0)
    assert started(own, 0.0, [0, 1]) == [(1, 1)]


def test_the_order_is_the_objective_s():
    cluster = mb.Cluster([{"slots": 1}])
    jobs = mb.ClusterJobs([1, 1], [9.0, 5.0], deadline=[20.0, 40.0], arrival=[0.0, 1.0])
    first = {}
    for objective in ("sum:response", "sum:tardiness", "max:response"):
        own = mb.Scheduler(cluster, "adaptive", objective, learn=False)
        own.add(jobs, 1.0)
        first[objective] = started(own, 1.0, [1])[0][0]
    assert first == {"sum:response": 1, "sum:tardiness": 0, "max:response": 0}


def test_nodes_that_are_gone_are_waited_for_by_nobody():
    nodes = [{"count": 4, "slots": 2, "rate": 50.0}, {"count": 4, "slots": 2}]
    changes = [{"time": 0.5, "node": node, "up": False} for node in range(4)]
    cluster = mb.Cluster(nodes, changes=changes)
    jobs = mb.ClusterJobs([20] * 20, 10.0, arrival=np.linspace(1.0, 60.0, 20))
    found = mb.simulate(jobs, ["fair", "adaptive"], cluster=cluster, rng=1).summary
    assert found["adaptive"]["unfinished"] == 0
    assert found["adaptive"]["mean_response"] < found["fair"]["mean_response"]


def test_slots_that_are_told_count():
    own = scheduler()
    own.add(mb.ClusterJobs([1], 10.0, rate={"good": 1.0, "bad": 0.1}), 0.0)
    assert started(own, 0.0, [0, 1]) == []
    own.set_slots([0], [0], now=1.0)
    assert started(own, 1.0, [0, 1]) == [(0, 1)]


def test_copies_go_on_as_the_original():
    own = scheduler(users=[{"name": "ann", "minimum": 1}, {"name": "bob"}])
    rate = {"good": [1.0, 2.0, 3.0], "bad": [2.0, 1.0, 0.5]}
    own.add(mb.ClusterJobs([4, 3, 2], 10.0, user=["ann", "bob", "bob"], rate=rate), 0.0)
    own.decide(0.0)
    others = [copy.copy(own), pickle.loads(pickle.dumps(own))]
    first = started(own, 0.0, [1, 1])
    assert first
    for other in others:
        assert started(other, 0.0, [1, 1]) == first


@pytest.mark.parametrize("generic", [False, True])
def test_everything_ends_on_both_kinds_of_slots(generic):
    slots = {"slots": 3} if generic else {"map_slots": 2, "reduce_slots": 1}
    nodes = [{"count": 3, "name": f"kind {k}", **slots} for k in range(3)]
    rng = np.random.default_rng(1)
    rate = {f"kind {k}": rng.lognormal(0.0, 1.0, (40, 2)) for k in range(3)}
    jobs = mb.ClusterJobs([6] * 40, 10.0, [2] * 40, 5.0, arrival=np.arange(40.0), rate=rate)
    found = mb.simulate(jobs, "adaptive", cluster=mb.Cluster(nodes), rng=1)
    assert found.summary["adaptive"]["unfinished"] == 0


def test_auto_is_this_policy_from_the_first_job_with_rates_on():
    nodes = [{"slots": 1, "name": "good"}, {"slots": 1, "name": "bad"}]
    users = [{"name": "ann", "minimum": 1}, {"name": "bob"}]
    for policy in ("adaptive", "auto"):
        own = mb.Scheduler(mb.Cluster(nodes, users), policy, learn=False)
        own.add(mb.ClusterJobs([1], 50.0, user=["bob"]), 0.0)
        own.decide(0.0)
        rate = {"good": [1.0, 5.0], "bad": [5.0, 1.0]}
        own.add(mb.ClusterJobs([1, 1], 10.0, user=["bob", "ann"], rate=rate), 1.0)
        own.decide(1.0)
        again = pickle.loads(pickle.dumps(own))
        starts = started(own, 1.0, [1, 1])
        assert starts == started(again, 1.0, [1, 1])
        assert starts == [(2, 0), (1, 1)]


def test_a_job_waits_for_a_node_with_its_block_while_others_go_first():
    own = mb.Scheduler(mb.Cluster(PAIR), "adaptive", learn=False, replicas=1)
    ids = own.add(mb.ClusterJobs([1, 1], [5.0, 9.0]), 0.0)
    own.set_blocks(ids[0], [[0]])
    own.set_blocks(ids[1], [[1]])
    assert started(own, 0.0, [0, 1]) == [(ids[1], 1)]
    assert started(own, 9.0, [0, 1]) == []
    assert started(own, 10.0, [0, 1]) == [(ids[0], 1)]


def test_blocks_go_where_tasks_would_be_done_first():
    own = mb.Scheduler(mb.Cluster(PAIR), "adaptive", learn=False, replicas=1)
    (job,) = own.add(mb.ClusterJobs([4], 10.0, rate={"good": 3.0, "bad": 1.0}), 0.0)
    assert sorted(own.place(job, copies=1).reshape(-1).tolist()) == [0, 0, 0, 1]


def test_jobs_below_a_minimum_of_their_own_go_first_on_any_kind():
    own = scheduler()
    rate = {"good": [1.0, 1.0], "bad": [0.1, 0.1]}
    own.add(mb.ClusterJobs([1, 2], [1.0, 90.0], min_map_slots=[0, 1], rate=rate), 0.0)
    assert started(own, 0.0, [0, 1]) == [(1, 1)]
