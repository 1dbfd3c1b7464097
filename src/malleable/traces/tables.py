"""Tables of one model as traces, so that they feed the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from malleable.cluster.table import ClusterJobs
from malleable.domain import ALL_SLOTS
from malleable.flows.table import Flows
from malleable.jobs.table import Jobs
from malleable.slotted.table import MapReduceJobs
from malleable.tandem.table import MapShuffleJobs
from malleable.traces.phases import Phase
from malleable.traces.trace import Trace


def stage(name: str, tasks: float, seconds: float, after: list[str]) -> dict[str, Any]:
    """A job of a flow made of so many tasks of so many seconds, all of which may run at once."""
    slots = max(1, round(tasks))
    return {"name": name, "work": tasks * seconds, "max_slots": slots, "after": after}


def trace_of(table: Any, **more: Any) -> Trace:
    """The trace of a table of jobs, which its own converter gives back.

    Work of map and shuffle jobs is taken for slot-seconds at capacity 1, a slot of map and reduce jobs
    for a second.
    """
    if isinstance(table, Flows):
        return _of_flows(table, more)
    known: dict[str, Any] = {"table": table, "arrival": table.arrival, "name": table.name} | more
    for field in ("weight", "deadline", "user", "program"):
        known.setdefault(field, getattr(table, field, None))
    if isinstance(table, (Jobs, ClusterJobs)) and any(steps := table.sla):
        known["sla"] = steps
    if isinstance(table, Jobs):
        slots = None if (table.max_slots == ALL_SLOTS).all() else table.max_slots
        return Trace(map=Phase(work=table.work, tasks=slots), **known)
    if isinstance(table, MapShuffleJobs):
        return Trace(map=Phase(work=table.map), reduce=Phase(work=table.shuffle), **known)
    if isinstance(table, MapReduceJobs):
        maps = Phase(tasks=table.map, seconds=np.ones(len(table)))
        offset, times = table.task_offset, table.task.astype(np.float64)
        reduces = Phase(tasks=np.diff(offset), seconds=times, offset=offset)
        known["arrival"] = table.arrival - 1.0
        return Trace(map=maps, reduce=reduces, **known)
    assert isinstance(table, ClusterJobs)
    maps = Phase(tasks=table.maps, seconds=table.map_seconds, offset=table.map_offset)
    reduces = Phase(tasks=table.reduces, seconds=table.reduce_seconds, offset=table.reduce_offset)
    copied = table.shuffle_bytes if table.shuffle_bytes.any() else None
    return Trace(map=maps, reduce=replace(reduces, bytes=copied), **known)


def _of_flows(flows: Flows, more: dict[str, Any]) -> Trace:
    row = flows.flow
    known: dict[str, Any] = {"table": flows, "name": flows.job_name, "flow_name": flows.name} | more
    known |= {field: getattr(flows, field)[row] for field in ("arrival", "weight", "deadline")}
    known |= {field: getattr(flows, field) for field in ("parent_offset", "parent")}
    return Trace(map=Phase(work=flows.work, tasks=flows.max_slots), flow=row, **known)
