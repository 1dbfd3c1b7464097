"""The work left of every job at given times, while a queue is fed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.columns import Floats
from malleable.domain import floats, refuse
from malleable.feeding import Part, by_arrival
from malleable.tandem.table import MapShuffleJobs

_MOST = 10**7  # numbers of one column
_LEFT = ("map_left", "shuffle_left", "ready")


def checked_times(jobs: Any, times: npt.ArrayLike) -> Floats:
    """Increasing times, for a table; ValueError otherwise."""
    if not isinstance(jobs, MapShuffleJobs):
        raise ValueError("times: a stream keeps no series")
    found = floats("times", times).reshape(-1)
    _core.check_times("times", found)
    refuse("times", found, np.diff(found, prepend=-math.inf) <= 0.0, "must increase")
    if len(found) * len(jobs) > _MOST:
        raise ValueError(f"times: {len(found):,} times {len(jobs):,} jobs are above {_MOST:,}")
    return found


def left_over_time(
    queue: Any,
    jobs: MapShuffleJobs,
    capacity: tuple[float, float],
    times: Floats,
    parts: Iterable[Part],
    feed: Callable[[Any, Part], None],
) -> dict[str, Floats]:
    """What a new queue leaves of each job by these times.

    Parameters
    ----------
    queue : TandemQueue
        Its own, so that looking at it changes no other.
    jobs : MapShuffleJobs
    capacity : tuple of float
        Of both stations.
    times : ndarray, shape (T,)
    parts : iterable of Part
        All jobs by arrival.
    feed : callable
        Feeds a part to the queue.

    Returns
    -------
    dict of str to ndarray
        ``time``, and of shape (T, J) ``map_left``, ``shuffle_left``, ``ready``. O(T J) and the events.
    """
    row = by_arrival(jobs.arrival)
    unit = np.array([capacity[0], capacity[1], capacity[1]])[:, None]
    left = np.where(jobs.arrival <= times[:, None], 0.0, math.nan)
    found = left[:, None, :].repeat(3, axis=1)
    next_time = 0

    def look(end: float) -> None:
        """At the times before ``end``; who arrives at one is in already."""
        nonlocal next_time
        while next_time < len(times) and times[next_time] < end:
            queue.advance(float(times[next_time]))
            ids, *of_jobs = queue.state()
            found[next_time][:, row[ids]] = unit * np.stack(of_jobs)
            next_time += 1

    for part in parts:
        arrival = part.jobs.arrival
        inner = times[next_time:]
        cuts = np.unique(np.searchsorted(arrival, inner[inner < arrival[-1]], side="right"))
        for first, last in pairwise([0, *cuts[cuts > 0].tolist(), len(arrival)]):
            look(float(arrival[first]))
            feed(queue, part.take(np.arange(first, last)))
    look(math.inf)
    return {"time": times, **{name: found[:, k] for k, name in enumerate(_LEFT)}}
