"""Explanations of plans and of periodic decisions (which hold for a period): why each job, or flow, gets its
slots, one line each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from malleable.arrays import Integers, rows_of
from malleable.flows.plan import FlowPlan
from malleable.jobs.plan import Plan
from malleable.policies import Policy, policy_of
from malleable.view.clock import Clock
from malleable.view.plan_tables import Steps, plan_clock, slots_over_time
from malleable.view.text import counted, number, printable

if TYPE_CHECKING:
    from malleable.jobs.epoch import Decision, Epoch
    from malleable.jobs.table import Jobs


def explain_lines(plan: Plan | FlowPlan, rows: npt.ArrayLike | None = None) -> list[str]:
    """One line for each of these rows of jobs or flows (by default all): its slots now and what limits them,
    the next change, its expected end, and the penalty. O(J + P log P) for P pieces."""
    if isinstance(plan, FlowPlan):
        return list(_flow_lines(plan, _chosen(rows, len(plan.flows))))
    return list(_job_lines(plan, _chosen(rows, len(plan.jobs))))


def _chosen(rows: npt.ArrayLike | None, count: int) -> list[int]:
    every = range(count) if rows is None else rows_of(rows, count).tolist()
    return list(every)


def _job_lines(plan: Plan, chosen: Iterable[int]) -> Iterator[str]:
    jobs = plan.jobs
    steps = slots_over_time(plan)
    clock = plan_clock(plan)
    has_work = jobs.work > 0
    waiting_line = [row for row in plan.order.tolist() if has_work[row]]
    place = {row: f"place {k} of {len(waiting_line)}" for k, row in enumerate(waiting_line, 1)}
    promises = policy_of("jobs", plan.policy)
    starting = jobs.starting(plan.min_mode)
    gang = plan.min_mode == "gang" and not promises.ignores_minima
    guaranteed = plan.min_mode == "guarantee" and not (promises.ignores_minima or starting.any())
    wanted = sum(jobs.min_slots[has_work].tolist())
    scaled = guaranteed and wanted > plan.capacity
    restarting = _restarting(plan)
    first = np.searchsorted(steps.job, np.arange(len(jobs) + 1)).tolist()
    for row in chosen:
        own = steps.between(first[row], first[row + 1])
        completion = float(plan.completion[row])
        if not has_work[row]:
            story = f"no work left, done at {clock.text(completion)} s"
        elif plan.capacity == 0:
            story = "never runs: there are no slots"
        elif math.isinf(completion):
            story = (
                f"never runs: it needs {counted(int(jobs.min_slots[row]), 'slot')} at once "
                f"and there are {plan.capacity:,}"
            )
        else:
            now = int(plan.slots[row])
            low, high = int(jobs.min_slots[row]), int(jobs.max_slots[row])
            job = _Job(low, high, float(jobs.work[row]), plan.capacity, plan.period)
            how = _How(promises, gang or bool(starting[row]), scaled, jobs.speedup is not None)
            reason = _reason(job, how, now, place[row])
            story = f"{counted(now, 'slot')} now ({reason}), {_next(own, now, clock)}"
            if row in restarting:
                story += f", works from {clock.text(restarting[row])} s"
            story += f"; ends at {clock.text(completion)} s"
            story += _lateness(completion, float(jobs.deadline[row]))
        yield f"{printable(jobs.name[row])}: {story}; {_cost(plan, row, completion)}"


def _restarting(plan: Plan) -> dict[int, float]:
    # When jobs begin to work that a change of their slots keeps from it now.
    works = plan.pieces.get("works_from")
    if works is None:
        return {}
    now = (plan.pieces["start"] <= plan.now) & (works > plan.now)
    return dict(zip(plan.pieces["job"][now].tolist(), works[now].tolist(), strict=True))


def periodic_lines(decision: Decision, rows: Integers, jobs: Jobs, epoch: Epoch) -> Iterator[str]:
    """One line for each of these rows of a periodic decision; ``jobs`` have the work left. O(rows), and O(J)
    for places in the order."""
    left, low, high, deadline = (
        column[rows] for column in (jobs.work, jobs.min_slots, jobs.max_slots, jobs.deadline)
    )
    rate, minima = jobs.rates(decision.slots[rows], rows), jobs.min_slots.sum(dtype=np.float64)
    period, now, clock = epoch._core.period, decision.now, Clock.of(decision.now)
    promises = policy_of("jobs", epoch._policy)
    gang = epoch._min_mode == "gang" and not promises.ignores_minima
    scaled = epoch._min_mode == "guarantee" and not promises.ignores_minima and minima > epoch.slots
    line = {job: f"place {k} of" for k, job in enumerate(decision.order.tolist(), 1)}
    given = zip(decision.ids[rows].tolist(), decision.slots[rows].tolist(), strict=True)
    for k, (name, slots) in enumerate(given):
        place = f"{line[name]} {len(line)}" if name in line else "last"
        job = _Job(int(low[k]), int(high[k]), float(left[k]), epoch.slots, period)
        how = _How(promises, gang or epoch._min_mode == "start", scaled, bool(rate[k] != slots))
        story = f"{counted(slots, 'slot')} now ({_reason(job, how, slots, place)})"
        rest = float(left[k] - period * rate[k])
        if rest > 1e-9 * left[k]:
            story += f"; {number(rest)} slot-seconds left at {clock.text(now + period)} s"
        else:
            end = now + float(left[k] / rate[k])
            story += f"; ends at {clock.text(end)} s{_lateness(end, float(deadline[k]))}"
        yield f"{name}: {story}"


def _flow_lines(plan: FlowPlan, chosen: Iterable[int]) -> Iterator[str]:
    flows = plan.flows
    place = {row: k for k, row in enumerate(plan.order.tolist(), 1)}
    clock = plan_clock(plan)
    for row in chosen:
        own = slice(int(flows.job_offset[row]), int(flows.job_offset[row + 1]))
        end = float(plan.flow_completion[row])
        slots, has_work = plan.slots[own], flows.work[own] > 0.0
        running = int(np.count_nonzero(slots))
        if not has_work.any():
            story = f"no work, done at {clock.text(end)} s"
        else:
            now = f"{counted(int(slots.sum()), 'slot')} now for {counted(running, 'job')}"
            if flows.arrival[row] > plan.now:
                now = f"comes at {clock.text(flows.arrival[row])} s"
            elif running == 0:
                now = f"waits until {clock.text(plan.start[own][has_work].min())} s"
            waiting = counted(int(np.count_nonzero(has_work & (slots == 0))), "job")
            story = f"{now}, {waiting} to come (place {place[row]} of {len(flows)})"
            story += f"; ends at {clock.text(end)} s{_lateness(end, float(flows.deadline[row]))}"
        yield f"{printable(flows.name[row])}: {story}; {_cost(plan, row, end)}"


class _Job(NamedTuple):
    """A job's limits and its work, the slots of all jobs, and the period of decisions [s]; 0: none."""

    low: int
    high: int
    work: float
    capacity: int
    period: float


class _How(NamedTuple):
    """How slots are given: what the policy promises; whether a job has its minimum or none (``at_once``),
    minima were ``scaled`` down, and speed-ups are not linear (``curved``)."""

    promises: Policy
    at_once: bool
    scaled: bool
    curved: bool


def _reason(job: _Job, how: _How, now: int, place: str) -> str:
    # Why a job has so many slots ``now``; ``place``: its place in the order, in words.
    promises = how.promises
    share = "a weighted share" if promises.shares == "weighted" else "an equal share"
    if now >= min(job.high, job.capacity):
        return "its maximum" if job.high <= job.capacity else "all there are"
    if job.period > 0.0 and now * job.period >= job.work * (1 - 1e-9):
        return f"it ends within the {number(job.period)} s that they are held"
    if how.scaled:
        return f"its minimum of {job.low:,}, scaled to what there is"
    if now == 0:
        whole = how.at_once and job.low > 1
        return f"waits for {job.low:,} at once, {place}" if whole else f"waits, {place}"
    if now == job.low and (how.at_once or not promises.ignores_minima):
        return f"its minimum; {share} is less" if promises.shares else f"its minimum, {place}"
    return share if promises.shares else _part(how, place)


def _part(how: _How, place: str) -> str:
    by_share = how.curved and how.promises.name != "fifo"
    return f"its share, {place}" if by_share else f"what is left at {place}"


def _next(own: Steps, now: int, clock: Clock) -> str:
    # The next change of a job's slots; ``own``: its slots over time.
    coming = own.between(1 if now else 0, len(own.job))
    if not len(coming.job):
        return "keeps them" if now else "runs for a moment only"
    if now and coming.start[0] > own.end[0]:
        return f"pauses at {clock.text(own.end[0])} s"
    more = len(coming.job) - 1
    text = f"{coming.slots[0]:,} from {clock.text(coming.start[0])} s"
    return text + (f" and {counted(more, 'more change')}" if more else "")


def _cost(plan: Plan | FlowPlan, row: int, completion: float) -> str:
    cost = f"penalty {number(float(plan.penalty[row]))}"
    if plan.penalty[row] < math.inf or math.isinf(completion):
        return cost
    if plan.status == "infeasible":
        return f"{cost}: not all strict deadlines can be met, and others come first"
    return f"{cost}: no schedule was found that meets all strict deadlines"


def _lateness(completion: float, deadline: float) -> str:
    if math.isinf(deadline):
        return ""
    late = completion - deadline
    if late <= 1e-9 * max(1.0, abs(deadline)):
        return f", {number(max(0.0, -late))} s before its deadline"
    return f", {number(late)} s after its deadline"
