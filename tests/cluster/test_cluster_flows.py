"""Flows on a cluster: by hand, and FlowFlex against decisions through the epoch object for flows."""

import numpy as np
import pytest

import malleable as mb
from malleable.cluster.table import cluster_flows
from malleable.flows.generate import section51_flows
from tests.cluster.cluster_flow_policy import FlowFlexOnCluster
from tests.cluster.cluster_runs import run


def random_flows(rng):
    count, sizes = int(rng.integers(1, 15)), int(rng.integers(1, 5))
    after = [
        [k - 1 - int(rng.integers(k % sizes))] if k % sizes and rng.random() < 0.7 else []
        for k in range(count)
    ]
    return mb.ClusterJobs(
        rng.integers(0, 7, count), rng.integers(0, 6, count), rng.integers(0, 4, count), 3,
        arrival=rng.integers(0, 25, count), shuffle=rng.integers(0, 3, count),
        weight=rng.integers(1, 4, count), deadline=rng.integers(20, 80, count), after=after,
        flow=[f"flow{k // sizes}" for k in range(count)],
    )  # fmt: skip


@pytest.mark.parametrize(
    "objective", ["sum:response", "sum:stretch", "max:stretch", "sum:tardiness", "sum:tardy"]
)
def test_decides_as_the_epoch_of_flows(objective):
    """Decisions at once are those of the epoch; between two decisions this one ranks what is new at once."""
    ratios = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        jobs = random_flows(rng)
        seconds = np.stack([jobs.map_seconds, jobs.reduce_seconds + jobs.shuffle], axis=1)
        options = {
            "cluster": mb.Cluster([{"slots": 3, "count": int(rng.integers(1, 4))}]),
            "rng": 1, "epoch": 2 * (seed % 2), "objective": objective,
            "noise": float(rng.choice([0, 0.3])), "failure": float(rng.choice([0, 0.1])),
        }  # fmt: skip
        oracle = FlowFlexOnCluster(jobs, objective, seconds)
        own, slow = mb.simulate(jobs, "flowflex", **options), mb.simulate(jobs, oracle, **options)
        for column in ("starting_time", "map_completion", "completion"):
            if options["epoch"] == 0:
                assert own.records[column].tolist() == slow.records[column].tolist()
        end = [found.summary["flowflex"]["mean_response"] + 1.0 for found in (own, slow)]
        ratios.append(end[0] / end[1])
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.01)


def test_what_is_new_between_decisions_has_its_place_at_once():
    """One slot, decisions at 0 and 100: the short flow goes on at 1, another flow comes at 2."""
    jobs = mb.ClusterJobs(
        [1, 1, 20, 1], [1.0, 2.0, 5.0, 1.0], arrival=[0.0, 0.0, 0.0, 2.0],
        after=[[], [0], [], []], flow=["short", "short", "long", "new"],
    )  # fmt: skip
    cluster = mb.Cluster([{"slots": 1}])
    found = mb.simulate(jobs, "flowflex", cluster=cluster, epoch=100, rng=1).records
    assert found["completion"].tolist() == [1.0, 3.0, 104.0, 4.0]


def test_users_share_before_flows():
    # Ten flows of a, one of b: half of the slots each, three quarters with priority 3.
    jobs = mb.ClusterJobs(
        [50, 50] * 11,
        1,
        user=["a"] * 20 + ["b"] * 2,
        flow=[f"f{k // 2}" for k in range(22)],
        after=[[] if k % 2 == 0 else [k - 1] for k in range(22)],
    )
    for priority, done in ((1, 20), (3, 14)):
        cluster = mb.Cluster([{"slots": 10}], [{"name": "a"}, {"name": "b", "priority": priority}])
        found = mb.simulate(jobs, "flowflex", cluster=cluster, rng=1, epoch=1).records
        assert found["completion"][21] == pytest.approx(done, abs=2)
    # Alike, all flows are equally short, and b's comes last.
    alike = mb.simulate(jobs, "flowflex", cluster=cluster, rng=1, epoch=1, by_user=False).records
    assert alike["completion"][21] == 110


def test_wrong_objectives():
    jobs = mb.ClusterJobs([1], 1)
    for objective in ("sum:custom", ["sum:custom"]):
        with pytest.raises(ValueError, match="not one that cluster jobs have data for"):
            mb.simulate(
                jobs, "flowflex", cluster=mb.Cluster([{"slots": 1}]), rng=1,
                objective=objective,
            )  # fmt: skip


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
    told = result.summary["fifo"]
    assert told["flow_response"] == (25 + 9) / 2
    # g waits for b and c to end at 20.
    assert told["flow_p95"] == told["flow_max_response"] == 25
    assert told["flow_longest_wait"] == 20 - 12
    with pytest.raises(ValueError, match=r"after\[0\] = 1: jobs that wait for each other"):
        run(mb.ClusterJobs([1, 1], 1, after=[[1], [0]]))
    with pytest.raises(ValueError, match=r"after\[1\] = 7: no such job"):
        run(mb.ClusterJobs([1, 1], 1, after=[[], [7]]))


@pytest.mark.parametrize("seed", range(4))
def test_flows_of_small_tasks_follow_their_plan(seed):
    rng = np.random.default_rng(seed)
    flows = section51_flows(rng, flows=4, jobs=(2, 5), scaled=False)
    alone = mb.Flows.from_arrays(
        flows.job_offset, flows.work, flows.parent_offset, flows.parent, arrival=flows.arrival
    )
    plan = mb.plan(alone, 25, objective="sum:completion", policy="flowflex", effort=0)
    jobs = cluster_flows(alone, 0.05)
    result = mb.simulate(
        jobs, ["flowflex", "fair", "fifo"], cluster=mb.Cluster([{"slots": 25}]), rng=1,
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
            jobs, "flowflex", cluster=mb.Cluster([{"slots": 3, "count": 2}]), rng=1,
            epoch=2, estimates=estimates, noise=0.3, trace=True,
        )  # fmt: skip
        assert result.summary["flowflex"]["jobs"] == count
        assert not result.summary["flowflex"]["idle_slots"] > 0
    with pytest.raises(ValueError, match="generic slots"):
        run(jobs, "flowflex")


@pytest.mark.parametrize("policy", ["flowflex", "flowflex-fast"])
def test_map_and_reduce_phases_are_planned_apart(policy):
    # 200 maps of 1 s beside 10 maps and a reduce of 100 s: taken as one malleable job, the second one is
    # 110 slot-seconds on 10 slots, and seems to have time.
    jobs = mb.ClusterJobs([200, 10], 1.0, [0, 1], [0.0, 100.0])
    options = {"cluster": mb.Cluster([{"slots": 10}]), "objective": "max:completion", "rng": 1}
    for slow_start in (0.05, 1.0):
        found = mb.simulate(jobs, policy, slow_start=slow_start, **options)
        assert found.records["completion"].max() == 101.0


def test_phases_as_jobs_of_a_flow_are_planned_like_phases():
    rng = np.random.default_rng(8)
    ratios = []
    for _ in range(10):
        count = 8
        maps, reduces = rng.integers(1, 60, count), rng.integers(1, 6, count)
        seconds = rng.integers(1, 5, count), rng.integers(5, 60, count)
        options = {"cluster": mb.Cluster([{"slots": 10}]), "objective": "max:completion", "rng": 1}
        phases = mb.ClusterJobs(maps, seconds[0], reduces, seconds[1])
        nothing = np.zeros(count, dtype=int)
        apart = mb.ClusterJobs(
            np.concatenate([maps, reduces]),
            np.concatenate(seconds),
            np.concatenate([nothing, nothing]),
            0.0,
            after=[[]] * count + [[row] for row in range(count)],
            flow=[str(row) for row in range(count)] * 2,
        )
        last = [
            mb.simulate(jobs, "flowflex", slow_start=1.0, **options).records["completion"].max()
            for jobs in (phases, apart)
        ]
        ratios.append(last[0] / last[1])
    assert max(ratios) < 1.05 and min(ratios) > 0.95
