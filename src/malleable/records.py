"""Records of a simulation: the same columns, one row a job (or a task), for every model; and statistics of
responses (from arrival to end) and stretches (response over the time that the job needs alone)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable.arrays import Floats, Integers, quotient


def job_records(
    model: str,
    policy: str,
    job: Integers,
    name: Sequence[str],
    times: Sequence[Floats],
    size: Floats,
    *,
    requested_time: npt.ArrayLike,
    slots: npt.ArrayLike = 1,
    held: npt.ArrayLike = "0",
    success: npt.ArrayLike = 1,
) -> dict[str, npt.NDArray[Any]]:
    """Records with the columns of Batsim, a simulator of batch queues, first, so that its tools read them.

    Arrays have shape (R,): rows of the table (``job``), ``name``, ``times`` of arrival, start, end of the maps
    and end [s; slotted: steps], ``size``, by which the response is divided for the stretch (0
    where this is 0), ``slots`` that were asked for, and ``held`` ones as intervals."""
    count, (arrival, start, map_completion, completion) = len(job), times
    response = np.maximum(completion - arrival, 0.0)
    return {
        "job_id": job,
        "workload_name": np.full(count, model),
        "submission_time": arrival,
        "requested_number_of_resources": np.full(count, slots, dtype=np.int64),
        "requested_time": np.full(count, requested_time),
        "success": np.full(count, success, dtype=np.int64),
        "starting_time": start,
        "execution_time": completion - start,
        "finish_time": completion,
        "waiting_time": start - arrival,
        "turnaround_time": response,
        "stretch": quotient(response, size),
        "consumed_energy": np.zeros(count),
        "allocated_resources": np.full(count, held),
        "policy": np.full(count, policy),
        "name": np.array(name, dtype=str),
        "map_completion": map_completion,
        "completion": completion,
    }


def by_table_row(order: Integers, sequence: Integers, *columns: Any) -> tuple[Any, ...]:
    """Rows of the table, ascending, and columns of the core's records in that order. The core numbers jobs as
    they came, ``sequence``; ``order`` are the rows of its jobs."""
    rows = order[sequence]
    turn = np.argsort(rows, kind="stable")
    return rows[turn], *(column[turn] for column in columns)


def job_names(names: Sequence[str] | None, rows: Integers) -> list[str]:
    return [f"job{row}" if names is None else names[row] for row in rows.tolist()]


def quantile(sorted_values: Floats, fraction: float) -> float:
    """The least value that this part of all values does not exceed; NaN without any."""
    if not len(sorted_values):
        return math.nan
    return float(sorted_values[max(0, math.ceil(fraction * len(sorted_values)) - 1)])


def ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else math.nan


def mean_of(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


def most_of(values: Floats) -> float:
    return float(values.max()) if len(values) else math.nan


def response_summary(response: Floats, size: Floats, wait: Floats) -> dict[str, float]:
    order, stretch = np.sort(response), quotient(response, size)

    return {
        "mean_response": mean_of(response),
        "p50": quantile(order, 0.5),
        "p95": quantile(order, 0.95),
        "p99": quantile(order, 0.99),
        "max_response": quantile(order, 1.0),
        "mean_stretch": mean_of(stretch),
        "max_stretch": most_of(stretch),
        "longest_wait": most_of(wait),
    }


def by_decade(work: Floats, response: Floats) -> tuple[Integers, Floats]:
    """Jobs and mean stretch in each decade of work: below 10, [10, 100) ... slot-seconds."""
    decade = np.zeros(len(work), dtype=np.int64)
    some = work >= 1.0
    decade[some] = np.floor(np.log10(work[some])).astype(np.int64)
    count = np.bincount(decade, minlength=1)
    total = np.bincount(decade, weights=quotient(response, work), minlength=1)
    return count.astype(np.int64), quotient(total, count)
