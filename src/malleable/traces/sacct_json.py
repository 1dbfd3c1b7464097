"""Slurm's accounting records as JSON: what ``sacct --json`` writes.

Format: https://slurm.schedmd.com/rest_api.html (objects ``job`` of the database). Taken and assumed as in a
table of sacct, by what its columns are called there: job and element, cluster, user, account, partition, name,
state, times, time limit, and allocated (or required) CPUs. Steps are left out.
"""

from __future__ import annotations

from typing import Any

from malleable.files.json import text_of
from malleable.traces.formats import File, Head, register
from malleable.traces.sacct import element_of, trace_of
from malleable.traces.trace import Trace


def _looks(head: Head) -> bool:
    words = ('"jobs"', '"association"', '"time"', '"tres"', '"Slurm"', '"slurm"')
    return (
        head.is_object and sum(word in head.text for word in words) >= 2 and '"jobs"' in head.text
    )


def _number(value: Any) -> str:
    """A number, or one of Slurm's ``{"set": ..., "infinite": ..., "number": ...}``; "" if it is not set."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    return f"{value}" if isinstance(value, int) and not isinstance(value, bool) else ""


def _moment(value: Any) -> str:
    text = _number(value)
    return "Unknown" if text in ("", "0") else text


def _part(job: dict[str, Any], name: str) -> dict[str, Any]:
    found = job.get(name, {})
    if not isinstance(found, dict):
        raise ValueError(f"{name}: not an object")
    return found


def _name(job: dict[str, Any]) -> str:
    array = _part(job, "array")
    whole, element = _number(array.get("job_id")), _number(array.get("task_id"))
    of_array = whole not in ("", "0") and element
    return f"{whole}_{element}" if of_array else _number(job.get("job_id"))


def _tres(job: dict[str, Any]) -> dict[str, str]:
    """What it was given of each resource, by names as tables of sacct have them."""
    given = _part(job, "tres").get("allocated")
    listed = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    names = ["/".join(filter(None, (one.get("type"), one.get("name")))) for one in listed]
    return dict(zip(names, (_number(one.get("count")) for one in listed), strict=True))


def _cells(job: Any) -> dict[str, str]:
    """A job by the names of sacct's columns."""
    if not isinstance(job, dict):
        raise ValueError("not a job of sacct")
    tres = _tres(job)
    time, state = _part(job, "time"), _part(job, "state").get("current")
    said = {**_part(job, "association"), **job}
    names = {"Cluster": "cluster", "User": "user", "Account": "account", "Partition": "partition"}
    texts = {field: said.get(name) for field, name in {**names, "JobName": "name"}.items()}
    texts["State"] = state[0] if isinstance(state, list) and state else state
    return {
        **{field: "" if value is None else text_of(value, field) for field, value in texts.items()},
        "JobID": _name(job),
        "Submit": _moment(time.get("submission")),
        "Start": _moment(time.get("start")),
        "End": _moment(time.get("end")),
        "ElapsedRaw": _number(time.get("elapsed")),
        "TimelimitRaw": _number(time.get("limit")),
        "AllocCPUS": tres.get("cpu", ""),
        "AllocTRES": ",".join(
            f"{name}={count}{'M' * (name == 'mem')}" for name, count in tres.items() if count
        ),
        "ReqCPUS": _number(_part(job, "required").get("CPUs")),
    }


def _read(file: File) -> Trace:
    data = file.json()
    jobs = data.get("jobs") if isinstance(data, dict) else None
    if not isinstance(jobs, list):
        raise ValueError("no list of jobs in it")
    numbered = enumerate(jobs, 1)
    return trace_of(
        file, file.records(lambda job: element_of(_cells(job), file.slots_from), numbered, "job")
    )


register("Slurm sacct JSON", _looks, _read)
