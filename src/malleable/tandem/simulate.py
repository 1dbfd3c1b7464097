"""Simulation of jobs with a map and a shuffle phase in a tandem queue: two stations, one after the other. The
map station is all map slots of a cluster, the shuffle station its network; the phases of a job overlap, so a
shuffle can go on as far as its maps have (Lin et al. 2013). A batch is jobs that arrive together."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.arrays import Floats
from malleable.policies import policy_of
from malleable.results import SimulationResult
from malleable.streaming import (
    Part,
    Source,
    by_arrival,
    kept_records,
    queue_records,
    seed_of,
    warn_of_load,
)
from malleable.tandem.table import MapShuffleJobs, MapShuffleStream
from malleable.traces.job_table import table_of
from malleable.validation import (
    check_count,
    check_whole,
    checked_choice,
    checked_positive,
    floats,
    refuse,
    suggesting,
)

if TYPE_CHECKING:
    from typing import TypeGuard

_POLICIES = _core.POLICIES["tandem"]
# Policies that decide as jobs arrive.
POLICIES = tuple(name for name, row in _POLICIES.items() if not row.batches_only)

# Policies that plan jobs which arrive together.
BATCH_POLICIES = tuple(name for name, row in _POLICIES.items() if row.batches_only)

# Mean stretch is kept by size max(map, shuffle): in so many buckets, so wide [s at full speed].
BUCKETS, BUCKET_WIDTH = 400, 0.25

DEFAULT_EFFORT = 1000  # candidate plans that policy `best` tries for a batch

_SLICE = 64  # candidates between two looks at the clock
_MOST_TIMES = 10**7  # most numbers of one column of `result.series`
_LEFT = ("map_left", "shuffle_left", "ready")  # its columns, shuffle that may run now last
NOTHING: Floats = np.empty(0)  # for the core: no such column

_Jobs = MapShuffleJobs | MapShuffleStream


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
    The shortest remaining work first at each station alone, the larger total of every joint busy period (Lin
    et al. 2013, section 5.1); O(J log n) with n jobs waiting. For a batch, mixtures of both stations, too.
    """
    capacity = _capacities(jobs, None, (map_capacity, shuffle_capacity))
    if _is_batch(jobs):
        return _total_bound(jobs, capacity)
    bound = _core.SrptBound()
    for part, _, _ in Source(jobs, seed_of(rng)).parts():
        bound.feed(part.arrival, *_at_speed((part.map, part.shuffle), capacity))
    return bound.total()


def batch_guarantee(policy: str, map: npt.ArrayLike, shuffle: npt.ArrayLike) -> float:
    """How many times the least total response of a batch a policy (``max-srpt``, ``split-srpt``, ``best``)
    can need at most.

    2 a / (1 + a) for MaxSRPT, with a the largest imbalance max(x / y, y / x) of sizes ``map`` and ``shuffle``
    in seconds at full speed, 1 + 1 / b for SplitSRPT, with b the least one, the smaller of both for ``best``;
    at most 2. Jobs without work do not count. O(J). Source: Lin et al. 2013, corollaries 4 and 6."""
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


def _plan(
    policy: str, jobs: _Jobs, seen: Sequence[Floats], effort: Any, budget: Any
) -> tuple[str, Sequence[Floats], int, bool]:
    # The core's policy, for each station the places of the jobs in its order, how many plans were tried, and
    # whether that was not interrupted.
    if policy not in BATCH_POLICIES:
        return policy, (), 0, True
    tries = check_count("effort", effort)
    ceiling = math.inf if budget is None else float(budget)
    if math.isnan(ceiling) or ceiling < 0.0:
        raise ValueError(f"budget = {budget!r}: must be at least 0")
    if not _is_batch(jobs):
        raise ValueError(f"policy = {policy!r}: plans batches only, jobs that arrive together")
    if policy == "makespan":
        order, _ = _core.tandem_makespan(*seen)
        place = np.empty(len(order))
        place[order] = np.arange(len(order))
        return "order", (place, place), 0, True
    began = time.perf_counter()
    batch = _core.TandemBatch(*seen)
    complete = True
    try:
        while batch.tried < tries and time.perf_counter() - began < ceiling:
            before = batch.tried
            batch.search(min(_SLICE, tries - before))
            if batch.tried == before:
                break  # the bound is met, or no job can move
    except KeyboardInterrupt:
        complete = False
    name, *places = batch.plan()
    return name, places if name == "order" else (), batch.tried, complete


def capacities_at(jobs: MapShuffleJobs, load: float) -> tuple[float, float]:
    """Map and shuffle capacity at which a table's work takes this part of the time between its first and its
    last arrival, at both stations. ValueError if that is impossible."""
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


@suggesting
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
    effort: int = DEFAULT_EFFORT,
    budget: float | None = None,
    times: npt.ArrayLike | None = None,
    progress: Callable[[int, int], None] | None = None,
    **station: Any,
) -> SimulationResult:
    """Simulate one policy for jobs with a map and a shuffle phase, in a tandem queue of two stations.

    Parameters
    ----------
    jobs : MapShuffleJobs or MapShuffleStream
        A table in any order, or a stream of jobs that are drawn while the simulation runs.
    policy : str
        One of `POLICIES` or `BATCH_POLICIES`. With ``k-lps`` the ``k`` oldest jobs share the map station
        (``k=1``: maps in the order of arrival beside a shared shuffle, figure 4 of Lin et al. 2013). With
        ``k-lps``, ``ps`` and ``wps``, which share, other jobs get what a job cannot use at the shuffle station
        (max-min). ``two-srpt`` is no paper's but this project's (docs/internals/models.md). For a batch,
        ``best`` searches near the best plan, and ``makespan`` minimises the makespan (section 3.1).
    rng, records, progress
        As for `malleable.simulate`.
    estimates : float, "column" or pair of array_like, optional
        Sizes as policies see them. None: the truth. A number: the standard deviation of independent
        log-normal errors. ``"column"``: the table's columns of estimates. A pair: two arrays.
    map_capacity, shuffle_capacity : float
        Work that each station does in a second.
    load : float, optional
        Instead of both capacities: the work of the whole table takes this part of the time between the first
        and the last arrival.
    overlap : bool
        False: a traditional tandem queue, in which a shuffle starts when the job's map phase has ended.
    horizon : float, optional
        The simulation stops at this time [s]. Later jobs are left out; unfinished ones are only counted.
    bound : bool
        Whether to compute the lower bound, too.
    effort : int
        For ``best``: how many candidates it tries after the fixed plans.
    budget : float, optional
        For ``best``: the most seconds that it may take, checked between candidates.
    times : array_like, shape (T,), optional
        Increasing times [s], at which ``result.series`` says what is left of every job of a table: ``time``,
        and of shape (T, J) ``map_left``, ``shuffle_left`` and ``ready`` (the part of ``shuffle_left`` whose
        map work is done); NaN before a job comes. Times after ``horizon`` are left out. The queue is then
        simulated twice.
    **station
        ``k`` [100]: of ``k-lps``. ``conserving`` [True]: as for `malleable.TandemEpoch`; other policies
        always conserve.

    Returns
    -------
    SimulationResult
        For a batch whose sizes are known, ``summary["guarantee"]`` is that of `batch_guarantee`.

    Raises
    ------
    ValueError
        An unknown policy, a value out of its range, weights of 0 with ``wps``, jobs that arrive at different
        times with ``best`` or ``makespan``.

    Warns
    -----
    RuntimeWarning
        The load is 1 or more. The simulation stops at the last arrival, or at the horizon.

    Notes
    -----
    Events are exact: there are no time steps. The header of the core's `sim/tandem` gives costs. Memory holds
    a chunk of jobs, the jobs in the system, and kept records. Source: Lin, Wierman, Zhang, Tan 2013, sections
    2, 4 and 5.
    """
    if not isinstance(jobs, MapShuffleStream):
        jobs = table_of(jobs, MapShuffleJobs)
    _check_policy(policy, jobs)
    keep = kept_records(records, isinstance(jobs, MapShuffleStream))
    stop = math.inf if horizon is None else checked_positive("horizon", horizon)
    capacity = _capacities(jobs, load, (map_capacity, shuffle_capacity))
    at = None if times is None else _checked_times(jobs, times)
    sizes = {"map_estimate": "map", "shuffle_estimate": "shuffle"}
    source = Source(jobs, seed_of(rng), estimates, sizes)
    began = time.perf_counter()
    at_speed: tuple[Floats, ...] = ()
    if isinstance(jobs, MapShuffleJobs):
        at_speed = _at_speed(source.seen or (jobs.map, jobs.shuffle), capacity)
    core_policy, orders, tried, planned = _plan(policy, jobs, at_speed, effort, budget)
    how = {"overlap": overlap, "estimated": estimates is not None, **station}
    queue = core_queue(core_policy, records=keep, **how)
    drain = _drains(jobs, load, capacity)
    # SRPT (shortest remaining work first) at each station alone
    lone = _core.SrptBound() if bound and not _is_batch(jobs) else None

    def feed(queue: Any, part: Part) -> None:
        own = part.jobs
        sizes = _at_speed((own.map, own.shuffle), capacity)
        seen = (NOTHING, NOTHING) if part.seen is None else _at_speed(part.seen, capacity)
        places = [place[part.rows] for place in orders] or (NOTHING, NOTHING)
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
        whole = Part(jobs, np.arange(len(jobs)), source.seen)
        own = whole, capacity, at[at <= end_of_all], feed
        series = {policy: _left_over_time(core_queue(core_policy, **how), *own)}
    summary = queue.summary()
    if bound and summary["jobs"] and not summary["unfinished"]:
        summary["lower_bound"] = _total_bound(jobs, capacity, lone) / summary["jobs"]
    if policy == "best":
        summary["tried"] = tried
    if estimates is None and overlap:
        summary |= _guarantee(policy, jobs, at_speed)
    kept = _records(policy, jobs, capacity, queue) if keep else None
    parts = {policy: summary}, {policy: queue.slowdown()}, {policy: seconds}
    return SimulationResult("tandem", kept, *parts, complete and planned, series=series)


def _records(policy: str, jobs: _Jobs, capacity: tuple[float, float], queue: Any) -> Any:
    if not isinstance(jobs, MapShuffleJobs):
        return None
    alone = np.maximum(*_at_speed((jobs.map, jobs.shuffle), capacity))
    return queue_records("tandem", policy, jobs, queue.take_records(), alone)


def _check_policy(policy: str, jobs: _Jobs) -> None:
    if policy_of("tandem", policy).shares == "weighted" and isinstance(jobs, MapShuffleJobs):
        refuse("weight", jobs.weight, jobs.weight == 0.0, f"must be above 0 for {policy}")


def _guarantee(policy: str, jobs: _Jobs, at_speed: tuple[Floats, ...]) -> dict[str, float]:
    if not (_is_batch(jobs) and _POLICIES[policy].guaranteed):
        return {}
    return {"guarantee": batch_guarantee(policy, *at_speed)}


def _drains(jobs: _Jobs, load: float | None, capacity: tuple[float, float]) -> bool:
    # Whether the queue empties after the last arrival; warns if it does not.
    given = jobs.load / min(capacity) if isinstance(jobs, MapShuffleStream) else load
    if given is None or given < 1.0:
        return True
    warn_of_load("last arrival")
    return False


def _at_speed(sizes: tuple[Floats, ...], capacity: tuple[float, float]) -> tuple[Floats, Floats]:
    # seconds that each phase takes alone at its station's full speed
    return sizes[0] / capacity[0], sizes[1] / capacity[1]


def _total_bound(jobs: Any, capacity: tuple[float, float], lone: Any = None) -> float:
    # A lower bound on the sum of responses: that of SRPT at each station, or of a batch.
    if lone is None:
        return _core.tandem_batch_bound(*_at_speed((jobs.map, jobs.shuffle), capacity))
    found: float = lone.total()
    return found


def _checked_times(jobs: Any, times: npt.ArrayLike) -> Floats:
    if not isinstance(jobs, MapShuffleJobs):
        raise ValueError("times: a stream keeps no series")
    found = floats("times", times).reshape(-1)
    _core.check_times("times", found)
    refuse("times", found, np.diff(found, prepend=-math.inf) <= 0.0, "must increase")
    if len(found) * len(jobs) > _MOST_TIMES:
        raise ValueError(
            f"times: {len(found):,} times {len(jobs):,} jobs are above {_MOST_TIMES:,}"
        )
    return found


def _left_over_time(
    queue: Any,
    jobs: Part,
    capacity: tuple[float, float],
    times: Floats,
    feed: Callable[[Any, Part], None],
) -> dict[str, Floats]:
    # What a new queue, so that no other one changes, leaves of each job by ``times``: ``time``, and of shape
    # (T, J) ``map_left``, ``shuffle_left``, ``ready``. O(T J) and the events.
    arrival = jobs.jobs.arrival
    row = by_arrival(arrival)
    coming = jobs.take(row)
    unit = np.array([capacity[0], capacity[1], capacity[1]])[:, None]
    found = np.where(arrival <= times[:, None], 0.0, math.nan)[:, None, :].repeat(3, axis=1)
    fed = 0
    for k, moment in enumerate(times.tolist()):
        here = int(np.searchsorted(coming.jobs.arrival, moment, side="right"))
        if here > fed:
            feed(queue, coming.take(np.arange(fed, here)))
        queue.advance(moment)
        ids, *of_jobs = queue.state()
        found[k][:, row[ids]] = unit * np.stack(of_jobs)
        fed = here
    return {"time": times, **{name: found[:, k] for k, name in enumerate(_LEFT)}}
