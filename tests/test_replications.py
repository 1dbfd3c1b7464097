"""Replications: intervals, parallel runs, what is kept when they are interrupted."""

import math
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from scipy import stats

import malleable as mb
from malleable.replications import interval, replicate, student_quantile

CLUSTER = mb.Cluster([{"map_slots": 10, "reduce_slots": 4}])
make = partial(mb.generate_cluster_jobs, 20)


@pytest.mark.parametrize("freedom", [1, 2, 3, 9, 29, 200])
@pytest.mark.parametrize("probability", [0.75, 0.95, 0.975, 0.995])
def test_students_quantiles(freedom, probability):
    expected = stats.t.ppf(probability, freedom)
    assert student_quantile(probability, freedom) == pytest.approx(expected, rel=1e-6)


def test_intervals():
    mean, half = interval([1.0, 2.0, 4.0, math.nan])
    low, high = stats.t.interval(0.95, 2, np.mean([1, 2, 4]), stats.sem([1, 2, 4]))
    assert (mean - half, mean + half) == pytest.approx((low, high))
    assert interval([3.0])[0] == 3.0
    assert math.isnan(interval([3.0])[1])
    assert math.isnan(interval([])[0])


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_parallel_runs_give_the_serial_result(pool):
    options = {"model": "cluster", "cluster": CLUSTER, "noise": 0.5, "estimates": 0.5}
    serial = replicate(make, range(3), ["flex", "fair"], **options)
    with pool(2) as executor:
        parallel = replicate(make, range(3), ["flex", "fair"], executor=executor, **options)
    assert serial.summary["flex"]["mean_response"] == parallel.summary["flex"]["mean_response"]
    assert serial.seeds == parallel.seeds == [0, 1, 2]
    means = [one["mean_response"] for one in serial.runs["fair"]]
    assert serial.summary["fair"]["mean_response"].mean == pytest.approx(np.mean(means))
    assert serial.slowdown["flex"][0].sum() == 60
    assert serial.complete


def test_interruption_keeps_what_is_finished():
    def until_third(finished, total):
        if finished == 2:
            raise KeyboardInterrupt

    found = replicate(make, range(9), ["fifo"], cluster=CLUSTER, progress=until_third)
    assert not found.complete
    assert found.seeds == [0, 1]
    assert len(found.runs["fifo"]) == 2


def test_confidence_is_checked():
    with pytest.raises(ValueError, match="confidence"):
        replicate(make, [1], ["fifo"], confidence=1.0, cluster=CLUSTER)


def test_one_policy_by_its_name():
    alone = replicate(make, range(2), "fair", cluster=CLUSTER)
    assert alone.policies == ["fair"]
    assert alone.summary == replicate(make, range(2), ["fair"], cluster=CLUSTER).summary
