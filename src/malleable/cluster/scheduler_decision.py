"""The answers of a cluster's scheduler: slots of jobs, and tasks to start."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from malleable.checkpoints import by_value
from malleable.display import view
from malleable.epoch import AssessedDecision, ExplainedDecision
from malleable.jobs.table import Floats, Integers


class Assessor(Protocol):
    """What a decision needs of the scheduler that made it."""

    def _assess(self, decision: SchedulerDecision) -> tuple[float, float] | tuple[None, None]: ...


@by_value()
class TaskStarts(NamedTuple):
    """Tasks that start now, one row for each task; arrays of int64, shape (T,).

    Attributes
    ----------
    ids : ndarray
        The job of the task.
    phase : ndarray
        0: a map task; 1: a reduce task.
    task : ndarray
        If the job has blocks: number of the map task. Otherwise -1: start any waiting task of the job.
    node : ndarray
        The node on which the task starts.
    """

    ids: Integers
    phase: Integers
    task: Integers
    node: Integers

    def _repr_html_(self) -> str:
        return str(view().html(self, "ids phase task node"))


@by_value(without=("_assessment", "_calls", "_scheduler"))
class SchedulerDecision(ExplainedDecision, AssessedDecision):
    """How many slots each job should have. Other attributes, as of all decisions (`BaseDecision`): ``now``,
    ``ids``, ``slots``, ``changed``.

    Attributes
    ----------
    value, lower_bound : float or None
        The objective of the present jobs, and a number that no schedule can beat. Both take jobs for
        divisible: the estimated work of all unfinished tasks, on at most as many slots as such tasks, without
        minima. They are worked out when you first ask, which must be before you tell the scheduler more. None
        if maps and reduces have separate slots, or for policies without plans (``auto flex fair fifo wdeq
        hesrpt`` have them).
    gap : float or None
        As `malleable.Plan` has it.
    """

    __slots__ = ("_assessment", "_calls", "_key", "_scheduler")
    _more = ("_bound", "_key", "_scheduler", "_calls", "_assessment")
    _key: Floats  # by job: its place in the order; the least comes first
    _scheduler: Assessor | None
    _calls: int  # calls of the scheduler before this decision

    def _assess(self) -> tuple[float, float] | tuple[None, None]:
        return self._scheduler._assess(self) if self._scheduler else (None, None)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy keeps value and bound only if they were asked for."""
        own = (self.now, self.ids, self.slots, self.changed, self._bound, self._key)
        return type(self), (*own, None, self._calls, self._assessment)

    @property
    def order(self) -> Integers:
        """Ids; the first job gets the next slot. O(n log n)."""
        return self.ids[np.argsort(self._key, kind="stable")]

    @property
    def kinds(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("slot",) if self.slots.ndim == 1 else ("map slot", "reduce slot")
