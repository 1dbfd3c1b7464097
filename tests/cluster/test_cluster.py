"""The cluster simulator: timelines by hand, wrong input."""

import math

import pytest

import malleable as mb
from tests.cluster.cluster_runs import BUILT_IN, AllOnNodeZero, completions, nodes, run


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


def test_a_slot_that_changes_hands_takes_time_to_restart():
    # Two slots: both jobs begin with 5 s; at 25, 45, ... the second task takes over the slot of the first.
    jobs = mb.ClusterJobs([4, 2], 20.0, restart=[5.0, 1.0], arrival=[0.0, 1.0])
    cluster = mb.Cluster([{"slots": 2}])
    assert completions(jobs, "fifo", cluster) == [45.0, 66.0]
    # FLEX gives slots to the short job as soon as tasks end, unless that costs more than it gains.
    jobs = mb.ClusterJobs([40, 20], 1.0, arrival=[0.0, 0.5], restart=0.1)
    assert completions(jobs, "flex", cluster) == pytest.approx([30.3, 11.2])
    assert completions(jobs.changed(restart=50.0), "flex", cluster) == [70.0, 130.0]


@pytest.mark.parametrize("policy", ["flex", "auto"])
@pytest.mark.parametrize("flow", [None, [0, 0, 1, 1]])
def test_slots_that_first_restart_are_shared(policy, flow):
    # One by one on all slots, jobs would end at 101, 202, 303 and 404 s.
    jobs = mb.ClusterJobs([38] * 4, 1.0, restart=100.0, flow=flow)
    cluster = mb.Cluster([{"slots": 40}])
    assert max(completions(jobs, policy, cluster)) < 150.0


def test_estimates_do_not_count_restarts_as_work():
    # Of tasks that restart and have not ended, nothing longer is believed.
    jobs = mb.ClusterJobs([30, 30, 20], 1.0, restart=500.0, arrival=[0.0, 400.0, 450.0])
    cluster = mb.Cluster([{"slots": 4}])
    learnt = completions(jobs, "auto", cluster)
    assert learnt == completions(jobs, "auto", cluster, learn=False)


def test_locality_and_delay():
    cluster = mb.Cluster([{"count": 4, "map_slots": 1, "storage": 100.0, "link": 10.0}])
    jobs = mb.ClusterJobs([1], 10, block=100)
    for seed in range(8):
        waits = mb.simulate(jobs, "fifo", cluster=cluster, replicas=1, delay=5, rng=seed, epoch=0)
        assert waits.records["completion"].tolist() == [11]
        assert waits.summary["fifo"]["locality"] == 1
    greedy = [
        mb.simulate(jobs, "fifo", cluster=cluster, replicas=1, rng=seed, epoch=0)
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epoch": -1}, "epoch = -1: must be from 0"),
        ({"slow_start": 2}, "slow_start = 2: must be from 0 to 1"),
        ({"nonsense": 1}, "unknown option 'nonsense'"),
        ({"estimates": "maybe"}, "expected 'learn'"),
        ({"estimates": [[1.0, math.nan]]}, r"estimates\[0, 1\] = nan"),
        ({"policy": "best"}, "policy = 'best'"),
        ({"objective": "sum:custom"}, "not one that cluster jobs"),
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
