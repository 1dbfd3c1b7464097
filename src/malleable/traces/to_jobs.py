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
    trace: Trace,
    phase: str = "map",
    at: float | None = None,
    *,
    keep_zero: bool = True,
    **assumed: Any,
) -> Jobs:
    """One phase of the jobs, whole or as a snapshot.

    A job's work is the time of all its tasks together, its ``max_slots`` their number (at least 1),
    its arrival counted from the trace's first. Runs of unknown length count with the job's mean;
    the last block of a job known by its bytes counts by its size. A flow becomes one job with all
    its work and as many slots as its widest job may use.

    Parameters
    ----------
    phase : {"map", "reduce"}
        Tables of jobs and flows have no phases.
    at : float, optional
        Time of a snapshot [s]: only jobs that had come by then and not ended, with the work that was
        not done (tasks that ran count with their rest) and as many ``max_slots`` as tasks were left;
        ``size`` is a job's whole work. Where the trace does not know when work was done (`Trace.timed`),
        jobs have all of it, and a warning says so; a table of jobs says itself what is left.
    keep_zero : bool
        Keep jobs without work in this phase as jobs of zero work. A snapshot never has them where
        the trace is `Trace.timed`.
    **assumed
        `Trace.assumptions`: ``block_bytes``, ``task_seconds``, ``reduce_bytes``, ``reduce_seconds`` (bytes
        become tasks); ``reduce_from``: "start", "shuffled" (default) or "sorted", where the counted
        part of a reduce task begins. A first-wave reducer's shuffle contains its waiting for the
        maps, so by default it does not count.

    Raises
    ------
    ValueError
        No such phase; a job with tasks none of which has a known time (unless ``skip_bad``); an
        assumption that does not apply.
    """
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
            stacklevel=2,
        )
    with telling_of(trace.where):
        if trace.flow is not None:
            return _whole_flows(trace, at, values)
        rows = usable(trace, untimed(trace, phase, begin(phase, values)))
        origin = zero(trace, rows)
        now = None if at is None else origin + trace.per_second * at
        work, size, slots = left(trace, phase, now, values)
        keep = (work > 0.0) | (keep_zero and not (now is not None and trace.timed))
        if now is not None:
            keep &= trace.arrival <= now
            if trace.finish is not None:
                keep &= ~(trace.finish <= now)
        kept = rows[keep[rows]]
        arrival = moments(trace, trace.arrival[kept], origin)
        said = take(trace, kept, "weight", "deadline", "sla", "name", "user")
        return Jobs(work[kept], arrival=arrival, max_slots=slots[kept], size=size[kept], **said)


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
    return Jobs(work, max_slots=slots, size=size, **_of_each(table)).take(keep)


def _of_each(table: Jobs | Flows) -> dict[str, Any]:
    """What jobs and flows have in common."""
    fields = ("arrival", "weight", "deadline", "sla", "name")
    return {field: getattr(table, field) for field in fields}


def flows(trace: Trace, **assumed: Any) -> Flows:
    """Flows: the trace's own, or one for each job.

    A job with two phases becomes a flow of ``map`` and, where it has reduce tasks, ``reduce`` after
    it; one with a single phase a flow of one job. Work and slots are those of `Trace.jobs`.

    Parameters
    ----------
    **assumed
        As of `Trace.jobs`.

    Raises
    ------
    ValueError
        As `Trace.jobs`.
    """
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
        return Flows(listed, **_of_each(first))


def _job(name: str, table: Jobs, row: int) -> dict[str, Any]:
    return {"name": name, "work": table.work[row], "max_slots": int(table.max_slots[row])}


def _own_flows(trace: Trace, values: Mapping[str, Any]) -> Flows:
    usable(trace, untimed(trace, "map"))
    work, _, slots = left(trace, "map", None, values)
    counts = np.bincount(trace.flow, minlength=len(trace.flow_name))
    offset = np.concatenate([[0], np.cumsum(counts)])
    first = offset[:-1]
    columns = offset, work, trace.parent_offset, trace.parent
    said = take(trace, first, "weight", "deadline", "sla")
    said |= {"name": trace.flow_name, "job_name": trace.name}
    arrival = moments(trace, trace.arrival[first], zero(trace))
    return Flows.from_arrays(*columns, max_slots=slots, arrival=arrival, **said)
