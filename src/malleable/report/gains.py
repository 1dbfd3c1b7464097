"""Gains and losses under another policy, by user, account, partition and size of job, and by job. ``units`` are
jobs as the log counts them, ``before`` and ``after`` the policies that are compared. O(jobs log jobs)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from malleable.arrays import numbered
from malleable.report.units import Schedule, Units, changes, metrics, response_and_wait

SIZES = (60.0, 600.0, 3600.0, 36_000.0, 360_000.0)  # work of a job [slot-seconds]
SIZE_NAMES = (
    "below 1 min", "1 to 10 min", "10 min to 1 h", "1 to 10 h", "10 to 100 h", "100 h and more",
)  # fmt: skip
_MOST = 12  # most groups of a kind
_FIGURES = ("mean_response", "p50_wait", "p95_wait", "longest_wait")  # of a group, by policy
_MOVERS = 10  # most groups that gain, and that lose


def by_group(
    units: Units, schedules: Mapping[str, Schedule], before: str, after: str
) -> list[dict[str, Any]]:
    """By kind of group, what each of its groups had and would have; groups whose jobs change most come
    first."""
    # If programs hardly ever run twice, there are as many as jobs, so they are left out.
    kinds: dict[str, Sequence[str]] = {
        kind: values
        for kind, values in units.groups.items()
        if 1 < len(set(values)) <= (len(units) / 2 if kind == "program" else math.inf)
    }
    size = np.searchsorted(SIZES, units.work, side="right")
    kinds["size of job (slot time)"] = [SIZE_NAMES[k] for k in size.tolist()]
    known = units.counted.copy()
    for own in schedules.values():
        known &= np.isfinite(own.end)
    old, new = (response_and_wait(units, schedules[policy])[0] for policy in (before, after))
    found = []
    for kind, values in kinds.items():
        names, group = numbered(values)
        jobs = np.bincount(group[known], minlength=len(names))
        work = np.bincount(group[known], units.work[known], len(names))
        moved = np.abs(np.bincount(group[known], (new - old)[known], len(names)))
        order = np.lexsort((np.arange(len(names)), -moved))
        order = order[jobs[order] > 0]
        rows = []
        for k in order[:_MOST].tolist():
            own_jobs = replace(units, counted=known & (group == k))
            figures = {policy: metrics(own_jobs, own) for policy, own in schedules.items()}
            was, now = (figures[policy]["mean_response"] for policy in (before, after))
            rows.append(
                {
                    "name": names[k] or "(not named)",
                    "jobs": int(jobs[k]),
                    "work": float(work[k]),
                    "share": float(work[k] / max(work.sum(), 1e-300)),
                    "ratio": now / was if was > 0 else None,
                    **{name: {p: own[name] for p, own in figures.items()} for name in _FIGURES},
                    **changes(own_jobs, schedules[before], schedules[after]),
                }
            )
        found.append({"kind": kind, "rows": rows, "others": int(len(order) - len(rows))})
    rows.sort(key=lambda row: SIZE_NAMES.index(row["name"]))
    return found


def movers(units: Units, before: Schedule, after: Schedule) -> list[dict[str, Any]]:
    """The jobs that gain most time, then the jobs that lose most: twenty in all, if possible ten of each."""
    (old, old_wait), (new, new_wait) = (response_and_wait(units, own) for own in (before, after))
    gain = new - old
    rows = np.flatnonzero(units.counted & np.isfinite(gain))
    order = rows[np.argsort(gain[rows], kind="stable")]
    winners, losers = order[gain[order] < 0.0], order[gain[order] > 0.0][::-1]
    won = max(_MOVERS, 2 * _MOVERS - len(losers))
    lost = max(_MOVERS, 2 * _MOVERS - len(winners))
    shown = {"arrival": units.arrival, "work": units.work, "before": old, "after": new}
    shown |= {"wait_before": old_wait, "wait_after": new_wait}
    return [
        {
            "name": units.name[row],
            **{kind: values[row] for kind, values in units.groups.items()},
            **{head: float(column[row]) for head, column in shown.items()},
        }
        for row in [*winners[:won].tolist(), *losers[:lost][::-1].tolist()]
    ]
