"""Benchmarks of Rasooli and Down 2011: their cluster, its mixes, tables beside the printed ones."""

import json
import math

import numpy as np
import pytest

import malleable as mb
from malleable.cli import main
from malleable.papers import FIGURES, reproduce
from malleable.papers import adaptive as figures
from malleable.papers.figure import Run
from malleable.replications import Interval
from tests.full import in_full
from tests.oracles.class_matching import EAGER

pytest.importorskip("highspy")


def test_table_3():
    cluster = figures.table3_cluster()
    assert cluster.generic
    assert cluster.map_slots.tolist() == [1, 1, 1, 8, 8, 8]
    assert np.allclose(cluster.rate, [1, 1, 1, 1, 1, 8.4])
    assert np.allclose(cluster.storage * 8 / 1e6, [40, 1e5, 1e5, 40, 40, 1e5])
    assert np.allclose(cluster.link * 8 / 1e6, 100)


@pytest.mark.parametrize("workload", [1, 2, 3])
@pytest.mark.parametrize("ordering", [1, 2, 3])
def test_tables_4_and_5(workload, ordering):
    kinds = {1: {(1, 1), (10, 1)}, 2: {(1, 1), (1, 10)}, 3: {(1, 1), (10, 1), (1, 10), (10, 10)}}
    tables = [figures.benchmark_jobs(workload, ordering, seed) for seed in range(20)]
    pairs = [
        pair for own in tables for pair in zip(own.maps.tolist(), own.reduces.tolist(), strict=True)
    ]
    assert len(tables[0]) == 100
    assert set(pairs) == kinds[workload]
    small = pairs.count((1, 1)) / len(pairs)
    largest = pairs.count(max(pairs, key=sum)) / len(pairs)
    assert abs(small - largest) < 0.06 if ordering == 2 else (small > largest) == (ordering == 1)
    # The load is what it is said to be, on average.
    cluster = figures.table3_cluster()
    load = np.mean(
        [
            (own.map_work.sum() + own.reduce_work.sum())
            / own.arrival[-1]
            / (cluster.map_slots @ cluster.rate)
            for own in tables
        ]
    )
    assert load == pytest.approx(figures.LOAD, rel=0.15)


@in_full
def test_a_figure_is_the_same_again_and_has_intervals():
    one, other = (reproduce("adaptive-fig8", 2, seed=3) for _ in range(2))
    assert one.as_dict() == other.as_dict()
    assert one.run.complete
    rows = one.panels[0].rows
    assert [row["benchmark"] for row in rows] == ["BM 2.1", "BM 2.2", "BM 2.3"]
    for row in rows:
        assert set(row) == {"benchmark", *figures.NAMES}
        own = [row[name] for name in figures.NAMES]
        assert all(math.isfinite(each.mean) and each.half >= 0.0 for each in own)


def made(name, **means):
    row = {policy: Interval(means.get(policy, 50.0), 1.0) for policy in figures.NAMES}
    metric = FIGURES[name].arguments[0]
    return figures.figure_of(Run(name, "", 30), metric, [{"benchmark": "BM 3.1", **row}])


@pytest.mark.parametrize(
    ("name", "means", "expected"),
    [
        (
            "adaptive-fig9",
            {"adaptive": 40.0},
            "holds: holds in 1 of 1 benchmark",
        ),
        (
            "adaptive-fig9",
            {"adaptive": 40.0, "fair": 37.0},
            "fails: holds in 0 of 1 benchmark; fails in BM 3.1",
        ),
        (
            "adaptive-fig6",
            {"adaptive": 40.0, "fair": 39.0},
            "open in BM 3.1; below FIFO in 1 by means",
        ),
        ("adaptive-table6", {"fair": 11.0}, "holds: holds in 1 of 1"),
        ("adaptive-table6", {"fair": 11.0, "adaptive": 8.0}, "fails: holds in 0 of 1"),
        (
            "adaptive-fig9",
            {"adaptive": 49.0},
            "open (about 120 simulations would settle it): holds in 0",
        ),
        ("adaptive-table7", {"adaptive": 99.0}, "holds: holds in 1 of 1"),
        ("adaptive-table7", {"adaptive": 30.0}, "fails: holds in 0 of 1"),
    ],
)
def test_verdicts(name, means, expected):
    claim = made(name, **means).claims[0]
    assert claim.claim == "adaptive"
    assert expected in f"{claim.verdict.told()}: {claim.ours}"


def test_json_has_the_papers_numbers_and_our_choices():
    data = json.loads(json.dumps(made("adaptive-table7").as_dict()))
    assert data["panels"]["the paper's"][0]["adaptive"] == [99.12, 100.0]
    assert data["ours"]["load"] == figures.LOAD
    assert list(made("adaptive-fig4").as_dict()["panels"]) == ["benchmarks"]


def test_command_line(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    picture, file = tmp_path / "a.png", tmp_path / "a.json"
    arguments = ["reproduce", "adaptive-fig4", "--simulations", "2"]
    assert main([*arguments, "--json", str(file), "--plot", str(picture)]) == 0
    shown = capsys.readouterr().out
    assert "below FIFO in" in shown
    assert "Ours, not in the paper" in shown
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert len(json.loads(file.read_text())["panels"]["benchmarks"]) == 3


@pytest.mark.parametrize(("workload", "fits"), [(1, False), (2, True), (3, False)])
def test_copies_and_the_capacities_of_table_3(workload, fits):
    """Table 3: 4 GB on R1, R4 and R5. Our copies take no notice of that (docs/internals/deviations.md)."""
    jobs = figures.benchmark_jobs(workload, 3, 0)
    scheduler = mb.Scheduler(figures.table3_cluster(), mb.AdaptiveLiteral(**EAGER), learn=False)
    seconds = {"map_seconds": figures.MAP_SECONDS, "reduce_seconds": figures.REDUCE_SECONDS}
    ids = []
    for row, now in enumerate(jobs.arrival.tolist()):
        one = mb.ClusterJobs(
            **{
                name: getattr(jobs, name)[[row]] for name in ("maps", "reduces", "shuffle", "block")
            },
            **{name: [getattr(jobs, name)[row]] for name in ("user", "program")},
            **seconds,
        )
        ids += scheduler.add(one, now).tolist()
    stored = np.zeros(6)
    for job, block in zip(ids, jobs.block.tolist(), strict=True):
        np.add.at(stored, scheduler.place(job, copies=3).reshape(-1), block)
    small = stored[[0, 3, 4]] / 1e9
    assert (small <= 4.0).all() if fits else (small > 7.0).all() and (small < 24.0).all()
