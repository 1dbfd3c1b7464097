"""A trace as jobs of single tasks, for a cluster of nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from malleable.cluster.table import ClusterJobs, cluster_flows, task_counts
from malleable.domain import ALL_SLOTS
from malleable.files.reading import telling_of
from malleable.jobs.table import Integers
from malleable.traces.converting import given, moments, part, sizes, take, untimed, usable, zero
from malleable.traces.phases import Phase, filled

if TYPE_CHECKING:
    from malleable.traces.trace import Trace


def tasks(trace: Trace, **assumed: Any) -> ClusterJobs:
    """Jobs of single tasks, for a cluster of nodes.

    A task takes the time of its first run that succeeded, and the job's mean where that is unknown;
    a reduce task what was left of it after its shuffle, and every reduce task of a job copies for the
    job's mean time from the later of its own start and the end of the job's last map to its shuffle's
    end. Jobs of flows have map tasks only and wait for their parents. Jobs without tasks are done
    when they arrive.

    Parameters
    ----------
    **assumed
        `Trace.assumptions`. Bytes only: a map task of ``task_seconds`` for each ``block_bytes`` begun, a reduce
        task of ``reduce_seconds`` for each ``reduce_bytes``, which copies an even part of the shuffle at
        ``shuffle_rate`` at most [bytes a second; by default it takes no time of its own], and over
        the cluster's links where these are limited. Where work is known without tasks: as many equal
        tasks as the job's ``max_slots``, or tasks of about ``task_seconds``.

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
            # Both in seconds before one is taken from the other: as the times of the tasks are.
            arrival=moments(trace, trace.arrival[rows], 0.0) - origin / trace.per_second,
            **columns,
            **take(trace, rows, "weight", "deadline", "sla", "user", "program", "name"),
        )


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
    """Number of tasks of a phase and their times, one a job or a list a job."""
    found = part(trace, phase)
    counts: Any
    seconds: Any
    if found.width is not None and (np.diff(found.offset) <= 1).all():
        # A job's tasks are alike: their number and one time tell all.
        counts = found.tasks[rows]
        work = found.left(None, "start", trace.per_second, 1.0, 1.0)[0][rows]
        seconds = np.divide(work, counts, out=np.zeros(len(rows)), where=counts > 0)
    elif found.end is not None:
        found = found.single()
        runs = found.first_runs("start" if found.shuffled is None else "shuffled", trace.per_second)
        seconds = [filled(*runs[row]) for row in rows.tolist()]
        counts = [len(own) for own in seconds]
    elif found.work is not None:
        limit = np.full(len(trace), ALL_SLOTS) if found.tasks is None else found.tasks
        names = trace.name or [f"job{row}" for row in range(len(trace))]
        counts = task_counts(found.work, limit, names, values["task_seconds"])
        seconds = np.divide(found.work, counts, out=np.zeros(len(counts)), where=counts > 0)[rows]
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
    """What the reduce tasks of each job copy, and for how long."""
    if trace.bytes_only:
        shuffled = reduce.bytes[rows]
        copied = np.divide(shuffled, reduces, out=np.zeros(len(rows)), where=reduces > 0)
        seconds, block = copied / values["shuffle_rate"], values["block_bytes"]
        return {"shuffle": seconds, "shuffle_bytes": shuffled, "block": block}
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
