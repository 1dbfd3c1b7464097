"""Slurm's accounting records: what ``sacct --parsable2`` (or ``--parsable``) prints, with its header line.

Format: https://slurm.schedmd.com/sacct.html. Cells with ``|`` (or a comma) between them, for instance of

    sacct -aXP -S 2024-05-01 -o JobID,User,State,Submit,Start,End,Elapsed,Timelimit,ReqCPUS,AllocCPUS,JobName

Needed: JobID, Submit, Start, and End or Elapsed. Used where they are there: State, AllocCPUS (or NCPUS),
ReqCPUS, User, JobName (program), ElapsedRaw, Timelimit (or TimelimitRaw), Cluster, Partition, Account,
AllocTRES (or ReqTRES: memory and GPUs; with ``slots_from`` another of its resources counts as slots). Other
columns may stand among them. A file without a header is read with ``columns``, the names in their order.

Taken: an element of an array (``123_4``), a component (``123+1``) or a job alone is a run from its start, for
the time that it ran, on each of its CPUs, however the run ended. Elements of an array, and components, are
tasks of one job, which arrives when the first of them was submitted. Jobs are rigid: their tasks start
together or not at all. Elements of an array may start one by one. Times are ISO dates of the cluster's clock
(or seconds since 1970), taken as if every day had 24 hours.

Assumed: runs that have not ended take the job's mean time, and so do elements that wait (``123_[5-9%2]`` are
five of them), on ReqCPUS CPUs each. A line stands for the lines of the same job ID before it (``sacct -D``).
No number of CPUs means one.

Left out: steps (``123.batch``, ``123.extern``, ``123.0``); what was cancelled before it started; elements
behind the ``...`` of a list that sacct cuts off. Jobs none of whose runs has ended have no known times.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from itertools import chain
from typing import NamedTuple

import numpy as np

from malleable.files.csv import check_head
from malleable.files.numbers import parse_moment, parse_number
from malleable.traces.formats import File, Head, register
from malleable.traces.phases import Phase
from malleable.traces.trace import Trace
from malleable.validation import shown

_ID = re.compile(r"(\d+)(?:(_\d+|_\[([^\]]*)\])|\+\d+)?(\.\S+)?", re.ASCII)
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::([1-9]\d{0,8}))?)?", re.ASCII)
_ELAPSED = re.compile(r"(?:(\d{1,9})-)?(?:(\d{1,9}):)?(\d{1,9}):(\d\d(?:\.\d+)?)", re.ASCII)
_UNKNOWN = ("", "Unknown", "None", "N/A", "INVALID")
_SAID = ("Timelimit", "TimelimitRaw")
_DELIMITERS = "|,;\t^:!"
_NOT_LISTED = r"(?![^\[\]]*\])"  # not within a list of elements
_TRES = re.compile(r"([a-z]+(?:/[^=:]+)?)(?::[^=]*)?=([0-9.]+)([KMGTP]?)", re.ASCII)
_UNITS = {unit: 1024.0**k for k, unit in enumerate("KMGTP", 1)} | {"": 1.0}
_WAITING = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "CONFIGURING")
_RUNNING = ("RUNNING", "SUSPENDED", "RESIZING", "COMPLETING", "STAGE_OUT", "SIGNALING", "STOPPED")
_MOST = 2**31  # CPUs, elements
_LONGEST = 2.0**40  # s
_GROUPS = ("Cluster", "Partition", "Account")
_NEEDED = ("JobID", "Submit", "Start")
_FREE = {"AdminComment", "Comment", "SubmitLine", "SystemComment", "WorkDir"}  # texts of people
_UNLIMITED = ("UNLIMITED", "PARTITION_LIMIT")
_NEVER = "cancelled before it started"


def _looks(head: Head) -> bool:
    return _delimiter(head.line) is not None or (
        "JobID" in head.columns and not any(head.columns.values())
    )


def _delimiter(line: str) -> str | None:
    cells = {sign: line.split(sign) for sign in _DELIMITERS if sign in line}
    found = [sign for sign, own in cells.items() if "JobID" in own]
    return found[0] if found and ("|" in found or "Submit" in cells[found[0]]) else None


class _Element(NamedTuple):
    job: tuple[str, str]  # the cluster, and the number there
    name: str
    submit: float
    start: float
    end: float
    ended: float  # on the clock; `end` leaves time out in which a job was suspended
    tasks: int
    width: int  # of each element
    together: bool  # it is the job, or starts together with the others
    lacking: str  # why its times are not known
    requested: float
    user: str
    program: str
    groups: tuple[str, ...]
    memory: float  # bytes of a task
    gpus: float


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


def _seconds(cells: dict[str, str], fields: tuple[str, str], unit: float = 1.0) -> float:
    for field in fields:
        cell = cells.get(field, "")
        if cell in _UNKNOWN:
            continue
        found, value = _ELAPSED.fullmatch(cell), math.nan
        if found:
            days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
            value = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
        else:
            with suppress(ValueError):
                value = parse_number(cell) * unit
        if not 0.0 <= value < _LONGEST:
            raise ValueError(f"{field} = {shown(cell)}: not a time such as 1-02:03:04")
        return value
    return math.nan


def _tres(cells: dict[str, str]) -> dict[str, float]:
    """What a run was given of each resource, by its name; of a type of GPUs, too."""
    told = cells.get("AllocTRES") or cells.get("ReqTRES") or ""
    found: dict[str, float] = {}
    for name, number, unit in _TRES.findall(told):
        with suppress(ValueError):
            found[name] = max(found.get(name, 0.0), parse_number(number) * _UNITS[unit])
    return found


def _slots(cells: dict[str, str], tres: dict[str, float], slots_from: str | None) -> int:
    """How many slots a run has: its CPUs, or so many of another resource."""
    if slots_from is None:
        return _cpus(cells)
    return max(0, math.ceil(min(tres.get(slots_from, 0.0), _MOST - 1.0)))


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
    count = 0
    for part in listed.partition("%")[0].split(","):
        if part.strip(".") == "":
            continue
        found = _RANGE.fullmatch(part)
        if not found or int(found[2] or found[1]) < int(found[1]):
            raise ValueError(f"elements {shown(listed)}: not a list such as 1,3,7-20:2%5")
        count += (int(found[2] or found[1]) - int(found[1])) // int(found[3] or 1) + 1
    return count


def _cells(line: str, names: list[str], delimiter: str) -> dict[str, str]:
    """A line by the names of columns; a name of a job may have contained the delimiter."""
    values = re.split(re.escape(delimiter) + _NOT_LISTED, line)
    more = len(values) - len(names)
    if more > 0 and "JobName" in names and not _FREE & set(names):
        at = names.index("JobName")
        values[at : at + more + 1] = [delimiter.join(values[at : at + more + 1])]
    if len(values) != len(names):
        told = f"{len(values)} cells, but the header has {len(names)}"
        if more > 0:
            told += f"; a text may contain {delimiter!r}: leave {', '.join(sorted(_FREE))} out of sacct -o"
        raise ValueError(told)
    return dict(zip(names, values, strict=True))


def element_of(
    cells: dict[str, str], slots_from: str | None = None, *, apart: bool = True
) -> _Element | None:
    """What a record says, by the names of sacct's columns; None of a step.

    ``apart``: whether an ID tells elements and steps apart; if not, it is any text, and a column ``Tasks`` says
    how many tasks the job has that may start one by one.
    """
    job, element, listed, step = cells["JobID"], cells.get("Tasks"), cells.get("Tasks"), None
    if apart:
        found = _ID.fullmatch(job)
        if not found:
            raise ValueError(f"JobID = {shown(job)}: not the ID of a job")
        job, element, listed, step = found.groups()
    if step:
        return None
    submit = _moment(cells, "Submit")
    if math.isnan(submit):
        raise ValueError("Submit is unknown")
    start, end, ended, lacking = _times(cells)
    count = 1 if listed is None else _elements(listed) if apart else int(listed)
    tres = _tres(cells)
    width = _slots(cells, tres, slots_from)
    tasks = count * width if lacking != _NEVER else 0
    if not width:
        tasks, lacking = 0, f"without {slots_from}"
    if tasks >= _MOST:
        most = f"there may be {_MOST - 1:,} tasks"
        raise ValueError(f"{count:,} elements of {width:,} slots: {most}")
    user, program = cells.get("User", ""), cells.get("JobName", "")
    groups = tuple(cells.get(field, "") for field in _GROUPS)
    return _Element(
        (cells.get("Cluster", ""), job), cells.get("Element", cells["JobID"]), submit, start, end, ended, tasks,
        width, element is None, lacking, _requested(cells), user, program, groups,
        tres.get("mem", 0.0) / max(width, 1),
        0.0 if slots_from == "gres/gpu" else tres.get("gres/gpu", 0.0) / max(width, 1),
    )  # fmt: skip


def _requested(cells: dict[str, str]) -> float:
    if any(cells.get(field, "").upper() in _UNLIMITED for field in _SAID):
        return math.nan
    return _seconds(cells, _SAID, 60.0) or math.nan


def _times(cells: dict[str, str]) -> tuple[float, float, float, str]:
    start, ended = _moment(cells, "Start"), _moment(cells, "End")
    elapsed = _seconds(cells, ("ElapsedRaw", "Elapsed"))
    state = cells.get("State", "").partition(" ")[0]
    end = ended if math.isnan(elapsed) else start + elapsed
    lacking = ""
    if state in _WAITING:
        start = end = ended = math.nan
        lacking = "pending"
    elif state in _RUNNING or ("End" in cells and math.isnan(ended)):
        end = ended = math.nan
        lacking = "running"
    elif math.isnan(start) or (state.startswith("CANCELLED") and end == start):
        lacking = _NEVER
    if end < start:
        first, last = cells["Start"], cells.get("End", "")
        raise ValueError(f"End = {shown(last)}: before Start = {shown(first)}")
    return start, end, end if math.isnan(ended) else ended, lacking


def _lines(file: File) -> Iterator[_Element]:
    with closing(file.lines()) as lines:
        first = next(lines)
        head = first[1].lstrip("\ufeff").strip()
        names = list(file.columns)
        records: Iterable[tuple[int, str]] = lines
        if names:
            delimiter = max(_DELIMITERS, key=lambda sign: head.count(sign) == len(names) - 1)
            records = chain([first], lines)
        else:
            delimiter = _delimiter(head) or "|"
            names = head.split(delimiter)
        check_head(names, _NEEDED)
        if not {"End", "Elapsed", "ElapsedRaw"} & set(names):
            raise ValueError("column 'End' is missing, and so is 'Elapsed'")
        yield from file.records(
            lambda line: element_of(_cells(line, names, delimiter), file.slots_from), records
        )


def _finish(job: list[_Element]) -> float:
    return float(np.max([one.ended for one in job if one.tasks] or [math.nan]))


def _lacking(job: list[_Element]) -> str:
    if any(one.tasks and one.end >= one.start for one in job):
        return ""
    reasons = [one.lacking for one in job]
    return next((each for each in ("running", "pending") if each in reasons), reasons[0] or _NEVER)


def _width(job: list[_Element]) -> int:
    own = [one for one in job if one.tasks] or job
    if all(one.together for one in own):
        return sum(one.tasks for one in own) or 1
    widths = {one.width for one in own}
    return widths.pop() if len(widths) == 1 else 1


def _read(file: File) -> Trace:
    return trace_of(file, _lines(file))


def _submitted(file: File, elements: Iterable[_Element]) -> list[list[_Element]]:
    """The parts of each job by the time of its submission, each as it was told last."""
    jobs: dict[tuple[str, str], dict[str, _Element]] = {}
    for element in elements:
        jobs.setdefault(element.job, {})[element.name] = element
    file.settle(len(jobs))
    listed = [list(job.values()) for job in jobs.values()]
    listed.sort(key=lambda job: min(one.submit for one in job))
    return listed


def _groups(listed: list[list[_Element]]) -> dict[str, list[str]]:
    found = {field.lower(): [job[0].groups[k] for job in listed] for k, field in enumerate(_GROUPS)}
    return {field: own for field, own in found.items() if any(own)}


def trace_of(file: File, elements: Iterable[_Element]) -> Trace:
    listed = _submitted(file, elements)
    several = len({job[0].job[0] for job in listed}) > 1
    lacking = list(map(_lacking, listed))
    return Trace(
        arrival=np.array([min(one.submit for one in job) for job in listed]),
        map=_phase(listed),
        name=["/".join(job[0].job[0 if several else 1 :]) for job in listed],
        user=[job[0].user for job in listed],
        program=[job[0].program for job in listed],
        finish=np.array(list(map(_finish, listed))),
        groups=_groups(listed),
        known=np.array([not reason for reason in lacking]),
        lacking=lacking,
        width=np.array(list(map(_width, listed))),
        requested=np.array([max(one.requested for one in job) for job in listed]),
        memory=np.array([max(one.memory for one in job) for job in listed]),
        gpus=np.array([max(one.gpus for one in job) for job in listed]),
        unended=True,
        wall=True,
    )


def _phase(jobs: list[list[_Element]]) -> Phase:
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
