"""Training jobs with measured speed-ups, as PCS published them: asked whenever a job comes or ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.ground import rivals
from benchmarks.ground.loops import GpuEpoch, share_gpus
from benchmarks.ground.table import Row, SkippedError, section
from benchmarks.instances import GPU_WORKLOADS, gpu_jobs, traces

_PLAIN = {
    "AFS": rivals.elastic_shares,
    "SRSF": rivals.smallest_service,
    "FIFO": rivals.first_come,
    "FAIR": rivals.equal_shares,
}


def _mean(rule: str, name: str, count: int | None) -> float:
    jobs, slots = gpu_jobs(name, count)
    asked: Any = _PLAIN.get(rule) or GpuEpoch(slots, told=rule == "FLEX, told tables")
    return float(share_gpus(*jobs, slots, asked).mean())


@section(
    "speed-ups",
    "gpu_jobs: mean completion time [s] on 64 GPUs; AFS, SRSF and FIFO are those of PCS",
)
def rows(quick: bool) -> Iterator[Row]:
    if traces() is None:
        raise SkippedError("no folder of traces: MALLEABLE_TRACES names none")
    for name in GPU_WORKLOADS[:1] if quick else GPU_WORKLOADS:
        yield Row(
            name,
            lambda rule, _, name=name: _mean(rule, name, 100 if quick else None),
            ours=("FLEX, told tables", "FLEX, linear"),
            rivals=tuple(_PLAIN),
        )
