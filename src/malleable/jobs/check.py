"""A checker of schedules that shares no code with the solvers: NumPy and the definitions only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from malleable.jobs.table import Floats, Integers, Jobs
from malleable.policies import policy_of
from malleable.views import counted

_TOLERANCE = 1e-6
_SAME = 2e-13  # of its time from now: instants that solvers take for one


class Fail(Protocol):
    def __call__(self, what: str, row: int | None = None) -> None: ...


class Schedule(Protocol):
    """What is read of a plan."""

    jobs: Jobs
    slots: int
    now: float
    policy: str
    min_mode: str
    live: bool
    allocation: Integers
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


def _check_allocation(plan: Schedule, has_work: npt.NDArray[np.bool_], fail: Fail) -> None:
    """The slots now, whether or not the clock shows how long they are held."""
    jobs, given = plan.jobs, np.asarray(plan.allocation)
    if given.shape != (len(jobs),) or given.dtype.kind != "i":
        fail("allocation: expected whole slots for every job")
    total = sum(given.tolist())
    if total > plan.slots:
        fail(f"allocation: {total} slots of {plan.slots}")
    # In an epoch a job keeps what it runs on until it is removed.
    kept = np.maximum(jobs.min_slots, 1) if plan.live else np.zeros(len(jobs), dtype=np.int64)
    most = np.where(has_work, np.minimum(jobs.max_slots, plan.slots), kept)
    for row in np.flatnonzero((given < 0) | (given > most))[:1]:
        fail(f"allocation: {given[row]} slots, its maximum is {most[row]}", row)
    due = np.where(has_work | plan.live, jobs.min_slots, 0)
    heeds = not policy_of("jobs", plan.policy).ignores_minima
    if heeds and plan.min_mode == "gang":
        for row in np.flatnonzero((given > 0) & (given < due))[:1]:
            fail(f"allocation: {given[row]} slots, its gang needs {due[row]}", row)
    elif heeds and sum(due.tolist()) <= plan.slots:
        for row in np.flatnonzero(given < due)[:1]:
            fail(f"allocation: {given[row]} slots, its minimum is {due[row]}", row)
    # Pieces show the same from now on, but for those that are over before the clock moves.
    pieces = plan.pieces
    now = pieces["start"] <= plan.now
    shown = np.zeros(len(jobs), dtype=np.int64)
    np.add.at(shown, pieces["job"][now], pieces["slots"][now])
    seen = np.zeros(len(jobs), dtype=np.bool_)
    seen[pieces["job"]] = True
    if np.all(seen | ~has_work | ~np.isfinite(plan.completion)) and not (
        plan.live and np.any(~has_work)
    ):
        for row in np.flatnonzero(has_work & (shown != given))[:1]:
            fail(f"allocation: {given[row]} slots, but its pieces have {shown[row]} now", row)


def check_schedule(plan: Schedule) -> None:
    """Raise ValueError for the first thing that is wrong with the plan's schedule."""
    jobs, pieces = plan.jobs, plan.pieces
    count = len(jobs)
    job = np.asarray(pieces["job"])
    start, end = np.asarray(pieces["start"]), np.asarray(pieces["end"])
    slots = np.asarray(pieces["slots"])

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
    if np.any(end <= start) or np.any(start < plan.now):
        fail("a piece that ends before it starts, or starts before now")

    has_work = jobs.work > 0
    heeds = not policy_of("jobs", plan.policy).ignores_minima
    gangs = (plan.min_mode == "gang") & heeds & (jobs.min_slots > plan.slots)
    hopeless = gangs | (plan.slots == 0)
    for row in np.flatnonzero(has_work & ~hopeless & ~np.isfinite(plan.completion))[:1]:
        fail("never ends", row)
    runs = np.isfinite(plan.completion) & has_work
    done = np.bincount(job, weights=slots * (end - start), minlength=count)
    # What the clock does not show: how far from one another instants may be that count as one.
    maxima = np.minimum(jobs.max_slots, plan.slots)
    ends = np.where(runs, plan.completion, plan.now)
    blur = 4 * np.spacing(np.abs(ends)) + _SAME * np.abs(ends - plan.now)
    lost = maxima * blur
    for row in np.flatnonzero(runs & (np.abs(done - jobs.work) > _TOLERANCE * jobs.work + lost))[
        :1
    ]:
        fail(f"{done[row]} slot-seconds done of {jobs.work[row]}", row)
    for row in np.flatnonzero(~runs & (done > 0.0))[:1]:
        fail("runs though it has nothing to do or never ends", row)
    last = np.full(count, -np.inf)
    np.maximum.at(last, job, end)
    # What is too short for the resolution of time has no piece, be it a job or its remainder.
    missing = jobs.work - done
    # Of a short job the clock does not even tell whether something is missing.
    tick = maxima * np.spacing(np.abs(np.where(np.isfinite(last), last, 0.0)))
    some = (missing > 1e-14 * jobs.work) | (tick > 1e-6 * jobs.work)
    unseen = some & (missing <= lost)
    early = np.isfinite(last) & (np.abs(last - ends) > blur + 1e-9 * np.abs(ends - plan.now))
    for row in np.flatnonzero(early & ~(unseen & (last < plan.completion)))[:1]:
        fail(f"completion {plan.completion[row]} but the last piece ends at {last[row]}", row)
    # Without work a job of a plan has ended when it came; one of an epoch ends now, whatever it was.
    moment = np.full(count, plan.now) if plan.live else jobs.arrival
    for row in np.flatnonzero(~has_work & (plan.completion != moment))[:1]:
        fail(f"has no work and should end {'now' if plan.live else 'at its arrival'}", row)
    _check_allocation(plan, has_work, fail)

    # Slots in use over time, per job and altogether: changes at piece borders, ends before starts.
    times = np.concatenate([end, start])
    change = np.concatenate([-slots, slots])
    who = np.concatenate([job, job])
    by_time = np.argsort(times, kind="stable")
    used = np.cumsum(change[by_time])
    span = np.diff(times[by_time], append=times[by_time][-1:] if len(times) else [])
    over = np.flatnonzero((used > plan.slots) & (span > 0.0))
    if len(over):
        fail(
            f"{counted(int(used[over[0]]), 'slot')} of {plan.slots} in use at {times[by_time][over[0]]}"
        )
    by_job = np.lexsort((np.arange(len(times)), times, who))
    held = np.cumsum(change[by_job])  # each job's changes add up to 0, so this restarts by itself
    owner = who[by_job]
    until = np.append(times[by_job][1:], np.inf)
    until[np.append(owner[1:] != owner[:-1], True)] = -np.inf
    at_time = times[by_job]
    for at in np.flatnonzero((until > at_time) & (held > maxima[owner]))[:1]:
        fail(f"{counted(int(held[at]), 'slot')}, its maximum is {maxima[owner[at]]}", owner[at])
    if not heeds:
        return
    real = until - at_time > 4 * np.spacing(np.abs(at_time)) + _SAME * np.abs(at_time - plan.now)
    minima = np.where(has_work, jobs.min_slots, 0)
    if plan.min_mode == "gang":
        for at in np.flatnonzero(real & (held > 0) & (held < minima[owner]))[:1]:
            fail(f"{counted(int(held[at]), 'slot')}, its gang needs {minima[owner[at]]}", owner[at])
        return
    if sum(int(m) for m in minima) > plan.slots:
        minima = _scaled_minima(minima, plan.slots)
    # A guarantee holds from now until the job ends.
    for at in np.flatnonzero(real & (held < minima[owner]))[:1]:
        fail(f"{counted(int(held[at]), 'slot')}, its minimum is {minima[owner[at]]}", owner[at])
    first = np.full(count, -np.inf)  # and so it stays without pieces, as above
    first[job] = np.inf
    np.minimum.at(first, job, start)
    for row in np.flatnonzero(runs & (minima > 0) & (first > plan.now + blur))[:1]:
        fail("waits although a minimum is guaranteed", row)
