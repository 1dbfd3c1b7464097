"""Who comes first: flows by FlowFlex, then the longest path; before all, what would make the run end later.

`malleable.FlowEpoch` has the flows with the work that is left, and says their order under the objective. No
run ends before the work is done on all slots, nor before its longest path: a job whose path reaches this
bound cannot wait, and goes first. Otherwise a large sample would start last and end alone. A decision takes
O(jobs + F log F) for F flows. If it took longer than the start of a job costs Snakemake anyway, it is made
again when a twentieth of the time since would pay for it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

import malleable as mb
from snakemake_scheduler_plugin_malleable.workflow import Workflow

__all__ = ["SHARE", "Order", "pause"]

_PERIOD = 1e-3  # seconds; so short that an order follows paths rather than periods
_LEAST_WORK = 1e-6
SHARE = 0.05  # of the time, at most, for decisions
_FREE = 0.02  # processor seconds of a decision that need no pause


def pause(took: float) -> float:
    """Seconds until the next decision, after one that took so much of the processor."""
    return max(0.0, took - _FREE) / SHARE


class Order:
    """The order of the jobs of a workflow.

    Parameters
    ----------
    workflow : Workflow
    seconds : ndarray, shape (n,)
        Of each job.
    threads : ndarray of int, shape (n,)
    slots : int
    objective : str
    terms : mapping
        ``arrival``, ``weight`` and ``deadline`` of flows.
    """

    def __init__(
        self, workflow: Workflow, seconds: np.ndarray, threads: np.ndarray, slots: int,
        objective: str, terms: Mapping[str, np.ndarray],
    ) -> None:  # fmt: skip
        self._workflow, self._slots = workflow, slots
        self.seconds, self.threads = seconds, threads
        self.open = np.ones(len(workflow), bool)
        flow = workflow.flow
        self._rows = np.flatnonzero(flow >= 0)[np.argsort(flow[flow >= 0], kind="stable")]
        place = np.full(len(workflow), -1)
        place[self._rows] = np.arange(len(self._rows))
        same = (flow[workflow.child] == flow[workflow.parent]) & (flow[workflow.child] >= 0)
        child, parent = place[workflow.child[same]], place[workflow.parent[same]]
        order = np.argsort(child, kind="stable")
        offsets = [np.bincount(child, minlength=len(self._rows))]
        offsets.append(np.bincount(flow[self._rows], minlength=workflow.flows))
        waits, sizes = (np.append(0, np.cumsum(counts)) for counts in offsets)
        self._place = place
        self._epoch = mb.FlowEpoch(slots, objective, period=_PERIOD)
        self._ids = np.zeros(0, np.int64)
        self.ranks = np.zeros(workflow.flows, np.int64)
        if workflow.flows:
            ids = self._epoch.add(
                mb.Flows.from_arrays(
                    sizes,
                    self._work(self._rows),
                    waits,
                    parent[order],
                    max_slots=self._most(self._rows),
                    **terms,
                )
            )
            self._ids = ids.jobs
        self.tails = workflow.tails(seconds)
        self._ask = -np.inf

    def _work(self, rows: np.ndarray) -> np.ndarray:
        return np.maximum(self.seconds[rows] * self._most(rows), _LEAST_WORK)

    def _most(self, rows: np.ndarray) -> np.ndarray:
        return np.clip(self.threads[rows], 1, self._slots)

    def changed(self, rows: np.ndarray) -> None:
        """Seconds or threads of jobs are others than before."""
        rows = rows[self.open[rows]]
        if not len(rows):
            return
        own = rows[self._place[rows] >= 0]
        if len(own):
            ids = self._ids[self._place[own]]
            self._epoch.update(ids, work=self._work(own), max_slots=self._most(own))
        self.tails = self._workflow.tails(np.where(self.open, self.seconds, 0.0))

    def ended(self, rows: np.ndarray) -> None:
        """Jobs have ended."""
        rows = rows[self.open[rows]]
        self.open[rows] = False
        own = rows[self._place[rows] >= 0]
        if len(own):
            # A child may be told of before its parent: the table takes them in the order of levels.
            own = own[np.argsort(self._workflow.level[own], kind="stable")]
            self._epoch.finish(self._ids[self._place[own]])

    def decide(self, now: float, slots: int, left: Mapping[int, float]) -> None:
        """Puts flows in order; seconds that are left of jobs that run."""
        if time.perf_counter() < self._ask:
            return
        began = time.thread_time()
        rows = np.array([row for row in left if self._place[row] >= 0 and self.open[row]], np.int64)
        if len(rows):
            seconds = np.array([left[row] for row in rows.tolist()])
            work = np.where(seconds > 0.0, np.maximum(seconds * self._most(rows), _LEAST_WORK), 0.0)
            self._epoch.update(self._ids[self._place[rows]], work=work)
        turn = self._epoch.decide(now, slots=max(1, slots)).order
        flows = self._workflow.flow[self._rows[turn - self._ids[0]]] if len(turn) else turn
        first, at = np.unique(flows, return_index=True)
        self.ranks[:] = len(self.ranks)
        self.ranks[first[np.argsort(at)]] = np.arange(len(first))
        self._ask = time.perf_counter() + pause(time.thread_time() - began)

    def rank_of_jobs(self) -> np.ndarray:
        """Ranks of jobs: of their flows, or of the first flow that waits for them."""
        flow = self._workflow.flow
        last = len(self.ranks)
        rank = np.append(self.ranks, last)[flow]  # -1: the last entry
        for row, flows, own in self._workflow.leads:
            if self.open[row]:
                best = self.ranks[flows].min() if len(flows) else last
                rank[row] = min(best, rank[own].min() if len(own) else last)
        return rank

    def least_time(self, parallel: float, left: Mapping[int, float]) -> float:
        """No run ends earlier: all work on all slots, or the longest path."""
        seconds = np.where(self.open, self.seconds, 0.0)
        for row, own in left.items():
            seconds[row] = own
        longest = self.tails[self.open].max(initial=0.0) if not left else self._longest(left)
        return max(float((seconds * self.threads).sum()) / parallel, longest)

    def _longest(self, left: Mapping[int, float]) -> float:
        fresh = self.open.copy()
        running = np.array(list(left), np.int64)
        fresh[running] = False
        after = self.tails[running] - self.seconds[running] + np.array(list(left.values()))
        return max(self.tails[fresh].max(initial=0.0), after.max(initial=0.0))
