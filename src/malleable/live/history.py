"""What tasks of a program took in earlier runs, as the scheduler's core learns and says it.

The journal has it in the form of `malleable.Scheduler.history`. Nothing is estimated here: a scheduler
is given the history, and told what ran, or asked. O(programs + tasks).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from malleable.cluster.history import read_history
from malleable.cluster.nodes import Cluster
from malleable.cluster.scheduler import Scheduler
from malleable.cluster.table import ClusterJobs
from malleable.live.journal import Journal

__all__ = ["Earlier", "Took", "learnt"]

_LEAST = 1e-9  # seconds of a task


class Took(NamedTuple):
    """Seconds of tasks of a job that ended well: of each, or the mean of ``tasks``; what was said of them."""

    program: str
    user: str
    seconds: Sequence[float]
    tasks: int = 0
    said: float = 0.0


def _scheduler(history: Mapping[str, Any] | None) -> Scheduler:
    return Scheduler(Cluster([{"slots": 1}]), history=history)


def _table(jobs: Sequence[tuple[str, str, int, float]]) -> ClusterJobs:
    programs, users, tasks, said = zip(*jobs, strict=True)
    return ClusterJobs(list(tasks), list(said), program=list(programs), user=list(users))


def learnt(history: Mapping[str, Any] | None, jobs: Sequence[Took]) -> dict[str, Any] | None:
    """A history after these jobs; ValueError if it was none before."""
    found = [(each, each.tasks or len(each.seconds)) for each in jobs]
    found = [(each, tasks) for each, tasks in found if tasks]
    if not found:
        return None
    scheduler = _scheduler(history)
    ids = scheduler.add(_table([(each.program, each.user, n, each.said) for each, n in found]), 0.0)
    for job, (each, tasks) in zip(ids.tolist(), found, strict=True):
        seconds = np.maximum(np.array(each.seconds, dtype=np.float64), _LEAST)
        if each.tasks:
            scheduler.finished([job], count=tasks, seconds=seconds, now=0.0)
        else:
            scheduler.finished(np.full(tasks, job), seconds=seconds, now=0.0)
    scheduler.finish(ids, 0.0)
    return scheduler.history


class Earlier:
    """What earlier runs in a journal say of programs.

    Raises
    ------
    ValueError
        The journal's history is none.
    """

    def __init__(self, journal: Journal | None) -> None:
        history = journal.history() if journal else None
        self._scheduler = None if history is None else _scheduler(history)
        self._known = {} if history is None else read_history(history).programs()

    def __call__(self, program: str, user: str) -> tuple[float, float]:
        """Mean seconds of a program's tasks, and how far that may be off; 0 and 0 where it never ran."""
        if self._scheduler is None or (program, user) not in self._known:
            return 0.0, 0.0
        ids = self._scheduler.add(_table([(program, user, 1, 0.0)]), 0.0)
        counts = self._scheduler.counts(ids)
        self._scheduler.remove(ids)
        return float(counts["estimate"][0, 0]), float(counts["spread"][0, 0])
