"""Random jobs of map and reduce tasks, for simulations of clusters."""

from __future__ import annotations

import math

import numpy as np

from malleable.cluster.table import ClusterJobs
from malleable.validation import WORK, check_amount, check_whole, checked_positive


def generate_cluster_jobs(
    jobs: int,
    rng: np.random.Generator | int | None = None,
    *,
    gap: float = 10.0,
    mean_maps: float = 50.0,
    spread: float = 1.5,
    map_seconds: float = 20.0,
    reduce_share: float = 0.1,
    reduce_seconds: float = 60.0,
    shuffle: float = 10.0,
    users: int = 1,
    block: float = 0.0,
) -> ClusterJobs:
    """Jobs with Poisson arrivals and log-normal numbers of tasks.

    Parameters
    ----------
    jobs : int
    rng : numpy Generator or seed
    gap : float
        Mean time between arrivals [s]; 0: all at once.
    mean_maps, spread : float
        Mean number of map tasks (at least 1 each) and standard deviation of its logarithm.
    map_seconds, reduce_seconds, shuffle : float
        Times of tasks [s].
    reduce_share : float
        Reduce tasks for each map task, rounded up; 0: none.
    users : int
        Number of users; each job belongs to one at random.
    block : float
        Bytes that a map task reads.

    Raises
    ------
    ValueError
        A parameter out of its range; names the parameter and its value.

    See Also
    --------
    malleable.ClusterJobs : What it returns.

    Notes
    -----
    O(jobs). The same seed gives the same jobs.

    Examples
    --------
    >>> import malleable as mb
    >>> jobs = mb.generate_cluster_jobs(100, rng=7)
    >>> len(jobs)
    100
    """
    jobs, users = check_whole("jobs", jobs, 0), check_whole("users", users, 1)
    mean_maps = checked_positive("mean_maps", mean_maps)
    for field, value in (("gap", gap), ("spread", spread), ("reduce_share", reduce_share)):
        check_amount(field, value, WORK)
    generator = np.random.default_rng(rng)
    arrival = np.cumsum(generator.standard_exponential(jobs)) * gap if gap > 0 else np.zeros(jobs)
    draw = generator.lognormal(math.log(mean_maps) - spread**2 / 2, spread, jobs)
    maps = np.maximum(np.rint(draw), 1).astype(np.int64)
    reduces = np.ceil(maps * reduce_share).astype(np.int64)
    user = [f"user{k}" for k in generator.integers(users, size=jobs).tolist()]
    times = maps, map_seconds, reduces, reduce_seconds
    return ClusterJobs(*times, arrival=arrival, shuffle=shuffle, block=block, user=user)
