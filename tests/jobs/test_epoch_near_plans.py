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


def table(rng: np.random.Generator) -> tuple[dict[str, Any], int]:
    """Columns of two to eight jobs, and slots."""
    count, slots = int(rng.integers(2, 9)), int(rng.choice([1, 3, 8, 64]))
    work = np.where(
        rng.random(count) < 0.5, rng.uniform(0.1, 10.0, count), rng.lognormal(1.0, 1.5, count)
    )
    work *= np.sqrt(slots)
    most = np.where(rng.random(count) < 0.3, slots, rng.integers(1, slots + 1, count))
    if rng.random() < 0.3:
        most = rng.choice([1, slots], count)
    least = np.where(rng.random(count) < 0.2, rng.integers(0, most + 1), 0)
    while least.sum() > slots:
        least //= 2
    alone, total = work / most, work.sum() / slots
    due = alone + rng.uniform(0.0, 1.2, count) * total * rng.choice([0.35, 1.0])
    steps = int(rng.integers(1, 4))
    times = alone[:, None] * rng.uniform(0.5, 3.0, (count, steps))
    times = np.sort(times + rng.uniform(0.0, 1.0, (count, steps)) * total, axis=1)
    rises = np.cumsum(rng.integers(1, 5, (count, steps)), axis=1)
    return {
        "work": work,
        "max_slots": most,
        "min_slots": least,
        "weight": rng.integers(1, 10, count) if rng.random() < 0.5 else np.ones(count),
        "deadline": due,
        "sla": np.stack([times, rises], axis=2).tolist(),
    }, slots


@pytest.mark.parametrize("objective", [*OBJECTIVES, "gangs"])
def test_decisions_begin_plans_that_are_as_good_as_those_of_plan(objective: str) -> None:
    options = {}
    if objective == "gangs":
        objective, options = "sum:response", {"min_mode": "gang"}
    how, kind = objective.split(":")
    near = 1e-6 if how == "max" else NEAR.get(kind, 0.05)
    for case in range(part(850, 100)):
        columns, slots = table(np.random.default_rng([case, len(objective)]))
        if options:
            columns["min_slots"] = columns["max_slots"]
        epoch = mb.Epoch(slots, objective, **options)
        epoch.add(**columns)
        decision = epoch.decide(0.0)
        plan = decision.plan()
        plan.validate()
        assert plan.slots.tolist() == decision.slots.tolist()
        best = mb.plan(mb.Jobs(**columns), slots, objective, **options)
        scale = max(abs(best.value), 1e-3)
        if kind == "lateness":
            scale += float(np.max(columns["weight"]))
        assert decision.value <= best.value + near * scale, case
