"""Speed of FlowFlex from Python.

Run `python -m pytest benchmarks/test_flowflex.py --benchmark-only`; instances are those of
benchmarks/instances. Its min-cost flow is compared with LEMON's in C++: benchmarks/bench_lemon.cpp.
"""

import os
from pathlib import Path

import pytest

import malleable as mb
from benchmarks import instances


@pytest.mark.parametrize("slots", [25, 1_000])
@pytest.mark.parametrize("flows", [20, 1_000, 10_000])
@pytest.mark.parametrize("objective", ["sum:completion", "sum:tardiness", "sum:sla"])
def test_fast_minisum_plan(benchmark, objective, flows, slots):
    table, _ = instances.flows_instance(flows)
    benchmark.pedantic(mb.plan, (table, slots, objective, "flowflex-fast"), {"effort": 0}, rounds=3)


@pytest.mark.parametrize("slots", [25, 1_000])
@pytest.mark.parametrize("flows", [20, 1_000, 10_000])
@pytest.mark.parametrize("kind", ["completion", "stretch", "tardy", "tardiness", "sla"])
def test_minimax_plan(benchmark, kind, flows, slots):
    table, _ = instances.flows_instance(flows)
    benchmark.pedantic(mb.plan, (table, slots, f"max:{kind}"), {"effort": 0}, rounds=3)


@pytest.mark.parametrize("flows", [20, 1_000])
@pytest.mark.parametrize("kind", ["completion", "stretch", "tardy", "tardiness", "sla"])
def test_full_minisum_plan_without_search(benchmark, kind, flows):
    table, slots = instances.flows_instance(flows)
    benchmark(mb.plan, table, slots, f"sum:{kind}", effort=0)


@pytest.mark.parametrize("objective", ["sum:completion", "sum:sla", "max:tardiness"])
def test_plan_of_section51(benchmark, objective):
    table, slots = instances.section51_base(1)
    benchmark(mb.plan, table, slots, objective)


@pytest.mark.parametrize("policy", ["fair", "fifo"])
@pytest.mark.parametrize("slots", [25, 1_000])
@pytest.mark.parametrize("flows", [1_000, 10_000])
def test_baseline_plan(benchmark, flows, slots, policy):
    table, _ = instances.flows_instance(flows)
    benchmark.pedantic(mb.plan, (table, slots, "sum:completion", policy), rounds=3)


@pytest.mark.parametrize("slots", [50, 200])
def test_real_queries(benchmark, slots):
    folder = Path(os.environ.get("MALLEABLE_TRACES", "")) / "tpch-cloudlab"
    if not folder.exists():
        pytest.skip("set MALLEABLE_TRACES to the folder that has tpch-cloudlab")
    table = instances.tpch_flows(folder, cores=slots)
    plan = benchmark(mb.plan, table, slots, "sum:stretch")
    plan.validate()
