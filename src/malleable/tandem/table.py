"""Jobs with a map and a shuffle phase: tables, and the stream of Lin et al. 2013, section 5.3."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable.arrays import Floats, floats_of, given, names_of, rows_of
from malleable.checkpoints import by_value
from malleable.display import as_html, counted, html_of
from malleable.validation import (
    WEIGHT,
    WORK,
    Table,
    check_moments,
    check_whole,
    checked_positive,
    suggesting,
)

_COLUMNS = ("map", "shuffle", "arrival", "weight", "map_estimate", "shuffle_estimate")

_DEVIATIONS = 3.65, 3.28  # of the map size, and of shuffle over map
STREAM_CHUNK = 1 << 18  # jobs that are drawn at once


def _column(field: str, values: Any, count: int | None) -> Any:
    column = floats_of(field, values, count, "map")
    if column is None:
        return None
    if field == "arrival":
        check_moments(field, column)
    else:
        (WEIGHT if field == "weight" else WORK).check(field, column)
    return column.copy()


@by_value()
class MapShuffleJobs(Table):
    """A table of jobs whose shuffle phase may overlap their map phase.

    Parameters
    ----------
    map, shuffle : array_like, shape (J,)
        Work of each phase, in seconds at a station of capacity 1: 0, or from 1e-12 to 1e15.
    arrival : array_like or float
        When each job came [s], from 0 to 1e12; any order.
    weight : array_like or float
        0, or from 1e-12 to 1e12.
    name : sequence of str, optional
        ``job0``, ``job1``, ... by default.
    map_estimate, shuffle_estimate : array_like, optional
        Sizes as a scheduler knows them, in the units of `map` and `shuffle`; both or neither. Simulations
        with ``estimates="column"`` use them.

    Raises
    ------
    ValueError
        Names the field, the first bad row (from 0) and its value.

    See Also
    --------
    malleable.MapShuffleStream : Makes such jobs at random.

    Notes
    -----
    Scalars broadcast, columns are read-only. O(J). Source: Lin et al. 2013, section 2.1.

    Examples
    --------
    >>> import malleable as mb
    >>> jobs = mb.MapShuffleJobs(arrival=[0.0, 1.0], map=[3.0, 1.0], shuffle=[1.0, 2.0])
    >>> round(mb.simulate(jobs, "max-srpt").summary["max-srpt"]["mean_response"], 2)
    3.5
    """

    __slots__ = ("arrival", "map", "map_estimate", "name", "shuffle", "shuffle_estimate", "weight")

    @suggesting
    def __init__(
        self,
        map: npt.ArrayLike,
        shuffle: npt.ArrayLike,
        *,
        arrival: npt.ArrayLike = 0.0,
        weight: npt.ArrayLike = 1.0,
        name: Sequence[str] | None = None,
        map_estimate: npt.ArrayLike | None = None,
        shuffle_estimate: npt.ArrayLike | None = None,
    ) -> None:
        self.map: Floats = _column("map", given("map", map), None)
        count = len(self.map)
        self.shuffle: Floats = _column("shuffle", given("shuffle", shuffle), count)
        self.arrival: Floats = _column("arrival", given("arrival", arrival), count)
        self.weight: Floats = _column("weight", given("weight", weight), count)
        self.name = None if name is None else names_of("name", name, count, "map")
        if (map_estimate is None) != (shuffle_estimate is None):
            missing = "map_estimate" if map_estimate is None else "shuffle_estimate"
            raise ValueError(f"{missing}: missing beside the other phase's estimates")
        self.map_estimate: Floats | None = _column("map_estimate", map_estimate, count)
        self.shuffle_estimate: Floats | None = _column("shuffle_estimate", shuffle_estimate, count)
        self._freeze()

    def _validate(self) -> None:
        for field in _COLUMNS:
            _column(field, getattr(self, field), len(self.map))

    def __len__(self) -> int:
        return len(self.map)

    def __repr__(self) -> str:
        return f"MapShuffleJobs({counted(len(self), 'job')})"

    def take(self, index: npt.ArrayLike) -> MapShuffleJobs:
        """The jobs at these rows, in that order; ``index`` are rows, or a mask. O(rows)."""
        rows = rows_of(index, len(self))
        columns: dict[str, Any] = {field: getattr(self, field) for field in _COLUMNS}
        taken = {f: own[rows] for f, own in columns.items() if own is not None}
        name = None if self.name is None else [self.name[row] for row in rows.tolist()]
        return MapShuffleJobs(**taken, name=name)

    _repr_html_ = html_of("name arrival map shuffle weight")


@by_value()
class MapShuffleStream:
    """Poisson arrivals of log-normal jobs, drawn in chunks, so any number fits into memory.

    Parameters
    ----------
    jobs : int
        How many.
    load : float
        Arrivals a second; both phases have mean size 1, so this is the load of both stations.

    Raises
    ------
    ValueError
        Naming the parameter out of its range.

    See Also
    --------
    malleable.MapShuffleJobs : The tables that it makes.

    Notes
    -----
    The standard deviation of the map size (mean 1) is 3.65, that of shuffle over map (mean 1, independent)
    3.28, as in Lin et al. 2013, section 5.3; the shuffle size then has mean 1 and standard deviation 12.95, as
    they print it. O(1) a job.

    Examples
    --------
    >>> import malleable as mb
    >>> stream = mb.MapShuffleStream(20_000, 0.75)  # jobs, load
    >>> result = mb.simulate(stream, "split-srpt", rng=7)
    """

    def __init__(self, jobs: int, load: float) -> None:
        self.jobs = check_whole("jobs", jobs, 0, 1 << 62)
        self.load = checked_positive("load", load)

    def __len__(self) -> int:
        return self.jobs

    def __repr__(self) -> str:
        return f"MapShuffleStream({counted(self.jobs, 'job')}, load {self.load:g})"

    _repr_html_ = as_html

    def chunks(self, rng: np.random.Generator | int | None = None) -> Iterator[MapShuffleJobs]:
        """Tables of jobs in the order of arrival, drawn with ``rng``; the same seed gives the same jobs. O(1)
        a job."""
        generator = np.random.default_rng(rng)
        map_variance, ratio_variance = (math.log1p(sd**2) for sd in _DEVIATIONS)
        now = 0.0
        for first in range(0, self.jobs, STREAM_CHUNK):
            count = min(STREAM_CHUNK, self.jobs - first)
            arrival = now + np.cumsum(generator.standard_exponential(count) / self.load)
            now = float(arrival[-1])
            size = generator.lognormal(-map_variance / 2, math.sqrt(map_variance), count)
            ratio = generator.lognormal(-ratio_variance / 2, math.sqrt(ratio_variance), count)
            yield MapShuffleJobs(size, size * ratio, arrival=arrival)
