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
from malleable.files.json import is_number, text_of
from malleable.flows.table import Flows
from malleable.traces.formats import File, Head, register
from malleable.traces.tables import trace_of
from malleable.traces.trace import Trace


def _tasks(holder: Any, where: str) -> list[Mapping[str, Any]]:
    tasks = holder.get("tasks") if isinstance(holder, Mapping) else None
    if not isinstance(tasks, list) or not all(isinstance(task, Mapping) for task in tasks):
        raise ValueError(f"{where}: expected a list of tasks")
    return tasks


def _key(task: Mapping[str, Any]) -> str:
    found = task.get("id", task.get("name"))
    if found is None:
        raise ValueError("a task without id or name")
    return text_of(found, "id of a task")


def _read(file: File) -> Trace:
    """A table of one flow, with a job per task.

    ``work`` is run time times cores [core-seconds], ``max_slots`` the cores.
    """
    content = file.json()
    workflow = content.get("workflow") if isinstance(content, Mapping) else None
    if not isinstance(workflow, Mapping):
        raise ValueError(f"workflow = {shown(workflow)}: expected an object")
    if "specification" in workflow:
        tasks = _tasks(workflow["specification"], "workflow.specification")
        ran = _tasks(workflow.get("execution"), "workflow.execution")
        runs = {_key(task): task for task in ran}
    else:
        tasks = _tasks(workflow, "workflow")
        runs = {_key(task): task for task in tasks}
    keys = [_key(task) for task in tasks]
    by_name: dict[str, str] = {}
    for key, task in zip(keys, tasks, strict=True):
        by_name.setdefault(text_of(task.get("name", key), f"task {shown(key)}: name"), key)
    known = set(keys)
    above: dict[str, list[str]] = {key: [] for key in keys}

    def resolve(name: Any, task: str) -> str:
        text = text_of(name, f"task {shown(task)}: parent or child")
        if text in known:
            return text
        if text in by_name:
            return by_name[text]
        raise ValueError(f"task {shown(task)}: {shown(text)} is no task of the workflow")

    for key, task in zip(keys, tasks, strict=True):
        above[key] += [resolve(name, key) for name in _names(task, "parents", key)]
        for name in _names(task, "children", key):
            above[resolve(name, key)].append(key)
    jobs = []
    for key in keys:
        run = runs.get(key)
        if run is None:
            raise ValueError(f"task {shown(key)} has not been run (no entry in execution)")
        jobs.append(
            {
                "name": key,
                "work": _seconds(run, key) * (cores := _cores(run, key)),
                "max_slots": cores,
                "after": above[key],
            }
        )
    name = text_of(content.get("name") or "workflow", "name")
    return trace_of(Flows([jobs], name=[name]))


def _names(task: Mapping[str, Any], field: str, key: str) -> list[Any]:
    found = task.get(field) or []
    if not isinstance(found, list):
        raise ValueError(f"task {shown(key)}: {field} = {shown(found)}: expected a list")
    return found


def _seconds(run: Mapping[str, Any], key: str) -> float:
    found = run.get("runtimeInSeconds", run.get("runtime"))
    if not is_number(found) or found < 0:
        raise ValueError(f"task {shown(key)}: runtimeInSeconds = {shown(found)}: not a duration")
    return float(found)


def _cores(run: Mapping[str, Any], key: str) -> int:
    found = run.get("coreCount", run.get("cores", 1))
    if found is None:
        return 1
    if not is_number(found) or found < 0:
        raise ValueError(f"task {shown(key)}: coreCount = {shown(found)}: not a number of cores")
    count: int = max(1, round(found))
    return count


def _looks(head: Head) -> bool:
    return head.is_object and any(f'"{key}"' in head.text for key in ("workflow", "schemaVersion"))


register("WfFormat instance", _looks, _read)
