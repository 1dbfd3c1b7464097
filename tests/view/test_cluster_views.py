"""Cluster reports: every metric with intervals, the grid, series over time, pictures."""

import json
import math
from functools import partial

import numpy as np
import pytest

import malleable as mb
from malleable.replications import Interval, replicate
from malleable.view.simulation_pictures import draw_grid
from malleable.view.simulations import (
    interval_cell,
    replications_dict,
    replications_tables,
    simulation_dict,
    simulation_tables,
)
from malleable.view.text import console_for

CLUSTER = mb.Cluster(
    [{"map_slots": 6, "reduce_slots": 3}], [{"name": "user0", "minimum": 2}, {"name": "user1"}]
)
POLICIES = ["flex", "fair", "fifo"]
make = partial(mb.generate_cluster_jobs, 30, users=2, gap=60.0)


def text_of(parts, capsys):
    console = console_for()
    for part in parts:
        console.print(part)
    return capsys.readouterr().out


@pytest.fixture(scope="module")
def replicated():
    return replicate(make, range(4), POLICIES, cluster=CLUSTER, noise=0.4)


def test_every_metric_has_an_interval(replicated, capsys):
    shown = text_of(replications_tables(replicated), capsys)
    heads = (
        "mean", "median", "p95", "longest", "makespan",
    )  # fmt: skip
    for head in heads:
        assert head in shown
    found = json.loads(json.dumps(replications_dict(replicated)), parse_constant=pytest.fail)
    for policy in POLICIES:
        own = found["policies"][policy]
        for metric in ("mean_response", "p99", "churn", "longest_wait"):
            assert own[metric]["half"] >= 0
        assert own["users"]["user1"]["stretch"]["half"] >= 0
        assert found["timing"]["decisions"][policy]["decision p99"]["mean"] >= 0
        sizes = found["slowdown"][policy]
        assert sum(row["jobs"] for row in sizes) == 120
        assert all(row["mean"] > 0 for row in sizes)


def test_stretch_by_size_is_of_all_seeds(replicated):
    runs = [
        mb.simulate(make(seed), "fair", cluster=CLUSTER, noise=0.4, rng=seed).slowdown["fair"]
        for seed in replicated.seeds
    ]
    for k, (jobs, mean) in enumerate(zip(*replicated.slowdown["fair"], strict=True)):
        own = [(count[k], stretch[k]) for count, stretch in runs if k < len(count)]
        assert jobs == sum(count for count, _ in own)
        assert mean * jobs == pytest.approx(sum(count * stretch for count, stretch in own))


def test_one_run(capsys):
    result = mb.simulate(make(1), POLICIES, cluster=CLUSTER, rng=1)
    shown = text_of(simulation_tables(result), capsys)
    assert "over fair" in shown
    assert "+-" not in shown
    assert simulation_dict(result)["slowdown"]["flex"][0]["mean"] > 0


def test_one_table_answers(capsys):
    result = mb.simulate(make(1), POLICIES, cluster=CLUSTER, rng=1)
    shown = text_of(simulation_tables(result), capsys)
    assert shown.count("response [s]") == 1 and "over fair" in shown
    assert "flow" not in shown  # a column that no policy has


def test_tables_stay_readable_with_many_policies(capsys):
    names = ["flex", "fair", "fifo", "wdeq", "srpt", "max-srpt", "gittins", "asrpt", "hesrpt"]
    found = replicate(make, range(2), names, cluster=CLUSTER, noise=0.4)
    shown = text_of(replications_tables(found), capsys)
    lines = shown.splitlines()
    head = next(k for k, line in enumerate(lines) if "response [s]" in line)
    assert "makespan" in shown
    # Every policy by its name, with whole cells.
    for name, line in zip(names, lines[head + 2 :], strict=False):
        assert line.split()[0] == name
        assert line.count("+-") >= 2


def test_cells():
    assert interval_cell(2.5) == "2.5"
    assert interval_cell(Interval(1234567.0, 98765.0)) == "1234567 +- 98765"
    assert interval_cell(Interval(0.5, 0.0125), share=True) == "50.0 +- 1.2 %"
    assert interval_cell(math.nan) == "-"


def test_series_add_up():
    jobs = make(2)
    result = mb.simulate(jobs, ["flex", "fifo"], cluster=CLUSTER, rng=1)
    for policy, series in result.series.items():
        summary, step = result.summary[policy], np.diff(series["time"])
        assert series["time"][0] == 0
        assert series["time"][-1] == summary["end"] == summary["makespan"]
        assert (step > 0).all()
        assert series["jobs"] @ step == pytest.approx(summary["mean_jobs"] * summary["end"])
        for kind in ("map", "reduce"):
            used = series[f"{kind}_utilisation"]
            assert used @ step == pytest.approx(summary[f"{kind}_utilisation"] * summary["end"])
            assert used.max() <= 1 + 1e-12


def test_series_of_a_batch_and_with_a_horizon():
    batch = mb.ClusterJobs([600], 10)
    result = mb.simulate(batch, "fifo", cluster=CLUSTER)
    assert len(result.series["fifo"]["time"]) > 50
    assert result.series["fifo"]["map_utilisation"].min() == pytest.approx(1)
    assert np.isnan(result.summary["fifo"]["locality"])
    gone = mb.Cluster([{"map_slots": 6}], changes=[{"time": 25, "node": 0, "up": False}])
    stuck = mb.simulate(batch, "fifo", cluster=gone)
    assert stuck.summary["fifo"]["unfinished"] == 1
    assert 25 <= stuck.summary["fifo"]["end"] < 50  # not much after the last thing that happened
    short = mb.simulate(batch, "fifo", cluster=CLUSTER, horizon=25)
    assert short.summary["fifo"]["end"] == 25
    # Nothing is left to run: the end is that of the work, not the horizon.
    long = mb.simulate(batch, "fifo", cluster=CLUSTER, horizon=1e6)
    assert long.summary["fifo"]["end"] == 1000
    assert long.summary["fifo"]["map_utilisation"] == pytest.approx(1)


@pytest.fixture(scope="module")
def grid():
    axes = {"load": [0.6, 0.9], "speedup": [1.0, 0.5], "estimates": [0.0, 1.0]}
    return replicate(make, range(3), ["flex", "fair"], grid=axes)


def test_grid(grid, capsys):
    shown = text_of(replications_tables(grid), capsys)
    assert "mean responses" in shown
    listed = replications_dict(grid)["grid"]
    assert [(one["load"], one["speedup"], one["estimates"]) for one in listed][:3] == [
        (0.6, 1.0, 0.0),
        (0.6, 1.0, 1.0),
        (0.6, 0.5, 0.0),
    ]


def test_pictures(grid, tmp_path):
    pytest.importorskip("matplotlib")
    figure = draw_grid(grid, tmp_path / "grid.png")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[:2] == ["load 0.6, p (s tasks do s^p) 1", "load 0.6, p (s tasks do s^p) 0.5"]
    names = [line.get_text() for line in figure.axes[0].get_legend().get_texts()]
    assert names == ["flex", "fair"]
    result = mb.simulate(make(2), POLICIES, cluster=CLUSTER, rng=1)
    result.plot(tmp_path / "cdf.png")
    assert (tmp_path / "cdf.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="of a grid"):
        draw_grid(replicate(make, [1], ["fifo"], load=0.6))


def test_which_sizes_of_jobs_lose(capsys):
    jobs = mb.ClusterJobs([200, 2, 2], 10.0, arrival=[0.0, 1.0, 2.0])
    cluster = mb.Cluster([{"map_slots": 10, "reduce_slots": 1}])
    result = mb.simulate(jobs, ["fair", "srpt", "fifo"], cluster=cluster, rng=1)
    lines = text_of(simulation_tables(result), capsys)
    found = {name: own["mean_response"] for name, own in result.summary.items()}
    assert f"{found['fifo'] / found['fair']:.3f}" in lines
    assert "fifo has a larger mean stretch than fair for jobs of 10 to 100 (" in lines
    assert "fair is worse" not in lines
