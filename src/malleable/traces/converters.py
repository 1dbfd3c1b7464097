"""Converters: functions that make a table of a model from a trace (recorded jobs): jobs of one phase, flows
(graphs of jobs), jobs in steps, jobs of single tasks. They are the methods of `Trace` with the same names.

If a trace does not say what a table needs, a converter assumes it; ``values`` are these assumptions by name.
A trace that was made of a table (``trace.table``) gives that table back."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from malleable.arrays import quotient
from malleable.cluster.table import ClusterJobs, cluster_flows, task_counts
from malleable.files.advice import AdvisedError
from malleable.files.reading import telling_of
from malleable.flows.table import Flows
from malleable.jobs.table import Floats, Integers, Jobs
from malleable.slotted.table import MapReduceJobs
from malleable.tandem.table import MapShuffleJobs
from malleable.traces.converting import (
    begin,
    given,
    left,
    moments,
    part,
    sizes,
    take,
    untimed,
    usable,
    zero,
)
from malleable.traces.phases import Phase, filled
from malleable.validation import ALL_SLOTS, checked_choice, checked_positive, shown

if TYPE_CHECKING:
    from malleable.traces.trace import Trace
_INSTEAD = "; model cluster simulates tasks on nodes"  # what can be done with the trace
_MOST_TASKS = 1 << 26  # most reduce tasks of a table


def jobs(
    trace: Trace,
    phase: str = "map",
    at: float | None = None,
    *,
    keep_zero: bool = True,
    **assumed: Any,
) -> Jobs:
    """One phase of the jobs, whole or as a snapshot.

    A job's work is the time of all its tasks together, its ``max_slots`` their number (at least 1), its
    arrival counts from the trace's first. Runs of unknown length take the job's mean; the last block of bytes
    counts by its size. A flow becomes one job with all its work and the slots of its widest job.

    Parameters
    ----------
    phase : {"map", "reduce"}
        Tables of jobs and flows have no phases.
    at : float, optional
        Time of a snapshot [s]: only jobs that had come by then and not ended, with the work and tasks that
        were left; ``size`` is a job's whole work. If the trace is not `Trace.timed`, jobs have all work, and
        a warning says so; a table of jobs states what is left.
    keep_zero : bool
        Keep jobs without work in this phase, except in a snapshot of a `Trace.timed`.
    **assumed
        `Trace.assumptions`: ``block_bytes``, ``task_seconds``, ``reduce_bytes``, ``reduce_seconds`` (bytes
        become tasks); ``reduce_from``: "start", "shuffled" (default) or "sorted", where the counted part of a
        reduce task begins.

    Raises
    ------
    ValueError
        No such phase; a job whose tasks have no known time (unless ``skip_bad``); an assumption that does not
        apply.
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
    # Columns that have one entry for each job or flow.
    fields = ("arrival", "weight", "deadline", "sla", "name")
    return {field: getattr(table, field) for field in fields}


def flows(trace: Trace, **assumed: Any) -> Flows:
    """Flows: the trace's own, or one for each job; arguments and errors as of `Trace.jobs`.

    A job with two phases becomes a flow of ``map`` and, if it has reduce tasks, ``reduce`` after it; a job
    with one phase a flow of one job. Assumptions are ``assumed``."""
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


def map_shuffle(trace: Trace, **assumed: Any) -> MapShuffleJobs:
    """Jobs of overlapping map and shuffle phases.

    Map is the work of the map phase [slot-seconds], or the input over ``map_rate`` if the trace has bytes
    only. Shuffle is the bytes that reduce tasks copied over ``shuffle_rate``, because the time of a reduce task
    that starts before the maps have ended contains its waiting. ``assumed`` are these rates [bytes a second at
    capacity 1].
    ValueError if the trace has no shuffled bytes, or a job lacks them (unless ``skip_bad``)."""
    values = given(trace, "map_shuffle", assumed)
    if isinstance(trace.table, MapShuffleJobs):
        return trace.table
    with telling_of(trace.where):
        if trace.flow is not None or trace.reduce is None or trace.reduce.bytes is None:
            raise ValueError(f"a {trace.format} does not say how much its jobs shuffle{_INSTEAD}")
        unknown = np.flatnonzero(np.isnan(trace.reduce.bytes)).tolist()
        faults = dict.fromkeys(unknown, "no reduce attempt with known reduceShuffleBytes")
        rows = usable(trace, faults | untimed(trace, "map"))
        maps = left(trace, "map", None, {})[0]
        if trace.bytes_only:
            maps = trace.map.bytes / values["map_rate"]
        shuffles = trace.reduce.bytes / values["shuffle_rate"]
        arrival = moments(trace, trace.arrival[rows], zero(trace, rows))
        said = take(trace, rows, "weight", "name")
        return MapShuffleJobs(maps[rows], shuffles[rows], arrival=arrival, **said)


def map_reduce(trace: Trace, slot: float | None = None, **assumed: Any) -> MapReduceJobs:
    """Jobs of map and reduce tasks in steps. The first job comes in step 1.

    A map task takes one step of ``slot`` seconds (by default the mean time of the map tasks; 20 s if the
    trace has bytes only), a reduce task the steps of its time, rounded up. A table of such jobs has steps
    already. ``assumed`` for bytes: a map task for each ``block_bytes`` and a reduce task for each
    ``reduce_bytes``, of ``reduce_seconds``; the rest makes one more, shorter task. ``reduce_from`` as of
    `Trace.jobs`. ValueError if the trace has no tasks, or none from which to take a step's length, or a job
    whose tasks have no known time (unless ``skip_bad``)."""
    values = given(trace, "map_reduce", assumed)
    length = None if slot is None else checked_positive("slot", slot)
    if isinstance(trace.table, MapReduceJobs):
        if slot is not None:
            raise ValueError(f"slot = {shown(slot)}: a {trace.format} counts slots already")
        return trace.table
    with telling_of(trace.where):
        if trace.bytes_only:
            return _of_bytes(trace, 20.0 if length is None else length, values)
        if trace.flow is not None or trace.map.work is not None:
            unknown = f"what map and reduce tasks its jobs have{_INSTEAD}"
            raise ValueError(f"a {trace.format} does not say {unknown}")
        return _of_tasks(trace, length, values)


def _of_bytes(trace: Trace, slot: float, values: Mapping[str, Any]) -> MapReduceJobs:
    assert trace.reduce is not None
    parts, each = trace.reduce.bytes / values["reduce_bytes"], values["reduce_seconds"] / slot
    full = np.floor(parts)
    rest = _steps((parts - full) * each)
    counts = full + (rest > 0.0)
    if counts.sum() > _MOST_TASKS:
        raise ValueError(f"{counts.sum():,.0f} reduce tasks: there may be {_MOST_TASKS:,}")
    offset = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    task = np.full(offset[-1], _steps(each))
    task[offset[1:][rest > 0.0] - 1] = rest[rest > 0.0]
    maps = _steps(trace.map.bytes / values["block_bytes"])
    return _in_steps(trace.arrival, slot, maps, offset, task, trace.name)


def _of_tasks(trace: Trace, slot: float | None, values: Mapping[str, Any]) -> MapReduceJobs:
    first = begin("reduce", values)
    rows = usable(trace, untimed(trace, "reduce", first) | untimed(trace, "map"))
    work, maps = left(trace, "map", None, {})[0][rows], trace.map.tasks[rows]
    if slot is None:
        if not work.sum() > 0.0:
            ways = "say slot", "--read slot=S says it"
            raise AdvisedError("no map task has a time that could be a slot's length", *ways)
        slot = float(work.sum() / maps.sum())
    reduces = [np.empty(0)] * len(trace)
    if trace.reduce is not None:
        reduces = trace.reduce.task_seconds(first, trace.per_second)
    chosen = [reduces[row] for row in rows.tolist()]
    offset = np.cumsum([0, *map(len, chosen)])
    task = np.maximum(_steps(np.concatenate([np.empty(0), *chosen]) / slot), 1.0)
    arrival = moments(trace, trace.arrival[rows], zero(trace, rows))
    return _in_steps(arrival, slot, maps, offset, task, **take(trace, rows, "name"))


def _in_steps(
    arrival: Floats, slot: float, maps: Any, offset: Integers, task: Any, name: Any = None
) -> MapReduceJobs:
    arrival = np.floor((arrival - arrival.min(initial=math.inf)) / slot) + 1.0
    return MapReduceJobs.from_columns(arrival, maps, offset, task, name)


def _steps(work: Any) -> Any:
    # 1e-9: rounding must not raise a whole number of steps to the next one.
    return np.ceil(work - 1e-9)


def tasks(trace: Trace, **assumed: Any) -> ClusterJobs:
    """Jobs of single tasks, for a cluster of nodes.

    A task takes the time of its first run that succeeded, or the job's mean; a reduce task the rest after its
    shuffle. Every reduce task of a job copies for the job's mean time from the later of its own start and the
    end of the last map to the end of its shuffle. Jobs of flows have map tasks only and wait for their
    parents. Jobs without tasks are done when they arrive. Jobs of Slurm and SWF logs are rigid (see ``width``
    of `ClusterJobs`).

    Parameters
    ----------
    **assumed
        `Trace.assumptions`. Bytes only: a map task of ``task_seconds`` for each ``block_bytes`` begun, a reduce
        task of ``reduce_seconds`` for each ``reduce_bytes``, which copies an even part of the shuffle at
        ``shuffle_rate`` [bytes a second; by default it takes no time]. If only the work is known: as
        many equal tasks as the job's ``max_slots``, or tasks of about ``task_seconds``.

    Raises
    ------
    ValueError
        A job with tasks none of which has a known time (unless ``skip_bad``); work that needs
        ``task_seconds``.
    """
    values = given(trace, "tasks", assumed)
    if isinstance(trace.table, ClusterJobs):
        return trace.table
    with telling_of(trace.where):
        if trace.flow is not None and trace.map.work is not None:
            flows = trace.flows()
            arrival = flows.arrival - float(flows.arrival.min()) if trace.wall else flows.arrival
            return cluster_flows(flows, values["task_seconds"], arrival=arrival)
        rows = task_rows(trace)
        origin = zero(trace, rows)
        columns = _phase(trace, "map", rows, values)
        if trace.reduce is not None:
            columns |= _phase(trace, "reduce", rows, values)
            columns |= _copying(trace, trace.reduce, rows, columns["reduces"], values)
        if trace.flow is not None:
            bounds = pairwise(trace.parent_offset.tolist())
            columns["after"] = [trace.parent[a:b].tolist() for a, b in bounds]
            columns["flow"] = [trace.flow_name[k] for k in trace.flow.tolist()]
        return ClusterJobs(
            # Both are converted to seconds before the subtraction, like the times of the tasks.
            arrival=moments(trace, trace.arrival[rows], 0.0) - origin / trace.per_second,
            **columns,
            **_rigid(trace, rows),
            **take(trace, rows, "weight", "deadline", "sla", "user", "program", "name"),
        )


def _rigid(trace: Trace, rows: Integers) -> dict[str, Any]:
    # How many tasks of each job start at once, its requested time, and what tasks need beside slots, as far as
    # they are known.
    known = {field: getattr(trace, field) for field in ("width", "requested", "memory", "gpus")}
    found = {field: column[rows] for field, column in known.items() if column is not None}
    if "partition" in trace.groups:
        found["partition"] = [trace.groups["partition"][row] for row in rows.tolist()]
    return found


def task_rows(trace: Trace) -> Integers:
    """Rows of the trace that `Trace.tasks` has, in its order."""
    if isinstance(trace.table, ClusterJobs) or (
        trace.flow is not None and trace.map.work is not None
    ):
        return np.arange(len(trace))
    faults = untimed(trace, "map") | untimed(trace, "reduce")
    if trace.reduce is not None and trace.reduce.shuffled is not None:
        faults |= untimed(trace, "reduce", "shuffled")
    return usable(trace, faults)


def _phase(trace: Trace, phase: str, rows: Integers, values: Mapping[str, Any]) -> dict[str, Any]:
    found = part(trace, phase)
    counts: Any
    seconds: Any
    if found.end is not None and found.shuffled is None and (np.diff(found.offset) <= 1).all():
        # A job's tasks are equal, so their number and one time are enough.
        counts = found.tasks[rows]
        work = found.left(None, "start", trace.per_second, unit=1.0, seconds=1.0)[0][rows]
        seconds = quotient(work, counts)
    elif found.end is not None:
        found = found.single()  # a run for each task that ran beside others
        # by job: begin and end of its tasks; where they are unknown, `filled` takes the job's mean
        runs = found.first_runs("start" if found.shuffled is None else "shuffled", trace.per_second)
        seconds = [filled(*runs[row]) for row in rows.tolist()]
        counts = [len(own) for own in seconds]
    elif found.work is not None:
        limit = np.full(len(trace), ALL_SLOTS) if found.tasks is None else found.tasks
        names = trace.name or [f"job{row}" for row in range(len(trace))]
        counts = task_counts(found.work, limit, names, values["task_seconds"])
        seconds = quotient(found.work, counts)[rows]
        counts = counts[rows]
    elif found.tasks is None:
        unit, seconds = sizes(phase, values)
        counts = np.ceil(found.bytes / unit)[rows]
    else:
        counts, seconds = found.tasks[rows], found.seconds
        if found.offset is None:
            seconds = seconds[rows]
        else:
            times = found.task_seconds("start", 1.0)
            seconds = [times[row].tolist() for row in rows.tolist()]
    return {f"{phase}s": counts, f"{phase}_seconds": seconds}


def _copying(
    trace: Trace, reduce: Phase, rows: Integers, reduces: Any, values: Mapping[str, Any]
) -> dict[str, Any]:
    if trace.bytes_only:
        seconds = quotient(reduce.bytes[rows], reduces) / values["shuffle_rate"]
        return {"shuffle": seconds, "block": values["block_bytes"]}
    if reduce.shuffled is None:
        return {}
    maps = trace.map.first_runs("start", trace.per_second)
    begun = reduce.first_runs("start", trace.per_second)
    after = reduce.first_runs("shuffled", trace.per_second)
    shuffle = []
    for row in rows.tolist():
        ended = float(np.nanmax(maps[row][1], initial=-math.inf))
        copied = np.maximum(after[row][0] - np.maximum(begun[row][0], ended), 0.0)
        copied = copied[~np.isnan(copied)]
        shuffle.append(float(np.mean(copied)) if len(copied) else 0.0)
    return {"shuffle": shuffle}
