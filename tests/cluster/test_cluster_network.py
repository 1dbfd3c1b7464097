"""Blocks and shuffles over the links of a cluster: timelines by hand, a slow oracle, conservation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import malleable as mb
from tests.full import part
from tests.oracles.network_steps import Network, arrivals


class OnNodeZero:
    """First come, first served; all blocks are on node 0."""

    name, style = "zero", "ranks"

    def decide(self, view):
        return view["arrival"]

    def place(self, state, job, task, copies):
        return [0]


def run(jobs, cluster, policy="fifo", **options):
    options = {"epoch": 0, "slow_start": 0.05, **options}  # copying begins while maps run
    return mb.simulate(jobs, policy, cluster=cluster, rng=1, **options)


def completions(*arguments, **options):
    return run(*arguments, **options).records["completion"].tolist()


def busy_source(count, **more):
    """Node 0 has all blocks and no slot for those who want them."""
    return [{"map_slots": 1, "link": 10.0, "count": count, **more}]


def test_one_transfer_by_hand():
    # The first job keeps node 0 busy; the second reads 100 bytes from it.
    jobs = mb.ClusterJobs([1, 1], [100, 7], block=[0, 100], arrival=[0, 1])
    assert completions(jobs, mb.Cluster(busy_source(2)), OnNodeZero(), replicas=1) == [100, 18]
    # The disk is slower than both.
    slow = mb.Cluster(busy_source(2, storage=2.0))
    result = run(jobs, slow, OnNodeZero(), replicas=1)
    assert result.records["completion"].tolist() == [100, 58]
    summary = result.summary["zero"]
    assert summary["remote_bytes"] == 100
    # 100 bytes of the 100 s: two disks of 2, out and in of two nodes of 10.
    assert summary["disk_utilisation"] == pytest.approx(100 / (2 * 2 * 100))
    assert summary["busiest_disk"] == pytest.approx(0.5)
    assert summary["link_utilisation"] == pytest.approx(200 / (4 * 10 * 100))
    assert summary["busiest_link"] == pytest.approx(0.1)


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


def mapper_and_reducers(link=math.inf, count=1, **more):
    return [
        {"map_slots": 1, "link": link, **more},
        {"map_slots": 0, "reduce_slots": 1, "link": link, "count": count, **more},
    ]


@pytest.mark.parametrize("split", [False, True])
def test_shuffle_overlaps_maps_by_hand(split):
    # Maps end at 10 and 20 and leave 100 bytes each for one reduce task elsewhere, which starts at 10.
    jobs = mb.ClusterJobs([2], 10, [1], 5, shuffle_bytes=200)
    # 20 bytes a second: from 10 to 15, from 20 to 25.
    fast = mb.Cluster(mapper_and_reducers(20.0))
    assert completions(jobs, fast, split_copy=split) == [30]
    # 8 a second: 80 of the first hundred by 20, 120 are left: 15 s more.
    slow = mb.Cluster(mapper_and_reducers(8.0))
    result = run(jobs, slow, split_copy=split)
    assert result.records["completion"].tolist() == [40]
    assert result.records["map_completion"].tolist() == [20]
    assert result.summary["fifo"]["remote_bytes"] == pytest.approx(200)
    assert result.summary["fifo"]["shuffled_bytes"] == pytest.approx(200)
    # Out of one node and into the other, of four directions.
    assert result.summary["fifo"]["link_utilisation"] == pytest.approx(400 / (4 * 8 * 40))
    # Nothing before all maps are done: 20 + 25 + 5.
    assert completions(jobs, slow, slow_start=1, split_copy=split) == [50]
    # No limit anywhere: bytes take no time.
    free = mb.Cluster(mapper_and_reducers())
    assert completions(jobs, free, split_copy=split) == [25]
    # Seconds are a floor: two times 3 s of copying do not show, two times 30 s do.
    for seconds, end in ((6, 40), (60, 75)):
        both = mb.ClusterJobs([2], 10, [1], 5, shuffle_bytes=200, shuffle=seconds)
        assert completions(both, slow, split_copy=split) == [end]


def test_reduce_tasks_share_their_source():
    # Two reduce tasks on two nodes, 50 bytes of each map for each: the source sends them 5 a second
    # each. At 20 both have had 50: 50 more until 30.
    jobs = mb.ClusterJobs([2], 10, [2], 5, shuffle_bytes=200)
    assert completions(jobs, mb.Cluster(mapper_and_reducers(10.0, 2))) == [35]
    # On one node with one slot the second starts when the first has ended, and copies all anew:
    # 100 bytes at 10 by 20 + 5, work until 30; 10 s and 5 s for the other.
    assert completions(jobs, mb.Cluster(mapper_and_reducers(10.0))) == [45]


def test_what_lies_there_needs_no_link():
    # One node: map output does not leave it; its disk gives 10 bytes a second.
    jobs = mb.ClusterJobs([2], 10, [1], 5, shuffle_bytes=200)
    local = [{"map_slots": 1, "reduce_slots": 1, "link": 1.0}]
    result = run(jobs, mb.Cluster(local))
    assert result.records["completion"].tolist() == [25]
    assert result.summary["fifo"]["remote_bytes"] == 0
    assert result.summary["fifo"]["shuffled_bytes"] == 200
    local[0]["storage"] = 10.0
    assert completions(jobs, mb.Cluster(local)) == [35]


def test_split_copies_go_everywhere():
    # Outside of slots the bytes spread over the nodes with reduce slots, three to one. Both maps run
    # on the first node, where three quarters of all 160 bytes stay; 40 go over at 4 a second.
    jobs = mb.ClusterJobs([2], 10, [4], 5, shuffle_bytes=160)
    nodes = [
        {"map_slots": 1, "reduce_slots": 3, "link": 4.0},
        {"map_slots": 0, "reduce_slots": 1, "link": 4.0},
    ]
    result = run(jobs, mb.Cluster(nodes), split_copy=True)
    # 20 from 10 to 15, 20 from 20 to 25.
    assert result.records["completion"].tolist() == [30]
    assert result.summary["fifo"]["remote_bytes"] == pytest.approx(40)


def test_a_node_that_leaves_takes_its_copies_along():
    # The reduce task on node 1 is lost at 18 with 64 bytes; on node 2 it begins anew at 18.
    jobs = mb.ClusterJobs([2], 10, [1], 5, shuffle_bytes=200)
    cluster = mb.Cluster(
        mapper_and_reducers(8.0, 2), changes=[{"time": 18, "node": 1, "up": False}]
    )
    result = run(jobs, cluster)
    # 16 bytes by 20, then 184 at 8.
    assert result.records["completion"].tolist() == [48]
    assert result.summary["fifo"]["shuffled_bytes"] == pytest.approx(264)


@pytest.mark.parametrize("split", [False, True])
def test_a_node_that_leaves_takes_its_output_along(split):
    # Maps end at 10 on nodes 0 and 2; at 20 the reduce task has 40 of 100 bytes from each, and node 2
    # leaves. 60 more from node 0 are there at 27.5; the map runs again on node 0 until 30, and the 60
    # bytes that are missing take until 37.5.
    nodes = [*mapper_and_reducers(8.0), {"map_slots": 1, "link": 8.0}]
    jobs = mb.ClusterJobs([2], 10, [1], 5, shuffle_bytes=200)
    gone = mb.Cluster(nodes, changes=[{"time": 20, "node": 2, "up": False}])
    result = run(jobs, gone, split_copy=split)
    assert result.records["completion"].tolist() == [42.5]
    assert result.summary["fifo"]["shuffled_bytes"] == pytest.approx(200)
    assert result.summary["fifo"]["lost_outputs"] == 1
    # Its disks may stay reachable: 200 bytes from 10 on.
    assert completions(jobs, gone, split_copy=split, lose_output=False) == [40]
    # Once all bytes have come, nobody needs the output any more.
    late = mb.Cluster(nodes, changes=[{"time": 36, "node": 2, "up": False}])
    assert completions(jobs, late, split_copy=split) == [40]


def test_copies_that_wait_for_maps_make_room():
    # Two generic slots on two nodes: both maps end at 10, two reduce tasks of the job start. Node 0 is
    # lost at 12 with a map's output and a reduce task. The other one waits for that map, which has
    # no slot but its own: 12 to 22; then both reduce tasks, one after the other.
    jobs = mb.ClusterJobs([2], 10, [2], 5, shuffle_bytes=400)
    cluster = mb.Cluster(
        [{"slots": 1, "link": 8.0, "count": 2}], changes=[{"time": 12, "node": 0, "up": False}]
    )
    result = run(jobs, cluster)
    assert result.summary["fifo"]["preempted_tasks"] == 1
    assert result.records["completion"].tolist() == [32]


def test_estimates_learn_what_copying_took():
    # Two jobs of one program: copying took the first 25 s of its time (5 s of waiting do not count).
    jobs = mb.ClusterJobs(
        [2, 1], 10, [1, 1], 5, shuffle_bytes=[200, 0], program=["p", "p"], arrival=[0, 100]
    )
    seen = []

    def watch(view):
        if view["pool"] == "reduce" and view["now"] >= 100:
            seen.append(float(view["work"][0]))
        return view["most"]

    run(jobs, mb.Cluster(mapper_and_reducers(10.0)), watch, estimates="learn")
    # 100 bytes from 10 to 20, 100 from 20 to 30: 20 s on their way, 5 s of work.
    # The program ran once: the mean is a little above that, as other runs may take longer.
    assert 25 < seen[0] < 25 * np.exp(0.1)


def test_nearest_copy_first():
    # Copies on node 1 (rack of the reader) and 2 (another, and slow).
    class Both(OnNodeZero):
        name = "both"

        def place(self, state, job, task, copies):
            return [2, 1]

    jobs = mb.ClusterJobs([1], 1, block=100)
    nodes = [
        {"map_slots": 1, "link": 10.0, "rack": "a"},
        {"map_slots": 0, "link": 10.0, "rack": "a"},
        {"map_slots": 0, "link": 5.0, "rack": "b"},
    ]
    result = run(jobs, mb.Cluster(nodes), Both(), replicas=2)
    assert result.records["completion"].tolist() == [11]
    summary = result.summary["both"]
    assert (summary["locality"], summary["rack_locality"], summary["off_rack"]) == (0, 1, 0)


class FarThenNear(OnNodeZero):
    """Task 0 has its block on node 2 of the other rack, task 1 on node 1 of this one."""

    name = "far"

    def place(self, state, job, task, copies):
        return [2 - task]


RACKS = [
    {"map_slots": 1, "rack": "a"},
    {"map_slots": 0, "rack": "a"},
    {"map_slots": 0, "rack": "b"},
]


def test_tasks_near_a_block_go_first():
    jobs = mb.ClusterJobs([2], 10, block=1)
    result = run(jobs, mb.Cluster(RACKS), FarThenNear(), replicas=1, trace=True)
    trace = result.trace["far"]
    assert trace["task"][trace["kind"] == 0].tolist() == [1, 0]
    summary = result.summary["far"]
    assert (summary["locality"], summary["rack_locality"], summary["off_rack"]) == (0, 0.5, 0.5)


def test_delay_for_the_rack():
    # 4 s for a node with a block, which never comes; the rack's own task then runs at once. The other
    # has waited long enough by the time that it ends, unless it has 20 s to wait for a rack.
    jobs = mb.ClusterJobs([2], 10, block=1)
    for rack_delay, starts in ((0, [4, 14]), (3, [4, 14]), (20, [4, 24])):
        found = run(
            jobs, mb.Cluster(RACKS), FarThenNear(), replicas=1, delay=4, rack_delay=rack_delay,
            trace=True,
        )  # fmt: skip
        trace = found.trace["far"]
        assert trace["time"][trace["kind"] == 0].tolist() == starts


@st.composite
def networks(draw):
    speed = st.sampled_from([math.inf, 0.5, 1.0, 3.0])
    count = draw(st.integers(1, 4))
    nodes = [
        {
            "map_slots": draw(st.integers(0 if k else 1, 2)),
            "reduce_slots": draw(st.integers(0 if k else 1, 2)),
            "storage": draw(speed),
            "link": draw(speed),
            "rack": draw(st.sampled_from("abc")),
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
        arrival=draw(eighths), block=draw(eighths), shuffle_bytes=draw(eighths),
    )  # fmt: skip
    options = {
        "epoch": draw(st.sampled_from([0, 0.5])),
        "slow_start": draw(st.sampled_from([0.0, 0.05, 0.6, 1.0])),
        "split_copy": draw(st.booleans()),
        "heartbeat": draw(st.sampled_from([0, 0, 1.5])),
        "replicas": draw(st.sampled_from([0, 1])),
        "shuffle_steps": draw(st.sampled_from([64, 2, 0])),
    }
    return jobs, cluster, options


class Placed(OnNodeZero):
    """Blocks by rule: task t of job j on node (j + 2 t) modulo their number."""

    name = "placed"

    def place(self, state, job, task, copies):
        return [(job + 2 * task) % state.nodes]


def expected_arrivals(jobs, cluster, options, trace):
    """When data were there for each task, as the oracle has it from starts and ends of maps."""
    network = Network(cluster.storage.tolist(), cluster.link.tolist())
    slots = cluster.reduce_slots / cluster.reduce_slots.sum()
    everywhere = {node: float(share) for node, share in enumerate(slots) if share > 0}
    limited = any(speed < math.inf for speed in network.capacity.values())
    reads, outputs, copies = [], [], []
    ended = np.zeros(len(jobs), int)
    begun, untold, told_at = set(), {}, {}

    def shuffles(job):
        return limited and jobs.maps[job] and jobs.reduces[job] and jobs.shuffle_bytes[job] > 0

    def begin(job, time):
        enough = math.ceil(options["slow_start"] * jobs.maps[job] - 1e-9)
        if options["split_copy"] and shuffles(job) and ended[job] >= enough and job not in begun:
            begun.add(job)
            count = int(jobs.maps[job])
            copies.append(((job, 2, 0), time, job, everywhere, float(jobs.reduces[job]), count))

    for job in range(len(jobs)):
        begin(job, float(jobs.arrival[job]))
    columns = (trace[name].tolist() for name in ("time", "kind", "job", "phase", "task", "node"))
    for time, kind, job, phase, task, node in zip(*columns, strict=True):
        pairs = jobs.maps[job] * (1 if options["split_copy"] else jobs.reduces[job])
        if kind == 0 and phase == 0 and options["replicas"] and limited and jobs.block[job] > 0:
            source = (job + 2 * task) % len(cluster)
            reads.append(((job, 0, task), time, source, node, float(jobs.block[job])))
        elif kind == 0 and phase == 1 and shuffles(job) and not options["split_copy"]:
            copies.append(((job, 1, task), time, job, {node: 1.0}, 1.0, int(jobs.maps[job])))
        elif kind == 1 and phase == 0:
            ended[job] += 1
            if shuffles(job):
                news = untold.setdefault(job, [])
                news.append((job, node, jobs.shuffle_bytes[job] / pairs))
                enough = math.ceil(jobs.maps[job] / (options["shuffle_steps"] or jobs.maps[job]))
                if len(news) >= enough or ended[job] == jobs.maps[job] or told_at.get(job) == time:
                    outputs += [(time, *one) for one in news]
                    news.clear()
                    told_at[job] = time
            begin(job, time)
    return network, arrivals(network, reads, outputs, copies)


@settings(max_examples=part(200, 50), deadline=None)
@given(networks())
def test_agrees_with_everything_computed_anew(instance):
    jobs, cluster, options = instance
    result = run(jobs, cluster, Placed(), trace=True, **options)
    trace, summary = result.trace["placed"], result.summary["placed"]
    assert summary["jobs"] == len(jobs)
    network, there = expected_arrivals(jobs, cluster, options, trace)
    start, checked = {}, 0
    columns = (trace[name].tolist() for name in ("time", "kind", "job", "phase", "task", "node"))
    for time, kind, job, phase, task, node in zip(*columns, strict=True):
        if kind == 0:
            start[job, phase, task] = time
            if options["split_copy"] and phase == 1 and (job, 2, 0) in there:
                assert time >= there[job, 2, 0] - 1e-6
            continue
        own = (jobs.reduce_seconds if phase else jobs.map_seconds)[job] / cluster.rate[node]
        data = there.get((job, phase, task), start[job, phase, task])
        if phase and not options["split_copy"] and jobs.maps[job]:
            data = max(data, result.records["map_completion"][job])
        assert time == pytest.approx(data + own, abs=1e-6)
        checked += 1
    assert checked == jobs.maps.sum() + jobs.reduces.sum()
    # What crosses links is what left and what came, and nobody carries more than there is time for.
    if "remote_bytes" not in summary:
        return
    crossed = network.crossed
    for way in ("out", "in"):
        carried = sum(size for (kind, _), size in crossed.items() if kind == way)
        assert summary["remote_bytes"] == pytest.approx(carried, abs=1e-6)
    some = (jobs.maps > 0) & (jobs.reduces > 0)
    assert summary["shuffled_bytes"] == pytest.approx(jobs.shuffle_bytes[some].sum(), abs=1e-6)
    for name in ("disk", "link"):
        assert 0 <= summary[f"{name}_utilisation"] <= summary[f"busiest_{name}"] + 1e-12
        assert summary[f"busiest_{name}"] <= 1 + 1e-9
    finite = [link for link, speed in network.capacity.items() if speed < math.inf]
    for name, kinds in (("disk", ["disk"]), ("link", ["out", "in"])):
        own = [link for link in finite if link[0] in kinds]
        if own and summary["end"] > 0:
            use = [crossed[link] / network.capacity[link] / summary["end"] for link in own]
            assert summary[f"{name}_utilisation"] == pytest.approx(np.mean(use), abs=1e-6)
            assert summary[f"busiest_{name}"] == pytest.approx(max(use), abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(networks(), st.sampled_from(["flex", "fair", "srpt", "adaptive"]), st.booleans())
def test_everything_ends_whatever_happens(instance, policy, learn):
    jobs, cluster, options = instance
    options |= {"noise": 0.3, "failure": 0.2, "delay": 0.5, "rack_delay": 0.5, "replicas": 2}
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
    # Failed and killed attempts copy again.
    if "shuffled_bytes" in result.summary[policy]:
        some = (jobs.maps > 0) & (jobs.reduces > 0)
        least = jobs.shuffle_bytes[some].sum()
        assert result.summary[policy]["shuffled_bytes"] >= least - 1e-6


def test_steps_change_little():
    jobs = mb.generate_cluster_jobs(40, 3, gap=8.0, map_output=4e7, block=6e7)
    cluster = mb.Cluster(
        [{"map_slots": 4, "reduce_slots": 2, "count": 20, "link": 3e7, "rack": ["a", "b"]}]
    )
    found = [
        run(jobs, cluster, "fair", noise=0.3, replicas=2, shuffle_steps=steps).summary["fair"]
        for steps in (0, 64, 4)
    ]
    for coarse, within in ((found[1], 0.01), (found[2], 0.05)):
        assert coarse["mean_response"] == pytest.approx(found[0]["mean_response"], rel=within)
        assert coarse["shuffled_bytes"] == pytest.approx(found[0]["shuffled_bytes"])


def test_bytes_without_limits_change_nothing():
    plain = mb.generate_cluster_jobs(60, 3, gap=5.0)
    heavy = mb.generate_cluster_jobs(60, 3, gap=5.0, map_output=1e9, block=1e8)
    cluster = mb.Cluster([{"map_slots": 4, "reduce_slots": 2, "count": 10}])
    for options in ({}, {"replicas": 3}, {"split_copy": True}):
        one = run(plain, cluster, "flex", **options)
        other = run(heavy, cluster, "flex", **options)
        assert one.records["completion"].tolist() == other.records["completion"].tolist()
        assert "remote_bytes" not in other.summary["flex"]
