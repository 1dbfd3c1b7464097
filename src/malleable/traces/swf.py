"""Standard Workload Format (SWF): logs of parallel machines in the Parallel Workloads Archive.

Format: https://www.cs.huji.ac.il/labs/parallel/workload/swf.html. Comments begin with ``;``; every other line
is a job of 18 numbers with spaces between them, -1 where unknown; times in seconds of the log's own clock.

Taken: job number (name), submit time (arrival), wait time and run time, allocated processors (the requested
ones where unknown), requested time and memory, user and executable (program), group, queue and partition.
Jobs are rigid: a job on p processors becomes p tasks that start and end together, however its run ended. Jobs
of unknown time or without processors (cancelled while they waited) have no known times. The header says how
many processors there are (MaxProcs, or MaxNodes).

Assumed: in a log that knows wait times, a job of unknown wait started when it was submitted.

Left out: lines of status 2 to 4, parts of jobs whose whole has a line of its own; CPU time and used
memory, and what a job waited for (preceding job, think time); what follows the 18 numbers.
"""

from __future__ import annotations

import math
import re
from functools import partial
from typing import Any

import numpy as np

from malleable.files.numbers import parse_number
from malleable.traces.formats import File, Format, Head
from malleable.traces.phases import Phase
from malleable.traces.trace import Trace
from malleable.validation import shown

_FIELDS = 18
_LATEST = 2.0**50  # s
_MOST = 2.0**31  # processors
_MOST_KILOBYTES = 2.0**40
# By column of an amount: its name, the first number that is too large, whether -1 means unknown,
# and whether it is a whole number.
_AMOUNTS = {
    1: ("submit time", _LATEST, False, False),
    2: ("wait time", _LATEST, True, False),
    3: ("run time", _LATEST, True, False),
    4: ("allocated processors", _MOST, True, True),
    7: ("requested processors", _MOST, True, True),
}
_GROUPS = {"group": 12, "queue": 14, "partition": 15}  # columns of groups
_SIZE = re.compile(r";\s*Max(Procs|Nodes)\s*:\s*(\d{1,9})\b", re.ASCII)
_PARTS = (2.0, 3.0, 4.0)  # statuses of a part of a job


def _looks(head: Head) -> bool:
    words = head.line.split()
    return head.line.startswith(";") or (len(words) >= _FIELDS and all(map(_is_number, words)))


def _is_number(cell: str) -> bool:
    try:
        parse_number(cell)
    except ValueError:
        return False
    return True


def _parse(line: str, taken: set[float], sizes: dict[str, int]) -> list[float] | None:
    """The numbers of a line, whose first is ``taken`` then; None of a part of a job, or of a comment, which may
    say one of the ``sizes`` of the machine."""
    if line.startswith(";"):
        if said := _SIZE.match(line):
            sizes[said[1]] = int(said[2])
        return None
    cells = line.split()
    if len(cells) < _FIELDS:
        raise ValueError(f"{len(cells)} fields, expected {_FIELDS}")
    cells = cells[:_FIELDS]
    try:
        if "_" in line:
            raise ValueError
        numbers = list(map(float, cells))
    except ValueError:
        wrong = next(k for k, cell in enumerate(cells) if not _is_number(cell))
        raise ValueError(f"field {wrong + 1} = {shown(cells[wrong])}: not a number") from None
    if numbers[10] in _PARTS:
        return None
    _check(numbers, cells)
    if numbers[0] in taken:
        raise ValueError(f"job number = {numbers[0]:.0f}: the number is taken")
    taken.add(numbers[0])
    return numbers


def _check(numbers: list[float], cells: list[str]) -> None:
    for k, (field, end, may_lack, whole) in _AMOUNTS.items():
        number = numbers[k]
        if not (0.0 <= number < end or (may_lack and number == -1.0)):
            unknown = ", or -1 where unknown" if may_lack else ""
            raise ValueError(f"{field} = {shown(cells[k])}: must be from 0 to {end:.0f}{unknown}")
        if whole and number % 1.0:
            raise ValueError(f"{field} = {shown(cells[k])}: must be a whole number")
    for k, field in ((0, "job number"), (11, "user"), (13, "executable")):
        if not (math.isfinite(numbers[k]) and numbers[k].is_integer()):
            raise ValueError(f"{field} = {shown(cells[k])}: must be a whole number")


def _read(file: File) -> Trace:
    sizes: dict[str, int] = {}
    jobs = list(file.records(partial(_parse, taken=set(), sizes=sizes)))
    file.settle(len(jobs))
    jobs.sort(key=lambda job: job[1])
    columns = np.array(jobs).T.copy()
    name, submit, wait, run, allocated = columns[:5]
    processors = np.where(allocated > 0, allocated, np.maximum(columns[7], 0.0))
    known = (run >= 0) & (processors > 0)
    lacking = np.where(known, "", np.where(run >= 0, "without processors", "of unknown time"))
    finish = np.full(len(jobs), math.nan)
    seconds, tasks = np.maximum(run, 0.0), processors.astype(np.int64)
    phase = Phase(tasks=tasks, seconds=seconds)
    if (wait[known] >= 0).any():
        start = submit + np.maximum(wait, 0.0)
        finish = np.where(run >= 0, start + seconds, math.nan)
        ended = np.where(known, finish, math.nan)
        phase = Phase.of_blocks(np.arange(len(jobs)), tasks, start, ended)
    names = [f"{one:.0f}" for one in name.tolist()]
    user, program = (
        ["" if one == -1.0 else f"{one:.0f}" for one in columns[k].tolist()] for k in (11, 13)
    )
    texts: Any = {"name": names, "user": user, "program": program}
    groups = {
        field: ["" if one == -1.0 else f"{one:g}" for one in columns[k].tolist()]
        for field, k in _GROUPS.items()
        if (columns[k] != -1.0).any()
    }
    return Trace(
        arrival=submit,
        map=phase,
        finish=finish,
        known=known,
        lacking=lacking.tolist(),
        width=np.maximum(tasks, 1),
        requested=np.where(columns[8] > 0, columns[8], math.nan),
        memory=np.nan_to_num(np.clip(columns[9], 0.0, _MOST_KILOBYTES)) * 1024.0,
        slots=sizes.get("Procs") or sizes.get("Nodes") or None,
        groups=groups,
        **texts,
    )


FORMAT = Format("SWF log", _looks, _read)
