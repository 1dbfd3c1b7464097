"""History files of Hadoop."""

from __future__ import annotations

import io
import json

import pytest

import malleable as mb


def event(kind: str, name: str, **own: object) -> str:
    return json.dumps({"type": kind, "event": {f"org.apache.hadoop.mapreduce.jobhistory.{name}": own}},
                      separators=(",", ":"))  # fmt: skip


def test_history_of_hadoop() -> None:
    lines = [
        "Avro-Json",
        "{}",
        event("JOB_SUBMITTED", "JobSubmitted", jobid="job_1", userName="ann", jobName="w", submitTime=100_000),
        event("TASK_STARTED", "TaskStarted", taskid="m0", taskType="MAP"),
        event("MAP_ATTEMPT_STARTED", "TaskAttemptStarted", taskid="m0", attemptId="m0_0", startTime=110_000),
        event("MAP_ATTEMPT_FINISHED", "MapAttemptFinished", taskid="m0", attemptId="m0_0", finishTime=130_000),
        event("TASK_STARTED", "TaskStarted", taskid="r0", taskType="REDUCE"),
        event("REDUCE_ATTEMPT_STARTED", "TaskAttemptStarted", taskid="r0", attemptId="r0_0", startTime=130_000),
        event("REDUCE_ATTEMPT_FINISHED", "ReduceAttemptFinished", taskid="r0", attemptId="r0_0",
              shuffleFinishTime=131_000, sortFinishTime=132_000, finishTime=140_000),
        event("JOB_FINISHED", "JobFinished", jobid="job_1_1", finishTime=141_000),
    ]  # fmt: skip
    trace = mb.read(io.StringIO("\n\n".join(lines) + "\n"))
    assert trace.format == "Hadoop job history" and trace.user == ["ann"]
    assert trace.jobs("map").work.tolist() == [20.0] and trace.jobs("reduce").work.tolist() == [9.0]


def test_binary_history() -> None:
    with pytest.raises(ValueError, match="hadoop rumentrace writes a Rumen trace of it"):
        mb.read(io.BytesIO(b"Avro-Binary\n{}\n\x00\x02"))
