"""Flows (graphs of jobs) in the project's own JSON: ``{"slots": P, "flows": [...]}``."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any

from malleable.files.json import of_kind, text_of, texts_of
from malleable.files.reading import MAX_SIZE, Source, telling_of
from malleable.files.writing import write_file
from malleable.flows.table import JOB_KEYS, Flows
from malleable.jobs.table import ALL_SLOTS, check_keys, check_slots
from malleable.traces.formats import File, Format, read
from malleable.traces.tables import trace_of
from malleable.traces.trace import Trace
from malleable.validation import shown

_FLOW = ("name", "arrival", "weight", "deadline", "sla", "jobs")
_NUMBERS = {"arrival": 0.0, "weight": 1.0, "deadline": math.inf}
_OBJECT = "{}: expected an object"


def _items(entry: Any, key: str, keys: tuple[str, ...]) -> list[Any]:
    check_keys("", of_kind(entry, dict, _OBJECT), keys)
    return of_kind(entry.get(key), list, f"{key} = {{}}: expected a list")


def _value(entry: Mapping[str, Any], key: str, default: float | None) -> Any:
    found = entry.get(key)
    if isinstance(found, (bool, list, dict, str)):
        raise ValueError(f"{key} = {shown(found)}: not a number")
    return default if found is None else found


def _job(job: Any) -> dict[str, Any]:
    check_keys("", of_kind(job, dict, _OBJECT), JOB_KEYS)
    numbers = {key: _value(job, key, None) for key in ("work", "max_slots") if key in job}
    return {**job, **numbers, "after": texts_of(job, "after")}


def _flow(number: int, entry: Any) -> dict[str, Any]:
    with telling_of(f"flows[{number}]"):
        jobs = _items(entry, "jobs", _FLOW)
        name = text_of(entry.get("name", f"flow{number}"), "name")
    with telling_of(f"flow {shown(name)}"):
        rows = []
        for k, job in enumerate(jobs):
            with telling_of(f"jobs[{k}]"):
                rows.append(_job(job))
        numbers = {key: _value(entry, key, default) for key, default in _NUMBERS.items()}
    return {"name": name, "jobs": rows, "sla": entry.get("sla"), **numbers}


def _table(entries: list[tuple[int, Any]]) -> Flows:
    # Flows of these entries of the list, each with its number.
    flows = [_flow(number, entry) for number, entry in entries]
    return Flows(**{key: [flow[key] for flow in flows] for key in _FLOW})


def _read(file: File) -> Trace:
    content = file.json()
    entries = _items(content, "flows", ("slots", "flows"))
    flows = file.whole(list(enumerate(entries)), _table, "flows")
    if content.get("slots") is not None:
        flows.slots = check_slots(content["slots"])
    return trace_of(flows)


def read_flows(source: Source, *, skip_bad: bool = False, max_size: int | None = MAX_SIZE) -> Flows:
    """Read flows: ``read(source, ...).flows()``.

    Parameters
    ----------
    source, skip_bad, max_size
        As in `malleable.read`. Files of flows are the project's JSON (``{"slots": P, "flows": [...]}``),
        WfFormat instances, Alibaba's ``batch_task`` and Spark event logs.
        `Trace.flows` says how other traces become flows.

    Returns
    -------
    Flows
        ``flows.slots`` is the capacity that the file names, or None.

    Raises
    ------
    ValueError
        What is wrong, and where: the file, the flow, the job, the field, the value.
    OSError
        The file cannot be opened.

    See Also
    --------
    malleable.Flows : What is returned.

    Notes
    -----
    Time and memory are linear in the size of the file.

    Examples
    --------
    >>> import io
    >>> import malleable as mb
    >>> text = '{"slots": 9, "flows": [{"name": "query", "jobs": [{"name": "scan", "work": 50}]}]}'
    >>> len(mb.read_flows(io.StringIO(text)))
    1
    """
    return read(source, skip_bad=skip_bad, max_size=max_size).flows()


def _said(**values: tuple[Any, Any]) -> dict[str, Any]:
    # Values that differ from their defaults; both are given.
    return {key: value for key, (value, default) in values.items() if value != default}


def flows_dict(flows: Flows, slots: int | None = None) -> dict[str, Any]:
    """Flows in the types of their JSON format; what is a default is left out."""
    local, rates = flows.local_names(), flows.speedup
    listed = []
    for k, steps in enumerate(flows.sla):
        jobs = []
        for row in range(int(flows.job_offset[k]), int(flows.job_offset[k + 1])):
            job = {"name": local[row], "work": float(flows.work[row])}
            most, above = int(flows.max_slots[row]), [local[p] for p in flows.after(row)]
            fast = 1.0 if rates is None else rates[row]
            fast = fast if isinstance(fast, float) else fast.tolist()
            said = _said(max_slots=(most, ALL_SLOTS), after=(above, []), speedup=(fast, 1.0))
            jobs.append(job | said)
        columns = {key: getattr(flows, key) for key in _NUMBERS}
        numbers = {key: (float(own[k]), _NUMBERS[key]) for key, own in columns.items()}
        said = _said(**numbers, sla=([list(step) for step in steps], []))
        listed.append({"name": flows.name[k], **said, "jobs": jobs})
    capacity = flows.slots if slots is None else slots
    return ({} if capacity is None else {"slots": capacity}) | {"flows": listed}


def write_flows(
    path: str | os.PathLike[str], flows: Flows, *, slots: int | None = None, force: bool = True
) -> None:
    """Write flows as JSON that `read_flows` reads back.

    Parameters
    ----------
    path : path
        The file, written as a whole or not at all.
    flows : Flows
        The table.
    slots : int, optional
        Capacity that the file names; by default that of ``flows``.
    force : bool
        False: an existing file is refused.

    Raises
    ------
    FileExistsError
        The path exists and ``force`` is false.

    Notes
    -----
    O(jobs + parents).

    See Also
    --------
    malleable.read_flows : Reads the file again.

    Examples
    --------
    >>> import malleable as mb
    >>> mb.write_flows("flows.json", mb.Flows([[{"name": "scan", "work": 50}]], name=["query"]), slots=9)
    >>> mb.read_flows("flows.json").name
    ('query',)
    """
    write_file(path, json.dumps(flows_dict(flows, slots), indent=1) + "\n", force)


FORMAT = Format("file of flows", lambda head: head.is_object and '"flows"' in head.text, _read)
