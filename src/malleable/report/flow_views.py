"""Plans of flows in the formats that people exchange, and why every flow gets what it gets."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import numpy as np

from malleable.flow_planning import FlowPlan
from malleable.report.text import counted, number, printable
from malleable.tables import Floats

__all__ = ["explain_flow_lines", "flow_pieces_csv", "flow_plan_dict"]


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
    out = io.StringIO()
    names = plan.flows.job_name
    carriage = any("\r" in name for name in names)  # which the csv module does not quote by itself
    writer = csv.writer(
        out, lineterminator="\n", quoting=csv.QUOTE_ALL if carriage else csv.QUOTE_MINIMAL
    )
    writer.writerow(("job", "start", "end", "slots"))
    columns = [np.asarray(plan.pieces[key]).tolist() for key in ("job", "start", "end", "slots")]
    for job, start, end, slots in zip(*columns, strict=True):
        writer.writerow((names[job], start, end, slots))
    return out.getvalue()


def explain_flow_lines(plan: FlowPlan) -> list[str]:
    """One line per flow, in the order of the table: slots now, what of it runs, when it ends and what
    that costs, against the earliest that it could have. O(J)."""
    flows = plan.flows
    place = {row: k for k, row in enumerate(plan.order.tolist(), 1)}
    lines = []
    for row, name in enumerate(flows.name):
        own = slice(int(flows.job_offset[row]), int(flows.job_offset[row + 1]))
        end = float(plan.flow_completion[row])
        slots = plan.allocation[own]
        if not np.any(flows.work[own] > 0.0):
            story = f"no work, done at {number(end)} s"
        else:
            running = int(np.count_nonzero(slots))
            waiting = int(np.count_nonzero((flows.work[own] > 0.0) & (slots == 0)))
            now = f"{counted(int(slots.sum()), 'slot')} now for {counted(running, 'job')}"
            if flows.arrival[row] > plan.now:
                now = f"comes at {number(float(flows.arrival[row]))} s"
            elif running == 0:
                first = float(plan.start[own][flows.work[own] > 0.0].min())
                now = f"waits until {number(first)} s"
            story = f"{now}, {counted(waiting, 'job')} to come (place {place[row]} of {len(flows)})"
            story += f"; ends at {number(end)} s"
            due = float(flows.deadline[row])
            if math.isfinite(due):
                late = end - due
                which = "after" if late > 1e-9 * max(1.0, abs(due)) else "before"
                story += f", {number(abs(late))} s {which} its deadline"
        lines.append(f"{printable(name)}: {story}; penalty {number(float(plan.penalty[row]))}")
    return lines
