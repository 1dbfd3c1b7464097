"""A checker of schedules that shares no code with the solvers: NumPy and the definitions only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from malleable.tables import Floats, Integers, Jobs

__all__ = ["check_schedule"]

_TOLERANCE = 1e-6


class Schedule(Protocol):
    """What is read of a plan."""

    jobs: Jobs
    slots: int
    now: float
    policy: str
    min_mode: str
    completion: Floats
    pieces: Mapping[str, npt.NDArray[Any]]


def _scaled_minima(minima: Integers, slots: int) -> Integers:
    """floor(m S / sum m), the remainder to the largest fractions, then to lower rows."""
    exact = [int(m) * slots for m in minima]
    total = int(sum(int(m) for m in minima))
    scaled = [x // total for x in exact]
    left = slots - sum(scaled)
    by_fraction = sorted(range(len(exact)), key=lambda row: (-(exact[row] % total), row))
    for row in by_fraction[:left]:
        scaled[row] += 1
    return np.array(scaled, dtype=np.int64)


def check_schedule(plan: Schedule) -> None:
    """Raise ValueError for the first thing that is wrong with the plan's schedule."""
    jobs, pieces = plan.jobs, plan.pieces
    count = len(jobs)
    job = np.asarray(pieces["job"])
    start, end = np.asarray(pieces["start"]), np.asarray(pieces["end"])
    slots = np.asarray(pieces["slots"])
    scale = max(1.0, float(np.abs(end).max(initial=abs(plan.now))))
    eps = 1e-9 * scale

    def fail(what: str, row: int | None = None) -> None:
        where = "" if row is None else f"job {jobs.name[row]}: "
        raise ValueError(f"invalid plan: {where}{what}")

    if not (len(job) == len(start) == len(end) == len(slots)):
        fail("pieces of different lengths")
    if slots.dtype.kind != "i" or (len(slots) and slots.min() < 1):
        fail("a piece without whole slots")
    if len(job) and (job.min() < 0 or job.max() >= count):
        fail("a piece of an unknown job")
    if not (np.isfinite(start).all() and np.isfinite(end).all()):
        fail("a piece that starts or ends at no time")
    if np.any(end <= start) or np.any(start < plan.now - eps):
        fail("a piece that ends before it starts, or starts before now")

    has_work = jobs.work > 0
    hopeless = (plan.min_mode == "gang") & (plan.policy != "fifo") & (jobs.min_slots > plan.slots)
    for row in np.flatnonzero(has_work & ~hopeless & ~np.isfinite(plan.completion))[:1]:
        fail("never ends", row)
    runs = np.isfinite(plan.completion) & has_work
    done = np.bincount(job, weights=slots * (end - start), minlength=count)
    for row in np.flatnonzero(runs & (np.abs(done - jobs.work) > _TOLERANCE * jobs.work + eps))[:1]:
        fail(f"{done[row]} slot-seconds done of {jobs.work[row]}", row)
    for row in np.flatnonzero(~runs & (done > eps))[:1]:
        fail("runs though it has nothing to do or never ends", row)
    last = np.full(count, -np.inf)
    np.maximum.at(last, job, end)
    # What is too short for the resolution of time has no piece, be it a job or its remainder.
    missing = jobs.work - done
    shortest = missing / np.minimum(jobs.max_slots, plan.slots)
    unseen = (missing > 1e-12 * jobs.work) & (shortest <= 4 * np.spacing(np.abs(plan.completion)))
    early = np.isfinite(last) & (np.abs(last - plan.completion) > 1e-6 * scale)
    for row in np.flatnonzero(early & ~(unseen & (last < plan.completion)))[:1]:
        fail(f"completion {plan.completion[row]} but the last piece ends at {last[row]}", row)
    empty = ~has_work & (jobs.size == 0)
    for row in np.flatnonzero(empty & (plan.completion != jobs.arrival))[:1]:
        fail("has no work and should have ended at its arrival", row)
    for row in np.flatnonzero(~has_work & ~empty & (plan.completion > plan.now))[:1]:
        fail("has no work left and should have ended", row)

    # Slots in use over time, per job and altogether: changes at piece borders, ends before starts.
    times = np.concatenate([end, start])
    change = np.concatenate([-slots, slots])
    who = np.concatenate([job, job])
    by_time = np.argsort(times, kind="stable")
    used = np.cumsum(change[by_time])
    span = np.diff(times[by_time], append=times[by_time][-1:] if len(times) else [])
    over = np.flatnonzero((used > plan.slots) & (span > eps))
    if len(over):
        fail(f"{used[over[0]]} slots of {plan.slots} in use at {times[by_time][over[0]]}")
    by_job = np.lexsort((np.arange(len(times)), times, who))
    held = np.cumsum(change[by_job])  # each job's changes add up to 0, so this restarts by itself
    owner = who[by_job]
    until = np.append(times[by_job][1:], np.inf)
    until[np.append(owner[1:] != owner[:-1], True)] = -np.inf
    real = until - times[by_job] > eps

    maxima = np.minimum(jobs.max_slots, plan.slots)
    for at in np.flatnonzero(real & (held > maxima[owner]))[:1]:
        fail(f"{held[at]} slots, its maximum is {maxima[owner[at]]}", owner[at])
    if plan.policy == "fifo":
        return
    minima = np.where(has_work, jobs.min_slots, 0)
    if plan.min_mode == "gang":
        for at in np.flatnonzero(real & (held > 0) & (held < minima[owner]))[:1]:
            fail(f"{held[at]} slots, its gang needs {minima[owner[at]]}", owner[at])
        return
    if sum(int(m) for m in minima) > plan.slots:
        minima = _scaled_minima(minima, plan.slots)
    # A guarantee holds from now until the job ends.
    for at in np.flatnonzero(real & (held < minima[owner]))[:1]:
        fail(f"{held[at]} slots, its minimum is {minima[owner[at]]}", owner[at])
    first = np.full(count, -np.inf)  # and so it stays without pieces, as above
    first[job] = np.inf
    np.minimum.at(first, job, start)
    for row in np.flatnonzero(runs & (minima > 0) & (first > plan.now + eps))[:1]:
        fail("waits although a minimum is guaranteed", row)
