"""Jobs of map and reduce tasks in slots: tables, readers, and the generator of ASRPT's section VII."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.tables import Floats, Integers
from malleable.workloads.files import (
    Source,
    checked_choice,
    checked_positive,
    checked_whole,
    parse_number,
    read_columns,
    shown,
    write_text,
)
from malleable.workloads.map_shuffle import read_map_shuffle_google2011, read_map_shuffle_swim
from malleable.workloads.rumen import read_rumen_tasks

__all__ = [
    "SETTINGS",
    "MapReduceJobs",
    "MapReduceStream",
    "join_tables",
    "read_map_reduce_google2011",
    "read_map_reduce_jobs",
    "read_map_reduce_rumen",
    "read_map_reduce_swim",
    "section7",
    "write_map_reduce_jobs",
]

_COLUMNS = ("name", "arrival", "map", "reduce", "reduce_estimate")
_MOST = 2.0**60  # what still fits an int64 before the core says what is out of range
_CHUNK_JOBS = 1 << 16
_MOST_AMOUNTS = 20_000

Tasks = int | tuple[int, int]
Size = float | tuple[int, int]

SETTINGS = ("exp-large", "exp-small", "uniform-large", "uniform-small")
"""Workloads of section VII: exponential or uniform, large or small reduce phases."""

# Means of exponentials, ranges of uniforms: map, reduce.
_SIZES: dict[str, tuple[Size, Size]] = {
    "exp-large": (5.0, 40.0),
    "exp-small": (30.0, 15.0),
    "uniform-large": ((1, 9), (10, 70)),
    "uniform-small": ((10, 50), (10, 20)),
}


def _whole(field: str, values: Any, count: int | None) -> Integers:
    if isinstance(values, (str, bytes)):
        raise ValueError(f"{field} = {values!r}: not a number")
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "iub":
            array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{field}: not numbers") from None
    if array.ndim == 0:
        array = np.full(1 if count is None else count, array)
    if array.ndim != 1:
        raise ValueError(f"{field} has {array.ndim} dimensions, expected 1")
    if count is not None and len(array) != count:
        raise ValueError(f"{field} has {len(array)} entries but map has {count}")
    if array.dtype.kind == "f":
        for row in np.flatnonzero(~(np.abs(array) < _MOST) | (array != np.floor(array)))[:1]:
            raise ValueError(f"{field}[{row}] = {array[row]}: must be a whole number")
    else:
        for row in np.flatnonzero(array > _MOST)[:1]:
            raise ValueError(f"{field}[{row}] = {array[row]}: too large")
    return np.array(array, dtype=np.int64, order="C")


def _tasks(reduce: Any, count: int) -> tuple[Integers, Integers]:
    """Offsets and lengths of lists of tasks."""
    if isinstance(reduce, (str, bytes)) or not hasattr(reduce, "__len__"):
        raise ValueError(f"reduce = {shown(reduce)}: one list of task lengths per job")
    if len(reduce) != count:
        raise ValueError(f"reduce has {len(reduce)} entries but map has {count}")
    offset = np.zeros(count + 1, dtype=np.int64)
    flat: list[Any] = []
    for row, lengths in enumerate(reduce):
        if isinstance(lengths, (str, bytes)) or not hasattr(lengths, "__iter__"):
            raise ValueError(f"reduce[{row}] = {shown(lengths)}: not a list of task lengths")
        flat += lengths
        offset[row + 1] = len(flat)
    try:
        return offset, _whole("reduce", np.asarray(flat) if flat else np.empty(0, int), len(flat))
    except ValueError:
        for row, lengths in enumerate(reduce):
            for length in lengths:
                try:
                    whole = float(length).is_integer() and abs(length) < _MOST
                except (TypeError, ValueError, OverflowError):
                    whole = False
                if not whole:
                    raise ValueError(
                        f"reduce[{row}] = {shown(length)}: a task's length must be a whole number"
                    ) from None
        raise


def checked_estimates(field: str, values: Any, count: int) -> Floats:
    """One amount of work a job, finite and at least 0; ValueError otherwise."""
    try:
        array: Floats = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{field}: not numbers") from None
    if array.shape != (count,):
        raise ValueError(f"{field} has shape {array.shape}, expected ({count},)")
    for row in np.flatnonzero(~(np.isfinite(array) & (array >= 0.0)))[:1]:
        raise ValueError(f"{field}[{row}] = {array[row]}: must be finite and at least 0")
    return array


class MapReduceJobs:
    """A table of jobs with map tasks of one unit and reduce tasks of one or more.

    A machine does one unit of work a slot; a job's reduce tasks start after the slot of its last
    map task.

    Parameters
    ----------
    map : array_like of int, shape (J,)
        Number of map tasks, at least 0.
    reduce : sequence of sequences of int
        Lengths of each job's reduce tasks [slots], at least 1; an empty one for a map-only job.
    arrival : array_like of int or int
        Slot of arrival, from 1, in which the job may already run; any order.
    name : sequence of str, optional
        ``job0``, ``job1``, ... by default.
    reduce_estimate : array_like of float, optional
        Reduce work of each job as a scheduler knows it [units]; used where ``estimates="column"``
        asks for it.

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
        Lengths of all reduce tasks [slots].

    Notes
    -----
    Columns are read-only. O(J + tasks). Source: Zheng, Shroff, Sinha 2013 (ASRPT), section III.
    """

    __slots__ = ("_name", "arrival", "map", "reduce_estimate", "task", "task_offset")

    arrival: Integers
    map: Integers
    task_offset: Integers
    task: Integers
    reduce_estimate: Floats | None
    _name: tuple[str, ...] | None

    def __init__(
        self,
        map: npt.ArrayLike,
        reduce: Sequence[Any],
        *,
        arrival: npt.ArrayLike = 1,
        name: Sequence[str] | None = None,
        reduce_estimate: npt.ArrayLike | None = None,
    ) -> None:
        maps = _whole("map", map, None)
        arrivals = _whole("arrival", arrival, len(maps))
        self._fill(maps, *_tasks(reduce, len(maps)), arrivals, name, reduce_estimate)

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
        """The same from flat columns, without a list per job; see the attributes."""
        jobs = cls.__new__(cls)
        maps = _whole("map", map, None)
        offset = _whole("task_offset", task_offset, len(maps) + 1)
        arrivals = _whole("arrival", arrival, len(maps))
        jobs._fill(maps, offset, _whole("task", task, None), arrivals, name, reduce_estimate)
        return jobs

    def _fill(
        self,
        map: Integers,
        offset: Integers,
        task: Integers,
        arrival: Integers,
        name: Any,
        estimate: Any,
    ) -> None:
        self.map, self.task_offset, self.task, self.arrival = map, offset, task, arrival
        if isinstance(name, str):
            raise ValueError("name: one entry per job, not a single text")
        self._name = None if name is None else tuple(str(text) for text in name)
        if self._name is not None and len(self._name) != len(map):
            raise ValueError(f"name has {len(self._name)} entries but map has {len(map)}")
        _core.validate_map_reduce(arrival, map, offset, task)
        self.reduce_estimate = None
        if estimate is not None:
            self.reduce_estimate = checked_estimates("reduce_estimate", estimate, len(map))
            self.reduce_estimate.flags.writeable = False
        for array in (map, offset, task, arrival):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.map)

    def __repr__(self) -> str:
        units = int(self.map.sum() + self.task.sum())
        return f"MapReduceJobs({len(self)} jobs, {units} units)"

    @property
    def name(self) -> tuple[str, ...]:
        """One name a job."""
        if self._name is None:
            self._name = tuple(f"job{row}" for row in range(len(self)))
        return self._name

    @property
    def reduce(self) -> list[list[int]]:
        """Lengths of each job's reduce tasks [slots]."""
        flat, offset = self.task.tolist(), self.task_offset.tolist()
        return [flat[offset[row] : offset[row + 1]] for row in range(len(self))]

    @property
    def reduce_work(self) -> Integers:
        """Units of reduce work of each job."""
        total = np.concatenate(([0], np.cumsum(self.task)))
        work: Integers = total[self.task_offset[1:]] - total[self.task_offset[:-1]]
        return work

    def take(self, index: npt.ArrayLike) -> MapReduceJobs:
        """The jobs at these rows, in that order."""
        rows = np.arange(len(self))[np.asarray(index, dtype=np.int64)]
        first, count = self.task_offset[rows], np.diff(self.task_offset)[rows]
        offset = np.concatenate(([0], np.cumsum(count)))
        place = np.arange(offset[-1]) + np.repeat(first - offset[:-1], count)
        return MapReduceJobs.from_columns(
            self.arrival[rows],
            self.map[rows],
            offset,
            self.task[place],
            None if self._name is None else [self._name[row] for row in rows.tolist()],
            None if self.reduce_estimate is None else self.reduce_estimate[rows],
        )


def _even_split(work: Integers, tasks: Integers) -> tuple[Integers, Integers]:
    """Offsets and lengths of ``tasks`` as equal as may be, the longer ones first, none empty."""
    count = np.minimum(tasks, work)
    offset = np.concatenate(([0], np.cumsum(count)))
    base = work // np.maximum(count, 1)
    longer = work - base * count
    place = np.arange(offset[-1]) - np.repeat(offset[:-1], count)
    return offset, np.repeat(base, count) + (place < np.repeat(longer, count))


def _random_split(
    work: Integers, tasks: Integers, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """Offsets and lengths of ``tasks`` of at least a unit each, the other units thrown at random."""
    count = np.minimum(tasks, work)
    offset = np.concatenate(([0], np.cumsum(count)))
    lengths = np.ones(offset[-1], dtype=np.int64)
    for tasks_each in np.unique(count[count > 0]).tolist():
        rows = np.flatnonzero(count == tasks_each)
        extra = rng.multinomial(work[rows] - tasks_each, np.full(tasks_each, 1.0 / tasks_each))
        lengths[offset[rows, None] + np.arange(tasks_each)] += extra
    return offset, lengths


def _task_range(tasks: Tasks) -> tuple[int, int]:
    pair = tuple(tasks) if isinstance(tasks, (tuple, list)) else (tasks, tasks)
    if len(pair) != 2:
        raise ValueError(f"tasks = {shown(tasks)}: a number, or the least and the largest")
    low, high = (checked_whole("tasks", value, 1, 10**6) for value in pair)
    if low > high:
        raise ValueError(f"tasks = {shown(tasks)}: the lower number comes first")
    return low, high


class MapReduceStream:
    """Poisson arrivals of the workloads of section VII, drawn in chunks: bounded memory.

    Parameters
    ----------
    setting : {"exp-large", "exp-small", "uniform-large", "uniform-small"} or pair
        Map and reduce work of a job: Exp(5) and Exp(40), Exp(30) and Exp(15), U[1, 9] and
        U[10, 70], U[10, 50] and U[10, 20]; exponentials are rounded and at least 1. Or your own: for
        each phase a mean (exponential) or the pair of the least and the largest (uniform).
    slots : int
        Jobs arrive in slots 1 to ``slots``.
    rate : float
        Mean number of arrivals a slot.
    tasks : int or (int, int)
        Reduce tasks of a job, or the range of their uniformly drawn number; a job never has more
        tasks than units.
    split : {"even", "random"}
        Tasks as equal as may be, or of one unit each and the other units thrown at random.

    Raises
    ------
    ValueError
        A parameter out of its range.

    Notes
    -----
    The paper says "up to 10" tasks and nothing of their lengths; U{1..10} and even splits are
    choices on which the non-preemptive ratios depend.
    """

    def __init__(
        self,
        setting: str | tuple[Size, Size] = "exp-large",
        *,
        slots: int = 500,
        rate: float = 2.0,
        tasks: Tasks = (1, 10),
        split: str = "even",
    ) -> None:
        self.sizes = _checked_sizes(setting)
        self.slots = checked_whole("slots", slots, 0, 2**40)
        self.rate = checked_positive("rate", rate)
        if self.rate > 1e6:
            raise ValueError(f"rate = {shown(rate)}: must be at most 10^6")
        self.tasks = _task_range(tasks)
        self.split = checked_choice("split", split, ("even", "random"))

    @property
    def mean_work(self) -> float:
        """Mean units of a job, map and reduce together."""
        return math.fsum(_mean(size) for size in self.sizes)

    @property
    def mean_reduce(self) -> float:
        """Mean reduce units of a job."""
        return _mean(self.sizes[1])

    @property
    def largest_reduce(self) -> float:
        """Most reduce units of a job; infinite for exponential work."""
        size = self.sizes[1]
        return float(size[1]) if isinstance(size, tuple) else math.inf

    def _draw(self, size: Any, count: int, rng: np.random.Generator) -> Integers:
        if isinstance(size, tuple):
            drawn: Integers = rng.integers(size[0], size[1], count, endpoint=True)
            return drawn
        return np.maximum(1, np.rint(rng.exponential(size, count))).astype(np.int64)

    def chunks(self, rng: np.random.Generator | int | None = None) -> Iterator[MapReduceJobs]:
        """Tables of successive slots, in the order of arrival."""
        generator = np.random.default_rng(rng)
        map_size, reduce_size = self.sizes
        step = max(1, int(_CHUNK_JOBS / self.rate))
        for first in range(1, self.slots + 1, step):
            count = min(step, self.slots + 1 - first)
            arrival = np.repeat(
                np.arange(first, first + count), generator.poisson(self.rate, count)
            )
            maps = self._draw(map_size, len(arrival), generator)
            work = self._draw(reduce_size, len(arrival), generator)
            tasks = generator.integers(*self.tasks, len(arrival), endpoint=True)
            even = self.split == "even"
            cut = _even_split(work, tasks) if even else _random_split(work, tasks, generator)
            yield MapReduceJobs.from_columns(arrival, maps, *cut)


def _mean(size: Any) -> float:
    """Mean of what is drawn, rounding and the least of 1 included."""
    if isinstance(size, tuple):
        return float(size[0] + size[1]) / 2
    # P(rounded >= k) = exp(-(k - 1/2) / mean) for k >= 2, and 1 for k = 1.
    return 1.0 + math.exp(-1.5 / size) / -math.expm1(-1.0 / size)


def _checked_sizes(setting: Any) -> tuple[Size, Size]:
    if isinstance(setting, str):
        return _SIZES[checked_choice("setting", setting, SETTINGS)]
    sizes = list(setting) if isinstance(setting, (tuple, list)) else []
    if len(sizes) != 2:
        raise ValueError(f"setting = {shown(setting)}: a name, or sizes of map and reduce work")
    checked: list[Size] = []
    for size in sizes:
        if isinstance(size, (tuple, list)):
            ends = [checked_whole("setting", value, 0, 2**32) for value in size]
            if len(ends) != 2 or ends[0] > ends[1]:
                raise ValueError(f"setting = {shown(setting)}: a range is two numbers in order")
            checked.append((ends[0], ends[1]))
        else:
            mean = checked_positive("setting", size)
            if mean > 2**32:
                raise ValueError(f"setting = {shown(setting)}: a mean must be at most 2^32")
            checked.append(mean)
    return checked[0], checked[1]


def job_distribution(sizes: tuple[Size, Size]) -> tuple[Floats, Floats]:
    """Amounts of work that a job can bring [units], and their probabilities.

    Exponential work has no end; it is cut where less than 1e-18 is left. O(map x reduce amounts).

    Raises
    ------
    ValueError
        More than 20,000 amounts in a phase.
    """
    parts = []
    for size in sizes:
        if (size[1] if isinstance(size, tuple) else 42 * size) > _MOST_AMOUNTS:
            raise ValueError("jobs: too many amounts of work; draw a table")
        if isinstance(size, tuple):
            weight = np.zeros(size[1] + 1)
            weight[size[0] :] = 1.0 / (size[1] + 1 - size[0])
        else:
            above = np.exp(-(np.arange(math.ceil(42 * size) + 2) + 0.5) / size)  # P(work > k)
            above[0] = 1.0
            weight = np.append(0.0, -np.diff(above))
            weight[-1] += above[-1]
        parts.append(weight)
    together: Floats = np.convolve(parts[0], parts[1])
    work = np.flatnonzero(together)
    return work.astype(np.float64), together[work]


def section7(
    setting: str | tuple[Size, Size] = "exp-large",
    *,
    slots: int = 500,
    rate: float = 2.0,
    tasks: Tasks = (1, 10),
    split: str = "even",
    rng: np.random.Generator | int | None = None,
) -> MapReduceJobs:
    """One experiment of the ASRPT paper's section VII as a table; see `MapReduceStream`."""
    stream = MapReduceStream(setting, slots=slots, rate=rate, tasks=tasks, split=split)
    return join_tables(list(stream.chunks(rng)))


def join_tables(parts: Sequence[MapReduceJobs]) -> MapReduceJobs:
    """Tables one after another as one, without names."""
    if not parts:
        return MapReduceJobs([], [])
    starts = np.cumsum([0] + [len(part.task) for part in parts])
    offsets = [part.task_offset[1:] + start for part, start in zip(parts, starts, strict=False)]
    return MapReduceJobs.from_columns(
        np.concatenate([part.arrival for part in parts]),
        np.concatenate([part.map for part in parts]),
        np.concatenate([np.zeros(1, np.int64), *offsets]),
        np.concatenate([part.task for part in parts]),
    )


def read_map_reduce_jobs(source: Source) -> MapReduceJobs:
    """Read ``name, arrival, map, reduce`` from CSV with a header, plain or gzip.

    ``arrival`` is a slot from 1 (1 if the column is missing), ``reduce`` a list ``r1;r2;...`` of
    task lengths (blank: none); only ``map`` and ``reduce`` are required; ``reduce_estimate`` may
    follow.

    Raises
    ------
    ValueError
        One line that names the file, the line (from 1) and the column.
    OSError
        The file cannot be opened.
    """
    columns, where = read_columns(source, _COLUMNS, ("map", "reduce"), _value)
    try:
        return MapReduceJobs(**columns)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _value(column: str, cell: str) -> str | float | list[float]:
    if column == "name":
        return cell
    if column != "reduce":
        return parse_number(cell)
    try:
        return [parse_number(part) for part in cell.split(";")] if cell.strip() else []
    except ValueError:
        raise ValueError("not a list r1;r2;...") from None


def write_map_reduce_jobs(
    jobs: MapReduceJobs, path: str | os.PathLike[str], force: bool = False
) -> None:
    """Write the table as `read_map_reduce_jobs` reads it; an existing file only with ``force``."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    lists = (";".join(map(str, lengths)) for lengths in jobs.reduce)
    columns: list[Any] = [jobs.name, jobs.arrival.tolist(), jobs.map.tolist(), lists]
    if jobs.reduce_estimate is not None:
        columns.append(jobs.reduce_estimate.tolist())
    writer.writerow(_COLUMNS[: len(columns)])
    writer.writerows(zip(*columns, strict=True))
    write_text(path, out.getvalue(), force=force)


def _slots_of(seconds: Floats, slot_seconds: float) -> Integers:
    """The slots in which these times lie, the first time being in slot 1."""
    first = float(seconds.min()) if len(seconds) else 0.0
    return (np.floor((seconds - first) / slot_seconds) + 1).astype(np.int64)


def _units(work: Floats) -> Integers:
    # 1e-9: a whole number of units that rounding put a hair above it stays that number.
    return np.ceil(work - 1e-9).astype(np.int64)


def read_map_reduce_swim(
    source: Source,
    *,
    slot_seconds: float = 20.0,
    block_bytes: float = 64 * 2**20,
    reduce_bytes: float = 1e9,
    reduce_seconds: float = 300.0,
) -> MapReduceJobs:
    """Read a SWIM trace: a map task a block of input, a reduce task per ``reduce_bytes`` shuffled.

    Parameters
    ----------
    source : path or file object
        Plain or gzip.
    slot_seconds : float
        Length of a slot [s], which is the time of a map task.
    block_bytes, reduce_bytes : float
        Bytes of one map and of one reduce task.
    reduce_seconds : float
        Time of a whole reduce task [s]; it takes the slots that this fills, rounded up. What is
        left over makes one more, shorter task.

    Raises
    ------
    ValueError, OSError
        As `read_swim`; a parameter that is not above 0.

    Notes
    -----
    The trace knows bytes only; all four parameters are choices.
    """
    length = checked_positive("slot_seconds", slot_seconds)
    seconds = checked_positive("reduce_seconds", reduce_seconds)
    read = read_map_shuffle_swim(
        source,
        map_rate=checked_positive("block_bytes", block_bytes),
        shuffle_rate=checked_positive("reduce_bytes", reduce_bytes),
    )
    whole = np.floor(read.shuffle)
    rest = _units((read.shuffle - whole) * seconds / length)
    full = whole.astype(np.int64)
    count = full + (rest > 0)
    offset = np.concatenate(([0], np.cumsum(count)))
    task = np.full(offset[-1], _units(np.array([seconds / length]))[0])
    task[offset[1:][rest > 0] - 1] = rest[rest > 0]
    arrival = _slots_of(read.arrival, length)
    return MapReduceJobs.from_columns(arrival, _units(read.map), offset, task, read.name)


def read_map_reduce_rumen(
    source: Source,
    *,
    slot_seconds: float | None = None,
    reduce_from: str = "shuffleFinished",
    errors: str = "raise",
) -> MapReduceJobs:
    """Read a Rumen trace with the lengths of its reduce tasks.

    Parameters
    ----------
    source : path or file object
        Plain or gzip.
    slot_seconds : float, optional
        Length of a slot [s]; the mean time of the trace's map tasks by default, because a map task
        takes one slot whatever its time was.
    reduce_from, errors : str
        As `read_rumen`.

    Raises
    ------
    ValueError, OSError
        As `read_rumen`; no map task to take the slot length from.
    """
    given = None if slot_seconds is None else checked_positive("slot_seconds", slot_seconds)
    jobs, where = read_rumen_tasks(source, reduce_from=reduce_from, errors=errors)
    length = given
    if length is None:
        times = [time for job in jobs for time in job.maps]
        if not times or sum(times) <= 0.0:
            raise ValueError(f"{where}: no map task has a time; say slot_seconds")
        length = sum(times) / len(times)
    order = sorted(range(len(jobs)), key=lambda row: jobs[row].submit)
    reduce = [
        [max(1, math.ceil(time / length - 1e-9)) for time in jobs[row].reduces] for row in order
    ]
    submit = np.array([jobs[row].submit for row in order], dtype=np.float64)
    return MapReduceJobs(
        [len(jobs[row].maps) for row in order],
        reduce,
        arrival=_slots_of(submit, length),
        name=[jobs[row].name for row in order],
    )


def read_map_reduce_google2011(
    source: Source,
    *,
    slot_seconds: float = 60.0,
    map_units: float = 15.0,
    reduce_units: float = 15.0,
    tasks: int = 10,
    least_tasks: int = 2,
) -> MapReduceJobs:
    """Read the per-job table of the Google 2011 trace as map and reduce work.

    Parameters
    ----------
    source : path or file object
        Plain or gzip.
    slot_seconds : float
        Length of a slot [s].
    map_units, reduce_units : float
        Mean units of a job's phases; the trace's columns give the proportions, rounded up.
    tasks : int
        Reduce tasks of a job (fewer where there are fewer units), evenly split.
    least_tasks : int
        As `read_map_shuffle_google2011`, which says what map and reduce are taken from.

    Raises
    ------
    ValueError, OSError
        As `read_map_shuffle_google2011`; a parameter out of its range.
    """
    length = checked_positive("slot_seconds", slot_seconds)
    maps = checked_positive("map_units", map_units)
    reduces = checked_positive("reduce_units", reduce_units)
    most, _ = _task_range(tasks)
    read = read_map_shuffle_google2011(source, least_tasks=least_tasks)
    work = _units(read.shuffle * reduces)
    split = _even_split(work, np.full(len(work), most))
    arrival = _slots_of(read.arrival, length)
    return MapReduceJobs.from_columns(arrival, _units(read.map * maps), *split, read.name)
