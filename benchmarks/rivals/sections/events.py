"""Loops that decide whenever a job comes or ends, or once a period: many worlds, plainest rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.instances import event_stream
from benchmarks.rivals import rules as rivals
from benchmarks.rivals.loops import JobEpoch, hold_jobs
from benchmarks.rivals.table import Row, section

_RULES = {
    "FAIR": rivals.equal_shares,
    "SRPT": rivals.srpt,
    "area": rivals.least_area,
    "catch up": rivals.catch_up,
    "stretch area": rivals.least_stretch_area,
    "stretch catch up": rivals.stretch_catch_up,
    "FAIR, a quarter left": rivals.equal_shares,
    "SRPT, a quarter left": rivals.srpt_outlived,
    "EDF": rivals.edf,
    "Smith": rivals.smith,
    "latest start": rivals.due_start,
    "on-time set": rivals.latest_start,
    "apparent cost": rivals.apparent_cost,
    "apparent cost, capped": rivals.apparent_cost_capped,
    "apparent cost, median": rivals.apparent_cost_median,
    "cost while on time": rivals.cost_on_time,
    "gangs by work": rivals.gangs_by_work,
    "gangs by time": rivals.gangs_by_time,
    "gangs by cost": rivals.gangs_by_cost,
}


def cost(objective: str, jobs: Any, steps: Any, done: Any) -> float:
    """Mean of the penalties, or the largest."""
    how, kind = objective.split(":")
    response, late = done - jobs.arrival, np.maximum(done - jobs.deadline, 0.0)
    if kind == "sla":
        after = done[:, None] > steps[:, :, 0] * (1 + 1e-9)
        paid = np.concatenate([np.zeros((len(jobs), 1)), steps[:, :, 1]], axis=1)
        values = paid[np.arange(len(jobs)), after.sum(axis=1)]
    else:
        values = {
            "response": response,
            "stretch": response / jobs.work,
            "tardiness": late,
            "tardy": (late > 1e-9 * np.abs(jobs.deadline)).astype(float),
        }[kind]
    values = values * jobs.weight
    return float(values.max() if how == "max" else values.mean())


def play(objective: str, world: dict[str, Any], rule: str, seed: int) -> float:
    """One loop: ``world`` has arguments of `event_stream`, ``gang``, ``sigma`` and ``period``."""
    drawn = dict(world)
    gang, sigma, options = drawn.pop("gang", False), drawn.pop("sigma", 0.0), {}
    period = drawn.pop("period", 0.0)
    jobs, slots, changes = event_stream(seed, **drawn)
    believed = None
    if sigma:
        believed = jobs.work * np.random.default_rng([seed, 1]).lognormal(0.0, sigma, len(jobs))
    steps = None
    if "steps" in drawn:
        count = drawn["steps"][0]
        steps = np.stack([jobs.sla_time, jobs.sla_penalty], axis=1).reshape(len(jobs), count, 2)
    if gang:
        options["min_mode"] = "gang"
    asked: Any = _RULES.get(rule)
    if rule == "steps in reach":
        asked = rivals.StepsInReach(steps)
    elif asked is None:
        policy = "fair" if rule == "fair" else "flex"
        asked = JobEpoch(slots, objective, policy, period, steps, **options)
    done = hold_jobs(jobs, slots, asked, period, believed, changes=changes)
    return cost(objective, jobs, steps, done)


_SUM = ("SRPT", "area", "catch up", "FAIR")
_STRETCH = ("SRPT", "stretch area", "stretch catch up", "FAIR")
_DUE = ("EDF", "Smith", "latest start", "on-time set", "apparent cost", "apparent cost, median")
_TARDY = (*_DUE, "cost while on time")
_WRONG = ("SRPT, a quarter left", "SRPT")
_CAPPED = ("apparent cost, capped",)
_GANG = ("gangs by work", "gangs by time")
_GANG_DUE = (*_GANG, "gangs by cost")

WORLDS: list[tuple[str, str, tuple[str, ...], dict[str, Any]]] = [
    ("widths uniform", "sum:response", _SUM, {}),
    ("widths 1 or all", "sum:response", _SUM, {"widths": "extreme"}),
    ("exponential", "sum:response", _SUM, {"sizes": "exp"}),
    ("Pareto, load 0.7", "sum:response", _SUM, {"sizes": "pareto", "load": 0.7}),
    ("batches", "sum:response", _SUM, {"arrivals": "batches"}),
    ("waves, exponential", "sum:response", _SUM, {"arrivals": "waves", "sizes": "exp"}),
    ("load 1.1, 1 or all", "sum:response", _SUM, {"load": 1.1, "widths": "extreme"}),
    ("slots that change", "sum:response", _SUM, {"changing": True, "load": 0.7}),
    ("widths with work", "sum:response", _SUM, {"widths": "with work"}),
    ("weights", "sum:response", _SUM, {"weights": True}),
    ("widths uniform", "sum:stretch", _STRETCH, {}),
    ("widths 1 or all", "sum:stretch", _STRETCH, {"widths": "extreme"}),
    ("widths uniform", "max:stretch", ("FAIR",), {}),
    ("widths 1 or all", "max:stretch", ("FAIR",), {"widths": "extreme"}),
    ("loose", "max:tardiness", ("EDF", "latest start"), {"due": (5.0, 0.0)}),
    ("tight", "max:tardiness", ("EDF", "latest start"), {"due": (0.5, 0.0)}),
    ("three in ten impossible", "max:tardiness", ("EDF", "latest start"), {"due": (2.0, 0.3)}),
    ("outlived, sigma 0.25", "sum:response", _WRONG, {"sigma": 0.25, "widths": "all"}),
    ("outlived, sigma 0.5", "sum:response", _WRONG, {"sigma": 0.5}),
    ("outlived, sigma 1", "sum:response", _WRONG, {"sigma": 1.0}),
    ("gangs, load 0.7", "sum:response", _GANG, {"gang": True, "load": 0.7}),
    ("gangs, load 0.9", "sum:response", _GANG, {"gang": True}),
    ("gangs, any width", "sum:response", _GANG, {"gang": True, "widths": "log"}),
    (
        "gangs, Pareto, weights",
        "sum:response",
        _GANG,
        {"gang": True, "sizes": "pareto", "weights": True},
    ),
    ("gangs", "sum:tardiness", _GANG_DUE, {"gang": True, "due": (2.0, 0.0)}),
    ("far", "sum:sla", ("steps in reach",), {"steps": (3, 4.0, 1.0)}),
    ("near", "sum:sla", ("steps in reach",), {"steps": (3, 1.0, 1.0)}),
    ("steep", "sum:sla", ("steps in reach",), {"steps": (3, 2.0, 4.0)}),
    ("many", "sum:sla", ("steps in reach",), {"steps": (10, 3.0, 1.0)}),
    ("three in ten impossible", "sum:tardiness", _DUE, {"due": (2.0, 0.3)}),
    ("tight", "sum:tardiness", _DUE, {"due": (0.5, 0.0)}),
    ("loose", "sum:tardiness", _DUE, {"due": (5.0, 0.0)}),
    ("tight", "sum:tardy", _TARDY, {"due": (0.5, 0.0)}),
    ("three in ten impossible", "sum:tardy", _TARDY, {"due": (2.0, 0.3)}),
    ("weights, tight", "sum:tardy", _TARDY, {"due": (0.5, 0.0), "weights": True}),
    ("weights, tight", "sum:tardiness", _DUE, {"due": (0.5, 0.0), "weights": True}),
]
"""Row, objective, rivals, arguments."""
HELD: list[tuple[str, str, tuple[str, ...], dict[str, Any]]] = [
    ("steep, P = 1 s", "sum:sla", ("steps in reach",), {"steps": (3, 2.0, 4.0), "period": 1.0}),
    ("steep, P = 4 s", "sum:sla", ("steps in reach",), {"steps": (3, 2.0, 4.0), "period": 4.0}),
    ("tight, P = 0.25 s", "sum:tardiness", _CAPPED, {"due": (0.5, 0.0), "period": 0.25}),
    ("tight, P = 1 s", "sum:tardiness", _CAPPED, {"due": (0.5, 0.0), "period": 1.0}),
    ("loose, P = 1 s", "sum:tardiness", _CAPPED, {"due": (2.0, 0.0), "period": 1.0}),
]
"""The same, for loops that decide once a period."""


@section(
    "events",
    "Jobs come one after the other (`event_stream`), and the loop decides whenever a job comes or ends; in "
    "rows with P, it decides every P seconds. The figures are means over the jobs, or the largest value, of "
    "what the objective counts, times weight. Widths are maxima of slots. Ours is FLEX",
)
def events_rows(quick: bool) -> Iterator[Row]:
    for label, objective, names, world in (*WORLDS, *HELD):
        yield Row(
            f"{objective}, {label}",
            lambda rule, seed, objective=objective, world=world: play(objective, world, rule, seed),
            ours=("FLEX",),
            rivals=names,
            seeds=range(100, 101 if quick else 112),
        )
