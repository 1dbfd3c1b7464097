"""FlowFlex on a cluster as your own policy, by way of the epoch object for flows.

Plans are the library's; which flows, work and maxima go into them, and when, is kept apart here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from malleable.cluster.table import ClusterJobs
from malleable.flows.epoch import FlowEpoch
from malleable.flows.table import Flows
from malleable.jobs.table import Floats

__all__ = ["FlowFlexOnCluster"]


class FlowFlexOnCluster:
    """FlowFlex's decisions as a policy of the cluster simulation (FlowFlex, section 5.2).

    Every job of a flow that has come is in its epoch from the start, its maps and, after them, its reduces,
    with what is known of their work; a phase of a job that runs has the work that is left of it, as
    estimated, and as many slots at most as it has unfinished tasks. A decision ranks the jobs by the epoch's
    order of flows, within a flow the longest path first. O(jobs log jobs).
    """

    name = "flowflex"
    style = "ranks"

    def __init__(self, jobs: ClusterJobs, objective: str, believed: Floats) -> None:
        flows = jobs.flow if jobs.flow is not None else [f"job{k}" for k in range(len(jobs))]
        names = list(dict.fromkeys(flows))
        number = {name: k for k, name in enumerate(names)}
        self._flow_of = np.array([number[name] for name in flows], dtype=np.int64)
        self._jobs = jobs
        self._tasks = np.stack([jobs.maps, jobs.reduces], axis=1)
        self._work = believed * self._tasks
        self._objective = objective
        self._ids = np.full((len(jobs), 2), -1, dtype=np.int64)  # by phase; -1: none, or done
        self._known: set[int] = set()

    def begin(self, state: Any) -> None:
        """Remember the state, whose counts are live."""
        self._state = state
        slots = state.slots[0]
        self._epoch = FlowEpoch(slots, self._objective)
        self._ids[:] = -1
        self._known = set()

    def job_arrived(self, state: Any, job: int) -> None:
        """The first job of a flow brings all of it."""
        if job in self._known:
            return
        rows = np.flatnonzero(self._flow_of == self._flow_of[job])
        jobs = self._jobs
        self._known |= set(rows.tolist())
        # A job without any task is a phase without work.
        phases = {
            row: [p for p in (0, 1) if self._tasks[row, p] > 0] or [0] for row in rows.tolist()
        }
        table, parts = [], []
        for row in rows.tolist():
            own: list[int] = []
            if jobs.after is not None and jobs.after_offset is not None:
                own = jobs.after[jobs.after_offset[row] : jobs.after_offset[row + 1]].tolist()
            after = [f"j{other}p{phases[other][-1]}" for other in own if other in phases]
            for phase in phases[row]:
                name = f"j{row}p{phase}"
                work, most = float(self._work[row, phase]), max(1, int(self._tasks[row, phase]))
                table.append({"name": name, "work": work, "max_slots": most, "after": after})
                after = [name]
                parts.append((row, phase))
        deadline = float(jobs.deadline[rows].max())
        added = self._epoch.add(
            Flows(
                [table],
                arrival=float(jobs.arrival[rows].min()),
                weight=float(jobs.weight[rows].max()),
                deadline=deadline,
            )
        )
        for (row, phase), number in zip(parts, added.jobs.tolist(), strict=True):
            self._ids[row, phase] = number

    def job_finished(self, state: Any, job: int) -> None:
        """What waited for it may run."""
        self._finish(job, 0)
        self._finish(job, 1)

    def _finish(self, job: int, phase: int) -> None:
        if self._ids[job, phase] >= 0:
            self._epoch.finish(self._ids[job, phase : phase + 1])
            self._ids[job, phase] = -1

    def decide(self, view: dict[str, Any]) -> Floats:
        """Ranks of the jobs of the view."""
        state, rows = self._state, view["job"]
        unfinished = state.total[rows] - state.finished[rows]
        for k, row in enumerate(rows.tolist()):
            if unfinished[k, 0] == 0:
                self._finish(row, 0)
        work = np.maximum(state.estimate[rows] * unfinished, 1e-9)
        there = self._ids[rows] >= 0
        self._epoch.update(self._ids[rows][there], work=work[there], max_slots=unfinished[there])
        plan = self._epoch.decide(float(view["now"]), slots=int(view["slots"])).plan()
        rank = _ranks(plan.flows, plan.order, int(view["slots"]))
        number = {row: k for k, row in enumerate(rows.tolist())}
        ranks = np.full(len(rows), np.inf)
        for name, place in rank.items():
            row = int(name.rpartition("/j")[2].partition("p")[0])
            if row in number:
                ranks[number[row]] = min(ranks[number[row]], place)
        return ranks


def _ranks(flows: Flows, order: Any, slots: int) -> dict[str, float]:
    """Places of unfinished phases: flow by flow in the order, in a flow the longest path first."""
    places: dict[str, float] = {}
    offset = flows.job_offset.tolist()
    for flow in order.tolist():
        jobs = range(offset[flow], offset[flow + 1])
        path = dict.fromkeys(jobs, 0.0)
        for job in reversed(jobs):  # parents stand before their children
            path[job] += flows.work[job] / min(int(flows.max_slots[job]), slots)
            for parent in flows.after(job):
                path[parent] = max(path[parent], path[job])
        left = [job for job in jobs if flows.work[job] > 0.0]
        for job in sorted(left, key=lambda job: (-path[job], job)):
            places[flows.job_name[job]] = float(len(places))
    return places
