"""The simulation of the slotted model: map and reduce tasks on N machines, in steps of time; a machine does one
unit of work in a step. The flow time of a job is the number of steps in which it is in the system."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from malleable import _core
from malleable.arrays import Floats, Integers
from malleable.policies import policy_names, policy_of
from malleable.results import SimulationResult
from malleable.slotted.generate import MapReduceStream
from malleable.slotted.table import MapReduceJobs, join_tables
from malleable.streaming import (
    Part,
    Source,
    by_arrival,
    kept_records,
    queue_records,
    seed_of,
    warn_of_load,
)
from malleable.traces.job_table import table_of
from malleable.validation import check_whole, checked_flag, suggesting

POLICIES = policy_names("slotted")
_LAST_STEP = 2**50  # of a simulation
_MOST_SERIES = 10**8  # steps of a series
_MOST_BUSY = 2**31  # most steps of work in a table, which takes some minutes

_Columns = tuple[Integers, Integers, Integers, Integers]


def _columns(jobs: MapReduceJobs) -> _Columns:
    return jobs.arrival, jobs.map, jobs.task_offset, jobs.task


def _in_order(jobs: MapReduceJobs) -> tuple[_Columns, Integers]:
    order = by_arrival(jobs.arrival)
    in_order = np.array_equal(order, np.arange(len(jobs)))
    return _columns(jobs if in_order else jobs.take(order)), order


def checked_machines(machines: Any) -> int:
    return check_whole("machines", machines, 1, 2**40)


def srpt_finish(jobs: MapReduceJobs, machines: int) -> Integers:
    """The step in which SRPT without precedence between map and reduce ends each job, shape (J,); for jobs
    without work the step before their arrival.

    The sum of ``finish - arrival + 1`` is a lower bound of the total flow time of every schedule, preemptive
    or not, online or offline. O(J log J), however many steps. Source: Zheng, Shroff, Sinha 2013, lemma 1."""
    columns, order = _in_order(jobs)
    finish = np.empty(len(jobs), dtype=np.int64)
    finish[order], _ = _core.srpt_finish(*columns, machines=checked_machines(machines))
    return finish


def lower_bounds(jobs: MapReduceJobs, machines: int, preemptive: bool = True) -> tuple[int, int]:
    """Two lower bounds of the total flow time [steps] of every schedule: that of `srpt_finish`, and a larger
    one.

    The second one, which is ours, depends on whether reduce tasks may be cut (``preemptive``); the header of
    the core's `kernel/flow_time_bounds` says how. O(J log J + tasks). Source: Zheng, Shroff, Sinha 2013,
    lemma 1."""
    columns, _ = _in_order(jobs)
    count = checked_machines(machines)
    return _core.flow_time_bounds(*columns, machines=count, preemptive=bool(preemptive))


@suggesting
def run(
    jobs: Any,
    policy: str,
    *,
    rng: np.random.Generator | int | None = None,
    estimates: Any = None,
    machines: int = 100,
    preemptive: bool = True,
    horizon: int | None = None,
    records: bool | None = None,
    bound: bool | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SimulationResult:
    """Simulate one policy for map and reduce tasks on alike machines, in steps of time.

    Parameters
    ----------
    jobs : MapReduceJobs or MapReduceStream
        A table in any order, or a stream of jobs that are drawn while the simulation runs.
    policy : {"asrpt", "unlock", "dsrpt", "srpt", "lrpt", "fifo", "fair"}
        ``asrpt`` is algorithm 1 of Zheng, Shroff, Sinha 2013, ``unlock`` is ours (docs/internals/models.md).
        ``dsrpt`` is defined only for preemptive reduce tasks. ``srpt`` takes the job with the least work left
        among jobs that can start a task, ``lrpt`` the most.
    rng, records, progress
        As for `malleable.simulate`.
    estimates : float, "column" or array_like, shape (J,), optional
        Reduce work as policies see it; the numbers of tasks are always known. None: the truth. A number: the
        standard deviation of a log-normal error. ``"column"``: the table's ``reduce_estimate``. An array:
        work [units]. A stream takes only None and a number. If a job outlives its estimate, a quarter of
        the work done so far counts as left.
    machines : int
        Number of machines. A machine does one unit of work in a step.
    preemptive : bool
        True: reduce work may be divided among machines and interrupted after every unit. False: a reduce task
        keeps one machine to its end.
    horizon : int, optional
        Last step. Later jobs are left out; unfinished ones are only counted.
    bound : bool, optional
        Whether to compute the lower bound of SRPT; by default for tables only, because it keeps all jobs in
        memory.

    Returns
    -------
    SimulationResult
        Times are in steps. Step a begins at time a - 1, so a job that arrives in step a and ends in step f
        has a response of f - a + 1. Stretch is response over units of work. ``slowdown`` compares the
        response with the steps that the job would take alone on all machines; entry k is for jobs of 2^k to
        less than 2^(k + 1) units.

    Raises
    ------
    ValueError
        An unknown policy, or a value out of its range.

    Warns
    -----
    RuntimeWarning
        The load of a stream is 1 or more. The simulation stops at the last step of arrivals, or at the
        horizon.

    Notes
    -----
    Memory holds a chunk of jobs, the jobs in the system, and kept records. The header of the core's
    `sim/slotted` gives costs. Source: Zheng, Shroff, Sinha 2013, sections III, VI and VII.
    """
    if not isinstance(jobs, MapReduceStream):
        jobs = table_of(jobs, MapReduceJobs)
    policy_of("slotted", policy)
    count = checked_machines(machines)
    keep = kept_records(records, isinstance(jobs, MapReduceStream))
    checked_flag("preemptive", preemptive)
    last, expected = _length(jobs, count, horizon)
    seed = seed_of(rng)
    # seed of the errors of estimates; a stream draws its errors apart from its jobs
    errors = None if isinstance(jobs, MapReduceStream) else seed
    source = Source(jobs, seed, estimates, {"reduce_estimate": "reduce_work"}, errors)
    how = {"preemptive": bool(preemptive), "records": keep}
    sim = _core.SlottedSim(machines=count, policy=policy, **how)
    bounded = not source.stream if bound is None else bound
    fed: list[MapReduceJobs] = []

    def feed(part: Part) -> None:
        sim.feed(*_columns(part.jobs), estimate=None if part.seen is None else part.seen[0])
        if bounded:
            fed.append(part.jobs)

    began = time.perf_counter()
    complete, entered = source.feed(last, expected, feed, lambda: sim.advance(last), progress)
    seconds = time.perf_counter() - began
    summary = sim.summary()
    if bounded and complete and summary["jobs"] == entered > 0:
        summary |= _bounds(summary, *lower_bounds(join_tables(fed), count, bool(preemptive)))
    kept = None
    if keep and isinstance(jobs, MapReduceJobs):
        units = (jobs.map + jobs.reduce_work).astype(np.float64)
        # Step a begins at a - 1.
        kept = queue_records("slotted", policy, jobs, sim.take_records(), units, zero=1.0)
    parts = {policy: summary}, {policy: sim.slowdown()}, {policy: seconds}
    return SimulationResult("slotted", kept, *parts, complete)


def _length(jobs: MapReduceJobs | MapReduceStream, machines: int, horizon: Any) -> tuple[int, int]:
    # The last step, and how many jobs are expected; ValueError for a table that would never end.
    last = 2 * _LAST_STEP if horizon is None else check_whole("horizon", horizon, 1, _LAST_STEP)
    if isinstance(jobs, MapReduceStream):
        if jobs.rate * jobs.mean_work >= machines:
            last = max(jobs.steps, 1) if horizon is None else last
            warn_of_load("last arrival" if horizon is None else "horizon")
        return last, round(jobs.steps * jobs.rate)
    units = int(jobs.map.sum() + jobs.task.sum())
    if horizon is None and units > _MOST_BUSY * machines:
        told = f"jobs: {units} units fill {units // machines} steps of machines = {machines}"
        ways = "say horizon, or count work in larger units"
        raise ValueError(f"{told}, more than 2^31; {ways}")
    return last, len(jobs)


def _bounds(summary: dict[str, float], least: int, tight: int) -> dict[str, float]:
    done, total = summary["jobs"], summary["total_response"]
    bounds = {"lower_bound": least / done, "tight_bound": tight / done}
    return bounds | ({"ratio": total / least, "tight_ratio": total / tight} if least > 0 else {})


def _in_system(arrival: Integers, finish: Integers, steps: int) -> Floats:
    # Number of jobs in the system in each step.
    real = finish >= arrival
    change = np.bincount(np.minimum(arrival[real], steps + 1), minlength=steps + 2).astype(float)
    change -= np.bincount(np.minimum(finish[real] + 1, steps + 1), minlength=steps + 2)
    return np.cumsum(change)[1 : steps + 1]


def efficiency_over_time(
    result: SimulationResult, jobs: MapReduceJobs, machines: int, *, steps: int | None = None
) -> dict[str, Floats]:
    """Efficiency ratio up to every step: flow time so far, over that of the SRPT bound so far.

    ``result`` has records of these ``jobs`` on this many ``machines``; ``steps`` is the length of the series,
    by default up to the last completion. Returns by policy an array, whose entry t - 1 is for steps 1 to t,
    NaN before the first arrival.

    A job adds 1 to the flow time in every step in which it is in the system (section III's delay cost). O(J
    log J + steps). Source: Zheng, Shroff, Sinha 2013, definition 2 and figure 9."""
    records = result.kept_records()
    finishes: dict[str, Integers] = {}
    for policy in result.summary:
        chosen = records["policy"] == policy
        finish = np.full(len(jobs), _LAST_STEP, dtype=np.int64)
        finish[records["job_id"][chosen]] = records["completion"][chosen]
        finishes[policy] = finish
    best = srpt_finish(jobs, machines)
    if steps is None:
        ended = [finish[finish < _LAST_STEP] for finish in finishes.values()]
        steps = int(max((int(each.max()) for each in (best, *ended) if len(each)), default=0))
        if steps > _MOST_SERIES:
            raise ValueError(f"steps: the last completion is in step {steps}; say how many to show")
    with np.errstate(invalid="ignore", divide="ignore"):
        least = np.cumsum(_in_system(jobs.arrival, best, steps))
        return {
            policy: np.cumsum(_in_system(jobs.arrival, finish, steps)) / least
            for policy, finish in finishes.items()
        }
