"""Why every job gets what it gets: one line per job."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from malleable.jobs.plan import Plan
from malleable.policies import Policy, policy_of
from malleable.view.clock import Clock
from malleable.view.plan_steps import Steps, slots_over_time
from malleable.view.plan_views import plan_clock
from malleable.view.text import counted, number, printable

__all__ = ["explain_lines"]


def explain_lines(plan: Plan) -> list[str]:
    """One line per job, in the order of the table: its slots now and what bound them, what comes
    next, when it is expected to end, and what that costs. O(J + P log P) for P pieces.
    """
    return list(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    jobs = plan.jobs
    steps = slots_over_time(plan)
    clock = plan_clock(plan)
    has_work = jobs.work > 0
    waiting_line = [row for row in plan.order.tolist() if has_work[row]]
    place = {row: f"place {k} of {len(waiting_line)}" for k, row in enumerate(waiting_line, 1)}
    promises = policy_of("jobs", plan.policy)
    guaranteed = plan.min_mode == "guarantee" and not promises.ignores_minima
    wanted = sum(jobs.min_slots[has_work].tolist())
    scaled = guaranteed and wanted > plan.slots
    rows = np.searchsorted(steps.job, np.arange(len(jobs) + 1)).tolist()
    for row, name in enumerate(jobs.name):
        own = steps.between(rows[row], rows[row + 1])
        completion = float(plan.completion[row])
        if not has_work[row]:
            story = f"no work left, done at {clock.text(completion)} s"
        elif plan.slots == 0:
            story = "never runs: there are no slots"
        elif math.isinf(completion):
            story = (
                f"never runs: it needs {counted(int(jobs.min_slots[row]), 'slot')} at once "
                f"and there are {plan.slots:,}"
            )
        else:
            now = int(plan.allocation[row])
            reason = _reason(plan, promises, row, now, place[row], scaled)
            story = f"{counted(now, 'slot')} now ({reason}), {_next(own, now, clock)}"
            story += f"; ends at {clock.text(completion)} s{_deadline(plan, row)}"
        cost = f"penalty {number(float(plan.penalty[row]))}"
        yield f"{printable(name)}: {story}; {cost}{_strict(plan, row)}"


def _reason(plan: Plan, promises: Policy, row: int, now: int, place: str, scaled: bool) -> str:
    """What bound the slots of a job that has work and will end."""
    low, high = int(plan.jobs.min_slots[row]), int(plan.jobs.max_slots[row])
    share = "a weighted share" if promises.shares == "weighted" else "an equal share"
    if now >= min(high, plan.slots):
        return "its maximum" if high <= plan.slots else "all there are"
    if scaled:
        return f"its minimum of {low:,}, scaled to what there is"
    if now == 0:
        if plan.min_mode == "gang" and low > 1 and not promises.ignores_minima:
            return f"waits for {low:,} at once, {place}"
        return f"waits, {place}"
    if now == low and not promises.ignores_minima:
        return f"its minimum; {share} is less" if promises.shares else f"its minimum, {place}"
    return share if promises.shares else f"what is left at {place}"


def _next(own: Steps, now: int, clock: Clock) -> str:
    """The next change of a job's slots."""
    coming = own.between(1 if now else 0, len(own.job))
    if not len(coming.job):
        return "keeps them" if now else "runs for a moment only"
    if now and coming.start[0] > own.end[0]:
        return f"pauses at {clock.text(own.end[0])} s"
    more = len(coming.job) - 1
    text = f"{coming.slots[0]:,} from {clock.text(coming.start[0])} s"
    return text + (f" and {counted(more, 'more change')}" if more else "")


def _strict(plan: Plan, row: int) -> str:
    """Why a penalty is infinite, if it is."""
    if plan.penalty[row] < math.inf or math.isinf(plan.completion[row]):
        return ""
    if plan.status == "infeasible":
        return ": not all strict deadlines can be met, and others come first"
    return ": no schedule was found that meets all strict deadlines"


def _deadline(plan: Plan, row: int) -> str:
    """How the completion stands to the deadline, if there is one."""
    deadline, completion = float(plan.jobs.deadline[row]), float(plan.completion[row])
    if math.isinf(deadline):
        return ""
    late = completion - deadline
    if late <= 1e-9 * max(1.0, abs(deadline)):
        return f", {number(max(0.0, -late))} s before its deadline"
    return f", {number(late)} s after its deadline"
