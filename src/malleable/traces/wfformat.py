"""WfFormat: runs of scientific workflows, one flow a file.

Versions 1.5 and 1.6 keep what a task is (``workflow.specification.tasks``) apart from how it ran
(``workflow.execution.tasks``); 1.4 has both in ``workflow.tasks``. Parents and children are named by
id, in older files by name. A task runs for ``runtimeInSeconds`` on ``coreCount`` (``cores``) cores,
one if the file does not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from malleable.domain import shown
from malleable.files.json import is_number, parse_json, text_of
from malleable.files.reading import MAX_SIZE, Source, open_text, telling_of
from malleable.flows.table import Flows

__all__ = ["read_wfformat", "workflow_flows"]


def read_wfformat(source: Source, *, max_size: int | None = MAX_SIZE) -> Flows:
    """Read a WfFormat instance (1.4, 1.5 or 1.6) as a table of one flow.

    Parameters
    ----------
    source : path or file object
        Plain or gzip.
    max_size : int or None
        Bytes that the file may have, unpacked; None: any number.

    Returns
    -------
    Flows
        A job per task: ``work`` is run time times cores [core-seconds], ``max_slots`` the cores.

    Raises
    ------
    ValueError
        Missing run times, unknown parents, duplicate ids, cycles: with file and task.
    """
    with open_text(source, max_size) as (text, where):
        content = parse_json(text.read(), where)
    if not isinstance(content, Mapping) or "workflow" not in content:
        raise ValueError(f"{where}: no 'workflow' in it, so not a WfFormat instance")
    return workflow_flows(content, where)


def _tasks(holder: Any, where: str) -> list[Mapping[str, Any]]:
    tasks = holder.get("tasks") if isinstance(holder, Mapping) else None
    if not isinstance(tasks, list) or not all(isinstance(task, Mapping) for task in tasks):
        raise ValueError(f"{where}: expected a list of tasks")
    return tasks


def _key(task: Mapping[str, Any], where: str) -> str:
    found = task.get("id", task.get("name"))
    if found is None:
        raise ValueError(f"{where}: a task without id or name")
    return text_of(found, f"{where}: id of a task")


def workflow_flows(content: Mapping[str, Any], where: str) -> Flows:
    """The flow of a parsed WfFormat instance."""
    workflow = content["workflow"]
    if not isinstance(workflow, Mapping):
        raise ValueError(f"{where}: workflow = {shown(workflow)}: expected an object")
    if "specification" in workflow:
        tasks = _tasks(workflow["specification"], f"{where}: workflow.specification")
        ran = _tasks(workflow.get("execution"), f"{where}: workflow.execution")
        runs = {_key(task, where): task for task in ran}
    else:
        tasks = _tasks(workflow, f"{where}: workflow")
        runs = {_key(task, where): task for task in tasks}
    keys = [_key(task, where) for task in tasks]
    by_name: dict[str, str] = {}
    for key, task in zip(keys, tasks, strict=True):
        by_name.setdefault(text_of(task.get("name", key), f"{where}: task {shown(key)}: name"), key)
    known = set(keys)
    above: dict[str, list[str]] = {key: [] for key in keys}

    def resolve(name: Any, task: str) -> str:
        text = text_of(name, f"{where}: task {shown(task)}: parent or child")
        if text in known:
            return text
        if text in by_name:
            return by_name[text]
        raise ValueError(f"{where}: task {shown(task)}: {shown(text)} is no task of the workflow")

    for key, task in zip(keys, tasks, strict=True):
        above[key] += [resolve(name, key) for name in _names(task, "parents", key, where)]
        for name in _names(task, "children", key, where):
            above[resolve(name, key)].append(key)
    jobs = []
    for key in keys:
        run = runs.get(key)
        if run is None:
            raise ValueError(f"{where}: task {shown(key)} has not been run (no entry in execution)")
        jobs.append(
            {
                "name": key,
                "work": _seconds(run, key, where) * (cores := _cores(run, key, where)),
                "max_slots": cores,
                "after": above[key],
            }
        )
    name = text_of(content.get("name") or "workflow", f"{where}: name")
    with telling_of(where):
        return Flows([jobs], name=[name])


def _names(task: Mapping[str, Any], field: str, key: str, where: str) -> list[Any]:
    found = task.get(field) or []
    if not isinstance(found, list):
        raise ValueError(f"{where}: task {shown(key)}: {field} = {shown(found)}: expected a list")
    return found


def _seconds(run: Mapping[str, Any], key: str, where: str) -> float:
    found = run.get("runtimeInSeconds", run.get("runtime"))
    if not is_number(found) or found < 0:
        raise ValueError(
            f"{where}: task {shown(key)}: runtimeInSeconds = {shown(found)}: not a duration"
        )
    return float(found)


def _cores(run: Mapping[str, Any], key: str, where: str) -> int:
    found = run.get("coreCount", run.get("cores", 1))
    if found is None:
        return 1
    if not is_number(found) or found < 0:
        raise ValueError(
            f"{where}: task {shown(key)}: coreCount = {shown(found)}: not a number of cores"
        )
    count: int = max(1, round(found))
    return count
