"""Blocks over the disks and links of a cluster: timelines by hand, and a slow oracle."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import malleable as mb
from tests.full import part
from tests.oracles.block_steps import arrivals


class OnNodeZero:
    """First come, first served; all blocks are on node 0."""

    name, style = "zero", "ranks"

    def decide(self, view):
        return view["arrival"]

    def place(self, state, job, task, copies):
        return [0]


def run(jobs, cluster, policy="fifo", **options):
    return mb.simulate(jobs, policy, cluster=cluster, rng=1, **{"epoch": 0, **options})


def completions(*arguments, **options):
    return run(*arguments, **options).records["completion"].tolist()


def busy_source(count, **more):
    """Node 0 has all blocks and no slot for those who want them."""
    return [{"map_slots": 1, "link": 10.0, "count": count, **more}]


def test_one_read_by_hand():
    # The first job keeps node 0 busy; the second reads 100 bytes from it.
    jobs = mb.ClusterJobs([1, 1], [100, 7], block=[0, 100], arrival=[0, 1])
    assert completions(jobs, mb.Cluster(busy_source(2)), OnNodeZero(), replicas=1) == [100, 18]
    # The disk is slower than both.
    slow = mb.Cluster(busy_source(2, storage=2.0))
    result = run(jobs, slow, OnNodeZero(), replicas=1)
    assert result.records["completion"].tolist() == [100, 58]
    assert result.summary["zero"]["remote_bytes"] == 100


def test_what_one_cannot_use_another_gets():
    # Node 0 sends 10 bytes a second; node 2 takes 4 of them at most, so node 1 gets 6, not 5.
    jobs = mb.ClusterJobs([1, 2], [100, 1], block=[0, 120], arrival=[0, 1])
    nodes = [*busy_source(2), {"map_slots": 1, "link": 4.0}]
    trace = run(jobs, mb.Cluster(nodes), OnNodeZero(), replicas=1, trace=True).trace["zero"]
    ends = {
        int(n): t
        for n, t, k in zip(trace["node"], trace["time"], trace["kind"], strict=True)
        if k == 1
    }
    # 120 bytes at 6 until 21; the other has had 80 at 4 by then and still gets 4: 31.
    assert ends == {0: 100, 1: 22, 2: 32}


def test_links_are_full_duplex():
    # Each node reads from the other, 100 bytes at 10 a second both ways.
    class Crosswise(OnNodeZero):
        name = "cross"

        def place(self, state, job, task, copies):
            return [1 - job]

    jobs = mb.ClusterJobs([1, 1], 1, block=100)
    assert completions(jobs, mb.Cluster(busy_source(2)), Crosswise(), replicas=1) == [11, 11]


def test_local_reads_share_the_disk():
    jobs = mb.ClusterJobs([2], 10, block=100)
    cluster = mb.Cluster([{"map_slots": 2, "storage": 20.0}])
    assert completions(jobs, cluster, replicas=1) == [20]


def test_the_copy_that_serves_the_fewest_reads():
    # Nodes 0 and 1 have all blocks: of two reads each serves one.
    class Both(OnNodeZero):
        name = "both"

        def place(self, state, job, task, copies):
            return [0, 1]

    jobs = mb.ClusterJobs([2], 1, block=100)
    nodes = [{"map_slots": 0, "link": 10.0, "count": 2}, {"map_slots": 2}]
    assert completions(jobs, mb.Cluster(nodes), Both(), replicas=2) == [11]


def test_a_node_that_leaves_stops_its_reads():
    # The read on node 1 is lost at 6 with 50 bytes; on node 2 it begins anew.
    jobs = mb.ClusterJobs([1, 1], [100, 7], block=[0, 100], arrival=[0, 1])
    gone = mb.Cluster(busy_source(3), changes=[{"time": 6, "node": 1, "up": False}])
    assert completions(jobs, gone, OnNodeZero(), replicas=1) == [100, 23]


@st.composite
def worlds(draw):
    speed = st.sampled_from([math.inf, 0.5, 1.0, 3.0])
    count = draw(st.integers(1, 4))
    nodes = [
        {
            "map_slots": draw(st.integers(0 if k else 1, 2)),
            "reduce_slots": draw(st.integers(0 if k else 1, 2)),
            "storage": draw(speed),
            "link": draw(speed),
            "rate": draw(st.sampled_from([0.5, 1.0])),
        }
        for k in range(count)
    ]
    cluster = mb.Cluster(nodes)
    many = draw(st.integers(1, 4))
    few = st.lists(st.integers(0, 4), min_size=many, max_size=many)
    eighths = st.lists(st.integers(0, 40).map(lambda n: n / 8), min_size=many, max_size=many)
    jobs = mb.ClusterJobs(
        draw(few), draw(eighths), draw(few), draw(eighths),
        arrival=draw(eighths), block=draw(eighths),
    )  # fmt: skip
    options = {
        "epoch": draw(st.sampled_from([0, 0.5])),
        "slow_start": draw(st.sampled_from([0.0, 0.05, 0.6, 1.0])),
        "split_copy": draw(st.booleans()),
        "heartbeat": draw(st.sampled_from([0, 0, 1.5])),
        "replicas": 1,
    }
    return jobs, cluster, options


class Placed(OnNodeZero):
    """Blocks by rule: task t of job j on node (j + 2 t) modulo their number."""

    name = "placed"

    def place(self, state, job, task, copies):
        return [(job + 2 * task) % state.nodes]


@settings(max_examples=part(200, 50), deadline=None)
@given(worlds())
def test_agrees_with_everything_computed_anew(instance):
    jobs, cluster, options = instance
    result = run(jobs, cluster, Placed(), trace=True, **options)
    trace, summary = result.trace["placed"], result.summary["placed"]
    assert summary["jobs"] == len(jobs)
    rows = [trace[name].tolist() for name in ("time", "kind", "job", "phase", "task", "node")]
    start, reads, checked = {}, [], 0
    for time, kind, job, phase, task, node in zip(*rows, strict=True):
        if kind == 0 and phase == 0:
            start[job, task] = time
            source = (job + 2 * task) % len(cluster)
            if jobs.block[job] > 0:
                reads.append(((job, task), time, source, node, float(jobs.block[job])))
    there = arrivals(cluster.storage.tolist(), cluster.link.tolist(), reads)
    for time, kind, job, phase, task, node in zip(*rows, strict=True):
        if kind == 0 or phase == 1:
            continue
        own = jobs.map_seconds[job] / cluster.rate[node]
        data = there.get((job, task), start[job, task])
        assert time == pytest.approx(data + own, abs=1e-6)
        checked += 1
    assert checked == jobs.maps.sum()
    if "remote_bytes" in summary:
        remote = math.fsum(size for _, _, source, node, size in reads if source != node)
        assert summary["remote_bytes"] == pytest.approx(remote)


@settings(max_examples=60, deadline=None)
@given(worlds(), st.sampled_from(["flex", "fair", "srpt", "adaptive"]), st.booleans())
def test_everything_ends_whatever_happens(instance, policy, learn):
    jobs, cluster, options = instance
    options |= {"noise": 0.3, "failure": 0.2, "delay": 0.5, "replicas": 2}
    changes = [
        {"time": 2.0, "node": len(cluster) - 1, "up": False},
        {"time": 5.0, "node": len(cluster) - 1, "up": True},
    ]
    cluster.changes = [(c["time"], c["node"], c["up"]) for c in changes]
    estimates = "learn" if learn else None
    result = run(jobs, cluster, policy, estimates=estimates, trace=True, **options)
    assert result.summary[policy]["jobs"] == len(jobs)
    again = run(jobs, cluster, policy, estimates=estimates, trace=True, **options)
    for name, column in result.records.items():
        assert column.tolist() == again.records[name].tolist()


def test_bytes_without_limits_change_nothing():
    plain = mb.generate_cluster_jobs(60, 3, gap=5.0)
    heavy = mb.generate_cluster_jobs(60, 3, gap=5.0, block=1e8)
    cluster = mb.Cluster([{"map_slots": 4, "reduce_slots": 2, "count": 10}])
    for options in ({}, {"replicas": 3}, {"split_copy": True}):
        one = run(plain, cluster, "flex", **options)
        other = run(heavy, cluster, "flex", **options)
        assert one.records["completion"].tolist() == other.records["completion"].tolist()
        assert "remote_bytes" not in other.summary["flex"]
