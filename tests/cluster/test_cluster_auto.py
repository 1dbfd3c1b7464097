"""AUTO on generic slots: FlowFlex's order while a flow of several jobs is here, else as without flows."""

import copy
import pickle

import numpy as np
import pytest

import malleable as mb
from tests.cluster.test_cluster_flows import random_flows
from tests.full import part

CLUSTER = mb.Cluster([{"slots": 4}])


def chain(tasks, seconds, name="flow", **columns):
    """Jobs of so many tasks, one after the other."""
    count = len(tasks)
    return mb.ClusterJobs(
        tasks, seconds, after=[[k - 1] if k else [] for k in range(count)],
        flow=[name] * count, **columns,
    )  # fmt: skip


def with_a_long_flow(jobs):
    """And a flow that is here from the beginning to the end."""
    count = len(jobs)
    parents = [
        jobs.after[jobs.after_offset[k] : jobs.after_offset[k + 1]].tolist() for k in range(count)
    ]
    return mb.ClusterJobs(
        [*jobs.maps, 1, 1], [*jobs.map_seconds, 1000.0, 1.0], [*jobs.reduces, 0, 0], 3,
        arrival=[*jobs.arrival, 0, 0], shuffle=[*jobs.shuffle, 0, 0], weight=[*jobs.weight, 1, 1],
        deadline=[*jobs.deadline, 2000, 2000], after=[*parents, [], [count]],
        flow=[*jobs.flow, "long", "long"],
    )  # fmt: skip


@pytest.mark.parametrize("objective", ["sum:response", "sum:stretch", "max:stretch", "sum:tardy"])
def test_flows_run_as_with_flowflex(objective):
    """Told the right times, and between decisions, too."""
    for seed in range(part(60, 20)):
        rng = np.random.default_rng(seed)
        jobs = with_a_long_flow(random_flows(rng))
        options = {
            "cluster": mb.Cluster([{"slots": 3, "count": int(rng.integers(1, 4))}]),
            "rng": 1, "epoch": 5 * (seed % 3), "objective": objective, "learn": False,
            "heartbeat": 2 * (seed % 2), "failure": float(rng.choice([0, 0.1])),
        }  # fmt: skip
        own, expected = (
            mb.simulate(jobs, name, **options).records for name in ("auto", "flowflex")
        )
        for column in ("starting_time", "completion"):
            assert own[column].tolist() == expected[column].tolist()


def test_a_stage_that_becomes_ready_between_decisions_starts_at_once():
    """One slot, decisions at 0 and 100: the short flow goes on at 1, another flow comes at 2."""
    jobs = mb.ClusterJobs(
        [1, 1, 20, 1], [1.0, 2.0, 5.0, 1.0], arrival=[0.0, 0.0, 0.0, 2.0],
        after=[[], [0], [], []], flow=["short", "short", "long", "new"],
    )  # fmt: skip
    cluster = mb.Cluster([{"slots": 1}])
    found = mb.simulate(jobs, "auto", cluster=cluster, epoch=100, rng=1, learn=False).records
    assert found["completion"].tolist() == [1.0, 3.0, 104.0, 4.0]


def rule(scheduler):
    return scheduler.rule.partition(":")[0]


def told(scheduler, now):
    """Slots of the jobs that have some."""
    decision = scheduler.decide(now)
    has = decision.slots > 0
    return dict(zip(decision.ids[has].tolist(), decision.slots[has].tolist(), strict=True))


def test_who_decides_follows_the_flows_that_are_here():
    scheduler = mb.Scheduler(CLUSTER, "auto", learn=False)
    alone = scheduler.add(mb.ClusterJobs([2, 9], [5.0, 5.0]), 0.0)
    assert told(scheduler, 0.0) == {alone[0]: 2, alone[1]: 2}
    assert rule(scheduler) == "in order"
    # The first stage is the shortest job that is here, the flow is the longest.
    flow = scheduler.add(chain([1, 30], [1.0, 5.0]), 1.0)
    assert told(scheduler, 1.0) == {alone[0]: 2, alone[1]: 2}
    assert rule(scheduler) == "flow by flow"
    assert scheduler.rule == "flow by flow: a flow of several jobs is here"
    assert scheduler.assign(1.0, 4).ids.tolist() == [alone[0], alone[0], alone[1], alone[1]]
    scheduler.finish(flow[:1], 2.0)
    told(scheduler, 2.0)
    assert rule(scheduler) == "flow by flow"
    scheduler.finish(flow[1:], 3.0)
    assert told(scheduler, 3.0) == {alone[0]: 2, alone[1]: 2}
    assert rule(scheduler) == "in order"
    # A flow of one job is a job.
    scheduler.add(mb.ClusterJobs([1], [1.0], flow=["single"]), 4.0)
    assert told(scheduler, 4.0)
    assert rule(scheduler) == "in order"
    again = scheduler.add(chain([1, 30], [1.0, 5.0]), 5.0)
    told(scheduler, 5.0)
    assert rule(scheduler) == "flow by flow"
    scheduler.remove(again[:1], 6.0)  # and with it what waits for it
    told(scheduler, 6.0)
    assert rule(scheduler) == "in order"


def test_minima_are_kept():
    """While a job that is here has a minimum, FLEX serves stages; then flows again, some of them begun."""
    scheduler = mb.Scheduler(CLUSTER, "auto", learn=False)
    flow = scheduler.add(chain([8, 1, 8], [1.0, 1.0, 1.0]), 0.0)
    told(scheduler, 0.0)
    assert rule(scheduler) == "flow by flow"
    sure = scheduler.add(mb.ClusterJobs([40], [50.0], min_map_slots=3), 1.0)
    assert told(scheduler, 1.0) == {flow[0]: 1, sure[0]: 3}
    assert rule(scheduler) == "in order"
    scheduler.finish(flow[:1], 2.0)
    told(scheduler, 2.0)
    # The flow has 9 s left; a job of 8 s comes first.
    short = scheduler.add(mb.ClusterJobs([8], [1.0]), 3.0)
    scheduler.update(sure, min_map_slots=0, now=3.0)
    assert told(scheduler, 3.0)[short[0]] == 4
    assert rule(scheduler) == "flow by flow"
    scheduler.update(short, weight=1e-3, now=4.0)
    assert told(scheduler, 4.0) == {flow[1]: 1, sure[0]: 3}
    scheduler.update(sure, min_map_slots=1, now=5.0)
    told(scheduler, 5.0)
    assert rule(scheduler) == "in order"
    scheduler.finish(sure, 6.0)
    told(scheduler, 6.0)
    assert rule(scheduler) == "flow by flow"


@pytest.mark.parametrize(
    "options",
    [{"min_mode": "start"}, {"at_least_one": True}, {"pool_minimum": 0.5}, {"pools": True}],
)
def test_where_flowflex_cannot_do_it_stages_are_served(options):
    options = dict(options)
    two = mb.Cluster([{"map_slots": 4, "reduce_slots": 1}])
    cluster = two if options.pop("pools", False) else CLUSTER
    scheduler = mb.Scheduler(cluster, "auto", learn=False, **options)
    scheduler.add(chain([1, 30], [1.0, 5.0]), 0.0)
    scheduler.decide(0.0)
    assert rule(scheduler) in ("in order", "flex", "one by one")


def test_slots_that_are_told_are_those_that_there_are():
    rng = np.random.default_rng(3)
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 5, "count": 2}]), "auto", learn=False)
    for turn in range(40):
        now = float(turn)
        tasks = rng.integers(1, 9, 3)
        scheduler.add(chain(tasks, rng.uniform(1, 9, 3)), now)
        slots = told(scheduler, now)
        assert sum(slots.values()) <= 10
        if turn > 3:
            assert sum(slots.values()) == 10


def events(rng, scheduler, groups, now):
    """A stream of flows and of jobs of their own that come and go; those that are new."""
    call = int(rng.integers(0, 5))
    if call == 0:
        return scheduler.add(chain(rng.integers(1, 6, 3), rng.uniform(1, 9, 3)), now).tolist()
    if call == 1:
        return scheduler.add(
            mb.ClusterJobs(rng.integers(1, 6, 2), rng.uniform(1, 9, 2)), now
        ).tolist()
    if groups:
        (scheduler.remove if call == 2 else scheduler.finish)(groups[0], now)
    return []


@pytest.mark.parametrize("learn", [False, True])
def test_copies_go_on_as_the_original(learn):
    for seed in range(part(12, 3)):
        scheduler, groups, rules = mb.Scheduler(CLUSTER, "auto", learn=learn), [], set()
        rng = np.random.default_rng(seed)
        for turn in range(120):
            now, draw = float(turn), int(rng.integers(1 << 30))
            other = pickle.loads(pickle.dumps(scheduler)) if turn % 2 else copy.deepcopy(scheduler)
            assert other == scheduler
            new = [
                events(np.random.default_rng(draw), one, groups, now) for one in (scheduler, other)
            ]
            assert new[0] == new[1]
            groups = [*groups, new[0]] if new[0] else groups[1:]
            if turn % 3:
                assert told(scheduler, now) == told(other, now)
                assert rule(scheduler) == rule(other)
                rules.add(rule(scheduler))
                starts = [one.assign(now, 4).ids.tolist() for one in (scheduler, other)]
                assert starts[0] == starts[1]
            assert other == scheduler
        assert "flow by flow" in rules and len(rules) > 1


def test_users_share_before_flows():
    # Ten flows of a, one of b: half of the slots each.
    jobs = mb.ClusterJobs(
        [50, 50] * 11, 1, user=["a"] * 20 + ["b"] * 2, flow=[f"f{k // 2}" for k in range(22)],
        after=[[] if k % 2 == 0 else [k - 1] for k in range(22)],
    )  # fmt: skip
    cluster = mb.Cluster([{"slots": 10}], [{"name": "a"}, {"name": "b"}])
    found = mb.simulate(jobs, "auto", cluster=cluster, rng=1, epoch=1, learn=False).records
    assert found["completion"][21] == pytest.approx(20, abs=2)


def test_long_stages_of_short_flows_come_first():
    """FLEX runs the long flow's short stages first; whole flows the other way round."""
    jobs = mb.ClusterJobs(
        [4, 40, 12], 1.0, after=[[], [0], []], flow=["long", "long", "short"],
    )  # fmt: skip
    found = mb.simulate(jobs, "auto", cluster=CLUSTER, rng=1, epoch=0, learn=False).records
    assert found["completion"].tolist() == [4.0, 14.0, 3.0]


def test_users_who_come_while_a_flow_is_here_are_kept():
    users = [{"name": "ann", "minimum": 1}, {"name": "bob"}]
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}], users), "auto")
    scheduler.add(chain([2, 3], 5.0, user=["ann", "ann"]), 0.0)
    scheduler.decide(0.0)
    assert rule(scheduler) == "flow by flow"
    scheduler.add(mb.ClusterJobs([4], 5.0, user=["cat"]), 1.0)
    scheduler.decide(1.0)
    again = pickle.loads(pickle.dumps(scheduler))
    assert again == scheduler
    for one in (again, scheduler):
        one.decide(2.0)
    assert again.assign(2.0, [[4, 0]]).ids.tolist() == scheduler.assign(2.0, [[4, 0]]).ids.tolist()
