"""History files of Hadoop's jobs (``.jhist``): a line of Avro's JSON for each event. One file is one job.

Format: https://github.com/apache/hadoop (Events.avpr). Taken, as from a Rumen trace (JSON that Hadoop's tool
Rumen makes of such files): job, user, name, queue, submission and end; of each attempt that ended well start
and end, and when a reduce task had copied and sorted. Left out: counters, failed attempts, nodes.
"""

from __future__ import annotations

from typing import Any

from malleable.files.json import parse_json
from malleable.traces.formats import File, Format
from malleable.traces.rumen import job_of, trace_of
from malleable.traces.trace import Trace

# fields of events, and their names in a Rumen trace
_SUBMITTED = {"jobid": "jobID", "userName": "user", "jobName": "jobName", "jobQueueName": "queue",
              "submitTime": "submitTime"}  # fmt: skip
_ENDED = {
    "shuffleFinishTime": "shuffleFinished",
    "sortFinishTime": "sortFinished",
    "finishTime": "finishTime",
}


def _job(file: File) -> dict[str, Any]:
    # The job of the file, as a Rumen trace has it.
    job: dict[str, Any] = {"mapTasks": [], "reduceTasks": []}
    begun: dict[str, Any] = {}
    tasks: dict[str, dict[str, Any]] = {}
    for number, line in file.lines():
        if number <= 2 or not line.startswith('{"type":'):
            continue
        event = parse_json(line)
        kind, (told,) = event["type"], event["event"].values()
        if kind == "JOB_SUBMITTED":
            job |= _taken(told, _SUBMITTED)
        elif kind.startswith("JOB_") and "finishTime" in told:
            job["finishTime"] = told["finishTime"]
        elif kind == "TASK_STARTED" and told["taskType"] in ("MAP", "REDUCE"):
            tasks[told["taskid"]] = {"taskID": told["taskid"], "attempts": []}
            job[f"{told['taskType'].lower()}Tasks"].append(tasks[told["taskid"]])
        elif kind.endswith("_ATTEMPT_STARTED"):
            begun[told["attemptId"]] = told["startTime"]
        elif kind.endswith("_ATTEMPT_FINISHED") and told["taskid"] in tasks:
            own = {"startTime": begun.get(told["attemptId"], -1), "result": "SUCCESS"}
            tasks[told["taskid"]]["attempts"].append(own | _taken(told, _ENDED))
    return job


def _taken(told: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {here: told[there] for there, here in names.items() if told.get(there)}


def _read(file: File) -> Trace:
    if not file.stream.peek(9).startswith(b"Avro-Json"):  # type: ignore[attr-defined]
        told = "a history file of Hadoop in binary; hadoop rumentrace writes a Rumen trace of it"
        raise ValueError(told)
    try:
        return trace_of(file, [job_of(_job(file))])
    except (KeyError, TypeError, AttributeError, StopIteration) as error:
        raise ValueError(f"not a history file of Hadoop: {error!r}") from None


FORMAT = Format("Hadoop job history", lambda head: head.line.startswith("Avro-"), _read)
