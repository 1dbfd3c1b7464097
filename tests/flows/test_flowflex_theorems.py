"""The proved factors on generated and on real instances, the latter taken without arrivals.

Real ones skip without the files. They have no weights, deadlines or steps, so they get some: deadlines
and steps up to the end of FIFO's schedule, which are tight for many flows.
"""

import functools

import numpy as np
import pytest

import malleable as mb
from benchmarks.instances import alibaba_flows, tpch_flows
from malleable.flows.generate import section51_flows
from tests.flows.flow_theorems import keeps_the_theorems
from tests.full import part
from tests.trace_files import trace_file

KINDS = ("response", "completion", "stretch", "tardy", "tardiness", "sla")
OBJECTIVES = [f"{aggregate}:{kind}" for aggregate in ("sum", "max") for kind in KINDS]


def check(flows, slots, objective):
    literal = mb.plan(flows, slots, objective, "flowflex-literal")
    plain = mb.plan(flows, slots, objective, effort=0)
    best = mb.plan(flows, slots, objective, effort=50)
    for plan in (literal, plain, best):
        plan.validate()
        margin = 1e-9 * (1.0 + abs(literal.value))
        assert plan.value <= literal.value + margin  # none is worse than the literal one
        assert plan.literal_value == pytest.approx(literal.value)
        assert plan.guarantee[0] == ((1.0, 2.0) if objective[0] == "m" else (2.0, 3.0))
        # Corollaries 1 and 2: "a 6-approximation ... including average stretch", "a 2-approximation ...
        # including makespan and maximum stretch".
        times = objective.split(":")[1] in ("response", "completion", "stretch")
        factor = 2.0 if objective[0] == "m" else 6.0
        assert plan.guarantee[1:] == (((factor, 1.0),) if times else ())
    bound = max(literal.lower_bound, plain.lower_bound, best.lower_bound)
    keeps_the_theorems(flows, objective, literal, bound)


def dressed(flows, slots, seed):
    """All flows at time 0, with weights, deadlines and steps."""
    rng = np.random.default_rng(seed)
    count = len(flows)
    columns = {
        "max_slots": flows.max_slots,
        "weight": rng.integers(1, 11, count).astype(float),
        "name": list(flows.name),
        "job_name": flows.local_names(),
    }
    graph = (flows.job_offset, flows.work, flows.parent_offset, flows.parent)
    plain = mb.Flows.from_arrays(*graph, **columns)
    last = mb.plan(plain, slots, "max:completion", "fifo").flow_completion.max()
    steps = np.sort(rng.uniform(0.01 * last, last, (count, 3)), axis=1)
    sla = [[(t, float(k)) for k, t in enumerate(row, 1)] for row in steps.tolist()]
    return mb.Flows.from_arrays(*graph, deadline=rng.uniform(0, last, count), sla=sla, **columns)


@functools.cache
def flows_of(path):
    return mb.read(path).flows()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_generated(objective, weighted):
    for seed in range(part(25)):
        check(section51_flows(seed, weighted=weighted), 25, objective)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("slots", [50, 200])
def test_tpch(slots, objective):
    flows = tpch_flows(trace_file("tpch-cloudlab"), cores=slots)
    check(dressed(flows, slots, 1), slots, objective)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("name", ["medium_filtered.jsonl.gz", "set0_dev.jsonl.gz"])
def test_alibaba(name, objective):
    flows = alibaba_flows(trace_file("alibaba2018-dag", name))
    for seed, first in enumerate(range(0, 100 * part(4, 1), 100)):
        check(dressed(flows.take(np.arange(first, first + 100)), 300, seed), 300, objective)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_workflows(objective):
    runs = sorted(trace_file("wfinstances").glob("*/*.gz"))
    tables = sorted(map(flows_of, runs), key=lambda flows: len(flows.work))[:12]
    # Runs of one workflow may share a name.
    renamed = [
        mb.Flows.from_arrays(
            table.job_offset,
            table.work,
            table.parent_offset,
            table.parent,
            max_slots=table.max_slots,
            name=[f"run{k}"],
        )
        for k, table in enumerate(tables)
    ]
    check(dressed(mb.Flows.joined(renamed), 64, 3), 64, objective)
