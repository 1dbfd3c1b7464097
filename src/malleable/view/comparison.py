"""Policies side by side: the same jobs, several objectives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from malleable.jobs.table import Jobs
from malleable.planning import plan
from malleable.view.text import Column, Table, columns_table, number, percent, wall_time


class ComparisonRow(NamedTuple):
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
    progress: Callable[[], None] = lambda: None,
    **options: Any,
) -> list[ComparisonRow]:
    """Plan the same jobs with several policies under several objectives.

    Parameters
    ----------
    jobs, slots, **options
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
            plans.append(plan(jobs, slots, objective, policy, **options))
            progress()
        best = min((made.value for made in plans), default=0.0)
        comparable = 0.0 < best < math.inf
        for made in plans:
            goodness = made.value, made.lower_bound, made.gap
            ratio, seconds = made.value / best if comparable else None, made.timing["seconds"]
            rows.append(
                ComparisonRow(objective, made.policy, made.status, *goodness, ratio, seconds)
            )
    return rows


def comparison_table(rows: Sequence[ComparisonRow], title: str) -> Table:
    """The rows as a table for people."""
    first = {row.objective: row for row in reversed(rows)}
    columns: list[Column] = [
        ("objective", lambda row: row.objective if first[row.objective] is row else ""),
        ("policy", lambda row: row.policy.upper()),
        ("value", lambda row: number(row.value)),
        ("lower bound", lambda row: number(row.lower_bound)),
        ("gap", lambda row: percent(row.gap)),
        ("ratio to best", lambda row: "-" if row.ratio is None else f"{row.ratio:.3f}"),
        ("time", lambda row: wall_time(row.seconds) + f" ({row.status})" * (row.status != "ok")),
    ]
    return columns_table(title, rows, columns, left=2)
