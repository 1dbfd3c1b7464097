"""The recorded schedule of a trace: when each job started and ended, and which slots were in use.

A trace whose tasks have runs with times is a recorded schedule. A job starts with the first of its runs and
ends with the last, or when the file says. O(runs log runs).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from malleable.jobs.table import Floats, Integers
from malleable.traces.phases import Phase

if TYPE_CHECKING:
    from malleable.traces.trace import Trace


class RecordedSchedule(NamedTuple):
    """The recorded schedule of some rows of a trace, in seconds of its clock: ``arrival``, ``start`` and
    ``end`` of jobs (NaN: unknown), the ``slots`` in use from each ``time`` on, and the ``most`` ever in
    use, also by unended jobs outside the rows (`Trace.unended`)."""

    arrival: Floats
    start: Floats
    end: Floats
    time: Floats
    slots: Floats
    most: int


def recorded(trace: Trace, rows: Integers) -> RecordedSchedule | None:
    """The recorded schedule of these rows; None where the trace does not say when work was done.

    Notes
    -----
    Runs of unknown times are left out. Parts of a run at one moment count once: what ends makes room first.
    """
    phases = [phase for phase in (trace.map, trace.reduce) if phase is not None]
    if not any(phase.end is not None for phase in phases):
        return None
    start, end = np.full(len(trace), np.inf), np.full(len(trace), -np.inf)
    chosen = np.zeros(len(trace), dtype=bool)
    chosen[rows] = True
    moments: list[Floats] = []
    changes: list[Floats] = []
    for phase in phases:
        if phase.end is None:
            continue
        job, begin, over, width = _runs(phase)
        np.minimum.at(start, job, begin)
        np.maximum.at(end, job, over)
        kept = chosen[job]
        moments += [begin[kept], over[kept]]
        changes += [width[kept], -width[kept]]
    found = np.where(np.isinf(end), np.nan, end)
    if trace.finish is not None:
        found = np.where(np.isnan(trace.finish), np.nan, np.fmax(trace.finish, found))
    begin = np.where(np.isinf(start), np.nan, start)
    time, slots = in_use(moments, changes, trace.per_second)
    if trace.unended:
        for phase in phases:
            begun, wide = _unended(phase)
            moments.append(begun)
            changes.append(wide)
    return RecordedSchedule(
        trace.arrival[rows] / trace.per_second,
        begin[rows] / trace.per_second,
        found[rows] / trace.per_second,
        time,
        slots,
        int(in_use(moments, changes)[1].max(initial=0.0)),
    )


def _runs(phase: Phase) -> tuple[Integers, Floats, Floats, Floats]:
    known = np.flatnonzero(phase.end - phase.start >= 0.0)
    job: Integers = np.repeat(np.arange(len(phase.offset) - 1), np.diff(phase.offset))[known]
    return job, phase.start[known], phase.end[known], _width(phase, known)


def _unended(phase: Phase) -> tuple[Floats, Floats]:
    going = np.flatnonzero(np.isnan(phase.end) & ~np.isnan(phase.start))
    return phase.start[going], _width(phase, going)


def _width(phase: Phase, runs: Any) -> Floats:
    return np.ones(len(runs)) if phase.width is None else np.asarray(phase.width[runs])


def in_use(
    moments: list[Floats], changes: list[Floats], per_second: float = 1.0
) -> tuple[Floats, Floats]:
    time, change = np.concatenate([*moments, np.empty(0)]), np.concatenate([*changes, np.empty(0)])
    at, place = np.unique(time, return_inverse=True)
    return at / per_second, np.cumsum(np.bincount(place, change, len(at)))
