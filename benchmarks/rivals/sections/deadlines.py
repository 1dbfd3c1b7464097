"""Deadlines: plans of large tables, and loops that decide whenever a job ends.

A plan's rivals are list schedules (`rivals.pack`): jobs get all that they can use, in one order. Floors: the
plan's own lower bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

import malleable as mb
from benchmarks.instances import (
    DUE_EVERY,
    due_steps,
    due_stream,
    due_table,
    facebook_due,
    section41_larger,
    traces,
    width_stream,
)
from benchmarks.rivals import rules as rivals
from benchmarks.rivals.loops import JobEpoch, hold_jobs
from benchmarks.rivals.sections.periods import penalty
from benchmarks.rivals.table import Row, section

_LARGE_EFFORT = 50_000


def _keys(jobs: mb.Jobs, slots: int) -> dict[str, Any]:
    """Orders of the list schedules, by their keys; steps count as due at the last of them."""
    most = np.minimum(jobs.max_slots, slots)
    steps = jobs.sla_time.reshape(len(jobs), -1)
    due = steps[:, -1] if steps.size and not np.isfinite(jobs.deadline).any() else jobs.deadline
    short = jobs.work / np.maximum(jobs.weight, 1e-12)
    start = due - jobs.work / most
    on_time = (
        rivals.on_time_set(jobs.work, most, due, jobs.weight, slots) if len(jobs) <= 5_000 else None
    )
    found = {
        "EDF": due,
        "latest start": start,
        "Smith": short,
        "apparent cost": -np.log(1 / short)
        + np.maximum(start, 0.0) / (2.0 * jobs.work.sum() / slots / 10),
    }
    if on_time is not None:
        place = np.empty(len(jobs))
        place[np.lexsort((np.where(on_time, start, short), ~on_time))] = np.arange(len(jobs))
        found["on-time set"] = place
    return found


def _cost(jobs: mb.Jobs, kind: str, done: Any) -> float:
    late = np.maximum(done - jobs.deadline, 0.0)
    if kind == "sla":
        passed = done[:, None] > jobs.sla_time.reshape(len(jobs), -1) * (1 + 1e-9)
        return float((jobs.weight * passed.sum(axis=1)).sum())
    return float(
        (jobs.weight * (late if kind == "tardiness" else late > 1e-9 * jobs.deadline)).sum()
    )


@lru_cache(maxsize=2)
def _default(name: str, size: Any, kind: str) -> Any:
    jobs, slots = _TABLES[name](size)
    return mb.plan(jobs, slots, f"sum:{kind}")


def _planned(name: str, size: Any, kind: str, rule: str) -> float:
    jobs, slots = _TABLES[name](size)
    if rule in ("plan", "bound"):
        plan = _default(name, size, kind)
        return float(plan.value if rule == "plan" else plan.lower_bound)
    if rule == "large effort":
        return float(mb.plan(jobs, slots, f"sum:{kind}", effort=_LARGE_EFFORT).value)
    key = _keys(jobs, slots)[rule]
    most = np.minimum(jobs.max_slots, slots)
    order = np.argsort(key, kind="stable")
    return _cost(jobs, kind, rivals.pack(order, jobs.work, jobs.min_slots, most, slots))


_TABLES: dict[str, Any] = {
    "T(n, 1)": lambda n: due_table(n, 1.0),
    "T(n, 0.35)": lambda n: due_table(n, 0.35),
    "T(n, 0.06)": lambda n: due_table(n, 0.06),
    "P(n)": lambda n: section41_larger(n, 1, weighted=True),
    "F(0.35)": lambda n: facebook_due(0.35, jobs=n),
    "steps(n, 0.35)": lambda n: due_steps(n, 0.35),
}


@section(
    "tables-deadlines",
    'Plans of n jobs with weights and deadlines. Ours is `mb.plan` with its defaults, and "large '
    'effort" is the same with `effort=50000`. The last word of a row says what its figure is: the '
    'weighted sum of tardiness [s], the weight of the tardy jobs ("tardy"), or the weighted '
    'number of SLA steps that are missed ("sla"). Four functions make the instances: `due_table` '
    "makes T(n, g), `section41_larger` makes P(n), `facebook_due` makes F(g), and `due_steps` "
    "makes steps(n, g). The smaller g is, the tighter the deadlines are. The floor is the lower "
    "bound of the plan",
)
def tables_rows(quick: bool) -> Iterator[Row]:
    names = ("EDF", "latest start", "Smith", "apparent cost")
    for size in (500,) if quick else (1_000, 10_000):
        rules = (*names, "on-time set") if size <= 5_000 else names
        for name in _TABLES:
            if name.startswith("F") and traces() is None:
                continue
            for kind in ("sla",) if name.startswith("steps") else ("tardiness", "tardy"):
                yield Row(
                    f"{name}, n = {size:,}, {kind}",
                    lambda rule, _, name=name, size=size, kind=kind: _planned(
                        name, size, kind, rule
                    ),
                    ours=("plan",) if quick or size > 1_000 else ("plan", "large effort"),
                    rivals=rules,
                    floors=("bound",),
                )


_LOOP = {
    "FAIR": rivals.equal_shares,
    "EDF": rivals.edf,
    "apparent cost": rivals.apparent_cost,
    "latest start": rivals.latest_start,
    "SRPT": rivals.srpt,
}


def _loop(jobs: int, load: float, kind: str, rule: str, seed: int) -> float:
    """Weighted sum over the jobs."""
    table, slots = due_stream(seed, jobs, load)
    asked: Any = _LOOP.get(rule) or JobEpoch(slots, f"sum:{kind}")
    done = hold_jobs(table, slots, asked, DUE_EVERY, between=True)
    return penalty(f"sum:{kind}", table, done) * float(table.weight.sum())


@section(
    "loops-deadlines",
    "Jobs with weights and tight deadlines come one after the other (`due_stream`). The loop "
    "decides whenever a job ends, and every 5 s. The figures are the weighted sum of tardiness "
    '[s], or the weight of the tardy jobs ("tardy"). Ours is FLEX',
)
def loops_rows(quick: bool) -> Iterator[Row]:
    for jobs, load in ((200, 0.9),) if quick else ((500, 0.9), (1_500, 1.2)):
        for kind in ("tardiness", "tardy"):
            yield Row(
                f"{jobs} jobs, load {load:g}, {kind}",
                lambda rule, seed, jobs=jobs, load=load, kind=kind: _loop(
                    jobs, load, kind, rule, seed
                ),
                ours=("FLEX",),
                rivals=tuple(_LOOP),
                seeds=range(1 if quick else 2 if jobs > 500 else 5),
            )


_MAXIMA = {
    "FAIR": rivals.equal_shares,
    "EDF": rivals.edf,
    "latest start": rivals.due_start,
    "SRPT": rivals.srpt,
}


def _most(kind: str, widths: str, slack: float, rule: str, seed: int) -> float:
    """The largest penalty of all jobs."""
    jobs, slots = width_stream(seed, widths, slack)
    asked: Any = _MAXIMA.get(rule) or JobEpoch(slots, f"max:{kind}")
    done = hold_jobs(jobs, slots, asked, 0.0)
    late, response = done - jobs.deadline, done - jobs.arrival
    values = {
        "tardiness": np.maximum(late, 0.0),
        "lateness": late,
        "response": response,
        "stretch": response / jobs.work,
    }
    return float(values[kind].max())


@section(
    "events-maxima",
    "Jobs of very different widths come one after the other (`width_stream`). The loop decides "
    "whenever a job comes or ends. The figures are the largest tardiness, lateness or response "
    "[s], or the largest stretch. The smaller the slack is, the tighter the deadlines are. Ours is "
    "FLEX",
)
def maxima_rows(quick: bool) -> Iterator[Row]:
    kinds = [("tardiness", 5.0), ("tardiness", 1.0), ("lateness", 1.0)]
    for widths in ("uniform", "extreme"):
        for kind, slack in [*kinds, ("response", 1.0), ("stretch", 1.0)]:
            yield Row(
                f"{widths} widths, slack {slack:g}, max:{kind}",
                lambda rule, seed, kind=kind, widths=widths, slack=slack: _most(
                    kind, widths, slack, rule, seed
                ),
                ours=("FLEX",),
                rivals=tuple(_MAXIMA),
                seeds=range(1 if quick else 12),
            )
