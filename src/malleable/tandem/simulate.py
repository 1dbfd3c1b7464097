"""The overlapping tandem queue of map and shuffle."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

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
from malleable.feeding import (
    by_arrival,
    fed,
    kept_records,
    over,
    quantiles,
    seed_of,
    warn_of_load,
)
from malleable.jobs.table import Floats, Integers
from malleable.policies import policy_of
from malleable.records import by_table_row, job_names, job_records
from malleable.result import SimulationResult
from malleable.tandem.table import STREAM_CHUNK, MapShuffleJobs, MapShuffleStream

_ROWS = _core.POLICIES["tandem"]
POLICIES = tuple(name for name, row in _ROWS.items() if not row.batches_only)
"""Policies that decide as jobs arrive."""

BATCH_POLICIES = tuple(name for name, row in _ROWS.items() if row.batches_only)
"""Policies that plan jobs which arrive together."""

DEFAULT_EFFORT = 1000
"""Candidates that `best` tries after its fixed plans."""

_CHUNK = 1 << 16
_SLICE = 64  # candidates between two looks at the clock
_NOTHING: Floats = np.empty(0)

_Jobs = MapShuffleJobs | MapShuffleStream


class _Columns(NamedTuple):
    """What the core is fed; sizes in seconds at full speed, empty where nothing is given."""

    arrival: Floats
    map: Floats
    shuffle: Floats
    weight: Floats
    map_estimate: Floats = _NOTHING
    shuffle_estimate: Floats = _NOTHING
    map_place: Floats = _NOTHING
    shuffle_place: Floats = _NOTHING

    def take(self, rows: Any) -> _Columns:
        return _Columns(*(np.ascontiguousarray(own[rows]) if len(own) else own for own in self))


class _Plan(NamedTuple):
    """A policy as the core knows it, with the orders of both stations where they are given."""

    policy: str
    map_place: Floats = _NOTHING
    shuffle_place: Floats = _NOTHING
    tried: int = 0
    complete: bool = True


def core_queue(
    policy: str,
    *,
    k: int = 100,
    conserving: bool = True,
    overlap: bool = True,
    records: bool = False,
    buckets: int = 400,
    bucket_width: float = 0.25,
    estimated: bool = False,
    bounce: bool = False,
) -> Any:
    """The core's queue for a policy of `POLICIES`, or for the given orders of ``order``."""
    most = check_whole("k", k, 1)
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
        buckets=check_whole("buckets", buckets, 0, 10**7),
        bucket_width=checked_positive("bucket_width", bucket_width),
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
        columns = columns._replace(
            map_estimate=seen[0] / capacity[0], shuffle_estimate=seen[1] / capacity[1]
        )
    return columns.take(order)


def _chunks(
    jobs: _Jobs,
    table: _Columns | None,
    seed: int,
    capacity: tuple[float, float],
    sigma: float | None,
) -> Iterator[tuple[_Columns, None]]:
    if table is not None:
        for first in range(0, len(table.map), _CHUNK):
            yield table.take(slice(first, first + _CHUNK)), None
        return
    assert isinstance(jobs, MapShuffleStream)
    # A generator of their own: with and without errors, the jobs are the same.
    errors = np.random.default_rng([seed, 1])
    for arrival, size, data in jobs.chunks(seed):
        columns = _Columns(arrival, size / capacity[0], data / capacity[1], np.ones(len(arrival)))
        if sigma is not None:
            columns = columns._replace(
                map_estimate=columns.map * lognormal_errors(sigma, len(arrival), errors),
                shuffle_estimate=columns.shuffle * lognormal_errors(sigma, len(arrival), errors),
            )
        yield columns, None


def _upper_end(place: int) -> float:
    """The upper end of a bin, 1/64 of an octave wide; the first one is for 0 alone."""
    if place == 0:
        return 0.0
    bits = np.array([(place + 1) << 46], dtype=np.uint64)
    return float(bits.view(np.float64)[0])


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
    capacity = _capacities(jobs, None, (map_capacity, shuffle_capacity))
    if _is_batch(jobs):
        assert isinstance(jobs, MapShuffleJobs)
        return _core.overlap_batch_bound(jobs.map / capacity[0], jobs.shuffle / capacity[1])
    bound = _core.SrptBound()
    table = None
    if isinstance(jobs, MapShuffleJobs):
        table = _columns(jobs, capacity, None, by_arrival(jobs.arrival))
    for columns, _ in _chunks(jobs, table, seed_of(rng), capacity, None):
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
    overlap: bool = True,
    records: bool | None = None,
    horizon: float | None = None,
    bound: bool = True,
    underestimates: str = "first",
    effort: int = DEFAULT_EFFORT,
    budget: float | None = None,
    progress: Callable[[int, int], None] | None = None,
    **station: Any,
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
    overlap : bool
        False: a traditional tandem queue, whose shuffle starts when the map phase has ended.
    records : bool, optional
        Keep one record a job; by default for tables, not for streams.
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
    **station
        ``k`` [100]. ``conserving`` [True]: hand on capacity that the first job (MaxSRPT, FCFS) or the
        class (SplitSRPT) cannot use; False: the algorithms as printed. All other policies always
        hand on. ``buckets`` [400] and ``bucket_width`` [0.25]: mean stretch by size
        max(map, shuffle) [s at full speed].

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
    policy_of("tandem", policy)
    checked_choice("underestimates", underestimates, UNDERESTIMATES)
    keep = kept_records(records, isinstance(jobs, MapShuffleStream))
    stop = math.inf if horizon is None else checked_positive("horizon", horizon)
    seed = seed_of(rng)
    capacity = _capacities(jobs, load, (map_capacity, shuffle_capacity))
    sigma = error_sigma(estimates)
    table = None
    if isinstance(jobs, MapShuffleJobs):
        table = _table(jobs, policy, capacity, estimates, seed)
    elif estimates is not None and sigma is None:
        raise ValueError("estimates: a stream takes a standard deviation only")
    began = time.perf_counter()
    plan = _plan(policy, jobs, table, effort, budget)
    if table is not None:
        table = table._replace(map_place=plan.map_place, shuffle_place=plan.shuffle_place)
    queue = core_queue(
        plan.policy,
        overlap=overlap,
        records=keep,
        estimated=estimates is not None,
        bounce=underestimates == "bounce",
        **station,
    )
    given = jobs.load / min(capacity) if isinstance(jobs, MapShuffleStream) else load
    drain = given is None or given < 1.0
    if not drain:
        warn_of_load("last arrival")
    lone = _core.SrptBound() if bound and not _is_batch(jobs) else None

    def feed(columns: _Columns, _: Floats | None) -> None:
        queue.feed(*columns)
        if lone is not None:
            lone.feed(columns.arrival, columns.map, columns.shuffle)

    def end() -> None:
        if drain or stop < math.inf:
            queue.advance(stop)

    chunks = _chunks(jobs, table, seed, capacity, sigma)
    complete, _ = fed(chunks, stop, len(jobs), feed, end, progress)
    seconds = time.perf_counter() - began
    summary = _summary(queue)
    if bound and summary["jobs"] and not summary["unfinished"]:
        summary["lower_bound"] = _total_bound(table, lone) / summary["jobs"]
    if policy == "best":
        summary["tried"] = plan.tried
    if _is_batch(jobs) and table is not None and estimates is None and overlap:
        summary |= _guarantee(policy, table)
    count, stretch = queue.slowdown()
    with np.errstate(invalid="ignore"):
        by_size = count, np.where(count > 0, stretch / count, np.nan)
    return SimulationResult(
        model="tandem",
        records=_records(jobs, policy, queue, capacity) if keep else None,
        summary={policy: summary},
        slowdown={policy: by_size},
        timing={policy: seconds},
        complete=complete and plan.complete,
    )


def _table(
    jobs: MapShuffleJobs, policy: str, capacity: tuple[float, float], estimates: Any, seed: int
) -> _Columns:
    """What the core is fed of a table."""
    if policy_of("tandem", policy).shares == "weighted":
        for row in np.flatnonzero(jobs.weight == 0.0)[:1]:
            raise ValueError(f"weight[{row}] = 0.0: must be above 0 for {policy}")
    seen = phase_estimates(jobs, estimates, np.random.default_rng([seed, 1]))
    return _columns(jobs, capacity, seen, by_arrival(jobs.arrival))


def _total_bound(table: _Columns | None, lone: Any) -> float:
    """The floor under the sum of responses: that of SRPT at each station, or of a batch."""
    if lone is None and table is not None:
        return _core.overlap_batch_bound(table.map, table.shuffle)
    return float(lone.total())


def _guarantee(policy: str, table: _Columns) -> dict[str, float]:
    """What the policy promises of a batch, if anything."""
    if not policy_of("tandem", policy).guaranteed:
        return {}
    return {"guarantee": batch_guarantee(policy, table.map, table.shuffle)}


def _summary(queue: Any) -> dict[str, float]:
    totals = queue.totals()
    done, now = totals["completed"], totals["now"]
    return {
        "jobs": done,
        "unfinished": totals["arrived"] - done,
        "events": totals["events"],
        "end": now,
        "mean_response": over(totals["response"], done),
        "weighted_response": totals["weighted_response"],
        "mean_stretch": over(totals["stretch"], done),
        "max_response": totals["max_response"],
        **quantiles(queue.response_histogram(), _upper_end),
        "map_utilisation": over(totals["map_busy"], now, 0.0),
        "shuffle_utilisation": over(totals["shuffle_busy"], now, 0.0),
        "mean_jobs": over(totals["jobs_seconds"], now, 0.0),
    }


def _records(
    jobs: Any, policy: str, queue: Any, capacity: tuple[float, float]
) -> dict[str, npt.NDArray[Any]]:
    order = by_arrival(jobs.arrival)
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
