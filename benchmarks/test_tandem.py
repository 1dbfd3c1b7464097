"""Speed of the tandem queue of map and shuffle: section 5.3's stream, one policy at a time.

`extra_info` has the events (arrival, map end, buffer empty, completion) a second of the best round.
"""

import pytest

import malleable as mb
from malleable.tandem.simulate import POLICIES as SIMULATED_POLICIES

JOBS, LOAD, SEED = 1_000_000, 0.75, 7


@pytest.mark.parametrize("policy", SIMULATED_POLICIES[3:])
def test_stream(benchmark, policy):
    stream = mb.MapShuffleStream(JOBS, LOAD)
    result = benchmark(mb.simulate, stream, policy=policy, rng=SEED, bound=False)
    summary = result.summary[policy]
    assert summary["jobs"] == JOBS
    if benchmark.stats is not None:
        benchmark.extra_info["events_per_second"] = summary["events"] / benchmark.stats.stats.min
