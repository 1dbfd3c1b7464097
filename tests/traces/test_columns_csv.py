"""CSV files whose columns are named."""

from __future__ import annotations

import io

import pytest

import malleable as mb


def test_any_csv() -> None:
    text = (
        "owner;queued;began;ended;cores;limit\nann;2024-05-01 08:00:00;1714550410;1714550470;4;90\n"
    )
    told = "submit=queued,start=began,end=ended,slots=cores,user=owner,requested=limit"
    trace = mb.read(io.StringIO(text), columns=told)
    jobs = trace.tasks()
    assert trace.user == ["ann"] and jobs.width.tolist() == [4]
    assert jobs.map_work.tolist() == [240.0] and jobs.requested.tolist() == [90.0]
    with pytest.raises(ValueError, match="begun"):
        mb.read(io.StringIO(text), columns="submit=begun,start=began,end=ended")
    with pytest.raises(ValueError, match="finish"):
        mb.read(io.StringIO(text), columns="submit=queued,start=began,finish=ended")


def test_jobs_that_wait_or_run_and_durations() -> None:
    text = "job,queued,began,ended,limit\n1,100,110,170,1:30:00\n2,100,,,60\n3,100,120,,90\n"
    told = "id=job,submit=queued,start=began,end=ended,requested=limit"
    trace = mb.read(io.StringIO(text), columns=told)
    assert trace.requested.tolist() == [5400.0, 60.0, 90.0]
    assert trace.lacking == ["", "pending", "running"]
    with pytest.raises(ValueError, match="id = '1': another row has it"):
        mb.read(io.StringIO(text + "1,100,120,180,90\n"), columns=told)
