"""Alibaba's batch DAGs (cluster-trace-v2018) as JSON lines, a flow a line.

A line is ``{"job": name, "tasks": [{"id", "parents", "instances", "duration", "start_time"}, ...]}``;
``duration`` is the mean time of an instance (``actual_duration`` in some exports). Start times often
come before a parent's end, so only the earliest one is used, as the flow's arrival.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import islice
from typing import Any

from malleable.domain import shown
from malleable.files.json import amount_of, parse_json, text_of, texts_of
from malleable.files.reading import telling_of
from malleable.flows.table import Flows
from malleable.traces.formats import File, register
from malleable.traces.tables import stage, trace_of
from malleable.traces.trace import Trace


def _read(file: File, most: int | None = None) -> Trace:
    """Flows by arrival [s], ties in file order; ``most``: stop after so many.

    A job per task: as many slots as instances (one where the trace has none), work instances times
    duration.
    """
    found = list(islice(file.records(partial(_flow, taken=set())), most))
    file.settle(len(found), "flows")
    found.sort(key=lambda flow: flow[0])
    arrival, name, jobs = map(list, zip(*found, strict=True))
    return trace_of(Flows(jobs, arrival=arrival, name=name), wall=True)


def _flow(line: str, taken: set[str]) -> tuple[float, str, list[dict[str, Any]]]:
    """Arrival, name, which is ``taken`` then, and jobs of a flow."""
    entry = parse_json(line)
    tasks = entry.get("tasks") if isinstance(entry, Mapping) else None
    if not isinstance(tasks, list) or "job" not in entry:
        raise ValueError("expected an object with job and tasks")
    jobs = []
    starts = []
    for task in tasks:
        if not isinstance(task, Mapping) or "id" not in task:
            raise ValueError(f"task {shown(task)}: expected an object with an id")
        name = text_of(task["id"], "id")
        with telling_of(f"task {shown(name)}"):
            instances, start = task.get("instances"), task.get("start_time")
            count = 1.0 if instances is None else amount_of(instances, "instances")
            duration = task.get("duration", task.get("actual_duration"))
            if start is not None and amount_of(start, "start_time") > 0.0:
                starts.append(float(start))
            seconds = amount_of(duration, "duration")
            jobs.append(stage(name, count, seconds, texts_of(task, "parents")))
    arrival, flow = min(starts, default=0.0), text_of(entry["job"], "job")
    if flow in taken:
        raise ValueError(f"job {shown(flow)}: the name is taken")
    Flows([jobs], arrival=arrival, name=[flow])  # numbers, parents and cycles
    taken.add(flow)
    return arrival, flow, jobs


register(
    "Alibaba DAG",
    lambda head: '"tasks"' in head.line and '"job"' in head.line,
    _read,
    most="at most so many flows are read; none: all",
)
