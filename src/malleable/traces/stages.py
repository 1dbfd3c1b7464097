"""Flows of stages that ran, as their readers put them together, made into a trace."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

import numpy as np

from malleable.domain import shown
from malleable.traces.phases import Phase
from malleable.traces.trace import Trace


class Stage(NamedTuple):
    """A job of a flow: its tasks, and runs of (task, start, end, tasks that ran together)."""

    name: str
    tasks: int
    runs: Sequence[tuple[float, float, float, float]]
    parents: Sequence[int]  # indices into the flow


class Flow(NamedTuple):
    """A flow, its stages in any order."""

    name: str
    arrival: float  # on the trace's clock
    stages: Sequence[Stage]


def checked_parents(stages: Sequence[Stage]) -> None:
    """ValueError if some stages wait for each other in a circle."""
    try:
        TopologicalSorter({k: stage.parents for k, stage in enumerate(stages)}).prepare()
    except CycleError as error:
        names = [stages[k].name for k in error.args[1][:4]]
        raise ValueError(f"cycle: {' -> '.join(shown(name) for name in names)} ...") from None


def trace_of_stages(flows: Sequence[Flow], user: str = "", program: str = "", **more: Any) -> Trace:
    """The trace of these flows, by arrival; ties as they stand."""
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
