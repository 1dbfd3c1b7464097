"""WfFormat: runs of scientific workflows, one flow a file.

Versions 1.5 and 1.6 keep what a task is (``workflow.specification.tasks``) apart from how it ran
(``workflow.execution.tasks``); 1.4 has both in ``workflow.tasks``. Parents and children are named by
id, in older files by name. A task runs for ``runtimeInSeconds`` on ``coreCount`` (``cores``) cores,
one if the file does not say.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from malleable.flow_tables import Flows
from malleable.workloads.files import Source, open_text, shown, telling_of

__all__ = ["read_wfformat", "workflow_flows"]


def read_wfformat(source: Source) -> Flows:
    """Read a WfFormat instance (1.4, 1.5 or 1.6) as a table of one flow.

    Parameters
    ----------
    source : path or file object
        Plain or gzip.

    Returns
    -------
    Flows
        A job per task: ``work`` is run time times cores [core-seconds], ``max_slots`` the cores.

    Raises
    ------
    ValueError
        Missing run times, unknown parents, duplicate ids, cycles: with file and task.
    """
    with open_text(source) as (text, where):
        try:
            content = json.loads(text.read())
        except json.JSONDecodeError as error:
            raise ValueError(f"{where}: not JSON: {error}") from None
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
    if not isinstance(found, (str, int)):
        raise ValueError(f"{where}: a task without id or name")
    return str(found)


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
        by_name.setdefault(str(task.get("name", key)), key)
    known = set(keys)
    above: dict[str, list[str]] = {key: [] for key in keys}

    def resolve(name: Any, task: str) -> str:
        text = str(name)
        if text in known:
            return text
        if text in by_name:
            return by_name[text]
        raise ValueError(f"{where}: task {task!r}: {text!r} is no task of the workflow")

    for key, task in zip(keys, tasks, strict=True):
        above[key] += [resolve(name, key) for name in task.get("parents") or ()]
        for name in task.get("children") or ():
            above[resolve(name, key)].append(key)
    jobs = []
    for key in keys:
        run = runs.get(key)
        if run is None:
            raise ValueError(f"{where}: task {key!r} has not been run (no entry in execution)")
        jobs.append(
            {
                "name": key,
                "work": _seconds(run, key, where) * (cores := _cores(run, key, where)),
                "max_slots": cores,
                "after": above[key],
            }
        )
    name = str(content.get("name") or "workflow")
    with telling_of(where):
        return Flows([jobs], name=[name])


def _seconds(run: Mapping[str, Any], key: str, where: str) -> float:
    found = run.get("runtimeInSeconds", run.get("runtime"))
    number = isinstance(found, (int, float)) and not isinstance(found, bool)
    if not number or not (math.isfinite(found) and found >= 0):
        raise ValueError(
            f"{where}: task {key!r}: runtimeInSeconds = {shown(found)}: not a duration"
        )
    return float(found)


def _cores(run: Mapping[str, Any], key: str, where: str) -> int:
    found = run.get("coreCount", run.get("cores", 1))
    if found is None:
        return 1
    number = isinstance(found, (int, float)) and not isinstance(found, bool)
    if not number or not (math.isfinite(found) and found >= 0):
        raise ValueError(
            f"{where}: task {key!r}: coreCount = {shown(found)}: not a number of cores"
        )
    count: int = max(1, round(found))
    return count
