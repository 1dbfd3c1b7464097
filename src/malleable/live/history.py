"""Task times of programs in earlier runs, as the scheduler's core learns them.

The journal has it in the form of `malleable.Scheduler.history`. Nothing is estimated here: a scheduler
is given the history, and told what ran, or asked. O(programs + tasks).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from malleable.cluster.history import read_history
from malleable.cluster.nodes import Cluster
from malleable.cluster.scheduler import Scheduler
from malleable.cluster.table import ClusterJobs
from malleable.live.guard import Guard

if TYPE_CHECKING:
    from malleable.live.journal import Journal

_LEAST = 1e-9  # seconds of a task


class Took(NamedTuple):
    """Seconds of tasks of a job that ended well, of each or the mean of ``tasks``; and the stated seconds."""

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


def known_history(journal: Journal | None, guard: Guard) -> dict[str, Any] | None:
    """The history that a journal has, for a scheduler; None: there is none, or (told) none that can be used."""

    def read() -> dict[str, Any] | None:
        history = journal.history() if journal else None
        if history is not None:
            read_history(history)
        return history

    return guard("the history of programs", read)


def keep_history(journal: Journal, history: Mapping[str, Any]) -> None:
    """Replace the journal's history; ValueError if the old one cannot be read, so that nothing is lost."""
    known = journal.history()
    if known is not None:
        read_history(known)
    journal.learn(history)
