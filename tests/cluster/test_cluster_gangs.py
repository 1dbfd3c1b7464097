"""Gangs on slots that become free one by one, and the ageing floor of all kinds of policies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import malleable as mb
from tests.cluster.cluster_runs import BUILT_IN, AllOnNodeZero, Oldest
from tests.full import part


def run(jobs, policy="fifo", nodes=({"map_slots": 1, "count": 2},), **options):
    options = {"epoch": 0, "rng": 1, "min_mode": "start", **options}
    return mb.simulate(jobs, policy, cluster=mb.Cluster(list(nodes)), **options)


def starts(*arguments, **options):
    return run(*arguments, **options).records["starting_time"].tolist()


def test_a_gang_gathers_over_heartbeats():
    # Node 0 reports at 0, 3, 6 ..., node 1 at 1.5, 4.5 ...: both slots are there at 1.5. The second
    # gang gets them at 6 and 7.5.
    jobs = mb.ClusterJobs([2, 2], 4, min_map_slots=2)
    result = run(jobs, heartbeat=3)
    assert result.records["starting_time"].tolist() == [1.5, 7.5]
    assert result.records["completion"].tolist() == [5.5, 11.5]


def test_others_run_while_a_gang_does_not_fit():
    # One task holds node 0 until 10. The gang does not begin to gather; a short job gets node 1 when
    # that reports, at 4.5. From 10 on it fits: node 1 reports at 10.5, node 0 at 12.
    jobs = mb.ClusterJobs([1, 2, 1], [10, 10, 1], arrival=[0, 1, 2], min_map_slots=[0, 2, 0])
    assert starts(jobs, heartbeat=3) == [0, 12, 4.5]


def test_an_aged_gang_holds_slots():
    # Jobs of 2 s take turns, one every second: never are both slots free. From 3.5 on the gang has
    # aged; it holds the slot that becomes free at 4 and gets the other one at 5.
    short = 10
    jobs = mb.ClusterJobs(
        [2] + [1] * short, 2, arrival=[0.5, *range(short)], min_map_slots=[2] + [0] * short
    )
    node = [{"map_slots": 2}]
    assert starts(jobs, nodes=node)[0] == 11
    assert starts(jobs, nodes=node, ageing=3)[0] == 5
    # With blocks the slots are offered one by one: the same.
    assert starts(jobs, nodes=node, replicas=1)[0] == 11
    assert starts(jobs, nodes=node, ageing=3, replicas=1)[0] == 5


def test_a_gang_waits_for_its_blocks():
    # All blocks are on node 0, which has one free slot of two: held at 1, the other one is anywhere
    # once the delay is over.
    jobs = mb.ClusterJobs([1, 2], [10, 10], arrival=[0, 1], block=1, min_map_slots=[0, 2])
    two = [{"map_slots": 2, "count": 2}]
    assert starts(jobs, AllOnNodeZero(), two, replicas=1, delay=5) == [0, 6]
    assert starts(jobs, AllOnNodeZero(), two, replicas=1) == [0, 1]


def test_a_policy_that_chooses_for_nodes_may_choose_gangs():
    # The oldest job first: the gang holds the free slot from 1 on, and nobody passes it.
    jobs = mb.ClusterJobs([1, 2, 1], [10, 5, 2], arrival=[0, 1, 2], min_map_slots=[0, 2, 0])
    for options in ({}, {"replicas": 1}):
        assert starts(jobs, Oldest(), [{"map_slots": 2}], **options) == [0, 10, 15]
    assert starts(jobs, Oldest(), heartbeat=2) == [0, 10, 15]


class Shortest:
    """For a node: the job with the shortest task."""

    name, style = "shortest", "node"

    def choose(self, state, node, pool):
        ready = [job for job in state.present.tolist() if state.eligible(job, pool)]
        return min(((state.estimate[j, pool], j) for j in ready), default=(0, None))[1], pool


def test_ageing_where_policies_choose_for_nodes():
    # As for other policies: a short job every second keeps the only slot.
    short = 50
    jobs = mb.ClusterJobs([1] * (short + 1), [30] + [1] * short, arrival=[0.5, *range(short)])
    node = [{"map_slots": 1}]
    assert starts(jobs, Shortest(), node)[0] == 50
    assert starts(jobs, Shortest(), node, ageing=10)[0] == 11
    assert starts(jobs, Shortest(), node, ageing=10, heartbeat=1)[0] == 11


class Never:
    name, style = "never", "node"

    def choose(self, state, node, pool):
        return None


def test_a_policy_that_never_chooses_ends():
    result = run(mb.ClusterJobs([1], 1), Never(), [{"map_slots": 1}], heartbeat=1, ageing=0)
    assert result.summary["never"]["unfinished"] == 1


@pytest.mark.parametrize("policy", ["adaptive", "adaptive-literal"])
def test_ageing_with_adaptive(policy):
    jobs = mb.generate_cluster_jobs(60, 3, gap=2.0, mean_maps=10)
    node = [{"map_slots": 3, "reduce_slots": 1, "count": 3}, {"map_slots": 1, "rate": 0.25}]
    plain = run(jobs, policy, node, min_mode="guarantee", ageing=0).summary[policy]
    aged = run(jobs, policy, node, min_mode="guarantee", ageing=20).summary[policy]
    assert aged["jobs"] == 60
    if policy == "adaptive":
        assert plain["jobs"] == 60
        assert aged["longest_wait"] < plain["longest_wait"]
    else:  # as printed, classes without a node wait for ever
        assert plain["jobs"] < 60


@settings(max_examples=part(150, 50), deadline=None)
@given(st.data())
def test_gangs_keep_their_size_everywhere(data):
    count = data.draw(st.integers(1, 6))
    column = st.lists(st.integers(1, 6), min_size=count, max_size=count)
    gangs = st.lists(st.integers(0, 3), min_size=count, max_size=count)
    jobs = mb.ClusterJobs(
        data.draw(column), data.draw(column), data.draw(column), data.draw(column),
        arrival=data.draw(column), shuffle=data.draw(st.sampled_from([0, 2])), block=1,
        min_map_slots=data.draw(gangs), min_reduce_slots=data.draw(gangs),
    )  # fmt: skip
    nodes = data.draw(st.integers(3, 5))
    generic = data.draw(st.booleans())
    named = ["flex", "fair", "fifo", "hesrpt", "adaptive"]
    policy = data.draw(st.sampled_from(named if generic else [*named, Oldest()]))
    kind = {"slots": 1} if generic else {"map_slots": 1, "reduce_slots": 1}
    changes = [{"time": 4, "node": 1, "up": False}, {"time": 9, "node": 1, "up": True}]
    lost = data.draw(st.booleans())
    options = {
        "epoch": data.draw(st.sampled_from([0, 2])),
        "heartbeat": data.draw(st.sampled_from([0, 3])),
        "replicas": data.draw(st.sampled_from([0, 1, 2])),
        "delay": data.draw(st.sampled_from([0, 2])),
        "ageing": data.draw(st.sampled_from([0, 5])),
        "slow_start": data.draw(st.sampled_from([0.05, 0.5, 1])),
    }
    cluster = mb.Cluster([{**kind, "count": nodes}], changes=changes if lost else ())
    result = mb.simulate(
        jobs, policy, cluster=cluster, rng=1, min_mode="start", trace=True, **options
    )
    (summary,), (trace,) = result.summary.values(), result.trace.values()
    assert summary["jobs"] == count
    # Who lost tasks with a node runs on with less; and where slots are offered one by one, so does a
    # gang some of whose tasks end first, until it has filled up.
    short = (trace["kind"] >= 3).any() or options["heartbeat"] or options["replicas"]
    began = np.zeros((2, count), bool)
    for phase, tasks, minimum in (
        (0, jobs.maps, jobs.min_map_slots),
        (1, jobs.reduces, jobs.min_reduce_slots),
    ):
        running, left = np.zeros(count, int), tasks.copy()
        own = trace["phase"] == phase
        for time in np.unique(trace["time"]):
            now = own & (trace["time"] == time)
            np.add.at(running, trace["job"][now & (trace["kind"] == 0)], 1)
            np.add.at(running, trace["job"][now & (trace["kind"] == 1)], -1)
            np.add.at(running, trace["job"][now & (trace["kind"] == 3)], -1)
            np.add.at(left, trace["job"][now & (trace["kind"] == 1)], -1)
            np.add.at(left, trace["job"][now & (trace["kind"] == 4)], 1)
            least = np.minimum(minimum, left)
            fresh = (running > 0) & ~began[phase]  # began now, and nothing else happened to it
            fresh[trace["job"][now & (trace["kind"] == 3)]] = False
            assert (running >= least)[fresh].all()
            began[phase] = running > 0
            if not short:
                assert ((running == 0) | (running >= least)).all()


def test_ageing_lets_a_large_job_run():
    # A short job of 1 s every second keeps the only slot; the long task waits for ever without age.
    short = 50
    jobs = mb.ClusterJobs([1] * (short + 1), [30] + [1] * short, arrival=[0.5, *range(short)])
    node = [{"map_slots": 1}]
    plain = run(jobs, "flex", node, min_mode="guarantee", trace=True)
    aged = run(jobs, "flex", node, min_mode="guarantee", ageing=10, trace=True)
    assert plain.records["starting_time"][0] == 50
    assert aged.records["starting_time"][0] == 11


# Long jobs wait for as long as short ones come if the shortest requested time goes first.
@pytest.mark.parametrize("policy", [p for p in BUILT_IN if p not in ("adaptive", "easy-sjf")])
def test_nobody_waits_longer_than_ten_minutes_for_a_task(policy):
    # The same with 2,000 short jobs of 1 s. What ends last has 600 s behind it, by whatever policy.
    short = 2_000
    jobs = mb.ClusterJobs(
        [1] * short + [1],
        [1] * short + [30],
        arrival=[*range(short), 0.5],
        user=["a"] * (short + 1),
    )
    node = [{"map_slots": 1}]
    waits = [run(jobs, policy, node, min_mode="guarantee", **more) for more in ({}, {"ageing": 0})]
    aged, endless = (float(found.records["starting_time"].max()) for found in waits)
    assert aged <= 2_031
    wait = [np.max(found.records["starting_time"] - jobs.arrival) for found in waits]
    assert wait[0] <= 601 + 30
    assert wait[0] <= wait[1]
    if policy in ("flex", "srpt", "max-srpt", "asrpt"):
        assert wait[1] > 1_900 and endless >= 2_000


def test_gangs_run_whole_or_not_at_all():
    # Three slots, a gang of three behind one single task: it waits for all three.
    jobs = mb.ClusterJobs([1, 3, 2], [10, 10, 2], arrival=[0, 1, 2], min_map_slots=[0, 3, 0])
    node = [{"map_slots": 3}]
    gang = run(jobs, "fifo", node).records
    assert gang["starting_time"].tolist() == [0, 10, 2]
    assert gang["completion"].tolist() == [10, 20, 4]
    with pytest.raises(ValueError, match=r"min_map_slots\[0\] = 4: they never start together on 3"):
        run(mb.ClusterJobs([4], 1, min_map_slots=4), "fifo", node)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_gangs_keep_their_size(data):
    count = data.draw(st.integers(1, 6))
    column = st.lists(st.integers(1, 6), min_size=count, max_size=count)
    jobs = mb.ClusterJobs(
        data.draw(column), data.draw(column), arrival=data.draw(column),
        min_map_slots=data.draw(st.lists(st.integers(0, 4), min_size=count, max_size=count)),
    )  # fmt: skip
    policy = data.draw(st.sampled_from(["flex", "fair", "fifo", "srpt"]))
    node = [{"map_slots": data.draw(st.integers(4, 6))}]
    result = run(jobs, policy, node, trace=True, epoch=data.draw(st.sampled_from([0, 2])))
    assert result.summary[policy]["jobs"] == count
    trace = result.trace[policy]
    running, left = np.zeros(count, int), jobs.maps.copy()
    for time in np.unique(trace["time"]):
        now = trace["time"] == time
        np.add.at(running, trace["job"][now & (trace["kind"] == 0)], 1)
        np.add.at(running, trace["job"][now & (trace["kind"] == 1)], -1)
        np.add.at(left, trace["job"][now & (trace["kind"] == 1)], -1)
        least = np.minimum(jobs.min_map_slots, left)
        assert ((running == 0) | (running >= least)).all()


def test_where_most_jobs_starve_the_order_stays():
    # More work than the slots can do: nearly every job waits for longer than 10 s. Jobs that have waited
    # so long go first in one slot of twenty, and in one slot-second of a thousand when they have had what
    # all slots do in 10 s. If they went first in all slots, FLEX would be FIFO; with one slot in twenty for
    # all time, its mean would be 1.026 times as large.
    rng = np.random.default_rng(3)
    jobs = mb.ClusterJobs([1] * 3_000, rng.lognormal(3, 1.5, 3_000), arrival=np.arange(3_000))
    node = [{"map_slots": 40}]
    mean = {
        (policy, ageing): run(
            jobs, policy, node, min_mode="guarantee", ageing=ageing
        ).summary[policy]["mean_response"]
        for policy, ageing in [("flex", 0), ("flex", 10), ("fifo", 0)]
    }  # fmt: skip
    assert mean["flex", 0] < 0.5 * mean["fifo", 0]
    assert mean["flex", 0] < mean["flex", 10] < 1.02 * mean["flex", 0]
