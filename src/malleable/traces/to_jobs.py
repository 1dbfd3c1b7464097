"""A trace as jobs of one phase, and as flows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from malleable.domain import checked_choice, shown
from malleable.files.reading import telling_of
from malleable.flows.table import Flows
from malleable.jobs.table import Jobs
from malleable.traces.converting import begin, given, left, moments, take, untimed, usable, zero

if TYPE_CHECKING:
    from malleable.traces.trace import Trace


def jobs(
    trace: Trace, phase: str, at: float | None, keep_zero: bool, assumed: Mapping[str, Any]
) -> Jobs:
    """See `Trace.jobs`."""
    checked_choice("phase", phase, ("map", "reduce"))
    if at is not None and not math.isfinite(at):
        raise ValueError(f"at = {shown(at)}: must be finite")
    values = given(trace, "jobs", assumed)
    if isinstance(trace.table, Jobs):
        return trace.table if at is None else trace.table.at(at)
    if at is not None and not trace.timed:
        warnings.warn(
            f"{trace.where}: a {trace.format} does not say when work was done: the jobs of the snapshot"
            " have all of theirs",
            stacklevel=3,
        )
    with telling_of(trace.where):
        if trace.flow is not None:
            return _whole_flows(trace, at, values)
        rows = usable(trace, untimed(trace, phase, begin(phase, values)))
        origin = zero(trace, rows)
        now = None if at is None else origin + trace.per_second * at
        work, size, slots = left(trace, phase, now, values)
        keep = work > 0.0
        if keep_zero and not (now is not None and trace.timed):
            keep[:] = True
        if now is not None:
            keep &= trace.arrival <= now
            if trace.finish is not None:
                keep &= ~(trace.finish <= now)
        kept = rows[keep[rows]]
        return Jobs(
            work[kept],
            arrival=moments(trace, trace.arrival[kept], origin),
            max_slots=slots[kept],
            size=size[kept],
            **take(trace, kept, "weight", "deadline", "sla", "name", "user"),
        )


def _whole_flows(trace: Trace, at: float | None, values: Mapping[str, Any]) -> Jobs:
    table = trace.flows()
    slots = np.ones(len(table), dtype=np.int64)
    np.maximum.at(slots, table.flow, table.max_slots)
    work = size = table.volume()
    keep = np.ones(len(table), dtype=bool)
    if at is not None:
        keep = table.arrival <= at
        if trace.timed:
            rest = left(trace, "map", zero(trace) + trace.per_second * at, values)[0]
            work = np.bincount(table.flow, rest, len(table)).astype(np.float64)
            keep &= work > 0.0
    return Jobs(
        work,
        arrival=table.arrival,
        max_slots=slots,
        weight=table.weight,
        deadline=table.deadline,
        sla=table.sla,
        name=table.name,
        size=size,
    ).take(keep)


def flows(trace: Trace, assumed: Mapping[str, Any]) -> Flows:
    """See `Trace.flows`."""
    values = given(trace, "flows", assumed)
    if isinstance(trace.table, Flows):
        return trace.table
    if trace.flow is not None:
        with telling_of(trace.where):
            return _own_flows(trace, values)
    first = trace.jobs("map", **assumed)
    last = first if trace.reduce is None else trace.jobs("reduce", **assumed)
    with telling_of(trace.where):
        if len(first) != len(last):
            raise ValueError("not the same jobs have known times in both phases")
        listed = [[_job("map", first, row)] for row in range(len(first))]
        for row in np.flatnonzero(last.work > 0.0).tolist() if trace.reduce is not None else ():
            listed[row].append(_job("reduce", last, row) | {"after": ["map"]})
        return Flows(
            listed,
            arrival=first.arrival,
            weight=first.weight,
            deadline=first.deadline,
            sla=first.sla,
            name=first.name,
        )


def _job(name: str, table: Jobs, row: int) -> dict[str, Any]:
    return {"name": name, "work": table.work[row], "max_slots": int(table.max_slots[row])}


def _own_flows(trace: Trace, values: Mapping[str, Any]) -> Flows:
    usable(trace, untimed(trace, "map"))
    work, _, slots = left(trace, "map", None, values)
    counts = np.bincount(trace.flow, minlength=len(trace.flow_name))
    offset = np.concatenate([[0], np.cumsum(counts)])
    first = offset[:-1]
    return Flows.from_arrays(
        offset,
        work,
        trace.parent_offset,
        trace.parent,
        max_slots=slots,
        arrival=moments(trace, trace.arrival[first], zero(trace)),
        name=trace.flow_name,
        job_name=trace.name,
        **take(trace, first, "weight", "deadline", "sla"),
    )
