"""Random jobs of the slotted model (map and reduce tasks in steps of time), as in the experiments with the
policy ASRPT in section VII of Zheng, Shroff, Sinha 2013. A unit is the work of a machine in a step."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from malleable.arrays import Integers
from malleable.checkpoints import by_value
from malleable.display import as_html, counted
from malleable.slotted.table import MapReduceJobs, join_tables
from malleable.validation import check_whole, checked_choice, checked_positive, shown

_CHUNK_JOBS = 1 << 16  # jobs that are drawn at once

_TASKS = (1, 10)  # least and most reduce tasks of a job
SETTINGS = ("exp-large", "exp-small", "uniform-large", "uniform-small")
"""Workloads of their section VII: exponential or uniform, large or small reduce phases."""

# Means of exponentials, ranges of uniforms: map, reduce.
_SIZES: dict[str, tuple[Any, Any]] = {
    "exp-large": (5.0, 40.0),
    "exp-small": (30.0, 15.0),
    "uniform-large": ((1, 9), (10, 70)),
    "uniform-small": ((10, 50), (10, 20)),
}


def even_split(work: Integers, tasks: Integers) -> tuple[Integers, Integers]:
    """Offsets and lengths of ``tasks`` as equal as may be, the longer ones first, none empty."""
    count = np.minimum(tasks, work)
    offset = np.concatenate(([0], np.cumsum(count)))
    base = work // np.maximum(count, 1)
    longer = work - base * count
    place = np.arange(offset[-1]) - np.repeat(offset[:-1], count)
    return offset, np.repeat(base, count) + (place < np.repeat(longer, count))


@by_value()
class MapReduceStream:
    """Poisson arrivals of the workloads of section VII of Zheng, Shroff, Sinha 2013 (ASRPT), drawn in chunks,
    so any number fits into memory.

    Parameters
    ----------
    setting : {"exp-large", "exp-small", "uniform-large", "uniform-small"}
        Map and reduce work of a job: Exp(5) and Exp(40), Exp(30) and Exp(15), U[1, 9] and
        U[10, 70], U[10, 50] and U[10, 20]; exponentials are rounded and at least 1.
    steps : int
        Jobs arrive in steps 1 to ``steps``.
    rate : float
        Mean number of arrivals a step.

    Raises
    ------
    ValueError
        A parameter out of its range.

    See Also
    --------
    malleable.MapReduceJobs : The tables that it makes.

    Notes
    -----
    The paper says "up to 10" reduce tasks and does not say how long they are. U{1..10}, never more than
    units, and even splits are our choices, and the non-preemptive ratios depend on them. O(1) a job.

    Examples
    --------
    >>> import malleable as mb
    >>> stream = mb.MapReduceStream("exp-small", steps=100, rate=0.2)
    >>> result = mb.simulate(stream, "asrpt", machines=20, rng=1)
    >>> result.summary["asrpt"]["unfinished"]
    0
    """

    def __init__(self, setting: str = "exp-large", *, steps: int = 500, rate: float = 2.0) -> None:
        self.sizes = _SIZES[checked_choice("setting", setting, SETTINGS)]
        self.steps = check_whole("steps", steps, 0, 2**40)
        self.rate = checked_positive("rate", rate)
        if self.rate > 1e6:
            raise ValueError(f"rate = {shown(rate)}: must be at most 10^6")

    def __repr__(self) -> str:
        steps, units = counted(self.steps, "step"), self.rate * self.mean_work
        return f"MapReduceStream({steps}, {self.rate:g} jobs and {units:.6g} units a step)"

    _repr_html_ = as_html

    @property
    def mean_work(self) -> float:
        """Mean units of a job, map and reduce together."""
        return math.fsum(_mean(size) for size in self.sizes)

    def _draw(self, size: Any, count: int, rng: np.random.Generator) -> Integers:
        if isinstance(size, tuple):
            return rng.integers(size[0], size[1], count, endpoint=True)
        return np.maximum(1, np.rint(rng.exponential(size, count))).astype(np.int64)

    def chunks(self, rng: np.random.Generator | int | None = None) -> Iterator[MapReduceJobs]:
        """Tables of jobs in the order of arrival, drawn with ``rng``; the same seed gives the same jobs. O(1)
        a job."""
        generator = np.random.default_rng(rng)
        map_size, reduce_size = self.sizes
        step = max(1, int(_CHUNK_JOBS / self.rate))
        for first in range(1, self.steps + 1, step):
            count = min(step, self.steps + 1 - first)
            of_each = generator.poisson(self.rate, count)
            arrival = np.repeat(np.arange(first, first + count), of_each)
            maps = self._draw(map_size, len(arrival), generator)
            work = self._draw(reduce_size, len(arrival), generator)
            tasks = generator.integers(*_TASKS, len(arrival), endpoint=True)
            yield MapReduceJobs.from_columns(arrival, maps, *even_split(work, tasks))


def _mean(size: Any) -> float:
    # Mean of the draws, after rounding and the least value of 1.
    if isinstance(size, tuple):
        return float(size[0] + size[1]) / 2
    # P(rounded >= k) = exp(-(k - 1/2) / mean) for k >= 2, and 1 for k = 1.
    return 1.0 + math.exp(-1.5 / size) / -math.expm1(-1.0 / size)


def section7(
    setting: str = "exp-large",
    *,
    steps: int = 500,
    rate: float = 2.0,
    rng: np.random.Generator | int | None = None,
) -> MapReduceJobs:
    """One draw of a `MapReduceStream` as a table; arguments as there."""
    stream = MapReduceStream(setting, steps=steps, rate=rate)
    return join_tables(list(stream.chunks(rng)))
