"""The overlapping tandem queue of map and shuffle."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.columns import Floats
from malleable.domain import check_count, check_whole, checked_choice, checked_positive, refuse
from malleable.feeding import (
    PART,
    Part,
    Source,
    kept_records,
    queue_records,
    seed_of,
    warn_of_load,
)
from malleable.policies import policy_of
from malleable.result import SimulationResult
from malleable.size_errors import UNDERESTIMATES
from malleable.tandem.series import checked_times, left_over_time
from malleable.tandem.table import STREAM_CHUNK, MapShuffleJobs, MapShuffleStream

if TYPE_CHECKING:
    from typing import TypeGuard

_POLICIES = _core.POLICIES["tandem"]
POLICIES = tuple(name for name, row in _POLICIES.items() if not row.batches_only)
"""Policies that decide as jobs arrive."""

BATCH_POLICIES = tuple(name for name, row in _POLICIES.items() if row.batches_only)
"""Policies that plan jobs which arrive together."""

BUCKETS, BUCKET_WIDTH = 400, 0.25
"""Mean stretch is kept by size max(map, shuffle): in so many buckets, so wide [s at full speed]."""

DEFAULT_EFFORT = 1000
"""Candidates that `best` tries after its fixed plans."""

_SLICE = 64  # candidates between two looks at the clock
NOTHING: Floats = np.empty(0)

_Jobs = MapShuffleJobs | MapShuffleStream


class _Plan(NamedTuple):
    """A policy as the core knows it, with the orders of both stations where they are given."""

    policy: str
    places: Sequence[Floats] = ()
    tried: int = 0
    complete: bool = True


def _sizes(jobs: MapShuffleJobs) -> dict[str, Floats]:
    return {"map_estimate": jobs.map, "shuffle_estimate": jobs.shuffle}


def core_queue(policy: str, *, k: int = 100, **options: bool) -> Any:
    """The core's queue for a policy of `POLICIES`, or for the given orders of ``order``."""
    flags = {name: bool(value) for name, value in options.items()}
    oldest = check_whole("k", k, 1)
    return _core.TandemQueue(policy, oldest, buckets=BUCKETS, bucket_width=BUCKET_WIDTH, **flags)


def _is_batch(jobs: _Jobs) -> TypeGuard[MapShuffleJobs]:
    return isinstance(jobs, MapShuffleJobs) and len(jobs) > 0 and not np.ptp(jobs.arrival)


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
        return _core.overlap_batch_bound(*_at_speed((jobs.map, jobs.shuffle), capacity))
    bound = _core.SrptBound()
    for part, _, _ in Source(jobs, seed_of(rng)).parts():
        bound.feed(part.arrival, *_at_speed((part.map, part.shuffle), capacity))
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


def _plan(policy: str, jobs: _Jobs, seen: Sequence[Floats], effort: Any, budget: Any) -> _Plan:
    """What ``best`` and ``makespan`` plan for a batch from the sizes that they see."""
    if policy not in BATCH_POLICIES:
        return _Plan(policy)
    tries = check_count("effort", effort)
    ceiling = math.inf if budget is None else float(budget)
    if math.isnan(ceiling) or ceiling < 0.0:
        raise ValueError(f"budget = {budget!r}: must be at least 0")
    if not _is_batch(jobs):
        raise ValueError(f"policy = {policy!r}: plans batches only, jobs that arrive together")
    if policy == "makespan":
        order, _ = _core.overlap_makespan(*seen)
        place = np.empty(len(order))
        place[order] = np.arange(len(order))
        return _Plan("order", (place, place))
    began = time.perf_counter()
    batch = _core.TandemBatch(*seen)
    complete = True
    try:
        while batch.tried < tries and time.perf_counter() - began < ceiling:
            before = batch.tried
            batch.search(min(_SLICE, tries - before))
            if batch.tried == before:
                break  # the bound is met, or there is nothing to move
    except KeyboardInterrupt:
        complete = False
    name, *places = batch.plan()
    return _Plan(name, places if name == "order" else (), batch.tried, complete)


def chunks_of(jobs: MapShuffleJobs | MapShuffleStream) -> int:
    """How many times ``progress`` of `run` is called for these jobs."""
    return -(-len(jobs) // (STREAM_CHUNK if isinstance(jobs, MapShuffleStream) else PART))


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
        names = ("map_capacity", "shuffle_capacity")
        maps, shuffles = map(checked_positive, names, given)
        return maps, shuffles
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
    times: npt.ArrayLike | None = None,
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
        station (``k=1``: maps in the order of arrival beside a shared shuffle, the paper's figure 4); all
        three kinds of sharing hand on, at the shuffle station, what a job cannot use (max-min).
        ``two-srpt`` is ours (docs/tandem.md). ``best`` plans a batch: the SRPT plans and local search;
        ``makespan`` orders one for the least makespan (section 3.1).
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
    times : array_like, shape (T,), optional
        Increasing times [s] at which ``result.series`` says what is left of every job of a table:
        ``time``, and of shape (T, J) ``map_left``, ``shuffle_left`` and of that ``ready`` (its map work is
        done); NaN before a job comes. Times after ``horizon`` are left out. Runs the queue twice.
    progress : callable, optional
        Called with (jobs entered, all jobs) after every chunk.
    **station
        ``k`` [100]. ``conserving`` [True]: hand on capacity that the first job (MaxSRPT, FCFS) or the
        class (SplitSRPT) cannot use; False: the algorithms as printed. All other policies always
        hand on.

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
    _check_policy(policy, jobs)
    checked_choice("underestimates", underestimates, UNDERESTIMATES)
    keep = kept_records(records, isinstance(jobs, MapShuffleStream))
    stop = math.inf if horizon is None else checked_positive("horizon", horizon)
    capacity = _capacities(jobs, load, (map_capacity, shuffle_capacity))
    at = None if times is None else checked_times(jobs, times)
    source = Source(jobs, seed_of(rng), estimates, _sizes)
    began = time.perf_counter()
    at_speed: tuple[Floats, ...] = ()
    if isinstance(jobs, MapShuffleJobs):
        at_speed = _at_speed(source.seen or (jobs.map, jobs.shuffle), capacity)
    plan = _plan(policy, jobs, at_speed, effort, budget)
    bounce, estimated = underestimates == "bounce", estimates is not None
    how = {"overlap": overlap, "estimated": estimated, "bounce": bounce, **station}
    queue = core_queue(plan.policy, records=keep, **how)
    drain = _drains(jobs, load, capacity)
    lone = _core.SrptBound() if bound and not _is_batch(jobs) else None

    def feed(queue: Any, part: Part) -> None:
        own = part.jobs
        sizes = _at_speed((own.map, own.shuffle), capacity)
        seen = (NOTHING, NOTHING) if part.seen is None else _at_speed(part.seen, capacity)
        places = [place[part.rows] for place in plan.places] or (NOTHING, NOTHING)
        queue.feed(own.arrival, *sizes, own.weight, *seen, *places)

    def feed_all(part: Part) -> None:
        feed(queue, part)
        if lone is not None:
            lone.feed(part.jobs.arrival, *_at_speed((part.jobs.map, part.jobs.shuffle), capacity))

    def end() -> None:
        if drain or stop < math.inf:
            queue.advance(stop)

    complete, _ = source.feed(stop, len(jobs), feed_all, end, progress)
    seconds = time.perf_counter() - began
    series = None
    if at is not None and complete and isinstance(jobs, MapShuffleJobs):
        end_of_all = stop if drain or stop < math.inf else float(jobs.arrival.max())
        own = at[at <= end_of_all], source.parts(), feed
        series = {policy: left_over_time(core_queue(plan.policy, **how), jobs, capacity, *own)}
    summary = queue.summary()
    if bound and summary["jobs"] and not summary["unfinished"]:
        summary["lower_bound"] = _total_bound(jobs, capacity, lone) / summary["jobs"]
    if policy == "best":
        summary["tried"] = plan.tried
    if estimates is None and overlap:
        summary |= _guarantee(policy, jobs, at_speed)
    kept = None
    if keep and isinstance(jobs, MapShuffleJobs):
        alone = np.maximum(*_at_speed((jobs.map, jobs.shuffle), capacity))
        kept = queue_records("tandem", policy, jobs, queue.take_records(), alone)
    parts = {policy: summary}, {policy: queue.slowdown()}, {policy: seconds}
    return SimulationResult("tandem", kept, *parts, complete and plan.complete, series=series)


def _check_policy(policy: str, jobs: _Jobs) -> None:
    """ValueError for an unknown one, and for weights of 0 where it divides by them."""
    if policy_of("tandem", policy).shares == "weighted" and isinstance(jobs, MapShuffleJobs):
        refuse("weight", jobs.weight, jobs.weight == 0.0, f"must be above 0 for {policy}")


def _guarantee(policy: str, jobs: _Jobs, at_speed: tuple[Floats, ...]) -> dict[str, float]:
    """What the policy promises of a batch, if anything."""
    if not (_is_batch(jobs) and _POLICIES[policy].guaranteed):
        return {}
    return {"guarantee": batch_guarantee(policy, *at_speed)}


def _drains(jobs: _Jobs, load: float | None, capacity: tuple[float, float]) -> bool:
    """Whether the queue empties behind the last arrival; a warning if it does not."""
    given = jobs.load / min(capacity) if isinstance(jobs, MapShuffleStream) else load
    if given is None or given < 1.0:
        return True
    warn_of_load("last arrival")
    return False


def _at_speed(sizes: tuple[Floats, ...], capacity: tuple[float, float]) -> tuple[Floats, Floats]:
    """Map and shuffle sizes in seconds at full speed."""
    return sizes[0] / capacity[0], sizes[1] / capacity[1]


def _total_bound(jobs: _Jobs, capacity: tuple[float, float], lone: Any) -> float:
    """The floor under the sum of responses: that of SRPT at each station, or of a batch."""
    if lone is None and isinstance(jobs, MapShuffleJobs):
        return _core.overlap_batch_bound(*_at_speed((jobs.map, jobs.shuffle), capacity))
    return float(lone.total())
