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
from dataclasses import replace
from functools import partial

import numpy as np

from malleable.files.numbers import parse_number
from malleable.traces.formats import File, Format, Head
from malleable.traces.phases import Phase
from malleable.traces.sacct import Element, trace_of
from malleable.traces.trace import Trace
from malleable.validation import shown

_FIELDS = 18  # numbers of a line
_LATEST = 2.0**50  # s
_MOST = 2.0**31  # processors
_MOST_KILOBYTES = 2.0**40  # of memory
# Fields by their columns: amounts with the number that is too large, texts, and all that are whole numbers.
_AMOUNTS = {"submit time": (1, _LATEST), "wait time": (2, _LATEST), "run time": (3, _LATEST),
            "allocated processors": (4, _MOST), "requested processors": (7, _MOST)}  # fmt: skip
_TEXTS = {"user": 11, "executable": 13, "group": 12, "queue": 14, "partition": 15}
_WHOLE = {"job number": 0, "allocated processors": 4, "requested processors": 7, **_TEXTS}
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
    # The numbers of a line, whose first is ``taken`` then; None of a part of a job, or of a comment, which may
    # say one of the ``sizes`` of the machine.
    if line.startswith(";"):
        if said := _SIZE.match(line):
            sizes[said[1]] = int(said[2])
        return None
    cells = line.split()
    if len(cells) < _FIELDS:
        raise ValueError(f"{len(cells)} fields, expected {_FIELDS}")
    cells = cells[:_FIELDS]
    try:
        if "_" in line and any("_" in cell for cell in cells):
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
    for field, (k, end) in _AMOUNTS.items():
        may_lack = k > 1
        if not (0.0 <= numbers[k] < end or (may_lack and numbers[k] == -1.0)):
            unknown = ", or -1 where unknown" * may_lack
            raise ValueError(f"{field} = {shown(cells[k])}: must be from 0 to {end:.0f}{unknown}")
    for field, k in _WHOLE.items():
        if not (math.isfinite(numbers[k]) and numbers[k].is_integer()):
            raise ValueError(f"{field} = {shown(cells[k])}: must be a whole number")


def _element(job: list[float]) -> Element:
    # A job as the reader of sacct (Slurm's table of ended jobs) takes it.
    submit, wait, run = job[1:4]
    slots = job[4] if job[4] > 0.0 else max(job[7], 0.0)
    start = submit + max(wait, 0.0)
    end = start + run if run >= 0.0 else math.nan
    lacking = "of unknown time" if run < 0.0 else "" if slots else "without processors"
    requested = job[8] if job[8] > 0.0 else math.nan
    memory = min(job[9], _MOST_KILOBYTES) * 1024.0 if job[9] > 0.0 else 0.0
    texts = tuple("" if job[k] == -1.0 else f"{job[k]:.0f}" for k in _TEXTS.values())
    numbers = (submit, start, end, end, slots, slots, True, requested, memory, 0.0)
    number = f"{job[0]:.0f}"
    return Element(
        cluster="", job=number, name=number, lacking=lacking, texts=texts, numbers=numbers
    )


def _read(file: File) -> Trace:
    sizes: dict[str, int] = {}
    jobs = list(file.records(partial(_parse, taken=set(), sizes=sizes)))
    jobs.sort(key=lambda job: job[1])
    found = trace_of(file, map(_element, jobs), list(_TEXTS)[2:])
    slots = sizes.get("Procs") or sizes.get("Nodes") or None
    found = replace(found, slots=slots, unended=False, wall=False)
    if all(job[2] < 0.0 for job in jobs if job[3] >= 0.0):  # the log does not know when jobs ran
        seconds = np.array([max(job[3], 0.0) for job in jobs])
        found = replace(found, map=Phase(tasks=found.map.tasks, seconds=seconds), finish=None)
    return found


FORMAT = Format("SWF log", _looks, _read)
