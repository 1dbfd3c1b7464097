"""A trace: what a file knows of jobs, and tables of every model made of it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from malleable.cluster.table import ClusterJobs, cluster_flows, task_counts
from malleable.domain import ALL_SLOTS, checked_choice, checked_positive, shown
from malleable.files.advice import AdvisedError
from malleable.files.bad_records import BadRecords
from malleable.files.reading import telling_of
from malleable.flows.table import Flows
from malleable.jobs.table import Floats, Integers, Jobs, SlaSteps
from malleable.slotted.generate import even_split, task_range
from malleable.slotted.table import MapReduceJobs
from malleable.tandem.table import MapShuffleJobs
from malleable.traces.phases import Phase, filled
from malleable.traces.slots import all_tasks, slots_of, units, whole
from malleable.views import counted

__all__ = ["Phase", "Trace"]

# What bytes are taken for: the file system block of Hadoop and Hive's reduce tasks at the time of SWIM.
_BYTES: dict[str, Any] = {
    "block_bytes": 64 * 2.0**20,
    "task_seconds": 20.0,
    "reduce_bytes": 1e9,
    "reduce_seconds": 300.0,
}
_RATES: dict[str, Any] = {"map_rate": 64 * 2**20 / 20, "shuffle_rate": 1e9 / 300}
_SHARES: dict[str, Any] = {
    "map_column": "sum_cpu_request_x_runtime",
    "shuffle_column": "sum_disk_request",
    "least_tasks": 2,
}
_UNITS: dict[str, Any] = {"map_units": 15.0, "reduce_units": 15.0, "tasks": 10}


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Trace:
    """Jobs as a file tells of them; None for what it does not know.

    Rows are jobs by arrival, ties as in the file; those of a table as there. Times are in the file's
    own unit and clock, so that whole numbers stay exact: ``per_second`` of them make a second.

    Attributes
    ----------
    format, where : str
        Name of the format and of the file.
    arrival : ndarray of float64, shape (J,)
    map : Phase
        The jobs' only phase, or the first of two.
    reduce : Phase or None
        The second, which starts after the first.
    name, user, program : tuple of str or None
    weight, deadline, finish : ndarray of float64 or None
        ``finish``: when the job ended; NaN where unknown.
    sla : sequence of lists of (time, penalty), or None
    known : ndarray of bool or None
        Jobs whose tasks have known times; converters leave the others out. None: all.
    flow : ndarray of int64 or None
        Index into ``flow_name``; jobs of a flow stand together and have its arrival, weight, deadline
        and SLA. None: jobs are independent.
    parent_offset, parent : ndarray of int64 or None
        Job i waits for the rows ``parent[parent_offset[i]:parent_offset[i + 1]]``.
    columns : mapping of str to ndarray
        Further numbers of the jobs, by the file's names.
    table : Jobs, Flows, MapShuffleJobs, MapReduceJobs, ClusterJobs or None
        The table that the file is, if it is one; its own converter gives it as it stands.
    per_second : float
    wall : bool
        The clock's zero means nothing, so the first arrival counts as 0.
    """

    arrival: Floats
    map: Phase
    reduce: Phase | None = None
    name: Sequence[str] | None = None
    user: Sequence[str] | None = None
    program: Sequence[str] | None = None
    weight: Floats | None = None
    deadline: Floats | None = None
    sla: Sequence[SlaSteps] | None = None
    finish: Floats | None = None
    known: Any = None
    flow: Integers | None = None
    flow_name: Sequence[str] | None = None
    parent_offset: Integers | None = None
    parent: Integers | None = None
    columns: Mapping[str, Floats] = field(default_factory=dict)
    table: Any = None
    per_second: float = 1.0
    wall: bool = False
    format: str = "trace"
    where: str = "trace"
    skip_bad: bool = False

    def __len__(self) -> int:
        return len(self.arrival)

    def __repr__(self) -> str:
        return f"Trace({self.format}, {counted(len(self), 'job')})"

    # what converters assume -----------------------------------------------------------------------

    @property
    def timed(self) -> bool:
        """Whether the trace knows when work was done, so that a snapshot takes it off."""
        return self.map.end is not None

    @property
    def _bytes_only(self) -> bool:
        return self.map.tasks is None and self.map.work is None

    def assumptions(self, converter: str) -> dict[str, Any]:
        """What a converter takes for granted where the trace does not say it: names and defaults.

        Parameters
        ----------
        converter : {"jobs", "flows", "map_shuffle", "map_reduce", "tasks"}
        """
        own = {"map_shuffle": MapShuffleJobs, "map_reduce": MapReduceJobs, "tasks": ClusterJobs}
        if isinstance(self.table, own.get(converter, (Jobs, Flows))):
            return {}
        reduced = self.reduce is not None and self.reduce.shuffled is not None
        match converter:
            case "map_shuffle" if self._bytes_only:
                return dict(_RATES)
            case "map_shuffle" | "map_reduce" if self.columns:
                return _SHARES | (_UNITS if converter == "map_reduce" else {})
            case "map_shuffle":
                known = self.reduce is not None and self.reduce.bytes is not None
                return {"shuffle_rate": _RATES["shuffle_rate"]} if known else {}
            case "tasks":
                if self._bytes_only:
                    return _BYTES | {"shuffle_rate": math.inf}
                return {} if self.map.work is None else {"task_seconds": None}
            case "map_reduce" if self._bytes_only:
                return {name: value for name, value in _BYTES.items() if name != "task_seconds"}
        return dict(_BYTES) if self._bytes_only else {"reduce_from": "shuffled"} if reduced else {}

    def _given(self, converter: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The assumptions of a converter, those that were given among them."""
        known = self.assumptions(converter)
        for name, value in given.items():
            if name not in known:
                told = f"expected one of {', '.join(known)}" if known else "it has none"
                raise ValueError(f"option {name!r} does not apply to a {self.format}: {told}")
            if name == "reduce_from":
                checked_choice(name, value, ("start", "shuffled", "sorted"))
            elif name == "shuffle_rate" and value == math.inf and converter == "tasks":
                continue  # copying takes no time of its own
            elif isinstance(known[name], float):
                checked_positive(name, value)
        return known | dict(given)

    # what they share ------------------------------------------------------------------------------

    def _part(self, name: str) -> Phase:
        found: Phase | None = getattr(self, name)
        if found is None:
            raise ValueError(f"a {self.format} has no {name} phase")
        return found

    def _zero(self, rows: Any = slice(None)) -> float:
        """What counts as 0 on the trace's clock."""
        return float(self.arrival[rows].min(initial=math.inf)) if self.wall and len(self) else 0.0

    def _usable(self, faults: Mapping[int, str], mask: Any = None) -> Integers:
        """Rows with all that a converter needs; those of ``faults`` are malformed records."""
        bad = BadRecords(self.skip_bad)
        for row, reason in sorted(faults.items()):
            bad.add(f"job {row if self.name is None else self.name[row]}: {reason}")
        keep = np.ones(len(self), dtype=bool) if self.known is None else self.known.copy()
        if mask is not None:
            keep = mask.copy()
        keep[list(faults)] = False
        bad.settle(self.where, int(keep.sum()), 4)
        if not keep.any() and (mask is not None or self.known is not None):
            raise ValueError("no job is left")
        return np.flatnonzero(keep)

    def _of(self, rows: Integers, *fields: str) -> dict[str, Any]:
        """These columns of the jobs, where the trace knows them."""
        found: dict[str, Any] = {}
        for name in fields:
            column = getattr(self, name)
            if name == "deadline" and column is not None:
                found[name] = (column[rows] - self._zero()) / self.per_second
            elif isinstance(column, np.ndarray):
                found[name] = column[rows]
            elif column is not None:
                found[name] = [column[row] for row in rows.tolist()]
        return found

    def _untimed(self, phase: str, first: str = "start") -> dict[int, str]:
        """Jobs with tasks in a phase none of which has a known time."""
        rows = self._part(phase).untimed(first)
        return dict.fromkeys(rows, f"no {phase} task with a known time")

    def _begin(self, phase: str, given: Mapping[str, Any]) -> str:
        """The step from which a run counts."""
        return given.get("reduce_from", "start") if phase == "reduce" else "start"

    def _left(
        self, phase: str, now: float | None, given: Mapping[str, Any]
    ) -> tuple[Floats, Floats, Integers]:
        names = (
            ("block_bytes", "task_seconds")
            if phase == "map"
            else ("reduce_bytes", "reduce_seconds")
        )
        unit, seconds = (given.get(name, 1.0) for name in names)
        return self._part(phase).left(
            now, self._begin(phase, given), self.per_second, unit, seconds
        )

    def _no_phases(self, model: str) -> None:
        if self.flow is not None:
            raise ValueError(f"a {self.format} has flows of jobs, not {model}")

    # converters -----------------------------------------------------------------------------------

    def jobs(
        self, phase: str = "map", at: float | None = None, *, keep_zero: bool = True, **assumed: Any
    ) -> Jobs:
        """One phase of the jobs, whole or as a snapshot.

        A job's work is the time of all its tasks together, its ``max_slots`` their number (at least 1),
        its arrival counted from the trace's first. Runs of unknown length count with the job's mean;
        the last block of a job known by its bytes counts by its size. A flow becomes one job with all
        its work and as many slots as its widest job may use.

        Parameters
        ----------
        phase : {"map", "reduce"}
            Tables of jobs and flows have no phases.
        at : float, optional
            Time of a snapshot [s]: only jobs that had come by then and not ended, with the work that was
            not done (tasks that ran count with their rest) and as many ``max_slots`` as tasks were left;
            ``size`` is a job's whole work. Where the trace does not know when work was done (`timed`),
            jobs have all of it, and a warning says so; a table of jobs says itself what is left.
        keep_zero : bool
            Keep jobs without work in this phase as jobs of zero work. A snapshot never has them where
            the trace is `timed`.
        **assumed
            `assumptions`: ``block_bytes``, ``task_seconds``, ``reduce_bytes``, ``reduce_seconds`` (bytes
            become tasks); ``reduce_from``: "start", "shuffled" (default) or "sorted", where the counted
            part of a reduce task begins. A first-wave reducer's shuffle contains its waiting for the
            maps, so by default it does not count.

        Raises
        ------
        ValueError
            No such phase; a job with tasks none of which has a known time (unless ``skip_bad``); an
            assumption that does not apply.
        """
        checked_choice("phase", phase, ("map", "reduce"))
        if at is not None and not math.isfinite(at):
            raise ValueError(f"at = {shown(at)}: must be finite")
        given = self._given("jobs", assumed)
        if isinstance(self.table, Jobs):
            return self.table if at is None else self.table.at(at)
        if at is not None and not self.timed:
            warnings.warn(
                f"{self.where}: a {self.format} does not say when work was done: the jobs of the"
                " snapshot have all of theirs",
                stacklevel=2,
            )
        with telling_of(self.where):
            if self.flow is not None:
                return self._whole_flows(at, given)
            rows = self._usable(self._untimed(phase, self._begin(phase, given)))
            now = None if at is None else self._zero(rows) + self.per_second * at
            work, size, slots = self._left(phase, now, given)
            keep = work > 0.0
            if keep_zero and not (now is not None and self.timed):
                keep[:] = True
            if now is not None:
                keep &= self.arrival <= now
                if self.finish is not None:
                    keep &= ~(self.finish <= now)
            kept = rows[keep[rows]]
            return Jobs(
                work[kept],
                arrival=(self.arrival[kept] - self._zero(rows)) / self.per_second,
                max_slots=slots[kept],
                size=size[kept],
                **self._of(kept, "weight", "deadline", "sla", "name", "user"),
            )

    def _whole_flows(self, at: float | None, given: Mapping[str, Any]) -> Jobs:
        flows = self.flows()
        slots = np.ones(len(flows), dtype=np.int64)
        np.maximum.at(slots, flows.flow, flows.max_slots)
        work = size = flows.volume()
        keep = np.ones(len(flows), dtype=bool)
        if at is not None:
            keep = flows.arrival <= at
            if self.timed:
                left = self._left("map", self._zero() + self.per_second * at, given)[0]
                work = np.bincount(flows.flow, left, len(flows))
                keep &= work > 0.0
        return Jobs(
            work,
            arrival=flows.arrival,
            max_slots=slots,
            weight=flows.weight,
            deadline=flows.deadline,
            sla=flows.sla,
            name=flows.name,
            size=size,
        ).take(keep)

    def flows(self, **assumed: Any) -> Flows:
        """Flows: the trace's own, or one for each job.

        A job with two phases becomes a flow of ``map`` and, where it has reduce tasks, ``reduce`` after
        it; one with a single phase a flow of one job. Work and slots are those of `jobs`.

        Parameters
        ----------
        **assumed
            As of `jobs`.

        Raises
        ------
        ValueError
            As `jobs`.
        """
        if isinstance(self.table, Flows):
            return self.table
        if self.flow is not None:
            return self._own_flows(self._given("flows", assumed))
        parts = ["map"] if self.reduce is None else ["map", "reduce"]
        tables = [self.jobs(part, **assumed) for part in parts]
        first, last = tables[0], tables[-1]
        with telling_of(self.where):
            if len(first) != len(last):
                raise ValueError("not the same jobs have known times in both phases")
            listed = []
            for row in range(len(first)):
                listed.append([_job("map", first, row)])
                if self.reduce is not None and last.work[row] > 0.0:
                    listed[row].append(_job("reduce", last, row) | {"after": ["map"]})
            return Flows(
                listed,
                arrival=first.arrival,
                weight=first.weight,
                deadline=first.deadline,
                sla=first.sla,
                name=first.name,
            )

    def _own_flows(self, given: Mapping[str, Any]) -> Flows:
        assert self.flow is not None and self.flow_name is not None
        with telling_of(self.where):
            self._usable(self._untimed("map"))
            work, _, slots = self._left("map", None, given)
            offset = np.concatenate(
                [[0], np.cumsum(np.bincount(self.flow, minlength=len(self.flow_name)))]
            )
            first = offset[:-1]
            return Flows.from_arrays(
                offset,
                work,
                self.parent_offset,
                self.parent,
                max_slots=slots,
                arrival=(self.arrival[first] - self._zero()) / self.per_second,
                name=self.flow_name,
                job_name=self.name,
                **self._of(first, "weight", "deadline", "sla"),
            )

    def map_shuffle(self, **assumed: Any) -> MapShuffleJobs:
        """Jobs of overlapping map and shuffle phases.

        Map is the work of the map phase [slot-seconds], shuffle the bytes that reduce tasks copied over
        ``shuffle_rate`` (bytes rather than times, because a first-wave reducer's shuffle contains its
        waiting for the maps). Where the trace knows bytes only, map is its input over ``map_rate``.
        Where it has ``columns`` (Google 2011), two of them are the phases, each scaled to mean 1; jobs
        that did not end, of fewer than ``least_tasks`` tasks or with nothing in either column are left
        out (Lin et al. 2013, section 5.1, filters in this spirit and, lacking intermediate data too, takes
        the local disk for the shuffle).

        Parameters
        ----------
        **assumed
            `assumptions`: ``map_rate``, ``shuffle_rate`` [bytes a second at capacity 1]; ``map_column``,
            ``shuffle_column``, ``least_tasks``.

        Raises
        ------
        ValueError
            The trace knows nothing of what its jobs shuffle; a job whose bytes are unknown (unless
            ``skip_bad``); a column that is not there.
        """
        given = self._given("map_shuffle", assumed)
        if isinstance(self.table, MapShuffleJobs):
            return self.table
        with telling_of(self.where):
            self._no_phases("jobs with a map and a shuffle phase")
            faults: dict[int, str] = {}
            mask = None
            if self._bytes_only:
                assert self.map.bytes is not None and self.reduce is not None
                maps = self.map.bytes / given["map_rate"]
            elif self.columns:
                assert self.map.tasks is not None
                size, data = (self._column(given[f"{part}_column"]) for part in ("map", "shuffle"))
                mask = (self.map.tasks >= given["least_tasks"]) & (size > 0) & (data > 0)
                mask &= self._column("complete") != 0
                kept = self._usable({}, mask)
                maps, shuffles = size / size[kept].mean(), data / data[kept].mean()
            elif self.reduce is None or self.reduce.bytes is None:
                raise ValueError(f"a {self.format} does not say how much its jobs shuffle")
            else:
                unknown = np.flatnonzero(np.isnan(self.reduce.bytes)).tolist()
                faults = dict.fromkeys(unknown, "no reduce attempt with known reduceShuffleBytes")
                faults |= self._untimed("map")
                maps = self._left("map", None, {})[0]
            if not self.columns:
                shuffles = self.reduce.bytes / given["shuffle_rate"]
            rows = self._usable(faults, mask)
            return MapShuffleJobs(
                maps[rows],
                shuffles[rows],
                arrival=(self.arrival[rows] - self._zero(rows)) / self.per_second,
                **self._of(rows, "weight", "name"),
            )

    def _column(self, name: str) -> Floats:
        if name not in self.columns:
            raise ValueError(f"column {name!r} is missing")
        return self.columns[name]

    def map_reduce(self, slot: float | None = None, **assumed: Any) -> MapReduceJobs:
        """Jobs of map and reduce tasks in slots of time.

        A map task takes one slot whatever its time was, a reduce task the slots that its time fills,
        rounded up; the first job comes in slot 1.

        Parameters
        ----------
        slot : float, optional
            Length of a slot [s]: the mean time of the map tasks by default; 20 s where the trace knows
            bytes only, 60 s where it has ``columns``. A table of such jobs counts slots itself.
        **assumed
            `assumptions`. Bytes only: a map task for each ``block_bytes`` and a reduce task for each
            ``reduce_bytes``, of ``reduce_seconds``; what is left over makes one more, shorter task.
            ``reduce_from`` as of `jobs`. Columns: ``map_units`` and ``reduce_units``, the jobs' mean units,
            split evenly over at most ``tasks`` reduce tasks; the others as of `map_shuffle`.

        Raises
        ------
        ValueError
            The trace knows no tasks, or none from which to take a slot's length; a job with tasks none
            of which has a known time (unless ``skip_bad``).
        """
        given = self._given("map_reduce", assumed)
        length = None if slot is None else checked_positive("slot", slot)
        if isinstance(self.table, MapReduceJobs):
            if slot is not None:
                raise ValueError(f"slot = {shown(slot)}: a {self.format} counts slots already")
            return self.table
        with telling_of(self.where):
            self._no_phases("jobs of map and reduce tasks")
            if self._bytes_only:
                return self._slots_of_bytes(20.0 if length is None else length, given)
            if self.columns:
                return self._slots_of_columns(60.0 if length is None else length, given)
            if self.map.work is not None:
                raise ValueError(f"a {self.format} does not say what tasks its jobs have")
            return self._slots_of_tasks(length, given)

    def _slots_of_bytes(self, slot: float, given: Mapping[str, Any]) -> MapReduceJobs:
        assert (
            self.map.bytes is not None and self.reduce is not None and self.reduce.bytes is not None
        )
        maps, parts = (
            self.map.bytes / given["block_bytes"],
            self.reduce.bytes / given["reduce_bytes"],
        )
        full = np.floor(parts)
        rest = units((parts - full) * given["reduce_seconds"] / slot)
        offset = all_tasks(whole("shuffle", full) + (rest > 0))
        task = np.full(offset[-1], units(np.array([given["reduce_seconds"] / slot]))[0])
        task[offset[1:][rest > 0] - 1] = rest[rest > 0]
        arrival = slots_of(self.arrival, slot)
        return MapReduceJobs.from_columns(arrival, units(maps), offset, task, self.name)

    def _slots_of_columns(self, slot: float, given: Mapping[str, Any]) -> MapReduceJobs:
        most, _ = task_range(given["tasks"])
        made = self.map_shuffle(**{name: given[name] for name in _SHARES})
        work = units(made.shuffle * given["reduce_units"])
        all_tasks(np.minimum(work, most))
        split = even_split(work, np.full(len(work), most))
        arrival = slots_of(made.arrival, slot)
        maps = units(made.map * given["map_units"])
        return MapReduceJobs.from_columns(arrival, maps, *split, made.name)

    def _slots_of_tasks(self, slot: float | None, given: Mapping[str, Any]) -> MapReduceJobs:
        begin = self._begin("reduce", given)
        faults = {} if self.reduce is None else self._untimed("reduce", begin)
        rows = self._usable(faults | self._untimed("map")).tolist()
        maps = self.map.task_seconds("start", self.per_second)
        if slot is None:
            times = [time for row in rows for time in maps[row].tolist()]
            if not times or sum(times) <= 0.0:
                raise AdvisedError(
                    "no map task has a time that could be a slot's length",
                    "say slot",
                    "--slot-seconds S says it",
                )
            slot = sum(times) / len(times)
        reduces = [] if self.reduce is None else self.reduce.task_seconds(begin, self.per_second)
        lengths = [[max(1, math.ceil(s / slot - 1e-9)) for s in own.tolist()] for own in reduces]
        return MapReduceJobs(
            [len(maps[row]) for row in rows],
            [lengths[row] if lengths else [] for row in rows],
            arrival=slots_of((self.arrival[rows] - self._zero(rows)) / self.per_second, slot),
            **self._of(np.array(rows, dtype=np.int64), "name"),
        )

    def tasks(self, **assumed: Any) -> ClusterJobs:
        """Jobs of single tasks, for a cluster of nodes.

        A task takes the time of its first run that succeeded, and the job's mean where that is unknown;
        a reduce task what was left of it after its shuffle, and every reduce task of a job copies for the
        job's mean time from the later of its own start and the end of the job's last map to its shuffle's
        end. Jobs of flows have map tasks only and wait for their parents. Jobs without tasks are done
        when they arrive.

        Parameters
        ----------
        **assumed
            `assumptions`. Bytes only: a map task of ``task_seconds`` for each ``block_bytes`` begun, a reduce
            task of ``reduce_seconds`` for each ``reduce_bytes``, which copies an even part of the shuffle at
            ``shuffle_rate`` at most [bytes a second; by default it takes no time of its own], and over
            the cluster's links where these are limited. Where work is known without tasks: as many equal
            tasks as the job's ``max_slots``, or tasks of about ``task_seconds``.

        Raises
        ------
        ValueError
            A job with tasks none of which has a known time (unless ``skip_bad``); work that needs
            ``task_seconds``.
        """
        given = self._given("tasks", assumed)
        if isinstance(self.table, ClusterJobs):
            return self.table
        with telling_of(self.where):
            if self.flow is not None and self.map.work is not None:
                flows = self.flows()
                arrival = flows.arrival - (
                    flows.arrival.min(initial=math.inf) if self.wall else 0.0
                )
                return cluster_flows(flows, given["task_seconds"], arrival=arrival[: len(flows)])
            faults = self._untimed("map")
            reduce: dict[str, Any] = {}
            if self.reduce is not None:
                for first in (
                    ("start", "shuffled") if self.reduce.shuffled is not None else ("start",)
                ):
                    faults |= self._untimed("reduce", first)
            rows = self._usable(faults)
            maps, seconds = self._tasks_of("map", rows, given)
            if self.reduce is not None:
                reduces, times = self._tasks_of("reduce", rows, given)
                reduce = {"reduces": reduces, "reduce_seconds": times}
                reduce |= self._copying(rows, reduces, given)
            if self.flow is not None:
                reduce |= self._precedence()
            return ClusterJobs(
                maps,
                seconds,
                arrival=self.arrival[rows] / self.per_second - self._zero(rows) / self.per_second,
                **reduce,
                **self._of(rows, "weight", "deadline", "user", "program", "name"),
            )

    def _tasks_of(self, phase: str, rows: Integers, given: Mapping[str, Any]) -> tuple[Any, Any]:
        """Number of tasks and their times, one a job or a list a job."""
        part = self._part(phase)
        if part.end is not None:
            first = "start" if part.shuffled is None else "shuffled"
            runs = part.first_runs(first, self.per_second)
            times = [filled(*runs[row]) for row in rows.tolist()]
            return [len(own) for own in times], times
        if part.work is not None:
            limit = np.full(len(self), ALL_SLOTS) if part.tasks is None else part.tasks
            names = self.name or [f"job{row}" for row in range(len(self))]
            tasks = task_counts(part.work, limit, names, given["task_seconds"])
            seconds = np.divide(part.work, tasks, out=np.zeros(len(tasks)), where=tasks > 0)
            return tasks[rows], seconds[rows]
        if part.tasks is None:
            assert part.bytes is not None
            unit, each = (
                ("block_bytes", "task_seconds")
                if phase == "map"
                else ("reduce_bytes", "reduce_seconds")
            )
            return np.ceil(part.bytes / given[unit])[rows], given[each]
        assert part.seconds is not None
        if part.offset is None:
            return part.tasks[rows], part.seconds[rows]
        times = part.task_seconds("start", 1.0)
        return part.tasks[rows], [times[row].tolist() for row in rows.tolist()]

    def _copying(self, rows: Integers, reduces: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        """What the reduce tasks of each job copy, and for how long."""
        assert self.reduce is not None
        if self._bytes_only:
            assert self.reduce.bytes is not None
            shuffled = self.reduce.bytes[rows]
            copied = np.divide(shuffled, reduces, out=np.zeros(len(rows)), where=reduces > 0)
            return {
                "shuffle": copied / given["shuffle_rate"],
                "shuffle_bytes": shuffled,
                "block": given["block_bytes"],
            }
        if self.reduce.shuffled is None:
            return {}
        maps = self.map.first_runs("start", self.per_second)
        begun = self.reduce.first_runs("start", self.per_second)
        after = self.reduce.first_runs("shuffled", self.per_second)
        shuffle = []
        for row in rows.tolist():
            ended = float(np.nanmax(maps[row][1], initial=-math.inf))
            copied = np.maximum(after[row][0] - np.maximum(begun[row][0], ended), 0.0)
            copied = copied[~np.isnan(copied)]
            shuffle.append(float(np.mean(copied)) if len(copied) else 0.0)
        return {"shuffle": shuffle}

    def _precedence(self) -> dict[str, Any]:
        """Parents of jobs, and their flows."""
        assert self.flow is not None and self.flow_name is not None
        assert self.parent_offset is not None and self.parent is not None
        bounds = pairwise(self.parent_offset.tolist())
        return {
            "after": [self.parent[a:b].tolist() for a, b in bounds],
            "flow": [self.flow_name[k] for k in self.flow.tolist()],
        }


def _job(name: str, jobs: Jobs, row: int) -> dict[str, Any]:
    return {"name": name, "work": jobs.work[row], "max_slots": int(jobs.max_slots[row])}
