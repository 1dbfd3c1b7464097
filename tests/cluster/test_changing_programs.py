"""Programs whose tasks come to take five times as long, or a fifth of the time, as a user sees it."""

import json

import numpy as np
import pytest

import malleable as mb

CLUSTER = mb.Cluster([{"slots": 10}])


def run_jobs(own, seconds, count, save=False):
    """Jobs of one task, one after the other."""
    for _ in range(count):
        if save:
            own = mb.Scheduler(CLUSTER, history=json.loads(json.dumps(own.history)))
        (job,) = own.add(mb.ClusterJobs([1], 0.0, program=["sort"]))
        own.started([job], now=own.now)
        own.ended([job], seconds=seconds, now=own.now + seconds)
        own.finish([job])
    return own


@pytest.mark.parametrize("save", [False, True])
@pytest.mark.parametrize("factor", [5.0, 0.2])
def test_estimates_follow_the_last_runs(factor, save):
    own = run_jobs(mb.Scheduler(CLUSTER), 10.0, 100)
    own = run_jobs(own, 10.0 * factor, 24, save)
    (job,) = own.add(mb.ClusterJobs([5], 0.0, program=["sort"]))
    assert own.counts([job])["estimate"][0, 0] == pytest.approx(10.0 * factor, rel=0.2)


def test_one_long_task_hardly_counts():
    own = run_jobs(mb.Scheduler(CLUSTER), 10.0, 100)
    own = run_jobs(own, 50.0, 1)
    (job,) = own.add(mb.ClusterJobs([5], 0.0, program=["sort"]))
    assert own.counts([job])["estimate"][0, 0] < 15.0


@pytest.mark.parametrize("sigma", [0.5, 1.0])
def test_the_mean_is_that_of_the_last_runs(sigma):
    found = []
    for seed in range(12):
        own = mb.Scheduler(CLUSTER)
        rng = np.random.default_rng(seed)
        for seconds in 10.0 * rng.lognormal(-0.5 * sigma * sigma, sigma, 100):
            run_jobs(own, float(seconds), 1)
        (job,) = own.add(mb.ClusterJobs([5], 0.0, program=["sort"]))
        found.append(own.counts([job])["estimate"][0, 0] / 10.0)
    # What a mean that counts the newest of them by one eighth is off by.
    assert np.sqrt(np.mean(np.square(np.log(found)))) < 1.5 * sigma * np.sqrt(1 / 15)
