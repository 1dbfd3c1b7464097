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

from malleable.jobs.table import Floats, Integers
from malleable.traces.formats import File, Format, Head
from malleable.traces.phases import Phase
from malleable.traces.trace import Trace
from malleable.validation import shown

_COLUMNS = 13  # of a file of task events
_SCHEDULE, _FINISH, _UPDATE = 1, 4, 7  # codes of events; from _UPDATE on, a task's state stays
_ENDS = (3, 4, 5, 6)  # failed, finished, killed, lost
_BEFORE, _AFTER = 0, 2**63 - 1  # times of events before and after the trace's window
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
    numbers = array("q")
    users: dict[int, str] = {}
    for row, user in file.records(_parse):
        numbers.extend(row)
        users.setdefault(row[1], user)
    time, job, task, kind = np.array(numbers, dtype=np.int64).reshape(-1, len(_FIELDS)).T
    file.check_records(len(time), "events")
    names, first, job = np.unique(job, return_index=True, return_inverse=True)
    arrival, latest = np.full(len(names), _AFTER), np.full(len(names), _BEFORE)
    np.minimum.at(arrival, job, time)
    np.maximum.at(latest, job, time)
    order = np.lexsort((first, arrival))
    pairs, of = np.unique([np.argsort(order)[job], task], axis=1, return_inverse=True)
    owner = pairs[0]  # the job of each task
    # From here on the events of a task stand together, by time, and as in the file at one time.
    rows = np.lexsort((time, of.ravel()))
    time, of, kind = time[rows], of.ravel()[rows], kind[rows]
    over = np.isin(kind[np.flatnonzero(np.diff(of, append=-1))], _ENDS)
    ended = np.bincount(owner, ~over, len(names)) == 0.0
    run, start, end = _runs(of, kind, _moments(time))
    counts = np.bincount(owner[run], minlength=len(names))
    return Trace(
        arrival=arrival[order].astype(np.float64),
        map=Phase(
            tasks=np.bincount(owner, minlength=len(names)),
            offset=np.concatenate([[0], np.cumsum(counts)]),
            task=run - np.searchsorted(owner, owner)[run],
            start=start,
            end=end,
            width=np.ones(len(run)),
        ),
        name=[str(name) for name in names[order].tolist()],
        user=[users[name] for name in names[order].tolist()],
        finish=np.where(ended, _moments(latest[order]), math.nan),
        known=np.bincount(owner[run], end >= start, len(names)) > 0.0,
        per_second=1e6,
        wall=True,
    )


def _moments(time: Integers) -> Floats:
    # Times, NaN outside the window.
    return np.where((time > _BEFORE) & (time < _AFTER), time, math.nan)


def _runs(of: Integers, kind: Integers, moment: Floats) -> tuple[Integers, Floats, Floats]:
    # Task, start and end of each run that finished; a task without one has a run of unknown times. Events
    # (``kind``) of a task (``of``) stand together, by time.
    moves = (kind >= _SCHEDULE) & (kind < _UPDATE)
    task, kind, moment = of[moves], kind[moves], moment[moves]
    begun = (np.roll(kind, 1) == _SCHEDULE) & (np.diff(task, prepend=-1) == 0)
    start = np.where(begun, np.roll(moment, 1), math.nan)
    done = kind == _FINISH
    never = np.setdiff1d(of, task[done])
    unknown = np.full(len(never), math.nan)
    task = np.concatenate([task[done], never])
    order = np.argsort(task, kind="stable")
    start, end = (np.concatenate([own[done], unknown]) for own in (start, moment))
    return task[order], start[order], end[order]


FORMAT = Format("Google 2011 task events", _looks, _read)
