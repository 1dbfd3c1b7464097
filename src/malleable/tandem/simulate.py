"""The overlapping tandem queue of map and shuffle."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.domain import check_count, check_whole, checked_choice, checked_positive
from malleable.estimates import (
    UNDERESTIMATES,
    error_sigma,
    lognormal_errors,
    phase_estimates,
)
from malleable.jobs.table import Floats, Integers
from malleable.policies import policy_of
from malleable.records import by_table_row, job_names, job_records
from malleable.result import SimulationResult
from malleable.tandem.table import STREAM_CHUNK, MapShuffleJobs, MapShuffleStream

__all__ = [
    "BATCH_POLICIES",
    "DEFAULT_EFFORT",
    "POLICIES",
    "batch_guarantee",
    "capacities_at",
    "chunks_of",
    "core_queue",
    "lower_bound",
    "run",
]

_ROWS = _core.POLICIES["tandem"]
POLICIES = tuple(name for name, row in _ROWS.items() if not row.batches_only)
"""Policies that decide as jobs arrive."""

BATCH_POLICIES = tuple(name for name, row in _ROWS.items() if row.batches_only)
"""Policies that plan jobs which arrive together."""

DEFAULT_EFFORT = 1000
"""Candidates that `best` tries after its fixed plans."""

_CHUNK = 1 << 16
_SLICE = 64  # candidates between two looks at the clock
_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
_NOTHING: Floats = np.empty(0)

_Jobs = MapShuffleJobs | MapShuffleStream


@dataclass(frozen=True)
class _Columns:
    """What the core is fed; sizes in seconds at full speed, empty where nothing is given."""

    arrival: Floats
    map: Floats
    shuffle: Floats
    weight: Floats
    map_estimate: Floats = field(default_factory=lambda: _NOTHING)
    shuffle_estimate: Floats = field(default_factory=lambda: _NOTHING)
    map_place: Floats = field(default_factory=lambda: _NOTHING)
    shuffle_place: Floats = field(default_factory=lambda: _NOTHING)

    def rows(self, chosen: Any) -> _Columns:
        return _Columns(
            *(
                np.ascontiguousarray(column[chosen]) if len(column) else column
                for column in self.all()
            )
        )

    def all(self) -> tuple[Floats, ...]:
        return tuple(getattr(self, column.name) for column in fields(self))


@dataclass(frozen=True)
class _Plan:
    """A policy as the core knows it, with the orders of both stations where they are given."""

    policy: str
    map_place: Floats = field(default_factory=lambda: _NOTHING)
    shuffle_place: Floats = field(default_factory=lambda: _NOTHING)
    tried: int = 0
    complete: bool = True


def core_queue(
    policy: str,
    *,
    k: int = 100,
    conserving: bool = True,
    overlap: bool = True,
    records: bool = False,
    buckets: Any = (0, 1.0),
    estimated: bool = False,
    bounce: bool = False,
) -> Any:
    """The core's queue for a policy of `POLICIES`, or for the given orders of ``order``."""
    most = check_whole("k", k, 1)
    count, width = buckets
    row = _ROWS.get(policy)  # none: given orders
    return _core.TandemQueue(
        policy=policy,
        conserving=bool(conserving) or row is None or not row.may_idle,
        overlap=bool(overlap),
        records=records,
        weighted=row is not None and row.shares == "weighted",
        estimated=estimated,
        bounce=bounce,
        most_mapping=most if policy == "k-lps" else -1,
        buckets=check_whole("buckets", count, 0, 10**7),
        bucket_width=checked_positive("bucket_width", width),
    )


def _columns(
    jobs: MapShuffleJobs,
    capacity: tuple[float, float],
    seen: tuple[Floats, Floats] | None,
    order: Integers,
) -> _Columns:
    columns = _Columns(
        jobs.arrival, jobs.map / capacity[0], jobs.shuffle / capacity[1], jobs.weight
    )
    if seen is not None:
        columns = replace(
            columns, map_estimate=seen[0] / capacity[0], shuffle_estimate=seen[1] / capacity[1]
        )
    return columns.rows(order)


def _chunks(
    jobs: _Jobs,
    table: _Columns | None,
    seed: int,
    capacity: tuple[float, float],
    sigma: float | None,
) -> Iterator[_Columns]:
    if table is not None:
        for first in range(0, len(table.map), _CHUNK):
            yield table.rows(slice(first, first + _CHUNK))
        return
    assert isinstance(jobs, MapShuffleStream)
    # A generator of their own: with and without errors, the jobs are the same.
    errors = np.random.default_rng([seed, 1])
    for arrival, size, data in jobs.chunks(seed):
        columns = _Columns(arrival, size / capacity[0], data / capacity[1], np.ones(len(arrival)))
        if sigma is not None:
            columns = replace(
                columns,
                map_estimate=columns.map * lognormal_errors(sigma, len(arrival), errors),
                shuffle_estimate=columns.shuffle * lognormal_errors(sigma, len(arrival), errors),
            )
        yield columns


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


def _seed(rng: np.random.Generator | int | None) -> int:
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if rng is None:
        return int(np.random.default_rng().integers(2**63))
    return rng


def _is_batch(jobs: _Jobs) -> bool:
    return (
        isinstance(jobs, MapShuffleJobs)
        and len(jobs) > 0
        and bool((jobs.arrival == jobs.arrival[0]).all())
    )


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
    section 5.1); O(J log n) with n jobs waiting. For a batch, mixtures of both stations too (the
    header of the core's `kernel/overlap_batch_bound`), which is never less.
    """
    capacity = (
        checked_positive("map_capacity", map_capacity),
        checked_positive("shuffle_capacity", shuffle_capacity),
    )
    if _is_batch(jobs):
        assert isinstance(jobs, MapShuffleJobs)
        return _core.overlap_batch_bound(jobs.map / capacity[0], jobs.shuffle / capacity[1])
    bound = _core.SrptBound()
    table = None
    if isinstance(jobs, MapShuffleJobs):
        table = _columns(jobs, capacity, None, _order(jobs))
    for columns in _chunks(jobs, table, _seed(rng), capacity, None):
        bound.feed(columns.arrival, columns.map, columns.shuffle)
    return bound.total()


def batch_guarantee(policy: str, map: npt.ArrayLike, shuffle: npt.ArrayLike) -> float:
    """How many times the least total response of a batch a policy can need at most.

    Parameters
    ----------
    policy : {"max-srpt", "split-srpt", "best"}
    map, shuffle : array_like, shape (J,)
        Sizes in seconds at full speed; jobs with neither do not count.

    Returns
    -------
    float
        2 a / (1 + a) for MaxSRPT with a the largest imbalance max(x / y, y / x), 1 + 1 / b for
        SplitSRPT with b the least one, the smaller of both for ``best``; at most 2.

    Notes
    -----
    O(J). Source: Lin et al. 2013, corollaries 4 and 6.
    """
    checked_choice("policy", policy, ("max-srpt", "split-srpt", "best"))
    x, y = np.asarray(map, dtype=np.float64), np.asarray(shuffle, dtype=np.float64)
    large, small = np.maximum(x, y), np.minimum(x, y)
    some = large > 0.0
    if not some.any():
        return 1.0
    balance = small[some] / large[some]  # 1 / imbalance, without infinities
    most, least = float(balance.max()), float(balance.min())
    ratios = {"max-srpt": 2.0 / (1.0 + least), "split-srpt": 1.0 + most}
    return min(ratios.values()) if policy == "best" else ratios[policy]


def _order(jobs: MapShuffleJobs) -> Integers:
    return np.argsort(jobs.arrival, kind="stable").astype(np.int64)


def _plan(policy: str, jobs: _Jobs, seen: _Columns | None, effort: Any, budget: Any) -> _Plan:
    """What ``best`` and ``makespan`` plan for a batch from the sizes that they see."""
    if policy not in BATCH_POLICIES:
        return _Plan(policy)
    tries = check_count("effort", effort)
    ceiling = math.inf if budget is None else float(budget)
    if math.isnan(ceiling) or ceiling < 0.0:
        raise ValueError(f"budget = {budget!r}: must be at least 0")
    if seen is None or not _is_batch(jobs):
        raise ValueError(f"policy = {policy!r}: plans batches only, jobs that arrive together")
    maps, shuffles = seen.map, seen.shuffle
    if len(seen.map_estimate):
        maps, shuffles = seen.map_estimate, seen.shuffle_estimate
    if policy == "makespan":
        order, _ = _core.overlap_makespan(maps, shuffles)
        place = np.empty(len(order))
        place[order] = np.arange(len(order))
        return _Plan("order", place, place)
    began = time.perf_counter()
    batch = _core.TandemBatch(maps, shuffles)
    complete = True
    try:
        while batch.tried < tries and time.perf_counter() - began < ceiling:
            before = batch.tried
            batch.search(min(_SLICE, tries - before))
            if batch.tried == before:
                break  # the bound is met, or there is nothing to move
    except KeyboardInterrupt:
        complete = False
    name, map_place, shuffle_place = batch.plan()
    if name != "order":
        map_place = shuffle_place = _NOTHING
    return _Plan(name, map_place, shuffle_place, batch.tried, complete)


def chunks_of(jobs: MapShuffleJobs | MapShuffleStream) -> int:
    """How many times ``progress`` of `run` is called for these jobs."""
    return -(-len(jobs) // (STREAM_CHUNK if isinstance(jobs, MapShuffleStream) else _CHUNK))


def capacities_at(jobs: MapShuffleJobs, load: float) -> tuple[float, float]:
    """Map and shuffle capacity at which a table's work takes this part of the time between its first
    and its last arrival, at both stations.

    Raises
    ------
    ValueError
        A load that is not above 0, jobs that arrive together, or a phase without work.
    """
    target = checked_positive("load", load)
    span = float(np.ptp(jobs.arrival)) if len(jobs) else 0.0
    totals = float(jobs.map.sum()), float(jobs.shuffle.sum())
    if not (span > 0.0 and min(totals) > 0.0):
        raise ValueError("load: needs arrivals at different times and work in both phases")
    return totals[0] / (span * target), totals[1] / (span * target)


def _capacities(jobs: _Jobs, load: float | None, given: tuple[float, float]) -> tuple[float, float]:
    if load is None:
        return (
            checked_positive("map_capacity", given[0]),
            checked_positive("shuffle_capacity", given[1]),
        )
    if isinstance(jobs, MapShuffleStream):
        raise ValueError("load: a stream has its own")
    return capacities_at(jobs, load)


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
    underestimates: str = "first",
    effort: int = DEFAULT_EFFORT,
    budget: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SimulationResult:
    """Simulate one policy.

    Parameters
    ----------
    jobs : MapShuffleJobs or MapShuffleStream
        A table in any order, or a stream that is drawn while it runs.
    policy : str
        One of `POLICIES` or `BATCH_POLICIES`. ``k-lps`` lets the ``k`` oldest jobs share the map
        station; all three kinds of sharing hand on, at the shuffle station, what a job cannot use
        (max-min). ``two-srpt`` is ours (docs/tandem.md). ``best`` plans a batch: the SRPT plans and
        local search; ``makespan`` orders one for the least makespan (section 3.1).
    rng : numpy Generator or seed, optional
        Of a stream, and of log-normal estimates.
    estimates : float, "column" or pair of array_like, optional
        Sizes as policies see them, map and shuffle: the standard deviation of the logarithm of
        independent errors, the table's own columns, or two columns. None: the truth. Policies that
        do not look at sizes do as always.
    map_capacity, shuffle_capacity : float
        Work done a second.
    load : float, optional
        Choose both capacities so that the work of the whole table takes this part of the time
        between its first and last arrival.
    conserving : bool
        Hand on capacity that the first job (MaxSRPT, FCFS) or the class (SplitSRPT) cannot use.
        False: the algorithms as printed. All other policies always hand on.
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
    underestimates : {"first", "bounce"}
        A job that has done more of a phase than was estimated shows nothing left of it and goes
        first, or it shows what it has overrun, up to the estimate, so that others go by (after SRPT
        with bounce: Scully, Grosof, Mitzenmacher, "Uniform bounds for scheduling with job size
        estimates", ITCS 2022).
    effort : int
        ``best``: candidates after the fixed plans.
    budget : float, optional
        ``best``: ceiling of wall-clock time [s], looked at between candidates.
    progress : callable, optional
        Called with (jobs entered, all jobs) after every chunk.

    Returns
    -------
    SimulationResult
        After Ctrl-C what was finished, with ``complete`` false. ``summary["guarantee"]`` is that of
        `batch_guarantee`, for batches whose sizes are known.

    Raises
    ------
    ValueError
        An unknown policy, a value out of its range, weights of 0 with ``wps``, jobs that arrive at
        different times with ``best`` or ``makespan``.

    Warns
    -----
    RuntimeWarning
        A load of 1 or more, of a stream or asked for; it stops at the last arrival, or at the horizon.

    Notes
    -----
    Exact events, no time steps; the header of the core's `sim/tandem` gives costs. Memory: a chunk,
    the jobs in the system, and records if kept. Source: Lin, Wierman, Zhang, Tan, "Joint
    optimization of overlapping phases in MapReduce" (2013), sections 2, 4 and 5.
    """
    if not isinstance(jobs, (MapShuffleJobs, MapShuffleStream)):
        raise ValueError(f"jobs: {type(jobs).__name__} is no MapShuffleJobs or MapShuffleStream")
    promises = policy_of("tandem", policy)
    checked_choice("underestimates", underestimates, UNDERESTIMATES)
    keep = isinstance(jobs, MapShuffleJobs) if records is None else bool(records)
    if keep and isinstance(jobs, MapShuffleStream):
        raise ValueError("records = True: a stream keeps none")
    if isinstance(jobs, MapShuffleJobs) and promises.shares == "weighted":
        for row in np.flatnonzero(jobs.weight == 0.0)[:1]:
            raise ValueError(f"weight[{row}] = 0.0: must be above 0 for {policy}")
    stop = math.inf
    if horizon is not None:
        stop = checked_positive("horizon", horizon)
    seed = _seed(rng)
    capacity = _capacities(jobs, load, (map_capacity, shuffle_capacity))
    sigma = error_sigma(estimates)
    table: _Columns | None = None
    order = np.empty(0, dtype=np.int64)
    if isinstance(jobs, MapShuffleJobs):
        order = _order(jobs)
        errors = np.random.default_rng([seed, 1])
        table = _columns(jobs, capacity, phase_estimates(jobs, estimates, errors), order)
    elif estimates is not None and sigma is None:
        raise ValueError("estimates: a stream takes a standard deviation only")
    began = time.perf_counter()
    plan = _plan(policy, jobs, table, effort, budget)
    if table is not None:
        table = replace(table, map_place=plan.map_place, shuffle_place=plan.shuffle_place)
    queue = core_queue(
        plan.policy,
        k=k,
        conserving=conserving,
        overlap=overlap,
        records=keep,
        buckets=(buckets, bucket_width),
        estimated=estimates is not None,
        bounce=underestimates == "bounce",
    )
    asked = jobs.load / min(capacity) if isinstance(jobs, MapShuffleStream) else load or 0.0
    drain = asked < 1.0
    if not drain:
        warnings.warn(
            "load of 1 or more: the queue grows without bound; stopping at the last arrival",
            RuntimeWarning,
            stacklevel=3,
        )
    lone = _core.SrptBound() if bound and not _is_batch(jobs) else None
    complete = plan.complete
    entered = 0
    try:
        for columns in _chunks(jobs, table, seed, capacity, sigma):
            last = int(np.searchsorted(columns.arrival, stop, side="right"))
            inside = columns if last == len(columns.arrival) else columns.rows(slice(last))
            queue.feed(*inside.all())
            entered += last
            if lone is not None:
                lone.feed(inside.arrival, inside.map, inside.shuffle)
            if progress is not None:
                progress(entered, len(jobs))
            if last < len(columns.arrival):
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
    if done and done == totals["arrived"]:
        if lone is not None:
            summary["lower_bound"] = lone.total() / done
        elif bound and table is not None:
            summary["lower_bound"] = _core.overlap_batch_bound(table.map, table.shuffle) / done
    if policy == "best":
        summary["tried"] = plan.tried
    guaranteed = promises.guaranteed and estimates is None and overlap
    if guaranteed and table is not None and _is_batch(jobs):
        summary["guarantee"] = batch_guarantee(policy, table.map, table.shuffle)
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
    rows, start, map_completion, completion = by_table_row(order, *queue.take_records())
    alone = np.maximum(jobs.map[rows] / capacity[0], jobs.shuffle[rows] / capacity[1])
    return job_records(
        "tandem",
        policy,
        rows,
        job_names(jobs.name, rows),
        arrival=jobs.arrival[rows],
        start=start,
        map_completion=map_completion,
        completion=completion,
        size=alone,
        requested_time=alone,
    )
