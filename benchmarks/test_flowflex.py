"""Speed of FlowFlex from Python, and of its min-cost flow against OR-tools (extra `bench`).

Run `python -m pytest benchmarks/test_flowflex.py --benchmark-only`; instances are those of
benchmarks/instances. OR-tools solves the same network with costs rounded to integers: figure 7 of
the paper to the letter, or only the arcs to cells behind which a cost rises; only its solve() is timed.
LEMON is compared with in C++: benchmarks/bench_lemon.cpp.
"""

import os
from pathlib import Path

import numpy as np
import pytest

import malleable as mb
from benchmarks import instances
from malleable.flows.kernels import min_cost_flow

KINDS = ("completion", "tardiness", "sla")


@pytest.mark.parametrize("cells", [256, 1024])
@pytest.mark.parametrize("kind", KINDS)
def test_min_cost_flow(benchmark, kind, cells):
    columns = {k: np.asarray(v) for k, v in instances.cell_network(1_000, cells, kind).items()}
    found = benchmark(min_cost_flow, **columns)
    assert found.value == pytest.approx(found.bound, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("cells", [256, 1024])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("arcs", ["figure7", "where-costs-rise"])
def test_min_cost_flow_of_ortools(benchmark, arcs, kind, cells):
    peer = pytest.importorskip("ortools.graph.python.min_cost_flow")
    columns = {k: np.asarray(v) for k, v in instances.cell_network(1_000, cells, kind).items()}
    flows, scale = len(columns["volume"]), 1e4
    cost = np.empty((flows, cells))
    for j in range(flows):
        rows = range(int(columns["offset"][j]), int(columns["offset"][j + 1]))
        for r in rows:
            first = int(columns["from_cell"][r])
            span = columns["time"][first:] - columns["time"][first]
            cost[j, first:] = columns["value"][r] + columns["slope"][r] * span
    # What lies before a cell is reached through the chain, so arcs may go where no cost rises behind.
    rises = np.append(cost[:, 1:] > cost[:, :-1], np.ones((flows, 1), dtype=bool), axis=1)
    flow, cell = np.nonzero(rises | (arcs == "figure7"))
    tail = np.concatenate([flow, flows + np.arange(1, cells)])
    head = np.concatenate([flows + cell, flows + np.arange(cells - 1)])
    unit = np.concatenate([np.rint(cost[flow, cell] * scale), np.zeros(cells - 1)]).astype(np.int64)
    volume = columns["volume"].astype(np.int64)
    room = columns["room"].astype(np.int64)
    free = int(room.sum() - volume.sum())
    supply = np.concatenate([volume, -room])
    supply[-1] += free  # the last cell need not be full
    for at in range(len(supply) - 1, flows, -1):  # nor those before, if much room is left
        if supply[at] > 0:
            supply[at - 1] += supply[at]
            supply[at] = 0

    def setup():
        solver = peer.SimpleMinCostFlow()
        solver.add_arcs_with_capacity_and_unit_cost(
            tail, head, np.full(len(tail), int(volume.sum()), dtype=np.int64), unit
        )
        solver.set_nodes_supplies(np.arange(len(supply)), supply)
        return (solver,), {}

    solver_of = {}

    def solve(solver):
        solver_of["last"] = solver
        assert solver.solve() == solver.OPTIMAL

    benchmark.pedantic(solve, setup=setup, rounds=1)
    ours = min_cost_flow(**columns)
    rounding = volume.sum() / scale
    assert abs(solver_of["last"].optimal_cost() / scale - ours.value) <= rounding


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
