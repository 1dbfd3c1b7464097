"""Simulations for people (tables) and machines (JSON): policies side by side, and for which sizes of jobs one
loses to another.

One run, several seeds with confidence intervals, a grid of points: the same tables and the same JSON. *FAIR*
is the policy of equal shares; it has several settings, and comparisons are with the best of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from malleable.replications import Interval, Replications
from malleable.results import SimulationResult
from malleable.simulation import is_fair
from malleable.view.text import Table, counted, number, percent, plain

# By model: what the first column is called, and the metrics, or one over another. A metric that no policy has,
# or that is 0 for all, gets no column. A column's head is in _HEADS, or the metric's name.
_TABLES = {
    "tandem": (
        "policy, times in s",
        "mean_response mean_response/lower_bound mean_stretch p50 p95 longest_wait",
    ),
    "slotted": (
        "policy, times in steps",
        "mean_response ratio tight_ratio p50 p95 longest_wait unfinished",
    ),
    "jobs": (
        "response [s]",
        "mean_response p50 p95 longest_wait mean_tardiness tardy_share end_error utilisation idle_assigned "
        "unfinished",
    ),
    "cluster": (
        "response [s]",
        "mean_response p50 p95 longest_wait flow_response flow_p95 missed_deadlines dissatisfaction "
        "remote_bytes makespan",
    ),
}
_HEADS = {
    "mean_response": "mean response",
    "mean_response/lower_bound": "/ bound",
    "ratio": "/ SRPT bound",
    "tight_ratio": "/ our bound",
    "p50": "median p50",
    "utilisation": "busy",
    "mean_tardiness": "mean tardiness [s]",
    "tardy_share": "late",
    "end_error": "promised ends off by",
    "idle_assigned": "idle until next",
    "missed_deadlines": "late jobs",
    "dissatisfaction": "short of minimum share",
    "remote_bytes": "remote [B]",
}
# Endings of names of shares.
_SHARES = ("utilisation", "share", "idle_assigned", "end_error")
# Parameters of grids, for people.
AXES = {
    "estimates": "error of sizes, sigma",
    "load": "load",
    "period": "period [s]",
    "speedup": "p (s tasks do s^p)",
}
# Models with mean stretch by decade of work (1 to 10 slot-seconds ...).
_DECADES = ("cluster", "jobs")
_ALL = 1e-9  # relative differences that are rounding

Value = float | Interval
# A metric by its name; or (metric, user).
Metric = str | tuple[str, str]
Summary1 = Mapping[Metric, Value]  # of one policy
Summary = Mapping[str, Summary1]  # by policy


def _interval(value: Value) -> Interval:
    return value if isinstance(value, Interval) else Interval(value, math.nan)


def interval_cell(value: Value, share: bool = False) -> str:
    mean, half = _interval(value)
    if math.isnan(mean):
        return "-"
    if math.isnan(half):
        return percent(mean) if share else number(mean)
    if share:
        return f"{100 * mean:.1f} +- {100 * half:.1f} %"
    return f"{_short(mean, 4)} +- {_short(half, 2)}"


def _short(value: float, digits: int) -> str:
    return f"{value:.0f}" if 10**digits <= abs(value) < 1e9 else f"{value:.{digits}g}"


def _value(summary: Summary1, metric: str) -> Value:
    part, _, whole = metric.partition("/")
    if not whole:
        return summary.get(part, math.nan)
    over = _interval(summary.get(whole, math.nan)).mean
    return _interval(summary[part]).mean / over if over else math.nan


def _cell(summary: Summary1, metric: str) -> str:
    value = _value(summary, metric)
    if isinstance(value, float) and "ratio" in metric and not math.isnan(value):
        return f"{value:.3f}"
    return interval_cell(value, metric.endswith(_SHARES))


def _metrics(model: str, summary: Summary, best: str | None) -> list[Any]:
    # A table of metrics; with ``best``, the best FAIR, also the mean response over that of FAIR.
    title, metrics = _TABLES[model]
    there = [
        name
        for name in metrics.split()
        if any(
            mean and not math.isnan(mean)
            for mean in (_interval(_value(own, name)).mean for own in summary.values())
        )
    ]
    heads = [_HEADS.get(name, name.replace("_", " ")) for name in there]
    rows = {policy: [_cell(own, name) for name in there] for policy, own in summary.items()}
    if best is not None and (base := _mean(summary, best)):
        heads.insert(1, f"over {best}")
        for policy, cells in rows.items():
            cells.insert(1, f"{_mean(summary, policy) / base:.3f}")
    lines = [(policy, *cells) for policy, cells in rows.items()]
    return [Table("", (title, *heads), lines)] if heads else []


def simulation_tables(result: SimulationResult, rivals: Sequence[str] = ()) -> list[Any]:
    """One run: a table, and for which sizes policies are worse than the best FAIR. ``rivals`` are FAIR's
    settings of the comparison alone; only the best one is shown."""
    return _tables(result, result.model, rivals)


def replications_tables(
    found: Replications,
    most: int | None = None,
    rivals: Sequence[str] = (),
) -> list[Any]:
    """The same with confidence intervals; of a grid, responses at every point, or the first ``most``."""
    if found.points != [{}]:
        return _grid_tables(found, most, rivals)
    return [
        f"{counted(len(found.seeds), 'replication')}, means and half widths of "
        f"{100 * found.confidence:g} % intervals",
        *_tables(found, found.done[0].model, rivals),
    ]


def _mean(summary: Mapping[str, Mapping[Any, Any]], policy: str) -> float:
    return _interval(summary[policy]["mean_response"]).mean


def best_fair(summary: Mapping[str, Mapping[Any, Any]]) -> str | None:
    """The name of FAIR with the options of least mean response; none without FAIR."""
    fairs = [policy for policy in summary if is_fair(policy)]
    return min(fairs, key=lambda policy: _mean(summary, policy), default=None)


def _tables(found: SimulationResult | Replications, model: str, rivals: Sequence[str]) -> list[Any]:
    best = best_fair(found.summary) if model in _DECADES else None
    hidden = set(rivals) - {best}
    summary = {policy: own for policy, own in found.summary.items() if policy not in hidden}
    parts = _metrics(model, summary, best)
    if rivals:
        others = "".join(f", {name}" for name in rivals[:-1])
        parts.append(f"{best}: the best of fair{others} and {rivals[-1]}")
    if best is not None:
        parts += _losses({name: found.slowdown[name] for name in summary}, best)
    return parts


def _losses(slowdown: Mapping[str, tuple[Any, Any]], best: str) -> list[str]:
    # For which sizes of jobs policies are worse than the best FAIR.
    jobs, normal = slowdown[best]
    lines = []
    for policy, (_, own) in slowdown.items():
        worse = [
            f"{f'{10.0**k:,.0f}' if k else 0} to {10.0 ** (k + 1):,.0f} ({own[k] / normal[k]:.2f} x)"
            for k in range(min(len(own), len(jobs)))
            if jobs[k] and normal[k] > 0.0 and own[k] > normal[k] * (1 + _ALL)
        ]
        if worse and not is_fair(policy):
            lines.append(
                f"{policy} has a larger mean stretch than {best} for jobs of {', '.join(worse)} slot-seconds"
            )
    return lines


def _grid_tables(found: Replications, most: int | None, rivals: Sequence[str]) -> list[Any]:
    columns = [name for name in found.policies if name not in rivals]
    heads = [AXES.get(axis, axis) for axis in found.points[0]]
    heads += [*columns, *(["best FAIR"] * bool(rivals))]
    rows = []
    for point in found.points[:most]:
        own = found.at(**point).summary
        best = [best_fair(own)] if rivals else []
        cells = [_cell(own[name], "mean_response") for name in (*columns, *best) if name]
        rows.append([*map(_axis_text, point.values()), *cells])
    parts: list[Any] = [
        f"mean responses [s] of {counted(len(found.seeds), 'draw')}",
        Table("", heads, rows),
    ]
    if hidden := len(found.points) - len(rows):
        parts.append(f"and {counted(hidden, 'point')} more")
    return parts


def _axis_text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def simulation_dict(result: SimulationResult) -> dict[str, Any]:
    """One run in JSON types: no NaN; for a cluster also jobs and mean stretch by decade of work."""
    shown = {
        "model": result.model,
        "complete": result.complete,
        "policies": _summary_dict(result.summary),
        "timing": _nested(result.timing, "decisions", 1),
    }
    if result.model in _DECADES:
        shown["slowdown"] = _sizes_dict(result.slowdown)
    return shown


def replications_dict(found: Replications) -> dict[str, Any]:
    shown = {"model": found.done[0].model, "complete": found.complete}
    if found.points == [{}]:
        return {**shown, **_point_dict(found)}
    grid = []
    for point in found.points:
        own = found.at(**point)
        grid.append({**point, **_point_dict(own)})
    return {**shown, "grid": grid}


def _point_dict(found: Replications) -> dict[str, Any]:
    return {
        "seeds": found.seeds,
        "policies": _summary_dict(found.summary),
        "slowdown": _sizes_dict(found.slowdown),
        "timing": _nested(found.timing, "decisions", 1),
    }


def _nested(own: Summary1, under: str, turn: int) -> dict[str, Any]:
    # Metrics by name, and those of users or policies under their names; ``turn`` is -1 if the names of the
    # metrics come first.
    shown: dict[str, Any] = {}
    for name, value in own.items():
        if isinstance(name, tuple):
            of, what = name[::turn]
            shown.setdefault(under, {}).setdefault(of, {})[what] = plain(value)
        else:
            shown[name] = plain(value)
    return shown


def _summary_dict(summary: Summary) -> dict[str, Any]:
    return {policy: _nested(own, "users", -1) for policy, own in summary.items()}


def _sizes_dict(slowdown: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    return {
        policy: [
            {"decade": k, "jobs": count, "mean": mean}
            for k, (count, mean) in enumerate(zip(jobs.tolist(), stretch.tolist(), strict=True))
            if count
        ]
        for policy, (jobs, stretch) in slowdown.items()
    }
