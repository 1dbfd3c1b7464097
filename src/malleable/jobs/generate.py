"""Job tables drawn at random: the experiment of FLEX (Wolf et al. 2010), and jobs with log-normal work (many
small, a few very large ones) for benchmarks."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from malleable.jobs.table import Jobs
from malleable.validation import as_number, check_whole, shown

Rng: TypeAlias = "np.random.Generator | int | None"

_RATIO = 10.0  # mean size of large jobs over that of small ones
_SECONDS = 100.0  # that all slots together need for all the work
_STEPS = 3  # of the sla penalty of a job
_LOGS = 3.0, 1.5  # mean and standard deviation of the logarithms of work
_NORMAL = NormalDist()


def _checked_fraction(field: str, value: float) -> float:
    if not 0 <= as_number(field, value) <= 1:
        raise ValueError(f"{field} = {shown(value)}: must be between 0 and 1")
    return float(value)


def _truncated_normal(
    mean: npt.NDArray[np.float64], upper: npt.NDArray[np.float64], rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    # Normal draws with standard deviation mean / 3, given that they lie in (0, upper). Inversion gives the same
    # distribution as rejection, with one uniform number a draw, however narrow the interval.
    uniform = rng.random(len(mean))
    low = _NORMAL.cdf(-3.0)
    drawn = np.empty(len(mean))
    for i, (u, m, top) in enumerate(zip(uniform, mean.tolist(), upper.tolist(), strict=True)):
        high = _NORMAL.cdf((top - m) / (m / 3)) if top < math.inf else 1.0
        # u = 0 must not give work 0, and rounding must not give the infinite quantile of 1.
        p = min(max(low + u * (high - low), math.nextafter(low, 1)), math.nextafter(1, 0))
        drawn[i] = m + m / 3 * _NORMAL.inv_cdf(p)
    return drawn


def bimodal_jobs(
    jobs: int = 10,
    slots: int = 100,
    *,
    small: float = 0.8,
    slack: float = 0.75,
    tasks: int | None = None,
    weighted: bool = True,
    rng: Rng = None,
) -> Jobs:
    """Draw one experiment of FLEX's simulations; the defaults are its base case.

    Work is bimodal: ``round(small * jobs)`` small jobs and 10 times larger ones in random order, each kind
    normal, then scaled to 100 seconds of all slots. Minima are normal with mean ``(1 - slack) * slots /
    jobs``, at least 1. Standard deviations are a third of the mean; draws are truncated at 0.

    Parameters
    ----------
    jobs, slots : int
        Size of the experiment. All jobs are there at time 0; FIFO takes them by index.
    small : float
        Fraction of small jobs, 0 to 1.
    slack : float
        Fraction of the slots that the minima leave free, 0 to 1.
    tasks : int, optional
        Number of tasks of all jobs together: a job of work W may run on ``tasks * W / total`` slots, rounded
        up. None: on all slots, as the ratios in their figures suggest.
    weighted : bool
        Draw weights from U(0, 1). False: weight 1 and the same jobs.
    rng : numpy Generator or seed, optional
        Source of randomness. None: fresh.

    Returns
    -------
    Jobs
        Deadlines are U(0, 100), the three sla times U(0, 100) and cumulative sla penalties U(0, 1), both
        sorted.

    Raises
    ------
    ValueError
        A parameter out of its range.

    Notes
    -----
    Source: Wolf et al., "FLEX: A slot allocation scheduling optimizer for MapReduce workloads" (Middleware
    2010), section 4.1. The total work, the ranges of deadlines, sla times and penalties, and the number of
    steps are our choices. O(jobs).
    """
    count = check_whole("jobs", jobs, 1)
    capacity = check_whole("slots", slots, 1)
    few = round(_checked_fraction("small", small) * count)
    mean_min = (1 - _checked_fraction("slack", slack)) * capacity / count
    generator = np.random.default_rng(rng)

    mean = np.full(count, _RATIO)
    mean[generator.permutation(count)[:few]] = 1.0
    work = _truncated_normal(mean, np.full(count, np.inf), generator)
    share = work / work.sum()
    if tasks is None:
        most = np.full(count, capacity, dtype=np.int64)
    else:
        demand = np.ceil(check_whole("tasks", tasks, 1) * share)
        most = np.clip(demand, 1, capacity).astype(np.int64)
    if mean_min > 0:
        # Drawing again while the rounded minimum exceeds M is the same as drawing below M + 1/2.
        minima = _truncated_normal(np.full(count, mean_min), most.astype(float) + 0.5, generator)
        least = np.clip(np.rint(minima), 1, most).astype(np.int64)
    else:
        least = np.ones(count, dtype=np.int64)

    weight = generator.random(count)
    deadline = generator.random(count) * _SECONDS
    times = np.sort(generator.random((count, _STEPS)) * _SECONDS, axis=1).tolist()
    heights = np.sort(generator.random((count, _STEPS)), axis=1).tolist()
    return Jobs(
        share * (_SECONDS * capacity),
        min_slots=least,
        max_slots=None if tasks is None else most,
        weight=weight if weighted else 1.0,
        deadline=deadline,
        sla=[list(zip(t, p, strict=True)) for t, p in zip(times, heights, strict=True)],
    )


def lognormal_jobs(
    jobs: int,
    slots: int,
    *,
    min_slots: int,
    max_slots: tuple[int, int] | None,
    rng: Rng = None,
) -> Jobs:
    """Draw jobs with log-normal work, all there at time 0, weight 1.

    The work's natural logarithm has mean 3 and standard deviation 1.5 [log slot-seconds]: the median is
    about 20 and the mean about 62 slot-seconds. ``min_slots`` is every job's
    minimum. Maxima are uniform whole numbers in the range ``max_slots``, cut at ``slots``; None: all slots.
    ValueError for a parameter out of its range."""
    count = check_whole("jobs", jobs, 0)
    capacity = check_whole("slots", slots, 1)
    least = check_whole("min_slots", min_slots, 0)
    if least > capacity:
        raise ValueError(f"min_slots = {least}: must be at most slots = {capacity}")
    generator = np.random.default_rng(rng)
    work = generator.lognormal(*_LOGS, count)
    most: npt.NDArray[np.int64] | None = None
    if max_slots is not None:
        lowest = check_whole("max_slots[0]", max_slots[0], max(least, 1))
        highest = check_whole("max_slots[1]", max_slots[1], lowest)
        most = np.minimum(generator.integers(lowest, highest, size=count, endpoint=True), capacity)
    return Jobs(work, min_slots=least, max_slots=most)
