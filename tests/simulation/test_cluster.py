"""The cluster simulator: timelines by hand, small steps, invariants on traces, closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import malleable as mb
from tests.oracles import cluster_steps

BUILT_IN = [name for name in mb.CLUSTER_POLICIES if name != "flowflex"]


def nodes(maps, reduces=1, count=1, **more):
    return mb.Cluster([{"count": count, "map_slots": maps, "reduce_slots": reduces, **more}])


def run(jobs, policy="fifo", cluster=None, **options):
    options.setdefault("epoch", 0)
    return mb.simulate(jobs, "cluster", policy, cluster=cluster or nodes(2), rng=1, **options)


def completions(*arguments, **options):
    return run(*arguments, **options).records["completion"].tolist()


@pytest.mark.parametrize("policy", BUILT_IN)
def test_one_job_by_hand(policy):
    # Three maps of 10 s on two slots: done at 20. The reduce task starts when a third of the maps
    # is done (10), copies 6 s: two thirds are there at 10, the rest at 20, so until 22; then 5 s.
    jobs = mb.ClusterJobs([3], 10, [1], 5, shuffle=6)
    result = run(jobs, policy, slow_start=0.3)
    assert result.records["map_completion"].tolist() == [20]
    assert result.records["completion"].tolist() == [27]
    # Started after all maps: nothing overlaps.
    assert completions(jobs, policy, slow_start=1) == [31]
    # With copying outside of slots it begins at 10 all the same.
    assert completions(jobs, policy, slow_start=0.3, split_copy=True) == [27]


def test_second_reduce_wave_copies_again():
    # One reduce slot, two reduce tasks of 4 s copying and 3 s work; one map of 10 s.
    jobs = mb.ClusterJobs([1], 10, [2], 3, shuffle=4)
    assert completions(jobs, cluster=nodes(1, 1)) == [24]
    # Copying outside of slots: both have copied at 14.
    assert completions(jobs, cluster=nodes(1, 1), split_copy=True) == [20]


def test_two_jobs_by_hand():
    # A: 4 maps of 10 s at 0. B: 2 maps of 10 s at 1. Two slots.
    jobs = mb.ClusterJobs([4, 2], 10, arrival=[0, 1])
    assert completions(jobs, "fifo") == [20, 30]
    # FLEX: at 10, A has 20 slot-seconds left and so has B; the tie goes to A.
    assert completions(jobs, "flex") == [20, 30]
    shorter = mb.ClusterJobs([4, 1], 10, arrival=[0, 1])
    assert completions(shorter, "flex") == [30, 20]
    assert completions(shorter, "fair") == [30, 20]
    assert completions(jobs, "fair") == [30, 30]


def test_epochs_delay_decisions():
    # At 10 both slots go where the last decision (at 0, A alone) said, for the next one is at 15.
    jobs = mb.ClusterJobs([6, 1], 10, arrival=[0, 9])
    assert completions(jobs, "flex", epoch=15) == [40, 30]
    assert completions(jobs, "flex", epoch=1) == [40, 20]


def test_slow_nodes_and_types():
    cluster = mb.Cluster(
        [{"map_slots": 1, "reduce_slots": 1}, {"map_slots": 1, "rate": 0.5, "name": "slow"}]
    )
    # Slot 1 ends at 10 and 20, slot 2 at 20.
    assert completions(mb.ClusterJobs([3], 10), cluster=cluster) == [20]


def test_heartbeats():
    # Two nodes with one slot; node 0 reports at 0, 3, 6 ..., node 1 at 1.5, 4.5 ...
    jobs = mb.ClusterJobs([3], 4)
    result = run(jobs, cluster=nodes(1, 1, 2), heartbeat=3, trace=True)
    trace = result.trace["fifo"]
    starts = trace["time"][trace["kind"] == 0].tolist()
    assert starts == [0, 1.5, 6]
    assert result.records["completion"].tolist() == [10]


def test_locality_and_delay():
    cluster = mb.Cluster([{"count": 4, "map_slots": 1, "storage": 100.0, "link": 10.0}])
    jobs = mb.ClusterJobs([1], 10, block=100)
    for seed in range(8):
        waits = mb.simulate(
            jobs, "cluster", "fifo", cluster=cluster, replicas=1, delay=5, rng=seed, epoch=0
        )
        assert waits.records["completion"].tolist() == [11]
        assert waits.summary["fifo"]["locality"] == 1
    greedy = [
        mb.simulate(jobs, "cluster", "fifo", cluster=cluster, replicas=1, rng=seed, epoch=0)
        for seed in range(40)
    ]
    assert {r.records["completion"][0] for r in greedy} == {11, 20}
    # Node 0 has all blocks and is busy with the first job: the second waits 5 s, then reads from
    # afar for 10 s.
    both = mb.ClusterJobs([1, 1], [100, 10], block=100, arrival=[0, 1])
    two = mb.Cluster([{"map_slots": 1, "storage": 100.0, "link": 10.0, "count": 2}])
    assert completions(both, AllOnNodeZero(), two, replicas=1, delay=5) == [101, 26]
    assert completions(both, AllOnNodeZero(), two, replicas=1) == [101, 21]


def test_links_are_shared():
    # Node 0 has all blocks of 100 bytes and one busy slot; two tasks elsewhere read from it at once,
    # 5 bytes a second each: 20 s, then 10 s of work. Alone it would be 10 s and 10 s.
    jobs = mb.ClusterJobs([1, 2], [100, 10], block=[0, 100], arrival=[0, 1])
    three = mb.Cluster([{"map_slots": 1, "storage": 100.0, "link": 10.0, "count": 3}])
    assert completions(jobs, AllOnNodeZero(), three, replicas=1) == [100, 31]
    # The second comes 5 s later: 50 bytes of the first are left, at 5 a second until 16.
    later = mb.ClusterJobs([1, 1, 1], [100, 10, 10], block=[0, 100, 100], arrival=[0, 1, 6])
    assert completions(later, AllOnNodeZero(), three, replicas=1) == [100, 26, 31]


class AllOnNodeZero:
    name, style = "zero", "ranks"

    def decide(self, view):
        return view["arrival"]

    def place(self, state, job, task, copies):
        return [0]


def test_node_leaves_and_returns():
    cluster = mb.Cluster(
        [{"map_slots": 1, "count": 2}],
        changes=[{"time": 5, "node": 1, "up": False}, {"time": 30, "node": 1, "up": True}],
    )
    # The second task is lost at 5, runs again on the other node from 10 to 20, the third to 30.
    result = run(mb.ClusterJobs([3, 1], 10, arrival=[0, 29]), cluster=cluster, trace=True)
    assert result.records["completion"].tolist() == [30, 40]
    assert result.summary["fifo"]["killed_tasks"] == 1
    trace = result.trace["fifo"]
    assert trace["time"][trace["kind"] == 3].tolist() == [5]


def test_sublinear_speed_up():
    # Two tasks on two slots run at 2^-0.5 each; the third alone at full speed.
    jobs = mb.ClusterJobs([3], 10)
    root = math.sqrt(2)
    expected = 10 * root + 10
    assert completions(jobs, speedup=0.5) == pytest.approx([expected])
    assert completions(jobs, speedup=1.0) == [20]


def test_minima_are_kept():
    jobs = mb.ClusterJobs([40, 40], [10, 1], min_map_slots=[4, 0])
    given_up = run(jobs, "flex", nodes(10), epoch=1).records["completion"]
    free = run(mb.ClusterJobs([40, 40], [10, 1]), "flex", nodes(10), epoch=1).records["completion"]
    assert free.tolist() == [44, 4]
    # Six slots for the second job: 40 tasks in seven rounds.
    assert given_up[1] == 7


@pytest.mark.parametrize("policy", ["fair", "flex", "fifo"])
@pytest.mark.parametrize("seed", range(25))
def test_agrees_with_small_steps(policy, seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 6))
    maps = rng.integers(0, 6, count)
    table = list(
        zip(
            np.sort(rng.integers(0, 12, count)).tolist(),
            maps.tolist(),
            rng.integers(1, 7, count).tolist(),
            rng.integers(0, 4, count).tolist(),
            rng.integers(1, 7, count).tolist(),
            (np.maximum(maps, 1) * rng.integers(0, 3, count)).tolist(),
            strict=True,
        )
    )
    slots = {"map": int(rng.integers(1, 5)), "reduce": int(rng.integers(1, 4))}
    slow_start = float(rng.choice([0.0, 0.05, 0.5, 1.0]))
    expected = cluster_steps.simulate(table, slots, policy, slow_start)
    arrival, maps, map_seconds, reduces, reduce_seconds, shuffle = zip(*table, strict=True)
    jobs = mb.ClusterJobs(
        maps, map_seconds, reduces, reduce_seconds, arrival=arrival, shuffle=shuffle
    )
    cluster = nodes(slots["map"], slots["reduce"])
    for epoch in (0, 1):
        found = completions(jobs, policy, cluster, slow_start=slow_start, epoch=epoch)
        assert found == pytest.approx(expected, abs=1e-9)


@st.composite
def instances(draw):
    count = draw(st.integers(1, 8))
    whole = st.integers(0, 6)
    column = st.lists(whole, min_size=count, max_size=count)
    eighths = st.lists(st.integers(0, 60).map(lambda n: n / 8), min_size=count, max_size=count)
    jobs = mb.ClusterJobs(
        draw(column), draw(eighths), draw(column), draw(eighths),
        arrival=draw(eighths), shuffle=draw(eighths), block=draw(eighths),
        user=draw(st.lists(st.sampled_from("ab"), min_size=count, max_size=count)),
    )  # fmt: skip
    generic = draw(st.booleans())
    kind = {"slots": draw(st.integers(1, 3))}
    if not generic:
        kind = {"map_slots": draw(st.integers(1, 3)), "reduce_slots": draw(st.integers(1, 3))}
    link = draw(st.sampled_from([math.inf, 1.5]))
    groups = [
        {
            **kind,
            "count": draw(st.integers(1, 3)),
            "rate": draw(st.sampled_from([0.5, 1.0, 2.0])),
            "link": link,
            "storage": 2 * link,
        }
        for _ in range(draw(st.integers(1, 2)))
    ]
    total = sum(group["count"] for group in groups)
    changes = []
    if draw(st.booleans()) and total > 1:
        node = draw(st.integers(0, total - 1))
        when = draw(st.integers(0, 40)) / 4
        changes = [
            {"time": when, "node": node, "up": False},
            {"time": when + draw(st.integers(1, 40)) / 4, "node": node, "up": True},
        ]
    cluster = mb.Cluster(groups, [{"name": "a", "minimum": 2}, {"name": "b"}], changes)
    options = {
        "epoch": draw(st.sampled_from([0, 0.5, 3])),
        "slow_start": draw(st.sampled_from([0.0, 0.05, 0.6, 1.0])),
        "split_copy": draw(st.booleans()),
        "heartbeat": draw(st.sampled_from([0, 0, 1.5])),
        "replicas": draw(st.sampled_from([0, 0, 2])),
        "delay": draw(st.sampled_from([0, 1])),
        "noise": draw(st.sampled_from([0, 0, 0.5])),
        "failure": draw(st.sampled_from([0, 0, 0.2])),
        "speedup": draw(st.sampled_from([1, 1, 0.5])),
        "estimates": draw(st.sampled_from([None, 0.5, "learn"])),
        "in_order": draw(st.booleans()),
    }
    return jobs, cluster, options


@settings(max_examples=150, deadline=None)
@given(instances(), st.sampled_from(BUILT_IN), st.integers(0, 3))
def test_every_trace_is_sound(instance, policy, seed):
    jobs, cluster, options = instance
    result = mb.simulate(jobs, "cluster", policy, cluster=cluster, rng=seed, trace=True, **options)
    summary, trace = result.summary[policy], result.trace[policy]
    assert summary["jobs"] == len(jobs)
    assert summary["tasks"] == jobs.maps.sum() + jobs.reduces.sum()
    check_trace(jobs, cluster, options, trace, result.records)
    # Little's law on every path.
    response = result.records["turnaround_time"].sum()
    if summary["end"]:
        assert summary["mean_jobs"] * summary["end"] == pytest.approx(response)
    again = mb.simulate(jobs, "cluster", policy, cluster=cluster, rng=seed, trace=True, **options)
    for name, column in result.records.items():
        assert column.tolist() == again.records[name].tolist()
    conserving = options["heartbeat"] == 0 and not (options["replicas"] and options["delay"])
    if conserving and policy != "adaptive-literal":  # as printed it keeps nodes for other classes
        assert not summary["idle_slots"] > 0


def check_trace(jobs, cluster, options, trace, records):
    generic = cluster.generic
    slots = {
        (node, phase): int(
            (cluster.map_slots if generic or not phase else cluster.reduce_slots)[node]
        )
        for node in range(len(cluster))
        for phase in (0, 1)
    }
    used = dict.fromkeys(slots, 0)
    open_tasks, finished, first, last = {}, {}, {}, {}
    maps_ended = dict.fromkeys(range(len(jobs)), 0)
    most_ended = dict.fromkeys(range(len(jobs)), 0)  # outputs may be lost: what was ready stays so
    columns = (trace[name].tolist() for name in ("time", "kind", "job", "phase", "task", "node"))
    now = 0.0
    for time, kind, job, phase, task, node in zip(*columns, strict=True):
        assert time >= now
        now = time
        place = (node, 0 if generic else phase)
        if kind == 0:
            assert time >= jobs.arrival[job]
            assert (job, phase, task) not in open_tasks
            assert (job, phase, task) not in finished
            used[place] += 1
            assert used[place] <= slots[place]
            open_tasks[job, phase, task] = (time, node)
            first.setdefault(job, time)
            if phase == 1:
                needed = 1.0 if options["split_copy"] else options["slow_start"]
                assert most_ended[job] >= math.ceil(needed * jobs.maps[job] - 1e-9)
            continue
        if kind == 4:
            assert phase == 0
            del finished[job, phase, task]
            maps_ended[job] -= 1
            continue
        began, where = open_tasks.pop((job, phase, task))
        assert where == node
        used[place] -= 1
        if kind != 1:
            continue
        finished[job, phase, task] = time
        last[job] = time
        maps_ended[job] += phase == 0
        most_ended[job] = max(most_ended[job], maps_ended[job])
        if options["noise"] == 0 and options["speedup"] == 1:
            own = (jobs.reduce_seconds if phase else jobs.map_seconds)[job] / cluster.rate[node]
            if phase == 1 and not options["split_copy"]:
                own += jobs.shuffle[job]
                assert time - began >= own - 1e-9
            elif phase == 0 and options["replicas"] and np.isfinite(cluster.link[0]):
                assert time - began >= own - 1e-9
            else:
                assert time - began == pytest.approx(own, abs=1e-9)
    assert not open_tasks
    for row, (start, completion) in enumerate(
        zip(records["starting_time"], records["completion"], strict=True)
    ):
        if jobs.maps[row] + jobs.reduces[row] == 0:
            assert completion == jobs.arrival[row]
            continue
        assert start == first[row]
        assert completion == last[row]


def test_small_tasks_become_the_fluid_plan():
    work, most = np.array([300.0, 40.0, 90.0, 10.0]), np.array([8, 4, 6, 2])
    plan = mb.plan(mb.Jobs(work, max_slots=10), 10, objective="sum:response", effort=0)
    pieces = 200
    jobs = mb.ClusterJobs((work * pieces).astype(int), 1 / pieces)
    found = run(jobs, "flex", nodes(10), epoch=0).records["completion"]
    assert found == pytest.approx(plan.completion, rel=2e-2)
    assert most.sum() > 10


@pytest.mark.parametrize("servers", [1, 4])
def test_many_servers_queue(servers):
    # M/M/c: single-task jobs, exponential times; Erlang's formula.
    count, load = 60_000, 0.7
    rng = np.random.default_rng(5)
    arrival = np.cumsum(rng.standard_exponential(count)) / (load * servers)
    jobs = mb.ClusterJobs(np.ones(count, int), rng.standard_exponential(count), arrival=arrival)
    summary = run(jobs, "fifo", nodes(servers)).summary["fifo"]
    offered = load * servers
    head = sum(offered**k / math.factorial(k) for k in range(servers))
    tail = offered**servers / math.factorial(servers) / (1 - load)
    expected = 1 + tail / (head + tail) / (servers - offered)
    assert summary["mean_response"] == pytest.approx(expected, rel=0.05)
    assert summary["map_utilisation"] == pytest.approx(load, rel=0.02)


def test_noise_keeps_the_mean_and_failures_repeat():
    jobs = mb.ClusterJobs([4000], 10)
    calm = run(jobs, cluster=nodes(1000)).summary["fifo"]
    wild = run(jobs, cluster=nodes(1000), noise=0.5).summary["fifo"]
    assert calm["end"] == 40
    busy = wild["map_utilisation"] * wild["end"] * 1000
    assert busy == pytest.approx(40_000, rel=0.05)
    failing = run(jobs, cluster=nodes(1000), failure=0.2).summary["fifo"]
    assert failing["failed_attempts"] == pytest.approx(1000, rel=0.15)
    assert failing["tasks"] == 4000


def test_estimates_are_not_the_truth():
    jobs = mb.generate_cluster_jobs(60, 3, gap=5.0)
    true = run(jobs, "flex", nodes(40, 8), epoch=1).summary["flex"]
    wrong = run(jobs, "flex", nodes(40, 8), epoch=1, estimates=2.0).summary["flex"]
    learnt = run(jobs, "flex", nodes(40, 8), epoch=1, estimates="learn").summary["flex"]
    assert true["mean_response"] < learnt["mean_response"] * 1.05
    assert true["mean_response"] < wrong["mean_response"]
    # The truth is what runs.
    assert true["tasks"] == wrong["tasks"] == learnt["tasks"]


def shortest(view):
    """Slots to the shortest job, then to the next."""
    slots = np.zeros(len(view["job"]))
    free = view["slots"]
    for row in np.argsort(view["work"], kind="stable"):
        slots[row] = min(free, view["most"][row])
        free -= slots[row]
    return slots


class Oldest:
    name, style = "oldest", "node"

    def choose(self, state, node, pool):
        for job in state.present.tolist():
            if state.eligible(job, pool):
                return job, pool
        return None


def test_own_policies():
    jobs = mb.generate_cluster_jobs(40, 3, gap=5.0)
    cluster = nodes(10, 4, 3)
    result = mb.simulate(
        jobs, "cluster", ["flex", shortest, "fifo", Oldest()], cluster=cluster, rng=1, epoch=1
    )
    by = {name: result.summary[name]["mean_response"] for name in result.summary}
    assert by["shortest"] == pytest.approx(by["flex"], rel=1e-9)
    assert by["oldest"] == pytest.approx(by["fifo"], rel=1e-9)


def test_targets_filled_in_order_by_hand():
    # Three slots. A's long tasks hold them until 20 and 30, 31; B and C wait, C has less work. Evenly,
    # the slot of 20 goes to B, which came first (none runs of either), and again at 24; in order to C.
    jobs = mb.ClusterJobs([3, 2, 1], [[20, 30, 31], [4, 4], [4]], arrival=[0, 1, 2])
    assert completions(jobs, "flex", nodes(3)) == [31, 28, 32]
    assert completions(jobs, "flex", nodes(3), in_order=True) == [31, 32, 24]
    # FAIR has no order, and policies that rank have nothing else.
    for policy in ("fair", "fifo", "srpt"):
        assert completions(jobs, policy, nodes(3)) == completions(
            jobs, policy, nodes(3), in_order=True
        )


def test_targets_filled_in_order_are_srpt():
    # Where there is one phase and a decision at every event; evenly filled, slots go to others, too.
    jobs = mb.generate_cluster_jobs(
        300, 4, gap=6.0, mean_maps=10.0, map_seconds=30.0, reduce_share=0.0, shuffle=0.0
    )
    in_order = run(jobs, "flex", nodes(60), in_order=True)
    assert in_order.records["completion"].tolist() == completions(jobs, "srpt", nodes(60))
    evenly = run(jobs, "flex", nodes(60)).summary["flex"]["mean_response"]
    assert in_order.summary["flex"]["mean_response"] < evenly


def test_own_policies_are_checked():
    jobs = mb.ClusterJobs([1], 1)
    with pytest.raises(ValueError, match="one number for each of 1 jobs"):
        run(jobs, lambda view: [1, 2])
    with pytest.raises(ValueError, match=r"policy's answer\[0\] = -1"):
        run(jobs, lambda view: [-1])

    class Wrong:
        style = "node"

        def choose(self, state, node, pool):
            return 7, 0

    with pytest.raises(ValueError, match="chose job 7"):
        run(jobs, Wrong())

    def broken(view):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        run(jobs, broken)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epoch": -1}, "epoch = -1: must be from 0"),
        ({"slow_start": 2}, "slow_start = 2: must be from 0 to 1"),
        ({"nonsense": 1}, "nonsense: unknown option"),
        ({"estimates": "maybe"}, "expected 'learn'"),
        ({"estimates": [[1.0, math.nan]]}, r"estimates\[1\] = nan"),
        ({"policy": "best"}, "policy = 'best'"),
        ({"objective": "sum:sla"}, "not one that cluster jobs"),
        ({"objective": "sum:lateness"}, r"deadline\[0\] = inf"),
        ({"load": 0.5}, "load: only without a cluster"),
        ({"horizon": -1}, "horizon"),
    ],
)
def test_wrong_input(change, message):
    arguments = {"policy": "flex", **change}
    with pytest.raises(ValueError, match=message):
        run(mb.ClusterJobs([1], 1), **arguments)


def test_jobs_that_fit_nowhere():
    cluster = mb.Cluster([{"map_slots": 2}])
    with pytest.raises(ValueError, match=r"reduces\[1\] = 3: the cluster has no slot"):
        run(mb.ClusterJobs([1, 1], 1, [0, 3], 1), cluster=cluster)


def test_horizon_leaves_the_rest():
    result = run(mb.ClusterJobs([2, 2], 10), horizon=15)
    assert result.summary["fifo"]["jobs"] == 1
    assert result.summary["fifo"]["unfinished"] == 1
    assert result.summary["fifo"]["end"] == 15


def remaining(view):
    return view["work"]


remaining.style = "ranks"


class VirtualSrpt:
    """ASRPT's order from a virtual machine in small steps; shares no code with ours."""

    name, style, depends_on_time = "virtual", "node", True

    def __init__(self, sizes, speed, step=1e-2):
        self.sizes, self.speed, self.step = sizes, speed, step
        self.left, self.done, self.now = {}, [], 0.0

    def advance(self, now):
        while self.now < now - 1e-9:
            work = self.speed * self.step
            while work > 0 and self.left:
                job = min(self.left, key=lambda j: (self.left[j], j))
                used = min(work, self.left[job])
                self.left[job] -= used
                work -= used
                if self.left[job] <= 1e-9:
                    del self.left[job]
                    self.done.append(job)
            self.now += self.step

    def job_arrived(self, state, job):
        self.advance(state.now)
        self.left[job] = self.sizes[job]

    def choose(self, state, node, pool):
        self.advance(state.now)
        order = self.done + sorted(self.left, key=lambda j: (self.left[j], j))
        for job in order:
            if state.eligible(job, pool):
                return job, pool
        return None


def test_asrpt_follows_a_virtual_machine():
    rng = np.random.default_rng(9)
    count = 25
    maps, arrival = rng.integers(1, 12, count), np.sort(rng.integers(0, 60, count)).astype(float)
    seconds = rng.integers(1, 6, count) + np.arange(count) / 100
    jobs = mb.ClusterJobs(maps, seconds, arrival=arrival)
    own = VirtualSrpt(jobs.map_work.tolist(), 5)
    cluster = mb.Cluster([{"map_slots": 4, "reduce_slots": 1}])
    result = mb.simulate(jobs, "cluster", ["asrpt", own], cluster=cluster, epoch=0, rng=1)
    by = {
        name: result.records["completion"][result.records["policy"] == name]
        for name in ("asrpt", "virtual")
    }
    assert by["asrpt"].tolist() == by["virtual"].tolist()


def test_srpt_ranks_by_work_left():
    jobs = mb.generate_cluster_jobs(40, 3, gap=5.0, reduce_share=0.0, shuffle=0.0)
    result = mb.simulate(
        jobs, "cluster", ["srpt", remaining], cluster=nodes(10, 1, 3), rng=1, epoch=1
    )
    by = {name: s["mean_response"] for name, s in result.summary.items()}
    assert by["srpt"] == by["remaining"]


def test_max_srpt_looks_at_both_phases():
    # Seconds of all slots: A maps 10, reduces 40; B maps 20, reduces 5. B's larger part is smaller.
    jobs = mb.ClusterJobs([1, 2], 10, [4, 1], [10, 5])
    cluster = mb.Cluster([{"map_slots": 1, "reduce_slots": 1}])
    found = mb.simulate(jobs, "cluster", "max-srpt", cluster=cluster, rng=1, epoch=0, slow_start=1)
    # B maps until 20 and reduces until 25; A maps until 30, reduces until 70.
    assert found.records["completion"].tolist() == [70, 25]


def hesrpt_fluid(sizes, slots, p):
    """Mean response when every job may have any part of the slots: theorem of heSRPT."""
    left, now, ends = sorted(sizes, reverse=True), 0.0, []
    while left:
        m = len(left)
        part = [(i / m) ** (1 / (1 - p)) - ((i - 1) / m) ** (1 / (1 - p)) for i in range(1, m + 1)]
        rate = [(share * slots) ** p for share in part]
        step = min(size / r for size, r in zip(left, rate, strict=True))
        left = [size - r * step for size, r in zip(left, rate, strict=True)]
        now += step
        ends += [now] * sum(size <= 1e-9 for size in left)
        left = [size for size in left if size > 1e-9]
    return sum(ends) / len(ends)


@pytest.mark.parametrize("p", [0.3, 0.5])
def test_hesrpt_becomes_its_fluid(p):
    sizes = [60.0, 30.0, 10.0, 4.0]
    pieces, slots = 40, 200
    jobs = mb.ClusterJobs((np.array(sizes) * pieces).astype(int), 1 / pieces)
    means = {
        policy: run(jobs, policy, nodes(slots), epoch=0, speedup=p).summary[policy]["mean_response"]
        for policy in ("hesrpt", "fair", "srpt")
    }
    assert means["hesrpt"] == pytest.approx(hesrpt_fluid(sizes, slots, p), rel=0.05)
    assert means["hesrpt"] < min(means["fair"], means["srpt"])


def test_users_share_first():
    # Ten jobs of a, one of b: half of the slots each; priority 3 gives b three quarters.
    jobs = mb.ClusterJobs([100] * 11, 1, user=["a"] * 10 + ["b"])
    for priority, done in ((1, 20), (3, 14)):
        cluster = mb.Cluster(
            [{"map_slots": 10}], [{"name": "a"}, {"name": "b", "priority": priority}]
        )
        policies = ("fair", "flex", "fifo", "wdeq", "srpt", "max-srpt", "split-srpt", "asrpt")
        for policy in (*policies, "hesrpt"):
            records = run(jobs, policy, cluster, epoch=1).records
            assert records["completion"][10] == pytest.approx(done, abs=1)
            alike = run(jobs, policy, cluster, epoch=1, by_user=False).records
            if policy not in ("hesrpt", "srpt", "max-srpt", "split-srpt"):
                assert alike["completion"][10] >= 90


def test_minimum_of_a_user():
    cluster = mb.Cluster(
        [{"map_slots": 10}], [{"name": "a", "minimum": 8}, {"name": "b", "priority": 9}]
    )
    jobs = mb.ClusterJobs([80, 80], 1, user=["a", "b"])
    result = run(jobs, "fair", cluster, epoch=1)
    assert result.records["completion"].tolist() == [10, 16]
    assert result.summary["fair"]["dissatisfaction"] == 0
    # FIFO without users starves a: 0 of its 8 slots while b runs for 8 s of 16 s, weighted by 1.
    back = mb.ClusterJobs([80, 80], 1, user=["b", "a"])
    told = run(back, "fifo", cluster, by_user=False).summary["fifo"]
    assert told["dissatisfaction"] == pytest.approx(0.5)
    # Always |10 - 8 - (-4) / 1| and so on: each priority has one user, so nobody differs.
    assert told["user_fairness"] == 0


def test_fairness_of_equal_users():
    cluster = mb.Cluster([{"map_slots": 10}], [{"name": "a"}, {"name": "b"}])
    jobs = mb.ClusterJobs([20, 20], 1, user=["a", "b"])
    # FIFO: 10 and 0 slots, 5 from the mean each, then the other way round, to the end at 4.
    assert run(jobs, "fifo", cluster, by_user=False).summary["fifo"][
        "user_fairness"
    ] == pytest.approx(10)
    assert run(jobs, "fair", cluster).summary["fair"]["user_fairness"] == 0


def test_ageing_lets_a_large_job_run():
    # A short job of 1 s every second keeps the only slot; the long task waits for ever without age.
    short = 50
    jobs = mb.ClusterJobs([1] * (short + 1), [30] + [1] * short, arrival=[0.5, *range(short)])
    cluster = mb.Cluster([{"map_slots": 1}])
    plain = run(jobs, "flex", cluster, trace=True)
    aged = run(jobs, "flex", cluster, ageing=10, trace=True)
    assert plain.records["starting_time"][0] == 50
    assert aged.records["starting_time"][0] == 11


def test_gangs_run_whole_or_not_at_all():
    # Three slots, a gang of three behind one single task: it waits for all three.
    jobs = mb.ClusterJobs([1, 3, 2], [10, 10, 2], arrival=[0, 1, 2], min_map_slots=[0, 3, 0])
    cluster = mb.Cluster([{"map_slots": 3}])
    gang = run(jobs, "fifo", cluster, gang=True).records
    assert gang["starting_time"].tolist() == [0, 10, 2]
    assert gang["completion"].tolist() == [10, 20, 4]
    with pytest.raises(ValueError, match=r"min_map_slots\[0\] = 4: the gang never fits on 3"):
        run(mb.ClusterJobs([4], 1, min_map_slots=4), "fifo", cluster, gang=True)


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
    cluster = mb.Cluster([{"map_slots": data.draw(st.integers(4, 6))}])
    result = run(
        jobs, policy, cluster, gang=True, trace=True, epoch=data.draw(st.sampled_from([0, 2]))
    )
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


def test_jobs_wait_for_others():
    # A diamond by hand on two slots: a 10 s, then b and c (10 s each), then d 5 s; e arrives at 12.
    jobs = mb.ClusterJobs(
        [1, 1, 1, 1, 1],
        [10, 10, 10, 5, 1],
        arrival=[0, 0, 0, 0, 12],
        after=[[], [0], [0], [1, 2], []],
        flow=["f", "f", "f", "f", "g"],
    )
    result = run(jobs, "fifo", mb.Cluster([{"slots": 2}]))
    assert result.records["completion"].tolist() == [10, 20, 20, 25, 21]
    assert result.summary["fifo"]["flow_response"] == (25 + 9) / 2
    with pytest.raises(ValueError, match=r"after\[0\] = 1: jobs that wait for each other"):
        run(mb.ClusterJobs([1, 1], 1, after=[[1], [0]]))
    with pytest.raises(ValueError, match=r"after\[1\] = 7: no such job"):
        run(mb.ClusterJobs([1, 1], 1, after=[[], [7]]))


@pytest.mark.parametrize("seed", range(4))
def test_flows_of_small_tasks_follow_their_plan(seed):
    rng = np.random.default_rng(seed)
    flows = mb.workloads.section51_flows(rng, flows=4, jobs=(2, 5), scaled=False)
    alone = mb.Flows.from_arrays(
        flows.job_offset, flows.work, flows.parent_offset, flows.parent, arrival=flows.arrival
    )
    plan = mb.plan(alone, 25, objective="sum:completion", policy="flowflex", effort=0)
    jobs = mb.workloads.cluster_flows(alone, 0.05)
    result = mb.simulate(
        jobs, "cluster", ["flowflex", "fair", "fifo"], cluster=mb.Cluster([{"slots": 25}]), rng=1,
        epoch=0.5, objective="sum:completion",
    )  # fmt: skip
    own = result.summary["flowflex"]
    assert own["flows"] == 4
    assert own["jobs"] == len(jobs)
    # Decisions are taken anew as flows progress, so the run may be better than the first plan.
    assert own["flow_response"] <= np.mean(plan.flow_completion) * 1.1
    assert own["flow_response"] >= 0.98 * plan.lower_bound / 4
    # Nothing starts before what it waits for has ended.
    records = {k: v[result.records["policy"] == "flowflex"] for k, v in result.records.items()}
    for row in range(len(jobs)):
        for other in jobs.after[jobs.after_offset[row] : jobs.after_offset[row + 1]]:
            assert records["starting_time"][row] >= records["completion"][other]


def test_flowflex_runs_map_reduce_flows():
    rng = np.random.default_rng(2)
    count = 12
    jobs = mb.ClusterJobs(
        rng.integers(1, 9, count), rng.integers(1, 9, count), rng.integers(0, 4, count), 5,
        arrival=rng.integers(0, 30, count), shuffle=2,
        after=[[] if k % 3 == 0 else [k - 1] for k in range(count)],
        flow=[f"flow{k // 3}" for k in range(count)],
    )  # fmt: skip
    for estimates in (None, 0.5, "learn"):
        result = mb.simulate(
            jobs, "cluster", "flowflex", cluster=mb.Cluster([{"slots": 3, "count": 2}]), rng=1,
            epoch=2, estimates=estimates, noise=0.3, trace=True,
        )  # fmt: skip
        assert result.summary["flowflex"]["jobs"] == count
        assert not result.summary["flowflex"]["idle_slots"] > 0
    with pytest.raises(ValueError, match="generic slots"):
        run(jobs, "flowflex")
