"""Flows in the project's own JSON, and reading whichever format a file of flows has."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import IO, Any, cast

from malleable.domain import checked_choice, shown
from malleable.files.advice import AdvisedError
from malleable.files.json import parse_json, text_of
from malleable.files.reading import MAX_SIZE, Source, open_text, telling_of
from malleable.files.writing import write_file
from malleable.flows.table import JOB_KEYS, Flows
from malleable.jobs.table import ALL_SLOTS, check_keys, check_slots
from malleable.traces.alibaba import read_alibaba
from malleable.traces.wfformat import workflow_flows

__all__ = ["flows_dict", "looks_like_flows", "read_flows", "write_flows"]

_TOP = ("slots", "flows")
_FLOW = ("name", "arrival", "weight", "deadline", "sla", "jobs")


def _known(entry: Any, keys: tuple[str, ...], where: str) -> Mapping[str, Any]:
    """The entry, if it is an object with no other keys."""
    if not isinstance(entry, Mapping):
        raise ValueError(f"{where}: {shown(entry)}: expected an object")
    check_keys(f"{where}: ", entry, keys)
    return entry


def _items(entry: Mapping[str, Any], key: str, where: str) -> list[Any]:
    found = entry.get(key)
    if not isinstance(found, list):
        raise ValueError(f"{where}: {key} = {shown(found)}: expected a list")
    return found


def _value(entry: Mapping[str, Any], key: str, default: float) -> Any:
    found = entry.get(key)
    if isinstance(found, (bool, list, dict, str)):
        raise ValueError(f"{key} = {shown(found)}: not a number")
    return default if found is None else found


def _own_flows(content: Mapping[str, Any], where: str) -> Flows:
    _known(content, _TOP, where)
    jobs: list[list[dict[str, Any]]] = []
    columns: dict[str, list[Any]] = {"arrival": [], "weight": [], "deadline": [], "sla": []}
    names = []
    for k, entry in enumerate(_items(content, "flows", where)):
        place = f"{where}: flows[{k}]"
        flow = _known(entry, _FLOW, place)
        names.append(text_of(flow.get("name", f"flow{k}"), f"{place}: name"))
        place = f"{where}: flow {shown(names[-1])}"
        rows = []
        for i, job in enumerate(_items(flow, "jobs", place)):
            job_place = f"{place}, jobs[{i}]"
            _known(job, JOB_KEYS, job_place)
            after = job.get("after", [])
            if after is not None and not isinstance(after, list):
                raise ValueError(f"{job_place}: after = {shown(after)}: expected a list of names")
            with telling_of(job_place):
                row = {**job, "work": _value(job, "work", float("nan"))}
                row["after"] = [text_of(name, "after") for name in after or ()]
                if job.get("name") is not None:
                    row["name"] = text_of(job["name"], "name")
                _value(job, "max_slots", 1)
            rows.append(row)
        jobs.append(rows)
        with telling_of(place):
            columns["arrival"].append(_value(flow, "arrival", 0.0))
            columns["weight"].append(_value(flow, "weight", 1.0))
            columns["deadline"].append(_value(flow, "deadline", float("inf")))
        columns["sla"].append(flow.get("sla"))
    with telling_of(where):
        flows = Flows(jobs, name=names, **columns)
        if content.get("slots") is not None:
            flows.slots = check_slots(content["slots"])
    return flows


def looks_like_flows(head: str) -> bool:
    """Whether a file that begins with this text holds flows."""
    start = head.lstrip("\ufeff \t\r\n")
    if not start.startswith("{"):
        return False
    line = start.splitlines()[0]
    if '"tasks"' in line and '"job"' in line:
        return True
    return any(f'"{key}' in start for key in ('flows"', 'workflow"', 'schemaVersion"', "tpch_q"))


def read_flows(source: Source, *, errors: str = "raise", max_size: int | None = MAX_SIZE) -> Flows:
    """Read flows, in whichever of these formats the file is by its content.

    Parameters
    ----------
    source : path or file object
        Plain or gzip: the project's JSON (``{"slots": P, "flows": [...]}``), a WfFormat instance (1.4
        to 1.6; one flow) or Alibaba DAG lines. TPC-H profiles need a second file: `read_tpch`.
    errors : {"raise", "skip"}
        Malformed flows of Alibaba lines: one error that counts them and shows the first, or a
        warning that counts. The other formats are one value, which is right or wrong as a whole.
    max_size : int or None
        Bytes that the file may have, unpacked; None: any number.

    Returns
    -------
    Flows
        ``flows.slots`` is what the file says, or None.

    Raises
    ------
    ValueError
        What is wrong, and where: the file, the flow, the job, the field, the value.
    OSError
        The file cannot be opened.
    """
    checked_choice("errors", errors, ("raise", "skip"))
    with open_text(source, max_size) as (text, where):
        head = text.readline()
        if '"tasks"' in head and '"job"' in head:
            lines = cast(IO[str], _Rest(head, text, where))
            return read_alibaba(lines, errors=errors, max_size=max_size)
        content = _parse(head + text.read(), where)
    if not isinstance(content, Mapping):
        raise ValueError(f"{where}: expected an object with flows, not {shown(content)}")
    if "flows" in content:
        return _own_flows(content, where)
    if "workflow" in content:
        return workflow_flows(content, where)
    if any(str(key).startswith("tpch_q") for key in content):
        raise AdvisedError(
            f"{where}: TPC-H profiles, which need their query graphs",
            "read_tpch reads both",
            "simulate --model cluster --graphs FILE reads both",
        )
    raise ValueError(
        f"{where}: no flows in it (expected the keys 'flows' or 'workflow', found "
        f"{shown(list(content)[:4])})"
    )


class _Rest:
    """A text stream of which the first line has been read already."""

    def __init__(self, head: str, text: Any, where: str) -> None:
        self.name = where
        self._head = head
        self._text = text

    def read(self, size: int = -1) -> str:
        head, self._head = self._head, ""
        return head or str(self._text.read(size))


def _parse(text: str, where: str) -> Any:
    if not text.strip():
        raise ValueError(f"{where}: empty, no flows in it")
    return parse_json(text, where)


def flows_dict(flows: Flows, slots: int | None = None) -> dict[str, Any]:
    """Flows in the types of their JSON format; what is a default is left out."""
    local = flows.local_names()
    listed = []
    for k, steps in enumerate(flows.sla):
        flow: dict[str, Any] = {"name": flows.name[k]}
        if flows.arrival[k] != 0.0:
            flow["arrival"] = float(flows.arrival[k])
        if flows.weight[k] != 1.0:
            flow["weight"] = float(flows.weight[k])
        if flows.deadline[k] < float("inf"):
            flow["deadline"] = float(flows.deadline[k])
        if steps:
            flow["sla"] = [list(step) for step in steps]
        flow["jobs"] = []
        for row in range(int(flows.job_offset[k]), int(flows.job_offset[k + 1])):
            job: dict[str, Any] = {"name": local[row], "work": float(flows.work[row])}
            if flows.max_slots[row] != ALL_SLOTS:
                job["max_slots"] = int(flows.max_slots[row])
            if above := flows.after(row):
                job["after"] = [local[p] for p in above]
            flow["jobs"].append(job)
        listed.append(flow)
    capacity = flows.slots if slots is None else slots
    return ({} if capacity is None else {"slots": capacity}) | {"flows": listed}


def write_flows(
    path: str | os.PathLike[str], flows: Flows, *, slots: int | None = None, force: bool = True
) -> None:
    """Write flows as JSON that `read_flows` reads back."""
    write_file(path, json.dumps(flows_dict(flows, slots), indent=1) + "\n", force)
