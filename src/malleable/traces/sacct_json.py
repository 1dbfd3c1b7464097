"""Slurm's accounting records as JSON: what ``sacct --json`` writes.

Format: https://slurm.schedmd.com/rest_api.html (objects ``job`` of the database). Taken and assumed as in a
table of sacct, by what its columns are called there: job and element, cluster, user, account, partition, name,
state, times, time limit, and allocated (or required) CPUs. Steps are left out.
"""

from __future__ import annotations

from typing import Any

from malleable.traces.formats import File, Format, Head
from malleable.traces.job_columns import Column, cells_of, trace_of_cells
from malleable.traces.trace import Trace


def _number(value: Any) -> str:
    # A number, or one of Slurm's ``{"set": ..., "infinite": ..., "number": ...}``; "" if it is not set.
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    return f"{value}" if isinstance(value, int) and not isinstance(value, bool) else ""


def _moment(value: Any) -> str:
    text = _number(value)
    return "Unknown" if text in ("", "0") else text


def _tres(given: Any) -> str:
    # What it was given of each resource, as tables of sacct have it.
    listed = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    names = ["/".join(filter(None, (one.get("type"), one.get("name")))) for one in listed]
    counts = [_number(one.get("count")) for one in listed]
    pairs = zip(names, counts, strict=True)
    return ",".join(f"{name}={count}{'M' * (name == 'mem')}" for name, count in pairs if count)


# Fields, and their names in sacct's tables, whose reader makes the trace.
_TABLE = (
    Column("cluster", "Cluster"), Column("association/cluster", "Cluster"),
    Column("user", "User"), Column("association/user", "User"),
    Column("account", "Account"), Column("association/account", "Account"),
    Column("partition", "Partition"), Column("name", "JobName"), Column("job_id", "JobID", _number),
    Column("state/current", "State", lambda state: state[0] if isinstance(state, list) else f"{state}"),
    Column("time/submission", "Submit", _moment), Column("time/start", "Start", _moment),
    Column("time/end", "End", _moment), Column("time/elapsed", "ElapsedRaw", _number),
    Column("time/limit", "TimelimitRaw", _number), Column("required/CPUs", "ReqCPUS", _number),
    Column("tres/allocated", "AllocTRES", _tres), Column("tres/requested", "ReqTRES", _tres),
)  # fmt: skip
# The place of a job in an array or a heterogeneous job, and how sacct's tables write it.
_PARTS = (
    Column("array/job_id", "array", _number), Column("array/task_id", "_{}", _number),
    Column("array/task", "_[{}]"), Column("het/job_id", "het", _number),
    Column("het/job_offset", "+{}", _number),
)  # fmt: skip


def _parse(job: Any) -> list[dict[str, str]]:
    # A job by the names of sacct's columns.
    if not isinstance(job, dict) or "time" not in job:
        raise ValueError("not a job of sacct --json (squeue and scontrol do not tell its times)")
    cells = {"Start": "Unknown", **cells_of(job, _TABLE)}
    told = dict(part.split("=") for part in cells.get("AllocTRES", "").split(",") if part)
    cells["AllocCPUS"] = told.get("cpu", "")
    parts = cells_of(job, _PARTS)
    for whole, names in (("array", ("_{}", "_[{}]")), ("het", ("+{}",))):
        own = [name.format(parts[name].strip("[]")) for name in names if parts.get(name)]
        if own and parts.get(whole) not in (None, "", "0"):
            cells["JobID"] = parts[whole] + own[0]
    return [cells]


def _read(file: File) -> Trace:
    data = file.json()
    jobs = data.get("jobs") if isinstance(data, dict) else None
    if not isinstance(jobs, list):
        raise ValueError("no list of jobs in it")
    return trace_of_cells(file, _parse, enumerate(jobs, 1), "job", slurm_ids=True)


def _looks(head: Head) -> bool:
    words = ('"association"', '"time"', '"tres"', '"Slurm"', '"slurm"')
    return head.is_object and '"jobs"' in head.text and any(word in head.text for word in words)


FORMAT = Format("Slurm sacct JSON", _looks, _read)
