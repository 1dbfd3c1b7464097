"""Jobs made of map and reduce tasks: the table, its CSV form, SWIM, Rumen and Yahoo traces."""

from __future__ import annotations

import csv
import io
import math
import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable.flow_tables import Flows
from malleable.tables import Floats, Integers
from malleable.workloads.files import (
    Source,
    checked_choice,
    checked_positive,
    open_text,
    parse_number,
    shown,
)
from malleable.workloads.rumen_tasks import read_rumen_tasks
from malleable.workloads.swim import read_swim

__all__ = [
    "ClusterJobs",
    "cluster_flows",
    "generate_cluster_jobs",
    "read_cluster_hawk",
    "read_cluster_jobs",
    "read_cluster_rumen",
    "read_cluster_swim",
]

_COLUMNS = (
    "name", "arrival", "maps", "map_seconds", "reduces", "reduce_seconds", "shuffle",
    "shuffle_bytes", "block", "min_map_slots", "min_reduce_slots", "weight", "deadline", "user",
    "program",
)  # fmt: skip
_WORDS = ("name", "user", "program")


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array


def _amounts(field: str, values: Any, count: int, infinite: bool = False) -> Floats:
    try:
        array = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise ValueError(f"{field}: not numbers") from None
    array = np.full(count, array) if array.ndim == 0 else array
    if array.ndim != 1:
        raise ValueError(f"{field} has {array.ndim} dimensions, expected 1")
    if len(array) != count:
        raise ValueError(f"{field} has {len(array)} entries but maps has {count}")
    bad = (
        np.isnan(array) | (array == -math.inf) if infinite else ~(np.isfinite(array) & (array >= 0))
    )
    for row in np.flatnonzero(bad)[:1]:
        reason = "must be a time (none: infinity)" if infinite else "must be finite and at least 0"
        raise ValueError(f"{field}[{row}] = {array[row]}: {reason}")
    return _frozen(array)


def _counts(field: str, values: Any, count: int | None) -> Integers:
    try:
        given = np.array(values)
        array = given.astype(np.int64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{field}: not whole numbers") from None
    if given.dtype.kind not in "iuf" and given.size:
        raise ValueError(f"{field}: not whole numbers")
    if array.ndim == 0:
        given, array = given.reshape(1), np.full(1 if count is None else count, array)
    if array.ndim != 1:
        raise ValueError(f"{field} has {array.ndim} dimensions, expected 1")
    if count is not None and len(array) != count:
        raise ValueError(f"{field} has {len(array)} entries but maps has {count}")
    checked = np.broadcast_to(given, array.shape)
    for row in np.flatnonzero((checked != array) | (array < 0) | (array > 1 << 31))[:1]:
        raise ValueError(
            f"{field}[{row}] = {checked[row]}: must be a whole number from 0 to {1 << 31}"
        )
    return _frozen(np.ascontiguousarray(array))


def _tasks(field: str, values: Any, count: int, tasks: Integers) -> tuple[Floats, Integers | None]:
    """Seconds of the tasks: one number a job, or the rows of a list of lists with its offsets."""
    nested = not np.isscalar(values) and any(not np.isscalar(row) for row in values)
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype != object:
        nested = False
    if not nested:
        return _amounts(field, values, count), None
    rows = [np.asarray(row, dtype=np.float64).reshape(-1) for row in values]
    if len(rows) != count:
        raise ValueError(f"{field} has {len(rows)} entries but maps has {count}")
    for row, own in enumerate(rows):
        if len(own) != tasks[row]:
            raise ValueError(f"{field}[{row}]: {len(own)} times for {tasks[row]} tasks")
        for bad in own[~(np.isfinite(own) & (own >= 0))][:1]:
            raise ValueError(f"{field}[{row}] = {bad}: must be finite and at least 0")
    offset = np.concatenate([[0], np.cumsum([len(own) for own in rows])]).astype(np.int64)
    flat = np.concatenate(rows) if rows else np.empty(0)
    return _frozen(np.ascontiguousarray(flat, dtype=np.float64)), _frozen(offset)


def _after(
    rows: Sequence[Sequence[int]] | None, count: int
) -> tuple[Integers | None, Integers | None]:
    if rows is None:
        return None, None
    if len(rows) != count:
        raise ValueError(f"after has {len(rows)} entries but maps has {count}")
    lists = [np.unique(np.asarray(row, dtype=np.int64)) for row in rows]
    offset = np.concatenate([[0], np.cumsum([len(row) for row in lists])]).astype(np.int64)
    flat = np.concatenate([*lists, np.empty(0, dtype=np.int64)]).astype(np.int64)
    return _frozen(offset), _frozen(flat)


def _labels(field: str, values: Sequence[Any] | None, count: int) -> tuple[str, ...] | None:
    if values is None:
        return None
    words = (str(values),) * count if isinstance(values, str) else tuple(str(v) for v in values)
    if len(words) != count:
        raise ValueError(f"{field} has {len(words)} entries but maps has {count}")
    return words


class ClusterJobs:
    """A table of jobs with map tasks, then reduce tasks.

    Parameters
    ----------
    maps : array_like of int, shape (J,)
        Number of map tasks; 0 is allowed.
    map_seconds : array_like
        Time of a map task on a node of rate 1 [s]: a number, one a job, or for each job a list with
        one a task.
    reduces, reduce_seconds : as the two above
        A reduce task's own time, after its copying; 0 by default.
    arrival : array_like or float
        [s], at least 0; any order.
    shuffle : array_like or float
        Seconds that each reduce task of the job copies at least [s]; see
        `malleable.simulation.cluster.run`.
    shuffle_bytes : array_like or float
        Bytes that all map tasks of the job together leave for its reduce tasks, which take time on
        clusters whose disks or links are limited. Not part of ``reduce_work``.
    block : array_like or float
        Bytes that each map task reads (clusters with replicas).
    min_map_slots, min_reduce_slots : array_like of int
        Guaranteed while the job has work there.
    weight, deadline : array_like or float
        At least 0, 1 by default; absolute [s], none by default.
    after : sequence of sequences of int, optional
        Rows of the jobs that must have finished before this one comes.
    flow : sequence of str, optional
        Which flow each job belongs to.
    user, program, name : sequence of str, optional
        Whose job it is; which program it runs again (estimates learn from earlier runs); its name.

    Attributes
    ----------
    map_work, reduce_work : ndarray of float64, shape (J,)
        Slot-seconds on nodes of rate 1; copying counts as reduce work.

    Raises
    ------
    ValueError
        Names the field, the first bad row (from 0) and its value.
    """

    def __init__(
        self,
        maps: npt.ArrayLike,
        map_seconds: Any,
        reduces: npt.ArrayLike = 0,
        reduce_seconds: Any = 0.0,
        *,
        arrival: npt.ArrayLike = 0.0,
        shuffle: npt.ArrayLike = 0.0,
        shuffle_bytes: npt.ArrayLike = 0.0,
        block: npt.ArrayLike = 0.0,
        min_map_slots: npt.ArrayLike = 0,
        min_reduce_slots: npt.ArrayLike = 0,
        weight: npt.ArrayLike = 1.0,
        deadline: npt.ArrayLike = math.inf,
        after: Sequence[Sequence[int]] | None = None,
        flow: Sequence[str] | None = None,
        user: Sequence[str] | None = None,
        program: Sequence[str] | None = None,
        name: Sequence[str] | None = None,
    ) -> None:
        self.maps = _counts("maps", maps, None)
        count = len(self.maps)
        self.reduces = _counts("reduces", reduces, count)
        self.map_seconds, self.map_offset = _tasks("map_seconds", map_seconds, count, self.maps)
        self.reduce_seconds, self.reduce_offset = _tasks(
            "reduce_seconds", reduce_seconds, count, self.reduces
        )
        self.arrival = _amounts("arrival", arrival, count)
        self.shuffle = _amounts("shuffle", shuffle, count)
        self.shuffle_bytes = _amounts("shuffle_bytes", shuffle_bytes, count)
        self.block = _amounts("block", block, count)
        self.min_map_slots = _counts("min_map_slots", min_map_slots, count)
        self.min_reduce_slots = _counts("min_reduce_slots", min_reduce_slots, count)
        self.weight = _amounts("weight", weight, count)
        self.deadline = _amounts("deadline", deadline, count, infinite=True)
        self.after_offset, self.after = _after(after, count)
        self.flow = _labels("flow", flow, count)
        self.user = _labels("user", user, count)
        self.program = _labels("program", program, count)
        self.name = _labels("name", name, count)
        self.map_work = _frozen(_work(self.maps, self.map_seconds, self.map_offset))
        self.reduce_work = _frozen(
            _work(self.reduces, self.reduce_seconds, self.reduce_offset)
            + self.reduces * self.shuffle
        )

    def __len__(self) -> int:
        return len(self.maps)

    def __repr__(self) -> str:
        return (
            f"ClusterJobs({len(self)} jobs, {int(self.maps.sum())} map and "
            f"{int(self.reduces.sum())} reduce tasks)"
        )


def _work(tasks: Integers, seconds: Floats, offset: Integers | None) -> Floats:
    if offset is None:
        return np.asarray(tasks * seconds, dtype=np.float64)
    sums = np.concatenate([[0.0], np.cumsum(seconds)])
    return np.asarray(sums[offset[1:]] - sums[offset[:-1]], dtype=np.float64)


def cluster_flows(flows: Flows, task_seconds: float, *, coarsest: int = 100_000) -> ClusterJobs:
    """The jobs of flows as cluster jobs of map tasks only, with their precedence.

    Parameters
    ----------
    flows : Flows
        Any reader's.
    task_seconds : float
        A job of work W has about W / ``task_seconds`` tasks, at least one and at most ``coarsest``, of
        equal times.

    Notes
    -----
    Maxima of jobs are dropped: a job may run as many tasks at once as it has. O(jobs + parents).
    """
    seconds = checked_positive("task_seconds", task_seconds)
    tasks = np.clip(np.rint(flows.work / seconds), 1, coarsest).astype(np.int64)
    tasks[flows.work == 0.0] = 0
    return ClusterJobs(
        tasks,
        np.divide(flows.work, tasks, out=np.zeros(len(tasks)), where=tasks > 0),
        arrival=flows.arrival[flows.flow],
        weight=flows.weight[flows.flow],
        deadline=flows.deadline[flows.flow],
        after=[
            flows.parent[flows.parent_offset[row] : flows.parent_offset[row + 1]].tolist()
            for row in range(len(tasks))
        ],
        flow=[flows.name[k] for k in flows.flow.tolist()],
        name=flows.job_name,
    )


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
    map_output: float = 0.0,
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
        Jobs belong to them at random.
    block, map_output : float
        What a map task reads, and what it leaves for the shuffle [bytes].
    """
    generator = np.random.default_rng(rng)
    arrival = np.cumsum(generator.standard_exponential(jobs)) * gap if gap > 0 else np.zeros(jobs)
    draw = generator.lognormal(math.log(mean_maps) - spread**2 / 2, spread, jobs)
    maps = np.maximum(np.rint(draw), 1).astype(np.int64)
    owner = generator.integers(users, size=jobs)
    return ClusterJobs(
        maps,
        map_seconds,
        np.ceil(maps * reduce_share).astype(np.int64),
        reduce_seconds,
        arrival=arrival,
        shuffle=shuffle,
        shuffle_bytes=maps * map_output,
        block=block,
        user=[f"user{u}" for u in owner.tolist()],
    )


def read_cluster_jobs(source: Source) -> ClusterJobs:
    """Read a table of cluster jobs from CSV with a header; ``maps`` and ``map_seconds`` are needed.

    Columns are the parameters of `ClusterJobs`; ``map_seconds`` and ``reduce_seconds`` are a number
    or ``s1;s2;...``, one for each task.

    Raises
    ------
    ValueError
        One line that names the file, the line (from 1) and the column.
    OSError
        The file cannot be opened.
    """
    with open_text(source) as (text, where):
        rows = csv.reader(text)
        head = [cell.strip() for cell in next(rows, [])]
        for cell in head:
            if cell not in _COLUMNS:
                raise ValueError(
                    f"{where}: unknown column {shown(cell)}, expected {', '.join(_COLUMNS)}"
                )
        for needed in ("maps", "map_seconds"):
            if needed not in head:
                raise ValueError(f"{where}: column {needed!r} is missing")
        if len(set(head)) < len(head):
            raise ValueError(f"{where}: a column occurs twice")
        columns: dict[str, list[Any]] = {cell: [] for cell in head}
        for cells in rows:
            if not cells:
                continue
            if len(cells) != len(head):
                raise ValueError(
                    f"{where}: line {rows.line_num}: {len(cells)} cells, expected {len(head)}"
                )
            for column, cell in zip(head, cells, strict=True):
                try:
                    columns[column].append(_cell(column, cell))
                except ValueError:
                    raise ValueError(
                        f"{where}: line {rows.line_num}: {column} = {shown(cell)}: not a number"
                    ) from None
    for column in ("map", "reduce"):
        times = columns.get(f"{column}_seconds", [])
        if any(isinstance(value, list) for value in times):
            tasks = columns.get(f"{column}s", [0] * len(times))
            columns[f"{column}_seconds"] = [
                value if isinstance(value, list) else [value] * int(number)
                for value, number in zip(times, tasks, strict=True)
            ]
    try:
        return ClusterJobs(**columns)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _cell(column: str, cell: str) -> Any:
    if column in _WORDS:
        return cell
    if column == "deadline" and not cell.strip():
        return math.inf
    if column.endswith("_seconds") and ";" in cell:
        return [parse_number(part) for part in cell.split(";") if part.strip()]
    return parse_number(cell)


def read_cluster_swim(
    source: Source,
    *,
    block_bytes: float = 64 * 2**20,
    task_seconds: float = 20.0,
    reduce_bytes: float = 1e9,
    reduce_seconds: float = 300.0,
    shuffle_rate: float = math.inf,
) -> ClusterJobs:
    """Read a SWIM trace: bytes become tasks.

    A job has ceil(map input / ``block_bytes``) map tasks of ``task_seconds`` each and ceil(shuffle /
    ``reduce_bytes``) reduce tasks of ``reduce_seconds`` each, which copy an even part of the shuffle
    at ``shuffle_rate`` at most [bytes a second; by default it takes no time of its own], and over the
    cluster's links where these are limited. Jobs without bytes are done when they arrive.

    Raises
    ------
    ValueError, OSError
        As `read_swim`.
    """
    seconds = checked_positive("task_seconds", task_seconds)
    reduce_time = checked_positive("reduce_seconds", reduce_seconds)
    if not shuffle_rate > 0.0:
        raise ValueError(f"shuffle_rate = {shown(shuffle_rate)}: must be above 0")
    again: Any = source
    if not isinstance(source, (str, os.PathLike)):
        data: Any = source.read()
        again = data.encode() if isinstance(data, str) else data
    phases = []
    for phase in ("map", "reduce"):
        part: Any = io.BytesIO(again) if isinstance(again, bytes) else again
        phases.append(
            read_swim(
                part,
                phase=phase,
                block_bytes=block_bytes,
                task_seconds=1.0,
                reduce_bytes=reduce_bytes,
                reduce_seconds=1.0,
            )
        )
    first, second = phases
    maps, reduces = np.ceil(first.work), np.ceil(second.work)
    copied = np.divide(
        second.work * reduce_bytes, reduces, out=np.zeros(len(first)), where=reduces > 0
    )
    return ClusterJobs(
        maps.astype(np.int64),
        seconds,
        reduces.astype(np.int64),
        reduce_time,
        arrival=first.arrival,
        shuffle=copied / shuffle_rate,
        shuffle_bytes=second.work * reduce_bytes,
        block=float(block_bytes),
        name=first.name,
    )


def read_cluster_rumen(source: Source, *, errors: str = "raise") -> ClusterJobs:
    """Read a Rumen trace with the real time of every task.

    A map task takes what its successful attempt took; a reduce task what was left of it after its
    shuffle; every reduce task of a job copies for the job's mean time from the later of its own
    start and the end of the job's last map to its shuffle's end. Tasks of unknown time take the
    job's mean.

    Parameters
    ----------
    source : path or file object
        Plain or gzip.
    errors : {"raise", "skip"}
        Malformed jobs: one error that counts them and shows the first, or a warning that counts.

    Raises
    ------
    ValueError
        One line that names the file and what is wrong.
    OSError
        The file cannot be opened.
    """
    checked_choice("errors", errors, ("raise", "skip"))
    rows, where = read_rumen_tasks(source, errors == "skip")
    origin = min((row.submit for row in rows), default=0.0)
    rows.sort(key=lambda row: row.submit)
    try:
        return ClusterJobs(
            [len(row.map_seconds) for row in rows],
            [row.map_seconds for row in rows],
            [len(row.reduce_seconds) for row in rows],
            [row.reduce_seconds for row in rows],
            arrival=[(row.submit - origin) for row in rows],
            shuffle=[row.shuffle for row in rows],
            user=[row.user for row in rows],
            program=[row.program for row in rows],
            name=_numbered([row.name for row in rows]),
        )
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _numbered(names: list[str]) -> list[str]:
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return found


def read_cluster_hawk(source: Source) -> ClusterJobs:
    """Read a Yahoo trace in Hawk's form: arrival [s], tasks, mean time [s], then every task's time.

    Its jobs have one phase, which becomes map tasks.

    Raises
    ------
    ValueError
        One line that names the file, the line (from 1) and what is wrong.
    OSError
        The file cannot be opened.
    """
    arrival: list[float] = []
    seconds: list[list[float]] = []
    with open_text(source) as (text, where):
        for index, line in enumerate(text, 1):
            cells = line.split()
            if not cells:
                continue
            try:
                numbers = [parse_number(cell) for cell in cells]
            except ValueError:
                raise ValueError(f"{where}: line {index}: not numbers") from None
            if len(numbers) < 3 or numbers[1] != len(numbers) - 3:
                raise ValueError(
                    f"{where}: line {index}: {max(0, len(numbers) - 3)} task times, "
                    f"{cells[1] if len(cells) > 1 else '?'} tasks"
                )
            if not all(math.isfinite(number) and number >= 0.0 for number in numbers):
                raise ValueError(f"{where}: line {index}: must be finite and not negative")
            arrival.append(numbers[0])
            seconds.append(numbers[3:])
    if not arrival:
        raise ValueError(f"{where}: empty; a Yahoo trace has one line a job")
    order = np.argsort(arrival, kind="stable")
    return ClusterJobs(
        [len(seconds[k]) for k in order],
        [seconds[k] for k in order],
        arrival=np.array(arrival)[order],
    )
