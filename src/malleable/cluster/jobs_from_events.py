"""Jobs for simulations from a file of events, which a scheduler has recorded: the recorded times of tasks are
taken as their true times."""

from __future__ import annotations

import math
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable.cluster.events import calls_of, cluster_header, cluster_of, read_events
from malleable.cluster.nodes import Cluster
from malleable.cluster.table import SCHEDULER_COLUMNS, ClusterJobs
from malleable.jobs.table import Floats

_PHASES = (("maps", "map_seconds"), ("reduces", "reduce_seconds"))


class _Job:
    """A job as the calls have shown it so far; ``seen``: by phase, seconds of tasks that have ended."""

    def __init__(self, columns: dict[str, npt.NDArray[Any]], row: int, now: float) -> None:
        self.told = {name: columns[name][row] for name in SCHEDULER_COLUMNS if name in columns}
        self.arrival = min(float(columns["arrival"][row]), now)
        self.tasks = [int(columns[name][row]) for name, _ in _PHASES]
        self.estimate = [float(columns[name][row]) for _, name in _PHASES]
        self.user = int(columns["user"][row])
        self.program = int(columns["group"][row])
        self.speedup = float(columns["speedup"][row]) if "speedup" in columns else None
        # Jobs that wait for each other (a flow): number of the call that added them, and of the flow in it.
        self.flow: tuple[int, int] = (0, 0)
        self.after: list[int] = []
        self.seen: list[list[Floats]] = [[], []]

    def seconds(self, phase: int) -> Floats:
        # Seconds of each task: as seen; for other tasks the mean of the seen ones, or else the estimate.
        seen = np.concatenate([*self.seen[phase], np.empty(0)])[: self.tasks[phase]]
        usual = float(seen.mean()) if len(seen) else self.estimate[phase]
        return np.append(seen, np.full(self.tasks[phase] - len(seen), usual))


def jobs_from_events(path: str | PathLike[str]) -> tuple[ClusterJobs, Cluster]:
    """Jobs of a file of events (`malleable.Scheduler`, ``record=``), by arrival, and the cluster that they
    ran on. O(bytes + tasks).

    Weights and deadlines are the last ones; jobs that were cancelled are left out. Seconds of tasks are on a
    node of rate 1, or of the mean rate if the node is unknown. The cluster has the nodes that left and
    returned, but no other changes of slots. ValueError: not a file of events, a cut one, or no job."""
    header, data, at = read_events(path)
    cluster = cluster_of(header)
    slots = np.maximum(cluster.map_slots + cluster.reduce_slots, 1)
    usual = float((cluster.rate * slots).sum() / slots.sum())
    jobs: list[_Job] = []
    row_of: dict[int, int] = {}
    changes: list[dict[str, Any]] = []
    try:
        for number, (call, columns) in enumerate(calls_of(data, at)):
            now = float(columns["now"][0]) if "now" in columns else 0.0
            if call == "add":
                first = len(jobs)
                offset, after = columns["after_offset"], columns["after"]
                for row in range(len(columns["arrival"])):
                    job = _Job(columns, row, now)
                    job.flow = (number, int(columns["flow"][row]))
                    job.after = (first + after[offset[row] : offset[row + 1]]).tolist()
                    row_of[int(columns["ids"][row])] = len(jobs)
                    jobs.append(job)
            elif call == "ended" and "seconds" in columns:
                _ended(jobs, row_of, columns, cluster.rate, usual)
            elif call == "update":
                _updated(jobs, row_of, columns)
            elif call == "set_slots":
                changes += _changed(cluster, columns, now)
    except (KeyError, IndexError) as fault:
        raise ValueError(f"{path}: damaged: {fault}") from None
    except ValueError as fault:
        raise ValueError(f"{path}: {fault}") from None
    if not jobs:
        raise ValueError(f"{path}: no job was recorded")
    return _table(jobs, cluster), Cluster(**cluster_header(cluster), changes=changes)


def _ended(
    jobs: list[_Job],
    row_of: dict[int, int],
    columns: dict[str, npt.NDArray[Any]],
    rate: Floats,
    usual: float,
) -> None:
    ids, phase, seconds = (columns[name].tolist() for name in ("ids", "phase", "seconds"))
    count = columns["count"].tolist() if "count" in columns else [1] * len(ids)
    node = columns["node"].tolist() if "node" in columns else [-1] * len(ids)
    for job, p, own, many, place in zip(ids, phase, seconds, count, node, strict=True):
        if not math.isnan(own):
            pace = usual if place < 0 else float(rate[place])
            jobs[row_of[job]].seen[p].append(np.full(many, own * pace))


def _updated(
    jobs: list[_Job], row_of: dict[int, int], columns: dict[str, npt.NDArray[Any]]
) -> None:
    for k, number in enumerate(columns["ids"].tolist()):
        job = jobs[row_of[number]]
        job.told |= {name: columns[name][k] for name in SCHEDULER_COLUMNS if name in columns}
        if "user" in columns:
            job.user = int(columns["user"][k])
        for p, name in enumerate(("map", "reduce")):
            if f"{name}_seconds" in columns:
                job.estimate[p] = float(columns[f"{name}_seconds"][k])


def _changed(
    cluster: Cluster, columns: dict[str, npt.NDArray[Any]], now: float
) -> list[dict[str, Any]]:
    slots = columns["map_slots"].copy()
    if "reduce_slots" in columns:
        slots = slots + columns["reduce_slots"]
    return [
        {"time": max(now, 0.0), "node": node, "up": own > 0}
        for node, own in zip(columns["nodes"].tolist(), slots.tolist(), strict=True)
    ]


def _table(jobs: list[_Job], cluster: Cluster) -> ClusterJobs:
    order = sorted(range(len(jobs)), key=lambda row: jobs[row].arrival)
    place = {row: k for k, row in enumerate(order)}
    jobs = [jobs[row] for row in order]
    told: dict[str, Any] = {
        name: [job.told[name] for job in jobs] for name in SCHEDULER_COLUMNS if name in jobs[0].told
    }
    told["arrival"] = [job.arrival for job in jobs]
    if len({job.flow for job in jobs}) < len(jobs):
        told["flow"] = [f"{call}-{number}" for call, number in (job.flow for job in jobs)]
        told["after"] = [[place[other] for other in job.after] for job in jobs]
    return ClusterJobs(
        map_seconds=[job.seconds(0) for job in jobs],
        reduce_seconds=[job.seconds(1) for job in jobs],
        **told,
        **_optional(jobs, list(cluster.users)),
    )


def _optional(jobs: list[_Job], users: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if any(job.speedup is not None for job in jobs):
        found["speedup"] = [job.speedup for job in jobs]
    if users or any(job.user for job in jobs):
        known = dict(enumerate(users))
        found["user"] = [known.get(job.user, f"user-{job.user}") for job in jobs]
    if any(job.program >= 0 for job in jobs):
        found["program"] = [
            f"program-{job.program}" if job.program >= 0 else f"job-{k}"
            for k, job in enumerate(jobs)
        ]
    return found
