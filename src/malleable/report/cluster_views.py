"""Cluster simulations for people: policies side by side, and where one loses to another."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from malleable.report.text import number, percent, table
from malleable.simulation import SimulationResult
from malleable.simulation.replications import Interval, Replications

if TYPE_CHECKING:
    from rich.table import Table

__all__ = [
    "GRID_ERRORS",
    "GRID_SPEEDUPS",
    "cluster_lines",
    "cluster_tables",
    "grid_dict",
    "grid_lines",
    "replications_dict",
    "replications_tables",
]

GRID_SPEEDUPS = (1.0, 0.8, 0.5)
GRID_ERRORS = (0.0, 0.2, 1.0)
_TIMES = {
    "mean_response": "mean [s]",
    "p50": "p50",
    "p95": "p95",
    "p99": "p99",
    "mean_stretch": "stretch",
    "makespan": "makespan",
    "longest_wait": "wait, max",
}
_USE = {
    "map_utilisation": "map slots",
    "reduce_utilisation": "reduce slots",
    "locality": "local",
    "lost_slots": "lost",
    "churn": "churn",
    "missed_deadlines": "late",
    "jain_fairness": "Jain",
}
_NETWORK = {
    "rack_locality": "in rack",
    "off_rack": "off rack",
    "remote_bytes": "remote [B]",
    "rack_bytes": "across racks [B]",
    "disk_utilisation": "disks",
    "link_utilisation": "links",
    "rack_utilisation": "rack links",
    "busiest_link": "busiest link",
}
_SHARES = (
    "map_utilisation", "reduce_utilisation", "locality", "rack_locality", "off_rack",
    "disk_utilisation", "link_utilisation", "rack_utilisation", "busiest_link",
)  # fmt: skip


def _cell(name: str, value: float) -> str:
    if math.isnan(value):
        return "-"
    return percent(value) if name in _SHARES else number(value)


def _interval_cell(name: str, value: Interval) -> str:
    shown = _cell(name, value.mean)
    if math.isnan(value.half) or math.isnan(value.mean):
        return shown
    half = percent(value.half) if name in _SHARES else f"{value.half:.2g}"
    return f"{shown} +- {half}"


def _groups(summary: Mapping[str, Mapping[str, Any]]) -> list[dict[str, str]]:
    """What the tables show; the network's only where there is one."""
    networked = all("remote_bytes" in own for own in summary.values())
    return [_TIMES, _USE, _NETWORK] if networked else [_TIMES, _USE]


def cluster_tables(result: SimulationResult) -> list[Table]:
    """Times, use of the slots, use of the network: one line a policy."""
    return [
        table(
            "",
            ("policy", *names.values()),
            [
                (policy, *(_cell(name, s[name]) for name in names))
                for policy, s in result.summary.items()
            ],
        )
        for names in _groups(result.summary)
    ]


def replications_tables(result: Replications) -> list[Any]:
    """The same with 95 % confidence intervals, and where policies lose to FAIR."""
    shown: list[Any] = [
        table(
            f"{len(result.seeds)} replications, 95 % intervals",
            ("policy", *names.values()),
            [
                (policy, *(_interval_cell(name, s[name]) for name in names))
                for policy, s in result.summary.items()
            ],
        )
        for names in _groups(result.summary)
    ]
    means = {
        policy: {metric: value.mean for metric, value in own.items()}
        for policy, own in result.summary.items()
    }
    return [*shown, *cluster_lines(means, result.slowdown)]


def replications_dict(result: Replications) -> dict[str, Any]:
    """Means and half widths as JSON has them: no NaN."""
    return {
        "model": "cluster",
        "complete": result.complete,
        "seeds": result.seeds,
        "policies": {
            policy: {metric: _numbers(value) for metric, value in own.items()}
            for policy, own in result.summary.items()
        },
    }


def _numbers(value: Interval) -> dict[str, float | None]:
    mean, half = (None if math.isnan(x) else x for x in value)
    return {"mean": mean, "half": half}


def cluster_lines(
    summary: Mapping[str, Mapping[str, float]],
    slowdown: Mapping[str, tuple[Any, Any]],
    reference: str = "fair",
) -> list[str]:
    """Where each policy does worse than the reference: in the mean, and for which sizes of jobs."""
    if reference not in summary:
        return []
    base = summary[reference]["mean_response"]
    jobs, normal = slowdown[reference]
    lines = []
    for policy, s in summary.items():
        if policy == reference:
            continue
        ratio = s["mean_response"] / base if base else math.nan
        own = slowdown[policy][1]
        worse = [
            f"10^{k} ({own[k] / normal[k]:.2f} x)"
            for k in range(min(len(own), len(jobs)))
            if jobs[k] and normal[k] > 0.0 and own[k] > normal[k] * (1 + 1e-9)
        ]
        where = (
            "loses for jobs of " + ", ".join(worse) + " slot-seconds"
            if worse
            else "loses for no size of jobs"
        )
        loses = " (loses)" if ratio > 1 + 1e-9 else ""
        lines.append(f"{policy}: mean response {ratio:.3f} x {reference}{loses}; {where}")
    return lines


def grid_lines(found: list[tuple[tuple[Any, Any], Replications]]) -> list[Any]:
    """Mean responses for every speed-up and size error, and where FLEX loses to FAIR."""
    policies = list(found[0][1].summary)
    rows = []
    losses = []
    for (p, sigma), result in found:
        cells = [_interval_cell("", result.summary[name]["mean_response"]) for name in policies]
        ratio = "-"
        if {"flex", "fair"} <= set(policies):
            means = [result.summary[name]["mean_response"].mean for name in ("flex", "fair")]
            ratio = f"{means[0] / means[1]:.3f}" if means[1] else "-"
            if means[0] > means[1]:
                losses.append(f"p = {p:g}, sigma = {sigma:g} ({means[0] / means[1]:.3f} x)")
        rows.append((f"{p:g}", f"{sigma:g}", *cells, ratio))
    heads = ("p", "sigma", *policies, "flex / fair")
    shown: list[Any] = [
        table("mean response [s]; s tasks do s^p, sizes err by exp(sigma Z)", heads, rows)
    ]
    if {"flex", "fair"} <= set(policies):
        shown.append(
            "FLEX loses to FAIR in the mean at " + ", ".join(losses)
            if losses
            else "FLEX loses to FAIR in the mean nowhere on this grid"
        )
    return shown


def grid_dict(found: list[tuple[tuple[Any, Any], Replications]]) -> dict[str, Any]:
    """The grid as JSON has it."""
    return {
        "model": "cluster",
        "complete": all(result.complete for _, result in found),
        "grid": [
            {"speedup": p, "sigma": sigma, **replications_dict(result)}
            for (p, sigma), result in found
        ],
    }
