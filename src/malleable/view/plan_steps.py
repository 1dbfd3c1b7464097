"""The slots of every job as a step function of time, made from the pieces of a plan."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from malleable.jobs.plan import Plan
from malleable.jobs.table import Floats, Integers


class Steps(NamedTuple):
    """Intervals in which a job holds the same slots, by job and then by time, without overlap."""

    job: Integers
    start: Floats
    end: Floats
    slots: Integers

    def between(self, low: int, high: int) -> Steps:
        """The intervals ``low`` to ``high`` (not included)."""
        cut = slice(low, high)
        return Steps(self.job[cut], self.start[cut], self.end[cut], self.slots[cut])


def slots_over_time(plan: Plan, group: Integers | None = None) -> Steps:
    """Add up the pieces of each job (or, with ``group``, of each group of jobs).

    Moments of one job that only rounding tells apart are one. O(P log P) for P pieces.
    """
    pieces = plan.pieces
    owner = np.asarray(pieces["job"])
    if group is not None:
        owner = group[owner]
    times = np.concatenate([pieces["start"], pieces["end"]])
    change = np.concatenate([pieces["slots"], -np.asarray(pieces["slots"])])
    who = np.concatenate([owner, owner])
    rows = np.lexsort((times, who))
    times, change, who = times[rows], change[rows], who[rows]
    # One event per moment of a job, then one per change of what it holds.
    first = np.flatnonzero(_differs(who) | _differs(times, 1e-12))
    held = np.cumsum(change)[np.append(first[1:], len(times)) - 1] if len(first) else change
    times, who = times[first], who[first]
    changed = np.flatnonzero(_differs(who) | _differs(held))
    times, who, held = times[changed], who[changed], held[changed]

    busy = np.flatnonzero(held > 0)  # every job's last event is a release, so there is a next one
    return Steps(who[busy], times[busy], times[np.minimum(busy + 1, len(times) - 1)], held[busy])


def _differs(values: Floats | Integers, by: float = 0.0) -> npt.NDArray[np.bool_]:
    """Where an entry is not what stands before it (relatively); the first always counts."""
    far = np.abs(np.diff(values)) > by * np.abs(values[1:])
    return np.append(True, far)[: len(values)]
