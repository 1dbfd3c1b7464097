"""Jobs with measured speed-ups, training jobs as PCS published them: asked whenever a job comes or ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import malleable as mb
from benchmarks.instances import (
    GPU_WORKLOADS,
    PUBLISHED_ERRORS,
    SPEEDUP_STREAMS,
    GpuJobs,
    gpu_jobs,
    gpu_table,
    speedup_stream,
    traces,
)
from benchmarks.rivals import rules as rivals
from benchmarks.rivals.loops import GpuEpoch, share_gpus
from benchmarks.rivals.table import Row, SkippedError, section

_PLAIN = {
    "AFS": rivals.elastic_shares,
    "SRSF": rivals.smallest_service,
    "FIFO": rivals.first_come,
    "FAIR": rivals.equal_shares,
    "price": rivals.shares_by_price,
    "like Themis": rivals.furthest_behind,
}
_SEEDS = (1, 2, 3)
_FAST = ("SRSF", "FIFO", "FAIR")
"""Rules that have time for thousands of jobs."""
_TOLD = {"PCS-jct": 3.0, "PCS-bal": 20.0}
"""`predictable`, the same for all workloads, that takes less time than PCS's settings do."""


def _mean(rule: str, instance: tuple[GpuJobs, int]) -> float:
    jobs, slots = instance
    asked: Any = _PLAIN.get(rule) or GpuEpoch(
        slots, told=rule == "FLEX, told tables", programs=rule == "FLEX, learnt"
    )
    return float(share_gpus(*jobs, slots, asked).mean())


@section(
    "speed-ups",
    "Training jobs with measured speed-ups come to 64 GPUs (`gpu_jobs`). The figures are mean "
    "responses [s]. The rows are two workloads that the authors of the scheduler PCS "
    "published, under the names that the authors gave them. Ours is FLEX that is told the "
    'speed-up of each job, and "FLEX, linear" is FLEX that takes every speed-up for linear. AFS, '
    "SRSF and FIFO are the rules with which the authors of PCS compare PCS",
)
def workloads(quick: bool) -> Iterator[Row]:
    if traces() is None:
        raise SkippedError("no folder of traces: MALLEABLE_TRACES names none")
    for name in GPU_WORKLOADS[:1] if quick else GPU_WORKLOADS:
        yield Row(
            name,
            lambda rule, _, name=name: _mean(rule, gpu_jobs(name, 100 if quick else None)),
            ours=("FLEX, told tables", "FLEX, learnt", "FLEX, linear"),
            rivals=_FAST if name == "6c71a0" else tuple(_PLAIN),
        )


def _error(rule: str, name: str, jobs: int | None) -> float:
    if rule in PUBLISHED_ERRORS[name]:
        return PUBLISHED_ERRORS[name][rule][1]
    table, slots = gpu_table(name, jobs)
    told = float(rule.removeprefix("predictable "))
    found = mb.simulate(table, policy="flex", slots=slots, predictable=told, records=False)
    return 100.0 * found.summary["flex"]["end_error"]


@section(
    "promised-ends",
    "By how much the ends that jobs are told when they come are wrong on average [%] "
    "(`gpu_jobs`). The rivals are the figures that PCS published. docs/internals/speedups.md says what each "
    "setting costs",
)
def promised_ends(quick: bool) -> Iterator[Row]:
    if traces() is None:
        raise SkippedError("no folder of traces: MALLEABLE_TRACES names none")
    for name in GPU_WORKLOADS[:1] if quick else GPU_WORKLOADS:
        for published, told in _TOLD.items():
            yield Row(
                f"{name}, {published}",
                lambda rule, _, name=name: _error(rule, name, 100 if quick else None),
                ours=(f"predictable {told:g}",),
                # Published figures are those of whole workloads.
                rivals=("predictable 0",) if quick else (published,),
            )


@section(
    "speed-up-streams",
    "Jobs with speed-ups of other shapes than those of the GPUs come to 64 slots "
    "(`speedup_stream`). The figures are mean responses [s]. Ours is FLEX that is told the "
    'speed-up of each job, and "FLEX, linear" is FLEX that takes every speed-up for linear. The '
    'row names the shape. With "power", s slots are s^p times as fast as one slot, for a p from '
    '0.3 to 1. With "amdahl", a part of the work runs on one slot only. With "steps", only numbers '
    'of slots that are powers of two make a job faster. With "convex", the first few slots help '
    'little, and more slots help much. With "mixed", the jobs have different shapes',
)
def streams(quick: bool) -> Iterator[Row]:
    for kind in SPEEDUP_STREAMS:
        yield Row(
            kind,
            lambda rule, seed, kind=kind: _mean(
                rule, speedup_stream(kind, seed, 100 if quick else 1000)
            ),
            ours=("FLEX, told tables", "FLEX, learnt", "FLEX, linear"),
            rivals=tuple(_PLAIN),
            seeds=_SEEDS[:1] if quick else _SEEDS,
        )
