"""Replications: intervals, parallel runs, the papers' cluster figures at their smallest."""

import math
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from scipy import stats

import malleable as mb
from malleable.papers import flowflex, reproduce
from malleable.papers.flex import PANELS
from malleable.papers.flex import paper_jobs as figure6_jobs
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

    found = replicate(
        make, range(9), ["fifo"], model="cluster", cluster=CLUSTER, progress=until_third
    )
    assert not found.complete
    assert found.seeds == [0, 1]
    assert len(found.runs["fifo"]) == 2


def test_confidence_is_checked():
    with pytest.raises(ValueError, match="confidence"):
        replicate(make, [1], ["fifo"], confidence=1.0, model="cluster", cluster=CLUSTER)


def test_jobs_of_figure_6():
    for sigma, ratio in ((0.0, 1.0), (4.0, 10.0)):
        jobs = figure6_jobs(3, sigma=sigma)
        assert jobs.maps.max() / jobs.maps.min() == pytest.approx(ratio, rel=0.02)
        assert jobs.maps.sum() == pytest.approx(9000, rel=0.01)
        assert jobs.arrival.tolist() == [0] * 10
    assert figure6_jobs(3, count=40).maps.sum() == pytest.approx(9000, rel=0.01)


def test_figure_6():
    figure = reproduce("flex-fig6", 1, seed=5)
    shown = figure.as_dict()
    assert {name: len(points) for name, points in shown["panels"].items()} == {
        name: len(values) for name, values in PANELS.items()
    }
    # FAIR does not look at minima that are equal; FLEX gains with slack.
    slack = figure.panels[0].rows
    assert len({round(point["fair"].mean, 9) for point in slack}) == 1
    assert slack[-1]["flex"].mean < slack[0]["flex"].mean < slack[0]["fair"].mean
    assert {claim["verdict"] for claim in shown["claims"]} == {"open"}  # one run has no interval
    assert all(claim.verdict.told().startswith("open (one") for claim in figure.claims)
    drawn = figure.draw()
    assert len(drawn.axes) == 8
    stars = [
        line.get_xydata().tolist()
        for axes in drawn.axes
        for line in axes.get_lines()
        if line.get_marker() == "*"
    ]
    assert stars == [[[0.95, 0.5]], [[0, 0.5]], [[1, 0.5]], [[20, 0.2], [40, 0.2]]]


def test_figure_12(monkeypatch):
    monkeypatch.setattr(flowflex, "FLOWS", 4)
    figure = reproduce("flowflex-fig12", 1, seed=2)
    shown = figure.as_dict()
    assert shown["complete"]
    gain = {row["metric"]: row for row in shown["panels"]["all at once"]}
    assert gain["average stretch"]["fifo"]["mean"] > 0
    assert set(gain) == {metric for metric, _, _ in flowflex.METRICS}
    assert (len(figure.panels), len(figure.claims)) == (2, 16)
