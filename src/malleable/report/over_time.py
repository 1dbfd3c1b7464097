"""Slots in use and jobs in the system over time: means of windows, the same for what was recorded and
simulated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from malleable.columns import Floats
from malleable.report.study import Study
from malleable.report.units import Schedule

WINDOWS = 160
"""Of the time from the first arrival to the last end."""


def over_time(
    study: Study, schedules: Mapping[str, Schedule], series: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """By policy the mean slots in use and jobs in the system in each window of equal length."""
    arrival = study.units.arrival
    ends = [own.end[np.isfinite(own.end)] for own in schedules.values()]
    last = max((float(own.max()) for own in ends if len(own)), default=0.0)
    first = float(arrival.min()) if len(arrival) else 0.0
    if not last > first:
        return {"missing": "Nothing lasts: there is no time to draw.", "time": [], "policies": {}}
    edges = np.linspace(first, last, WINDOWS + 1)
    found = {}
    for name, own in schedules.items():
        known = np.isfinite(own.end)
        inside = _area(arrival[known], edges) - _area(np.maximum(own.end, arrival)[known], edges)
        if name in series:
            busy = _busy(study, series[name], edges)
        elif study.record is not None and len(study.record.time):
            busy = _steps(study.record.time, study.record.slots, edges)
        else:
            continue
        width = edges[1] - edges[0]
        found[name] = {
            "jobs": np.maximum(np.diff(inside) / width, 0.0).round(6).tolist(),
            "slots": np.clip(np.diff(busy) / width, 0.0, study.slots).round(6).tolist(),
        }
    return {"missing": None, "time": edges.tolist(), "slots": study.slots, "policies": found}


def _area(times: Floats, edges: Floats) -> Floats:
    """Integral up to each edge of how many of the times lie before."""
    order = np.sort(times)
    sums = np.concatenate([[0.0], np.cumsum(order)])
    before = np.searchsorted(order, edges)
    found: Floats = before * edges - sums[before]
    return found


def _busy(study: Study, series: Mapping[str, Any], edges: Floats) -> Floats:
    """Integral of slots in use up to each edge."""
    time = np.asarray(series["time"])
    whole = np.concatenate([[0.0], np.cumsum(busy_slots(study, series) * np.diff(time))])
    found: Floats = np.interp(edges, time, whole)
    return found


def busy_slots(study: Study, series: Mapping[str, Any]) -> Floats:
    """Slots in use, the mean of each window of a simulation."""
    parts: list[Floats] = [
        np.nan_to_num(series[f"{pool}_utilisation"]) * float(slots.sum())
        for pool, slots in (
            ("map", study.cluster.map_slots),
            ("reduce", study.cluster.reduce_slots),
        )
    ]
    return parts[0] + parts[1]


def _steps(time: Floats, slots: Floats, edges: Floats) -> Floats:
    """Integral of a step function up to each edge."""
    whole = np.concatenate([[0.0], np.cumsum(slots[:-1] * np.diff(time))])
    found: Floats = np.interp(edges, time, whole)
    return found
