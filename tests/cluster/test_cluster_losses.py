"""What a node takes along: outputs of finished maps, by hand and as invariants of traces."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import malleable as mb
from tests.cluster.cluster_runs import BUILT_IN, check_trace, instances, of_policy

TWO = [{"map_slots": 1, "reduce_slots": 1, "count": 2}]
# Maps end at 10 on both nodes; the reduce task runs on node 0, copies 4 s, then works 5 s.
JOBS = mb.ClusterJobs([2], 10, [1], 5, shuffle=4)


def run(jobs, changes, nodes=TWO, **options):
    changes = [dict(zip(("time", "node", "up"), row, strict=True)) for row in changes]
    options = {"epoch": 0, "slow_start": 1, "rng": 1, "trace": True, **options}
    return mb.simulate(jobs, "fifo", cluster=mb.Cluster(nodes, changes=changes), **options)


def outcome(result):
    summary = result.summary["fifo"]
    return result.records["completion"].tolist(), summary["lost_outputs"], summary["tasks"]


def test_outputs_that_are_being_copied_are_lost():
    # Node 1's map runs again from 12 to 22 and releases the last 2 s of copying: 24, then 5 s.
    assert outcome(run(JOBS, [(12, 1, False)])) == ([29], 1, 3)
    assert outcome(run(JOBS, [(12, 1, False)], lose_output=False)) == ([19], 0, 3)
    # At 14 everything has been copied.
    for late in (14, 15):
        assert outcome(run(JOBS, [(late, 1, False)])) == ([19], 0, 3)
    result = run(JOBS, [(12, 1, False)])
    trace = result.trace["fifo"]
    lost = trace["kind"] == 4
    assert trace["time"][lost].tolist() == [12]
    assert trace["node"][lost].tolist() == [1]
    assert result.records["map_completion"].tolist() == [22]


def test_a_reduce_task_that_runs_again_needs_outputs():
    # Killed at 15 with node 0: it starts again at once on node 1 and waits for the map that runs
    # again there until 25; 2 s of copying, 5 s.
    assert outcome(run(JOBS, [(15, 0, False)])) == ([32], 1, 3)
    # Node 1 goes first, when nobody needs its output; at 16 the reduce task is killed, and both maps
    # run again on node 1, which returns at 20: until 40, then 2 s and 5 s.
    gone = [(15, 1, False), (16, 0, False), (20, 1, True)]
    assert outcome(run(JOBS, gone)) == ([47], 2, 3)


def test_outputs_nobody_needs_stay_done():
    # No reduce task: the third map runs on node 1 from 10 on, and what node 0 has done is done.
    assert outcome(run(mb.ClusterJobs([3], 10), [(15, 0, False)])) == ([20], 0, 3)


def test_copying_outside_of_slots():
    assert outcome(run(JOBS, [(12, 1, False)], split_copy=True)) == ([29], 1, 3)
    assert outcome(run(JOBS, [(15, 1, False)], split_copy=True)) == ([19], 0, 3)
    # Maps end at 10 on node 0 and at 20 on node 1: copying begins at 10 and would end at 22.
    jobs = mb.ClusterJobs([2], [[10, 20]], [1], 5, shuffle=4)
    found = run(jobs, [(21, 0, False)], split_copy=True, slow_start=0.5)
    # The first map runs again on node 1 from 21 to 31 and releases 2 s; copying does not begin anew.
    assert outcome(found) == ([38], 1, 3)


def test_maps_get_slots_from_reduce_tasks_that_wait_for_them():
    # One generic slot a node. The reduce task holds node 0 from 10 on; the second map is killed at 12
    # and would never find a slot: it gets that of the reduce task, until 32.
    jobs = mb.ClusterJobs([2], [[10, 20]], [1], 5)
    result = run(jobs, [(12, 1, False)], [{"slots": 1, "count": 2}], slow_start=0.5)
    assert result.records["completion"].tolist() == [37]
    assert result.summary["fifo"]["preempted_tasks"] == 1
    assert result.summary["fifo"]["lost_outputs"] == 0


@settings(max_examples=120, deadline=None)
@given(instances(), st.sampled_from(BUILT_IN), st.integers(0, 3), st.booleans(), st.data())
def test_no_reduce_task_uses_what_is_gone(instance, policy, seed, lose, data):
    jobs, cluster, options = instance
    assume(len(cluster) > 1)
    count = data.draw(st.integers(1, 3))
    changes, down = [], []
    for node in data.draw(st.permutations(range(len(cluster))))[:count]:
        when = data.draw(st.integers(0, 60)) / 4
        changes.append({"time": when, "node": node, "up": False})
        changes.append({"time": when + 6, "node": node, "up": True})
        down.append((when, node))
    options = of_policy(policy, options)
    options |= {"noise": 0, "speedup": 1, "failure": 0, "lose_output": lose}
    groups = [
        {
            ("slots" if cluster.generic else "map_slots"): int(cluster.map_slots[k]),
            **({} if cluster.generic else {"reduce_slots": int(cluster.reduce_slots[k])}),
            "rate": float(cluster.rate[k]),
            "link": float(cluster.link[k]),
            "storage": float(cluster.storage[k]),
        }
        for k in range(len(cluster))
    ]
    cluster = mb.Cluster(groups, [{"name": "a", "minimum": 2}, {"name": "b"}], changes)
    result = mb.simulate(jobs, policy, cluster=cluster, rng=seed, trace=True, **options)
    summary, trace = result.summary[policy], result.trace[policy]
    assert summary["jobs"] == len(jobs)
    assert summary["tasks"] == jobs.maps.sum() + jobs.reduces.sum()
    assert summary["lost_outputs"] == (trace["kind"] == 4).sum()
    check_trace(jobs, cluster, options, trace, result.records, policy)
    if not lose:
        assert summary["lost_outputs"] == 0
        return
    if options["split_copy"]:
        return
    columns = [trace[name].tolist() for name in ("time", "kind", "job", "phase", "task", "node")]
    rows = list(zip(*columns, strict=True))
    for time, kind, job, phase, _, node in rows:
        if kind != 1 or phase != 1 or jobs.maps[job] == 0:
            continue
        copied = time - jobs.reduce_seconds[job] / cluster.rate[node]
        # Outputs that are there: ended until then, not lost before.
        there = {}
        for when, what, other, p, task, place in rows:
            if other != job or p != 0:
                continue
            if what == 1 and when <= copied + 1e-9:
                there[task] = (when, place)
            elif what == 4 and when < copied - 1e-9:
                del there[task]
        assert len(there) == jobs.maps[job]
        for ended, place in there.values():
            assert not any(ended < left < copied - 1e-9 and place == n for left, n in down)


@pytest.mark.parametrize("policy", ["fair", "adaptive"])
def test_learned_times_survive_a_loss(policy):
    jobs = mb.ClusterJobs(np.full(6, 8), 3, np.full(6, 2), 4, arrival=np.arange(6) * 2.0, shuffle=2)
    changes = [{"time": 9, "node": 1, "up": False}, {"time": 30, "node": 1, "up": True}]
    cluster = mb.Cluster([{"map_slots": 2, "reduce_slots": 1, "count": 3}], changes=changes)
    result = mb.simulate(jobs, policy, cluster=cluster, rng=1, estimates="learn")
    assert result.summary[policy]["jobs"] == 6
    assert result.summary[policy]["lost_outputs"] > 0
