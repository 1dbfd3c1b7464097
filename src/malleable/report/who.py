"""Gains and losses by user, account, partition and size of job, and by job. O(jobs log jobs)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from malleable.report.units import Schedule, Units, changes

SIZES = (60.0, 600.0, 3600.0, 36_000.0, 360_000.0)
"""Slot time at which the next class of jobs begins [slot-seconds]."""
SIZE_NAMES = (
    "below 1 min", "1 to 10 min", "10 min to 1 h", "1 to 10 h", "10 to 100 h", "100 h and more",
)  # fmt: skip
_MOST = 12  # groups of a kind
_MOVERS = 10  # that gain, and that lose


def by_group(
    units: Units, schedules: Mapping[str, Schedule], before: str, after: str
) -> list[dict[str, Any]]:
    """By kind of group, what each of its groups had and would have; those first whose jobs change most."""
    # Programs that hardly ever run twice are as many as jobs.
    kinds: dict[str, Any] = {
        kind: values
        for kind, values in units.groups.items()
        if 1 < len(set(values)) <= (len(units) / 2 if kind == "program" else math.inf)
    }
    size = np.searchsorted(SIZES, units.work, side="right")
    found = [_kind(units, kind, values, schedules, before, after) for kind, values in kinds.items()]
    named = [SIZE_NAMES[k] for k in size.tolist()]
    sizes = _kind(units, "size of job (slot time)", named, schedules, before, after)
    sizes["rows"].sort(key=lambda row: SIZE_NAMES.index(row["name"]))
    return [*found, sizes]


def _kind(
    units: Units,
    kind: str,
    values: Sequence[str],
    schedules: Mapping[str, Schedule],
    before: str,
    after: str,
) -> dict[str, Any]:
    known = units.counted.copy()
    for own in schedules.values():
        known &= np.isfinite(own.end)
    names = list(dict.fromkeys(values))
    number = {name: k for k, name in enumerate(names)}
    group = np.array([number[name] for name in values], dtype=np.int64)[known]
    jobs = np.bincount(group, minlength=len(names))
    means: dict[str, Any] = {}
    longest: dict[str, Any] = {}
    for policy, own in schedules.items():
        response = np.maximum(own.end - units.arrival, 0.0)[known]
        wait = np.nan_to_num(np.maximum(own.start - units.arrival, 0.0)[known])
        total = np.bincount(group, response, len(names))
        means[policy] = np.divide(total, jobs, out=np.full(len(names), np.nan), where=jobs > 0)
        longest[policy] = np.zeros(len(names))
        np.maximum.at(longest[policy], group, wait)
    moved = np.nan_to_num(np.abs(means[after] - means[before]) * jobs)
    order = np.lexsort((np.arange(len(names)), -moved))
    order = order[jobs[order] > 0]
    rows = []
    membership = np.full(len(units), -1)
    membership[np.flatnonzero(known)] = group
    for k in order[:_MOST].tolist():
        own_jobs = _restricted(units, membership == k)
        rows.append(
            {
                "name": names[k] or "(not named)",
                "jobs": int(jobs[k]),
                "mean_response": {policy: float(own[k]) for policy, own in means.items()},
                "longest_wait": {policy: float(own[k]) for policy, own in longest.items()},
                "ratio": float(means[after][k] / means[before][k])
                if means[before][k] > 0
                else None,
                **{
                    name: value
                    for name, value in changes(
                        own_jobs, schedules[before], schedules[after]
                    ).items()
                    if name != "jobs"
                },
            }
        )
    return {"kind": kind, "rows": rows, "others": int(len(order) - len(rows))}


def _restricted(units: Units, chosen: Any) -> Units:
    return replace(units, counted=units.counted & chosen)


def movers(units: Units, before: Schedule, after: Schedule) -> list[dict[str, Any]]:
    """The jobs that gain most time, then the jobs that lose most: twenty in all, if possible ten of each."""
    rows = np.flatnonzero(units.counted & np.isfinite(before.end) & np.isfinite(after.end))
    old = np.maximum(before.end[rows] - units.arrival[rows], 0.0)
    new = np.maximum(after.end[rows] - units.arrival[rows], 0.0)
    gain = new - old
    order = rows[np.argsort(gain, kind="stable")]
    sorted_gain = np.sort(gain, kind="stable")
    winners = order[sorted_gain < 0.0]
    losers = order[sorted_gain > 0.0][::-1]
    won = max(_MOVERS, 2 * _MOVERS - len(losers))
    lost = max(_MOVERS, 2 * _MOVERS - len(winners))
    chosen = [*winners[:won].tolist(), *losers[:lost][::-1].tolist()]
    return [
        {
            "name": units.name[row],
            **{kind: values[row] for kind, values in units.groups.items()},
            "arrival": float(units.arrival[row]),
            "work": float(units.work[row]),
            "before": float(max(before.end[row] - units.arrival[row], 0.0)),
            "after": float(max(after.end[row] - units.arrival[row], 0.0)),
            "wait_before": float(max(before.start[row] - units.arrival[row], 0.0)),
            "wait_after": float(max(after.start[row] - units.arrival[row], 0.0)),
        }
        for row in chosen
    ]
