"""The recorded schedule of a trace: when each job started and ended, and which slots were in use.

A trace whose tasks have runs with times is a recorded schedule. A job starts with the first of its runs and
ends with the last, or when the file says. O(runs log runs).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from malleable.jobs.table import Floats, Integers

if TYPE_CHECKING:
    from malleable.traces.trace import Trace


class RecordedSchedule(NamedTuple):
    """The recorded schedule of some rows of a trace, in seconds of its clock: ``arrival``, ``start`` and
    ``end`` of jobs (NaN: unknown), the ``slots`` in use from each ``time`` on, and the ``most`` ever in
    use, also by runs of other jobs that had not ended when the file was written."""

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
    Runs of unknown times are left out. Changes at one moment are added up first, so that ends make room.
    """
    both = (phase for phase in (trace.map, trace.reduce) if phase is not None)
    phases = [phase for phase in both if phase.end is not None]
    if not phases:
        return None
    start, end = np.full(len(trace), np.inf), np.full(len(trace), -np.inf)
    chosen = np.zeros(len(trace), dtype=bool)
    chosen[rows] = True
    moments: list[Floats] = []
    changes: list[Floats] = []
    for phase in phases:
        known = np.flatnonzero(phase.end - phase.start >= 0.0)
        job = phase.job[known]
        begin, over, width = phase.start[known], phase.end[known], phase.width[known]
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
    for phase in phases if trace.unended else ():
        going = np.isnan(phase.end) & ~np.isnan(phase.start)
        moments.append(phase.start[going])
        changes.append(phase.width[going])
    return RecordedSchedule(
        trace.arrival[rows] / trace.per_second,
        begin[rows] / trace.per_second,
        found[rows] / trace.per_second,
        time,
        slots,
        int(in_use(moments, changes)[1].max(initial=0.0)),
    )


def in_use(
    moments: list[Floats], changes: list[Floats], per_second: float = 1.0
) -> tuple[Floats, Floats]:
    # Slots in use over time, from changes of their number at these moments.
    time, change = np.concatenate([*moments, np.empty(0)]), np.concatenate([*changes, np.empty(0)])
    at, place = np.unique(time, return_inverse=True)
    return at / per_second, np.cumsum(np.bincount(place, change, len(at)))
