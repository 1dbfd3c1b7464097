"""A checker of flow schedules that shares no code with the solvers: the definitions only.

Slots are counted in integers and compared without tolerance; times are compared as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from malleable.flows.table import Flows
from malleable.jobs.table import Floats
from malleable.views import counted

_TOLERANCE = 1e-6


class FlowSchedule(Protocol):
    """What is read of a plan."""

    flows: Flows
    slots: int
    now: float
    start: Floats
    completion: Floats
    flow_completion: Floats
    pieces: Mapping[str, npt.NDArray[Any]]


def check_flow_schedule(plan: FlowSchedule) -> None:
    """Raise ValueError for the first thing that is wrong with the plan's schedule.

    Checked: whole slots, at most the capacity together and at most its maximum for each job at every
    moment; all work done; no job before its flow's arrival or before the end of all its parents;
    completions as the pieces say. O(P log P) for P pieces.
    """
    flows, pieces = plan.flows, plan.pieces
    count = len(flows.work)
    job, slots = np.asarray(pieces["job"]), np.asarray(pieces["slots"])
    start, end = np.asarray(pieces["start"]), np.asarray(pieces["end"])

    def fail(what: str, row: int | None = None) -> None:
        where = "" if row is None else f"job {flows.job_name[row]}: "
        raise ValueError(f"invalid plan: {where}{what}")

    if not (len(job) == len(start) == len(end) == len(slots)):
        fail("pieces of different lengths")
    if job.dtype.kind != "i" or slots.dtype.kind != "i" or (len(slots) and slots.min() < 1):
        fail("a piece without whole slots")
    if len(job) and (job.min() < 0 or job.max() >= count):
        fail("a piece of an unknown job")
    if not (np.isfinite(start).all() and np.isfinite(end).all() and np.all(end > start)):
        fail("a piece that starts or ends at no time, or ends before it starts")

    first = np.full(count, np.inf)
    last = np.full(count, -np.inf)
    np.minimum.at(first, job, start)
    np.maximum.at(last, job, end)
    flow = flows.flow
    arrived = np.maximum(flows.arrival, plan.now)[flow] if count else np.empty(0)
    for row in np.flatnonzero(first < arrived)[:1]:
        fail(f"starts at {first[row]}, before {arrived[row]}", int(row))

    # Work: exact up to what rounding times to doubles may cost a job.
    done = np.zeros(count)
    np.add.at(done, job, slots * (end - start))
    rounding = np.zeros(count)
    np.add.at(rounding, job, slots * np.spacing(np.maximum(np.abs(end), np.abs(start))))
    allowed = _TOLERANCE * flows.work + 4.0 * rounding
    # Work that is too short for the clock leaves no piece, however many slots it has.
    horizon = float(np.abs(end).max(initial=abs(plan.now)))
    instant = 8.0 * np.spacing(horizon)
    unseen = np.minimum(flows.max_slots, plan.slots) * instant
    for row in np.flatnonzero((first == np.inf) & (flows.work > unseen))[:1]:
        fail("never runs", int(row))
    wrong = (done - flows.work > allowed) | (flows.work - done > allowed + unseen)
    for row in np.flatnonzero(wrong & (first < np.inf))[:1]:
        fail(f"{done[row]} slot-seconds done of {flows.work[row]}", int(row))

    # When a job has ended: by its last piece, or with its parents where it has none; where work is
    # not seen, as the plan says, if that is not before either.
    told = np.asarray(plan.completion)
    some_unseen = flows.work - done > allowed
    ended = np.where(last > -np.inf, last, arrived)
    ended = np.where(some_unseen & (told <= horizon + instant), np.maximum(ended, told), ended)
    for row in _parents_first(flows):
        above = flows.parent[flows.parent_offset[row] : flows.parent_offset[row + 1]]
        if not len(above):
            continue
        ready = ended[above].max()
        if first[row] == np.inf:
            ended[row] = max(ended[row], ready)
        elif first[row] < ready - (instant if some_unseen[above].any() else 0.0):
            late = int(above[np.argmax(ended[above])])
            fail(f"starts at {first[row]}, but {flows.job_name[late]} ends at {ready}", row)
    ran = last > -np.inf
    for row in np.flatnonzero(ran & (told != ended))[:1]:
        fail(f"completion {plan.completion[row]} but the last piece ends at {ended[row]}", int(row))
    for row in np.flatnonzero(ran & (np.asarray(plan.start) != first))[:1]:
        fail(f"start {plan.start[row]} but the first piece starts at {first[row]}", int(row))
    for k in range(len(flows)):
        rows = slice(flows.job_offset[k], flows.job_offset[k + 1])
        expected = flows.arrival[k]
        if np.any(flows.work[rows] > 0.0):
            expected = ended[rows].max()
        if plan.flow_completion[k] != expected:
            fail(f"flow {flows.name[k]}: completion {plan.flow_completion[k]}, expected {expected}")

    # Slots in use: whole numbers, so sums are exact. At equal times ends come before starts.
    times = np.concatenate([end, start])
    change = np.concatenate([-slots, slots])
    kind = np.concatenate([np.zeros(len(end), np.int8), np.ones(len(start), np.int8)])
    by_time = np.lexsort((kind, times))
    used = np.cumsum(change[by_time])
    for at in np.flatnonzero(used > plan.slots)[:1]:
        fail(f"{counted(int(used[at]), 'slot')} of {plan.slots} in use at {times[by_time][at]}")
    who = np.concatenate([job, job])
    by_job = np.lexsort((kind, times, who))
    held = np.cumsum(change[by_job])  # every job's changes add up to 0, so this restarts by itself
    owner = who[by_job]
    for at in np.flatnonzero(held > flows.max_slots[owner])[:1]:
        row = int(owner[at])
        fail(
            f"{counted(int(held[at]), 'slot')} at {times[by_job][at]}, its maximum is {flows.max_slots[row]}",
            row,
        )


def _parents_first(flows: Flows) -> list[int]:
    """Job rows, parents before children."""
    count = len(flows.work)
    waits = np.diff(flows.parent_offset).tolist()
    children: list[list[int]] = [[] for _ in range(count)]
    for row in range(count):
        for above in flows.after(row):
            children[above].append(row)
    order = [row for row in range(count) if waits[row] == 0]
    for row in order:
        for below in children[row]:
            waits[below] -= 1
            if waits[below] == 0:
                order.append(below)
    return order
