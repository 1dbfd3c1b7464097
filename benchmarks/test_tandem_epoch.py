"""Latency of a decision about overlapping phases with 100,000 live jobs, 1 % of which change before it."""

from __future__ import annotations

import pytest

from benchmarks.instances import TandemStream

JOBS = 100_000


@pytest.mark.parametrize("policy", ["max-srpt", "split-srpt", "two-srpt"])
@pytest.mark.parametrize("most", [None, 16], ids=["whole_stations", "16_slots_a_job"])
def test_decide(benchmark, policy, most):
    stream = TandemStream(policy, JOBS, most)
    found = benchmark.pedantic(stream.decide, setup=stream.change, rounds=200, warmup_rounds=5)
    assert len(found.ids) > 0
    assert found.slots[:, 0].sum() == stream.slots


def test_change(benchmark):
    stream = TandemStream("max-srpt", JOBS, None)
    benchmark.pedantic(stream.change, rounds=50, warmup_rounds=5)
    assert len(stream.epoch) == JOBS
