"""The outcome of a cluster simulation: metrics, mean stretch by size of job, one record a job. ``found`` are
the core's columns by job (``start``, ``completion``, NaN: not ended), ``totals`` its sums over time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable.arrays import Floats, numbered, quotient
from malleable.cluster.slots import job_slots
from malleable.cluster.table import ClusterJobs
from malleable.jobs.table import Jobs
from malleable.objective import parse_objective
from malleable.records import by_decade, job_names, job_records, ratio, response_summary

EXTRA_COLUMNS = ("user", "work", "deadline")
_TIMES = ("start", "map_completion", "completion")
# Names of metrics of users and of flows, by the names of `response_summary`.
_OF_USERS = {
    "response": "mean_response",
    "p95": "p95",
    "longest_wait": "longest_wait",
    "stretch": "mean_stretch",
}
_OF_FLOWS = _OF_USERS | {"max_response": "max_response", "max_stretch": "max_stretch"}


def _outcome(jobs: ClusterJobs, found: Mapping[str, Any]) -> tuple[Any, Floats, Floats]:
    # Rows, responses and work of the jobs that have ended.
    rows = np.flatnonzero(np.isfinite(found["completion"]))
    response = np.maximum(found["completion"][rows] - jobs.arrival[rows], 0.0)
    return rows, response, (jobs.map_work + jobs.reduce_work)[rows]


def summary_of(
    jobs: ClusterJobs, totals: Mapping[str, Any], found: Mapping[str, Any], users: list[str]
) -> dict[Any, float]:
    rows, response, work = _outcome(jobs, found)
    stretch = quotient(response, work)
    weight = jobs.weight[rows]
    now = float(totals["now"])
    wait = np.maximum(found["start"][rows] - jobs.arrival[rows], 0.0)
    late = found["completion"] > jobs.deadline + 1e-9 * np.maximum(1.0, np.abs(jobs.deadline))
    late |= ~np.isfinite(found["completion"]) & (jobs.deadline < now)
    placed = totals["local"] + totals["remote"]
    summary: dict[Any, float] = {
        "jobs": float(len(rows)),
        "unfinished": float(len(jobs) - len(rows)),
        **response_summary(response, work, wait),
        "weighted_response": ratio(float(weight @ response), float(weight.sum())),
        "makespan": float(found["completion"][rows].max()) if len(rows) else math.nan,
        "missed_deadlines": float(late[np.isfinite(jobs.deadline)].sum()),
        "jain_fairness": ratio(float(stretch.sum()) ** 2, len(rows) * float(stretch @ stretch)),
        "mean_jobs": ratio(totals["jobs_seconds"], now),
        "map_utilisation": ratio(totals["map_busy"], totals["map_offered"]),
        "reduce_utilisation": ratio(totals["reduce_busy"], totals["reduce_offered"]),
        "lost_slots": ratio(totals["map_lost"] + totals["reduce_lost"], now),
        "idle_slots": ratio(totals["map_idle"] + totals["reduce_idle"], now),
        "locality": ratio(totals["local"], placed),
        "decisions": float(totals["decisions"]),
        "churn": ratio(totals["moved"], totals["decisions"]),
        "tasks": float(totals["tasks"]),
        "failed_attempts": float(totals["failed"]),
        "killed_tasks": float(totals["killed"]),
        "lost_outputs": float(totals["outputs_lost"]),
        "preempted_tasks": float(totals["preempted"]),
        "backup_tasks": float(totals["backups"]),
        "backups_won": float(totals["backups_won"]),
        "wasted_slot_seconds": float(totals["wasted"]),
        "dissatisfaction": ratio(totals["dissatisfaction"], now),
        "user_fairness": ratio(totals["fairness"], now),
        "end": now,
    }
    summary |= _due(jobs, found["completion"], late, now)
    if "remote_bytes" in totals:
        summary["remote_bytes"] = totals["remote_bytes"]
    if jobs.flow is not None:
        summary |= _flow_summary(jobs, found)
    if jobs.user is not None:
        owner = np.array(jobs.user, dtype=object)[rows]
        for user in users:
            own = owner == user
            if own.any():
                found_of = response_summary(response[own], work[own], wait[own])
                summary |= {(name, user): found_of[key] for name, key in _OF_USERS.items()}
    return summary


def _due(jobs: ClusterJobs, completion: Floats, late: Any, now: float) -> dict[str, float]:
    # Lateness of finished jobs with deadlines, and the cost of the SLAs of all jobs so far.
    summary = {}
    rows = np.flatnonzero(np.isfinite(completion) & np.isfinite(jobs.deadline))
    if len(rows):
        lateness = completion[rows] - jobs.deadline[rows]
        tardiness = np.where(late[rows], lateness, 0.0)
        summary = {
            "mean_lateness": float(lateness.mean()),
            "max_lateness": float(lateness.max()),
            "mean_tardiness": float(tardiness.mean()),
            "max_tardiness": float(tardiness.max()),
        }
    if jobs.sla_offset is not None:
        table = Jobs(np.zeros(len(jobs)), weight=jobs.weight, sla=jobs.sla)
        paid = parse_objective("sum:sla").penalties(table).of_jobs(np.fmin(completion, now))
        summary["sla_cost"] = float(paid.sum())
    return summary


def _flow_summary(jobs: ClusterJobs, found: Mapping[str, Any]) -> dict[str, float]:
    # A flow (jobs that wait for each other) arrives with its first job and ends with its last one.
    names, flow = numbered(jobs.flow or ())
    count = len(names)
    arrival, work = np.full(count, math.inf), np.zeros(count)
    completion, start = np.full(count, -math.inf), np.full(count, math.inf)
    np.minimum.at(arrival, flow, jobs.arrival)
    np.fmin.at(start, flow, found["start"])
    np.add.at(work, flow, jobs.map_work + jobs.reduce_work)
    np.maximum.at(completion, flow, np.nan_to_num(found["completion"], nan=math.inf))
    done = np.isfinite(completion)
    response = np.maximum(completion - arrival, 0.0)[done]
    wait = np.maximum(start - arrival, 0.0)[done]
    own = response_summary(response, work[done], wait)
    return {
        "flows": float(done.sum()),
        **{f"flow_{name}": own[key] for name, key in _OF_FLOWS.items()},
    }


def slowdown_of(
    jobs: ClusterJobs, found: Mapping[str, Any]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Jobs and mean response / work in each decade of work: [1, 10), [10, 100) ... slot-seconds."""
    _, response, work = _outcome(jobs, found)
    return by_decade(work, response)


def records_of(
    jobs: ClusterJobs,
    policy: str,
    found: Mapping[str, Any],
    trace: Mapping[str, npt.NDArray[Any]] | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """One row for each finished job; with a trace (and its slots) the slots that it really held."""
    rows, _, _ = _outcome(jobs, found)
    # Readers of Batsim's records expect sets of slots. Without a trace only the largest number of
    # tasks at once is known, so the slots are numbered from 0.
    if trace is None:
        most = found["most_slots"][rows].tolist()
        held = ["" if n == 0 else "0" if n == 1 else f"0-{n - 1}" for n in most]
    else:
        held = job_slots(trace, rows)
    work = (jobs.map_work + jobs.reduce_work)[rows]
    times = [jobs.arrival[rows], *(found[name][rows] for name in _TIMES)]
    told = rows, job_names(jobs.name, rows), times, work
    slots = {"slots": np.maximum(jobs.maps, jobs.reduces)[rows], "held": np.array(held, dtype=str)}
    records = job_records("cluster", policy, *told, requested_time=-1.0, **slots)
    users = np.array(["" if jobs.user is None else jobs.user[r] for r in rows.tolist()], dtype=str)
    return records | dict(zip(EXTRA_COLUMNS, (users, work, jobs.deadline[rows]), strict=True))
