"""Records: the same columns in every model, as CSV and as Parquet."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import malleable as mb
from malleable.cluster.table import ClusterJobs
from malleable.records import by_table_row, job_names, job_records

# Batsim's first.
RECORD_COLUMNS = (
    "job_id",
    "workload_name",
    "submission_time",
    "requested_number_of_resources",
    "requested_time",
    "success",
    "starting_time",
    "execution_time",
    "finish_time",
    "waiting_time",
    "turnaround_time",
    "stretch",
    "consumed_energy",
    "allocated_resources",
    "policy",
    "name",
    "map_completion",
    "completion",
)


def results(name: list[str] | None = None) -> dict[str, Any]:
    """Three jobs, not in the order of their arrivals, in every model."""
    arrival = [4, 1, 2]
    overlap = mb.MapShuffleJobs(arrival=arrival, map=[1, 2, 0], shuffle=[2, 1, 0], name=name)
    slotted = mb.MapReduceJobs([1, 2, 1], [[2], [], [1, 1]], arrival=arrival, name=name)
    cluster = ClusterJobs([1, 2, 1], 2.0, [1, 0, 1], 1.0, arrival=arrival, name=name)
    return {
        "tandem": mb.simulate(overlap, "max-srpt"),
        "slotted": mb.simulate(slotted, "asrpt", machines=2),
        "cluster": mb.simulate(cluster, "fifo", cluster={"node": [{"slots": 2}]}, trace=True),
    }


@pytest.mark.parametrize("name", [None, ["a", "b", "c"]])
def test_every_model_tells_the_same_of_a_job(name: list[str] | None) -> None:
    for model, result in results(name).items():
        records = result.records
        assert tuple(records)[: len(RECORD_COLUMNS)] == RECORD_COLUMNS
        assert {len(column) for column in records.values()} == {3}
        assert records["job_id"].tolist() == [0, 1, 2]
        assert records["name"].tolist() == (name or ["job0", "job1", "job2"])
        assert set(records["workload_name"]) == {model}
        start, end = records["starting_time"], records["finish_time"]
        came = records["submission_time"]
        # A slot begins one before its number.
        assert came.tolist() == ([3, 0, 1] if model == "slotted" else [4, 1, 2])
        np.testing.assert_array_equal(records["completion"], end)
        np.testing.assert_array_equal(records["execution_time"], end - start)
        np.testing.assert_array_equal(records["waiting_time"], start - came)
        np.testing.assert_array_equal(records["turnaround_time"], end - came)
        assert (records["map_completion"] <= end).all()
        assert (came <= start).all()


def test_files(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for model, result in results().items():
        tables = {"records": result.records} | ({"tasks": result.tasks} if result.tasks else {})
        for kind, table in tables.items():
            write = getattr(result, f"write_{kind}")
            packed, text = tmp_path / f"{model}.{kind}.parquet", tmp_path / f"{model}.{kind}.csv"
            for path in (packed, text):
                write(path)
                with pytest.raises(FileExistsError, match=f"{path.name}: exists"):
                    write(path, force=False)
                write(path)
            read = parquet.read_table(packed).to_pydict()
            assert read == {column: values.tolist() for column, values in table.items()}
            with text.open(newline="") as handle:
                head, *rows = csv.reader(handle)
            assert head == list(table)
            assert rows == [list(map(str, row)) for row in zip(*read.values(), strict=True)]
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".csv"] * 4 + [".parquet"] * 4


def test_rows_of_the_table() -> None:
    order = np.array([2, 0, 1])
    rows, taken = by_table_row(order, np.array([1, 0]), np.array([10.0, 20.0]))
    assert rows.tolist() == [0, 2]
    assert taken.tolist() == [10.0, 20.0]
    assert job_names(None, rows) == ["job0", "job2"]
    assert job_names(("x", "y", "z"), rows) == ["x", "z"]


def test_nothing_done_in_no_time() -> None:
    rows, none = np.array([0, 1]), np.zeros(2)
    ends = np.array([3.0, 1.0 - 1e-12])  # rounding must not give less than nothing
    made = job_records(
        "m",
        "p",
        rows,
        ["a", "b"],
        [np.array([1.0, 1.0]), none, none, ends],
        np.array([4.0, 0.0]),
        requested_time=-1.0,
        held=np.array(["0-1", ""]),
    )
    assert made["turnaround_time"].tolist() == [2.0, 0.0]
    assert made["stretch"].tolist() == [0.5, 0.0]
    assert made["requested_time"].tolist() == [-1.0, -1.0]
    assert made["allocated_resources"].tolist() == ["0-1", ""]
    assert made["success"].tolist() == [1, 1]
