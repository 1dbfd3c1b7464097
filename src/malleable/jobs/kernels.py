"""Single kernels, for schedulers of your own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.columns import Floats, Integers, ids_of
from malleable.domain import (
    MOST_SLOTS,
    WORK,
    check_amount,
    check_count,
    check_slots,
    check_time,
    check_whole,
)
from malleable.jobs.table import Jobs, check_min_mode
from malleable.lines import counted
from malleable.objective import ObjectiveLike, PenaltyLike, parse_objective
from malleable.values import by_value


@by_value()
class Allocation(NamedTuple):
    """Slots fixed for each job's life, the objective, a floor under it, and whether they are equal."""

    slots: Integers
    value: float
    lower_bound: float
    exact: bool


# A function of one's own is asked for every number of slots that a job may use.
_MOST_CALLS = 1 << 22

SpeedupTables = Sequence[Mapping[int, float]]


def resource_allocation(
    jobs: Jobs,
    slots: int,
    objective: ObjectiveLike = "sum:response",
    *,
    now: float = 0.0,
    min_mode: str = "guarantee",
    speedup: SpeedupTables | Callable[[int, int], float] | None = None,
    effort: int | None = None,
    penalty: PenaltyLike | None = None,
) -> Allocation:
    """Exact separable resource allocation: the moldable optimum.

    Parameters
    ----------
    jobs, slots, objective, now, min_mode, penalty
        As in `malleable.plan`.
    speedup : sequence of {slots: seconds}, optional
        Duration of each job for the slot counts that it may use, instead of work / slots. A function
        of (row, slots) is asked for every count, 2^22 times in all at most. Counts
        between two entries run like the lower one, and more slots never take longer.
    effort : int, optional
        States that the search for non-convex penalties may visit. When they do not suffice the lower
        convex envelope, rounded to whole slots, comes back with its certified lower bound.

    Returns
    -------
    Allocation
        Slots (int64, shape (J,)); 0 for jobs that have to wait because there are more jobs than slots.

    Notes
    -----
    FLEX, section 3.1. O(J) expected for convex sums with linear speed-up, a factor log(slots) more for
    other convex sums and for max objectives; multiple-choice knapsack otherwise.
    """
    goal = parse_objective(objective, len(jobs))
    slots = check_slots(slots)
    now = check_time("now", now)
    check_min_mode(min_mode)
    penalties = goal.penalties(jobs, penalty=penalty)
    table: tuple[Any, Any, Any] = (None, None, None)
    if speedup is not None:
        table = _flatten_tables(jobs, slots, speedup)
    result = _core.resource_allocation(
        jobs,
        slots,
        now,
        min_mode == "gang",
        penalties,
        goal.is_max,
        _core.KNAPSACK_EFFORT if effort is None else check_count("effort", effort),
        *table,
    )
    return Allocation(*result)


def _flatten_tables(
    jobs: Jobs, slots: int, speedup: SpeedupTables | Callable[[int, int], float]
) -> tuple[Integers, Integers, Floats]:
    if callable(speedup):
        calls = int(np.minimum(jobs.max_slots, slots).sum(dtype=np.float64))
        if calls > _MOST_CALLS:
            raise ValueError(
                f"speedup: a function would be asked {calls} times, at most {_MOST_CALLS}; give "
                "tables, or lower max_slots"
            )
        rows = [
            {s: speedup(j, s) for s in range(1, min(slots, int(jobs.max_slots[j])) + 1)}
            for j in range(len(jobs))
        ]
    else:
        rows = [dict(row) for row in speedup]
    if len(rows) != len(jobs):
        tables, expected = counted(len(rows), "table"), counted(len(jobs), "job")
        raise ValueError(f"speedup has {tables} but there are {expected}")
    offset, counts, durations = [0], [], []
    for row, entries in enumerate(rows):
        if not entries:
            raise ValueError(f"speedup[{row}]: an empty table")
        for count, duration in sorted(entries.items()):
            counts.append(check_whole(f"speedup[{row}]", count, 1, MOST_SLOTS))
            durations.append(check_amount(f"speedup[{row}][{count}]", duration, WORK))
        offset.append(len(counts))
    return (
        np.array(offset, dtype=np.int64),
        np.array(counts, dtype=np.int64),
        np.array(durations, dtype=np.float64),
    )


def malleable_packing(
    jobs: Jobs, slots: int, order: npt.ArrayLike, *, min_mode: str = "guarantee"
) -> Floats:
    """Completions [s from now] of the malleable packing scheme for a priority order.

    ``order`` is a permutation of the job rows. FLEX, figure 3. O(J) expected, O(J log J) at worst.
    """
    rows = ids_of(order, "order")
    slots = check_slots(slots)
    check_min_mode(min_mode)
    return _core.malleable_packing(jobs, slots, min_mode == "gang", rows)
