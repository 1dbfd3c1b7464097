"""Jobs of sleeping tasks for live runs.

straggling_sleeps(seed, sigma=1.0, jobs=40): 16 slots, tasks of a job geometric with mean 6 (20 at most), mean
    seconds of a task lognormal(ln 2, 0.4) drawn for each job; each attempt at a task takes this mean times
    exp(sigma Z - sigma^2 / 2), Z standard normal, drawn anew for each of the ATTEMPTS attempts; Poisson
    arrivals so that first attempts alone load the slots by 0.7.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["ATTEMPTS", "SleepingJob", "straggling_sleeps"]

ATTEMPTS = 8
"""Attempts at a task for which seconds are drawn."""
_SLOTS, _LOAD = 16, 0.7
_TASKS, _MOST = 6, 20
_SECONDS, _SCATTER = 2.0, 0.4


class SleepingJob(NamedTuple):
    """When a job comes, and the seconds of each attempt at each of its tasks, shape (tasks, ATTEMPTS)."""

    arrival: float
    seconds: npt.NDArray[np.float64]


def straggling_sleeps(
    seed: int, sigma: float = 1.0, jobs: int = 40
) -> tuple[list[SleepingJob], int]:
    """Jobs of which some tasks take much longer than others, but not again; and the slots."""
    rng = np.random.default_rng(seed)
    tasks = np.minimum(rng.geometric(1.0 / _TASKS, jobs), _MOST)
    mean = _SECONDS * rng.lognormal(0.0, _SCATTER, jobs)
    work = _SECONDS * math.exp(_SCATTER**2 / 2.0) * float(tasks.mean())
    arrival = np.cumsum(rng.exponential(work / (_SLOTS * _LOAD), jobs))
    found = []
    for at, count, own in zip(arrival.tolist(), tasks.tolist(), mean.tolist(), strict=True):
        drawn = rng.lognormal(-(sigma**2) / 2.0, sigma, (count, ATTEMPTS))
        found.append(SleepingJob(at, own * drawn))
    return found, _SLOTS
