"""Random instances of the cluster simulator: small steps, and what every trace must keep to."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import malleable as mb
from tests.cluster.cluster_runs import (
    BUILT_IN,
    check_trace,
    completions,
    instances,
    nodes,
    of_policy,
)
from tests.full import part
from tests.oracles import cluster_steps


@pytest.mark.parametrize("policy", ["fair", "flex", "fifo"])
@pytest.mark.parametrize("seed", range(25))
def test_agrees_with_small_steps(policy, seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 6))
    maps = rng.integers(0, 6, count)
    table = list(
        zip(
            np.sort(rng.integers(0, 12, count)).tolist(),
            maps.tolist(),
            rng.integers(1, 7, count).tolist(),
            rng.integers(0, 4, count).tolist(),
            rng.integers(1, 7, count).tolist(),
            (np.maximum(maps, 1) * rng.integers(0, 3, count)).tolist(),
            strict=True,
        )
    )
    slots = {"map": int(rng.integers(1, 5)), "reduce": int(rng.integers(1, 4))}
    slow_start = float(rng.choice([0.0, 0.05, 0.5, 1.0]))
    expected = cluster_steps.simulate(table, slots, policy, slow_start)
    arrival, maps, map_seconds, reduces, reduce_seconds, shuffle = zip(*table, strict=True)
    jobs = mb.ClusterJobs(
        maps, map_seconds, reduces, reduce_seconds, arrival=arrival, shuffle=shuffle
    )
    cluster = nodes(slots["map"], slots["reduce"])
    for epoch in (0, 1):
        found = completions(jobs, policy, cluster, slow_start=slow_start, epoch=epoch)
        assert found == pytest.approx(expected, abs=1e-9)


@settings(max_examples=part(150, 50), deadline=None)
@given(instances(), st.sampled_from(BUILT_IN), st.integers(0, 3))
def test_every_trace_is_sound(instance, policy, seed):
    jobs, cluster, options = instance
    options = of_policy(policy, options)
    result = mb.simulate(jobs, policy, cluster=cluster, rng=seed, trace=True, **options)
    summary, trace = result.summary[policy], result.trace[policy]
    assert summary["jobs"] == len(jobs)
    assert summary["tasks"] == jobs.maps.sum() + jobs.reduces.sum()
    check_trace(jobs, cluster, options, trace, result.records, policy)
    # Little's law on every path.
    response = result.records["turnaround_time"].sum()
    if summary["end"]:
        assert summary["mean_jobs"] * summary["end"] == pytest.approx(response)
    again = mb.simulate(jobs, policy, cluster=cluster, rng=seed, trace=True, **options)
    for name, column in result.records.items():
        assert column.tolist() == again.records[name].tolist()
    conserving = options["heartbeat"] == 0 and not (options["replicas"] and options["delay"])
    # As printed, the adaptive policy keeps nodes for other classes; AUTO leaves slow slots for fast ones.
    waits = policy == "adaptive-literal" or (policy == "auto" and len(set(cluster.rate)) > 1)
    if conserving and not waits:
        assert not summary["idle_slots"] > 0
