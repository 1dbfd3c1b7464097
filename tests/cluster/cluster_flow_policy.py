"""FlowFlex on a cluster as a policy of one's own, by way of the epoch object for flows.

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

    Every job of a flow that has come is in its plans from the start, with what is known of its work;
    a job that runs has the work that is left of both phases, as estimated, and as many slots at most
    as it has ready tasks of both phases. A decision plans all flows anew, O(jobs log jobs).
    """

    name = "flowflex"
    style = "targets"

    def __init__(
        self, jobs: ClusterJobs, objective: str, effort: int | None, believed: Floats
    ) -> None:
        flows = jobs.flow if jobs.flow is not None else [f"job{k}" for k in range(len(jobs))]
        names = list(dict.fromkeys(flows))
        number = {name: k for k, name in enumerate(names)}
        self._flow_of = np.array([number[name] for name in flows], dtype=np.int64)
        self._jobs = jobs
        self._work = (believed * np.stack([jobs.maps, jobs.reduces], axis=1)).sum(axis=1)
        self._objective = objective
        self._effort = 0 if effort is None else effort
        self._ids = np.full(len(jobs), -1, dtype=np.int64)

    def begin(self, state: Any) -> None:
        """Remember the state, whose counts are live."""
        self._state = state
        slots = state.slots[0]
        self._epoch = FlowEpoch(slots, self._objective, "flowflex", self._effort)
        self._ids[:] = -1
        self._ended: list[int] = []

    def job_arrived(self, state: Any, job: int) -> None:
        """The first job of a flow brings all of it."""
        if self._ids[job] >= 0:
            return
        rows = np.flatnonzero(self._flow_of == self._flow_of[job])
        jobs = self._jobs
        place = {int(row): k for k, row in enumerate(rows)}
        table = []
        for row in rows.tolist():
            after: list[str] = []
            if jobs.after is not None and jobs.after_offset is not None:
                own = jobs.after[jobs.after_offset[row] : jobs.after_offset[row + 1]]
                after = [f"j{place[k]}" for k in own.tolist() if k in place]
            table.append(
                {
                    "name": f"j{place[row]}",
                    "work": float(self._work[row]),
                    "max_slots": max(1, int(max(jobs.maps[row], jobs.reduces[row]))),
                    "after": after,
                }
            )
        deadline = float(jobs.deadline[rows].max())
        added = self._epoch.add(
            Flows(
                [table],
                arrival=float(jobs.arrival[rows].min()),
                weight=float(jobs.weight[rows].max()),
                deadline=deadline,
            )
        )
        self._ids[rows] = added.jobs

    def job_finished(self, state: Any, job: int) -> None:
        """What waited for it may run."""
        self._ended.append(job)

    def decide(self, view: dict[str, Any]) -> Floats:
        """Slots of the jobs of the view."""
        if self._ended:
            self._epoch.finish(self._ids[self._ended])
            self._ended = []
        state, rows = self._state, view["job"]
        left = state.estimate[rows] * (state.total[rows] - state.finished[rows])
        work = np.maximum(left.sum(axis=1), 1e-9)
        self._epoch.update(self._ids[rows], work=work, max_slots=view["most"])
        decision = self._epoch.decide(float(view["now"]), slots=int(view["slots"]))
        given = dict(zip(decision.ids.tolist(), decision.slots.tolist(), strict=True))
        return np.array([given[k] for k in self._ids[rows].tolist()], dtype=np.float64)
