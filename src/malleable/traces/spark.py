"""Event logs of Apache Spark applications: JSON lines, stages as DAGs with the times of their tasks.

Format: https://spark.apache.org/docs/latest/monitoring.html (``spark.eventLog.enabled``); the fields are
those of ``org.apache.spark.util.JsonProtocol``. Times in Unix milliseconds.

Taken: a Spark job is a flow, which arrives at the submission of ``SparkListenerJobStart``; its stages
(``Stage Infos``: ``Stage ID``, ``Parent IDs``, ``Number of Tasks``) are its jobs. A ``SparkListenerTaskEnd``
of reason ``Success`` is a run of a task. The application's user and name (program).

Assumed: a task takes one slot, also if ``spark.task.cpus`` says more. A stage that several jobs list belongs to
the first of them. A stage without a task's end, in a job that ended, was skipped, as Spark does where its
output was there; nothing waits for it. Tasks of a completed stage whose ends the log lacks take the stage's
mean time.

Left out: jobs that failed, or that the log does not follow to their end (every stage completed, or the job
succeeded); jobs that ran no stage; a last line that is cut in two, as a running application leaves it; other
events.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from malleable.files.json import amount_of, list_of, of_kind, parse_json
from malleable.traces.formats import File, Format, Head
from malleable.traces.tables import Flow, Stage, check_parents, trace_of_stages
from malleable.traces.trace import Trace
from malleable.validation import check_whole, shown

_EVENT = re.compile(r'\s*\{\s*"Event"\s*:\s*"([^"\\]*)"')
_LATEST = 2.0**53  # ms
_MOST = 2**31 - 1  # ids, tasks


def _looks(head: Head) -> bool:
    found = _EVENT.match(head.line)
    return found is not None and found[1].startswith(("SparkListener", "org.apache.spark."))


def _object(record: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return of_kind(record.get(key), dict, f"{key} = {{}}: not an object")


def _whole(value: Any, key: str) -> int:
    return check_whole(key, value, 0, _MOST)


class _Stage:
    def __init__(self) -> None:
        self.tasks = 0
        self.parents: list[int] = []
        self.completed = False
        # Runs: task, start, end [ms], how many tasks together.
        self.runs: list[tuple[int, float, float, float]] = []
        self.done: set[int] = set()  # tasks that have succeeded
        # The last attempt, which ran the tasks that had not succeeded; and for each task that had,
        # the number of other tasks before it. So the k-th of them is found without a list of all.
        self.attempt = 0
        self.before: list[int] = []

    def task_of(self, attempt: int, index: int) -> int:
        # The task with this index in an attempt at the stage.
        if attempt == 0 or attempt != self.attempt:
            return index
        return index + bisect_right(self.before, index)


@dataclass
class _Job:
    number: int
    arrival: float
    stages: list[int]  # stages that no earlier job has
    result: str | None = None


class _Log:
    """What the lines of a log have said; each kind of event has a method."""

    def __init__(self) -> None:
        self.user = self.program = ""
        self.jobs: dict[int, _Job] = {}
        self.stages: dict[int, _Stage] = {}

    def add(self, line: str) -> None:
        event = _EVENT.match(line)
        if event is not None and event[1] not in _EVENTS:
            return
        record = parse_json(line)
        if not isinstance(record, Mapping) or not isinstance(record.get("Event"), str):
            raise ValueError("not an object with an Event")
        take = _EVENTS.get(record["Event"])
        if take is not None:
            take(self, record)

    def application(self, record: Mapping[str, Any]) -> None:
        self.user, self.program = (str(record.get(key) or "") for key in ("User", "App Name"))

    def job_start(self, record: Mapping[str, Any]) -> None:
        job = _whole(record.get("Job ID"), "Job ID")
        if job in self.jobs:
            raise ValueError(f"Job ID = {job}: a job that has started")
        arrival = amount_of(record.get("Submission Time"), "Submission Time", _LATEST)
        ids = [_whole(stage, "Stage IDs") for stage in list_of(record, "Stage IDs", object)]
        infos = [_info(info) for info in list_of(record, "Stage Infos", object)]
        fresh = list(dict.fromkeys(stage for stage in ids if stage not in self.stages))
        self.jobs[job] = _Job(job, arrival, fresh)
        for stage in fresh:
            self.stages[stage] = _Stage()
        for stage, _, tasks, parents in infos:
            if stage in fresh:
                self.stages[stage].tasks, self.stages[stage].parents = tasks, parents

    def job_end(self, record: Mapping[str, Any]) -> None:
        job = self.jobs.get(_whole(record.get("Job ID"), "Job ID"))
        result = _object(record, "Job Result").get("Result")
        if job is None:
            raise ValueError(f"Job ID = {shown(record['Job ID'])}: a job that has not started")
        job.result = str(result)

    def stage_submitted(self, record: Mapping[str, Any]) -> None:
        number, attempt, tasks, parents = _info(record.get("Stage Info"))
        stage = self.stages.setdefault(number, _Stage())
        if attempt == 0:
            stage.tasks, stage.parents = tasks, parents
        elif stage.tasks - len(stage.done) == tasks:
            stage.attempt = attempt
            stage.before = [task - k for k, task in enumerate(sorted(stage.done))]

    def stage_completed(self, record: Mapping[str, Any]) -> None:
        info = _object(record, "Stage Info")
        number, *_ = _info(info)
        if "Failure Reason" not in info:
            self.stages.setdefault(number, _Stage()).completed = True

    def task_end(self, record: Mapping[str, Any]) -> None:
        if _object(record, "Task End Reason").get("Reason") != "Success":
            return
        number = _whole(record.get("Stage ID"), "Stage ID")
        attempt = _whole(record.get("Stage Attempt ID", 0), "Stage Attempt ID")
        info = _object(record, "Task Info")
        task = _whole(info.get("Index"), "Index")
        start, end = (
            amount_of(info.get(key), key, _LATEST) for key in ("Launch Time", "Finish Time")
        )
        stage = self.stages.get(number)
        if stage is not None:
            task = stage.task_of(attempt, task)
        if stage is None or task >= stage.tasks:
            raise ValueError(f"Stage ID = {number}, Index = {task}: not a task that the log has")
        if end < start:
            raise ValueError(
                f"Stage ID = {number}, Index = {task}: Finish Time is {start - end:.0f} ms before"
                " Launch Time"
            )
        stage.done.add(task)
        stage.runs.append((task, start, end, 1.0))

    def flow(self, job: _Job) -> Flow | None:
        # A job with its stages; None if it failed, ran nothing, or the log does not follow it to its end.
        stages = {stage: self.stages[stage] for stage in sorted(job.stages)}
        if job.result is None and not all(stage.completed for stage in stages.values()):
            return None
        ran = [
            k for k, stage in stages.items() if stage.runs or (stage.completed and not stage.tasks)
        ]
        if job.result not in (None, "JobSucceeded") or not ran:
            return None
        row = {k: index for index, k in enumerate(ran)}
        found = []
        for k in ran:
            stage = stages[k]
            parents = sorted({row[parent] for parent in stage.parents if parent in row})
            found.append(Stage(f"stage{k}", stage.tasks, _with_the_rest(stage), parents))
        check_parents(found)
        return Flow(f"job{job.number}", job.arrival, found)


_EVENTS = {
    "SparkListenerApplicationStart": _Log.application,
    "SparkListenerJobStart": _Log.job_start,
    "SparkListenerJobEnd": _Log.job_end,
    "SparkListenerStageSubmitted": _Log.stage_submitted,
    "SparkListenerStageCompleted": _Log.stage_completed,
    "SparkListenerTaskEnd": _Log.task_end,
}


def _info(info: Any) -> tuple[int, int, int, list[int]]:
    # Number, attempt, number of tasks and parents of a stage.
    of_kind(info, dict, "Stage Info = {}: not an object")
    parents = [_whole(parent, "Parent IDs") for parent in list_of(info, "Parent IDs", object)]
    return (
        _whole(info.get("Stage ID"), "Stage ID"),
        _whole(info.get("Stage Attempt ID", 0), "Stage Attempt ID"),
        _whole(info.get("Number of Tasks"), "Number of Tasks"),
        parents,
    )


def _with_the_rest(stage: _Stage) -> list[tuple[float, float, float, float]]:
    # A stage's runs, and unknown ones for the tasks that have none: one for neighbours together.
    runs: list[tuple[float, float, float, float]] = list(stage.runs)
    last = -1
    for task in (*sorted(stage.done), stage.tasks):
        if task > last + 1:
            runs.append((last + 1, math.nan, math.nan, task - last - 1))
        last = task
    return runs


def _read(file: File) -> Trace:
    log = _Log()
    cut = ""  # a cut last line, as a running application leaves it
    for number, line in file.lines():
        if cut:
            file.bad.add(cut)
            cut = ""
        try:
            log.add(line)
        except ValueError as error:
            cut = f"line {number}: {error}"
            if not cut.startswith(f"line {number}: not JSON"):
                file.bad.add(cut)
                cut = ""
    flows = list(file.records(log.flow, log.jobs.items(), "Job ID ="))
    if not flows and not file.bad.count:
        raise ValueError("no Spark job in it that ran to its end")
    file.check_records(len(flows), "flows")
    return trace_of_stages(flows, log.user, log.program, per_second=1000.0, wall=True)


FORMAT = Format("Spark event log", _looks, _read)
