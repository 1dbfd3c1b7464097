"""Simulations for people and machines: policies side by side, and where one loses to another.

One run, several seeds with confidence intervals, a grid of points: the same tables and the same JSON.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from malleable.replications import Interval, Replications
from malleable.results import SimulationResult
from malleable.simulation import is_fair
from malleable.view.text import (
    counted,
    number,
    percent,
    plain,
    table,
)

# By model and title: the metrics, or one over another. A metric that no policy has gets no column.
# A column's head is in _HEADS, or the metric's name.
_TABLES: dict[str, dict[str, tuple[str, ...]]] = {
    "tandem": {
        "policy, times in s": (
            *("mean_response", "mean_response/lower_bound", "mean_stretch"),
            *("p50", "p95", "p99", "max_response", "longest_wait"),
            *("map_utilisation", "shuffle_utilisation"),
        )
    },
    "slotted": {
        "policy, times in slots": (
            *("mean_response", "ratio", "tight_ratio", "p50", "p95", "p99", "max_response"),
            *("longest_wait", "utilisation", "unfinished"),
        )
    },
    "jobs": {
        "response [s]": (
            *("mean_response", "mean_stretch", "p50", "p95", "p99"),
            *("max_response", "longest_wait"),
        ),
        "loop": (
            *("mean_tardiness", "max_tardiness", "tardy_share", "end_error"),
            *("utilisation", "idle_assigned", "overload", "decisions", "unfinished"),
        ),
    },
    "cluster": {
        "response [s]": ("mean_response", "p50", "p95", "p99", "longest_wait", "makespan"),
        "flows [s]": (
            *("flow_response", "flow_p95", "flow_max_response", "flow_longest_wait"),
            *("flow_stretch", "flow_max_stretch"),
        ),
        "fairness": (
            *("mean_stretch", "max_stretch", "jain_fairness", "missed_deadlines"),
            *("dissatisfaction", "user_fairness"),
        ),
        "slots": (
            *("map_utilisation", "reduce_utilisation", "locality", "remote_bytes"),
            *("lost_slots", "idle_slots", "churn"),
        ),
    },
}
_HEADS = {
    "mean_response": "mean response",
    "mean_response/lower_bound": "/ bound",
    "ratio": "/ SRPT bound",
    "tight_ratio": "/ our bound",
    "p50": "median p50",
    "utilisation": "busy",
    "mean_tardiness": "mean tardiness [s]",
    "max_tardiness": "max tardiness [s]",
    "tardy_share": "late",
    "end_error": "promised ends off by",
    "idle_assigned": "idle until next",
    "overload": "overloaded",
    "jain_fairness": "evenness of stretch (Jain)",
    "missed_deadlines": "late",
    "dissatisfaction": "short of minimum share",
    "user_fairness": "gap between users",
    "lost_slots": "slots short of target",
    "idle_slots": "idle while tasks wait",
    "churn": "slots taken away",
    "locality": "local",
    "remote_bytes": "remote [B]",
}
# Endings of names of shares.
_SHARES = (
    "utilisation",
    "locality",
    "share",
    "idle_assigned",
    "overload",
    "end_error",
)
_AXES = {"load": "load", "speedup": "p", "estimates": "sigma", "period": "period [s]"}
_DECADES = ("cluster", "jobs")  # models with slowdown by decade of work
_ALL = 1e-9

Value = float | Interval
# A metric by its name; or (metric, user).
Metric = str | tuple[str, str]
Summary1 = Mapping[Metric, Value]
Summary = Mapping[str, Summary1]


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


def _metrics(
    title: str, metrics: Sequence[str], summary: Summary, best: str | None = None
) -> list[Any]:
    """A table of metrics; with ``best``, the best FAIR, also the mean response over that of FAIR."""
    there = [
        name
        for name in metrics
        if any(not math.isnan(_interval(_value(own, name)).mean) for own in summary.values())
    ]
    heads = [_HEADS.get(name, name.replace("_", " ")) for name in there]
    rows = {policy: [_cell(own, name) for name in there] for policy, own in summary.items()}
    if best is not None and (base := _mean(summary, best)):
        heads.insert(1, f"over {best}")
        for policy, cells in rows.items():
            cells.insert(1, f"{_mean(summary, policy) / base:.3f}")
    return _by_policy(title, heads, rows)


def _by_policy(title: str, heads: Sequence[str], rows: Mapping[str, Sequence[str]]) -> list[Any]:
    lines = [(policy, *cells) for policy, cells in rows.items()]
    return [table("", (title, *heads), lines)] if heads else []


def _size_tables(jobs: Sequence[int], stretch: Mapping[str, Sequence[Value]]) -> list[Any]:
    there = [k for k, count in enumerate(jobs) if count]
    heads = [f"{f'from 10^{k}' if k else 'below 10'}: {counted(jobs[k], 'job')}" for k in there]
    rows = {
        policy: [
            interval_cell(own[k]) if k < len(own) and _interval(own[k]).mean else "-" for k in there
        ]
        for policy, own in stretch.items()
    }
    return _by_policy("stretch by slot-seconds", heads, rows)


def simulation_tables(
    result: SimulationResult, rivals: Sequence[str] = (), details: bool = True
) -> list[Any]:
    """One run: a table, with ``details`` all that the model has, and where policies lose to the best FAIR.
    ``rivals`` are FAIR's settings of the comparison alone; only the best one is shown."""
    stretch = {policy: mean.tolist() for policy, (_, mean) in result.slowdown.items()}
    return _tables(result, result.model, stretch, rivals, details)


def replications_tables(
    found: Replications,
    most: int | None = None,
    rivals: Sequence[str] = (),
    details: bool = True,
) -> list[Any]:
    """The same with confidence intervals; of a grid, responses at every point, or the first ``most``."""
    if found.points != [{}]:
        return _grid_tables(found, most, rivals, details)
    return [
        f"{counted(len(found.seeds), 'replication')}, means and half widths of "
        f"{100 * found.confidence:g} % intervals",
        *_tables(found, found.done[0].model, found.by_size, rivals, details),
    ]


def _mean(summary: Summary, policy: str) -> float:
    return _interval(summary[policy]["mean_response"]).mean


def best_fair(summary: Summary) -> str | None:
    """The name of FAIR with the options of least mean response; none without FAIR."""
    fairs = [policy for policy in summary if is_fair(policy)]
    return min(fairs, key=lambda policy: _mean(summary, policy), default=None)


def _tables(
    found: SimulationResult | Replications,
    model: str,
    stretch: Mapping[str, Sequence[Value]],
    rivals: Sequence[str],
    details: bool,
) -> list[Any]:
    best = best_fair(found.summary) if model in _DECADES else None
    hidden = set(rivals) - {best}
    summary = {policy: own for policy, own in found.summary.items() if policy not in hidden}
    stretch = {policy: own for policy, own in stretch.items() if policy not in hidden}
    (first, metrics), *others = _TABLES[model].items()
    parts = _metrics(first, metrics, summary, best)
    for title, metrics in others if details else ():
        parts += _metrics(title, metrics, summary)
    if model not in _DECADES:
        return parts
    jobs: list[int] = next((count.tolist() for count, _ in found.slowdown.values()), [])
    parts += _size_tables(jobs, stretch) if details else ["--details shows all tables"]
    if rivals:
        parts.append(f"{best}: the best of fair{_tried(rivals)}")
    if best is not None:
        parts += _losses({name: found.slowdown[name] for name in summary}, best)
    return parts


def _tried(rivals: Sequence[str]) -> str:
    return "".join(f", {name}" for name in rivals[:-1]) + f" and {rivals[-1]}"


def _losses(slowdown: Mapping[str, tuple[Any, Any]], best: str) -> list[str]:
    """For which sizes of jobs policies are worse than the best FAIR."""
    jobs, normal = slowdown[best]
    lines = []
    for policy, (_, own) in slowdown.items():
        worse = [
            f"10^{k} ({own[k] / normal[k]:.2f} x)"
            for k in range(min(len(own), len(jobs)))
            if jobs[k] and normal[k] > 0.0 and own[k] > normal[k] * (1 + _ALL)
        ]
        if worse and not is_fair(policy):
            lines.append(
                f"{policy} is worse than {best} for jobs of {', '.join(worse)} slot-seconds"
            )
    return lines


# Metrics of responses that tables of a grid show.
_OF_GRID = {
    "mean_response": "mean response",
    "p95": "p95 of the response",
    "longest_wait": "longest wait",
}


def _grid_tables(
    found: Replications, most: int | None, rivals: Sequence[str], details: bool
) -> list[Any]:
    columns = [name for name in found.policies if name not in rivals]
    axes = list(found.points[0])
    at_points = [(point, found.at(**point)) for point in found.points]
    heads = (*(_AXES.get(axis, axis) for axis in axes), *columns, *(["best FAIR"] * bool(rivals)))
    parts: list[Any] = _grid_words(found, rivals)
    for metric, title in list(_OF_GRID.items())[: None if details else 1]:
        rows = [_grid_row(*each, metric, columns, rivals) for each in at_points[:most]]
        parts.append(table(title, heads, rows))
    if hidden := len(found.points) - len(found.points[:most]):
        parts.append(f"and {counted(hidden, 'point')} more")
    return parts


def _grid_row(
    point: Mapping[str, Any],
    own: Replications,
    metric: str,
    columns: Sequence[str],
    rivals: Sequence[str],
) -> list[str]:
    cells = [
        *map(_axis_text, point.values()),
        *(_cell(own.summary[name], metric) for name in columns),
    ]
    best = best_fair(own.summary) if rivals else None
    cells += [] if best is None else [_cell(own.summary[best], metric)]
    return cells


def _grid_words(found: Replications, rivals: Sequence[str]) -> list[str]:
    words = {"speedup": "s tasks do s^p", "estimates": "policies see sizes times exp(sigma Z)"}
    told = ", ".join(words[axis] for axis in found.points[0] if axis in words)
    lines = [f"responses [s]; {told}{'; ' * bool(told)}{counted(len(found.seeds), 'draw')}"]
    if rivals:
        lines.append(
            f"best FAIR: of fair{_tried(rivals)} the one with the least mean at that point"
        )
    return lines


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
        stretch = {policy: mean.tolist() for policy, (_, mean) in result.slowdown.items()}
        shown["slowdown"] = _sizes_dict(result.slowdown, stretch)
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
        "slowdown": _sizes_dict(found.slowdown, found.by_size),
        "timing": _nested(found.timing, "decisions", 1),
    }


def _nested(own: Summary1, under: str, turn: int) -> dict[str, Any]:
    """Metrics by name, and those of users or policies under their names; ``turn`` is -1 if the names of the
    metrics come first."""
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


def _sizes_dict(
    slowdown: Mapping[str, tuple[Any, Any]], stretch: Mapping[str, Sequence[Value]]
) -> dict[str, Any]:
    return {
        policy: [
            {"decade": k, "jobs": jobs, **plain(_interval(stretch[policy][k]))}
            for k, jobs in enumerate(count.tolist())
            if jobs
        ]
        for policy, (count, _) in slowdown.items()
    }
