"""The overlapping tandem queue of map and shuffle."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.simulation.result import RECORD_COLUMNS, SimulationResult
from malleable.tables import Floats, Integers
from malleable.workloads.files import checked_positive
from malleable.workloads.map_shuffle import MapShuffleJobs, MapShuffleStream

__all__ = ["POLICIES", "lower_bound", "run"]

POLICIES = ("fcfs", "ps", "wps", "k-lps", "max-srpt", "split-srpt")
_CHUNK = 1 << 16
_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}

_Chunk = tuple[Floats, Floats, Floats, Floats]


def _queue(
    policy: str, k: int, conserving: bool, overlap: bool, records: bool, buckets: Any
) -> Any:
    if policy not in POLICIES:
        raise ValueError(f"policy = {policy!r}: expected one of {', '.join(POLICIES)}")
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ValueError(f"k = {k!r}: must be a whole number, at least 1")
    count, width = buckets
    if isinstance(count, bool) or int(count) != count or not 0 <= count <= 10**7:
        raise ValueError(f"buckets = {count!r}: must be a whole number from 0 to 10^7")
    share = policy in ("ps", "wps", "k-lps")
    return _core.TandemQueue(
        policy="share" if share else policy,
        conserving=bool(conserving),
        overlap=bool(overlap),
        records=records,
        weighted=policy == "wps",
        most_mapping=int(k) if policy == "k-lps" else -1,
        buckets=int(count),
        bucket_width=checked_positive("bucket_width", width),
    )


def _chunks(jobs: MapShuffleJobs | MapShuffleStream, order: Integers, rng: Any) -> Iterator[_Chunk]:
    if isinstance(jobs, MapShuffleStream):
        for arrival, size, data in jobs.chunks(rng):
            yield arrival, size, data, np.ones(len(arrival))
        return
    for first in range(0, len(jobs), _CHUNK):
        rows = order[first : first + _CHUNK]
        yield jobs.arrival[rows], jobs.map[rows], jobs.shuffle[rows], jobs.weight[rows]


def _quantile(histogram: Integers, fraction: float) -> float:
    """The upper end of the bin, 1/64 of an octave wide, that the quantile falls into."""
    total = int(histogram.sum())
    if total == 0:
        return math.nan
    place = int(np.searchsorted(np.cumsum(histogram), math.ceil(fraction * total)))
    if place == 0:
        return 0.0
    bits = np.array([(place + 1) << 46], dtype=np.uint64)
    return float(bits.view(np.float64)[0])


def lower_bound(
    jobs: MapShuffleJobs | MapShuffleStream,
    *,
    rng: np.random.Generator | int | None = None,
    map_capacity: float = 1.0,
    shuffle_capacity: float = 1.0,
) -> float:
    """No schedule, online or offline, has a smaller sum of responses [s] than this.

    Notes
    -----
    SRPT at each station alone, the larger total of every joint busy period (Lin et al. 2013,
    section 5.1). O(J log n) with n jobs waiting.
    """
    bound = _core.SrptBound()
    order = _order(jobs)
    for arrival, size, data, _ in _chunks(jobs, order, rng):
        bound.feed(arrival, size / map_capacity, data / shuffle_capacity)
    return bound.total()


def _order(jobs: MapShuffleJobs | MapShuffleStream) -> Integers:
    if isinstance(jobs, MapShuffleStream):
        return np.empty(0, dtype=np.int64)
    return np.argsort(jobs.arrival, kind="stable").astype(np.int64)


def _capacities(
    jobs: MapShuffleJobs | MapShuffleStream, load: float | None, given: tuple[float, float]
) -> tuple[float, float]:
    if load is None:
        return (
            checked_positive("map_capacity", given[0]),
            checked_positive("shuffle_capacity", given[1]),
        )
    if isinstance(jobs, MapShuffleStream):
        raise ValueError("load: a stream has its own")
    target = checked_positive("load", load)
    span = float(np.ptp(jobs.arrival)) if len(jobs) else 0.0
    totals = float(jobs.map.sum()), float(jobs.shuffle.sum())
    if not (span > 0.0 and min(totals) > 0.0):
        raise ValueError("load: needs arrivals at different times and work in both phases")
    return totals[0] / (span * target), totals[1] / (span * target)


def run(
    jobs: Any,
    policy: str,
    *,
    rng: np.random.Generator | int | None = None,
    estimates: Any = None,
    map_capacity: float = 1.0,
    shuffle_capacity: float = 1.0,
    load: float | None = None,
    k: int = 100,
    conserving: bool = True,
    overlap: bool = True,
    records: bool | None = None,
    buckets: int = 400,
    bucket_width: float = 0.25,
    horizon: float | None = None,
    bound: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> SimulationResult:
    """Simulate one policy.

    Parameters
    ----------
    jobs : MapShuffleJobs or MapShuffleStream
        A table in any order, or a stream that is drawn while it runs.
    policy : {"fcfs", "ps", "wps", "k-lps", "max-srpt", "split-srpt"}
        ``k-lps`` lets the ``k`` oldest jobs share the map station; all three kinds of sharing hand
        on, at the shuffle station, what a job cannot use (max-min).
    rng : numpy Generator or seed, optional
        Of a stream.
    map_capacity, shuffle_capacity : float
        Work done a second.
    load : float, optional
        Choose both capacities so that the work of the whole table takes this part of the time
        between its first and last arrival.
    conserving : bool
        Hand on capacity that the first job (MaxSRPT, FCFS) or the class (SplitSRPT) cannot use.
        False: the algorithms as printed. Shares always hand on.
    overlap : bool
        False: a traditional tandem queue, whose shuffle starts when the map phase has ended.
    records : bool, optional
        Keep one record a job; by default for tables, not for streams.
    buckets, bucket_width : int, float
        Mean stretch by size max(map, shuffle) [s at full speed].
    horizon : float, optional
        Stop then [s]; jobs that arrive later do not enter, unfinished ones are only counted.
    bound : bool
        Compute the lower bound too.
    progress : callable, optional
        Called with (jobs entered, all jobs) after every chunk.

    Returns
    -------
    SimulationResult
        After Ctrl-C what was finished, with ``complete`` false.

    Raises
    ------
    ValueError
        An unknown policy, a value out of its range, weights of 0 with ``wps``.

    Warns
    -----
    RuntimeWarning
        A stream of load 1 or more; it stops at its last arrival.

    Notes
    -----
    Exact events, no time steps; the header of the core's `sim/tandem` gives costs. Memory: a chunk,
    the jobs in the system, and records if kept. Source: Lin, Wierman, Zhang, Tan, "Joint
    optimization of overlapping phases in MapReduce" (2013), sections 2, 4 and 5.
    """
    if not isinstance(jobs, (MapShuffleJobs, MapShuffleStream)):
        raise ValueError(f"jobs: {type(jobs).__name__} is no MapShuffleJobs or MapShuffleStream")
    if estimates is not None:
        raise ValueError("estimates: the tandem model takes none yet")
    keep = isinstance(jobs, MapShuffleJobs) if records is None else bool(records)
    if keep and isinstance(jobs, MapShuffleStream):
        raise ValueError("records = True: a stream keeps none")
    if isinstance(jobs, MapShuffleJobs) and policy == "wps":
        for row in np.flatnonzero(jobs.weight == 0.0)[:1]:
            raise ValueError(f"weight[{row}] = 0.0: must be above 0 for wps")
    stop = math.inf
    if horizon is not None:
        stop = checked_positive("horizon", horizon)
    queue = _queue(policy, k, conserving, overlap, keep, (buckets, bucket_width))
    capacity = _capacities(jobs, load, (map_capacity, shuffle_capacity))
    drain = True
    if isinstance(jobs, MapShuffleStream) and jobs.load >= min(capacity):
        warnings.warn(
            "load of 1 or more: the queue grows without bound; stopping at the last arrival",
            RuntimeWarning,
            stacklevel=3,
        )
        drain = False
    lone = _core.SrptBound() if bound else None
    order = _order(jobs)
    began = time.perf_counter()
    complete = True
    entered = 0
    try:
        for arrival, size, data, weight in _chunks(jobs, order, rng):
            maps, shuffles = size / capacity[0], data / capacity[1]
            last = int(np.searchsorted(arrival, stop, side="right"))
            queue.feed(arrival[:last], maps[:last], shuffles[:last], weight[:last])
            entered += last
            if lone is not None:
                lone.feed(arrival[:last], maps[:last], shuffles[:last])
            if progress is not None:
                progress(entered, len(jobs))
            if last < len(arrival):
                break
        if drain or stop < math.inf:
            queue.advance(stop)
    except KeyboardInterrupt:
        complete = False
    seconds = time.perf_counter() - began
    totals = queue.totals()
    done = totals["completed"]
    now = totals["now"]
    histogram = queue.response_histogram()
    mean = totals["response"] / done if done else math.nan
    summary = {
        "jobs": done,
        "unfinished": totals["arrived"] - done,
        "events": totals["events"],
        "end": now,
        "mean_response": mean,
        "weighted_response": totals["weighted_response"],
        "mean_stretch": totals["stretch"] / done if done else math.nan,
        "max_response": totals["max_response"],
        **{name: _quantile(histogram, part) for name, part in _QUANTILES.items()},
        "map_utilisation": totals["map_busy"] / now if now > 0.0 else 0.0,
        "shuffle_utilisation": totals["shuffle_busy"] / now if now > 0.0 else 0.0,
        "mean_jobs": totals["jobs_seconds"] / now if now > 0.0 else 0.0,
    }
    if lone is not None and done == totals["arrived"] and done:
        summary["lower_bound"] = lone.total() / done
    count, stretch = queue.slowdown()
    with np.errstate(invalid="ignore"):
        by_size = count, np.where(count > 0, stretch / count, np.nan)
    return SimulationResult(
        model="tandem",
        records=_records(jobs, order, policy, queue, capacity)
        if isinstance(jobs, MapShuffleJobs) and keep
        else None,
        summary={policy: summary},
        slowdown={policy: by_size},
        timing={policy: seconds},
        complete=complete,
    )


def _records(
    jobs: MapShuffleJobs, order: Integers, policy: str, queue: Any, capacity: tuple[float, float]
) -> dict[str, npt.NDArray[Any]]:
    sequence, start, map_completion, completion = queue.take_records()
    rows = order[sequence]
    by_row = np.argsort(rows, kind="stable")
    rows, start = rows[by_row], start[by_row]
    map_completion, completion = map_completion[by_row], completion[by_row]
    count = len(rows)
    arrival = jobs.arrival[rows]
    alone = np.maximum(jobs.map[rows] / capacity[0], jobs.shuffle[rows] / capacity[1])
    response = np.maximum(completion - arrival, 0.0)
    stretch = np.divide(response, alone, out=np.zeros(count), where=alone > 0.0)
    names = jobs.name
    columns = (
        rows,
        np.full(count, "tandem"),
        arrival,
        np.ones(count, dtype=np.int64),
        alone,
        np.ones(count, dtype=np.int64),
        start,
        completion - start,
        completion,
        start - arrival,
        response,
        stretch,
        np.zeros(count),
        np.full(count, "0"),
        np.full(count, policy),
        np.array(
            [f"job{row}" if names is None else names[row] for row in rows.tolist()], dtype=str
        ),
        map_completion,
        completion,
    )
    return dict(zip(RECORD_COLUMNS, columns, strict=True))
