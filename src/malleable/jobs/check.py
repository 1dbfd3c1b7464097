"""A checker of schedules of jobs that shares no code with the solvers: NumPy and the definitions only. A piece
of a schedule is an interval in which a job has the same slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from malleable.arrays import Floats, Integers
from malleable.display import counted
from malleable.jobs.table import Jobs
from malleable.policies import policy_of
from malleable.schedule_pieces import Holdings, Mask, Pieces

_TOLERANCE = 1e-6  # of work, as a part of it
_SAME = 2e-13  # share of the time from now: closer times count as equal in the solvers


class Schedule(Protocol):
    """The parts of a plan that the checker reads."""

    jobs: Jobs
    capacity: int
    now: float
    policy: str
    min_mode: str
    live: bool  # of an epoch: a job without work keeps its slots
    looped: bool  # made by a loop that decides again at every event
    period: float  # seconds for which the loop holds a decision; 0: none
    slots: Integers
    completion: Floats
    pieces: Mapping[str, npt.NDArray[Any]]


def _scaled_minima(minima: Integers, slots: int, looped: bool) -> Integers:
    # floor(m S / sum m), the remainder to the largest fractions, then to lower rows. A loop scales the minima
    # of the jobs that are left at every call, so only floor(m S / sum m) is sure.
    exact = [int(m) * slots for m in minima]
    total = int(sum(int(m) for m in minima))
    scaled = [x // total for x in exact]
    left = 0 if looped else slots - sum(scaled)
    by_fraction = sorted(range(len(exact)), key=lambda row: (-(exact[row] % total), row))
    for row in by_fraction[:left]:
        scaled[row] += 1
    return np.array(scaled, dtype=np.int64)


def _check_slots_now(plan: Schedule, has_work: Mask, pieces: Pieces) -> None:
    # Slots of the present decision: whole numbers within all limits, as the pieces say.
    jobs, given = plan.jobs, np.asarray(plan.slots)
    if given.shape != (len(jobs),) or given.dtype.kind != "i":
        pieces.fail("slots: expected whole slots for every job")
    total = sum(given.tolist())
    if total > plan.capacity:
        pieces.fail(f"slots: {total} slots of {plan.capacity}")

    def refuse(bad: Mask, what: str, than: Integers) -> None:
        pieces.refuse(bad, lambda row: f"slots: {given[row]} slots, {what.format(than[row])}")

    # In an epoch a job keeps its slots until it is removed.
    kept = np.maximum(jobs.min_slots, 1) if plan.live else np.zeros(len(jobs), dtype=np.int64)
    most = np.where(has_work, np.minimum(jobs.max_slots, plan.capacity), kept)
    refuse((given < 0) | (given > most), "its maximum is {}", most)
    due = np.where(has_work | plan.live, jobs.min_slots, 0)
    starting = jobs.starting(plan.min_mode)
    refuse(starting & (given > 0) & (given < due), "it starts on {}", due)
    heeds = not policy_of("jobs", plan.policy).ignores_minima
    if heeds and plan.min_mode == "gang":
        refuse((given > 0) & (given < due), "its gang needs {}", due)
    elif heeds and sum(due.tolist()) <= plan.capacity:
        refuse(~starting & (given < due), "its minimum is {}", due)
    # Pieces must show the allocation, except pieces too short for a double.
    now = pieces.start <= plan.now
    shown = np.zeros(len(jobs), dtype=np.int64)
    np.add.at(shown, pieces.job[now], pieces.slots[now])
    told = np.isfinite(pieces.last) | ~has_work | ~np.isfinite(plan.completion)
    if told.all() and not (plan.live and np.any(~has_work)):
        refuse(has_work & (shown != given), "but its pieces have {} now", shown)


def work_done(speedup: Sequence[float | Floats], held: Holdings) -> Floats:
    # Work of each job by its speed-up: p, or the rates of 1, 2, ... slots.
    done = np.zeros(len(speedup))
    runs = (held.slots > 0) & (held.until > held.time)
    spans = (column[runs].tolist() for column in (held.job, held.slots, held.until - held.time))
    for row, slots, span in zip(*spans, strict=True):
        rule = speedup[row]
        rate = slots**rule if isinstance(rule, float) else rule[min(slots, len(rule)) - 1]
        done[row] += rate * span
    return done


def _by_rate(jobs: Jobs, pieces: Pieces, since: Floats) -> Floats:
    # Work of each piece, which works since then.
    works: Floats = np.clip(pieces.end - since, 0.0, pieces.end - pieces.start)
    return works * jobs.rates(pieces.slots, pieces.job)


def _check_restarts(plan: Schedule, pieces: Pieces, since: Floats) -> None:
    # A piece with other slots than the job had before begins to work when its restart is over.
    jobs = plan.jobs
    order = np.lexsort((pieces.start, pieces.job))
    job, start, slots = pieces.job[order], pieces.start[order], pieces.slots[order]
    follows = (job[1:] == job[:-1]) & (start[1:] == pieces.end[order][:-1])
    before = np.append(0, np.where(follows, slots[:-1], 0))

    def told(name: str, otherwise: Any) -> Any:
        column = getattr(jobs, name)
        return column[job] if len(column) else otherwise

    either = told("restart", 0.0)
    base = np.where(slots > before, told("restart_grow", either), told("restart_shrink", either))
    base = base + told("restart_slot", 0.0) * np.abs(slots - before)
    base = np.where((slots == before) | (plan.live & (start <= plan.now)), 0.0, base)
    early = since[order] < start + base - 4 * np.spacing(np.abs(start + base))
    pieces.refuse(early, lambda at: f"works at {start[at]}, before its restart is over", job)


def _check_calls(plan: Schedule, pieces: Pieces) -> None:
    # With a period: pieces start and end at decisions, except at the end of a job.
    def between(time: Floats) -> Mask:
        span = time - plan.now
        off = np.abs(span - np.round(span / plan.period) * plan.period)
        return off > 4 * np.spacing(np.abs(time)) + _SAME * np.abs(span)

    def refuse(what: str, time: Floats, bad: Mask) -> None:
        pieces.refuse(
            bad & between(time),
            lambda at: f"a piece {what} at {time[at]}, between two decisions",
            pieces.job,
        )

    refuse("starts", pieces.start, np.ones(len(pieces.start), dtype=bool))
    refuse("ends", pieces.end, pieces.end < pieces.last[pieces.job])


def check_schedule(plan: Schedule) -> None:
    # ValueError for the first fault. O(P log P) for P pieces.
    jobs, pieces = plan.jobs, Pieces(plan.pieces, plan.jobs.name)
    if np.any(pieces.start < plan.now):
        pieces.fail("a piece that starts before now")
    has_work = jobs.work > 0
    heeds = not policy_of("jobs", plan.policy).ignores_minima
    starting = jobs.starting(plan.min_mode)
    at_once = starting | ((plan.min_mode == "gang") & heeds)
    hopeless = (at_once & (jobs.min_slots > plan.capacity)) | (plan.capacity == 0)
    pieces.refuse(has_work & ~hopeless & ~np.isfinite(plan.completion), lambda _: "never ends")
    runs = np.isfinite(plan.completion) & has_work
    done, last = pieces.done, pieces.last
    if pieces.works is not None:
        _check_restarts(plan, pieces, pieces.works)
        by_rate = _by_rate(jobs, pieces, pieces.works)
        done = np.bincount(pieces.job, by_rate, len(jobs)).astype(np.float64)
    elif jobs.speedup is not None:
        done = work_done(jobs.speedup, pieces.held())
    # The largest distance of times that count as equal, because doubles do not separate them.
    maxima = np.minimum(jobs.max_slots, plan.capacity).astype(float)
    if jobs.speedup is not None:  # upper bound of the work in a second
        maxima = np.maximum(maxima, jobs.rates(np.minimum(jobs.max_slots, plan.capacity)))
    ends = np.where(runs, plan.completion, plan.now)
    blur = 4 * np.spacing(np.abs(ends)) + _SAME * np.abs(ends - plan.now)
    lost = maxima * blur
    pieces.refuse(
        runs & (np.abs(done - jobs.work) > _TOLERANCE * jobs.work + lost),
        lambda row: f"{done[row]} slot-seconds done of {jobs.work[row]}",
    )
    pieces.refuse(~runs & (done > 0.0), lambda _: "runs though it has nothing to do or never ends")
    # A job, or the rest of one, that is too short for the resolution of time has no piece.
    missing = jobs.work - done
    # For a short job, doubles do not even show whether work is missing.
    tick = maxima * np.spacing(np.abs(np.where(np.isfinite(last), last, 0.0)))
    some = (missing > 1e-14 * jobs.work) | (tick > 1e-6 * jobs.work)
    unseen = some & (missing <= lost)
    early = np.isfinite(last) & (np.abs(last - ends) > blur + 1e-9 * np.abs(ends - plan.now))
    pieces.refuse(
        early & ~(unseen & (last < plan.completion)),
        lambda row: f"completion {plan.completion[row]} but the last piece ends at {last[row]}",
    )
    # A job without work ends at its arrival in a plan, and now in an epoch.
    moment = np.full(len(jobs), plan.now) if plan.live else jobs.arrival
    when = "now" if plan.live else "at its arrival"
    pieces.refuse(
        ~has_work & (plan.completion != moment), lambda _: f"has no work and should end {when}"
    )
    _check_slots_now(plan, has_work, pieces)
    pieces.check_capacity(plan.capacity)
    if plan.period > 0.0:
        _check_calls(plan, pieces)
    minima = np.where(has_work & (starting | heeds), jobs.min_slots, 0)
    _check_held(plan, minima, maxima, runs & (pieces.first > plan.now + blur), pieces)


def _check_held(
    plan: Schedule, minima: Integers, maxima: Integers, late: Mask, pieces: Pieces
) -> None:
    # No job is above its maximum, no gang below its size, no job below the minimum on which it started. A
    # guarantee, scaled if it must be, holds from now until a job ends.
    held = pieces.held()

    def refuse(bad: Mask, what: str, than: Integers) -> None:
        pieces.refuse(
            bad,
            lambda at: f"{counted(int(held.slots[at]), 'slot')}, {what} {than[held.job[at]]}",
            held.job,
        )

    refuse((held.until > held.time) & (held.slots > maxima[held.job]), "its maximum is", maxima)
    far = 4 * np.spacing(np.abs(held.time)) + _SAME * np.abs(held.time - plan.now)
    real = held.until - held.time > far
    if plan.min_mode == "gang":
        refuse(real & (held.slots > 0) & (held.slots < minima[held.job]), "its gang needs", minima)
        return
    starting = plan.jobs.starting(plan.min_mode)
    refuse(real & starting[held.job] & (held.slots < minima[held.job]), "it started on", minima)
    fits = sum(int(m) for m in minima) <= plan.capacity
    if starting.any():
        # Guarantees get the slots that minima of started jobs leave, which depends on the loop.
        minima = np.where(starting, 0, minima if fits else 0)
    elif not fits:
        minima = _scaled_minima(minima, plan.capacity, plan.looped)
    refuse(real & (held.slots < minima[held.job]), "its minimum is", minima)
    # A job that is too short for a double has no piece that could be late.
    waits = late & (minima > 0) & np.isfinite(pieces.first)
    pieces.refuse(waits, lambda _: "waits although a minimum is guaranteed")
