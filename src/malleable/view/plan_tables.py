"""Plans of jobs and of flows (graphs of jobs) as people exchange them: JSON, data frame, lines, and CSV of
pieces. A piece is an interval in which a job has the same slots; pieces of one job may overlap and add up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from malleable.files.advice import library
from malleable.files.csv import csv_text
from malleable.flows.plan import FlowPlan
from malleable.jobs.plan import Plan
from malleable.jobs.table import Floats, Integers
from malleable.view.clock import Clock, moment_text
from malleable.view.text import (
    Column,
    counted,
    duration,
    fields_of,
    finite,
    number,
    percent,
    plain,
)


def _job_names(plan: Plan | FlowPlan) -> Sequence[str]:
    return plan.flows.job_name if isinstance(plan, FlowPlan) else plan.jobs.name


def _ordered(plan: Plan | FlowPlan) -> tuple[str, Sequence[str]]:
    return ("flow", plan.flows.name) if isinstance(plan, FlowPlan) else ("job", plan.jobs.name)


def _flow_slots(plan: FlowPlan) -> Any:
    slots = np.bincount(plan.flows.flow, weights=plan.slots, minlength=len(plan.flows))
    return slots.astype(np.int64)


def _rows(**columns: Any) -> list[dict[str, Any]]:
    lists = [
        map(finite, own.tolist()) if getattr(own, "dtype", None) == np.float64 else list(own)
        for own in columns.values()
    ]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def plan_dict(plan: Plan | FlowPlan) -> dict[str, Any]:
    """The plan in JSON types; infinite numbers become None. A single job of a flow has no penalty. O(J)."""
    _, names = _ordered(plan)
    told = ["policy", "objective", "status", "value", "lower_bound", "gap"]
    paid: Any = plan.penalty
    below = {}
    if isinstance(plan, FlowPlan):
        told += ["speed", "guarantee", "literal_value"]
        below["flows"] = _rows(name=names, completion=plan.flow_completion, penalty=plan.penalty)
        paid = [None] * len(plan.start)
    ends = fields_of(plan, "start", "completion")
    held = plan.slots.tolist()
    return {
        **plain(fields_of(plan, *told)),
        "order": [names[row] for row in plan.order.tolist()],
        "jobs": _rows(name=_job_names(plan), **ends, penalty=paid, allocation=held),
        **below,
    }


def pieces_csv(plan: Plan | FlowPlan) -> str:
    """The whole schedule as CSV ``job,start,end,slots``, and ``works_from`` if changes of slots cost time;
    pieces of one job may overlap and add up. Times keep every bit; names are made safe for spreadsheets. O(P)
    for P pieces."""
    names = _job_names(plan)
    pieces = plan.pieces
    columns = {key: np.asarray(column).tolist() for key, column in pieces.items()}
    return csv_text({**columns, "job": [names[row] for row in columns["job"]]})


def plan_frame(plan: Plan | FlowPlan, rows: str = "jobs") -> Any:
    """A pandas data frame with one row per job, in the order of the table, or with ``rows="flows"`` per flow;
    columns as in `plan_dict`. O(J)."""
    told = plan_dict(plan)
    if rows not in told or rows not in ("jobs", "flows"):
        raise ValueError(f"rows = {rows!r}: expected jobs, or flows of a plan of flows")
    return library("pandas", "to_frame", "pandas").DataFrame(told[rows])


def plan_clock(plan: Plan | FlowPlan) -> Clock:
    return Clock.of(plan.now, plan.start, plan.completion)


def plan_headline(plan: Plan | FlowPlan) -> list[str]:
    what = counted(len(_job_names(plan)), "job")
    if isinstance(plan, FlowPlan):
        what = f"{counted(len(plan.flows), 'flow')} of {what}"
    lines = [
        f"{plan.policy.upper()}, {plan.objective}: {what} on {counted(plan.capacity, 'slot')} at "
        f"{moment_text(plan.now)}, status {plan.status}",
        f"value {number(plan.value)}, lower bound {number(plan.lower_bound)}, gap "
        f"{percent(plan.gap)}, planned in {duration(plan.timing['seconds'])}",
    ]
    if isinstance(plan, Plan) and plan.period > 0.0:
        lines.append(f"decided every {number(plan.period)} s and held in between")
    if isinstance(plan, FlowPlan) and math.isfinite(plan.speed):
        goal = "at its bound" if plan.lower_bound < math.inf else "all deadlines met"
        lines.append(f"{goal} if the slots were {plan.speed:.4g} times as fast")
    note = plan_clock(plan).note(plan.now)
    return lines if note is None else [*lines, note]


def plan_columns(plan: Plan | FlowPlan) -> list[Column]:
    noun, names = _ordered(plan)
    clock, order = plan_clock(plan), plan.order.tolist()
    ends, slots = plan.completion, plan.slots
    start: list[Column] = [("start [s]", lambda row: clock.text(plan.start[order[row]]))]
    if isinstance(plan, FlowPlan):
        ends, slots, start = plan.flow_completion, _flow_slots(plan), []
    return [
        (f"{noun}, by order", lambda row: names[order[row]]),
        ("slots now", lambda row: f"{slots[order[row]]:,}"),
        *start,
        ("end [s]", lambda row: clock.text(ends[order[row]])),
        ("penalty", lambda row: number(float(plan.penalty[order[row]]))),
    ]


class Steps(NamedTuple):
    """Intervals in which a job holds the same slots, by job and then by time, without overlap."""

    job: Integers
    start: Floats
    end: Floats
    slots: Integers

    def between(self, low: int, high: int) -> Steps:
        cut = slice(low, high)
        return Steps(self.job[cut], self.start[cut], self.end[cut], self.slots[cut])


def slots_over_time(plan: Plan, group: Integers | None = None) -> Steps:
    """Sum of the pieces of each job (or, with ``group``, of each group of jobs). Moments of a job that differ
    by rounding only are one. O(P log P) for P pieces."""
    pieces = plan.pieces
    owner = np.asarray(pieces["job"])
    if group is not None:
        owner = group[owner]
    times = np.concatenate([pieces["start"], pieces["end"]])
    change = np.concatenate([pieces["slots"], -np.asarray(pieces["slots"])])
    job = np.concatenate([owner, owner])
    rows = np.lexsort((times, job))
    times, change, job = times[rows], change[rows], job[rows]
    # One event per job and time, then one per change of its slots.
    first = np.flatnonzero(_differs(job) | _differs(times, 1e-12))
    held = np.cumsum(change)[np.append(first[1:], len(times)) - 1] if len(first) else change
    times, job = times[first], job[first]
    changed = np.flatnonzero(_differs(job) | _differs(held))
    times, job, held = times[changed], job[changed], held[changed]

    busy = np.flatnonzero(held > 0)  # every job's last event is a release, so there is a next one
    return Steps(job[busy], times[busy], times[np.minimum(busy + 1, len(times) - 1)], held[busy])


def _differs(values: Floats | Integers, by: float = 0.0) -> npt.NDArray[np.bool_]:
    far = np.abs(np.diff(values)) > by * np.abs(values[1:])
    return np.append(True, far)[: len(values)]
