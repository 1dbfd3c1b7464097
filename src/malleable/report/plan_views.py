"""Plans in the formats that people exchange: JSON, CSV of pieces, data frame."""

from __future__ import annotations

import csv
import importlib
import io
import json
import math
from typing import Any

import numpy as np

from malleable.planning import Plan
from malleable.tables import ALL_SLOTS, Floats

__all__ = ["json_text", "pieces_csv", "plan_dict", "plan_frame"]


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
    """Strict JSON (no NaN, nothing infinite), indented, with a newline at the end."""
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def pieces_csv(plan: Plan) -> str:
    """The whole schedule as CSV ``job,start,end,slots``; pieces of one job may overlap and add up.

    Times keep every bit. O(P) for P pieces.
    """
    out = io.StringIO()
    names = plan.jobs.name
    if any("\r" in name for name in names):  # which the csv module does not quote by itself
        writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    else:
        writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("job", "start", "end", "slots"))
    columns = [np.asarray(plan.pieces[key]).tolist() for key in ("job", "start", "end", "slots")]
    for job, start, end, slots in zip(*columns, strict=True):
        writer.writerow((names[job], start, end, slots))
    return out.getvalue()


def plan_frame(plan: Plan) -> Any:
    """A pandas data frame with one row per job, in the order of the table.

    Columns: name, allocation, start, completion, penalty, place (in the order, from 0), arrival,
    work, min_slots, max_slots (missing: all), weight, deadline (missing: none), and user if known.

    Raises
    ------
    ImportError
        If pandas is not installed.
    """
    try:
        pd = importlib.import_module("pandas")
    except ImportError:
        raise ImportError("to_frame needs pandas: pip install pandas") from None
    jobs = plan.jobs
    place = np.empty(len(jobs), dtype=np.int64)
    place[plan.order] = np.arange(len(jobs))
    maxima = pd.array(jobs.max_slots.tolist(), dtype="Int64")
    maxima[jobs.max_slots == ALL_SLOTS] = pd.NA
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
        "max_slots": maxima,
        "weight": jobs.weight,
        "deadline": np.where(np.isinf(jobs.deadline), np.nan, jobs.deadline),
    }
    if jobs.user is not None:
        columns["user"] = list(jobs.user)
    return pd.DataFrame(columns)
