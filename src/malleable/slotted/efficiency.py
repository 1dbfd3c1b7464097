"""What theorems 2 and 3 of the ASRPT paper promise for a workload: the constants B1, B2 ... and the ratios."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from malleable.columns import Floats
from malleable.domain import check_whole
from malleable.slotted.generate import MapReduceStream, job_distribution
from malleable.slotted.simulate import checked_machines
from malleable.slotted.table import MapReduceJobs

_MOST_POINTS, _LEAST_POINTS, _ZOOMS = 1000, 12, 8
_TERMS = 5_000_000  # of all sums of a grid, where that leaves it its least points
_LARGEST_EXPONENT = 600.0
_MOST_POWER = 16


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
    work, count, load = _checked(jobs, machines, slots)
    b1 = b2 = common = math.inf
    if load < 1.0:
        b1, b2 = _least(1, count, work), _least(2, count, work)
        common = max(2.0, (1.0 - work.empty) / work.rate, load / work.rate)
        common *= max(1.0, 1.0 / (count * (1.0 - load)))
    squares, arrives = b2 + b1 * b1, (work.rate, work.empty, work.mean_reduce, int(work.largest))
    ratios = squares * common, (squares + b1 * (work.mean_reduce - 1.0)) * common
    return EfficiencyConstants(load, *arrives, b1, b2, *ratios)


def interval_moment(
    jobs: MapReduceJobs | MapReduceStream, machines: int, power: int, *, slots: int | None = None
) -> float:
    """B_H of equation 11: what the H-th moment of an interval's length stays below [slots^H].

    An interval ends with a slot in which some machine idles, whatever work-conserving policy runs.

    Parameters
    ----------
    jobs, machines, slots
        As for `efficiency_constants`, which has the moments 1 and 2.
    power : int
        H, from 1 to 16.

    Returns
    -------
    float
        Infinite at load 1 or more.

    Notes
    -----
    The series over k of k^H exp(-k l) is a polynomial in x = exp(-l) over (1 - x)^(H + 1), with Eulerian
    numbers. As `efficiency_constants` otherwise, errors and source too.
    """
    work, count, load = _checked(jobs, machines, slots)
    check_whole("power", power, 1, _MOST_POWER)
    return _least(power, count, work) if load < 1.0 else math.inf


def _checked(jobs: Any, machines: int, slots: int | None) -> tuple[_Work, int, float]:
    """What arrives, the machines, and the load."""
    count = checked_machines(machines)
    work = _of_stream(jobs) if isinstance(jobs, MapReduceStream) else _of_table(jobs, slots)
    if not math.isfinite(work.largest):
        raise ValueError("jobs: theorems 2 and 3 need a largest reduce phase; draw a table")
    return work, count, float(work.generating(np.zeros(1))[1][0]) / count


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


@functools.cache
def _numerator(power: int) -> tuple[int, ...]:
    """Coefficients c of x^2 (c_0 + c_1 x + ...) / (1 - x)^(H + 1), the sum of k^H x^k over k >= 2."""
    eulerian = [1]
    for n in range(2, power + 1):
        wide = [0, *eulerian, 0]
        eulerian = [(n - k) * wide[k] + (k + 1) * wide[k + 1] for k in range(n)]
    # Over k >= 1 it is x times these; less x (1 - x)^(H + 1), the term of k = 1.
    one = [(-1) ** k * math.comb(power + 1, k) for k in range(power + 2)]
    return tuple((eulerian[k] if k < power else 0) - one[k] for k in range(1, power + 2))


def _tail(rate: Floats, power: int) -> Floats:
    """Sum of k^H exp(-k l) over k >= 2: the last term of equations 8, 9 and 11."""
    x = np.exp(-np.minimum(rate, 200.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = x * x * np.polyval(_numerator(power)[::-1], x) / (1.0 - x) ** (power + 1)
    return np.where(rate <= 0.0, np.inf, found)


class _Work(NamedTuple):
    """What arrives: jobs a slot, slots without any, reduce work, most work of a slot."""

    rate: float
    empty: float
    mean_reduce: float
    largest: float  # reduce units of a job
    largest_slot: float
    generating: _Generating
    amounts: int  # that the sums of `generating` are over


def _of_stream(jobs: MapReduceStream) -> _Work:
    value, weight = job_distribution(jobs.sizes)
    generating = _poisson(jobs.rate, value, weight)
    reduce = jobs.mean_reduce, jobs.largest_reduce
    return _Work(jobs.rate, math.exp(-jobs.rate), *reduce, math.inf, generating, len(value))


def _of_table(jobs: MapReduceJobs, slots: int | None) -> _Work:
    if len(jobs) == 0:
        raise ValueError("jobs: at least one is needed")
    last = int(jobs.arrival.max())
    slots = last if slots is None else check_whole("slots", slots, last, 2**50)
    reduce = jobs.reduce_work
    busy, place = np.unique(jobs.arrival, return_inverse=True)
    amount, times = np.unique(np.bincount(place, weights=jobs.map + reduce), return_counts=True)
    empty = slots - len(busy)
    value = np.append(amount, 0.0)
    weight = np.append(times, empty) / slots
    means = len(jobs) / slots, empty / slots, float(reduce.mean())
    largest = int(reduce.max()), float(amount.max())
    generating = _plain(value[weight > 0.0], weight[weight > 0.0])
    return _Work(*means, *largest, generating, len(value))


def _least(power: int, machines: int, work: _Work) -> float:
    """Least of (1 + ceil((N - 1) R_max / epsilon))^power + tail over epsilon.

    theta runs instead of epsilon: the supremum in l(N - epsilon) is at the theta where the derivative
    of the logarithm is N - epsilon.
    """
    largest, generating = work.largest, work.generating
    points = min(max(_TERMS // work.amounts, _LEAST_POINTS), _MOST_POINTS)
    spread = (machines - 1) * largest

    def value(theta: Floats) -> npt.NDArray[np.float64]:
        logarithm, slope = generating(theta)
        room = machines - slope
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            steps = 1.0 + np.ceil(spread / room)
            found = steps**power + _tail(theta * slope - logarithm, power)
        found[~(room > 0.0) | ~np.isfinite(found)] = np.inf
        return found

    best = math.inf
    if work.largest_slot < machines:  # beyond it the rate function is infinite, and the tail is 0
        best = (2.0 + math.floor(spread / (machines - work.largest_slot))) ** power
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
