"""A trace: what a file knows of jobs, and tables of every model made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from malleable.cluster.table import ClusterJobs
from malleable.flows.table import Flows
from malleable.jobs.table import Floats, Jobs, SlaSteps
from malleable.slotted.table import MapReduceJobs
from malleable.tandem.table import MapShuffleJobs
from malleable.traces import converting, to_jobs, to_slots, to_tasks
from malleable.traces.phases import Column, Phase
from malleable.values import by_value
from malleable.views import as_html, counted


@by_value()
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
    options : mapping
        Options of the format that the file was read with.
    wall : bool
        The clock's zero means nothing, so the first arrival counts as 0.
    """

    arrival: Floats
    map: Phase
    reduce: Phase | None = None
    name: Sequence[str] | None = None
    user: Sequence[str] | None = None
    program: Sequence[str] | None = None
    weight: Column = None
    deadline: Column = None
    sla: Sequence[SlaSteps] | None = None
    finish: Column = None
    known: Column = None
    flow: Column = None
    flow_name: Sequence[str] = ()
    parent_offset: Column = None
    parent: Column = None
    columns: Mapping[str, Floats] = field(default_factory=dict)
    table: Any = None
    per_second: float = 1.0
    wall: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    format: str = "trace"
    where: str = "trace"
    skip_bad: bool = False

    def __len__(self) -> int:
        return len(self.arrival)

    def __repr__(self) -> str:
        return f"Trace({self.format}, {counted(len(self), 'job')})"

    _repr_html_ = as_html

    @property
    def timed(self) -> bool:
        """Whether the trace knows when work was done, so that a snapshot takes it off."""
        return self.map.end is not None

    @property
    def bytes_only(self) -> bool:
        """Whether bytes are all that it knows of the jobs' sizes."""
        return self.map.tasks is None and self.map.work is None

    def assumptions(self, converter: str) -> dict[str, Any]:
        """What a converter takes for granted where the trace does not say it: names and defaults.

        Parameters
        ----------
        converter : {"jobs", "flows", "map_shuffle", "map_reduce", "tasks"}
        """
        return converting.assumptions(self, converter)

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
        return to_jobs.jobs(self, phase, at, keep_zero, assumed)

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
        return to_jobs.flows(self, assumed)

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
        return to_slots.map_shuffle(self, assumed)

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
        return to_slots.map_reduce(self, slot, assumed)

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
        return to_tasks.tasks(self, assumed)
