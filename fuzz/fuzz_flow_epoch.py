"""Sequences of calls on a `FlowEpoch`, with refused ones in between.

A twin gets the accepted calls only. If both always decide the same, a refused call changes nothing. Every
sequence runs twice: where an order of flows decides, and where decisions begin plans.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from decode import LATEST, MOST_SLOTS, WEIGHT, Bytes
from driver import run

import malleable as mb

OBJECTIVES = [
    f"{how}:{what}"
    for how in ("sum", "max")
    for what in ("response", "completion", "stretch", "tardy", "tardiness", "lateness", "sla")
]


UNWHOLE = [0, -1, 2.5, float("nan"), "x", None, [1], -1e300]
NO_SPEEDUP = [-1, 2.5, float("nan"), "x", -1e300]


class Sequence:
    def __init__(self, bytes_: Bytes, plans: bool) -> None:
        self.bytes = bytes_
        self.now, self.decided = 0.0, False
        self.slots = bytes_.slots()
        self.objective = bytes_.pick(OBJECTIVES)
        options: dict[str, Any] = {"slots": self.slots, "objective": self.objective}
        effort = bytes_.integer(0, 5) if bytes_.chance(64) else 0
        if plans:
            options["effort"] = effort
        if bytes_.chance(48):
            options["hysteresis"] = bytes_.unit()
        self.epoch, self.twin = mb.FlowEpoch(**options), mb.FlowEpoch(**options)
        self.most: dict[int, int] = {}
        self.flow_of: dict[int, int] = {}
        self.parents: dict[int, list[int]] = {}
        self.gone: list[int] = []

    def both(self, name: str, *arguments: Any, bad: bool = False, **named: Any) -> Any:
        """Calls the epoch, and the twin if that went well."""
        try:
            found = getattr(self.epoch, name)(*arguments, **named)
        except (ValueError, TypeError) as error:
            assert str(error)
            return None
        assert not bad, (name, arguments, named)
        same = getattr(self.twin, name)(*arguments, **named)
        return found, same

    def flow(self) -> dict[str, Any]:
        jobs: list[dict[str, Any]] = []
        for k in range(self.bytes.integer(0, 4)):
            edges = self.bytes.byte()
            job: dict[str, Any] = {"name": f"j{k}", "work": self.bytes.amount()}
            job["after"] = [f"j{p}" for p in range(k) if edges >> p & 1]
            how = self.bytes.byte()
            if how >= 128:
                job["max_slots"] = self.bytes.slots()
            if how % 8 == 1:
                job["speedup"] = self.speedup()
            jobs.append(job)
        flow: dict[str, Any] = {"jobs": jobs, "arrival": min(self.now, self.bytes.time())}
        flow["weight"] = self.bytes.amount(WEIGHT)
        if self.objective.endswith("lateness") or self.bytes.chance(100):
            flow["deadline"] = self.bytes.time()
        if self.objective.endswith("sla"):
            flow["sla"] = [[self.bytes.time(), self.bytes.amount(WEIGHT)]]
        return flow

    def speedup(self) -> float | list[float]:
        """p, or rates that do not fall."""
        if self.bytes.chance(128):
            return self.bytes.unit()
        more = [2 * self.bytes.unit() for _ in range(self.bytes.integer(0, 8))]
        return list(itertools.accumulate([1.0, *more]))

    def ids(self) -> list[int]:
        known = sorted(self.most)
        return sorted({self.bytes.pick(known) for _ in range(self.bytes.integer(0, 3)) if known})

    def add(self) -> None:
        flow = self.flow()
        bad = self.bytes.chance(24)
        if bad:
            spoilt = self.bytes.pick(["weight", "arrival", "jobs", "work", "after", "max_slots"])
            if spoilt in flow:
                flow[spoilt] = self.bytes.wrong()
            elif flow["jobs"]:
                self.bytes.pick(flow["jobs"])[spoilt] = self.bytes.pick(["nobody", -1, 1e300, [3]])
            else:
                bad = False
        found = self.refused_add(flow) if bad else self.both("add", mb_flows(flow))
        if not found:
            return
        first, second = (ids.jobs.tolist() for ids in found)
        assert first == second
        jobs = flow["jobs"]
        (flow_id,) = found[0].flows.tolist()
        for job_id, job in zip(first, jobs, strict=True):
            assert job_id not in self.most and job_id not in self.gone
            self.most[job_id] = job.get("max_slots", MOST_SLOTS)
            self.flow_of[job_id] = flow_id
            self.parents[job_id] = [first[int(name[1:])] for name in job["after"]]

    def refused_add(self, flow: dict[str, Any]) -> Any:
        try:
            table = mb_flows(flow)
        except (ValueError, TypeError):
            return None
        return self.both("add", table)

    def update(self) -> None:
        ids = self.ids()
        named: dict[str, Any] = {}
        if self.bytes.chance(200):
            named["work"] = [self.bytes.amount() for _ in ids]
        how = self.bytes.byte()
        if how >= 192:
            named["max_slots"] = [self.bytes.slots() for _ in ids]
        if how % 8 == 1:
            named["speedup"] = [self.speedup() for _ in ids]
        bad = False
        if ids and self.bytes.chance(32):
            if self.bytes.chance(128):
                ids = [*ids, self.bytes.pick([-1, 10**9, 10**30, *self.gone[:3]])]
                named = {name: [*values, 1] for name, values in named.items()}
                bad = True
            elif named:
                name = self.bytes.pick(sorted(named))
                wrong = NO_SPEEDUP if name == "speedup" else UNWHOLE
                named[name][0] = self.bytes.wrong() if name == "work" else self.bytes.pick(wrong)
                bad = True
        if self.both("update", ids, bad=bad, **named) and "max_slots" in named:
            self.most |= dict(zip(ids, named["max_slots"], strict=True))

    def finish(self) -> None:
        ids = self.ids()
        if self.both("finish", ids):
            for job_id in ids:
                del self.most[job_id]
            self.gone += ids

    def remove(self) -> None:
        ids = self.ids()
        known = sorted({self.flow_of[job_id] for job_id in self.most})
        flows = [self.bytes.pick(known)] if known and self.bytes.chance(64) else []
        bad = self.bytes.chance(24)
        if bad:
            (ids if self.bytes.chance(128) else flows).append(self.bytes.pick([-1, 10**9]))
        if not self.both("remove", ids, flows=flows, bad=bad):
            return
        gone = set(ids) | {job_id for job_id in self.most if self.flow_of[job_id] in flows}
        for job_id in sorted(self.most):  # parents come before their children
            if gone.intersection(self.parents[job_id]):
                gone.add(job_id)
        for job_id in gone:
            del self.most[job_id]
        self.gone += sorted(gone)

    def update_flows(self) -> None:
        known = sorted({self.flow_of[job_id] for job_id in self.most})
        flows = [self.bytes.pick(known)] if known else []
        named: dict[str, Any] = {"flows": flows}
        if self.bytes.chance(128):
            named["weight"] = [self.bytes.amount(WEIGHT) for _ in flows]
        if self.bytes.chance(128):
            named["deadline"] = [self.bytes.time() for _ in flows]
        if self.bytes.chance(128):
            named["sla"] = [[(self.bytes.time(), self.bytes.amount(WEIGHT))] for _ in flows]
        bad = bool(flows) and self.bytes.chance(32)
        if bad:
            spoilt = self.bytes.pick(["flows", "weight", "deadline", "sla"])
            wrong = {
                "flows": 10**9,
                "weight": -1.0,
                "deadline": float("nan"),
                "sla": [(2, 1), (1, 0)],
            }
            named[spoilt] = [wrong[spoilt]]
        self.both("update", bad=bad, **named)

    def decide(self) -> None:
        at: Any = min(LATEST, self.now + self.bytes.amount((1e-12, LATEST)))
        named: dict[str, Any] = {}
        if self.bytes.chance(64):
            named["slots"] = 0 if self.bytes.chance(32) else self.bytes.slots()
        bad = self.bytes.chance(16)
        if bad and self.bytes.chance(128):
            before = [self.now - 1.0] if self.decided else []
            at = self.bytes.pick([float("nan"), float("inf"), 1e300, "x", None, *before])
        elif bad:
            named["slots"] = self.bytes.pick([-1, 2.5, 2**51, 10**30, "x", float("nan")])
        found = self.both("decide", at, bad=bad, **named)
        if not found:
            return
        self.decided = True
        self.now, self.slots = at, named.get("slots", self.slots)
        decision, same = found
        assert decision.ids.tolist() == same.ids.tolist()
        assert decision.slots.tolist() == same.slots.tolist()
        assert decision.changed.tolist() == same.changed.tolist()
        given = dict(zip(decision.ids.tolist(), decision.slots.tolist(), strict=True))
        assert sum(given.values()) <= self.slots
        for job_id, slots in given.items():
            assert 0 <= slots <= self.most[job_id], (job_id, slots)
        if self.slots and self.bytes.chance(100):
            plan = decision.plan()
            assert plan.lower_bound <= plan.value
            plan.validate()

    def run(self) -> None:
        calls = [self.add, self.add, self.update, self.finish, self.decide, self.decide]
        calls += [self.remove, self.update_flows]
        for _ in range(40):
            if not self.bytes:
                break
            self.bytes.pick(calls)()


def mb_flows(flow: dict[str, Any]) -> Any:
    meta = {key: [value] for key, value in flow.items() if key != "jobs"}
    return mb.Flows([flow["jobs"]], **meta)


def target(data: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for plans in (False, True):
            Sequence(Bytes(data), plans).run()


if __name__ == "__main__":
    sys.exit(run(target, sys.argv[1:]))
