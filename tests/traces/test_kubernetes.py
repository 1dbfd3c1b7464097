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


def test_kubernetes() -> None:
    volcano = kubernetes(
        apiVersion="batch.volcano.sh/v1alpha1",
        metadata={"name": "v", "namespace": "hpc", "creationTimestamp": "2024-05-01T08:02:00Z"},
        spec={"queue": "gold", "tasks": [{"replicas": 3, "template": {}}]},
        status={"state": {"phase": "Completed", "lastTransitionTime": "2024-05-01T08:05:00Z"},
                "runningDuration": "60.0s"},
    )  # fmt: skip
    listed = {"apiVersion": "v1", "items": [kubernetes(), volcano], "kind": "List"}
    trace = mb.read(io.StringIO(json.dumps(listed)))
    jobs = trace.tasks()
    # Five pods of two slots each, two at once: three waves of a minute.
    assert jobs.map_work.tolist() == [5 * 2 * 60.0, 3 * 60.0] and jobs.width.tolist() == [2, 3]
    assert trace.groups["partition"] == ["main", "gold"] and trace.user == ["ml", "hpc"]
