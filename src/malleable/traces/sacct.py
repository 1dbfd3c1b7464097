"""Slurm's accounting records: what ``sacct --parsable2`` (or ``--parsable``) prints, with its header line.

Format: https://slurm.schedmd.com/sacct.html. Cells with ``|`` between them, for instance of

    sacct -aXP -S 2024-05-01 -o JobID,JobName,User,State,Submit,Start,End,Elapsed,ReqCPUS,AllocCPUS

Needed: JobID, Submit, Start, and End or Elapsed. Used where they are there: State, AllocCPUS (or NCPUS),
ReqCPUS, User, JobName (program), ElapsedRaw, Partition, Account. Other columns may stand among them.

Taken: an element of an array (``123_4``), a component (``123+1``) or a job alone is a run from its start, for
the time that it ran, on each of its CPUs: so many tasks that start and end together, however the run ended.
Elements of an array, and components, are tasks of one job, which arrives when the first of them was submitted.
Times are ISO dates of the cluster's clock (or seconds since 1970), taken as if every day had 24 hours.

Assumed: runs that have not ended take the job's mean time, and so do elements that wait (``123_[5-9%2]`` are
five of them), on ReqCPUS CPUs each. A line stands for the lines of the same job ID before it (``sacct -D``).
No number of CPUs means one.

Left out: steps (``123.batch``, ``123.extern``, ``123.0``); what was cancelled before it started; elements
behind the ``...`` of a list that sacct cuts off. Jobs none of whose runs has ended have no known times.
Priority, memory, nodes, dependencies.
"""

from __future__ import annotations

import math
import re
from contextlib import closing, suppress
from functools import partial
from typing import NamedTuple

import numpy as np

from malleable.domain import shown
from malleable.files.csv import check_head
from malleable.files.numbers import parse_moment, parse_number
from malleable.traces.formats import File, Head, register
from malleable.traces.phases import Phase
from malleable.traces.trace import Trace

_ID = re.compile(r"(\d+)(?:_\d+|_\[([^\]]*)\]|\+\d+)?(\.\S+)?", re.ASCII)
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::([1-9]\d{0,8}))?)?", re.ASCII)
_ELAPSED = re.compile(r"(?:(\d{1,9})-)?(?:(\d{1,9}):)?(\d{1,9}):(\d\d(?:\.\d+)?)", re.ASCII)
_UNKNOWN = ("", "Unknown", "None", "N/A", "INVALID")
_WAITING = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "CONFIGURING")
_RUNNING = ("RUNNING", "SUSPENDED", "RESIZING", "COMPLETING", "STAGE_OUT", "SIGNALING", "STOPPED")
_MOST = 2**31  # CPUs, elements
_LONGEST = 2.0**40  # s
_GROUPS = ("Partition", "Account")
_NEEDED = ("JobID", "Submit", "Start")


def _looks(head: Head) -> bool:
    return "JobID" in head.line.split("|") and "|" in head.line


class _Element(NamedTuple):
    """What a line says of some elements of a job."""

    job: str
    name: str
    submit: float
    start: float
    end: float
    ended: float  # on the clock; `end` leaves time out in which a job was suspended
    tasks: int
    user: str
    program: str
    groups: tuple[str, ...]


def _moment(cells: dict[str, str], field: str) -> float:
    cell = cells.get(field, "")
    if cell in _UNKNOWN:
        return math.nan
    try:
        value = parse_moment(cell)
    except ValueError as error:
        raise ValueError(f"{field} = {shown(cell)}: {error}") from None
    if not abs(value) < _LONGEST:
        raise ValueError(f"{field} = {shown(cell)}: must be within 2^40 s of 1970")
    return value


def _elapsed(cells: dict[str, str]) -> float:
    """How long a run took [s]; NaN where it is not said."""
    for field in ("ElapsedRaw", "Elapsed"):
        cell = cells.get(field, "")
        if cell in _UNKNOWN:
            continue
        found, value = _ELAPSED.fullmatch(cell), math.nan
        if found:
            days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
            value = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
        else:
            with suppress(ValueError):
                value = parse_number(cell)
        if not 0.0 <= value < _LONGEST:
            raise ValueError(f"{field} = {shown(cell)}: not a time such as 1-02:03:04")
        return value
    return math.nan


def _cpus(cells: dict[str, str]) -> int:
    for field in ("AllocCPUS", "NCPUS", "ReqCPUS"):
        cell = cells.get(field, "")
        if cell in _UNKNOWN:
            continue
        if not (cell.isascii() and cell.isdigit() and len(cell) <= 10 and int(cell) < _MOST):
            raise ValueError(f"{field} = {shown(cell)}: must be a whole number below 2^31")
        if int(cell):
            return int(cell)
    return 1


def _elements(listed: str) -> int:
    """How many elements a list such as ``1,3,7-20:2%5`` has."""
    count = 0
    for part in listed.partition("%")[0].split(","):
        if part.strip(".") == "":
            continue
        found = _RANGE.fullmatch(part)
        if not found or int(found[2] or found[1]) < int(found[1]):
            raise ValueError(f"elements {shown(listed)}: not a list such as 1,3,7-20:2%5")
        count += (int(found[2] or found[1]) - int(found[1])) // int(found[3] or 1) + 1
    return count


def _parse(line: str, names: list[str]) -> _Element | None:
    """A line; None of a step."""
    values = line.split("|")
    if len(values) != len(names):
        raise ValueError(f"{len(values)} cells, but the header has {len(names)}")
    cells = dict(zip(names, values, strict=True))
    found = _ID.fullmatch(cells["JobID"])
    if not found:
        raise ValueError(f"JobID = {shown(cells['JobID'])}: not the ID of a job")
    job, listed, step = found.groups()
    if step:
        return None
    submit = _moment(cells, "Submit")
    if math.isnan(submit):
        raise ValueError("Submit is unknown")
    start, end, ended, runs = _times(cells)
    count = 1 if listed is None else _elements(listed)
    tasks = count * _cpus(cells) if runs else 0
    if tasks >= _MOST:
        most = f"there may be {_MOST - 1:,} tasks"
        raise ValueError(f"{count:,} elements of {_cpus(cells):,} CPUs: {most}")
    user, program = cells.get("User", ""), cells.get("JobName", "")
    groups = tuple(cells.get(field, "") for field in _GROUPS)
    return _Element(job, cells["JobID"], submit, start, end, ended, tasks, user, program, groups)


def _times(cells: dict[str, str]) -> tuple[float, float, float, bool]:
    """Start and end of a run, its end on the clock, and whether it runs at any time."""
    start, ended = _moment(cells, "Start"), _moment(cells, "End")
    elapsed = _elapsed(cells)
    state = cells.get("State", "").partition(" ")[0]
    end = ended if math.isnan(elapsed) else start + elapsed
    runs = True
    if state in _WAITING:
        start = end = ended = math.nan
    elif state in _RUNNING or ("End" in cells and math.isnan(ended)):
        end = ended = math.nan
    elif math.isnan(start) or (state.startswith("CANCELLED") and end == start):
        runs = False  # it never did and will not
    if end < start:
        first, last = cells["Start"], cells.get("End", "")
        raise ValueError(f"End = {shown(last)}: before Start = {shown(first)}")
    return start, end, end if math.isnan(ended) else ended, runs


def _submitted(file: File) -> tuple[list[str], list[list[_Element]]]:
    """The columns of a file, and the parts of each job by the time of its submission."""
    jobs: dict[str, dict[str, _Element]] = {}
    with closing(file.lines()) as lines:
        names = next(lines)[1].lstrip("\ufeff").strip().split("|")
        check_head(names, _NEEDED)
        if not {"End", "Elapsed", "ElapsedRaw"} & set(names):
            raise ValueError("column 'End' is missing, and so is 'Elapsed'")
        for element in file.records(partial(_parse, names=names), lines):
            jobs.setdefault(element.job, {})[element.name] = element
    file.settle(len(jobs))
    listed = [list(job.values()) for job in jobs.values()]
    listed.sort(key=lambda job: min(one.submit for one in job))
    return names, listed


def _finish(job: list[_Element]) -> float:
    """When all parts of a job had ended; NaN if one has not."""
    return float(np.max([one.ended for one in job if one.tasks] or [math.nan]))


def _read(file: File) -> Trace:
    names, listed = _submitted(file)
    return Trace(
        arrival=np.array([min(one.submit for one in job) for job in listed]),
        map=_phase(listed),
        name=[job[0].job for job in listed],
        user=[job[0].user for job in listed],
        program=[job[0].program for job in listed],
        finish=np.array(list(map(_finish, listed))),
        groups={
            field.lower(): [job[0].groups[k] for job in listed]
            for k, field in enumerate(_GROUPS)
            if field in names
        },
        known=np.array([any(one.tasks and one.end >= one.start for one in job) for job in listed]),
        wall=True,
    )


def _phase(jobs: list[list[_Element]]) -> Phase:
    """The elements of each job as runs of its tasks, one behind the other."""
    counts, runs = [], []
    for job in jobs:
        own = [one for one in job if one.tasks]
        firsts = np.cumsum([0] + [one.tasks for one in own]).tolist()
        counts.append(firsts.pop())
        runs.append(
            [(k, one.start, one.end, one.tasks) for k, one in zip(firsts, own, strict=True)]
        )
    return Phase.of_runs(counts, runs, ("start", "end", "width"))


register("Slurm sacct table", _looks, _read)
