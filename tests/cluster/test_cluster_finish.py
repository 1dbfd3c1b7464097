"""Jobs on nodes of unlike kinds, by the time at which tasks would end elsewhere."""

import copy
import heapq
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


@pytest.mark.parametrize("policy", ["adaptive", "auto"])
@pytest.mark.parametrize("by_class", [False, True])
def test_nodes_that_are_gone_are_waited_for_by_nobody(policy, by_class):
    fast = {"count": 4, "slots": 2, "name": "fast", "rate": 100.0}
    changes = [{"time": 0.5, "node": node, "up": False} for node in range(4)]
    cluster = mb.Cluster([fast, {"count": 4, "slots": 2, "name": "slow"}], changes=changes)
    rate = {"fast": 100.0, "slow": 1.0} if by_class else None
    jobs = mb.ClusterJobs([20] * 20, 10.0, arrival=np.linspace(1.0, 60.0, 20), rate=rate)
    found = mb.simulate(jobs, ["fair", policy], cluster=cluster, rng=1).summary
    assert found[policy]["unfinished"] == 0
    assert found[policy]["mean_response"] < found["fair"]["mean_response"]


class Engine:
    """Runs jobs of two phases as a scheduler says, and counts who starts above his minimum meanwhile
    others with tasks that could start lack theirs."""

    def __init__(self, cluster, jobs, least):
        self.core = mb.Scheduler(cluster, "adaptive", learn=False, ageing=0)
        self.jobs, self.least = jobs, least
        self.free = np.stack([cluster.map_slots, cluster.reduce_slots], axis=1)
        self.generic = cluster.generic
        self.running = dict.fromkeys(least, 0)
        self.waiting, self.unfinished = {}, {}
        self.below = self.above = 0
        self.events = [(arrival, k, None) for k, (arrival, *_) in enumerate(jobs)]

    def lack(self, pool):
        def could_start(job):
            maps, reduces = self.waiting[job]
            reduces *= self.unfinished[job][0] == 0
            return maps + reduces if self.generic else (maps, reduces)[pool]

        return {
            self.jobs[job][1]
            for job in self.waiting
            if self.running[self.jobs[job][1]] < self.least[self.jobs[job][1]] and could_start(job)
        }

    def end(self, job, phase, node, now):
        self.running[self.jobs[job][1]] -= 1
        self.free[node, 0 if self.generic else phase] += 1
        self.unfinished[job][phase] -= 1
        self.core.ended([job], phase, node=[node], seconds=5.0, now=now)

    def start(self, job, phase, node, now, seconds):
        pool = 0 if self.generic else phase
        user = self.jobs[job][1]
        if self.running[user] < self.least[user]:
            self.below += 1
        else:
            self.above += bool(self.lack(pool))
        self.waiting[job][phase] -= 1
        self.running[user] += 1
        self.free[node, pool] -= 1
        heapq.heappush(self.events, (now + seconds, job, (phase, node)))

    def run(self, rng):
        heapq.heapify(self.events)
        while self.events:
            now, job, what = heapq.heappop(self.events)
            if what is None:
                _, user, tasks, rate = self.jobs[job]
                table = mb.ClusterJobs([tasks[0]], 10.0, [tasks[1]], 5.0, user=[user], rate=rate)
                assert self.core.add(table, now).tolist() == [job]
                self.waiting[job], self.unfinished[job] = list(tasks), list(tasks)
            else:
                self.end(job, *what, now)
            starts = self.core.assign(now, self.free[:, 0] if self.generic else self.free)
            for row in zip(starts.ids.tolist(), starts.phase, starts.node, strict=True):
                self.start(*row, now, float(rng.exponential(8.0)))


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_nobody_starts_above_a_minimum_while_another_lacks_his(generic, seed):
    rng = np.random.default_rng(seed)
    slots = {"slots": 3} if generic else {"map_slots": 2, "reduce_slots": 1}
    least = {"ann": 9, "bob": 5, "cy": 0}
    cluster = mb.Cluster(
        [{"count": 3, "name": f"kind {k}", **slots} for k in range(3)],
        [{"name": name, "minimum": own, "priority": 1 + own % 2} for name, own in least.items()],
    )
    arrivals = np.cumsum(rng.exponential(2.5, 60))
    jobs = [
        (
            float(arrivals[k]),
            str(rng.choice(list(least))),
            (int(rng.integers(1, 12)), int(rng.integers(0, 4))),
            {f"kind {kind}": rng.lognormal(0.0, 1.0, (1, 2)) for kind in range(3)},
        )
        for k in range(60)
    ]
    engine = Engine(cluster, jobs, least)
    engine.run(rng)
    assert not any(sum(left) for left in engine.unfinished.values())
    assert engine.below > 50
    assert engine.above == 0


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


@pytest.mark.parametrize("policy", ["auto", "adaptive"])
@pytest.mark.parametrize("rigid_first", [True, False])
def test_a_queue_takes_rigid_jobs_whether_or_not_jobs_have_rates(policy, rigid_first):
    rate = {"good": 1.0, "bad": 0.1}

    def tables(rate):
        malleable = mb.ClusterJobs([1], 10.0, rate=rate)
        rigid = mb.ClusterJobs([2], 10.0, width=[2], requested=[12.0])
        return [rigid, malleable] if rigid_first else [malleable, rigid]

    queue = mb.Scheduler(mb.Cluster(PAIR), "easy-auto", learn=False)
    own = mb.Scheduler(mb.Cluster(PAIR), policy, learn=False)
    for with_rates, without in zip(tables(rate), tables(None), strict=True):
        own.add(with_rates, 0.0)
        queue.add(without, 0.0)
    again = pickle.loads(pickle.dumps(own))
    expected = [job for job, _ in started(queue, 0.0, [1, 1])]
    assert [job for job, _ in started(own, 0.0, [1, 1])] == expected
    assert [job for job, _ in started(again, 0.0, [1, 1])] == expected
    jobs = mb.ClusterJobs([1, 2], 10.0, width=[1, 2], rate=rate)
    found = mb.simulate(jobs, [policy, "easy-auto"], cluster=mb.Cluster(PAIR), rng=1)
    assert np.array_equal(*found.records["completion"].reshape(2, 2))


def test_jobs_below_a_minimum_of_their_own_go_first_on_any_kind():
    own = scheduler()
    rate = {"good": [1.0, 1.0], "bad": [0.1, 0.1]}
    own.add(mb.ClusterJobs([1, 2], [1.0, 90.0], min_map_slots=[0, 1], rate=rate), 0.0)
    assert started(own, 0.0, [0, 1]) == [(1, 1)]
