"""Tables of flows: DAGs of malleable jobs, validated once and read-only afterwards."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable import _core, views
from malleable.domain import TOTAL, Table
from malleable.jobs.table import (
    ALL_SLOTS,
    Floats,
    Integers,
    SlaSteps,
    _deadlines,
    _flatten_sla,
    _floats,
    _integers,
    _names,
    check_keys,
)
from malleable.values import by_value

__all__ = ["JOB_KEYS", "Flows"]

Job = Mapping[str, Any]
JOB_KEYS = ("name", "work", "max_slots", "after")
"""What a job of a flow is described by."""

_SHOWN_OF_CYCLE = 8  # jobs


def _unique(field: str, names: Sequence[str], where: str = "") -> None:
    seen: set[str] = set()
    for row, text in enumerate(names):
        if text in seen:
            raise ValueError(f"{where}{field}[{row}] = {text!r}: the name is taken")
        seen.add(text)


@by_value()
class Flows(Table):
    """A table of flows, each a DAG of malleable jobs.

    Parameters
    ----------
    jobs : sequence of sequences of mappings
        The jobs of each flow: ``work`` [slot-seconds; 0, or from 1e-12 to 1e15], and optionally
        ``name`` (unique in its flow; ``job0``, ``job1``, ... by default), ``max_slots`` (all there are by
        default) and ``after``, the names of the jobs that must have ended before this one starts.
    arrival : array_like or float, shape (F,)
        When each flow comes [s]; no job of it runs earlier.
    weight : array_like or float
        At least 0.
    deadline : array_like or float, optional
        Absolute [s]; ``None`` or infinite entries: none.
    sla : sequence of sequences of (time, penalty), optional
        Steps of each flow: absolute times [s], increasing; penalties cumulative.
    name : sequence of str, optional
        Names of the flows, unique; ``flow0``, ``flow1``, ... by default.
    size : array_like, optional
        Original work of flows that have run already; stretch divides by it. All work by default.

    Attributes
    ----------
    job_offset : ndarray of int64, shape (F + 1,)
        Flow f owns the job rows ``job_offset[f]:job_offset[f + 1]``.
    work, max_slots : ndarray, shape (J,)
        Per job.
    parent_offset, parent : ndarray of int64
        Job i waits for the rows ``parent[parent_offset[i]:parent_offset[i + 1]]``.
    job_name : tuple of str
        ``flow/job`` for every row.
    slots : int or None
        Capacity that the file named which the flows were read from.

    Raises
    ------
    ValueError
        Names the field, the flow and the job: unknown parents, duplicate names, cycles, numbers that
        make no sense.

    Notes
    -----
    Flows without jobs and jobs without work are fine: they end at their arrival, or as soon as they
    are ready. O(jobs + parents).
    """

    __slots__ = (
        "arrival",
        "deadline",
        "job_name",
        "job_offset",
        "max_slots",
        "name",
        "parent",
        "parent_offset",
        "size",
        "sla_offset",
        "sla_penalty",
        "sla_time",
        "slots",
        "weight",
        "work",
    )

    arrival: Floats
    weight: Floats
    deadline: Floats
    sla_offset: Integers
    sla_time: Floats
    sla_penalty: Floats
    size: Floats
    job_offset: Integers
    work: Floats
    max_slots: Integers
    parent_offset: Integers
    parent: Integers
    name: tuple[str, ...]
    job_name: tuple[str, ...]
    slots: int | None

    def __init__(
        self,
        jobs: Sequence[Sequence[Job]],
        *,
        arrival: npt.ArrayLike = 0.0,
        weight: npt.ArrayLike = 1.0,
        deadline: npt.ArrayLike | Sequence[float | None] | None = None,
        sla: Sequence[SlaSteps | None] | None = None,
        name: Sequence[str] | None = None,
        size: npt.ArrayLike | None = None,
    ) -> None:
        count = len(jobs)
        names = (
            tuple(f"flow{k}" for k in range(count)) if name is None else _names("name", name, count)
        )
        _unique("name", names)
        offset, work, maxima, local = [0], [], [], []
        parent_offset, parent = [0], []
        for flow, rows in enumerate(jobs):
            where = f"flow {names[flow]!r}: "
            base = offset[-1]
            own = [_job_name(where, k, row) for k, row in enumerate(rows)]
            _unique("name", own, where)
            row_of = {text: base + k for k, text in enumerate(own)}
            for text, row in zip(own, rows, strict=True):
                if "work" not in row:
                    raise ValueError(f"{where}job {text!r}: no work")
                work.append(row["work"])
                maxima.append(ALL_SLOTS if row.get("max_slots") is None else row["max_slots"])
                after = row.get("after") or ()
                if isinstance(after, str):
                    raise ValueError(
                        f"{where}job {text!r}: after = {after!r}: expected a list of names"
                    )
                for above in dict.fromkeys(after):
                    if above not in row_of:
                        raise ValueError(
                            f"{where}job {text!r}: after {above!r}, which is no job of the flow"
                        )
                    parent.append(row_of[above])
                parent_offset.append(len(parent))
            local += own
            offset.append(len(work))
        self._fill(
            names,
            local,
            np.array(offset, dtype=np.int64),
            work,
            maxima,
            np.array(parent_offset, dtype=np.int64),
            np.array(parent, dtype=np.int64),
            arrival,
            weight,
            deadline,
            sla,
            size,
        )

    @classmethod
    def from_arrays(
        cls,
        job_offset: npt.ArrayLike,
        work: npt.ArrayLike,
        parent_offset: npt.ArrayLike,
        parent: npt.ArrayLike,
        *,
        max_slots: npt.ArrayLike | None = None,
        arrival: npt.ArrayLike = 0.0,
        weight: npt.ArrayLike = 1.0,
        deadline: npt.ArrayLike | None = None,
        sla: Sequence[SlaSteps | None] | None = None,
        name: Sequence[str] | None = None,
        job_name: Sequence[str] | None = None,
        size: npt.ArrayLike | None = None,
    ) -> Flows:
        """Flows from columns, without a mapping per job (see the attributes).

        ``job_name`` has the jobs' local names; they need not be given.
        """
        self = cls.__new__(cls)
        offset = np.array(job_offset, dtype=np.int64)
        count = len(offset) - 1
        if count < 0:
            raise ValueError("job_offset is empty, expected one entry more than flows")
        rows = np.size(work)
        names = (
            tuple(f"flow{k}" for k in range(count)) if name is None else _names("name", name, count)
        )
        _unique("name", names)
        if job_name is None:
            local: Sequence[str] | None = None
        else:
            local = _names("job_name", job_name, rows)
        self._fill(
            names,
            local,
            offset,
            work,
            ALL_SLOTS if max_slots is None else max_slots,
            np.array(parent_offset, dtype=np.int64),
            np.array(parent, dtype=np.int64),
            arrival,
            weight,
            deadline,
            sla,
            size,
        )
        return self

    def _fill(
        self,
        names: tuple[str, ...],
        local: Sequence[str] | None,
        job_offset: Integers,
        work: Any,
        max_slots: Any,
        parent_offset: Integers,
        parent: Integers,
        arrival: Any,
        weight: Any,
        deadline: Any,
        sla: Sequence[SlaSteps | None] | None,
        size: Any,
    ) -> None:
        count = len(names)
        self.slots = None
        self.name = names
        self.job_offset, self.parent_offset, self.parent = job_offset, parent_offset, parent
        self.work = _floats("work", work, None) if np.size(work) else np.empty(0)
        self.max_slots = _integers("max_slots", max_slots, len(self.work))
        self.arrival = _floats("arrival", arrival, count)
        self.weight = _floats("weight", weight, count)
        self.deadline = _deadlines(deadline, count)
        self.sla_offset, self.sla_time, self.sla_penalty = _flatten_sla(sla, count)
        try:
            cycle = self._cycle()
        except ValueError as error:
            raise ValueError(_with_job(str(error), names, local, job_offset)) from None
        flow_of = np.repeat(np.arange(count), np.diff(job_offset)).tolist()
        starts = job_offset.tolist()
        if local is None:
            local = [f"job{row - starts[flow]}" for row, flow in enumerate(flow_of)]
        self.job_name = tuple(
            f"{names[flow]}/{text}" for flow, text in zip(flow_of, local, strict=True)
        )
        if len(cycle):
            rows = [*cycle.tolist()[::-1], int(cycle[-1])]
            path = " -> ".join(repr(local[row]) for row in rows[:_SHOWN_OF_CYCLE])
            if len(rows) > _SHOWN_OF_CYCLE:
                path += f" -> ... ({len(rows) - 1:,} jobs)"
            raise ValueError(f"flow {names[flow_of[rows[0]]]!r}: its jobs form a cycle: {path}")
        self.size = self.volume() if size is None else _floats("size", size, count)
        self._check_size()
        self._freeze()

    @classmethod
    def of_core(cls, columns: Mapping[str, Any]) -> Flows:
        """A table of columns that the core has validated and handed over, named by ids. O(jobs)."""
        made = cls.__new__(cls)
        for field in cls.__slots__:
            setattr(made, field, columns.get(field))
        made.name = tuple(f"flow{k}" for k in columns["id"].tolist())
        made.job_name = tuple(
            f"{made.name[flow]}/{text}"
            for text, flow in zip(columns["job_name"], made.flow.tolist(), strict=True)
        )
        made._freeze()
        return made

    def _cycle(self) -> Integers:
        """ValueError for columns that are wrong; the rows of a cycle, or none."""
        return _core.validate_flows(
            self.arrival,
            self.weight,
            self.deadline,
            self.sla_offset,
            self.sla_time,
            self.sla_penalty,
            self.job_offset,
            self.work,
            self.max_slots,
            self.parent_offset,
            self.parent,
        )

    def _check_size(self) -> None:
        TOTAL.check("size", self.size)

    def _validate(self) -> None:
        if len(self._cycle()):
            raise ValueError("flows: jobs form a cycle")
        self._check_size()

    def __len__(self) -> int:
        return len(self.name)

    def __repr__(self) -> str:
        return (
            f"Flows({views.counted(len(self), 'flow')}, {views.counted(len(self.work), 'job')}, "
            f"{self.work.sum():.6g} slot-seconds)"
        )

    _repr_html_ = views.as_html

    def volume(self) -> Floats:
        """Work of each flow [slot-seconds], shape (F,)."""
        sums = np.bincount(self.flow, weights=self.work, minlength=len(self))
        return sums.astype(np.float64)  # no jobs at all would leave integers

    @property
    def flow(self) -> Integers:
        """The flow of every job row, shape (J,)."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.job_offset))

    @property
    def sla(self) -> list[list[tuple[float, float]]]:
        """SLA steps of each flow as (time, cumulative penalty)."""
        steps = list(zip(self.sla_time.tolist(), self.sla_penalty.tolist(), strict=True))
        return [steps[a:b] for a, b in pairwise(self.sla_offset.tolist())]

    def after(self, row: int) -> list[int]:
        """The job rows that this one waits for."""
        found: list[int] = self.parent[
            self.parent_offset[row] : self.parent_offset[row + 1]
        ].tolist()
        return found

    def take(self, index: npt.ArrayLike) -> Flows:
        """The flows at these rows (integers or a mask), in that order."""
        chosen = np.asarray(index)
        rows = np.arange(len(self))[chosen if chosen.size else chosen.astype(int)]
        job_offset, jobs = _gather(self.job_offset, rows)
        new_row = np.full(len(self.work), -1, dtype=np.int64)
        new_row[jobs] = np.arange(len(jobs))
        parent_offset, edges = _gather(self.parent_offset, jobs)
        sla_offset, steps = _gather(self.sla_offset, rows)
        names = tuple(self.name[k] for k in rows.tolist())
        if len(set(names)) < len(names):
            _unique("name", names)
        return self._replaced(
            arrival=self.arrival[rows],
            weight=self.weight[rows],
            deadline=self.deadline[rows],
            sla_offset=sla_offset,
            sla_time=self.sla_time[steps],
            sla_penalty=self.sla_penalty[steps],
            size=self.size[rows],
            job_offset=job_offset,
            work=self.work[jobs],
            max_slots=self.max_slots[jobs],
            parent_offset=parent_offset,
            parent=new_row[self.parent[edges]],
            name=names,
            job_name=tuple(self.job_name[k] for k in jobs.tolist()),
            slots=None,
        )

    def _replaced(self, **columns: Any) -> Flows:
        """The same flows with some attributes replaced, which are right as they are."""
        made = Flows.__new__(Flows)
        for field in self.__slots__:
            column = columns.get(field, getattr(self, field))
            if isinstance(column, np.ndarray):
                column.flags.writeable = False
            setattr(made, field, column)
        return made

    @classmethod
    def joined(cls, tables: Sequence[Flows]) -> Flows:
        """One table of the flows of several, in that order; names must differ."""
        if not tables:
            return cls([])
        rows = np.cumsum([0, *(len(table.work) for table in tables)])
        names = tuple(name for table in tables for name in table.name)
        if len(set(names)) < len(names):
            _unique("name", names)

        def column(field: str, base: Integers | None = None) -> npt.NDArray[Any]:
            parts = [getattr(table, field) for table in tables]
            if base is not None:
                parts = [part + start for part, start in zip(parts, base.tolist(), strict=False)]
            return np.concatenate(parts)

        def offsets(field: str) -> Integers:
            counts = [np.diff(getattr(table, field)) for table in tables]
            return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.concatenate(counts))])

        plain = ("arrival", "weight", "deadline", "sla_time", "sla_penalty", "size", "work")
        return tables[0]._replaced(
            **{field: column(field) for field in (*plain, "max_slots")},
            **{field: offsets(field) for field in ("job_offset", "parent_offset", "sla_offset")},
            parent=column("parent", rows),
            name=names,
            job_name=tuple(name for table in tables for name in table.job_name),
            slots=None,
        )

    def local_names(self) -> list[str]:
        """Names of the jobs within their flows."""
        skip = [len(name) + 1 for name in self.name]
        return [
            text[skip[flow] :] for text, flow in zip(self.job_name, self.flow.tolist(), strict=True)
        ]

    def at(self, now: float) -> Flows:
        """The flows that have arrived by ``now`` [s]."""
        return self.take(self.arrival <= now)


def _gather(offset: Integers, rows: Integers) -> tuple[Integers, Integers]:
    """Offsets and places of the stretches ``offset[k]:offset[k + 1]`` of these rows, joined."""
    lengths = offset[rows + 1] - offset[rows]
    joined = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    places = np.repeat(offset[rows] - joined[:-1], lengths) + np.arange(joined[-1])
    return joined, places


def _with_job(
    message: str, names: Sequence[str], local: Sequence[str] | None, job_offset: Integers
) -> str:
    """The core's message about a job row, with the name of that job."""
    found = re.match(r"(work|max_slots|after)\[(\d+)\]", message)
    if found is None:
        return message
    row = int(found.group(2))
    flow = int(np.searchsorted(job_offset, row, side="right")) - 1
    if not 0 <= flow < len(names):
        return message
    text = f"job{row - int(job_offset[flow])}" if local is None else local[row]
    return f"{message} ({names[flow]}/{text})"


def _job_name(where: str, place: int, row: Job) -> str:
    if not isinstance(row, Mapping):
        raise ValueError(f"{where}jobs[{place}] = {row!r}: expected an object with work")
    check_keys(f"{where}jobs[{place}]: ", row, JOB_KEYS)
    name = row.get("name")
    return f"job{place}" if name is None else str(name)
