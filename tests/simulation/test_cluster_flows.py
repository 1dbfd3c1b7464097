"""FlowFlex in the core against the same decisions taken through the epoch object for flows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import malleable as mb
from tests.cluster_flow_policy import FlowFlexOnCluster


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_decides_as_the_epoch_of_flows(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    count = data.draw(st.integers(1, 14))
    sizes = data.draw(st.integers(1, 4))
    after = [
        [k - 1 - int(rng.integers(k % sizes))] if k % sizes and rng.random() < 0.7 else []
        for k in range(count)
    ]
    jobs = mb.ClusterJobs(
        rng.integers(0, 7, count), rng.integers(0, 6, count), rng.integers(0, 4, count), 3,
        arrival=rng.integers(0, 25, count), shuffle=rng.integers(0, 3, count),
        weight=rng.integers(1, 4, count), deadline=rng.integers(20, 80, count), after=after,
        flow=[f"flow{k // sizes}" for k in range(count)] if data.draw(st.booleans()) else None,
    )  # fmt: skip
    if jobs.flow is None:
        jobs = mb.ClusterJobs(
            jobs.maps, jobs.map_seconds, jobs.reduces, jobs.reduce_seconds, arrival=jobs.arrival
        )
    objective = data.draw(
        st.sampled_from(
            ["sum:response", "sum:stretch", "max:stretch", "sum:tardiness", "sum:tardy"]
        )
    )
    if jobs.flow is None and objective.startswith("sum:tard"):
        objective = "sum:completion"
    effort = data.draw(st.sampled_from([None, 5]))
    seconds = np.stack([jobs.map_seconds, jobs.reduce_seconds + jobs.shuffle], axis=1)
    oracle = FlowFlexOnCluster(jobs, objective, effort, seconds)
    options = {
        "cluster": mb.Cluster([{"slots": 3, "count": data.draw(st.integers(1, 3))}]),
        "rng": 1, "epoch": data.draw(st.sampled_from([0, 2])), "objective": objective,
        "effort": effort, "noise": data.draw(st.sampled_from([0, 0.3])),
        "failure": data.draw(st.sampled_from([0, 0.1])),
    }  # fmt: skip
    own = mb.simulate(jobs, "cluster", "flowflex", **options)
    slow = mb.simulate(jobs, "cluster", oracle, **{**options, "effort": None})
    for name in ("start", "map_completion", "completion"):
        column = "starting_time" if name == "start" else name
        assert own.records[column].tolist() == slow.records[column].tolist()
    assert own.summary["flowflex"]["decisions"] == slow.summary["flowflex"]["decisions"]


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
        found = mb.simulate(jobs, "cluster", "flowflex", cluster=cluster, rng=1, epoch=1).records
        assert found["completion"][21] == pytest.approx(done, abs=2)
    # Alike, all flows are equally short, and b's comes last.
    alike = mb.simulate(
        jobs, "cluster", "flowflex", cluster=cluster, rng=1, epoch=1, by_user=False
    ).records
    assert alike["completion"][21] == 110


def test_wrong_objectives():
    jobs = mb.ClusterJobs([1], 1)
    for objective in ("sum:sla", "sum:custom"):
        with pytest.raises(ValueError, match="not one that cluster jobs have data for"):
            mb.simulate(
                jobs, "cluster", "flowflex", cluster=mb.Cluster([{"slots": 1}]), rng=1,
                objective=objective,
            )  # fmt: skip
