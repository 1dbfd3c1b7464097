"""Cluster simulations for people: policies side by side, and where one loses to another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from malleable.replications import Interval, Replications
from malleable.result import SimulationResult
from malleable.view.simulation_views import simulation_dict
from malleable.view.text import counted, number, percent, table, wall_time

__all__ = [
    "cluster_dict",
    "cluster_lines",
    "cluster_tables",
    "interval_cell",
    "interval_numbers",
    "replications_dict",
    "replications_tables",
]

_TABLES: dict[str, dict[str, str]] = {
    "response [s]": {
        "mean_response": "mean",
        "p50": "median",
        "p95": "p95",
        "p99": "p99",
        "longest_wait": "longest wait",
        "makespan": "makespan",
    },
    "flows [s]": {
        "flow_response": "mean response",
        "flow_max_response": "longest response",
        "flow_stretch": "mean stretch",
        "flow_max_stretch": "max stretch",
    },
    "fairness": {
        "mean_stretch": "mean stretch",
        "max_stretch": "max stretch",
        "jain_fairness": "Jain",
        "missed_deadlines": "late",
        "dissatisfaction": "dissatisfied",
        "user_fairness": "users apart",
    },
    "slots": {
        "map_utilisation": "map",
        "reduce_utilisation": "reduce",
        "locality": "local",
        "lost_slots": "lost",
        "idle_slots": "idle",
        "churn": "churn",
    },
    "network": {
        "rack_locality": "in rack",
        "off_rack": "off rack",
        "remote_bytes": "remote [B]",
        "rack_bytes": "across racks [B]",
        "disk_utilisation": "disks",
        "link_utilisation": "links",
        "rack_utilisation": "rack links",
        "busiest_link": "busiest link",
    },
}
_SHARES = (
    "map_utilisation", "reduce_utilisation", "locality", "rack_locality", "off_rack",
    "disk_utilisation", "link_utilisation", "rack_utilisation", "busiest_link",
)  # fmt: skip
_USERS = 12  # that are shown
_COLUMNS = 6  # of one table
_ALL = 1e-9

Value = float | Interval


def _interval(value: Value) -> Interval:
    return value if isinstance(value, Interval) else Interval(value, math.nan)


def interval_cell(value: Value, share: bool = False) -> str:
    """A mean, and the half width of its interval if there is one."""
    mean, half = _interval(value)
    if math.isnan(mean):
        return "-"
    if math.isnan(half):
        return percent(mean) if share else number(mean)
    if share:
        return f"{100 * mean:.1f} +- {100 * half:.1f} %"
    return f"{_short(mean, 4)} +- {_short(half, 2)}"


def _short(value: float, digits: int) -> str:
    """So many significant digits, and never an exponent for what is only large."""
    return f"{value:.0f}" if 10**digits <= abs(value) < 1e9 else f"{value:.{digits}g}"


def interval_numbers(value: Value) -> dict[str, float | None]:
    """Mean and half width as JSON has them: no NaN."""
    mean, half = (None if math.isnan(x) else float(x) for x in _interval(value))
    return {"mean": mean, "half": half}


def _metric_tables(summary: Mapping[str, Mapping[str, Value]]) -> list[Any]:
    shown: list[Any] = []
    for title, names in _TABLES.items():
        there = {
            name: head
            for name, head in names.items()
            if any(not math.isnan(_interval(s.get(name, math.nan)).mean) for s in summary.values())
        }
        rows = {
            policy: [interval_cell(s.get(n, math.nan), n in _SHARES) for n in there]
            for policy, s in summary.items()
        }
        shown += _chunked(title, list(there.values()), rows)
    return shown


def _chunked(title: str, heads: Sequence[str], rows: Mapping[str, Sequence[str]]) -> list[Any]:
    """One line a policy, in as many tables as it takes to keep them narrow."""
    return [
        table(
            "",
            (title, *heads[k : k + _COLUMNS]),
            [(policy, *cells[k : k + _COLUMNS]) for policy, cells in rows.items()],
        )
        for k in range(0, len(heads), _COLUMNS)
    ]


def _size_tables(jobs: Sequence[int], stretch: Mapping[str, Sequence[Value]]) -> list[Any]:
    there = [k for k, count in enumerate(jobs) if count]
    heads = [f"{f'10^{k}' if k else '0'}: {counted(jobs[k], 'job')}" for k in there]
    rows = {
        policy: [interval_cell(own[k]) if k < len(own) else "-" for k in there]
        for policy, own in stretch.items()
    }
    return _chunked("stretch by work from", heads, rows)


def _user_tables(summary: Mapping[str, Mapping[str, Value]]) -> list[Any]:
    first = next(iter(summary.values()), {})
    mark = "response of "
    users = [name.removeprefix(mark) for name in first if name.startswith(mark)]
    shown: list[Any] = []
    for metric, head in (("response", "response [s] of"), ("stretch", "stretch of")):
        rows = {
            policy: [
                interval_cell(s.get(f"{metric} of {user}", math.nan)) for user in users[:_USERS]
            ]
            for policy, s in summary.items()
        }
        shown += _chunked(head, users[:_USERS], rows)
    if len(users) > _USERS:
        shown.append(f"and {counted(len(users) - _USERS, 'user')} more, see --json")
    return shown


def _clock(seconds: float) -> str:
    return f"{1e6 * seconds:.2g} us" if seconds < 1e-5 else wall_time(seconds)


def _clock_table(timing: Mapping[str, Value], policies: Sequence[str]) -> list[Any]:
    """Wall-clock figures, which are no part of the records."""

    def cell(name: str) -> str:
        mean, half = _interval(timing.get(name, math.nan))
        if math.isnan(mean):
            return "-"
        return _clock(mean) + ("" if math.isnan(half) else f" +- {_clock(half)}")

    rows = [
        (policy, *(cell(name) for name in (f"{policy} decision p50", f"{policy} decision p99", policy)))
        for policy in policies
    ]  # fmt: skip
    return [table("", ("this machine's clock", "epoch, median", "epoch, p99", "run"), rows)]


def cluster_tables(result: SimulationResult) -> list[Any]:
    """One run: responses, flows, fairness, slots, stretch by size and by user, times of epochs."""
    jobs: list[int] = next((count.tolist() for count, _ in result.slowdown.values()), [])
    stretch = {policy: mean.tolist() for policy, (_, mean) in result.slowdown.items()}
    return [
        *_metric_tables(result.summary),
        *_size_tables(jobs, stretch),
        *_user_tables(result.summary),
        *_clock_table(result.timing, list(result.summary)),
        *cluster_lines(result.summary, result.slowdown),
    ]


def replications_tables(result: Replications) -> list[Any]:
    """The same with 95 % confidence intervals."""
    means = {
        policy: {metric: value.mean for metric, value in own.items()}
        for policy, own in result.summary.items()
    }
    jobs: list[int] = next((count.tolist() for count, _ in result.slowdown.values()), [])
    return [
        f"{counted(len(result.seeds), 'replication')}, means and half widths of 95 % intervals",
        *_metric_tables(result.summary),
        *_size_tables(jobs, result.by_size),
        *_user_tables(result.summary),
        *_clock_table(result.timing, list(result.summary)),
        *cluster_lines(means, result.slowdown),
    ]


def _sizes_dict(count: Sequence[int], stretch: Sequence[Value]) -> list[dict[str, Any]]:
    return [
        {"decade": k, "jobs": int(jobs), **interval_numbers(stretch[k])}
        for k, jobs in enumerate(count)
        if jobs
    ]


def cluster_dict(result: SimulationResult) -> dict[str, Any]:
    """One run in JSON types; stretch by decade of work: jobs and mean."""
    return {
        **simulation_dict(result),
        "slowdown": {
            policy: _sizes_dict(count.tolist(), mean.tolist())
            for policy, (count, mean) in result.slowdown.items()
        },
    }


def replications_dict(result: Replications) -> dict[str, Any]:
    """Means and half widths as JSON has them: no NaN."""
    return {
        "model": "cluster",
        "complete": result.complete,
        "seeds": list(result.seeds),
        "policies": {
            policy: {metric: interval_numbers(value) for metric, value in own.items()}
            for policy, own in result.summary.items()
        },
        "slowdown": {
            policy: _sizes_dict(count.tolist(), result.by_size[policy])
            for policy, (count, _) in result.slowdown.items()
        },
        "timing": {name: interval_numbers(value) for name, value in result.timing.items()},
    }


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
            if jobs[k] and normal[k] > 0.0 and own[k] > normal[k] * (1 + _ALL)
        ]
        where = (
            "loses for jobs of " + ", ".join(worse) + " slot-seconds"
            if worse
            else "loses for no size of jobs"
        )
        loses = " (loses)" if ratio > 1 + _ALL else ""
        lines.append(f"{policy}: mean response {ratio:.3f} x {reference}{loses}; {where}")
    return lines
