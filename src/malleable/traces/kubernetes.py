"""Jobs of Kubernetes: what ``kubectl get jobs -o json`` prints, also with Kueue's queues, and Volcano's jobs.

Formats: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/job-v1/,
https://kueue.sigs.k8s.io/docs/tasks/run/jobs/, https://volcano.sh/en/docs/vcjob/.

Taken: name, namespace (user), queue, created (submission), started and ended; each pod on as many slots as its
containers ask for CPUs, rounded up. A job of Kubernetes has ``completions`` pods, ``parallelism`` of them at
once: malleable, its waves taken for equally long. A job of Volcano has all its ``replicas`` at once. Left out:
memory, GPUs, retries, pods on their own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from malleable.files.numbers import parse_moment, parse_number
from malleable.files.reading import parse_seconds
from malleable.traces.formats import File, Format, Head
from malleable.traces.job_columns import Column, cells_of, trace_of_cells
from malleable.traces.trace import Trace

_STATES = {"Completed": "COMPLETED", "Failed": "FAILED", "Aborted": "FAILED", "Running": "RUNNING"}
# Fields, and their names in Slurm's sacct, whose reader makes the trace. If two fields have one name, the first
# that is set counts.
_TABLE = (
    Column("metadata/uid", "JobID"), Column("metadata/name", "JobName"), Column("metadata/namespace", "User"),
    Column("spec/queue", "Partition"), Column("metadata/creationTimestamp", "Submit"),
    Column("status/startTime", "Start"), Column("status/completionTime", "End"),
    Column("status/state/lastTransitionTime", "End"),
    Column("status/state/phase", "State", lambda phase: _STATES.get(phase, "PENDING")),
)  # fmt: skip
_MOST_WAVES = 100_000  # a wave: pods of a job that run at the same time


def _cpus(template: Any) -> int:
    spec = template.get("spec", {}) if isinstance(template, Mapping) else {}
    total = 0.0
    for container in spec.get("containers", []):
        resources = container.get("resources", {})
        asked = {**resources.get("limits", {}), **resources.get("requests", {})}.get("cpu", "1")
        text = f"{asked}"
        total += parse_number(text[:-1]) / 1000.0 if text.endswith("m") else parse_number(text)
    return max(1, math.ceil(total - 1e-9))


def _volcano(job: Mapping[str, Any], cells: dict[str, str]) -> list[dict[str, str]]:
    # A job of Volcano, which is rigid, as cells by sacct's names.
    tasks = job["spec"]["tasks"]
    slots = sum(_cpus(task.get("template", {})) * int(task.get("replicas", 1)) for task in tasks)
    ran = job.get("status", {}).get("runningDuration")
    if ran and "End" in cells:
        cells["Start"] = f"{parse_moment(cells['End']) - parse_seconds(ran)!r}"
    return [{"State": "PENDING", **cells, "AllocCPUS": f"{slots}"}]


def _parse(job: Any) -> list[dict[str, str]]:
    if not (isinstance(job, Mapping) and job.get("kind", "Job") == "Job" and "spec" in job):
        raise ValueError("not a Job of Kubernetes")
    cells = cells_of(job, _TABLE)
    labels = job.get("metadata", {}).get("labels", {})
    queue = labels.get("kueue.x-k8s.io/queue-name")
    cells |= {"Partition": queue} if queue else {}
    cells.setdefault("JobID", f"{cells.get('User', '')}/{cells.get('JobName', '')}")
    if "tasks" in job["spec"]:
        return _volcano(job, cells)
    return _waves(job["spec"], job.get("status", {}), cells)


def _waves(
    spec: Mapping[str, Any], status: Mapping[str, Any], cells: dict[str, str]
) -> list[dict[str, str]]:
    # A job of Kubernetes as waves: pods that run at the same time, as cells by sacct's names.
    at_once = int(spec.get("parallelism", 1))
    pods = int(spec.get("completions", at_once))
    ended = [one for one in status.get("conditions", []) if one.get("type") == "Failed"]
    if ended and "End" not in cells:
        cells["End"] = ended[0].get("lastTransitionTime", "Unknown")
    cells |= {"AllocCPUS": f"{_cpus(spec.get('template', {}))}"}
    if "Start" not in cells or "End" not in cells:
        state = "RUNNING" if status.get("active") and "Start" in cells else "PENDING"
        return [{**cells, "State": state, "Tasks": f"{pods}"}]
    waves = max(1, math.ceil(pods / max(at_once, 1)))
    if waves > _MOST_WAVES:
        raise ValueError(f"completions = {pods:,} with parallelism = {at_once}: too many waves")
    start, end = parse_moment(cells["Start"]), parse_moment(cells["End"])
    each = (end - start) / waves
    found = []
    for wave in range(waves):
        tasks, begin = min(at_once, pods - wave * at_once), start + wave * each
        own = {"Element": f"{wave}", "Tasks": f"{tasks}", "Start": f"{begin!r}"}
        found.append({**cells, **own, "End": f"{begin + each!r}"})
    return found


def _read(file: File) -> Trace:
    data = file.json()
    jobs = data["items"] if isinstance(data, dict) and "items" in data else [data]
    return trace_of_cells(file, _parse, enumerate(jobs, 1), "job")


def _looks(head: Head) -> bool:
    return head.is_object and '"apiVersion"' in head.text and '"kind"' in head.text


FORMAT = Format("Kubernetes jobs", _looks, _read)
