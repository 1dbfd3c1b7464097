"""DAGs that arrive: on generic slots of a cluster, mean response of flows and their mean stretch; and plans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import malleable as mb
from benchmarks.instances import (
    EXECUTOR_SHAPES,
    executor_dags,
    executor_shapes,
    tpch_arrivals,
    tpch_stream,
    traces,
    wf_stream,
)
from benchmarks.rivals import rules as rivals
from benchmarks.rivals.executors import RULES, mean_response
from benchmarks.rivals.loops import FluidFlowEpoch
from benchmarks.rivals.sections.clusters import mean_seconds
from benchmarks.rivals.table import Row, SkippedError, section
from tests.oracles.flow_loop import fluid_loop

# name, generator, load, slots, number of flows
_CASES = (
    ("TPC-H", tpch_stream, 0.5, 36, 100),
    ("TPC-H", tpch_stream, 0.8, 23, 100),
    ("TPC-H", tpch_stream, 0.5, 92, 100),
    ("TPC-H", tpch_stream, 0.8, 58, 100),
    ("WfInstances", wf_stream, 0.5, 86, 20),
    ("WfInstances", wf_stream, 0.8, 54, 20),
    ("WfInstances", wf_stream, 0.8, 215, 20),
)


def _srwf(jobs: mb.ClusterJobs) -> Any:
    # shortest remaining work of a flow first
    number: dict[str, int] = {}
    flow = [number.setdefault(name, len(number)) for name in jobs.flow or ()]
    first = jobs.after_offset.tolist()
    after = [jobs.after[a:b].tolist() for a, b in zip(first, first[1:], strict=False)]
    return rivals.Srwf(flow, jobs.maps, mean_seconds(jobs)[:, 0], after)


def _run(rule: str, field: str, jobs: mb.ClusterJobs, cluster: mb.Cluster) -> float:
    policy: Any = _srwf(jobs) if rule == "srwf" else rule.lower()
    result = mb.simulate(jobs, policy, cluster=cluster, records=False)
    return float(next(iter(result.summary.values()))[field])


@section(
    "flows",
    "Flows come one after the other: TPC-H queries (`tpch_stream`) and scientific workflows "
    "(`wf_stream`). The figures are mean responses [s] or mean stretches of flows. Ours is "
    "FlowFlex. The rules know the jobs of each flow and how long tasks take",
)
def flows_rows(quick: bool) -> Iterator[Row]:
    if traces() is None:
        raise SkippedError("no folder of traces: MALLEABLE_TRACES names none")
    for name, make, load, slots, flows in _CASES[:1] if quick else _CASES:
        count = 15 if quick else flows
        for field in ("flow_response",) if quick else ("flow_response", "flow_stretch"):
            yield Row(
                f"{name}, {slots} slots, load {load:g}, {field.split('_')[1]}",
                lambda rule, seed, make=make, load=load, slots=slots, count=count, field=field: (
                    _run(rule, field, *make(seed, load, slots, count))
                ),
                ours=("flowflex", "auto"),
                rivals=("srwf", "FIFO", "FAIR"),
                seeds=range(1),
            )


_LOOPS: dict[str, dict[str, Any]] = {"loop": {}, "loop, effort 30": {"effort": 30}}


def _plan(rule: str, flows: mb.Flows, slots: int) -> float:
    """Mean response of flows [s]; ``bound``: no schedule has less."""
    if rule in _LOOPS:
        decide = FluidFlowEpoch(flows, slots, "sum:response", **_LOOPS[rule])
        end = fluid_loop(flows.arrival, flows.job_offset, flows.work, decide)
        return float((end - flows.arrival).mean())
    if rule == "srwf online":
        after = [flows.after(row) for row in range(len(flows.work))]
        columns = flows.arrival, flows.job_offset, flows.work, flows.max_slots
        end = rivals.ends_by_work_left(*columns, after, slots)
        return float((end - flows.arrival).mean())
    name = "flowflex" if rule == "bound" else rule.lower()
    plan = mb.plan(flows, slots=slots, objective="sum:response", policy=name)
    return float(plan.lower_bound if rule == "bound" else plan.value) / len(flows)


@section(
    "flow-plans",
    "Queries of TPC-H come as flows (`tpch_arrivals`). The figures are mean responses of flows "
    '[s]. Ours is a plan of FlowFlex, and "flowflex-fast" is a faster version of FlowFlex. A plan '
    'knows in advance when flows come. The rival "srwf online" is a loop: it learns of a flow when '
    "the flow comes",
)
def flow_plan_rows(quick: bool) -> Iterator[Row]:
    if traces() is None:
        raise SkippedError("no folder of traces: MALLEABLE_TRACES names none")
    for slots, count in ((23, 30),) if quick else ((23, 100), (58, 100), (36, 150)):
        yield Row(
            f"{count} queries, {slots} slots, load 0.9",
            lambda rule, seed, slots=slots, count=count: _plan(
                rule, tpch_arrivals(seed, 0.9, slots, count), slots
            ),
            ours=("flowflex", "flowflex-fast", *_LOOPS),
            rivals=("srwf online", "FIFO", "FAIR"),
            seeds=range(1 if quick else 4),
            floors=("bound",),
        )


_EXECUTOR_RIVALS = [name for name in RULES if not name.startswith("FlowEpoch")]


@section(
    "executors",
    "Queries of TPC-H whose tasks slow each other down (`executor_dags`), on 50 executors that stay with a "
    "stage until it has no task left to start, and take 2 s to another query. All queries are there at the "
    "start, or they come in a stream. The figures are mean responses [s]. Ours is FlowEpoch that is told "
    'the speed-up of each stage. The rivals are fair shares, shares by a power of the work left ("fair '
    '-1"), the least work left first, that with at most c times the root of the work left in executors '
    '("root"), and a width by a price of slots ("knee")',
)
def executor_rows(quick: bool) -> Iterator[Row]:
    if traces() is None:
        raise SkippedError("no folder of traces: MALLEABLE_TRACES names none")
    for flows, load in ((20, None), (200, 0.5), (200, 0.7)):
        yield Row(
            f"{flows} at once" if load is None else f"{flows}, load {load:g}",
            lambda rule, seed, flows=flows, load=load: mean_response(
                rule, executor_dags(seed, 10 if quick else flows, load)
            ),
            ours=("FlowEpoch", "FlowEpoch, linear"),
            rivals=_EXECUTOR_RIVALS,
            seeds=range(1 if quick else 3 if load else 10),
        )


@section(
    "executor-shapes",
    "As in the section executors, but random flows (`executor_shapes`), whose tasks take about as long as an "
    "executor takes to another flow. No rule was chosen on them",
)
def executor_shape_rows(quick: bool) -> Iterator[Row]:
    for kind in EXECUTOR_SHAPES[:1] if quick else EXECUTOR_SHAPES:
        for flows, load in ((20, None), (60, 0.4), (60, 0.8)):
            yield Row(
                f"{kind}, {flows} at once" if load is None else f"{kind}, {flows}, load {load:g}",
                lambda rule, seed, kind=kind, flows=flows, load=load: mean_response(
                    rule, executor_shapes(kind, seed, 10 if quick else flows, load)
                ),
                ours=("FlowEpoch", "FlowEpoch, linear"),
                rivals=_EXECUTOR_RIVALS,
                seeds=range(1 if quick else 3),
            )
