"""Cluster simulations for people: policies side by side, and where one loses to another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from malleable.report.text import number, percent, table
from malleable.simulation import SimulationResult

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["cluster_lines", "cluster_tables"]

_TIMES = ("mean_response", "p50", "p95", "p99", "mean_stretch", "makespan", "longest_wait")
_USE = ("map_utilisation", "reduce_utilisation", "locality")
_LAYER = ("lost_slots", "churn", "missed_deadlines", "jain_fairness")


def _cell(name: str, value: float) -> str:
    if math.isnan(value):
        return "-"
    return percent(value) if name in _USE else number(value)


def cluster_tables(result: SimulationResult) -> list[Table]:
    """Times, then use of the slots: one line a policy."""
    found = []
    for names in (_TIMES, (*_USE, *_LAYER)):
        heads = ("policy", *(name.replace("_", " ") for name in names))
        rows = [
            (policy, *(_cell(name, s[name]) for name in names))
            for policy, s in result.summary.items()
        ]
        found.append(table("", heads, rows))
    return found


def cluster_lines(result: SimulationResult, reference: str = "fair") -> list[str]:
    """Where each policy does worse than the reference: in the mean, and for which sizes of jobs."""
    if reference not in result.summary:
        return []
    base = result.summary[reference]
    sizes, slowdown = result.slowdown[reference]
    lines = []
    for policy, s in result.summary.items():
        if policy == reference:
            continue
        ratio = s["mean_response"] / base["mean_response"] if base["mean_response"] else math.nan
        own = result.slowdown[policy][1]
        worse = [
            f"10^{k} ({own[k] / slowdown[k]:.2f} x)"
            for k in range(min(len(own), len(sizes)))
            if sizes[k] and slowdown[k] > 0.0 and own[k] > slowdown[k] * (1 + 1e-9)
        ]
        where = (
            "loses for jobs of " + ", ".join(worse) + " slot-seconds"
            if worse
            else ("loses for no size of jobs")
        )
        lines.append(
            f"{policy}: mean response {ratio:.3f} x {reference}"
            f"{' (loses)' if ratio > 1 + 1e-9 else ''}; {where}"
        )
    return lines
