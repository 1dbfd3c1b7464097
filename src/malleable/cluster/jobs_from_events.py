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
_KEPT = (*SCHEDULER_COLUMNS, "map_seconds", "reduce_seconds", "user", "group", "speedup")
_Columns = dict[str, npt.NDArray[Any]]  # of a call


def _told(columns: _Columns, row: int) -> dict[str, Any]:
    return {name: columns[name][row].item() for name in _KEPT if name in columns}


class _Job:
    """A job as the calls have shown it so far; ``seen``: by phase, seconds of tasks that have ended."""

    def __init__(self, columns: _Columns, row: int, now: float, call: int, before: int) -> None:
        self.told = _told(columns, row)
        self.told["arrival"] = min(self.told["arrival"], now)
        # Jobs that wait for each other (a flow): number of the call that added them, and of the flow in it.
        self.flow = call, int(columns["flow"][row])
        first, last = columns["after_offset"][row : row + 2]
        self.after = (before + columns["after"][first:last]).tolist()
        self.seen: list[list[Floats]] = [[], []]

    def seconds(self, phase: int) -> Floats:
        # Seconds of each task: as seen; for other tasks the mean of the seen ones, or else the estimate.
        tasks, estimate = (self.told[name] for name in _PHASES[phase])
        seen = np.concatenate([*self.seen[phase], np.empty(0)])[:tasks]
        usual = float(seen.mean()) if len(seen) else estimate
        return np.append(seen, np.full(tasks - len(seen), usual))


def jobs_from_events(path: str | PathLike[str]) -> tuple[ClusterJobs, Cluster]:
    """Jobs of a file of events (`malleable.Scheduler`, ``record=``), by arrival, and the cluster that they
    ran on. O(bytes + tasks).

    Weights and deadlines are the last ones; jobs that were cancelled are left out. Seconds of tasks are
    those on a node of rate 1; an unknown node counts as one of the mean rate. The cluster has the nodes that
    left and returned, but no other changes of slots. ValueError: not a file of events, a cut one, or no job."""
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
                before = len(jobs)
                for row, job in enumerate(columns["ids"].tolist()):
                    row_of[job] = len(jobs)
                    jobs.append(_Job(columns, row, now, number, before))
            elif call == "ended" and "seconds" in columns:
                _ended(jobs, row_of, columns, cluster.rate, usual)
            elif call == "update":
                for row, job in enumerate(columns["ids"].tolist()):
                    jobs[row_of[job]].told |= _told(columns, row)
            elif call == "set_slots":
                changes += _changed(columns, now)
    except (KeyError, IndexError) as fault:
        raise ValueError(f"{path}: damaged: {fault}") from None
    except ValueError as fault:
        raise ValueError(f"{path}: {fault}") from None
    if not jobs:
        raise ValueError(f"{path}: no job was recorded")
    return _table(jobs, cluster), Cluster(**cluster_header(cluster), changes=changes)


def _ended(
    jobs: list[_Job], row_of: dict[int, int], columns: _Columns, rate: Floats, usual: float
) -> None:
    ids, phase, seconds = (columns[name].tolist() for name in ("ids", "phase", "seconds"))
    count = columns["count"].tolist() if "count" in columns else [1] * len(ids)
    node = columns["node"].tolist() if "node" in columns else [-1] * len(ids)
    for job, p, own, many, place in zip(ids, phase, seconds, count, node, strict=True):
        if not math.isnan(own):
            pace = usual if place < 0 else float(rate[place])
            jobs[row_of[job]].seen[p].append(np.full(many, own * pace))


def _changed(columns: _Columns, now: float) -> list[dict[str, Any]]:
    slots = columns["map_slots"] + columns.get("reduce_slots", 0)
    return [
        {"time": max(now, 0.0), "node": node, "up": own > 0}
        for node, own in zip(columns["nodes"].tolist(), slots.tolist(), strict=True)
    ]


def _table(jobs: list[_Job], cluster: Cluster) -> ClusterJobs:
    order = sorted(range(len(jobs)), key=lambda row: jobs[row].told["arrival"])
    place = {row: k for k, row in enumerate(order)}
    jobs = [jobs[row] for row in order]
    known = jobs[0].told
    told: dict[str, Any] = {
        name: [job.told[name] for job in jobs] for name in SCHEDULER_COLUMNS if name in known
    }
    if len({job.flow for job in jobs}) < len(jobs):
        told["flow"] = [f"{call}-{number}" for call, number in (job.flow for job in jobs)]
        told["after"] = [[place[other] for other in job.after] for job in jobs]
    told |= _optional(jobs, dict(enumerate(cluster.users)))
    told |= {name: [job.seconds(k) for job in jobs] for k, (_, name) in enumerate(_PHASES)}
    return ClusterJobs(**told)


def _optional(jobs: list[_Job], names: dict[int, str]) -> dict[str, Any]:
    # Columns that not every record has; ``names``: users of the cluster by number.
    found: dict[str, Any] = {}
    if any("speedup" in job.told for job in jobs):
        found["speedup"] = [job.told.get("speedup") for job in jobs]
    users, programs = ([job.told[name] for job in jobs] for name in ("user", "group"))
    if names or any(users):
        found["user"] = [names.get(user, f"user-{user}") for user in users]
    if max(programs) >= 0:
        numbered = enumerate(programs)
        found["program"] = [f"program-{own}" if own >= 0 else f"job-{k}" for k, own in numbered]
    return found
