"""Policies side by side: the same jobs, several objectives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from malleable.jobs.plan import plan
from malleable.jobs.table import Jobs
from malleable.view.text import Table, number, percent, table, wall_time


@dataclass(frozen=True)
class ComparisonRow:
    """One policy under one objective.

    ``ratio`` is the value over the best value of the policies compared; None where the best is not
    positive. ``lower_bound`` obeys what the policy obeys (FIFO ignores minima). ``seconds`` is
    wall-clock time.
    """

    objective: str
    policy: str
    status: str
    value: float
    lower_bound: float
    gap: float | None
    ratio: float | None
    seconds: float


def compare(
    jobs: Jobs,
    slots: int,
    objectives: Sequence[str] = ("sum:response",),
    policies: Sequence[str] = ("flex", "fair", "fifo"),
    *,
    effort: int | None = None,
    budget: float | None = None,
    now: float = 0.0,
    min_mode: str = "guarantee",
    progress: Callable[[], None] | None = None,
) -> list[ComparisonRow]:
    """Plan the same jobs with several policies under several objectives.

    Parameters
    ----------
    jobs, slots, effort, budget, now, min_mode
        As in `malleable.plan`.
    objectives, policies : sequence of str
        Every policy is run under every objective.
    progress : callable, optional
        Called after each plan.

    Returns
    -------
    list of ComparisonRow
        By objective, then by policy, in the order given.

    Raises
    ------
    ValueError
        As `malleable.plan`.
    """
    rows: list[ComparisonRow] = []
    for objective in objectives:
        plans = []
        for policy in policies:
            made = plan(jobs, slots, objective, policy, effort, budget, now, min_mode=min_mode)
            plans.append(made)
            if progress is not None:
                progress()
        best = min((made.value for made in plans), default=0.0)
        comparable = 0.0 < best < math.inf
        for made in plans:
            ratio = made.value / best if comparable else None
            seconds = made.timing["seconds"]
            goodness = (made.value, made.lower_bound, made.gap, ratio, seconds)
            rows.append(ComparisonRow(objective, made.policy, made.status, *goodness))
    return rows


def comparison_table(rows: Sequence[ComparisonRow], title: str) -> Table:
    """The rows as a table for people."""
    columns: dict[str, Callable[[ComparisonRow], str]] = {
        "policy": lambda row: row.policy.upper(),
        "value": lambda row: number(row.value),
        "lower bound": lambda row: number(row.lower_bound),
        "gap": lambda row: percent(row.gap),
        "ratio to best": lambda row: "-" if row.ratio is None else f"{row.ratio:.3f}",
        "time": lambda row: wall_time(row.seconds) + f" ({row.status})" * (row.status != "ok"),
    }
    cells, last = [], None
    for row in rows:
        objective = row.objective if row.objective != last else ""
        cells.append((objective, *(cell(row) for cell in columns.values())))
        last = row.objective
    return table(title, ("objective", *columns), cells, left=2)
