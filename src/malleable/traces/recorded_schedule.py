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
    runs = ([getattr(phase, name) for phase in phases] for name in ("job", "start", "end", "width"))
    job, begin, over, width = map(np.concatenate, runs)
    known = over - begin >= 0.0
    start, end = np.full(len(trace), np.inf), np.full(len(trace), -np.inf)
    np.minimum.at(start, job[known], begin[known])
    np.maximum.at(end, job[known], over[known])
    start, end = (np.where(np.isinf(own), np.nan, own) for own in (start, end))
    if trace.finish is not None:
        end = np.where(np.isnan(trace.finish), np.nan, np.fmax(trace.finish, end))
    kept = known & np.isin(job, rows)
    time, slots = _in_use(begin[kept], over[kept], width[kept], width[kept])
    going = kept | (trace.unended & np.isnan(over) & ~np.isnan(begin))
    most = _in_use(begin[going], over[kept], width[going], width[kept])[1].max(initial=0.0)
    moments = trace.arrival[rows], start[rows], end[rows], time
    came, begun, ended, changed = (own / trace.per_second for own in moments)
    return RecordedSchedule(came, begun, ended, changed, slots, int(most))


def _in_use(start: Floats, end: Floats, came: Floats, left: Floats) -> tuple[Floats, Floats]:
    # Moments, and the slots in use from each on: these came at starts, and left at ends.
    at, place = np.unique(np.concatenate([start, end]), return_inverse=True)
    return at, np.cumsum(np.bincount(place, np.concatenate([came, -left]), len(at)))
