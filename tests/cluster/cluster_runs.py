"""Runs of the cluster simulator: small clusters, policies, random instances, checks of traces."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

import malleable as mb
from malleable.cluster.simulate import CLUSTER_POLICIES

BUILT_IN = [name for name in CLUSTER_POLICIES if not name.startswith("flowflex")]
QUEUES = ("fcfs", "easy", "easy-sjf", "easy-auto", "conservative")
"""Policies that look at all free slots at once, and so take no heartbeats."""


def nodes(maps, reduces=1, count=1, **more):
    return mb.Cluster([{"count": count, "map_slots": maps, "reduce_slots": reduces, **more}])


def run(jobs, policy="fifo", cluster=None, **options):
    options.setdefault("epoch", 0)
    return mb.simulate(jobs, policy, cluster=cluster or nodes(2), rng=1, **options)


def completions(*arguments, **options):
    return run(*arguments, **options).records["completion"].tolist()


class AllOnNodeZero:
    name, style = "zero", "ranks"

    def decide(self, view):
        return view["arrival"]

    def place(self, state, job, task, copies):
        return [0]


class Oldest:
    name, style = "oldest", "node"

    def choose(self, state, node, pool):
        for job in state.present.tolist():
            if state.eligible(job, pool):
                return job, pool
        return None


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
    }
    return jobs, cluster, options


def of_policy(policy, options):
    """The options that a policy takes."""
    return options | {"heartbeat": 0} if policy in QUEUES else options


def check_trace(jobs, cluster, options, trace, records, policy):
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
                least = math.ceil(needed * jobs.maps[job] - 1e-9)
                assert most_ended[job] >= least
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
