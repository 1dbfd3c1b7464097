"""The simulation of malleable jobs that arrive, in a loop that decides at every event, or every ``period``
seconds and holds the slots in between."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from malleable import _core
from malleable.arrays import Floats
from malleable.estimate_errors import believed
from malleable.files.advice import AdvisedError
from malleable.jobs.epoch import Epoch
from malleable.jobs.table import Jobs
from malleable.objective import KINDS, Objective, ObjectiveLike, met_deadlines, parse_objective
from malleable.policies import policy_of
from malleable.records import by_decade, job_names, job_records, mean_of, ratio, response_summary
from malleable.results import SimulationResult
from malleable.streaming import by_arrival
from malleable.traces.job_table import table_of
from malleable.validation import (
    WEIGHT,
    check_amount,
    check_slots,
    check_time,
    checked_flag,
    checked_positive,
    suggesting,
)

# Calls of progress in a run.
PARTS = 64


@suggesting
def run(
    jobs: Any,
    policy: str,
    *,
    rng: np.random.Generator | int | None = None,
    estimates: Any = None,
    slots: int | None = None,
    load: float | None = None,
    period: float = 0.0,
    objective: ObjectiveLike = "sum:response",
    knows_period: bool = True,
    min_mode: str = "guarantee",
    hysteresis: float = 0.0,
    effort: int | None = None,
    predictable: float | None = None,
    sizes: str = "known",
    horizon: float | None = None,
    records: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> SimulationResult:
    """Simulate a loop that asks one policy for slots, with malleable jobs that come and end.

    Parameters
    ----------
    jobs : Jobs
        The jobs that arrive, in any order.
    policy : {"flex", "fair", "fifo", "wdeq", "hesrpt"}
        As for `malleable.Epoch`.
    rng, records, progress
        As for `malleable.simulate`; ``rng`` draws the errors of estimates.
    estimates : float or array_like, shape (J,), optional
        Work as the policy sees it. None: the truth. A number: the standard deviation of a log-normal error.
        An array: work [slot-seconds]. Done work is subtracted, so an estimate may run out before the job
        ends.
    slots : int, optional
        Capacity.
    load : float, optional
        Instead of ``slots``: work over the slot-seconds between the first and the last arrival.
    period : float
        The loop asks at time 0 and then every ``period`` seconds, and holds the slots in between, also those
        of a job that has ended. 0: it asks whenever a job comes or ends.
    objective : str or sequence of str
        Objective of ``flex``, as for `malleable.plan`, except for ``custom``.
    knows_period : bool
        False shows what it costs if a loop does not say its period.
    min_mode, hysteresis, effort, predictable, sizes
        As for `malleable.Epoch`; all but ``min_mode`` and ``sizes`` for ``flex`` only.
    horizon : float, optional
        The simulation stops at this time [s]. Unfinished jobs are only counted.

    Returns
    -------
    SimulationResult
        ``summary`` has for each policy:

        - ``jobs``, ``unfinished``: jobs that ended, and jobs that did not;
        - ``value``: of the objective, over the jobs that ended;
        - ``mean_response``, ``p50``, ``p95``, ``p99``, ``max_response`` [s];
        - ``longest_wait``: the longest time until the first slot [s];
        - ``mean_stretch``: response over work;
        - ``mean_tardiness``, ``max_tardiness``: weighted, over the jobs with deadlines [s];
        - ``tardy_share``: part of the weight of the jobs with deadlines that ends late;
        - ``utilisation``: work done over what the slots could do until the last job ended;
        - ``idle_assigned``: part of the held slot-seconds in which a slot waits for the next decision;
        - ``overload``: part of the decisions that reported overload;
        - ``decisions``, ``end``: how often the loop asked, and when the simulation stopped [s];
        - ``end_error`` (with ``predictable``): mean of |end - promised end| / (promised end - arrival).

        ``slowdown`` has an entry for each power of ten of the work.

    Raises
    ------
    ValueError
        An unknown policy, or a value out of its range.

    Notes
    -----
    Between two decisions the simulation is exact. A decision takes O(present jobs) beside its own
    cost; 100,000 jobs take some seconds. A job without work ends when it arrives."""
    jobs = table_of(jobs, Jobs)
    row = policy_of("jobs", policy)
    goal = parse_objective(objective, len(jobs))
    if goal.custom:
        raise ValueError("objective: custom is not simulated")
    goal.penalties(jobs)  # a kind may need a deadline
    count = _slots(jobs, slots, load)
    held = check_amount("period", period, WEIGHT)
    checked_flag("knows_period", knows_period)
    last = math.inf if horizon is None else check_time("horizon", horizon)
    seen = believed(jobs, estimates, {"work": jobs.work}, np.random.default_rng(rng))
    order = by_arrival(jobs.arrival)
    kinds = goal.kinds if len(goal.kinds) == 1 else goal.kinds[order]
    own = row.follows_objective
    only_flex: dict[str, Any]
    only_flex = {"hysteresis": hysteresis, "effort": effort, "predictable": predictable}
    Epoch(count, **only_flex)  # refuses a wrong value, also for a policy that makes no use of it
    common = f"{goal.aggregate}:{KINDS[goal.first_kind]}"  # of jobs without a kind of their own
    how: dict[str, Any] = {"min_mode": min_mode, "sizes": sizes} | (only_flex if own else {})
    epoch = Epoch(count, common, policy, **how)._core
    estimated = None if seen is None else np.ascontiguousarray(seen[0][order])
    loop = _core.PeriodicLoop(epoch, jobs.take(order), estimated, kinds, held, knows_period)
    began = time.perf_counter()
    complete = _advance(loop, jobs, last, progress)
    seconds = time.perf_counter() - began
    start, completion = (np.empty(len(jobs)) for _ in range(2))
    results = loop.results()
    start[order], completion[order] = results["start"], results["completion"]
    summary = _summary(jobs, goal, count, (start, completion), results)
    if predictable is not None and own:
        ends = np.empty(len(jobs))
        ends[order] = results["promised"]
        asked = ends - jobs.arrival
        known = np.isfinite(completion) & np.isfinite(ends) & (asked > 0.0)
        summary["end_error"] = mean_of(np.abs(completion - ends)[known] / asked[known])
    done = np.isfinite(completion)
    decades = by_decade(jobs.work[done], completion[done] - jobs.arrival[done])
    kept = _records(jobs, policy, count, start, completion) if records else None
    parts = {policy: summary}, {policy: decades}, {policy: seconds}
    return SimulationResult("jobs", kept, *parts, complete)


def _slots(jobs: Jobs, slots: int | None, load: float | None) -> int:
    if (slots is None) == (load is None):
        raise AdvisedError(
            "how many slots are there?", "give slots or a load", "give --slots N or --load L"
        )
    if slots is not None:
        return check_slots(slots)
    wanted = checked_positive("load", load)  # type: ignore[arg-type]
    span = float(np.ptp(jobs.arrival)) if len(jobs) else 0.0
    if span == 0.0:
        raise ValueError("load: jobs that all arrive at once have no load; give slots")
    return check_slots(max(1, math.ceil(float(jobs.work.sum()) / (span * wanted))))


def _advance(
    loop: _core.PeriodicLoop, jobs: Jobs, last: float, progress: Callable[[int, int], None] | None
) -> bool:
    # Run to the end; False after Ctrl-C.
    try:
        # First the calls up to the last arrival, in parts, then all others.
        first, latest = (jobs.arrival.min(), jobs.arrival.max()) if len(jobs) else (0.0, 0.0)
        for k, until in enumerate(np.linspace(first, latest, PARTS)[1:].tolist(), 1):
            loop.advance(min(until, last))
            if progress is not None:
                progress(k, PARTS)
        loop.advance(math.nextafter(last, math.inf))
        if progress is not None:
            progress(PARTS, PARTS)
    except KeyboardInterrupt:
        return False
    return True


def _summary(
    jobs: Jobs, goal: Objective, slots: int, times: tuple[Floats, Floats], totals: Any
) -> dict[str, float]:
    start, completion = times
    done = np.isfinite(completion)
    response = np.maximum(completion - jobs.arrival, 0.0)[done]
    size = jobs.size[done]
    paid = goal.penalties(jobs).of_jobs(np.where(done, completion, 0.0))[done]
    begin = float(jobs.arrival.min()) if done.any() else 0.0
    end = float(completion[done].max()) if done.any() else 0.0
    worth = (paid.max() if goal.is_max else paid.sum()) if len(paid) else math.nan
    return {
        "jobs": float(done.sum()),
        "unfinished": float(len(jobs) - done.sum()),
        "value": float(worth),
        **response_summary(response, size, start[done] - jobs.arrival[done]),
        **_due(jobs, completion, done),
        "utilisation": ratio(float(jobs.work[done].sum()), slots * (end - begin)),
        "idle_assigned": ratio(totals["idle"], totals["held"]),
        "overload": ratio(totals["overloaded"], totals["decisions"]),
        "decisions": float(totals["decisions"]),
        "end": end,
    }


def _due(jobs: Jobs, completion: Floats, done: Any) -> dict[str, float]:
    # Weighted tardiness [s], and the share of weight that is late, of the ended jobs with deadlines.
    due = done & np.isfinite(jobs.deadline)
    if not due.any():
        return {}
    weight, deadline, end = jobs.weight[due], jobs.deadline[due], completion[due]
    late = ~met_deadlines(deadline, end, np.zeros(len(end)))
    tardiness = weight * np.where(late, end - deadline, 0.0)
    return {
        "mean_tardiness": float(tardiness.mean()),
        "max_tardiness": float(tardiness.max()),
        "tardy_share": ratio(float(weight[late].sum()), float(weight.sum())),
    }


def _records(jobs: Jobs, policy: str, slots: int, start: Floats, completion: Floats) -> Any:
    rows = np.flatnonzero(np.isfinite(completion))
    most = np.minimum(jobs.max_slots[rows], slots)
    times = [own[rows] for own in (jobs.arrival, start, completion, completion)]
    told = rows, job_names(jobs.name, rows), times, jobs.size[rows]
    asked: dict[str, Any] = {"requested_time": jobs.work[rows] / most, "slots": most}
    more = {"work": jobs.work[rows], "deadline": jobs.deadline[rows]}
    return job_records("jobs", policy, *told, **asked) | more
