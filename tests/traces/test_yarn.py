"""Applications of YARN."""

from __future__ import annotations

import io
import json

import pytest

import malleable as mb


def test_yarn() -> None:
    apps = [
        {"id": "app_1", "user": "ann", "name": "wc", "state": "FINISHED", "finalStatus":
         "SUCCEEDED", "startedTime": 100_000, "launchTime": 110_000,
         "finishedTime": 170_000, "vcoreSeconds": 90},
        {"id": "app_2", "user": "bob", "name": "x", "state": "ACCEPTED", "finalStatus":
         "UNDEFINED", "startedTime": 120_000, "launchTime": 0, "finishedTime": 0, "vcoreSeconds": 0},
    ]  # fmt: skip
    trace = mb.read(io.StringIO(json.dumps({"apps": {"app": apps}})))
    jobs = trace.tasks()
    assert jobs.map_work.tolist() == [90.0] and jobs.maps.tolist() == [2]
    assert trace.finish[0] == 170.0 and trace.lacking == ["", "pending"]


def test_no_applications() -> None:
    with pytest.raises(ValueError, match="empty, no jobs in it"):
        mb.read(io.StringIO('{"apps":null}'))
