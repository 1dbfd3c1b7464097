"""Bounds of jobs alone and of the mean: no policy is better, whatever the jobs and the cluster."""

import numpy as np
import pytest

import malleable as mb
from malleable.cluster.nodes import Cluster
from malleable.report.units import mean_bound, metrics, units_of

POLICIES = ("fair", "fifo", "auto", "srpt", "fair(slow_start=0.05)")


def instance(seed):
    """A few jobs with tasks of any times, some of them flows, on slots of one kind or two."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 12))
    maps, reduces = rng.integers(0, 6, count), rng.integers(0, 4, count) * (seed % 3 > 0)
    arrival = np.zeros(count) if seed % 4 == 0 else np.cumsum(rng.exponential(3, count))
    more = {}
    if seed % 5 == 0:
        more = {"flow": [f"f{k // 3}" for k in range(count)]}
        more["after"] = [[k - 1] if k % 3 else [] for k in range(count)]
        arrival = np.repeat(arrival[::3], 3)[:count]
    if seed % 7 == 0:
        more["speedup"] = [0.7] * count
    seconds = [rng.exponential(5, own).tolist() for own in maps]
    last = [rng.exponential(8, own).tolist() for own in reduces]
    copying = rng.exponential(2, count) * (seed % 2)
    jobs = mb.ClusterJobs(maps, seconds, reduces, last, arrival=arrival, shuffle=copying, **more)
    rate = float(rng.choice([1.0, 2.0, 0.5]))
    if seed % 2 or "flow" in more:
        return jobs, Cluster([{"slots": int(rng.integers(1, 6)), "rate": rate}])
    pools = {"map_slots": int(rng.integers(1, 4)), "reduce_slots": int(rng.integers(1, 4))}
    return jobs, Cluster([{**pools, "rate": rate}])


@pytest.mark.parametrize("first", range(0, 60, 15))
def test_no_policy_is_below_the_bounds(first):
    near = 0.0
    for seed in range(first, first + 15):
        jobs, cluster = instance(seed)
        units = units_of(jobs, cluster, {})
        bound = mean_bound(jobs, cluster, units)
        for policy in POLICIES:
            records = mb.simulate(jobs, policy, cluster=cluster, rng=1).records
            columns = ("job_id", "starting_time", "finish_time")
            schedule = units.schedule(*(records[name] for name in columns))
            own = metrics(units, schedule)
            if own["unfinished"]:
                continue
            assert own["mean_response"] >= bound * (1 - 1e-9) - 1e-9, (seed, policy)
            response = schedule.end - units.arrival
            assert (response >= units.alone * (1 - 1e-9) - 1e-9).all(), (seed, policy)
            if own["mean_response"]:
                near = max(near, bound / own["mean_response"])
    assert near > 0.9  # some instance reaches it


def test_metrics_by_hand():
    jobs = mb.ClusterJobs([1, 1], [[4.0], [2.0]], arrival=[0.0, 1.0], deadline=[4.0, 5.0])
    cluster = Cluster([{"slots": 1}])
    units = units_of(jobs, cluster, {})
    schedule = units.schedule(np.array([0, 1]), np.array([0.0, 4.0]), np.array([4.0, 6.0]))
    own = metrics(units, schedule)
    assert own["mean_response"] == 4.5 and own["longest_wait"] == 3.0 and own["p50_wait"] == 0.0
    assert own["mean_slowdown"] == (1.0 + 2.5) / 2 and own["missed_deadlines"] == 1.0
    # Alone 4 and 2 s; on one machine, shortest remaining first, 6 and 2 s: the larger mean.
    assert mean_bound(jobs, cluster, units) == pytest.approx(4.0)


def test_a_job_with_a_part_that_has_not_ended_has_not_ended():
    jobs = mb.ClusterJobs([1, 1], [[4.0], [2.0]], flow=["f", "f"], after=[[], [0]])
    units = units_of(jobs, Cluster([{"slots": 1}]), {})
    part = units.schedule(np.array([0]), np.array([0.0]), np.array([4.0]))
    assert len(units) == 1 and np.isnan(part.end[0]) and part.start[0] == 0.0
    assert units.alone[0] == 6.0 and units.name == ["f"]
