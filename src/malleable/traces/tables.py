"""Traces made of other things than a log: of a table of jobs of one model, so that other models can use it; and
of flows (graphs of jobs) whose stages ran."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

import numpy as np

from malleable.cluster.table import ClusterJobs
from malleable.flows.table import Flows
from malleable.jobs.table import Jobs
from malleable.slotted.table import MapReduceJobs
from malleable.tandem.table import MapShuffleJobs
from malleable.traces.phases import Phase
from malleable.traces.trace import Trace
from malleable.validation import ALL_SLOTS, shown


def trace_of(table: Any, **more: Any) -> Trace:
    """The trace of a table of jobs; the converter of the table's model gives the same table back. Work of map
    and shuffle jobs counts as slot-seconds at capacity 1, a step of map and reduce jobs as a second."""
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
        known["arrival"] = table.arrival - 1.0  # step 1 begins at 0 s
        return Trace(map=maps, reduce=reduces, **known)
    assert isinstance(table, ClusterJobs)
    maps = Phase(tasks=table.maps, seconds=table.map_seconds, offset=table.map_offset)
    reduces = Phase(tasks=table.reduces, seconds=table.reduce_seconds, offset=table.reduce_offset)
    return Trace(map=maps, reduce=reduces, **known)


def _of_flows(flows: Flows, more: dict[str, Any]) -> Trace:
    row = flows.flow
    known: dict[str, Any] = {"table": flows, "name": flows.job_name, "flow_name": flows.name} | more
    known |= {field: getattr(flows, field)[row] for field in ("arrival", "weight", "deadline")}
    known |= {field: getattr(flows, field) for field in ("parent_offset", "parent")}
    return Trace(map=Phase(work=flows.work, tasks=flows.max_slots), flow=row, **known)


class Stage(NamedTuple):
    """A job of a flow: its tasks, and runs of (task, start, end, tasks that ran together)."""

    name: str
    tasks: int
    runs: Sequence[tuple[float, float, float, float]]
    parents: Sequence[int]  # indices into the flow


class Flow(NamedTuple):
    """A graph of jobs, here called stages."""

    name: str
    arrival: float  # on the trace's clock
    stages: Sequence[Stage]


def check_parents(stages: Sequence[Stage]) -> None:
    try:
        TopologicalSorter({k: stage.parents for k, stage in enumerate(stages)}).prepare()
    except CycleError as error:
        names = [stages[k].name for k in error.args[1][:4]]
        raise ValueError(f"cycle: {' -> '.join(shown(name) for name in names)} ...") from None


def trace_of_stages(flows: Sequence[Flow], user: str = "", program: str = "", **more: Any) -> Trace:
    """The trace of these flows, by arrival; equal arrivals in the given order."""
    flows = sorted(flows, key=lambda flow: flow.arrival)
    stages = [stage for flow in flows for stage in flow.stages]
    tasks, runs = [stage.tasks for stage in stages], [stage.runs for stage in stages]
    counts = np.array([len(flow.stages) for flow in flows], dtype=np.int64)
    first = np.cumsum(counts) - counts
    row = np.repeat(np.arange(len(flows)), counts)
    parents = np.cumsum([0] + [len(stage.parents) for stage in stages], dtype=np.int64)
    parent = np.array([one for stage in stages for one in stage.parents], dtype=np.int64)
    return Trace(
        arrival=np.array([flow.arrival for flow in flows])[row],
        map=Phase.of_runs(tasks, runs, ("start", "end", "width")),
        name=[stage.name for stage in stages],
        user=[user] * len(stages) if user else None,
        program=[program] * len(stages) if program else None,
        flow=row,
        flow_name=[flow.name for flow in flows],
        parent_offset=parents,
        parent=np.repeat(first[row], np.diff(parents)) + parent,
        **more,
    )
