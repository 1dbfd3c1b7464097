"""Speed of map and reduce in slots: a large cluster, one decision among many live jobs, the bounds.

Run `python -m pytest benchmarks/test_slotted.py --benchmark-only`; instances are those of
benchmarks/instances.
"""

import numpy as np
import pytest

import malleable as mb
from benchmarks import instances
from malleable.slotted import simulate as slotted


@pytest.fixture(scope="module")
def cluster():
    return instances.slotted_cluster()


@pytest.mark.parametrize("preemptive", [True, False], ids=["preemptive", "non-preemptive"])
@pytest.mark.parametrize("policy", ["asrpt", "unlock", "dsrpt", "fifo", "fair"])
def test_cluster(benchmark, cluster, policy, preemptive):
    if policy == "dsrpt" and not preemptive:
        pytest.skip("defined for preemptive reduce tasks only")
    jobs, machines = cluster
    result = benchmark.pedantic(
        mb.simulate,
        (jobs, policy),
        {"machines": machines, "preemptive": preemptive, "records": False, "bound": False},
        rounds=3,
    )
    assert result.summary[policy]["jobs"] == len(jobs)


def test_stream(benchmark):
    """Ten million jobs that are drawn while they run."""
    stream = mb.MapReduceStream("exp-large", steps=50_000, rate=200.0)
    options = {"machines": 10_000, "rng": 1}
    result = benchmark.pedantic(mb.simulate, (stream, "asrpt"), options, rounds=1)
    assert result.summary["asrpt"]["unfinished"] == 0


def test_bounds(benchmark, cluster):
    jobs, machines = cluster
    least, tight = benchmark.pedantic(slotted.lower_bounds, (jobs, machines), rounds=3)
    assert len(jobs) <= least <= tight


@pytest.mark.parametrize("policy", ["asrpt", "unlock", "srpt", "fair"])
def test_decision(benchmark, policy):
    """One slot of a loop with 100,000 live jobs or more: 200 arrive, then the machines are handed out.

    What starts is told between the rounds, so that every decision is about other jobs.
    """
    epoch, state = instances.slotted_loop(140_000, policy)

    def start():
        if state.decision is not None:
            state.follow(epoch)
        return (epoch, *state.arrivals()), {}

    def slot(each, now, maps, reduce_left):
        state.admit(each.add(maps, reduce_left, arrival=now), maps, reduce_left)
        state.decision = each.decide(now)

    benchmark.pedantic(slot, setup=start, rounds=100, warmup_rounds=5)
    assert np.sum(state.decision.maps + state.decision.reduces) == epoch.slots
    assert len(epoch) > 100_000
