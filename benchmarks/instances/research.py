"""Files of research that measurements read, as tables: no format of ``mb.read``.

tpch_flows(folder, size=None, cores=None): queries of ``tpch-cloudlab``, a flow each, by number; a job per
    stage, as many slots as tasks, work tasks times mean time. By default the runs on the least data and the
    fewest cores.
alibaba_flows(path, most=None): Alibaba's batch DAGs (cluster-trace-v2018) as JSON lines, a flow a line, by
    arrival: its tasks' earliest start. A job per task: as many slots as instances (one where there are none).
hawk_jobs(path): Yahoo's trace in Hawk's form (Delgado et al., USENIX ATC 2015), a line a job of one phase:
    arrival, number of tasks, mean time, then the time of every task.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

from malleable import ClusterJobs, Flows

__all__ = ["alibaba_flows", "hawk_jobs", "tpch_flows"]

_PROFILE = re.compile(r"tpch_q(\d+)_(\d+)g_maxCores_(\d+)")
_GRAPH = re.compile(r"^ *(?:- )?(name|children): *(.*)$", re.MULTILINE)


def _text(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def _stage(name: str, tasks: float, seconds: float, after: list[str]) -> dict[str, Any]:
    slots = max(1, round(tasks))
    return {"name": name, "work": tasks * seconds, "max_slots": slots, "after": after}


def _graphs(path: Path) -> dict[str, dict[str, list[str]]]:
    """The parents of every stage, by query; queries are called Q1, Q2 ..., stages by their numbers."""
    found: dict[str, dict[str, list[str]]] = {}
    parents: dict[str, list[str]] = {}
    stage = ""
    for key, value in _GRAPH.findall(_text(path)):
        if key == "name" and value.startswith("Q"):
            parents = found[value] = {}
        elif key == "name":
            stage = value
            parents.setdefault(stage, [])
        else:
            for child in re.findall(r"\d+", value):
                parents.setdefault(child, []).append(stage)
    return found


def tpch_flows(folder: Path, size: int | None = None, cores: int | None = None) -> Flows:
    """See the module."""
    profiles = json.loads(_text(folder / "cloudlab_22query_tpch_profiles.json.gz"))
    known = {tuple(map(int, _PROFILE.fullmatch(key).groups())): key for key in profiles}  # type: ignore[union-attr]
    size = min(key[1] for key in known) if size is None else size
    cores = min(key[2] for key in known if key[1] == size) if cores is None else cores
    queries = sorted(query for query, *rest in known if rest == [size, cores])
    graphs = _graphs(folder / "queries.yaml")
    flows = []
    for query in queries:
        parents = graphs[f"Q{query}"]
        stages = profiles[known[query, size, cores]]
        flows.append(
            [
                _stage(name, one["num_tasks"], one["average_runtime_ms"] / 1000.0, parents[name])
                for one in stages
                for name in [str(one["stage_id"])]
            ]
        )
    return Flows(flows, name=[f"Q{query}" for query in queries])


def alibaba_flows(path: Path, most: int | None = None) -> Flows:
    """See the module."""
    found = []
    for line in _text(path).splitlines()[:most]:
        entry = json.loads(line)
        jobs, starts = [], [0.0]
        for task in entry["tasks"]:
            count = 1.0 if task.get("instances") is None else task["instances"]
            seconds = task.get("duration", task.get("actual_duration"))
            starts.append(task.get("start_time") or 0.0)
            parents = list(map(str, task.get("parents") or ()))
            jobs.append(_stage(str(task["id"]), count, seconds, parents))
        found.append((min(filter(None, starts), default=0.0), str(entry["job"]), jobs))
    found.sort(key=lambda flow: flow[0])
    arrival, name, flows = map(list, zip(*found, strict=True))
    return Flows(flows, arrival=arrival, name=name)


def hawk_jobs(path: Path) -> ClusterJobs:
    """See the module."""
    lines = [list(map(float, line.split())) for line in _text(path).splitlines()]
    lines.sort(key=lambda job: job[0])
    times = [job[3:] for job in lines]
    return ClusterJobs(list(map(len, times)), times, arrival=[job[0] for job in lines])
