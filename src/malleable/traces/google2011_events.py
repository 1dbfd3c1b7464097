"""Google's cluster trace of 2011 as published: ``task_events``, an event a line, CSV without a header.

Format: Reiss, Wilkes, Hellerstein, "Google cluster-usage traces: format + schema" (2011, revised 2014),
https://github.com/google/cluster-data/blob/master/ClusterData2011_2.md. 13 columns: time [microseconds],
missing info, job ID, task index, machine ID, event type, user, scheduling class, priority, requests of CPU,
memory and disk, different-machines constraint.

Taken: a job's tasks are those with an event; a run that succeeded goes from SCHEDULE (1) to FINISH (4). The
job arrives at its first event and ends with its last one, if every task has ended by then (FAIL, FINISH,
KILL, LOST). User. A task that never finished counts with its job's mean; jobs without a finished run of known
time have no known times.

Assumed: the file is all there is. It is one of 500 parts, each a stretch of time at whose ends jobs are cut;
parts one after another in one file are read as one.

Left out: machines, classes, priorities, requests, constraints, runs that were evicted, failed or were killed.
"""

from __future__ import annotations

import math
from array import array

import numpy as np

from malleable.traces.formats import File, Format, Head
from malleable.traces.phases import Phase
from malleable.traces.trace import Trace
from malleable.validation import shown

_COLUMNS = 13
_SCHEDULE, _EVICT, _FINISH, _UPDATE = 1, 2, 4, 7
_ENDS = (3, 4, 5, 6)
_BEFORE, _AFTER = 0, 2**63 - 1
_FIELDS: tuple[tuple[int, str, int], ...] = (  # column, name, most
    (0, "time", _AFTER),
    (2, "job ID", 2**63 - 1),
    (3, "task index", 2**31 - 1),
    (5, "event type", 8),
)


def _looks(head: Head) -> bool:
    cells = head.cells
    return len(cells) == _COLUMNS and all(cells[k].isdigit() for k, _, _ in _FIELDS)


def _parse(line: str) -> tuple[list[int], str]:
    cells = line.split(",")
    if len(cells) != _COLUMNS:
        raise ValueError(f"{len(cells)} cells, expected {_COLUMNS}")
    numbers = []
    for column, field, most in _FIELDS:
        cell = cells[column]
        if not (cell.isascii() and cell.isdigit() and len(cell) < 20 and int(cell) <= most):
            raise ValueError(f"{field} = {shown(cell)}: must be a whole number from 0 to {most}")
        numbers.append(int(cell))
    return numbers, cells[6]


def _read(file: File) -> Trace:
    rows: dict[int, int] = {}
    users: list[str] = []
    times, jobs, tasks, kinds = (array("q") for _ in range(4))
    for (time, job, task, kind), user in file.records(_parse):
        row = rows.setdefault(job, len(rows))
        if row == len(users):
            users.append(user)
        times.append(time)
        jobs.append(row)
        tasks.append(task)
        kinds.append(kind)
    file.settle(len(times), "events")
    names = list(rows)
    found = [_Job() for _ in names]
    # By time, ties in the order of the file.
    for row in np.argsort(np.asarray(times), kind="stable").tolist():
        found[jobs[row]].add(times[row], tasks[row], kinds[row])
    order = sorted(range(len(found)), key=lambda row: found[row].arrival)
    sorted_jobs = [found[row] for row in order]
    return Trace(
        arrival=np.array([job.arrival for job in sorted_jobs], dtype=np.float64),
        map=Phase.of_runs(
            [len(job.last) for job in sorted_jobs], [job.runs() for job in sorted_jobs]
        ),
        name=[str(names[row]) for row in order],
        user=[users[row] for row in order],
        finish=np.array([job.finish() for job in sorted_jobs]),
        known=np.array([job.finished for job in sorted_jobs]),
        per_second=1e6,
        wall=True,
    )


class _Job:
    __slots__ = ("arrival", "done", "finished", "last", "latest", "started")

    def __init__(self) -> None:
        self.arrival = -1
        self.latest = math.nan
        self.finished = False  # it has a finished run with known times
        self.last: dict[int, int] = {}  # by task index: kind of the last event
        self.started: dict[int, float] = {}
        self.done: dict[int, list[tuple[float, float]]] = {}

    def add(self, time: int, task: int, kind: int) -> None:
        if self.arrival < 0:
            self.arrival = time
        self.latest = moment = float(time) if _BEFORE < time < _AFTER else math.nan
        if kind == _SCHEDULE:
            self.started[task] = moment
        elif _EVICT <= kind < _UPDATE:
            start = self.started.pop(task, math.nan)
            if kind == _FINISH:
                self.done.setdefault(task, []).append((start, moment))
                self.finished = self.finished or moment >= start
        self.last[task] = kind

    def runs(self) -> list[tuple[float, float, float]]:
        unknown = [(math.nan, math.nan)]
        return [
            (index, *run)
            for index, task in enumerate(self.last)
            for run in self.done.get(task, unknown)
        ]

    def finish(self) -> float:
        return self.latest if all(kind in _ENDS for kind in self.last.values()) else math.nan


FORMAT = Format("Google 2011 task events", _looks, _read)
