"""The table of the model of clusters: jobs made of map and reduce tasks; and how flows (graphs of jobs) become
such jobs."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.arrays import (
    Floats,
    Integers,
    check_length,
    floats_of,
    given,
    id_lists,
    names_of,
    quotient,
    wholes_of,
    without_nan,
)
from malleable.checkpoints import by_value
from malleable.display import counted, html_of
from malleable.files.advice import AdvisedError
from malleable.flows.table import Flows
from malleable.jobs.table import SlaSteps, flat_sla, steps_of
from malleable.validation import (
    ALL_SLOTS,
    RATE,
    WORK,
    Table,
    as_numbers,
    checked_choice,
    checked_positive,
    floats,
    near,
    refuse,
    shown,
    suggesting,
)

_MOST_TASKS = 1 << 31  # tasks of one phase of a job
_MOST_EQUAL = 100_000  # tasks into which the work of a job is cut
_COLUMNS = (
    *("arrival", "shuffle", "block", "weight", "deadline"),
    *("maps", "reduces", "map_seconds", "map_offset", "reduce_seconds", "reduce_offset"),
    *("min_map_slots", "min_reduce_slots", "min_mode", "width", "requested", "memory", "gpus"),
    "restart",
    *("after_offset", "after"),
    *("sla_offset", "sla_time", "sla_penalty"),
)

# columns that are left out if they have these values only
_PLAIN = {"width": 1, "requested": 0, "memory": 0, "gpus": 0, "restart": 0, "min_mode": -1}
_MODES = ("guarantee", "start")

SCHEDULER_COLUMNS = tuple(
    row["name"]
    for row in _core.CLUSTER_COLUMNS
    if row["for_schedulers"] and row["by_row"] and row["name"] in _COLUMNS
)
"""Columns of numbers that a scheduler takes as they are, one number a job."""


def _tasks(field: str, values: Any, count: int, tasks: Integers) -> tuple[Floats, Integers | None]:
    # Seconds of the tasks: one number a job, or the rows of a list of lists with its offsets.
    nested = not np.isscalar(values) and any(not np.isscalar(row) for row in values)
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype != object:
        nested = False
    if not nested:
        return _numbers(field, values, count), None
    check_length(field, values, count, "maps")
    rows = [floats(f"{field}[{row}]", own, WORK).reshape(-1) for row, own in enumerate(values)]
    for row, own in enumerate(rows):
        if len(own) != tasks[row]:
            raise ValueError(
                f"{field}[{row}]: {counted(len(own), 'time')} for {counted(tasks[row], 'task')}"
            )
    return np.concatenate([*rows, np.empty(0)]), np.cumsum([0, *tasks], dtype=np.int64)


def _numbers(field: str, values: Any, count: int) -> Floats:
    return np.array(floats_of(field, given(field, values), count, "maps"))


def _wholes(field: str, values: Any, count: int | None) -> Integers:
    return wholes_of(field, values, count, 0, _MOST_TASKS, "maps")


def checked_rates(field: str, value: Any) -> float | Floats:
    """An exponent from 0 to 1, or the rates of 1, 2, ... tasks together; ValueError names ``field``."""
    if isinstance(value, bool):
        raise ValueError(f"{field} = {shown(value)}: not a number or rates")
    try:
        rates = np.array(as_numbers(field, value), dtype=np.float64)
    except ValueError:
        raise ValueError(f"{field} = {shown(value)}: not a number or rates") from None
    if rates.ndim == 0:
        if not 0.0 <= float(rates) <= 1.0:
            raise ValueError(f"{field} = {shown(value)}: must be from 0 to 1")
        return float(rates)
    if rates.ndim != 1 or not len(rates):
        raise ValueError(f"{field}: rates of 1, 2, ... tasks are one list")
    RATE.check(field, rates)
    falls = np.diff(rates, prepend=0.0) < 0
    refuse(field, rates, falls, "more tasks must not do less than fewer do")
    rates.flags.writeable = False
    return rates


def _speedups(values: Sequence[Any] | None, count: int) -> tuple[float | Floats | None, ...] | None:
    if values is None:
        return None
    check_length("speedup", [values] if np.isscalar(values) else values, count, "maps")
    return tuple(
        None if value is None else checked_rates(f"speedup[{row}]", value)
        for row, value in enumerate(values)
    )


def _rates(rate: Mapping[str, Any], count: int) -> Floats:
    # Rates by job, phase and name of node.
    found = np.empty((count, 2, len(rate)))
    for k, (name, values) in enumerate(rate.items()):
        array = floats(f"rate[{name!r}]", values, RATE)
        if array.ndim == 1:
            array = array[:, None]
        rows, phases = (*array.shape, 1, 1)[:2]
        if array.ndim > 2 or rows not in (1, count) or phases not in (1, 2):
            raise ValueError(f"rate[{name!r}] has shape {array.shape}, expected one or two a job")
        found[:, :, k] = array
    return found


def _labels(field: str, values: Sequence[Any] | None, count: int) -> tuple[str, ...] | None:
    if values is None:
        return None
    return (values,) * count if isinstance(values, str) else names_of(field, values, count, "maps")


def _modes(words: str | Sequence[str | None] | None, count: int) -> Integers:
    own = [words] * count if words is None or isinstance(words, str) else list(words)
    check_length("min_mode", own, count, "maps")
    for row, word in enumerate(own):
        if word is not None:
            checked_choice(f"min_mode[{row}]", word, _MODES)
    return np.array([-1 if word is None else _MODES.index(word) for word in own], dtype=np.int64)


@by_value()
class ClusterJobs(Table):
    """A table of jobs with map tasks, then reduce tasks.

    Parameters
    ----------
    maps : array_like of int, shape (J,)
        Number of map tasks; 0 is allowed.
    map_seconds : array_like
        Time of a map task on a node of rate 1 [s]: a number, one for each job, or for each job a list with
        one for each task; 0, or from 1e-12 to 1e15. The sum over a job's tasks has the same limits.
    reduces, reduce_seconds : as the two above
        Number of reduce tasks, and a reduce task's own time, after its copying; 0 by default.
    arrival : array_like or float
        When each job comes [s], from 0 to 1e12; any order.
    shuffle : array_like or float
        Time for which each reduce task of the job copies the output of maps at least [s].
    block : array_like or float
        Bytes that each map task reads (clusters with replicas).
    min_map_slots, min_reduce_slots : array_like of int
        Guaranteed while the job has work there; or see ``min_mode``.
    min_mode : str or sequence of str, optional
        What the minima of each job mean. ``guarantee``: as above. ``start``: a phase waits until as many of
        its tasks as the minimum can start together. None: what the option ``min_mode`` says.
    width : array_like of int
        So many map tasks of the job start at once, or none: 1 by default. A job is *rigid* if that is all its
        map tasks.
    requested : array_like or float
        Seconds that a map task takes at most, as its user said; 0 or NaN: not known.
    partition : sequence of str, optional
        The partition in which each job runs; "" for any. It counts if nodes are in partitions.
    memory, gpus : array_like or float
        Bytes and GPUs that each map task takes on its node; 0 by default. They count under policies of rigid
        jobs, where the cluster's nodes say how much they have.
    restart : array_like or float
        Seconds that a slot does nothing before a task of the job, if it worked for another job before: 0 by
        default. ``auto flex fair fifo wdeq`` then move slots only if that gains more than it costs.
    weight, deadline : array_like or float
        Weights: 0, or from 1e-12 to 1e12, 1 by default. Deadlines: absolute [s], up to 1e12, none by default.
    sla : sequence of sequences of (time, penalty), optional
        Steps of each job, as in `malleable.Jobs`.
    speedup : sequence, optional
        For each job: None (as the simulation says), p (s running tasks of a phase together do s^p), or the
        rates of 1, 2, ... running tasks together, which never fall; the last rate counts for more.
    rate : mapping, optional
        By the name of nodes: how many of a job's seconds such a node does in one second, instead of its own
        rate. A number, one for each job, or two for each job, shape (J, 2), for maps and reduces.
    after : sequence of sequences of int, optional
        Rows of the jobs that must have finished before this one comes.
    flow : sequence of str, optional
        The flow of each job. A flow has the largest weight and the latest deadline of its jobs, and the SLA
        of its first job that has one.
    user, program, name : sequence of str, optional
        Whose job it is; the program that it runs (estimates learn from the user's earlier runs of it); its
        name.

    Attributes
    ----------
    map_work, reduce_work : ndarray of float64, shape (J,)
        Slot-seconds on nodes of rate 1; copying counts as reduce work.

    Raises
    ------
    ValueError
        Names the field, the first bad row (from 0) and its value.

    See Also
    --------
    malleable.generate_cluster_jobs : Makes a table at random.

    Notes
    -----
    Scalars broadcast. The table copies its input once; its columns are read-only arrays. O(J + task times).

    Examples
    --------
    >>> import malleable as mb
    >>> jobs = mb.ClusterJobs(maps=[8, 3], map_seconds=[20.0, 5.0], reduces=[2, 0], reduce_seconds=[60.0, 0.0])
    >>> len(jobs)
    2
    """

    @suggesting
    def __init__(
        self,
        maps: npt.ArrayLike,
        map_seconds: Any,
        reduces: npt.ArrayLike = 0,
        reduce_seconds: Any = 0.0,
        *,
        arrival: npt.ArrayLike = 0.0,
        shuffle: npt.ArrayLike = 0.0,
        block: npt.ArrayLike = 0.0,
        min_map_slots: npt.ArrayLike = 0,
        min_reduce_slots: npt.ArrayLike = 0,
        min_mode: str | Sequence[str | None] | None = None,
        width: npt.ArrayLike = 1,
        requested: npt.ArrayLike = 0.0,
        partition: Sequence[str] | None = None,
        memory: npt.ArrayLike = 0.0,
        gpus: npt.ArrayLike = 0.0,
        restart: npt.ArrayLike = 0.0,
        weight: npt.ArrayLike = 1.0,
        deadline: npt.ArrayLike = math.inf,
        sla: Sequence[SlaSteps | None] | None = None,
        speedup: Sequence[Any] | None = None,
        rate: Mapping[str, npt.ArrayLike] | None = None,
        after: Sequence[Sequence[int]] | None = None,
        flow: Sequence[str] | None = None,
        user: Sequence[str] | None = None,
        program: Sequence[str] | None = None,
        name: Sequence[str] | None = None,
    ) -> None:
        self.maps = _wholes("maps", maps, None)
        count = len(self.maps)
        self.reduces = _wholes("reduces", reduces, count)
        self.map_seconds, self.map_offset = _tasks("map_seconds", map_seconds, count, self.maps)
        self.reduce_seconds, self.reduce_offset = _tasks(
            "reduce_seconds", reduce_seconds, count, self.reduces
        )
        self.arrival = _numbers("arrival", arrival, count)
        self.shuffle = _numbers("shuffle", shuffle, count)
        self.block = _numbers("block", block, count)
        self.weight = _numbers("weight", weight, count)
        self.deadline = _numbers("deadline", without_nan("deadline", deadline), count)
        steps = {} if sla is None else flat_sla(sla, count, "maps")
        self.sla_offset: Integers | None = steps.get("sla_offset")
        self.sla_time: Floats | None = steps.get("sla_time")
        self.sla_penalty: Floats | None = steps.get("sla_penalty")
        self.min_map_slots = _wholes("min_map_slots", min_map_slots, count)
        self.min_reduce_slots = _wholes("min_reduce_slots", min_reduce_slots, count)
        self.min_mode = _modes(min_mode, count)
        self.width = _wholes("width", width, count)
        self.requested = _numbers(
            "requested", np.nan_to_num(np.asarray(requested, dtype=np.float64)), count
        )
        self.partition = _labels("partition", partition, count)
        self.memory = _numbers("memory", memory, count)
        self.gpus = _numbers("gpus", gpus, count)
        self.restart = _numbers("restart", restart, count)
        self.speedup = _speedups(speedup, count)
        self.rated = None if rate is None else tuple(rate)
        self.rates = None if rate is None else _rates(rate, count)
        lists: Any = (None, None)
        if after is not None:
            lists = id_lists("after", after, count, "maps")
        self.after_offset, self.after = lists
        self.flow = _labels("flow", flow, count)
        self.user = _labels("user", user, count)
        self.program = _labels("program", program, count)
        self.name = _labels("name", name, count)
        self._validate()
        self.map_work = _work(self.maps, self.map_seconds, self.map_offset)
        self.reduce_work = (
            _work(self.reduces, self.reduce_seconds, self.reduce_offset)
            + self.reduces * self.shuffle
        )
        self._freeze()

    @property
    def sla(self) -> list[list[tuple[float, float]]]:
        """SLA steps of each job as (time, cumulative penalty)."""
        if self.sla_offset is None or self.sla_time is None or self.sla_penalty is None:
            return [[] for _ in range(len(self))]
        return steps_of(self.sla_offset, self.sla_time, self.sla_penalty)

    @property
    def rigid(self) -> npt.NDArray[np.bool_]:
        """Jobs with several tasks, which all run at once."""
        found: npt.NDArray[np.bool_] = (
            (self.width > 1) & (self.width >= self.maps) & (self.reduces == 0)
        )
        return found

    def rates_on(self, own: Floats, names: Sequence[str]) -> Floats | None:
        """Rates of nodes with these names, shape (J, 2, n): those of jobs, else ``own``; None if jobs have
        none. ValueError for a name that no node has."""
        if self.rated is None or self.rates is None:
            return None
        found: Floats = np.broadcast_to(own, (len(self), 2, len(names))).copy()
        for k, name in enumerate(self.rated):
            at = [place for place, other in enumerate(names) if other == name]
            if not at:
                raise ValueError(f"rate[{name!r}]: no node has that name{near(name, names)}")
            found[:, :, at] = self.rates[:, :, k, None]
        return found

    def changed(self, **columns: npt.ArrayLike) -> ClusterJobs:
        """The same jobs with some columns replaced; ValueError as for the table."""
        made = copy.copy(self)
        for field, values in columns.items():
            read = _wholes if getattr(self, field).dtype.kind == "i" else _numbers
            setattr(made, field, read(field, values, len(self)))
        made._validate()
        made._freeze()
        return made

    def columns(self) -> dict[str, Any]:
        found = {field: getattr(self, field) for field in _COLUMNS if self._says(field)}
        return {field: column for field, column in found.items() if column is not None}

    def told(self) -> dict[str, Any]:
        """Columns that a scheduler takes as they are."""
        return {name: getattr(self, name) for name in SCHEDULER_COLUMNS if self._says(name)}

    def _says(self, field: str) -> bool:
        return field not in _PLAIN or bool((getattr(self, field) != _PLAIN[field]).any())

    def _validate(self) -> None:
        _core.validate_cluster_jobs(self.columns())

    def __len__(self) -> int:
        return len(self.maps)

    def __repr__(self) -> str:
        return (
            f"ClusterJobs({counted(len(self), 'job')}, "
            f"{counted(int(self.maps.sum()), 'map task')}, "
            f"{counted(int(self.reduces.sum()), 'reduce task')})"
        )

    _repr_html_ = html_of(
        "name arrival maps map_work reduces reduce_work weight deadline flow user program"
    )


def _work(tasks: Integers, seconds: Floats, offset: Integers | None) -> Floats:
    if offset is None:
        return np.asarray(tasks * seconds, dtype=np.float64)
    sums = np.concatenate([[0.0], np.cumsum(seconds)])
    return np.asarray(sums[offset[1:]] - sums[offset[:-1]], dtype=np.float64)


def task_counts(
    work: Floats,
    max_slots: Integers,
    names: Sequence[str],
    task_seconds: float | None,
) -> Integers:
    """Number of equal tasks into which work is cut, from one to 100,000: of about ``task_seconds``, or
    (None) as many as ``max_slots``."""
    if task_seconds is None:
        for row in np.flatnonzero(max_slots == ALL_SLOTS)[:1]:
            raise AdvisedError(
                f"job {shown(names[row])} has no max_slots that would be its number of tasks",
                "say task_seconds",
                "--read task_seconds=S cuts its work into tasks of S seconds",
            )
        tasks: Integers = max_slots.copy()
    else:
        seconds = checked_positive("task_seconds", task_seconds)
        tasks = np.clip(np.rint(work / seconds), 1, _MOST_EQUAL).astype(np.int64)
    tasks[work == 0.0] = 0
    return tasks


def cluster_flows(
    flows: Flows,
    task_seconds: float | None = None,
    *,
    arrival: npt.ArrayLike | None = None,
) -> ClusterJobs:
    """The jobs of flows as cluster jobs of map tasks only, with their precedence.

    Parameters
    ----------
    flows : Flows
    task_seconds : float, optional
        A job of work W has about W / ``task_seconds`` tasks of equal times, from one to 100,000, which
        may all run at once. None: as many tasks as its ``max_slots``, which readers of traces set to the
        number of tasks.
    arrival : array_like, shape (F,), optional
        When each flow comes [s]; as in the table by default.

    Raises
    ------
    ValueError
        A job without maximum and no ``task_seconds``.

    See Also
    --------
    malleable.ClusterJobs : The tables that it joins.

    Notes
    -----
    O(jobs + parents).

    Examples
    --------
    >>> import malleable as mb
    >>> extract = {"name": "extract", "work": 60, "max_slots": 20}
    >>> load = {"name": "load", "work": 30, "max_slots": 10, "after": ["extract"]}
    >>> jobs = mb.cluster_flows(mb.Flows([[extract, load]]), task_seconds=3.0)
    >>> len(jobs), jobs.maps
    (2, array([20, 10]))
    """
    tasks = task_counts(flows.work, flows.max_slots, flows.job_name, task_seconds)
    comes = flows.arrival
    if arrival is not None:
        comes = floats_of("arrival", arrival, len(flows), "flows")
    steps = flows.sla if len(flows.sla_time) else None
    return ClusterJobs(
        tasks,
        quotient(flows.work, tasks),
        arrival=comes[flows.flow],
        weight=flows.weight[flows.flow],
        deadline=flows.deadline[flows.flow],
        sla=None if steps is None else [steps[k] for k in flows.flow.tolist()],
        after=[flows.after(row) for row in range(len(tasks))],
        flow=[flows.name[k] for k in flows.flow.tolist()],
        name=flows.job_name,
        speedup=flows.speedup,
    )
