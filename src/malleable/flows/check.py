"""A checker of schedules of flows (graphs of jobs) that shares no code with the solvers: the definitions only.
Slots are counted in integers and compared without tolerance; times are compared as they are. A piece of a
schedule is an interval in which a job has the same slots.
"""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import TopologicalSorter
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from malleable.arrays import Floats
from malleable.display import counted
from malleable.flows.table import Flows
from malleable.jobs.check import work_done
from malleable.schedule_pieces import Pieces

_TOLERANCE = 1e-6  # of work, as a part of it


class FlowSchedule(Protocol):
    """The parts of a plan that the checker reads."""

    flows: Flows
    capacity: int
    now: float
    start: Floats
    completion: Floats
    flow_completion: Floats
    pieces: Mapping[str, npt.NDArray[Any]]


def check_flow_schedule(plan: FlowSchedule) -> None:
    """Raise ValueError for the first fault of the plan's schedule. Checked: whole slots, at most the capacity
    together and at most its maximum for each job at every moment; all work done; no job before its flow's
    arrival or before the end of all its parents; completions as the pieces say. O(P log P) for P pieces."""
    flows, pieces = plan.flows, Pieces(plan.pieces, plan.flows.job_name)
    first, last, done = pieces.first, pieces.last, pieces.done
    if flows.speedup is not None:
        done = work_done(flows.speedup, pieces.held())
    arrived = np.maximum(flows.arrival, plan.now)[flows.flow] if len(first) else np.empty(0)
    pieces.refuse(first < arrived, lambda row: f"starts at {first[row]}, before {arrived[row]}")

    # Work: exact up to the rounding of times to doubles.
    latest = np.maximum(np.abs(pieces.end), np.abs(pieces.start))
    rounding = np.zeros(len(first))
    np.add.at(rounding, pieces.job, pieces.slots * np.spacing(latest))
    allowed = _TOLERANCE * flows.work + 4.0 * rounding
    # Work that is too short for a double has no piece, on any number of slots.
    horizon = float(np.abs(pieces.end).max(initial=abs(plan.now)))
    instant = 8.0 * np.spacing(horizon)
    unseen = np.minimum(flows.max_slots, plan.capacity) * instant
    pieces.refuse((first == np.inf) & (flows.work > unseen), lambda _: "never runs")
    wrong = (done - flows.work > allowed) | (flows.work - done > allowed + unseen)
    pieces.refuse(
        wrong & (first < np.inf), lambda row: f"{done[row]} slot-seconds done of {flows.work[row]}"
    )

    # The end of a job: that of its last piece, or of its parents if it has no piece. If its work is
    # too short to see: the plan's completion, unless that is earlier.
    told = np.asarray(plan.completion)
    some_unseen = flows.work - done > allowed
    ended = np.where(last > -np.inf, last, arrived)
    ended = np.where(some_unseen & (told <= horizon + instant), np.maximum(ended, told), ended)
    parents = {row: flows.after(row) for row in range(len(flows.work))}
    for row in TopologicalSorter(parents).static_order():
        above = flows.parent[flows.parent_offset[row] : flows.parent_offset[row + 1]]
        if not len(above):
            continue
        ready = ended[above].max()
        if first[row] == np.inf:
            ended[row] = max(ended[row], ready)
        elif first[row] < ready - (instant if some_unseen[above].any() else 0.0):
            late = int(above[np.argmax(ended[above])])
            after = f"but {flows.job_name[late]} ends at {ready}"
            pieces.fail(f"starts at {first[row]}, {after}", row)
    ran = last > -np.inf
    pieces.refuse(
        ran & (told != ended),
        lambda row: f"completion {told[row]} but the last piece ends at {ended[row]}",
    )
    start = np.asarray(plan.start)
    pieces.refuse(
        ran & (start != first),
        lambda row: f"start {start[row]} but the first piece starts at {first[row]}",
    )
    for k in range(len(flows)):
        rows = slice(flows.job_offset[k], flows.job_offset[k + 1])
        expected = flows.arrival[k]
        if np.any(flows.work[rows] > 0.0):
            expected = ended[rows].max()
        if plan.flow_completion[k] != expected:
            ends = plan.flow_completion[k]
            pieces.fail(f"flow {flows.name[k]}: completion {ends}, expected {expected}")

    pieces.check_capacity(plan.capacity)
    held = pieces.held()
    most = flows.max_slots[held.job]
    pieces.refuse(
        held.slots > most,
        lambda at: (
            f"{counted(int(held.slots[at]), 'slot')} at {held.time[at]}, its maximum is {most[at]}"
        ),
        held.job,
    )
