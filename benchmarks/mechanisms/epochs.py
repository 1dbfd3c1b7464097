"""Sets of loops that ask an epoch, on families that are not in the benchmarks against rivals."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

import malleable as mb
from benchmarks.instances import due_table, periodic_errors
from benchmarks.mechanisms import Instance, instances
from benchmarks.mechanisms.families import DAGS, FAMILIES, dags, mean_time, stream, table
from benchmarks.rivals.loops import FlowEpochRule, JobEpoch, hold_flows, hold_jobs
from benchmarks.rivals.sections.periods import penalty

_SEEDS = tuple(range(1, 9))


def _cost(objective: str, jobs: Any, done: Any) -> float:
    kind = objective.split(":")[1]
    if objective.startswith("sum"):
        return penalty(objective, jobs, done)
    late, response = done - jobs.deadline, done - jobs.arrival
    values = {
        "tardiness": np.maximum(late, 0.0),
        "lateness": late,
        "response": response,
        "stretch": response / jobs.work,
    }
    return float((jobs.weight * values[kind]).max())


_stream = lru_cache(maxsize=64)(stream)


def _loop(family: str, objective: str, periods: float, sigma: float, seed: int) -> float:
    jobs, slots = _stream(family, seed) if periods else _stream(family, seed, load=0.95, tight=True)
    if objective in ("sum:response", "sum:stretch"):
        jobs = jobs._replaced(weight=np.ones(len(jobs)))
    period = periods * mean_time(jobs)
    believed = jobs.work * periodic_errors(seed, sigma, len(jobs)) if sigma else None
    asked = JobEpoch(slots, objective, period=period)
    return _cost(objective, jobs, hold_jobs(jobs, slots, asked, period, believed))


def _loops(objectives: tuple[str, ...], periods: tuple[float, ...]) -> Iterator[Instance]:
    for family in FAMILIES:
        for objective in objectives:
            for period in periods:
                load = "load 0.85" if period else "load 0.95, tight deadlines"
                for sigma in (0.0, 1.0) if objective == "sum:response" and period == 1 else (0.0,):
                    wrong = f", sizes wrong by sigma {sigma:g}" if sigma else ""
                    yield Instance(
                        f"{family} stream, 300 jobs, {load}, period {period:g} mean times{wrong}: {objective}",
                        objective,
                        lambda seed, f=family, o=objective, p=period, s=sigma: _loop(
                            f, o, p, s, seed
                        ),
                        _SEEDS,
                    )


@instances("loops-period", "families")
def periods() -> Iterator[Instance]:
    """Loops whose decisions are held."""
    yield from _loops(
        ("sum:response", "sum:stretch", "sum:tardiness", "sum:tardy", "max:tardiness"),
        (0.3, 1.0, 4.0),
    )


@instances("loops-events", "families")
def events() -> Iterator[Instance]:
    """Loops that ask whenever a job comes or ends."""
    yield from _loops(
        ("sum:tardiness", "sum:tardy", "max:tardiness", "max:response", "max:stretch"), (0.0,)
    )


def _many(g: float, seed: int) -> float:
    jobs, slots = due_table(6_000, g, seed)
    period = float(jobs.work.sum()) / slots / 100
    done = hold_jobs(jobs, slots, JobEpoch(slots, "sum:tardy"), period, between=False)
    return penalty("sum:tardy", jobs, done)


@instances("loops-many", "benchmarks")
def many() -> Iterator[Instance]:
    """So many jobs with steps that keys decide."""
    for g in (1.0, 0.35, 0.06):
        yield Instance(
            f"T(6,000, {g:g}), asked 100 times without a period: sum:tardy",
            "sum:tardy",
            lambda seed, g=g: _many(g, seed),
            (1, 2, 3),
        )


def _started(family: str, objective: str, seed: int) -> float:
    jobs, slots = stream(family, seed, 400, 0.9)
    p = np.random.default_rng(seed).uniform(0.4, 1.0, len(jobs))
    columns = {"arrival": jobs.arrival, "max_slots": jobs.max_slots, "deadline": jobs.deadline}
    table = mb.Jobs(jobs.work, min_slots=np.maximum(1, jobs.max_slots // 4), speedup=p, **columns)
    found = mb.simulate(
        table, policy="flex", slots=slots, min_mode="start", objective=objective, records=False
    )
    return float(found.summary["flex"]["value"])


@instances("loops-starts", "families")
def starts() -> Iterator[Instance]:
    """Loops of jobs that wait until they get a quarter of their maximum, with speed-ups s^U(0.4, 1)."""
    for family in FAMILIES:
        for objective in ("sum:response", "sum:stretch", "sum:tardiness", "max:response"):
            yield Instance(
                f"{family} stream, 400 jobs, load 0.9, start conditions: {objective}",
                objective,
                lambda seed, f=family, o=objective: _started(f, o, seed),
                _SEEDS,
            )


def _flow_loop(family: str, periods: float, seed: int) -> float:
    flows, slots = dags(family, seed, 80, 0.8)
    period = periods * float(flows.work.mean()) / 12
    asked = FlowEpochRule(flows, slots, "sum:response", period)
    return float((flows.weight * (hold_flows(flows, slots, asked, period) - flows.arrival)).mean())


@instances("loops-flows", "families")
def flow_loops() -> Iterator[Instance]:
    """Flows whose decisions are held."""
    for family in DAGS:
        for period in (0.1, 1.0, 4.0):
            yield Instance(
                f"{family}, 80 flows, load 0.8, period {period:g} mean times: sum:response",
                "sum:response",
                lambda seed, f=family, p=period: _flow_loop(f, p, seed),
                _SEEDS,
            )


def _decided(family: str, objective: str, seed: int) -> float:
    jobs, slots = table(family, seed, 25_000)
    epoch = mb.Epoch(slots, objective)
    ids = epoch.add(jobs)
    epoch.decide(0.0)
    some = np.random.default_rng(seed).choice(len(jobs), 250, replace=False)
    epoch.update(ids[some], work=jobs.work[some] / 2)
    return float(epoch.decide(0.1).value)


@instances("decisions-maxima", "families")
def maxima() -> Iterator[Instance]:
    """What a decision of very many jobs makes of a maximum, if no other job comes."""
    for family in FAMILIES:
        for objective in ("max:tardiness", "max:stretch"):
            yield Instance(
                f"{family} table, 25,000 jobs, second decision: {objective}",
                objective,
                lambda seed, f=family, o=objective: _decided(f, o, seed),
                (1, 2, 3),
            )
