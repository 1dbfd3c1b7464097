"""Plans of flows in the formats that people exchange, and why every flow gets what it gets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from malleable.flows.plan import FlowPlan
from malleable.jobs.table import Floats
from malleable.view.clock import Clock, moment_text
from malleable.view.plan_views import maxima, pandas, pieces_text
from malleable.view.text import counted, number, percent, printable, wall_time

__all__ = [
    "explain_flow_lines",
    "flow_clock",
    "flow_frame",
    "flow_headline",
    "flow_pieces_csv",
    "flow_plan_dict",
    "flow_rows",
]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _finite_list(values: Floats) -> list[float | None]:
    return [_finite(value) for value in values.tolist()]


def flow_plan_dict(plan: FlowPlan) -> dict[str, Any]:
    """The plan in JSON types: as for jobs, and the flows; a job by itself has no penalty. O(J)."""
    flows = plan.flows
    jobs = zip(
        flows.job_name,
        _finite_list(plan.start),
        _finite_list(plan.completion),
        plan.allocation.tolist(),
        strict=True,
    )
    rows = zip(
        flows.name, _finite_list(plan.flow_completion), _finite_list(plan.penalty), strict=True
    )
    gap = plan.gap
    return {
        "policy": plan.policy,
        "objective": plan.objective,
        "status": plan.status,
        "value": _finite(plan.value),
        "lower_bound": _finite(plan.lower_bound),
        "gap": None if gap is None else _finite(gap),
        "speed": _finite(plan.speed),
        "guarantee": None if plan.guarantee is None else list(plan.guarantee),
        "literal_value": _finite(plan.literal_value),
        "order": [flows.name[row] for row in plan.order.tolist()],
        "jobs": [
            {"name": name, "start": start, "completion": end, "penalty": None, "allocation": slots}
            for name, start, end, slots in jobs
        ],
        "flows": [{"name": name, "completion": end, "penalty": paid} for name, end, paid in rows],
    }


def flow_pieces_csv(plan: FlowPlan) -> str:
    """The whole schedule as CSV ``job,start,end,slots``; times keep every bit. O(P) for P pieces."""
    return pieces_text(plan.pieces, plan.flows.job_name)


def flow_frame(plan: FlowPlan, rows: str = "jobs") -> Any:
    """A pandas data frame of the plan, rows in the order of the table. O(J).

    Parameters
    ----------
    rows : {"jobs", "flows"}
        ``jobs``: flow, name (``flow/job``), allocation, start, completion, work, max_slots (missing:
        all) and after (names of those that it waits for); ``flows``: name, allocation (of its jobs
        together), completion, penalty, place (in the order, from 0), arrival, work, weight, deadline
        (missing: none).

    Raises
    ------
    ImportError
        If pandas is not installed.
    """
    if rows not in ("jobs", "flows"):
        raise ValueError(f"rows = {rows!r}: expected jobs or flows")
    pd = pandas()
    flows = plan.flows
    if rows == "jobs":
        return pd.DataFrame(
            {
                "flow": [flows.name[row] for row in flows.flow.tolist()],
                "name": list(flows.job_name),
                "allocation": plan.allocation,
                "start": plan.start,
                "completion": plan.completion,
                "work": flows.work,
                "max_slots": maxima(flows.max_slots),
                "after": [
                    [flows.job_name[p] for p in flows.after(j)] for j in range(len(flows.work))
                ],
            }
        )
    place = np.empty(len(flows), dtype=np.int64)
    place[plan.order] = np.arange(len(flows))
    held = np.bincount(flows.flow, weights=plan.allocation, minlength=len(flows))
    return pd.DataFrame(
        {
            "name": list(flows.name),
            "allocation": held.astype(np.int64),
            "completion": plan.flow_completion,
            "penalty": plan.penalty,
            "place": place,
            "arrival": flows.arrival,
            "work": flows.volume(),
            "weight": flows.weight,
            "deadline": np.where(np.isinf(flows.deadline), np.nan, flows.deadline),
        }
    )


def explain_flow_lines(plan: FlowPlan) -> list[str]:
    """One line per flow, in the order of the table: slots now, what of it runs, when it ends and what
    that costs, against the earliest that it could have. O(J)."""
    flows = plan.flows
    place = {row: k for k, row in enumerate(plan.order.tolist(), 1)}
    clock = flow_clock(plan)
    lines = []
    for row, name in enumerate(flows.name):
        own = slice(int(flows.job_offset[row]), int(flows.job_offset[row + 1]))
        end = float(plan.flow_completion[row])
        slots = plan.allocation[own]
        if not np.any(flows.work[own] > 0.0):
            story = f"no work, done at {clock.text(end)} s"
        else:
            running = int(np.count_nonzero(slots))
            waiting = int(np.count_nonzero((flows.work[own] > 0.0) & (slots == 0)))
            now = f"{counted(int(slots.sum()), 'slot')} now for {counted(running, 'job')}"
            if flows.arrival[row] > plan.now:
                now = f"comes at {clock.text(flows.arrival[row])} s"
            elif running == 0:
                first = float(plan.start[own][flows.work[own] > 0.0].min())
                now = f"waits until {clock.text(first)} s"
            story = f"{now}, {counted(waiting, 'job')} to come (place {place[row]} of {len(flows)})"
            story += f"; ends at {clock.text(end)} s"
            due = float(flows.deadline[row])
            if math.isfinite(due):
                late = end - due
                missed = late > 1e-9 * max(1.0, abs(due))
                which = "after" if missed else "before"
                story += f", {number(late if missed else max(0.0, -late))} s {which} its deadline"
        story += f"; penalty {number(float(plan.penalty[row]))}"
        if plan.penalty[row] == math.inf:
            story += (
                ": not all strict deadlines can be met, and others come first"
                if plan.status == "infeasible"
                else ": no schedule was found that meets all strict deadlines"
            )
        lines.append(f"{printable(name)}: {story}")
    return lines


def flow_clock(plan: FlowPlan) -> Clock:
    """How the times of a plan of flows read."""
    return Clock.of(plan.now, plan.start, plan.completion)


def flow_headline(made: FlowPlan) -> list[str]:
    """What was planned and how good it is."""
    flows = made.flows
    lines = [
        f"{made.policy.upper()}, {made.objective}: {counted(len(flows), 'flow')} of "
        f"{counted(len(flows.work), 'job')} on {counted(made.slots, 'slot')} at "
        f"{moment_text(made.now)}, status {made.status}",
        f"value {number(made.value)}, lower bound {number(made.lower_bound)}, gap "
        f"{percent(made.gap)}, planned in {wall_time(made.timing['seconds'])}",
    ]
    if np.isfinite(made.speed):
        goal = "at its bound" if made.lower_bound < math.inf else "all deadlines met"
        lines.append(f"{goal} if the slots were {made.speed:.4g} times as fast")
    note = flow_clock(made).note(made.now)
    return lines if note is None else [*lines, note]


def flow_rows(made: FlowPlan, most: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads and rows of a table of the first flows."""
    flows = made.flows
    clock = flow_clock(made)
    slots = np.zeros(len(flows), dtype=np.int64)
    np.add.at(slots, flows.flow, made.allocation)
    return ("flow, by order", "slots now", "end [s]", "penalty"), [
        (
            flows.name[row],
            f"{slots[row]:,}",
            clock.text(made.flow_completion[row]),
            number(float(made.penalty[row])),
        )
        for row in made.order[:most].tolist()
    ]
