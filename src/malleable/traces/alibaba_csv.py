"""Alibaba's batch DAGs (cluster-trace-v2018) as published: ``batch_task.csv``, a task a line, no header.

Format: https://github.com/alibaba/clusterdata/blob/master/cluster-trace-v2018/trace_2018.md (2.2 and 2.3);
columns in the order of the file: task_name, instance_num, job_name, task_type, status, start_time, end_time,
plan_cpu, plan_mem; times in seconds after the trace's beginning, 0 where unknown.

Taken: a job is a flow, a task one of its jobs, of instance_num tasks that all run from start_time to
end_time. Numbers in task names are the DAG: ``J3_1_2`` is number 3 and waits for 1 and 2; other names
(``task_...``, ``MergeTask``) wait for nothing. A flow arrives at its first task's start: there is no time of
submission.

Assumed: each instance takes as long as its task. This is the most work that there can be.

Left out: flows with a task that is not ``Terminated`` or of unknown times (the trace's window cuts them);
task_type, plan_cpu, plan_mem.
"""

from __future__ import annotations

import re

from malleable.traces.formats import File, Format, Head
from malleable.traces.tables import Flow, Stage, check_parents, trace_of_stages
from malleable.traces.trace import Trace
from malleable.validation import check_whole, shown

_COLUMNS = 9
_STATUSES = ("Terminated", "Failed", "Running", "Waiting", "Ready", "Cancelled", "Interrupted")
_NUMBERED = re.compile(r"[A-Za-z]+(\d{1,9})((?:_\w*)?)", re.ASCII)
_MOST = 2**31 - 1  # instances
_LATEST = 2**50 - 1  # s


class _Task:
    """A line of the table; ``waits``: numbers of the tasks that it waits for."""

    __slots__ = ("end", "instances", "line", "name", "number", "start", "waits")

    def __init__(self, line: int, cells: list[str]) -> None:
        self.line = line
        self.name = cells[0]
        self.instances = check_whole("instance_num", cells[1] or "1", 1, _MOST)
        self.start = float(check_whole("start_time", cells[5] or "0", 0, _LATEST))
        self.end = float(check_whole("end_time", cells[6] or "0", 0, _LATEST))
        found = _NUMBERED.fullmatch(self.name)
        self.number = int(found[1]) if found else None
        parts = found[2].split("_") if found else []
        self.waits = {int(part) for part in parts if part.isdigit() and len(part) <= 9}

    def error(self, told: str) -> ValueError:
        return ValueError(f"line {self.line}: task {shown(self.name)}: {told}")


def _looks(head: Head) -> bool:
    # Whether a file that begins so has this format.
    return len(head.cells) == _COLUMNS and head.cells[4] in _STATUSES


def _check(cells: list[str]) -> None:
    if len(cells) != _COLUMNS:
        raise ValueError(f"{len(cells)} cells, expected {_COLUMNS}")
    if not (cells[0] and cells[2]):
        raise ValueError("blank task_name or job_name")
    if cells[4] not in _STATUSES:
        raise ValueError(f"status = {shown(cells[4])}: expected {', '.join(_STATUSES)}")


def _read(file: File) -> Trace:
    tasks: dict[str, list[_Task]] = {}
    left_out: set[str] = set()
    for number, line in file.lines():
        cells = line.split(",")
        try:
            _check(cells)
            task = _Task(number, cells)
        except ValueError as error:
            file.bad.add(f"line {number}: {error}")
            left_out.add(cells[2] if len(cells) == _COLUMNS else "")
            continue
        tasks.setdefault(cells[2], []).append(task)
        if cells[4] != "Terminated" or not (task.start > 0.0 and task.end > 0.0):
            left_out.add(cells[2])
    whole = ((shown(job), (job, own)) for job, own in tasks.items() if job not in left_out)
    flows = list(file.records(_flow, whole, "job"))
    if not flows and not file.bad.count:
        raise ValueError("no flow in it all of whose tasks ended inside the trace's window")
    file.check_records(len(flows), "flows")
    return trace_of_stages(flows, wall=True)


def _flow(found: tuple[str, list[_Task]]) -> Flow:
    job, tasks = found
    index: dict[int | str, int] = {}
    for k, task in enumerate(tasks):
        key = task.name if task.number is None else task.number
        if key in index:
            raise task.error("its name or number is taken")
        if task.end < task.start:
            raise task.error(f"end_time = {task.end:.0f} is before start_time = {task.start:.0f}")
        index[key] = k
    stages = []
    for task in tasks:
        for number in sorted(task.waits - index.keys())[:1]:
            raise task.error(f"waits for {number}, which is no task")
        parents = sorted(index[number] for number in task.waits)
        # attempt 0: start, end, and how many equal tasks
        run = (0, task.start, task.end, task.instances)
        stages.append(Stage(task.name, task.instances, [run], parents))
    check_parents(stages)
    return Flow(job, min(task.start for task in tasks), stages)


FORMAT = Format("Alibaba batch_task table", _looks, _read)
