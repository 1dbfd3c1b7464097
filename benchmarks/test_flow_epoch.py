"""Decisions about flows: 1 % of the jobs change, then slots for all; and one flow that comes."""

from __future__ import annotations

import numpy as np
import pytest

import malleable as mb
from benchmarks import instances


@pytest.mark.parametrize(
    "objective", ["sum:response", "sum:stretch", "sum:tardiness", "max:stretch"]
)
@pytest.mark.parametrize("flows", [1_000, 10_000])
def test_change_and_decide(benchmark, flows, objective):
    """`update` of 1 % of the jobs, `finish` of one, `decide`."""
    table, slots = instances.flow_epoch_instance(flows)
    epoch = mb.FlowEpoch(slots, objective)
    epoch.add(table)
    rng = np.random.default_rng(1)
    last = epoch.decide(0.0)

    def changes():
        ended = last.ids[last.slots > 0][:1]
        ids = rng.choice(last.ids, len(table.work) // 100, replace=False)
        ids = ids[ids != ended[0]]
        return (ids, rng.uniform(0.1, 5.0, len(ids)), ended), {}

    def decide(ids, work, ended):
        nonlocal last
        epoch.update(ids, work=work)
        epoch.finish(ended)
        last = epoch.decide(last.now + 0.01)

    benchmark.pedantic(decide, setup=changes, rounds=100, warmup_rounds=3)


def test_add_one_flow(benchmark):
    """A flow of 20 jobs, beside 5,000 of them."""
    table, slots = instances.flow_epoch_instance(5_000)
    epoch = mb.FlowEpoch(slots)
    epoch.add(table)
    one = table.take([0])
    benchmark.pedantic(epoch.add, (one,), rounds=1000, warmup_rounds=3)
