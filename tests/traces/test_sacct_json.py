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
    with pytest.raises(ValueError, match="1 of 1 jobs malformed: job 1: Submit is unknown"):
        read(json.dumps({"jobs": [{**JOB, "time": 3}]}))


def number(value: int | None) -> dict[str, object]:
    return {"set": value is not None, "infinite": False, "number": value or 0}


def test_arrays_and_heterogeneous_jobs_of_several_versions() -> None:
    array_23 = {**JOB, "job_id": 61, "array": {"job_id": 60, "task_id": number(1), "task": ""}}
    array_21 = {**JOB, "job_id": 62, "array": {"job_id": 60, "task_id": 2, "task": None}}
    times = {"submission": 100, "start": 0, "end": 0, "elapsed": 0}
    waiting = {
        **JOB, "job_id": 60, "state": {"current": ["PENDING"]}, "time": times, "required": {"CPUs": 16},
        "array": {"job_id": 60, "task_id": number(None), "task": "3-10%4"}, "tres": {"allocated": []},
    }  # fmt: skip
    parts = [
        {**JOB, "job_id": 70 + k, "het": {"job_id": 70, "job_offset": number(k)}} for k in range(2)
    ]
    limit = {**JOB, "job_id": 80, "time": {**JOB["time"], "limit": {"set": True, "infinite": True}}}  # type: ignore[dict-item]
    trace = read(json.dumps({"jobs": [array_23, array_21, waiting, *parts, limit]}))
    assert trace.name == ["60", "70", "80"]
    jobs = trace.tasks()
    # Ten elements of 16 CPUs, two of which ran, and two components that start together.
    assert jobs.maps.tolist() == [160, 32, 16] and jobs.width.tolist() == [16, 32, 16]
    assert jobs.map_work.tolist() == [160 * 3600.0, 32 * 3600.0, 16 * 3600.0]
    assert jobs.requested.tolist() == [7200.0, 7200.0, 0.0]


def test_what_squeue_writes_is_told() -> None:
    running = {"job_id": 5, "job_state": ["RUNNING"], "submit_time": number(100), "cpus": number(4)}
    with pytest.raises(ValueError, match="sacct --json .squeue and scontrol do not"):
        read(json.dumps({"jobs": [running], "meta": {"slurm": {}}}))
