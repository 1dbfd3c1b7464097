"""Executors that move between the stages of DAGs: a simulation by tasks, and the rules that it asks.

An executor works at a stage until the stage has no task left to start; then it is free. A rule
``rule(state, now) -> slots`` says how many executors each ready stage should have. Free ones go to stages that
have fewer, first to those of their own flow; to work for another flow costs `MOVE` seconds. A task takes
(s / 50)^(1 - p) times as long as on 50 executors, s being those at its stage when it starts.

The state's rows are ready stages: ``ids`` (rows of the table), ``flow``, ``work`` (left, on one executor),
``held``, ``waiting`` (tasks), ``p``; by flow ``all_work`` (left of all its stages), ``came`` (those that have
come and have not ended); ``ended``: stages that have ended since the rule was asked last.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np

import malleable as mb
from benchmarks.instances.dags import EXECUTORS

State = dict[str, Any]
Rule = Callable[[State, float], Any]
MOVE = 2.0
"""Seconds that an executor takes to another flow."""


class Executors:
    """The simulation; `run` gives the response of each flow [s]."""

    def __init__(self, flows: mb.Flows, rule: Rule):
        self.flows, self.rule, self.now = flows, rule, 0.0
        self.flow, self.p = flows.flow, flows.exponent
        self.waiting, self.held = flows.max_slots.copy(), np.zeros(len(flows.work), dtype=np.int64)
        self.running = self.held.copy()  # tasks
        self.each = flows.work / flows.max_slots  # work of a task
        self.left = flows.work.copy()
        self.all_work = flows.volume()
        self.pending = np.diff(flows.parent_offset).copy()
        self.children: list[list[int]] = [[] for _ in self.flow]
        for row in range(len(self.flow)):
            for parent in flows.after(row):
                self.children[parent].append(row)
        self.open = np.diff(flows.job_offset).copy()
        self.done = np.full(len(flows), np.nan)
        self.events: list[tuple[float, int, int, int]] = []  # time, number, executor or -1, stage
        self.count = 0
        self.free = dict.fromkeys(range(EXECUTORS), -1)  # executor -> the flow where it is
        self.ready: set[int] = set()
        self.ended: list[int] = []

    def at(self, time: float, executor: int, what: int) -> None:
        heapq.heappush(self.events, (time, self.count, executor, what))
        self.count += 1

    def work(self, executor: int, row: int) -> None:
        """The next task of a stage, or none."""
        if not self.waiting[row]:
            self.held[row] -= 1
            self.free[executor] = int(self.flow[row])
            self.ready.discard(row)
            return
        self.waiting[row] -= 1
        self.running[row] += 1
        took = self.each[row] * self.held[row] ** (1 - self.p[row])
        self.at(self.now + took, executor, row)

    def over(self, row: int) -> None:
        """A task has ended."""
        own = self.flow[row]
        self.running[row] -= 1
        self.left[row] -= self.each[row]
        self.all_work[own] -= self.each[row]
        if self.waiting[row] or self.running[row]:
            return
        self.ended.append(row)
        for child in self.children[row]:
            self.pending[child] -= 1
            if not self.pending[child]:
                self.ready.add(child)
        self.open[own] -= 1
        if not self.open[own]:
            self.done[own] = self.now

    def share(self) -> None:
        """Free executors go where the rule wants more."""
        if not self.free or not self.ready:
            return
        rows = np.array(sorted(self.ready))
        came = (self.flows.arrival <= self.now) & np.isnan(self.done)
        state = {
            "ids": rows,
            "flow": self.flow[rows],
            "work": self.left[rows],
            "held": self.held[rows],
            "waiting": self.waiting[rows],
            "p": self.p[rows],
            "all_work": self.all_work,
            "came": np.flatnonzero(came),
            "ended": self.ended,
        }
        wanted = np.asarray(self.rule(state, self.now))
        self.ended = []
        lack = np.minimum(wanted, self.held[rows] + self.waiting[rows]) - self.held[rows]
        moves = {int(row): int(k) for row, k in zip(rows, lack, strict=True) if k > 0}
        for near in (True, False):
            for executor, home in list(self.free.items()):
                row = next((k for k in moves if near == (self.flow[k] == home)), -1)
                if row < 0:
                    continue
                moves[row] -= 1
                if not moves[row]:
                    del moves[row]
                del self.free[executor]
                self.held[row] += 1
                self.at(self.now + (0.0 if near else MOVE), executor, -1 - row)

    def run(self) -> Any:
        for number, time in enumerate(self.flows.arrival.tolist()):
            self.at(time, -1, number)
        offset = self.flows.job_offset
        while self.events:
            self.now, _, executor, what = heapq.heappop(self.events)
            if executor < 0:
                rows = range(offset[what], offset[what + 1])
                self.ready |= {row for row in rows if not self.pending[row]}
            elif what < 0:
                self.work(executor, -1 - what)
            else:
                self.over(what)
                self.work(executor, what)
            if not self.events or self.events[0][0] > self.now:
                self.share()
        return self.done - self.flows.arrival


def filled(state: State, flows: Any, most: Any) -> Any:
    """Slots of stages, flow by flow, up to so many of each; those of a flow go to its stages in turn."""
    given = np.zeros(len(state["ids"]), dtype=np.int64)
    room, free = state["held"] + state["waiting"], EXECUTORS
    for flow, limit in zip(flows, most, strict=True):
        left = min(int(limit), free)
        own = np.flatnonzero(state["flow"] == flow)
        while left > 0 and (own := own[given[own] < room[own]]).size:
            given[own[:left]] += 1
            left, free = left - len(own[:left]), free - len(own[:left])
    return given


def spared(state: State, given: Any, worth: Callable[[int, int], float]) -> Any:
    """What is left goes one by one to the flow where it is worth most, of those that can use it."""
    room = state["held"] + state["waiting"]
    flows = state["flow"]
    for _ in range(EXECUTORS - int(given.sum())):
        open_rows = np.flatnonzero(given < room)
        if not len(open_rows):
            break
        of = {int(flow): int(given[flows == flow].sum()) for flow in flows[open_rows]}
        best = max(of, key=lambda flow: worth(flow, of[flow]))
        own = open_rows[flows[open_rows] == best]
        given[own[given[own].argmin()]] += 1
    return given


def weighted_fair(power: float) -> Rule:
    """Shares of flows by a power of their work left; what they cannot use goes to the smallest shares."""

    def rule(state: State, now: float) -> Any:
        came = state["came"]
        share = np.maximum(state["all_work"], 1e-9) ** power
        by = came[np.argsort(-share[came], kind="stable")]
        given = filled(state, by, np.ceil(EXECUTORS * share[by] / share[came].sum()))
        return spared(state, given, lambda flow, has: float(share[flow] / (has + 1)))

    return rule


def least_work(root: float = np.inf) -> Rule:
    """The least work left first; each flow has at most ``root`` times its root [s] executors."""

    def rule(state: State, now: float) -> Any:
        came = state["came"]
        left = np.maximum(state["all_work"], 1e-9)
        by = came[np.argsort(left[came], kind="stable")]
        return filled(state, by, np.minimum(EXECUTORS, np.ceil(root * np.sqrt(left[by]))))

    return rule


def knee(factor: float) -> Rule:
    """The width of each flow by a price of slots that rises with the flows that are there."""
    counts = np.arange(1.0, EXECUTORS + 1)

    def rule(state: State, now: float) -> Any:
        came, left = state["came"], np.maximum(state["all_work"], 1e-9)
        p = float(state["p"].mean())
        cost = (1 + factor * len(came) / EXECUTORS * counts) / counts**p
        by = came[np.argsort(left[came] * cost.min(), kind="stable")]
        given = filled(state, by, [counts[cost.argmin()]] * len(by))
        return spared(state, given, lambda flow, has: float(((has + 1) ** p - has**p) / left[flow]))

    return rule


class FlowEpochOfExecutors:
    """A user's loop around `malleable.FlowEpoch`, told of speed-ups."""

    def __init__(self, flows: mb.Flows, told: bool = True):
        self.flows, self.epoch = flows, mb.FlowEpoch(EXECUTORS, "sum:response")
        self.told, self.here = told, 0

    def __call__(self, state: State, now: float) -> Any:
        come = int(np.searchsorted(self.flows.arrival, now, side="right"))
        if come > self.here:  # ids are rows
            ids = self.epoch.add(self.flows.take(np.arange(self.here, come)))
            if not self.told:
                self.epoch.update(ids.jobs, speedup=1.0)
            self.here = come
        self.epoch.finish(state["ended"])
        rows = state["ids"]
        most = state["held"] + state["waiting"]
        self.epoch.update(rows, work=state["work"], max_slots=most)
        decision = self.epoch.decide(now)
        return decision.slots[np.searchsorted(decision.ids, rows)]


RULES: dict[str, Callable[[mb.Flows], Rule]] = {
    "FlowEpoch": FlowEpochOfExecutors,
    "FlowEpoch, linear": lambda flows: FlowEpochOfExecutors(flows, told=False),
    "fair": lambda _: weighted_fair(0.0),
    **{f"fair {a:g}": lambda _, a=a: weighted_fair(a) for a in (-1.5, -1.0, -0.5, 0.5)},  # type: ignore[misc]
    "least work": lambda _: least_work(),
    **{f"root {c:g}": lambda _, c=c: least_work(c) for c in (0.1, 0.2, 0.4, 0.8)},  # type: ignore[misc]
    **{f"knee {f:g}": lambda _, f=f: knee(f) for f in (1.0, 1.5, 2.0, 3.0)},  # type: ignore[misc]
}


def mean_response(rule: str, flows: mb.Flows) -> float:
    return float(Executors(flows, RULES[rule](flows)).run().mean())
