"""Overlapping phases on the command line."""

import json
from pathlib import Path

import pytest

from malleable.cli import main

TABLE = (
    "name,arrival,map,shuffle,map_estimate,shuffle_estimate\n"
    "a,0,1,2,9,9\nb,0,3,1,1,1\nc,0,2,2,5,5\n"
)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text(TABLE)
    return path


def simulated(capsys, *arguments):
    assert main(["simulate", *map(str, arguments), "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)["policies"]


def test_batches(table, capsys):
    found = simulated(capsys, table, "--policy", "best,makespan,max-srpt", "--set", "effort=50")
    assert found["best"]["mean_response"] <= found["max-srpt"]["mean_response"]
    assert found["makespan"]["end"] == 6
    assert found["best"]["guarantee"] <= 2


def test_estimates(table, capsys):
    right = simulated(capsys, table, "--policy", "max-srpt")["max-srpt"]
    by_column = simulated(capsys, table, "--policy", "max-srpt", "--estimates", "column")
    assert by_column["max-srpt"]["mean_response"] > right["mean_response"]
    assert main(["simulate", str(table), "--estimates", "learn"]) == 1
    assert "--estimates learn: a number or 'column'" in capsys.readouterr().err


def test_responses_are_drawn(table, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    path = tmp_path / "cdf.png"
    options = [str(table), "--policy", "max-srpt", "--plot", str(path)]
    assert main(["simulate", *options]) == 0
    assert path.stat().st_size > 1000
    assert main(["simulate", *options]) == 1  # never overwritten
    assert "exists" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["tandem-fig7", "tandem-fig9"])
def test_reproduce(name, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    data, picture = tmp_path / "figure.json", tmp_path / "figure.svg"
    options = ["--jobs", "2000", "--json", str(data), "--plot", str(picture)]
    assert main(["reproduce", name, *options]) == 0
    out = capsys.readouterr().out
    assert "holds" in out
    assert "two-srpt" in out
    assert json.loads(data.read_text())["figure"] == name
    assert picture.read_text().startswith("<?xml")


def test_reproduce_with_a_trace(tmp_path, capsys):
    rows = [f"{k * k},{1 + k % 3},{1 + k % 5}" for k in range(40)]
    trace: Path = tmp_path / "jobs.csv"
    trace.write_text("\n".join(["arrival,map,shuffle", *rows]) + "\n")
    assert main(["reproduce", "tandem-fig7", "--trace", str(trace), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"] == 40
    assert main(["reproduce", "tandem-fig9", "--trace", str(trace)]) == 1
    assert main(["reproduce", "flex-fig5", "--trace", str(trace)]) == 1
    assert main(["reproduce", "tandem-fig7", "--simulations", "3"]) == 1
    assert "--jobs" in capsys.readouterr().err


def test_an_effort_that_changes_nothing_is_said(table, capsys):
    said = []
    for policy in ("best", "makespan,max-srpt,best"):
        assert main(["simulate", str(table), "--policy", policy, "--set", "effort=5"]) == 0
        said.append(capsys.readouterr().err)
    assert said[0] == ""
    assert said[1] == (
        "malleable: effort = 5 changes nothing for makespan, max-srpt: they do not search\n"
    )
