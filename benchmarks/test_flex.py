"""Speed of FLEX's plans and epochs from Python.

Run `python -m pytest benchmarks --benchmark-only`; instances are those of benchmarks/instances. Ratios
to std::sort in one process, from C++: `bench_core`. The yardsticks below (np.argsort, np.sort) are timed in
the same run, so ratios of medians can be read from one table.
"""

import time

import numpy as np
import pytest

import malleable as mb
from benchmarks import instances
from malleable.objective import KINDS

OBJECTIVES = [f"{a}:{k}" for a in ("sum", "max") for k in KINDS if k != "custom"]


@pytest.mark.parametrize("name", ["argsort", "sort"])
def test_yardstick(benchmark, name):
    work = np.asarray(instances.instance_a(100_000)[0].work)
    benchmark(getattr(np, name), work)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_plan_of_1000_jobs_all_fixed_orders(benchmark, objective):
    table, slots = instances.objectives_instance(1_000)
    benchmark(mb.plan, table, slots, objective, effort=0)


@pytest.mark.parametrize("jobs", [100, 1_000])
def test_curved_plan_all_fixed_shares(benchmark, jobs):
    table, slots = instances.curved_instance(jobs, 0.8)
    benchmark(mb.plan, table, slots, "sum:response", effort=0)


@pytest.mark.parametrize("jobs", [1_000, 10_000])
def test_curved_decide(benchmark, jobs):
    table, slots = instances.curved_instance(jobs, 0.8)
    epoch = mb.Epoch(slots)
    epoch.add(table)
    assert benchmark(epoch.decide, 0.0).slots.sum() == slots


@pytest.mark.parametrize("effort", [0, None], ids=["fixed-orders", "default"])
@pytest.mark.parametrize("kind", ["tardy", "sla", "tardiness"])
def test_quality_of_1000_jobs(benchmark, kind, effort):
    """`extra_info` has value and bound, and FAIR's value."""
    table, slots = instances.objectives_instance(1_000)
    plan = benchmark(mb.plan, table, slots, f"sum:{kind}", effort=effort)
    fair = mb.plan(table, slots, f"sum:{kind}", "fair")
    benchmark.extra_info |= {"value": plan.value, "bound": plan.lower_bound, "fair": fair.value}
    assert plan.lower_bound <= plan.value <= fair.value


def test_fair_plan_of_many_jobs(benchmark):
    """Shares change at every completion."""
    table, slots = instances.objectives_instance(24_000)
    plan = benchmark.pedantic(mb.plan, (table, slots, "sum:response", "fair"), rounds=5)
    assert plan.status == "ok"


@pytest.mark.parametrize("jobs", [100_000, 1_000_000])
@pytest.mark.parametrize("which", ["a", "b"])
def test_decide(benchmark, jobs, which):
    """One decision, with 1 % of the jobs arriving, leaving or changing before it (not timed)."""
    stream = instances.decision_stream(which, jobs)
    benchmark.pedantic(stream.decide, setup=stream.change, rounds=200 if jobs < 10**6 else 20)


@pytest.mark.parametrize("jobs", [10_000, 100_000])
@pytest.mark.parametrize("objective", ["sum:response", "sum:stretch", "sum:tardiness"])
def test_decide_for_a_period(benchmark, jobs, objective):
    table, slots = instances.instance_a(jobs)
    epoch = mb.Epoch(slots, objective, period=5.0)
    due = np.random.default_rng(1).uniform(5, 500, jobs)
    epoch.add(table.work, min_slots=table.min_slots, max_slots=table.max_slots, deadline=due)
    benchmark(epoch.decide, 0.0)


@pytest.mark.parametrize("aggregate", ["sum", "max"])
@pytest.mark.parametrize("which", ["response", "steady", "tardiness", "mixed"])
@pytest.mark.parametrize("jobs", [10_000, 100_000])
def test_decide_of_kinds(benchmark, jobs, which, aggregate):
    """Steady kinds mixed against one, and other kinds mixed against one of them."""
    stream = instances.KindStream(jobs, which, aggregate)
    benchmark.pedantic(stream.decide, setup=stream.change, rounds=100)


@pytest.mark.parametrize("aggregate", ["sum", "max"])
@pytest.mark.parametrize("kind", ["response", "stretch", "lateness", "tardiness", "tardy", "sla"])
def test_decide_of_a_function(benchmark, kind, aggregate):
    """The caller's function against the kind that it copies, in turns: `extra_info` has processor times."""
    streams = [instances.KindStream(10_000, kind, aggregate, own) for own in (False, True)]
    seconds = [[], []]

    def guarded():
        for stream, taken in zip(streams, seconds, strict=True):
            stream.change()
            began = time.thread_time()
            stream.decide()
            taken.append(time.thread_time() - began)

    benchmark.pedantic(guarded, rounds=60)
    built_in, own = (float(np.median(taken)) for taken in seconds)
    benchmark.extra_info |= {"built_in": built_in, "own": own, "ratio": own / built_in}


@pytest.mark.parametrize("call", ["decide", "update-1", "update-1000"])
def test_small_calls(benchmark, call):
    """From Python, arrays of the right type: the cost of a call itself."""
    count = 1000 if call == "update-1000" else 10
    table, slots = instances.instance_a(count)
    epoch = mb.Epoch(slots)
    ids = epoch.add(table)
    some, work = ids[: 1 if call == "update-1" else count], table.work.copy()
    left = work[: len(some)]
    if call == "decide":
        benchmark(epoch.decide, 0.0)
    else:
        benchmark(epoch.update, some, work=left)


@pytest.mark.parametrize("jobs", [100_000, 1_000_000])
@pytest.mark.parametrize("which", ["a", "b"])
def test_value_and_bound_of_a_decision(benchmark, jobs, which):
    """The epoch of Wolf et al. 2010 (FLEX) from Python: order, one packing, value and bound."""
    stream = instances.decision_stream(which, jobs)

    def assess():
        return stream.decide().gap

    benchmark.pedantic(assess, setup=stream.change, rounds=20 if jobs < 10**6 else 5)


def test_plan_of_a_decision(benchmark):
    """The whole plan behind a decision: pieces, the stronger bound, a table of its own."""
    stream = instances.decision_stream("a", 100_000)
    benchmark.pedantic(lambda: stream.decide().plan(), setup=stream.change, rounds=10)
