"""The work of a table that is left at some time, if a policy ran it until then."""

from __future__ import annotations

import numpy as np

from malleable.columns import Integers
from malleable.domain import WORK, check_slots, check_time
from malleable.jobs.epoch import Epoch
from malleable.jobs.table import Jobs


def snapshot(
    jobs: Jobs,
    slots: int,
    at: float,
    policy: str = "fair",
    objective: str = "sum:response",
    *,
    min_mode: str = "guarantee",
) -> Jobs:
    """The jobs of a table that are there at a time, with the work that a policy has left of them.

    From the first arrival on the policy decides at every arrival and every completion, and slots
    work as told until the next.

    Parameters
    ----------
    jobs : Jobs
        With all of their work; arrivals in any order.
    slots : int
        Capacity, at least 1.
    at : float
        Time of the snapshot [s]; jobs that arrive then are in it.
    policy : str
        ``fair``, ``fifo``, ``wdeq``, ``hesrpt`` or ``flex``.
    objective, min_mode : str
        As in `malleable.Epoch`.

    Returns
    -------
    Jobs
        In the order of the table. ``work`` is what is left, ``size`` what it was in the table;
        limits, arrivals and the rest stay. Jobs that have ended, and those of no work, are not there.

    Raises
    ------
    ValueError
        As `malleable.Epoch`.

    Notes
    -----
    O(E J) for E arrivals and completions before the time and J jobs that are there at once.
    """
    capacity, end = check_slots(slots), check_time("at", at)
    comes = np.flatnonzero((jobs.arrival <= end) & (jobs.work > 0.0))
    comes = comes[np.argsort(jobs.arrival[comes], kind="stable")]
    arrival = jobs.arrival[comes]
    left = jobs.work.copy()
    epoch = Epoch(capacity, objective, policy, min_mode=min_mode)
    rows: Integers = comes[:0]  # of the epoch's jobs, by arrival, so that ties go to the first

    def add(more: Integers) -> None:
        epoch.add(jobs=jobs.take(more)._replaced(work=left[more]))

    entered = 0
    now = float(arrival[0]) if len(comes) else end
    # Every round ends at an arrival, at a completion or at the end: at most 2 J + 1 of them.
    while True:
        last = int(np.searchsorted(arrival, now, side="right"))
        if last > entered:
            add(comes[entered:last])
            rows = np.concatenate([rows, comes[entered:last]])
            entered = last
        if now >= end:
            break
        then = float(arrival[entered]) if entered < len(comes) else end
        given = epoch.decide(now)
        rate = jobs.rates(given.slots, rows)
        ends = np.full(len(rows), np.inf)
        np.divide(left[rows], rate, out=ends, where=rate > 0.0)
        ends += now
        then = min(then, float(ends.min(initial=np.inf)))
        worked = rate > 0.0
        rest = np.where(ends <= then, 0.0, left[rows] - rate * (then - now))
        left[rows] = np.where(rest < WORK.least, 0.0, rest)  # or a residue of rounding
        there = left[rows] > 0.0
        if there.all():
            epoch.update(given.ids[worked], work=left[rows[worked]])
        else:  # anew, as one that is removed would change its followers' order
            rows = rows[there]
            epoch = Epoch(capacity, objective, policy, min_mode=min_mode)
            add(rows)
        now = then
    kept = np.sort(comes[left[comes] > 0.0])
    return jobs.take(kept)._replaced(work=left[kept])
