"""A decision is as good as the plan behind it: for tables to which nothing is added later."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import malleable as mb
from tests.full import part

# How much more than the plan's value, and how much more than nothing, the value may be.
NEAR = {"response": 0.01, "stretch": 0.01, "completion": 0.01, "lateness": 0.01}
OBJECTIVES = [
    *(f"max:{kind}" for kind in ("response", "stretch", "tardiness", "lateness", "completion")),
    *(f"sum:{kind}" for kind in ("response", "stretch", "lateness", "tardiness", "tardy", "sla")),
]


def table(rng: np.random.Generator, most: int = 8) -> tuple[dict[str, Any], int]:
    """Columns of two to ``most`` jobs, and slots."""
    count, slots = int(rng.integers(2, most + 1)), int(rng.choice([1, 3, 8, 64]))
    work = np.where(
        rng.random(count) < 0.5, rng.uniform(0.1, 10.0, count), rng.lognormal(1.0, 1.5, count)
    )
    work *= np.sqrt(slots)
    high = np.where(rng.random(count) < 0.3, slots, rng.integers(1, slots + 1, count))
    if rng.random() < 0.3:
        high = rng.choice([1, slots], count)
    least = np.where(rng.random(count) < 0.2, rng.integers(0, high + 1), 0)
    while least.sum() > slots:
        least //= 2
    alone, total = work / high, work.sum() / slots
    due = alone + rng.uniform(0.0, 1.2, count) * total * rng.choice([0.35, 1.0])
    steps = int(rng.integers(1, 4))
    times = alone[:, None] * rng.uniform(0.5, 3.0, (count, steps))
    times = np.sort(times + rng.uniform(0.0, 1.0, (count, steps)) * total, axis=1)
    rises = np.cumsum(rng.integers(1, 5, (count, steps)), axis=1)
    return {
        "work": work,
        "max_slots": high,
        "min_slots": least,
        "weight": rng.integers(1, 10, count) if rng.random() < 0.5 else np.ones(count),
        "deadline": due,
        "sla": np.stack([times, rises], axis=2).tolist(),
    }, slots


KINDS = {
    "malleable": OBJECTIVES,
    "gang": ["sum:response", "max:stretch", "max:tardiness", "sum:strict"],
    "curved": ["sum:response", "sum:tardiness", "sum:sla", "max:stretch", "max:lateness"],
}


def near(kind: str, objective: str, most: int) -> float:
    how, penalty = objective.split(":")
    if most > (80 if kind == "gang" else 8) and kind != "malleable":
        return 0.05  # fewer candidates than `plan` tries
    return 1e-6 if how == "max" else NEAR.get(penalty, 0.05)


def drawn(
    case: int, kind: str, objective: str, most: int
) -> tuple[dict[str, Any], int, dict[str, Any], float]:
    """A table, slots, options of an epoch, and what a value counts at least."""
    rng = np.random.default_rng([case, len(objective), most])
    columns, slots = table(rng, most)
    options = {}
    if kind == "gang":
        options["min_mode"] = "gang"
        columns["min_slots"] = columns["max_slots"]
    if kind == "curved":
        columns["speedup"] = rng.choice([0.5, 0.8, 1.0], len(columns["work"]))
    least = float(np.max(columns["weight"])) if objective.endswith("lateness") else 1e-3
    return columns, slots, options, least


# Searches of gangs and of speed-ups try fewer candidates than `plan` for many jobs.
CASES = [
    (kind, objective, most)
    for kind, all_of in KINDS.items()
    for objective in all_of
    for most in (8, 40, 256)
    if most <= 80 or kind == "malleable" or (kind, objective) == ("gang", "sum:response")
]


@pytest.mark.parametrize(("kind", "objective", "most"), CASES)
def test_decisions_begin_plans_that_are_as_good_as_those_of_plan(
    kind: str, objective: str, most: int
) -> None:
    tables = {8: part(850, 100), 40: part(100, 8), 256: part(40, 3)}
    for case in range(tables[most]):
        columns, slots, options, least = drawn(case, kind, objective, most)
        epoch = mb.Epoch(slots, objective, **options)
        epoch.add(**columns)
        decision = epoch.decide(0.0)
        plan = decision.plan()
        plan.validate()
        assert plan.slots.tolist() == decision.slots.tolist()
        best = mb.plan(mb.Jobs(**columns), slots, objective, **options)
        if best.value == np.inf:
            continue  # no plan meets all strict deadlines
        over = near(kind, objective, most) * (abs(best.value) + least)
        assert decision.value <= best.value + over, case


@pytest.mark.parametrize(
    ("kind", "objective"),
    [
        *(("malleable", f"sum:{penalty}") for penalty in ("response", "stretch", "lateness")),
        ("gang", "sum:response"),
    ],
)
def test_loops_in_which_nobody_comes_do_as_well_as_plans(kind: str, objective: str) -> None:
    for case in range(part(40, 5)):
        columns, slots, options, least = drawn(case, kind, objective, 40)
        epoch = mb.Epoch(slots, objective, **options)
        ids, left = epoch.add(**columns), columns["work"].copy()
        ends, now = np.zeros(len(ids)), 0.0
        there = np.ones(len(ids), dtype=bool)
        while there.any():
            decision = epoch.decide(now)
            given = np.zeros(len(ids))
            given[decision.ids] = decision.slots
            take = np.full(len(ids), np.inf)
            np.divide(left, given, out=take, where=there & (given > 0))
            ended = there & (take <= take.min() * (1 + 1e-12))
            left -= given * take.min()
            now += take.min()
            ends[ended], there[ended], left[ended] = now, False, 0.0
            epoch.finish(ids[ended])
            epoch.update(ids[there], work=left[there])
        paid = {
            "response": ends,
            "stretch": ends / columns["work"],
            "lateness": ends - columns["deadline"],
        }[objective.split(":")[1]]
        best = mb.plan(mb.Jobs(**columns), slots, objective, **options)
        value = float((columns["weight"] * paid).sum())
        assert value <= best.value + near(kind, objective, 40) * (abs(best.value) + least), case
