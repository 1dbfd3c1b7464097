"""Units: jobs as people count them. A unit is a row of a table of jobs, or a flow (a graph of jobs) with all
its rows; here are schedules and figures of units. A schedule, recorded or simulated, is a start and an end of
each unit. O(jobs log jobs) a schedule."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from malleable.arrays import Floats, Integers, numbered
from malleable.cluster.nodes import Cluster
from malleable.cluster.table import ClusterJobs
from malleable.live.jobs_file import parents_first
from malleable.records import mean_of, most_of, quantile
from malleable.tandem.simulate import lower_bound
from malleable.tandem.table import MapShuffleJobs

_SLACK = 1e-9  # relative tolerance of deadlines [1], and absolute of times [s]
_CLOSE = 0.1  # least relative change of a job's time that counts


class Schedule(NamedTuple):
    """Start and end of each job [s]; NaN: unknown, or not ended."""

    start: Floats
    end: Floats


@dataclass(frozen=True, eq=False)
class Units:
    """The jobs that people see.

    ``of`` is the job of each row; ``alone`` a time [s] that no schedule beats (NaN: unknown); ``groups`` the
    ``user``, ``account`` and ``partition`` of each job; ``counted`` the jobs of the figures."""

    of: Integers
    name: Sequence[str]
    arrival: Floats
    work: Floats
    alone: Floats
    deadline: Floats
    groups: Mapping[str, Sequence[str]]
    counted: np.ndarray[Any, np.dtype[np.bool_]]

    def __len__(self) -> int:
        return len(self.arrival)

    def schedule(self, rows: Integers, start: Floats, end: Floats) -> Schedule:
        # The schedule of units from starts and ends of these rows of the table.
        first, last = np.full(len(self), np.inf), np.full(len(self), -np.inf)
        np.minimum.at(first, self.of[rows], np.nan_to_num(start, nan=np.inf))
        np.maximum.at(last, self.of[rows], np.where(np.isnan(end), np.inf, end))
        missing = np.bincount(self.of, minlength=len(self)) - np.bincount(
            self.of[rows], minlength=len(self)
        )
        last[(missing > 0) | np.isinf(last)] = np.nan
        first[np.isinf(first)] = np.nan
        return Schedule(first, last)


def response_and_wait(units: Units, own: Schedule) -> tuple[Floats, Floats]:
    """Both of each job [s]; NaN if its end, or its start, is unknown."""
    response, wait = (np.maximum(moment - units.arrival, 0.0) for moment in (own.end, own.start))
    return response, wait


def units_of(jobs: ClusterJobs, cluster: Cluster, groups: Mapping[str, Sequence[str]]) -> Units:
    """The jobs of a table, or its flows if the table has flows."""
    names = jobs.name or [f"job{row}" for row in range(len(jobs))]
    own: Integers = np.arange(len(jobs), dtype=np.int64)
    if jobs.flow is not None:
        names, own = numbered(jobs.flow)
    count = len(names)
    first = np.zeros(count, dtype=np.int64)
    first[own[::-1]] = np.arange(len(jobs))[::-1]
    arrival, deadline = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(arrival, own, jobs.arrival)
    np.maximum.at(deadline, own, jobs.deadline)
    work = _sums(own, jobs.map_work + jobs.reduce_work, count)
    alone = _alone(jobs, cluster, own, count)
    several = {kind: values for kind, values in groups.items() if len(set(values)) > 1}
    kinds = {kind: [values[row] for row in first.tolist()] for kind, values in several.items()}
    known = np.ones(count, dtype=bool)
    return Units(own, list(names), arrival, work, alone, deadline, kinds, known)


def _sums(own: Integers, values: Floats, count: int) -> Floats:
    return np.bincount(own, values, count).astype(np.float64)


def _pools(cluster: Cluster) -> tuple[float, float]:
    # Speed of all map slots together, and of all reduce slots; *generic* slots run both.
    maps = float(cluster.rate @ cluster.map_slots)
    return maps, maps if cluster.generic else float(cluster.rate @ cluster.reduce_slots)


def _longest(seconds: Floats, offset: Integers | None, tasks: Integers) -> Floats:
    # Seconds of the longest task of each job; ``offset``: where its tasks begin in ``seconds``.
    if offset is None:
        return np.where(tasks > 0, seconds, 0.0)
    found = np.zeros(len(tasks))
    some = np.flatnonzero(np.diff(offset))
    if len(some):
        found[some] = np.maximum.reduceat(seconds, offset[:-1][some])
    return found


def bounded(jobs: ClusterJobs, cluster: Cluster) -> bool:
    """Whether bounds are known: tasks are no faster together than alone, and nodes have one rate for all
    jobs."""
    listed = any(
        speedup is not None and not isinstance(speedup, float) for speedup in jobs.speedup or ()
    )
    return jobs.rates is None and not listed and not set(cluster.options) - {"slow_start", "ageing"}


def _alone(jobs: ClusterJobs, cluster: Cluster, own: Integers, count: int) -> Floats:
    # The least time from arrival to end of each job: its longest tasks, and its work on all slots.
    if not bounded(jobs, cluster):
        return np.full(count, np.nan)
    rate = float(cluster.rate.max())
    maps, reduces = _pools(cluster)
    own_reduce = jobs.reduce_work - jobs.reduces * jobs.shuffle
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [
            np.fmax(
                _longest(seconds, offset, tasks) / rate,
                np.nan_to_num(work / pool, nan=0.0, posinf=0.0),
            )
            for seconds, offset, tasks, work, pool in (
                (jobs.map_seconds, jobs.map_offset, jobs.maps, jobs.map_work, maps),
                (jobs.reduce_seconds, jobs.reduce_offset, jobs.reduces, own_reduce, reduces),
            )
        ]
    least = parts[0] + parts[1]
    if jobs.after is not None and jobs.after_offset is not None:
        after = np.split(jobs.after, jobs.after_offset[1:-1])
        before = [rows.tolist() for rows in after]
        end = least.copy()
        for row in parents_first(before):
            end[row] += max((end[parent] for parent in before[row]), default=0.0)
        least = end
    found = np.zeros(count)
    np.maximum.at(found, own, least)
    whole = maps if cluster.generic else maps + reduces
    return np.maximum(
        found, np.bincount(own, jobs.map_work + own_reduce, count) / max(whole, 1e-300)
    )


def mean_bound(jobs: ClusterJobs, cluster: Cluster, units: Units) -> float:
    """A lower bound on the mean response [s]; NaN if none is known. The larger of two: every job alone on the
    cluster, and SRPT of all work on one machine as fast as all slots, which holds even if tasks could be
    cut."""
    if not bounded(jobs, cluster) or not len(units):
        return math.nan
    maps, reduces = _pools(cluster)
    own = jobs.reduce_work - jobs.reduces * jobs.shuffle
    count = len(units)
    parts = [_sums(units.of, work, count) for work in (jobs.map_work, own)]
    if cluster.generic:
        parts, reduces = [parts[0] + parts[1], np.zeros(count)], maps
    table = MapShuffleJobs(arrival=units.arrival, map=parts[0], shuffle=parts[1])
    total = lower_bound(table, map_capacity=maps or 1.0, shuffle_capacity=reduces or 1.0)
    fluid = total / count
    return max(fluid, float(units.alone.mean()))


def metrics(units: Units, schedule: Schedule) -> dict[str, float]:
    """Figures of a schedule over the counted jobs. The slowdown of a job is its response over `Units.alone`."""
    counted = units.counted
    rows = np.flatnonzero(counted & np.isfinite(schedule.end))
    response, wait = (times[rows] for times in response_and_wait(units, schedule))
    some = units.alone[rows] > 0.0
    slowdown = np.maximum(response[some] / units.alone[rows][some], 1.0)
    found = {"jobs": float(len(rows)), "unfinished": float(counted.sum() - len(rows))}
    for name, values in (("response", response), ("wait", wait[~np.isnan(wait)])):
        order = np.sort(values)
        found[f"mean_{name}"] = mean_of(values)
        for part in (50, 95, 99):
            found[f"p{part}_{name}"] = quantile(order, part / 100)
        found[f"longest_{name}"] = most_of(values)
    found["mean_slowdown"] = mean_of(slowdown)
    due = np.isfinite(units.deadline[rows])
    if np.isfinite(units.deadline[counted]).any():
        last = units.deadline[rows][due]
        late = schedule.end[rows][due] > last + _SLACK * np.maximum(1.0, np.abs(last))
        found["missed_deadlines"] = float(late.sum())
    return found


def changes(units: Units, before: Schedule, after: Schedule) -> dict[str, int]:
    """How many counted jobs take at least a tenth less time, or more, than before."""
    rows = np.flatnonzero(units.counted & np.isfinite(before.end) & np.isfinite(after.end))
    old, new = (response_and_wait(units, own)[0][rows] for own in (before, after))
    return {
        "jobs": len(rows),
        "faster": int((new < old * (1 - _CLOSE)).sum()),
        "slower": int((new > old * (1 + _CLOSE) + _SLACK).sum()),
    }
