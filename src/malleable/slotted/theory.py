"""What theorems 2 and 3 of the ASRPT paper promise for a workload: constants B1, B2 and the ratios."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from malleable.domain import check_whole
from malleable.jobs.table import Floats
from malleable.slotted.generate import MapReduceStream, job_distribution
from malleable.slotted.simulate import checked_machines
from malleable.slotted.table import MapReduceJobs

_MOST_POINTS, _LEAST_POINTS, _ZOOMS = 1000, 12, 8
_TERMS = 5_000_000  # of all sums of a grid, where that leaves it its least points
_LARGEST_EXPONENT = 600.0


@dataclass(frozen=True)
class EfficiencyConstants:
    """Efficiency ratios that every work-conserving policy keeps on a workload.

    Attributes
    ----------
    load : float
        rho, the units that arrive in a slot over the machines.
    arrival_rate : float
        lambda, jobs a slot.
    empty_slots : float
        p0, the probability that no job arrives in a slot.
    mean_reduce : float
        R, mean reduce units of a job.
    largest_reduce : int
        R_max, most reduce units of a job.
    b1, b2 : float
        Equations 8 and 9: bounds of the mean length of an interval between two slots with an idle
        machine [slots], and of the mean of its square.
    preemptive, non_preemptive : float
        Theorems 2 and 3: the total flow time of any work-conserving policy over that of the best
        schedule is at most this in the long run. Infinite at load 1 or more.
    """

    load: float
    arrival_rate: float
    empty_slots: float
    mean_reduce: float
    largest_reduce: int
    b1: float
    b2: float
    preemptive: float
    non_preemptive: float


def efficiency_constants(
    jobs: MapReduceJobs | MapReduceStream, machines: int, *, slots: int | None = None
) -> EfficiencyConstants:
    """The constants of theorems 2 and 3 for a table or a stream.

    Parameters
    ----------
    jobs : MapReduceJobs or MapReduceStream
        A table stands for the distribution of what arrives in a slot: its slots are equally likely.
        A stream is a compound Poisson process of its setting; the exponential ones have no largest
        reduce phase, and these theorems are for bounded ones.
    machines : int
        N.
    slots : int, optional
        Number of slots in which the table's jobs arrived; the last arrival by default.

    Returns
    -------
    EfficiencyConstants

    Raises
    ------
    ValueError
        No jobs, ``slots`` before the last arrival, or a stream of exponential work.

    Notes
    -----
    Every epsilon in equations 8 and 9 gives a valid constant; the least is looked for on a grid that
    is refined eight times around its best point. O(1000 distinct amounts of work a slot). Source:
    Zheng, Shroff, Sinha 2013, section V.
    """
    count = checked_machines(machines)
    if isinstance(jobs, MapReduceStream):
        value, weight = job_distribution(jobs.sizes)
        return _constants(
            count,
            rate=jobs.rate,
            empty=math.exp(-jobs.rate),
            reduce=(jobs.mean_reduce, jobs.largest_reduce),
            largest_slot=math.inf,
            generating=_poisson(jobs.rate, value, weight),
            amounts=len(value),
        )
    if len(jobs) == 0:
        raise ValueError("jobs: at least one is needed")
    last = int(jobs.arrival.max())
    slots = last if slots is None else check_whole("slots", slots, last, 2**50)
    reduce = jobs.reduce_work
    busy, place = np.unique(jobs.arrival, return_inverse=True)
    work = np.bincount(place, weights=jobs.map + reduce)
    amount, times = np.unique(work, return_counts=True)
    empty = slots - len(busy)
    value = np.append(amount, 0.0)
    weight = np.append(times, empty) / slots
    return _constants(
        count,
        rate=len(jobs) / slots,
        empty=empty / slots,
        reduce=(float(reduce.mean()), int(reduce.max())),
        largest_slot=float(amount.max()),
        generating=_plain(value[weight > 0.0], weight[weight > 0.0]),
        amounts=len(value),
    )


# Of theta: log E[exp(theta W)] and its derivative, W being the work that arrives in a slot.
_Generating = Callable[[Floats], tuple[Floats, Floats]]


def _moments(theta: Floats, value: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Sums of weight exp(theta value), and of the same times value."""
    sums = np.empty((2, len(theta)))
    for k, each in enumerate(theta.tolist()):
        terms = weight * np.exp(each * value)
        sums[:, k] = terms.sum(), terms @ value
    return sums[0], sums[1]


def _plain(value: Floats, weight: Floats) -> _Generating:
    top = float(value.max())

    def generating(theta: Floats) -> tuple[Floats, Floats]:
        total, first = _moments(theta, value - top, weight)
        return theta * top + np.log(total), top + first / total

    return generating


def _poisson(rate: float, value: Floats, weight: Floats) -> _Generating:
    def generating(theta: Floats) -> tuple[Floats, Floats]:
        total, first = _moments(theta, value, weight)
        return rate * (total - 1.0), rate * first

    return generating


def _tails(rate: Floats) -> tuple[Floats, Floats]:
    """Sums of k exp(-k l) and of k^2 exp(-k l) over k >= 2: the last terms of equations 8 and 9."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        y = np.exp(np.minimum(rate, 200.0))
        first = (2 * y - 1) / (y * (y - 1) ** 2)
        second = ((4 * y - 3) * y + 1) / (y * (y - 1) ** 3)
    none = rate <= 0.0
    return np.where(none, np.inf, first), np.where(none, np.inf, second)


def _constants(
    machines: int,
    *,
    rate: float,
    empty: float,
    reduce: tuple[float, float],
    largest_slot: float,
    generating: _Generating,
    amounts: int,
) -> EfficiencyConstants:
    mean_reduce, largest = reduce
    if not math.isfinite(largest):
        raise ValueError("jobs: theorems 2 and 3 need a largest reduce phase; draw a table")
    mean = float(generating(np.zeros(1))[1][0])
    load = mean / machines
    b1 = b2 = math.inf
    if load < 1.0:
        points = min(max(_TERMS // amounts, _LEAST_POINTS), _MOST_POINTS)
        b1, b2 = (_least(h, machines, largest, largest_slot, generating, points) for h in (1, 2))
    common = math.inf
    if load < 1.0:
        common = max(2.0, (1.0 - empty) / rate, load / rate)
        common *= max(1.0, 1.0 / (machines * (1.0 - load)))
    return EfficiencyConstants(
        load=load,
        arrival_rate=rate,
        empty_slots=empty,
        mean_reduce=mean_reduce,
        largest_reduce=int(largest),
        b1=b1,
        b2=b2,
        preemptive=(b2 + b1 * b1) * common,
        non_preemptive=(b2 + b1 * b1 + b1 * (mean_reduce - 1.0)) * common,
    )


def _least(
    power: int,
    machines: int,
    largest: float,
    largest_slot: float,
    generating: _Generating,
    points: int,
) -> float:
    """Least of (1 + ceil((N - 1) R_max / epsilon))^power + tail over epsilon.

    theta runs instead of epsilon: the supremum in l(N - epsilon) is at the theta where the derivative
    of the logarithm is N - epsilon.
    """
    spread = (machines - 1) * largest

    def value(theta: Floats) -> npt.NDArray[np.float64]:
        logarithm, slope = generating(theta)
        room = machines - slope
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            steps = 1.0 + np.ceil(spread / room)
            found = steps**power + _tails(theta * slope - logarithm)[power - 1]
        found[~(room > 0.0) | ~np.isfinite(found)] = np.inf
        return found

    best = math.inf
    if largest_slot < machines:  # beyond it the rate function is infinite, and the tail is 0
        best = (2.0 + math.floor(spread / (machines - largest_slot))) ** power
    # The derivative rises from the mean to the largest slot: find where it passes N, if it does.
    low, high = 0.0, 1.0 / max(largest, 1.0)
    limit = _LARGEST_EXPONENT / max(largest, 1.0)
    while high < limit and generating(np.array([high]))[1][0] < machines:
        high *= 2.0
    for _ in range(_ZOOMS):
        grid = np.linspace(low, high, points)
        found = value(grid)
        at = int(np.argmin(found))
        if not math.isfinite(found[at]):
            high = float(grid[1])  # all that is allowed lies before the first point
            continue
        best = min(best, float(found[at]))
        low, high = float(grid[max(at - 1, 0)]), float(grid[min(at + 1, points - 1)])
    return best
