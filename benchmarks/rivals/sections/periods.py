"""Loops whose decisions are held for a period: jobs, and flows.

"FLEX" is what a user gets: the objective and, where `decide` takes one, the period. "without" is FLEX that is
not told the period. Rivals are told it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.instances import (
    LOOP_PERIODS,
    LOOP_SEEDS,
    SERVICE,
    periodic_errors,
    periodic_flows,
    periodic_jobs,
)
from benchmarks.rivals import rules as rivals
from benchmarks.rivals.loops import FlowEpochRule, JobEpoch, hold_flows, hold_jobs
from benchmarks.rivals.table import Row, section

_PLAIN = {
    "FAIR": rivals.equal_shares,
    "FAIR capped": rivals.fair_capped,
    "FAIR, left-over": rivals.fair_left_over,
    "SRPT": rivals.srpt,
    "SRPT capped": rivals.srpt_capped,
    "SRPT, left-over": rivals.srpt_left_over,
    "least work x size": rivals.by_size,
    "EDF": rivals.edf,
    "apparent cost": rivals.apparent_cost,
    "apparent cost, capped": rivals.apparent_cost_capped,
    "latest start": rivals.latest_start,
}
_SUMS = ("FAIR", "FAIR capped", "FAIR, left-over", "SRPT capped", "SRPT, left-over")


def penalty(objective: str, jobs: Any, done: Any) -> float:
    """What completions cost; the mean for sums of response and stretch, the share for tardy weight."""
    response = done - jobs.arrival
    late = np.maximum(done - jobs.deadline, 0.0)
    if objective == "sum:response":
        return float(response.mean())
    if objective == "sum:stretch":
        return float((response / jobs.work).mean())
    cost = jobs.weight * ((late > 1e-9) if objective == "sum:tardy" else late)
    return float(cost.max() if objective.startswith("max") else cost.sum() / jobs.weight.sum())


@lru_cache(maxsize=64)
def _instance(seed: int, load: float, period: float, weighted: bool) -> Any:
    table, slots = periodic_jobs(seed, load, period)
    return (table if weighted else table._replaced(weight=np.ones(len(table)))), slots


def held(
    objective: str, period: float, load: float, rule: str, seed: int, sigma: float = 0.0
) -> float:
    """One loop."""
    weighted = objective not in ("sum:response", "sum:stretch")
    table, slots = _instance(seed, load, period, weighted)
    believed = table.work * periodic_errors(seed, sigma) if sigma else None
    asked: Any = _PLAIN.get(rule)
    if asked is None:
        asked = JobEpoch(slots, objective, period=period if rule == "FLEX" else 0.0)
    return penalty(objective, table, hold_jobs(table, slots, asked, period, believed))


def _row(
    label: str, objective: str, period: float, load: float, seeds: Any, names: Any, **more: Any
) -> Row:
    sigma, seconds = more.get("sigma", 0.0), period * SERVICE
    return Row(
        f"{label}, P = {period:g}",
        lambda rule, seed: held(objective, seconds, load, rule, seed, sigma),
        ours=("FLEX", "without"),
        rivals=names,
        seeds=seeds,
    )


@section(
    "loops-period-jobs",
    "Jobs come one after the other (`periodic_jobs`), and the loop holds each decision for a period "
    "of P times 4.59 s. (A job that has its maximum of slots takes 4.59 s on average.) Ours is "
    'FLEX, and "without" is FLEX that is not told the period. The first word of a row says what '
    'its figure is. "response" is the mean response [s], and "stretch" the mean stretch. '
    '"tardiness" is the mean tardiness [s], each job counted by its weight. "tardy" is the weight '
    'of tardy jobs, as a part of all weight. "max:tardiness" is the largest tardiness times '
    "weight [s]. In rows with sigma, all rules are told sizes that are wrong by this sigma",
)
def jobs_rows(quick: bool) -> Iterator[Row]:
    seeds = range(2) if quick else LOOP_SEEDS
    few = range(5)  # of loops with very many decisions
    periods = (0.5, 5.0) if quick else LOOP_PERIODS
    for period in periods:
        own = few if period < 0.2 else seeds
        yield _row("response", "sum:response", period, 0.8, own, _SUMS)
    for period in periods if quick else periods[1:6]:
        names = ("FAIR", "FAIR, left-over", "SRPT, left-over", "least work x size")
        yield _row("stretch", "sum:stretch", period, 0.8, seeds, names)
    for period in (1.0,) if quick else (0.2, 1.0, 5.0, 20.0):
        due = ("FAIR", "FAIR, left-over", "EDF", "SRPT, left-over", "apparent cost, capped")
        yield _row("tardiness, load 0.9", "sum:tardiness", period, 0.9, seeds, due)
        yield _row("tardy, load 0.9", "sum:tardy", period, 0.9, seeds, due)
        yield _row("max:tardiness, load 0.9", "max:tardiness", period, 0.9, seeds, due)
    for sigma in (0.5,) if quick else (0.5, 1.0):
        for period in (1.0,) if quick else (0.2, 0.5, 1.0, 2.0, 5.0):
            label = f"response, sizes wrong by sigma {sigma:g}"
            yield _row(label, "sum:response", period, 0.8, seeds, _SUMS, sigma=sigma)


_FLOWS = {
    "equal shares": rivals.equal_one_by_one,
    "srwf": rivals.srwf,
    "srwf capped": rivals.srwf_capped,
    "srwf, left-over": rivals.srwf_left_over,
}


def periodic_flow(rule: str, seed: int, period: float) -> float:
    """Mean response of flows."""
    flows, slots = periodic_flows(seed)
    asked: Any = _FLOWS.get(rule)
    if asked is None:
        said = period if rule == "FlowEpoch" else 0.0
        asked = FlowEpochRule(flows, slots, "sum:response", said)
    return float((hold_flows(flows, slots, asked, period) - flows.arrival).mean())


@section(
    "loops-period-flows",
    "Flows come one after the other (`periodic_flows`), and the loop holds each decision for P "
    'seconds. The figures are mean responses of flows [s]. Ours is `FlowEpoch`, and "without" is '
    "`FlowEpoch` that is not told the period",
)
def flows_rows(quick: bool) -> Iterator[Row]:
    for period in (0.5, 5.0) if quick else (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0):
        yield Row(
            f"P = {period:g} s",
            lambda rule, seed, period=period: periodic_flow(rule, seed, period),
            ours=("FlowEpoch", "without"),
            rivals=tuple(_FLOWS),
            seeds=range(2) if quick else LOOP_SEEDS,
        )
