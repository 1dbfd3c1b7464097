"""Records as Batsim's readers want them: columns, slots that were really held, one row a task."""

import csv

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import malleable as mb
from malleable.cluster.slots import interval_text

# What evalys reads: `evalys.jobset.JobSet.from_csv` of 4.0.7.
SCHEMA = {
    "job_id": int, "workload_name": str, "submission_time": float,
    "requested_number_of_resources": int, "requested_time": float, "success": int,
    "starting_time": float, "execution_time": float, "finish_time": float, "waiting_time": float,
    "turnaround_time": float, "stretch": float, "consumed_energy": float, "allocated_resources": str,
}  # fmt: skip
CLUSTER = mb.Cluster(
    [{"map_slots": 2, "reduce_slots": 1, "count": 2}, {"map_slots": 3}],
    changes=[{"time": 8, "node": 0, "up": False}, {"time": 15, "node": 0, "up": True}],
)


def parsed(text):
    """What procset makes of an interval set."""
    found = set()
    for part in text.split():
        low, _, high = part.partition("-")
        found |= set(range(int(low), int(high or low) + 1))
    return found


@given(st.sets(st.integers(0, 60)))
def test_interval_text(slots):
    text = interval_text(np.array(sorted(slots), dtype=np.int64))
    assert parsed(text) == slots
    assert len(text.split()) == sum(slot - 1 not in slots for slot in slots)


def test_slots_by_hand():
    # Three maps on slots 0 and 1 (node 0) and 3 (node 1), the nodes in turn; the reduce task on slot 2
    # of node 0.
    cluster = mb.Cluster([{"map_slots": 2, "reduce_slots": 1}, {"map_slots": 2}])
    jobs = mb.ClusterJobs([3], 10, [1], 5)
    result = mb.simulate(jobs, "fifo", cluster=cluster, epoch=0, trace=True, slow_start=1)
    assert result.records["allocated_resources"].tolist() == ["0-3"]
    assert result.tasks["allocated_resources"].tolist() == ["0", "3", "1", "2"]
    assert result.tasks["name"].tolist() == ["0/map/0", "0/map/1", "0/map/2", "0/reduce/0"]
    # A slot that is free again is taken again.
    one = mb.simulate(mb.ClusterJobs([3], 10), "fifo", cluster={"node": [{"slots": 1}]}, trace=True)
    assert one.tasks["allocated_resources"].tolist() == ["0"] * 3
    assert one.tasks["starting_time"].tolist() == [0, 10, 20]


@settings(max_examples=30)
@given(st.integers(0, 1000), st.sampled_from(["flex", "fair", "adaptive"]), st.booleans())
def test_tasks_never_share_a_slot(seed, policy, generic):
    jobs = mb.generate_cluster_jobs(12, seed, gap=3.0, mean_maps=5.0, map_seconds=3.0, users=2)
    cluster = mb.Cluster([{"slots": 3, "count": 3}]) if generic else CLUSTER
    result = mb.simulate(
        jobs, policy, cluster=cluster, rng=seed, noise=0.5, failure=0.1, trace=True
    )
    tasks = result.tasks
    summary = result.summary[policy]
    # Finished maps whose output was lost with a node have finished twice.
    assert tasks["success"].sum() == summary["tasks"] + summary["lost_outputs"]
    assert (1 - tasks["success"]).sum() == summary["failed_attempts"] + summary["killed_tasks"]
    total = int(cluster.map_slots.sum() + (0 if generic else cluster.reduce_slots.sum()))
    slot = tasks["allocated_resources"].astype(int)
    assert slot.min() >= 0
    assert slot.max() < total
    order = np.lexsort((tasks["starting_time"], slot))
    same = slot[order][1:] == slot[order][:-1]
    assert (tasks["starting_time"][order][1:] >= tasks["finish_time"][order][:-1])[same].all()
    # On a node slots of maps come first: where a slot is says which kind it is.
    if not generic:
        kind = np.concatenate([[0, 0, 1], [0, 0, 1], [0, 0, 0]])
        assert (kind[slot] == (tasks["phase"] == "reduce")).all()
    for row, text in zip(
        result.records["job_id"], result.records["allocated_resources"], strict=True
    ):
        assert parsed(text) == set(slot[tasks["job"] == row].tolist())


def test_records_have_the_schema(tmp_path):
    jobs = mb.generate_cluster_jobs(20, 3, gap=3.0, mean_maps=5.0)
    result = mb.simulate(jobs, "fair", cluster=CLUSTER, rng=1, trace=True)
    result.write_records(tmp_path / "jobs.csv")
    result.write_tasks(tmp_path / "tasks.csv")
    for name in ("jobs.csv", "tasks.csv"):
        with (tmp_path / name).open(encoding="utf-8", newline="") as handle:
            rows = list(csv.DictReader(handle))
        assert list(rows[0])[: len(SCHEMA)] == list(SCHEMA)
        assert len({row["job_id"] for row in rows}) == len(rows)
        for row in rows:
            values = {column: kind(row[column]) for column, kind in SCHEMA.items()}
            assert values["finish_time"] == pytest.approx(
                values["starting_time"] + values["execution_time"]
            )
            assert values["turnaround_time"] == pytest.approx(
                values["waiting_time"] + values["execution_time"]
            )
            assert values["waiting_time"] >= 0
            assert len(parsed(values["allocated_resources"])) >= (1 if name == "tasks.csv" else 0)


def test_evalys_reads_them(tmp_path):
    jobset = pytest.importorskip("evalys.jobset")
    jobs = mb.generate_cluster_jobs(20, 3, gap=3.0, mean_maps=5.0)
    result = mb.simulate(jobs, "fair", cluster=CLUSTER, rng=1, trace=True)
    for write, rows in ((result.write_records, 20), (result.write_tasks, len(result.tasks["job"]))):
        write(tmp_path / "records.csv", force=True)
        found = jobset.JobSet.from_csv(str(tmp_path / "records.csv"))
        assert len(found.df) == rows


def test_tasks_need_a_trace(tmp_path):
    result = mb.simulate(mb.ClusterJobs([1], 1), "fifo", cluster=CLUSTER)
    with pytest.raises(ValueError, match="tasks were not kept"):
        result.write_tasks(tmp_path / "tasks.csv")
    # Without a trace only the number of slots is known.
    assert result.records["allocated_resources"].tolist() == ["0"]
