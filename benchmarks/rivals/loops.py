"""Loops that ask a rule for slots, exact between two questions.

A rule is a function ``rule(state, now) -> slots``: ``state`` has arrays by name with an entry for each job
that is there, ``slots`` has as many. Ours is asked by the same calls: `JobEpoch` and `FlowEpochRule` do what a
user's loop does with `malleable.Epoch` and `malleable.FlowEpoch`.
"""

from __future__ import annotations

import bisect
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import malleable as mb

State = dict[str, Any]
Rule = Callable[[State, float], Any]

_DONE = 1e-9  # slot-seconds that count as none


def _has_period(method: Any) -> bool:
    return "period" in inspect.signature(method).parameters


class JobEpoch:
    """A user's loop around `malleable.Epoch`: new jobs are added, what is left is told, jobs that ended finish.

    ``period``: said with each decision where decisions take one; 0: not said. ``sla``: the steps of the rows.
    ``options``: of the epoch; gangs are as wide as their maxima.
    """

    def __init__(
        self,
        slots: int,
        objective: str,
        policy: str = "flex",
        period: float = 0.0,
        sla: Any = None,
        **options: Any,
    ):
        self.epoch = mb.Epoch(slots, objective, policy, **options)
        self.gang, self.sla = options.get("min_mode") == "gang", sla
        self.said = {"period": period} if period and _has_period(mb.Epoch.decide) else {}
        self.id_of = np.full(1, -1)
        self.there = np.empty(0, dtype=np.int64)

    def __call__(self, state: State, now: float) -> Any:
        rows = state["ids"]
        if len(self.id_of) <= rows.max(initial=0):
            self.id_of = np.append(self.id_of, np.full(rows.max() + 1, -1))
        ended = self.there[~np.isin(self.there, rows)]
        if len(ended):
            self.epoch.finish(self.id_of[ended])
        new = self.id_of[rows] < 0
        if new.any():
            names = ("arrival", "max_slots", "weight", "deadline", "size")
            columns = {name: state[name][new] for name in names}
            if self.gang:
                columns["min_slots"] = state["max_slots"][new]
            if self.sla is not None:
                columns["sla"] = self.sla[rows[new]].tolist()
            self.id_of[rows[new]] = self.epoch.add(state["work"][new], **columns)
        if not new.all():
            self.epoch.update(self.id_of[rows[~new]], work=state["work"][~new])
        self.there = rows
        decision = self.epoch.decide(now, slots=state["capacity"], **self.said)
        given = np.zeros(decision.ids.max(initial=0) + 1, dtype=np.int64)
        given[decision.ids] = decision.slots
        return given[self.id_of[rows]]


def hold_jobs(
    jobs: mb.Jobs,
    slots: int,
    rule: Rule,
    period: float,
    believed: Any = None,
    between: bool = False,
    changes: tuple[Any, Any] = ((), ()),
) -> Any:
    """Completions if ``rule`` is asked at each multiple of the period and its slots are held until the next.

    ``believed``: the works as the rule is told them (default: the truth). ``between``: it is also asked
    whenever a job ends. Period 0: it is asked whenever a job comes or ends, and when the slots change:
    ``changes`` has these times, and the slots from then on.
    """
    size = jobs.work if believed is None else np.asarray(believed)
    left, done = jobs.work.copy(), np.full(len(jobs), np.nan)
    by_arrival = np.argsort(jobs.arrival, kind="stable")
    comes = jobs.arrival[by_arrival]
    first, now, ended = 0, 0.0, 0
    rows = np.empty(0, dtype=np.int64)
    times, capacities = [*changes[0], math.inf], [slots, *changes[1]]
    while ended < len(jobs):
        slots = int(capacities[bisect.bisect_right(times, now)])
        last = int(np.searchsorted(comes, now, side="right"))
        if last > first:
            rows = np.concatenate([rows, by_arrival[first:last]])
            first = last
        if not len(rows):
            now = period * math.ceil(comes[first] / period) if period else comes[first]
            continue
        attained = jobs.work[rows] - left[rows]
        state = {
            "ids": rows,
            "arrival": jobs.arrival[rows],
            "weight": jobs.weight[rows],
            "deadline": jobs.deadline[rows],
            "work": np.maximum(size[rows] - attained, 0.0),
            "size": size[rows],
            "attained": attained,
            "min_slots": jobs.min_slots[rows],
            "max_slots": np.minimum(jobs.max_slots[rows], slots),
            "capacity": slots,
            "period": period,
        }
        given = np.asarray(rule(state, now))
        if given.sum() > slots or (given < 0).any() or (given > state["max_slots"]).any():
            raise ValueError(f"the rule hands out {given.tolist()} of {slots} slots at {now} s")
        take = np.divide(left[rows], given, out=np.full(len(rows), np.inf), where=given > 0)
        if period:
            until = period * (math.floor(now / period + 1e-9) + 1)
        else:
            until = comes[first] if first < len(jobs) else math.inf
            until = min(until, times[bisect.bisect_right(times, now)])
        if between or not period:
            until = min(until, now + take.min())
        ends = now + take <= until + 1e-12 * max(1.0, until)
        left[rows] -= given * (until - now)
        ends |= left[rows] <= _DONE
        done[rows[ends]] = np.minimum(now + take[ends], until)
        ended += int(ends.sum())
        rows, now = rows[~ends], until
    return done


class FlowEpochRule:
    """A user's loop around `malleable.FlowEpoch`, as `JobEpoch` is one."""

    def __init__(
        self, flows: mb.Flows, slots: int, objective: str, period: float = 0.0, **options: Any
    ):
        self.flows, self.epoch = flows, mb.FlowEpoch(slots, objective, **options)
        self.said = {"period": period} if period and _has_period(mb.FlowEpoch.decide) else {}
        self.id_of = np.full(len(flows.work), -1)
        self.here = 0
        self.there = np.empty(0, dtype=np.int64)

    def __call__(self, state: State, now: float) -> Any:
        rows = state["ids"]
        ended = self.there[~np.isin(self.there, rows)]
        if len(ended):
            self.epoch.finish(self.id_of[ended])
        have = self.id_of[rows] >= 0
        self.epoch.update(self.id_of[rows[have]], work=state["work"][have])
        come = int((self.flows.arrival <= now).sum())
        if come > self.here:  # flows arrive in the order of their rows
            ids = self.epoch.add(self.flows.take(np.arange(self.here, come))).jobs
            first, last = self.flows.job_offset[[self.here, come]]
            self.id_of[first:last] = ids
            self.here = come
        self.there = rows
        decision = self.epoch.decide(now, **self.said)
        given = np.zeros(decision.ids.max(initial=0) + 1, dtype=np.int64)
        given[decision.ids] = decision.slots
        return given[self.id_of[rows]]


def hold_flows(flows: mb.Flows, slots: int, rule: Rule, period: float) -> Any:
    """Completions of flows; a job is ready at the first question after all that it waits for ended.

    The state's rows are jobs of flows that came and did not end: ``ids`` (rows of the table), ``flow``,
    ``work``, ``attained``, ``max_slots``, ``ready``, ``arrival``, ``weight``; ``flows`` is the table itself.
    """
    left = flows.work.copy()
    flow = flows.flow
    over, done = np.zeros(len(left), dtype=bool), np.full(len(flows), np.nan)
    latest = np.zeros(len(flows))  # end of a flow's jobs so far
    waits = np.diff(flows.parent_offset).copy()
    children: list[list[int]] = [[] for _ in range(len(left))]
    for row in range(len(left)):
        for parent in flows.after(row):
            children[parent].append(row)
    open_jobs = np.diff(flows.job_offset).copy()
    now = 0.0
    while np.isnan(done).any():
        rows = np.flatnonzero(~over & (flows.arrival[flow] <= now))
        if not len(rows):
            now = period * math.ceil(flows.arrival[np.isnan(done)].min() / period)
            continue
        ready = waits[rows] == 0
        state = {
            "ids": rows,
            "flow": flow[rows],
            "work": left[rows],
            "attained": flows.work[rows] - left[rows],
            "max_slots": np.minimum(flows.max_slots[rows], slots),
            "ready": ready,
            "arrival": flows.arrival[flow[rows]],
            "weight": flows.weight[flow[rows]],
            "capacity": slots,
            "period": period,
            "flows": flows,
        }
        given = np.where(ready, np.asarray(rule(state, now)), 0)
        if given.sum() > slots or (given < 0).any():
            raise ValueError(f"the rule hands out {given.tolist()} of {slots} slots at {now} s")
        used = np.minimum(given, state["max_slots"])
        take = np.divide(left[rows], used, out=np.full(len(rows), np.inf), where=used > 0)
        until = period * (math.floor(now / period + 1e-9) + 1)
        ends = now + take <= until + 1e-12 * max(1.0, until)
        left[rows] -= used * (until - now)
        ends |= ready & (left[rows] <= _DONE)
        for row, at in zip(rows[ends].tolist(), take[ends].tolist(), strict=True):
            over[row] = True
            for child in children[row]:
                waits[child] -= 1
            own = flow[row]
            latest[own] = max(latest[own], min(now + at, until))
            open_jobs[own] -= 1
            if not open_jobs[own]:
                done[own] = latest[own]
        now = until
    return done


class FluidFlowEpoch:
    """A user's loop around `malleable.FlowEpoch` for `tests.oracles.flow_loop.fluid_loop`."""

    def __init__(self, table: mb.Flows, slots: int, objective: str, **options: Any):
        self.table, self.epoch = table, mb.FlowEpoch(slots, objective, **options)
        self.row_of = self.running = np.empty(0, dtype=np.int64)
        self.id_of = np.full(len(table.work), -1)

    def __call__(self, now: float, came: Any, finished: Any, left: Any) -> tuple[Any, Any]:
        self.epoch.finish(self.id_of[finished])
        for flow in came:
            ids = self.epoch.add(self.table.take([flow])).jobs
            rows = np.arange(*self.table.job_offset[flow : flow + 2])
            self.id_of[rows] = ids
            self.row_of = np.concatenate([self.row_of, rows])
        running = self.running[~np.isin(self.running, finished)]
        self.epoch.update(self.id_of[running], work=left[running])
        decision = self.epoch.decide(now)
        has = decision.slots > 0
        self.running = self.row_of[decision.ids[has]]
        return self.running, decision.slots[has]


def share_gpus(
    arrival: Any,
    work: Any,
    most: Any,
    tables: list[Any],
    slots: int,
    rule: Rule,
    period: float = 0.0,
) -> Any:
    """Responses if the rule is asked whenever a job comes or ends; k slots of a job do ``tables[job][k]``.

    ``period``: the rule is asked at its multiples only.
    """
    left, done, now, first = work.copy(), np.full(len(work), np.nan), 0.0, 0
    rows = np.empty(0, dtype=np.int64)
    while first < len(work) or len(rows):
        if not len(rows):
            now = max(now, arrival[first])
            now = period * math.ceil(now / period - 1e-9) if period else now
        last = int(np.searchsorted(arrival, now, side="right"))
        rows, first = np.concatenate([rows, np.arange(first, last)]), last
        state = {"ids": rows, "arrival": arrival[rows], "work": left[rows], "size": work[rows]}
        state |= {"max_slots": most[rows], "tables": [tables[row] for row in rows.tolist()]}
        given = np.asarray(rule(state | {"capacity": slots}, now))
        if given.sum() > slots or (given < 0).any() or (given > most[rows]).any():
            raise ValueError(f"the rule hands out {given.tolist()} of {slots} slots at {now} s")
        rate = np.array([own[k] for own, k in zip(state["tables"], given.tolist(), strict=True)])
        take = np.divide(left[rows], rate, out=np.full(len(rows), np.inf), where=rate > 0)
        step = min(take.min(), arrival[first] - now if first < len(work) else np.inf)
        step = period or step
        ends = take <= step * (1 + 1e-12)
        left[rows] -= rate * step
        done[rows[ends]] = now + np.minimum(take[ends], step)
        now += step
        rows = rows[~ends]
    return done - arrival


class GpuEpoch:
    """A user's loop around `malleable.Epoch`, told tables, of what program jobs are, their p, or nothing.

    ``deadline``: of the rows.
    """

    def __init__(
        self,
        slots: int,
        policy: str = "flex",
        told: bool = True,
        programs: bool = False,
        powers: Any = None,
        objective: str = "sum:response",
        deadline: Any = None,
        period: float = 0.0,
    ):
        self.powers, self.deadline = powers, deadline
        self.epoch, self.told = mb.Epoch(slots, objective, policy, period=period), told
        self.programs: dict[int, int] | None = {} if programs else None
        self.id_of: dict[int, int] = {}

    def __call__(self, state: State, now: float) -> Any:
        rows = state["ids"].tolist()
        self.epoch.finish([self.id_of.pop(row) for row in list(self.id_of) if row not in set(rows)])
        known = [k for k, row in enumerate(rows) if row in self.id_of]
        self.epoch.update([self.id_of[rows[k]] for k in known], work=state["work"][known])
        for k, row in enumerate(rows):
            if row not in self.id_of:
                columns = {
                    "max_slots": [int(state["max_slots"][k])],
                    "arrival": [state["arrival"][k]],
                }
                if self.deadline is not None:
                    columns["deadline"] = [self.deadline[row]]
                self.id_of[row] = self._add(row, [state["size"][k]], columns, state["tables"][k])
        decision = self.epoch.decide(now)
        given = dict(zip(decision.ids.tolist(), decision.slots.tolist(), strict=True))
        return [given[self.id_of[row]] for row in rows]

    def _add(self, row: int, work: Any, columns: Any, table: Any) -> int:
        told: dict[str, Any] = {"speedup": [table[1:]]} if self.told else {}
        if self.powers is not None:
            told = {"speedup": [self.powers[row]]}
        if self.programs is not None:  # who has the same table runs the same program
            told = {"program": self.programs.setdefault(id(table), len(self.programs))}
        return int(self.epoch.add(work, **columns, **told)[0])
