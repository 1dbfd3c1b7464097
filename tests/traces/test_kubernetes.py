"""Jobs of Kubernetes, Kueue and Volcano."""

from __future__ import annotations

import io
import json

import malleable as mb


def kubernetes(**own: object) -> dict[str, object]:
    pod = {"spec": {"containers": [{"resources": {"requests": {"cpu": "1500m"}}}]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "ml", "creationTimestamp": "2024-05-01T08:00:00Z",
                     "labels": {"kueue.x-k8s.io/queue-name": "main"}},
        "spec": {"parallelism": 2, "completions": 5, "template": pod},
        "status": {"startTime": "2024-05-01T08:01:00Z", "completionTime": "2024-05-01T08:04:00Z"},
        **own,
    }  # fmt: skip


def read(*items: dict[str, object]) -> mb.Trace:
    listed = {"apiVersion": "v1", "items": items, "kind": "List"}
    return mb.read(io.StringIO(json.dumps(listed)))


def test_kubernetes() -> None:
    volcano = kubernetes(
        apiVersion="batch.volcano.sh/v1alpha1",
        metadata={"name": "v", "namespace": "hpc", "creationTimestamp": "2024-05-01T08:02:00Z"},
        spec={"queue": "gold", "tasks": [{"replicas": 3, "template": {}}]},
        status={"state": {"phase": "Completed", "lastTransitionTime": "2024-05-01T08:05:00Z"},
                "runningDuration": "1m0.5s"},
    )  # fmt: skip
    trace = read(kubernetes(), volcano)
    jobs = trace.tasks()
    # Five pods of two slots each, two at once: three waves of a minute.
    assert jobs.map_work.tolist() == [5 * 2 * 60.0, 3 * 60.5] and jobs.width.tolist() == [2, 3]
    assert trace.groups["partition"] == ["main", "gold"] and trace.user == ["ml", "hpc"]


def test_jobs_share_no_pods() -> None:
    failed = [{"type": "Failed", "lastTransitionTime": "2024-05-01T08:03:00Z"}]
    other = {"startTime": "2024-05-01T08:01:00Z", "failed": 3, "conditions": failed}
    second = kubernetes(
        metadata={"name": "k", "creationTimestamp": "2024-05-01T08:00:30Z"}, status=other
    )
    waits = kubernetes(metadata={"name": "s", "creationTimestamp": "2024-05-01T08:00:40Z"},
                       spec={"suspend": True}, status={})  # fmt: skip
    trace = read(kubernetes(), second, waits)
    assert trace.tasks().map_work.tolist() == [5 * 2 * 60.0, 5 * 2 * 40.0]
    assert trace.lacking == ["", "", "pending"]
