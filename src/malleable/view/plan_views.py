"""Plans in the formats that people exchange: JSON, CSV of pieces, data frame."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable.files.csv import csv_text
from malleable.jobs.plan import Plan
from malleable.jobs.table import ALL_SLOTS, Floats, Integers
from malleable.view.clock import Clock, moment_text
from malleable.view.text import counted, number, percent, wall_time

__all__ = [
    "json_text",
    "pieces_csv",
    "pieces_text",
    "plan_clock",
    "plan_dict",
    "plan_frame",
    "plan_headline",
    "plan_rows",
]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _finite_list(values: Floats) -> list[float | None]:
    return [_finite(value) for value in values.tolist()]


def plan_dict(plan: Plan) -> dict[str, Any]:
    """The plan in JSON types; what is infinite (a gang that never runs) becomes None. O(J)."""
    names = plan.jobs.name
    rows = zip(
        names,
        _finite_list(plan.start),
        _finite_list(plan.completion),
        _finite_list(plan.penalty),
        plan.allocation.tolist(),
        strict=True,
    )
    keys = ("name", "start", "completion", "penalty", "allocation")
    gap = plan.gap
    return {
        "policy": plan.policy,
        "objective": plan.objective,
        "status": plan.status,
        "value": _finite(plan.value),
        "lower_bound": _finite(plan.lower_bound),
        "gap": None if gap is None else _finite(gap),
        "order": [names[row] for row in plan.order.tolist()],
        "jobs": [dict(zip(keys, row, strict=True)) for row in rows],
    }


def json_text(content: Any) -> str:
    """Strict JSON, indented, with a newline at the end; NaN and what is infinite become null."""
    try:
        text = json.dumps(content, indent=1, allow_nan=False)
    except ValueError:
        text = json.dumps(_json_values(content), indent=1, allow_nan=False)
    return text + "\n"


def _json_values(content: Any) -> Any:
    """The same with None in place of the numbers that JSON has not."""
    if isinstance(content, float):
        return _finite(content)
    if isinstance(content, Mapping):
        return {key: _json_values(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_json_values(value) for value in content]
    return content


def pieces_csv(plan: Plan) -> str:
    """The whole schedule as CSV ``job,start,end,slots``; pieces of one job may overlap and add up.

    Times keep every bit. O(P) for P pieces.
    """
    return pieces_text(plan.pieces, plan.jobs.name)


def pieces_text(pieces: Mapping[str, npt.NDArray[Any]], names: Sequence[str]) -> str:
    """Pieces as CSV, with the names of their jobs made safe for spreadsheets."""
    columns = {key: np.asarray(pieces[key]).tolist() for key in ("job", "start", "end", "slots")}
    columns["job"] = [names[row] for row in columns["job"]]
    return csv_text(columns)


def pandas() -> Any:
    """The package that makes data frames; ImportError says how to get it."""
    try:
        return importlib.import_module("pandas")
    except ImportError:
        raise ImportError("to_frame needs pandas: pip install pandas") from None


def maxima(max_slots: Integers) -> Any:
    """Whole numbers, missing where a job may use all slots."""
    column = pandas().array(max_slots.tolist(), dtype="Int64")
    column[max_slots == ALL_SLOTS] = pandas().NA
    return column


def plan_frame(plan: Plan) -> Any:
    """A pandas data frame with one row per job, in the order of the table.

    Columns: name, allocation, start, completion, penalty, place (in the order, from 0), arrival,
    work, min_slots, max_slots (missing: all), weight, deadline (missing: none), and user if known.

    Raises
    ------
    ImportError
        If pandas is not installed.
    """
    pd = pandas()
    jobs = plan.jobs
    place = np.empty(len(jobs), dtype=np.int64)
    place[plan.order] = np.arange(len(jobs))
    columns: dict[str, Any] = {
        "name": list(jobs.name),
        "allocation": plan.allocation,
        "start": plan.start,
        "completion": plan.completion,
        "penalty": plan.penalty,
        "place": place,
        "arrival": jobs.arrival,
        "work": jobs.work,
        "min_slots": jobs.min_slots,
        "max_slots": maxima(jobs.max_slots),
        "weight": jobs.weight,
        "deadline": np.where(np.isinf(jobs.deadline), np.nan, jobs.deadline),
    }
    if jobs.user is not None:
        columns["user"] = list(jobs.user)
    return pd.DataFrame(columns)


def plan_clock(plan: Plan) -> Clock:
    """How the times of a plan read."""
    return Clock.of(plan.now, plan.start, plan.completion)


def plan_headline(plan: Plan) -> list[str]:
    """What was planned, how good it is, and from when times count."""
    lines = [
        f"{plan.policy.upper()}, {plan.objective}: {counted(len(plan.jobs), 'job')} on "
        f"{counted(plan.slots, 'slot')} at {moment_text(plan.now)}, status {plan.status}",
        f"value {number(plan.value)}, lower bound {number(plan.lower_bound)}, gap "
        f"{percent(plan.gap)}, planned in {wall_time(plan.timing['seconds'])}",
    ]
    note = plan_clock(plan).note(plan.now)
    return lines if note is None else [*lines, note]


def plan_rows(plan: Plan, most: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads and rows of a table of the first jobs."""
    clock = plan_clock(plan)
    return ("job, by order", "slots now", "start [s]", "end [s]", "penalty"), [
        (
            plan.jobs.name[row],
            f"{plan.allocation[row]:,}",
            clock.text(plan.start[row]),
            clock.text(plan.completion[row]),
            number(float(plan.penalty[row])),
        )
        for row in plan.order[:most].tolist()
    ]
