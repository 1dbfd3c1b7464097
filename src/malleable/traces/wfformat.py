"""WfFormat: recorded runs of scientific workflows as JSON, one flow (graph of jobs) a file.

Versions 1.5 and 1.6 keep what a task is (``workflow.specification.tasks``) apart from how it ran
(``workflow.execution.tasks``); 1.4 has both in ``workflow.tasks``. Parents and children are named by
id, in older files by name. A task runs for ``runtimeInSeconds`` on ``coreCount`` (``cores``) cores,
one if the file does not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from malleable.files.json import amount_of, of_kind, text_of, texts_of
from malleable.files.reading import telling_of
from malleable.flows.table import Flows
from malleable.traces.formats import File, Format, Head
from malleable.traces.tables import trace_of
from malleable.traces.trace import Trace
from malleable.validation import shown


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
    content = file.json()
    found = content.get("workflow") if isinstance(content, Mapping) else None
    workflow = of_kind(found, dict, "workflow = {}: expected an object")
    if "specification" in workflow:
        listed = _tasks(workflow["specification"], "workflow.specification")
        runs = {_key(run): run for run in _tasks(workflow.get("execution"), "workflow.execution")}
    else:
        listed = _tasks(workflow, "workflow")
        runs = {_key(task): task for task in listed}
    tasks = [(_key(task), task) for task in listed]
    key_of: dict[str, str] = {}
    for key, task in tasks:
        key_of.setdefault(text_of(task.get("name", key), f"task {shown(key)}: name"), key)
    key_of |= {key: key for key, _ in tasks}
    above: dict[str, list[str]] = {key: [] for key, _ in tasks}

    def keys(task: Mapping[str, Any], field: str) -> list[str]:
        names = texts_of(task, field)
        for name in names:
            if name not in key_of:
                raise ValueError(f"{shown(name)} is no task of the workflow")
        return [key_of[name] for name in names]

    for key, task in tasks:
        with telling_of(f"task {shown(key)}"):
            above[key] += keys(task, "parents")
            for child in keys(task, "children"):
                above[child].append(key)
    jobs = []
    for key, _ in tasks:
        with telling_of(f"task {shown(key)}"):
            if key not in runs:
                raise ValueError("has not been run (no entry in execution)")
            jobs.append(_job(key, runs[key], above[key]))
    name = text_of(content.get("name") or "workflow", "name")
    return trace_of(Flows([jobs], name=[name]))


def _job(name: str, run: Mapping[str, Any], after: list[str]) -> dict[str, Any]:
    seconds = amount_of(run.get("runtimeInSeconds", run.get("runtime")), "runtimeInSeconds")
    cores = run.get("coreCount", run.get("cores", 1))
    slots = max(1, round(1.0 if cores is None else amount_of(cores, "coreCount")))
    return {"name": name, "work": slots * seconds, "max_slots": slots, "after": after}


def _looks(head: Head) -> bool:
    return head.is_object and any(f'"{key}"' in head.text for key in ("workflow", "schemaVersion"))


FORMAT = Format("WfFormat instance", _looks, _read)
