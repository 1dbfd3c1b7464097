"""Tables of flows, which are graphs of malleable jobs (DAGs): validated once and read-only afterwards. The core
holds the columns; here are names and conversions."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.arrays import Floats, Integers, names_of, rows_of, wholes_of
from malleable.checkpoints import by_value
from malleable.display import counted, html_of
from malleable.jobs.table import (
    CoreTable,
    SlaSteps,
    as_column,
    check_keys,
    flat_sla,
    speedup_columns,
    speedups_of,
    unique,
)
from malleable.validation import ALL_SLOTS, suggesting

Job = Mapping[str, Any]
JOB_KEYS = ("name", "work", "max_slots", "after", "speedup")

_SHOWN_OF_CYCLE = 8  # jobs of a cycle that an error names


@by_value(without=("_job_name", "dated"), also=("job_name",))
class Flows(CoreTable, _core.Flows):
    """A table of flows. A flow is a graph (DAG) of malleable jobs, some of which wait for others.

    Parameters
    ----------
    jobs : sequence of sequences of mappings
        The jobs of each flow. A job has ``work`` [slot-seconds; 0, or from 1e-12 to 1e15], and optionally
        ``name`` (unique in its flow; by default ``job0``, ``job1``, ...), ``max_slots`` (by default all
        slots), ``after``: the names of the jobs that must have ended before this job starts, and ``speedup``:
        p or rates, as in `malleable.Jobs` (by default linear).
    arrival : array_like or float, shape (F,), optional
        When each flow comes [s]; no job of it runs earlier.
    weight, deadline, sla, name, size
        Of flows, as of jobs in `malleable.Jobs`. By default ``size`` is all work of the flow, and names are
        ``flow0``, ``flow1``, ...

    Attributes
    ----------
    job_offset : ndarray of int64, shape (F + 1,)
        The jobs of flow f are the rows ``job_offset[f]:job_offset[f + 1]`` of the job columns.
    work, max_slots : ndarray, shape (J,)
        Columns of the jobs.
    parent_offset, parent : ndarray of int64
        Job i waits for the jobs at the rows ``parent[parent_offset[i]:parent_offset[i + 1]]``.
    speedup : tuple or None
        As in `malleable.Jobs`.
    job_name : tuple of str
        Name of each job, as ``flow/job``.
    slots : int or None
        The capacity that the file of these flows gives. None: the file gives none, or there is no file.

    Raises
    ------
    ValueError
        A job waits for an unknown job or in a circle, a name occurs twice, or a number is out of its range.
        The message names the field, the flow and the job.

    See Also
    --------
    malleable.read_flows : Reads such a table from a file.

    Notes
    -----
    A flow without jobs ends at its arrival. A job without work ends as soon as it may start. O(jobs +
    parents).

    Examples
    --------
    >>> import malleable as mb
    >>> extract = {"name": "extract", "work": 60, "max_slots": 20}
    >>> load = {"name": "load", "work": 30, "after": ["extract"]}
    >>> flows = mb.Flows([[extract, load]], name=["nightly"], deadline=[20])
    >>> len(flows)
    1
    """

    __slots__ = ("_job_name", "dated", "name", "slots")

    name: tuple[str, ...]
    dated: bool
    """Whether arrivals were given."""
    _job_name: tuple[str, ...] | None
    slots: int | None

    @suggesting
    def __init__(
        self,
        jobs: Sequence[Sequence[Job]],
        *,
        arrival: npt.ArrayLike | None = None,
        weight: npt.ArrayLike = 1.0,
        deadline: npt.ArrayLike | Sequence[float | None] | None = None,
        sla: Sequence[SlaSteps | None] | None = None,
        name: Sequence[str] | None = None,
        size: npt.ArrayLike | None = None,
    ) -> None:
        names = _flow_names(name, len(jobs))
        columns, local = _rows_of(jobs, names)
        terms = {"arrival": arrival, "weight": weight, "deadline": deadline, "size": size}
        self._fill(names, local, columns | terms | {"sla": sla})

    @classmethod
    def from_arrays(
        cls,
        job_offset: npt.ArrayLike,
        work: npt.ArrayLike,
        parent_offset: npt.ArrayLike,
        parent: npt.ArrayLike,
        *,
        max_slots: npt.ArrayLike | None = None,
        speedup: float | Sequence[Any] | None = None,
        arrival: npt.ArrayLike | None = None,
        weight: npt.ArrayLike = 1.0,
        deadline: npt.ArrayLike | None = None,
        sla: Sequence[SlaSteps | None] | None = None,
        name: Sequence[str] | None = None,
        job_name: Sequence[str] | None = None,
        size: npt.ArrayLike | None = None,
    ) -> Flows:
        """Make flows of columns, faster than a mapping for each job: ``job_offset``, ``work``,
        ``parent_offset``, ``parent``, ``max_slots`` and ``speedup`` as the attributes, ``arrival``, ``weight``,
        ``deadline``, ``sla``, ``name`` and ``size`` as the parameters of `Flows`, ``job_name`` within the
        flow."""
        self = cls.__new__(cls)
        offset = wholes_of("job_offset", job_offset)
        count = len(offset) - 1
        if count < 0:
            raise ValueError("job_offset is empty, expected one entry more than flows")
        names = _flow_names(name, count)
        local = None if job_name is None else names_of("job_name", job_name, np.size(work))
        columns = {
            "job_offset": offset,
            "work": work,
            "max_slots": max_slots,
            "parent_offset": wholes_of("parent_offset", parent_offset),
            "parent": wholes_of("parent", parent),
        }
        columns |= speedup_columns(speedup, np.size(work))
        terms = {"arrival": arrival, "weight": weight, "deadline": deadline, "size": size}
        self._fill(names, local, columns | terms | {"sla": sla})
        return self

    def _fill(
        self, names: tuple[str, ...], local: Sequence[str] | None, columns: dict[str, Any]
    ) -> None:
        self.dated = columns["arrival"] is not None
        if not self.dated:
            columns["arrival"] = 0.0
        sla = columns.pop("sla")
        if sla is not None:
            columns |= flat_sla(sla, len(names), "jobs")
        try:
            if not self._hold_plain(columns):
                columns = _converted(columns)
                self._hold(columns)
        except ValueError as error:
            raise ValueError(_told(str(error), names, local, columns)) from None
        self.slots = None
        self._name(names, local)

    def _name(self, names: tuple[str, ...], local: Sequence[str] | None) -> None:
        self.name = names
        self._job_name = None if local is None else self._joint(local)

    def _joint(self, local: Iterable[str]) -> tuple[str, ...]:
        flow_of = self.flow.tolist()
        return tuple(f"{self.name[flow]}/{text}" for flow, text in zip(flow_of, local, strict=True))

    @property
    def job_name(self) -> tuple[str, ...]:
        """``flow/job`` for every row."""
        if self._job_name is None:
            self._job_name = self._joint(self.local_names())
        return self._job_name

    @classmethod
    def of_core(cls, table: _core.Flows, ids: Integers, job_names: Sequence[str]) -> Flows:
        """A table of the core; flows are named by their ids."""
        made = cls._made(table, {"slots": None, "dated": True})
        made._name(tuple(f"flow{k}" for k in ids.tolist()), job_names)
        return made

    def __repr__(self) -> str:
        return (
            f"Flows({counted(len(self), 'flow')}, {counted(len(self.work), 'job')}, "
            f"{self.work.sum():.6g} slot-seconds)"
        )

    _repr_html_ = html_of("name arrival volume weight deadline")

    def volume(self) -> Floats:
        """Work of each flow [slot-seconds], shape (F,)."""
        sums = np.bincount(self.flow, weights=self.work, minlength=len(self))
        return sums.astype(np.float64)  # no jobs at all would leave integers

    @property
    def flow(self) -> Integers:
        """The flow of every job row, shape (J,)."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.job_offset))

    def after(self, row: int) -> list[int]:
        """The job rows for which the job at this ``row`` waits."""
        first, last = self.parent_offset[row : row + 2]
        found: list[int] = self.parent[first:last].tolist()
        return found

    def take(self, index: npt.ArrayLike) -> Flows:
        """The flows at these rows, in that order; ``index`` are rows, or a mask. O(their jobs)."""
        rows = rows_of(index, len(self))
        names = tuple(self.name[row] for row in rows.tolist())
        unique("name", names)
        table, first = self._take(rows), self.job_offset.tolist()
        jobs = (self.job_name[first[row] : first[row + 1]] for row in rows.tolist())
        job_name = tuple(itertools.chain.from_iterable(jobs))
        named = {"name": names, "_job_name": job_name, "slots": None}
        return self._made(table, self._others() | named)

    @classmethod
    def joined(cls, tables: Sequence[Flows]) -> Flows:
        """One table of the flows of several ``tables``, in that order; names must differ."""
        names = tuple(name for table in tables for name in table.name)
        unique("name", names)
        job_name = tuple(name for table in tables for name in table.job_name)
        dated = any(table.dated for table in tables)
        others = {"name": names, "_job_name": job_name, "slots": None, "dated": dated}
        return cls._made(cls._joined(list(tables)), others)

    @property
    def speedup(self) -> tuple[float | Floats, ...] | None:
        """The exponent p or the rates of each job. None: all jobs are linear."""
        return speedups_of(self)

    def local_names(self) -> list[str]:
        """Names of the jobs within their flows."""
        if self._job_name is None:
            counts = np.diff(self.job_offset)
            numbered = [f"job{k}" for k in range(counts.max(initial=0))]
            return [text for count in counts.tolist() for text in numbered[:count]]
        skip = [len(name) + 1 for name in self.name]
        return [
            text[skip[flow] :] for text, flow in zip(self.job_name, self.flow.tolist(), strict=True)
        ]


def _flow_names(given: Sequence[str] | None, count: int) -> tuple[str, ...]:
    numbered = (f"flow{k}" for k in range(count))
    names = tuple(numbered) if given is None else names_of("name", given, count)
    unique("name", names)
    return names


def _rows_of(
    jobs: Sequence[Sequence[Job]], names: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    # Columns of the jobs of all flows, and their names within the flows.
    flat: list[Job] = []
    local: list[str] = []
    parents: list[list[int]] = []
    for flow, rows in zip(names, jobs, strict=True):
        where = f"flow {flow!r}: "
        own = [_job_name(where, k, row) for k, row in enumerate(rows)]
        unique("name", own, where)
        row_of = {text: len(flat) + k for k, text in enumerate(own)}
        for text, row in zip(own, rows, strict=True):
            parents.append(_parents(f"{where}job {text!r}: ", row, row_of))
        flat += rows
        local += own
    most = [row.get("max_slots") for row in flat]
    speedups = [row.get("speedup") for row in flat]
    columns = {
        "job_offset": np.cumsum([0, *map(len, jobs)]),
        "work": [row["work"] for row in flat],
        "max_slots": [ALL_SLOTS if each is None else each for each in most],
        "parent_offset": np.cumsum([0, *map(len, parents)]),
        "parent": list(itertools.chain.from_iterable(parents)),
    }
    given = any(each is not None for each in speedups)
    return columns | (speedup_columns(speedups, len(flat)) if given else {}), local


def _parents(where: str, job: Job, row_of: Mapping[str, int]) -> list[int]:
    # Rows that a job waits for; ValueError for a job without work, and for what is no job.
    if "work" not in job:
        raise ValueError(f"{where}no work")
    after = job.get("after") or ()
    if isinstance(after, str):
        raise ValueError(f"{where}after = {after!r}: expected a list of names")
    for above in after:
        if above not in row_of:
            raise ValueError(f"{where}after {above!r}, which is no job of the flow")
    return [row_of[above] for above in dict.fromkeys(after)]


def _converted(columns: dict[str, Any]) -> dict[str, Any]:
    flows, work = len(columns["job_offset"]) - 1, as_column("work", columns["work"])
    made = {**columns, "work": work}
    made["max_slots"] = as_column("max_slots", columns["max_slots"], len(work))
    for field in ("arrival", "weight", "deadline", "size"):
        made[field] = as_column(field, columns[field], flows, "jobs")
    return made


def _told(message: str, names: Sequence[str], local: Any, columns: dict[str, Any]) -> str:
    # An error of the core, with names of the flow and the job.
    job_offset = np.asarray(columns["job_offset"])

    def found(row: int) -> tuple[str, str]:
        flow = int(np.searchsorted(job_offset, row, side="right")) - 1
        text = f"job{row - int(job_offset[flow])}" if local is None else local[row]
        return names[flow], text

    if message.startswith("flows: "):
        cycle = _core.Flows._cycle(columns)
        rows = [*cycle.tolist()[::-1], int(cycle[-1])]
        path = " -> ".join(repr(found(row)[1]) for row in rows[:_SHOWN_OF_CYCLE])
        if len(rows) > _SHOWN_OF_CYCLE:
            path += f" -> ... ({len(rows) - 1:,} jobs)"
        return f"flow {found(rows[0])[0]!r}: its jobs form a cycle: {path}"
    of_job = re.match(r"(work|max_slots|after)\[(\d+)\]", message)
    if of_job is None or not int(of_job[2]) < job_offset[-1]:
        return message
    return f"{message} ({'/'.join(found(int(of_job[2])))})"


def _job_name(where: str, place: int, row: Job) -> str:
    if not isinstance(row, Mapping):
        raise ValueError(f"{where}jobs[{place}] = {row!r}: expected an object with work")
    check_keys(f"{where}jobs[{place}]: ", row, JOB_KEYS)
    name = row.get("name")
    return f"job{place}" if name is None else str(name)
