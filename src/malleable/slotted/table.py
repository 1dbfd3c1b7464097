"""The table of the slotted model: jobs of map and reduce tasks, whose lengths are whole steps of time. A unit
is the work of a machine in a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.arrays import Floats, Integers, lists_of, names_of, rows_of, wholes_of
from malleable.checkpoints import by_value
from malleable.display import counted, html_of
from malleable.validation import WORK, Table, check_whole, floats, suggesting

_MOST = 2**60  # a limit that fits an int64; the core checks the ranges


def _tasks(reduce: Any, count: int) -> tuple[Integers, Integers]:
    offset, flat = lists_of("reduce", reduce, count, "map", "task lengths")
    try:
        return offset, wholes_of("reduce", flat or np.empty(0, int), len(flat))
    except ValueError:
        for row, lengths in enumerate(reduce):
            for length in lengths:
                check_whole(f"reduce[{row}]", length, -_MOST, _MOST)
        raise


@by_value(without=("_name",), also=("name",))
class MapReduceJobs(Table):
    """A table of jobs with map tasks of one unit and reduce tasks of one or more.

    A machine does one unit of work a step; a job's reduce tasks start after the step of its last
    map task.

    Parameters
    ----------
    map : array_like of int, shape (J,)
        Number of map tasks, at least 0.
    reduce : sequence of sequences of int
        Lengths of each job's reduce tasks [steps], at least 1; an empty list for a job without reduce
        tasks.
    arrival : array_like of int or int
        Step of arrival, from 1; the job may already run in it. Any order.
    name : sequence of str, optional
        ``job0``, ``job1``, ... by default.
    reduce_estimate : array_like of float, optional
        Reduce work of each job as a scheduler knows it [units]; simulations with ``estimates="column"`` use
        it.

    Raises
    ------
    ValueError
        Names the field, the first bad row (from 0) and its value.

    Attributes
    ----------
    arrival, map : ndarray of int64, shape (J,)
    task_offset : ndarray of int64, shape (J + 1,)
        Job j has the tasks ``task[task_offset[j]:task_offset[j + 1]]``.
    task : ndarray of int64
        Lengths of all reduce tasks [steps].

    See Also
    --------
    malleable.MapReduceStream : Makes such jobs at random.

    Notes
    -----
    Columns are read-only. O(J + tasks). Source: Zheng, Shroff, Sinha 2013 (ASRPT), section III.

    Examples
    --------
    >>> import malleable as mb
    >>> jobs = mb.MapReduceJobs(arrival=[1, 1], map=[4, 2], reduce=[[3, 1], [2]])
    >>> result = mb.simulate(jobs, ["asrpt", "fifo"], machines=3)
    >>> {name: round(own["mean_response"], 2) for name, own in result.summary.items()}
    {'asrpt': 4.0, 'fifo': 4.0}
    """

    __slots__ = ("_name", "arrival", "map", "reduce_estimate", "task", "task_offset")

    @suggesting
    def __init__(
        self,
        map: npt.ArrayLike,
        reduce: Sequence[Any],
        *,
        arrival: npt.ArrayLike = 1,
        name: Sequence[str] | None = None,
        reduce_estimate: npt.ArrayLike | None = None,
    ) -> None:
        maps = wholes_of("map", map)
        self._fill(arrival, maps, *_tasks(reduce, len(maps)), name, reduce_estimate)

    @classmethod
    def from_columns(
        cls,
        arrival: npt.ArrayLike,
        map: npt.ArrayLike,
        task_offset: npt.ArrayLike,
        task: npt.ArrayLike,
        name: Sequence[str] | None = None,
        reduce_estimate: npt.ArrayLike | None = None,
    ) -> MapReduceJobs:
        """Jobs from flat columns: ``arrival``, ``map``, ``task_offset`` and ``task`` as the attributes,
        ``name`` and ``reduce_estimate`` as for `MapReduceJobs`."""
        jobs = cls.__new__(cls)
        maps = wholes_of("map", map)
        offset = wholes_of("task_offset", task_offset, len(maps) + 1)
        jobs._fill(arrival, maps, offset, wholes_of("task", task), name, reduce_estimate)
        return jobs

    def _fill(
        self, arrival: Any, map: Integers, offset: Integers, task: Integers, name: Any, seen: Any
    ) -> None:
        self.map, self.task_offset, self.task = map, offset, task
        self.arrival = wholes_of("arrival", arrival, len(map), beside="map")
        self._name = None if name is None else names_of("name", name, len(map), "map")
        self.reduce_estimate: Floats | None = seen
        self._validate()
        self._freeze()

    def _validate(self) -> None:
        _core.validate_map_reduce(self.arrival, self.map, self.task_offset, self.task)
        if self.reduce_estimate is not None:
            shape = (len(self.map),)
            seen = floats("reduce_estimate", self.reduce_estimate, WORK, shape)
            self.reduce_estimate = seen.copy()

    def __len__(self) -> int:
        return len(self.map)

    def __repr__(self) -> str:
        units = int(self.map.sum() + self.task.sum())
        return f"MapReduceJobs({counted(len(self), 'job')}, {counted(units, 'unit')})"

    _repr_html_ = html_of("name arrival map reduce_work")

    @property
    def name(self) -> tuple[str, ...]:
        if self._name is None:
            self._name = tuple(f"job{row}" for row in range(len(self)))
        return self._name

    @property
    def reduce(self) -> list[list[int]]:
        """Lengths of each job's reduce tasks [steps]."""
        flat, offset = self.task.tolist(), self.task_offset.tolist()
        return [flat[offset[row] : offset[row + 1]] for row in range(len(self))]

    @property
    def reduce_work(self) -> Integers:
        """Units of reduce work of each job."""
        total = np.concatenate(([0], np.cumsum(self.task)))
        return total[self.task_offset[1:]] - total[self.task_offset[:-1]]

    def take(self, index: npt.ArrayLike) -> MapReduceJobs:
        """The jobs at these rows, in that order; ``index`` are rows, or a mask. O(rows + their tasks)."""
        rows = rows_of(index, len(self))
        first, count = self.task_offset[rows], np.diff(self.task_offset)[rows]
        offset = np.concatenate(([0], np.cumsum(count)))
        place = np.arange(offset[-1]) + np.repeat(first - offset[:-1], count)
        columns = self.arrival[rows], self.map[rows], offset, self.task[place]
        name = None if self._name is None else [self._name[row] for row in rows.tolist()]
        seen = None if self.reduce_estimate is None else self.reduce_estimate[rows]
        return MapReduceJobs.from_columns(*columns, name, seen)


def join_tables(parts: Sequence[MapReduceJobs]) -> MapReduceJobs:
    if not parts:
        return MapReduceJobs([], [])
    starts = np.cumsum([0] + [len(part.task) for part in parts])
    offsets = [part.task_offset[1:] + start for part, start in zip(parts, starts, strict=False)]
    arrival, maps, task = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("arrival", "map", "task")
    )
    offset = np.concatenate([np.zeros(1, np.int64), *offsets])
    return MapReduceJobs.from_columns(arrival, maps, offset, task)
