"""JSON that Slurm's sacct writes."""

from __future__ import annotations

import io
import json

import pytest

import malleable as mb

JOB = {
    "job_id": 101,
    "array": {"job_id": 0, "task_id": {"set": False, "number": 0}},
    "association": {"cluster": "c", "user": "ann"},
    "name": "train",
    "state": {"current": ["COMPLETED"]},
    "time": {
        "submission": 100, "start": 700, "end": 4300, "elapsed": 3600,
        "limit": {"set": True, "infinite": False, "number": 120},
    },
    "tres": {"allocated": [{"type": "cpu", "count": 16}, {"type": "gres", "count": 4}]},
}  # fmt: skip


def read(text: str) -> mb.Trace:
    return mb.read(io.StringIO(text))


def test_json() -> None:
    waits = {**JOB, "job_id": 102, "state": {"current": "PENDING"}, "time": {"submission": 200}}
    element = {**JOB, "job_id": 103, "array": {"job_id": 50, "task_id": 3}}
    trace = read(json.dumps({"jobs": [JOB, waits, element], "meta": {}}))
    assert trace.format == "Slurm sacct JSON" and trace.name == ["101", "50", "102"]
    assert trace.lacking == ["", "", "pending"]
    jobs = trace.tasks()
    assert jobs.maps.tolist() == [16, 16] and jobs.requested.tolist() == [7200.0, 7200.0]
    assert jobs.user == ("ann", "ann") and jobs.map_seconds.tolist() == [3600.0, 3600.0]
    with pytest.raises(ValueError, match="1 of 1 jobs malformed: job 1: time: not an object"):
        read(json.dumps({"jobs": [{**JOB, "time": 3}]}))
