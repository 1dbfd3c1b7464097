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

Assumed: runs that have not ended take the job's mean time. Elements that wait (``123_[5-9%2]`` are five of
them) do, too, on ReqCPUS CPUs each. A line stands for the lines of the same job ID before it (``sacct -D``).
No number of CPUs means one.

Left out: steps (``123.batch``, ``123.extern``, ``123.0``); what was cancelled before it started; elements
behind the ``...`` of a list that sacct cuts off. Jobs none of whose runs has ended have no known times.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from functools import lru_cache
from itertools import chain
from sys import intern
from typing import NamedTuple

import numpy as np

from malleable.files.csv import check_head
from malleable.files.numbers import parse_moment, parse_number
from malleable.jobs.table import Floats, Integers
from malleable.traces.formats import File, Format, Head
from malleable.traces.phases import Phase
from malleable.traces.trace import Trace
from malleable.validation import shown

_ID = re.compile(r"(\d+)(?:(_\d+|_\[([^\]]*)\])|\+\d+)?(\.\S+)?", re.ASCII)
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::([1-9]\d{0,8}))?)?", re.ASCII)
_ELAPSED = re.compile(r"(?:(\d{1,9})-)?(?:(\d{1,9}):)?(\d{1,9}):(\d\d(?:\.\d+)?)", re.ASCII)
_UNKNOWN = frozenset(
    ("", "Unknown", "None", "N/A", "INVALID", "UNLIMITED", "PARTITION_LIMIT", "Partition_Limit")
)
_LIMITS = ("Timelimit", "TimelimitRaw")
_NAMES = re.compile(r"\w+(\t|[^\w\s]+)\w", re.ASCII)  # of two columns, with a delimiter
_DELIMITERS = "|,;\t^:!"  # of a file without names
_NOT_LISTED = r"(?![^\[\]]*\])"  # not within a list of elements
_TRES = re.compile(r"([a-z]+(?:/[^=:]+)?)(?::[^=]*)?=([0-9.]+)([KMGTP]?)", re.ASCII)
_UNITS = {unit: 1024.0**k for k, unit in enumerate("KMGTP", 1)} | {"": 1.0}
_WAITING = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "CONFIGURING")
_RUNNING = ("RUNNING", "SUSPENDED", "RESIZING", "COMPLETING", "STAGE_OUT", "SIGNALING", "STOPPED")
_MOST = 2**31  # CPUs, elements
_LONGEST = 2.0**40  # s
_GROUPS = ("Cluster", "Partition", "Account")
_TEXTS = ("User", "JobName", *_GROUPS)
_NEEDED = ("JobID", "Submit", "Start")
# columns of free text, which may contain a delimiter
_FREE = {"JobName", "AdminComment", "Comment", "SubmitLine", "SystemComment", "WorkDir"}
_NEVER = "cancelled before it started"


def _looks(head: Head) -> bool:
    return _delimiter(head.line) is not None or (
        "JobID" in head.columns and not any(head.columns.values())
    )


def _delimiter(line: str) -> str | None:
    # What stands between the columns of a header; None if it is no header of sacct.
    sign = found[1] if (found := _NAMES.match(line)) else "|"
    cells = line.split(sign)
    return sign if "JobID" in cells and (sign == "|" or "Submit" in cells) else None


class Element(NamedTuple):
    """A part of a job that ran by itself: an element of an array, a component, or a job alone."""

    cluster: str
    job: str  # number of the job
    name: str
    lacking: str  # reason why its times are unknown
    texts: tuple[str, ...]  # user, program and groups
    numbers: tuple[float, ...]  # in the order of `_NUMBERS`


# ``ended`` is the time of the end; ``end`` is without the time in which the job was suspended.
# ``width``: slots of an element. ``together``: the element is the job, or starts with the others.
# Bytes and GPUs are of a task.
_NUMBERS = (
    "submit", "start", "end", "ended", "tasks", "width", "together", "requested", "memory", "gpus",
)  # fmt: skip


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
        if cell not in _UNKNOWN:
            value = _lasting(cell, unit)
            if not 0.0 <= value < _LONGEST:
                raise ValueError(f"{field} = {shown(cell)}: not a time such as 1-02:03:04")
            return value
    return math.nan


# Limits, resources and short times repeat from line to line.
@lru_cache
def _lasting(cell: str, unit: float) -> float:
    # Seconds of ``1-02:03:04``, or of a number of units; NaN if it is neither.
    if found := _ELAPSED.fullmatch(cell):
        days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    try:
        return parse_number(cell) * unit
    except ValueError:
        return math.nan


@lru_cache
def _tres(told: str) -> dict[str, float]:
    # What a run was given of each resource, by its name; of a type of GPUs, too.
    found: dict[str, float] = {}
    for name, number, unit in _TRES.findall(told):
        with suppress(ValueError):
            found[name] = max(found.get(name, 0.0), parse_number(number) * _UNITS[unit])
    return found


def _slots(cells: dict[str, str], tres: dict[str, float], slots_from: str | None) -> int:
    # How many slots a run has: its CPUs, or so many of another resource.
    if slots_from is not None:
        return max(0, math.ceil(min(tres.get(slots_from, 0.0), _MOST - 1.0)))
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
    # How many elements of an array a list such as ``1,3,7-20:2%5`` has.
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
    # A line by the names of columns, one of which may contain the delimiter.
    values = line.split(delimiter)
    if "[" in line:
        values = re.split(re.escape(delimiter) + _NOT_LISTED, line)
    more = len(values) - len(names)
    if more:
        lists = [name for name in names if "TRES" in name or name == "NodeList"]
        free = [name for name in names if name in _FREE] + lists * (delimiter == ",")
        if more < 0 or len(free) != 1 or delimiter in ":-":
            held = f"; {', '.join(free) or 'cells'} may contain {delimiter!r}: take another --delimiter"
            told = f"{len(values)} cells, but the header has {len(names)}"
            raise ValueError(told + held * (more > 0))
        at = names.index(free[0])
        values[at : at + more + 1] = [delimiter.join(values[at : at + more + 1])]
    return dict(zip(names, values, strict=True))


def element_of(
    cells: dict[str, str], slots_from: str | None = None, *, slurm_ids: bool = True
) -> Element | None:
    """A record by the names of sacct's columns; None of a step.

    ``slurm_ids``: whether an ID names job, element and step. If not, an ID is any text, and a column
    ``Tasks`` says how many tasks the job has that may start one by one.
    """
    job, element, listed, step = cells["JobID"], cells.get("Tasks"), cells.get("Tasks"), None
    if slurm_ids:
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
    count = 1 if listed is None else _elements(listed) if slurm_ids else int(listed)
    tres = _tres(cells.get("AllocTRES") or cells.get("ReqTRES") or "")
    width = _slots(cells, tres, slots_from)
    tasks = count * width if lacking != _NEVER else 0
    if not width:
        tasks, lacking = 0, f"without {slots_from}"
    if tasks >= _MOST:
        most = f"there may be {_MOST - 1:,} tasks"
        raise ValueError(f"{count:,} elements of {width:,} slots: {most}")
    each = max(width, 1)
    gpus = 0.0 if slots_from == "gres/gpu" else tres.get("gres/gpu", 0.0) / each
    return Element(
        cells.get("Cluster", ""), job, cells.get("Element", cells["JobID"]), lacking,
        tuple([cells.get(field, "") for field in _TEXTS]),
        (submit, start, end, ended, tasks, width, element is None, _seconds(cells, _LIMITS, 60.0) or math.nan,
         tres.get("mem", 0.0) / each, gpus),
    )  # fmt: skip


def _times(cells: dict[str, str]) -> tuple[float, float, float, str]:
    # Start and end, the end with suspensions, and why one of them is unknown.
    start, ended = _moment(cells, "Start"), _moment(cells, "End")
    elapsed = _seconds(cells, ("ElapsedRaw", "Elapsed"))
    state = cells.get("State", "").partition(" ")[0]
    end = ended if math.isnan(elapsed) else start + elapsed
    begun, lacking = not math.isnan(start), ""
    if state in _WAITING or not (begun or state or not math.isnan(ended)):
        start = end = ended = math.nan
        lacking = "pending"
    elif state in _RUNNING or (begun and math.isnan(ended if "End" in cells else end)):
        end = ended = math.nan
        lacking = "running"
    elif not begun or (state.startswith("CANCELLED") and end == start):
        lacking = _NEVER
    if end < start:
        first, last = cells["Start"], cells.get("End", "")
        raise ValueError(f"End = {shown(last)}: before Start = {shown(first)}")
    return start, end, end if math.isnan(ended) else ended, lacking


def _lines(file: File) -> Iterator[Element]:
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


def _read(file: File) -> Trace:
    return trace_of(file, _lines(file))


class _Jobs:
    """Columns of elements, and which job each belongs to; of an element that is told twice the last counts."""

    def __init__(self, elements: Iterable[Element]) -> None:
        self.names: dict[tuple[str, str], int] = {}  # by name: the row of a job
        self.texts: list[tuple[str, ...]] = []  # texts of each job's first element
        rows: dict[tuple[str, ...], int] = {}  # by name: the last row of an element
        self.reasons = {reason: k for k, reason in enumerate(("running", "pending", _NEVER))}
        said, jobs, reasons = array("d"), array("q"), array("q")
        for cluster, job, name, lacking, texts, numbers in elements:
            key = cluster, job
            own = self.names.setdefault(key, len(self.names))
            if own == len(self.texts):
                self.texts.append(tuple(map(intern, texts)))
            why = self.reasons.setdefault(lacking or _NEVER, len(self.reasons))
            rows[key if job == name else (*key, name)] = len(jobs)
            said.extend(numbers)
            jobs.append(own)
            reasons.append(why)
        last = np.sort(np.fromiter(rows.values(), dtype=np.int64))
        self.job, self.why = np.array(jobs)[last], np.array(reasons)[last]
        self.numbers = np.array(said).reshape(-1, len(_NUMBERS))[last].T


def trace_of(file: File, elements: Iterable[Element], groups: Iterable[str] = _GROUPS) -> Trace:
    """The jobs of a file; ``groups`` are what texts of elements stand for after user and program."""
    found = _Jobs(elements)
    file.check_records(len(found.names))
    arrival = np.full(len(found.names), np.inf)
    np.minimum.at(arrival, found.job, found.numbers[0])
    order = np.argsort(arrival, kind="stable")
    place = np.argsort(order)[found.job]
    rows = np.argsort(place, kind="stable")
    # From here on the elements of a job are neighbours.
    _, start, end, ended, tasks, width, together, requested, memory, gpus = found.numbers[:, rows]
    begin = np.flatnonzero(np.diff(place[rows], prepend=-1))
    some = tasks > 0.0
    known = np.logical_or.reduceat(some & (end >= start), begin)
    finish = np.maximum.reduceat(np.where(some, ended, -np.inf), begin)
    names, reasons = list(found.names), list(found.reasons)
    several = len({cluster for cluster, _ in names}) > 1
    told = [found.texts[k] for k in order.tolist()]
    user, program, *others = map(list, zip(*told, strict=True))
    why = np.minimum.reduceat(found.why[rows], begin).tolist()
    return Trace(
        arrival=arrival[order],
        map=Phase.of_blocks(begin, tasks, start, end),
        name=["/".join(names[k]) if several else names[k][1] for k in order.tolist()],
        user=user,
        program=program,
        finish=np.where(finish == -np.inf, np.nan, finish),
        groups={field.lower(): own for field, own in zip(groups, others, strict=True) if any(own)},
        known=known,
        lacking=["" if one else reasons[k] for one, k in zip(known, why, strict=True)],
        width=_widths(begin, tasks, width, together),
        requested=np.fmax.reduceat(requested, begin),
        memory=np.maximum.reduceat(memory, begin),
        gpus=np.maximum.reduceat(gpus, begin),
        unended=True,
        wall=True,
    )


def _widths(begin: Integers, tasks: Floats, width: Floats, together: Floats) -> Integers:
    # How many tasks of each job start together, by the elements that have tasks if some have.
    total = np.add.reduceat(tasks, begin)
    out = (tasks == 0.0) & np.repeat(total > 0.0, np.diff(begin, append=len(tasks)))
    least = np.minimum.reduceat(np.where(out, np.inf, width), begin)
    alike = least == np.maximum.reduceat(np.where(out, -np.inf, width), begin)
    rigid = np.minimum.reduceat(np.where(out, 1.0, together), begin) > 0.0
    return np.where(rigid, np.maximum(total, 1.0), np.where(alike, least, 1.0)).astype(np.int64)


FORMAT = Format("Slurm sacct table", _looks, _read)
