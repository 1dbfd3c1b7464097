"""A trace: what a file says of recorded jobs. Its converters make tables of every model of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from malleable.checkpoints import by_value
from malleable.display import as_html, counted
from malleable.jobs.table import Floats, SlaSteps
from malleable.traces import converters, converting, recorded_schedule
from malleable.traces.phases import Column, Phase


@by_value()  # traces are equal if their fields are
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Trace:
    """The jobs of a file; None for everything that the file does not say.

    Rows are jobs by arrival, ties as in the file; rows of a table stay as they are. Times are in the file's
    own unit and clock, so whole numbers stay exact: ``per_second`` units make a second.

    Attributes
    ----------
    format, where : str
        Name of the format and of the file.
    arrival : ndarray of float64, shape (J,)
    map : Phase
        The jobs' only phase, or the first of two.
    reduce : Phase or None
        The second phase, which starts after the first.
    name, user, program : tuple of str or None
    weight, deadline, finish : ndarray of float64 or None
        ``finish``: when the job ended; NaN where unknown.
    sla : sequence of lists of (time, penalty), or None
    known : ndarray of bool or None
        Jobs whose tasks have known times; converters leave the other jobs out. None: all jobs.
    lacking : sequence of str, or None
        Why a job is not `known`: ``running``, ``pending`` ...; "" of known jobs.
    width : ndarray of int64 or None
        So many tasks of the job start together or not at all: all of a rigid job's. None: 1.
    requested : ndarray of float64 or None
        How long the user said that the job runs at most [s]; NaN where unknown.
    memory, gpus : ndarray of float64 or None
        Bytes and GPUs that each task takes; 0 where unknown.
    slots : int or None
        Of the cluster, as the file says.
    unended : bool
        Whether a run with a start and without an end went on when the file was written.
    flow : ndarray of int64 or None
        Index into ``flow_name``; jobs of a flow stand together and have its arrival, weight, deadline
        and SLA. None: jobs are independent.
    parent_offset, parent : ndarray of int64 or None
        Job i waits for the rows ``parent[parent_offset[i]:parent_offset[i + 1]]``.
    groups : mapping of str to sequence of str
        Other groups of jobs, such as ``partition`` and ``account``; "" if unknown.
    table : Jobs, Flows, MapShuffleJobs, MapReduceJobs, ClusterJobs or None
        The table, if the file is a table of a model; the model's converter gives it unchanged.
    per_second : float
    skip_bad : bool
        Whether converters leave out malformed jobs, with a warning, instead of an error.
    wall : bool
        True: the clock's zero means nothing, so the first arrival counts as 0.

    See Also
    --------
    malleable.read : Reads a trace.

    Notes
    -----
    Each converter takes O(jobs + tasks).

    Examples
    --------
    >>> import io
    >>> import malleable as mb
    >>> trace = mb.read(io.StringIO("name,work,deadline\\nnightly,4000,120\\nadhoc,300,20\\n"))
    >>> trace.jobs().deadline
    array([120.,  20.])
    >>> len(trace), trace.timed
    (2, False)
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
    lacking: Sequence[str] | None = None
    width: Column = None
    requested: Column = None
    memory: Column = None
    gpus: Column = None
    flow: Column = None
    flow_name: Sequence[str] = ()
    parent_offset: Column = None
    parent: Column = None
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    table: Any = None
    per_second: float = 1.0
    wall: bool = False
    slots: int | None = None
    unended: bool = False
    format: str = ""
    where: str = "trace"
    skip_bad: bool = False

    def __len__(self) -> int:
        return len(self.arrival)

    def __repr__(self) -> str:
        return f"Trace({self.format or 'trace'}, {counted(len(self), 'job')})"

    _repr_html_ = as_html

    @property
    def timed(self) -> bool:
        """Whether the trace knows when work was done, so that a snapshot takes it off."""
        # A table as of a moment then counts only the work that was left.
        return self.map.end is not None

    @property
    def bytes_only(self) -> bool:
        """Whether bytes are all that it knows of the jobs' sizes."""
        return self.map.tasks is None and self.map.work is None

    assumptions = converting.assumptions
    jobs = converters.jobs
    flows = converters.flows
    map_shuffle = converters.map_shuffle
    map_reduce = converters.map_reduce
    tasks = converters.tasks
    task_rows = converters.task_rows
    recorded = recorded_schedule.recorded
