"""`malleable simulate --model jobs` and `malleable plan --period`."""

import json
from pathlib import Path

import numpy as np
import pytest

import malleable as mb
from malleable.cli import main


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Jobs that arrive, as a CSV file."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    rows = ["name,arrival,work,max_slots,deadline"]
    for k, at in enumerate(np.cumsum(rng.exponential(1.0, 60)).tolist()):
        work = float(rng.lognormal(2.0, 1.0))
        rows.append(f"j{k},{at},{work},{rng.integers(1, 20)},{at + work / 4}")
    Path("jobs.csv").write_text("\n".join(rows) + "\n")


def call(*more):
    return main(["simulate", "jobs.csv", "--model", "jobs", "--slots", "15", *more])


def test_policies_side_by_side(capsys):
    assert call("--set", "period=2", "--json", "s.json", "--records", "r.csv") == 0
    shown = capsys.readouterr().out
    assert "Jobs(60 jobs" in shown
    assert "late" in shown
    found = json.loads(Path("s.json").read_text())
    jobs = mb.read("jobs.csv").jobs()
    own = mb.simulate(jobs, ["flex", "fair", "fifo"], slots=15, period=2.0)
    assert list(found["policies"]) == ["flex", "fair", "fifo"]
    for policy, summary in own.summary.items():
        for name in ("mean_response", "mean_tardiness", "idle_assigned"):
            assert found["policies"][policy][name] == pytest.approx(summary[name])
    assert len(Path("r.csv").read_text().splitlines()) == 1 + 3 * 60


def test_policies_that_are_not_told(capsys):
    common = ("--set", "period=4", "--policy", "flex", "--json", "-")
    means = []
    for more in ((), ("--set", "knows_period=false")):
        assert call(*common, *more) == 0
        means.append(json.loads(capsys.readouterr().out)["policies"]["flex"]["mean_response"])
    assert means[0] < means[1]


def test_a_grid_of_periods_and_its_picture(capsys):
    pytest.importorskip("matplotlib")
    assert call("--grid", "period=0,0.5,4", "--policy", "flex,fair", "--plot", "p.png") == 0
    shown = capsys.readouterr().out
    assert "period [s]" in shown
    assert Path("p.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--load", "0.5"], "how many slots are there? (give --slots N or --load L)"),
        (["--set", "period=-1"], "period = -1"),
        (["--grid", "period=1,x"], "--grid period 1,x: numbers"),
        (["--grid", "period=1,2", "--set", "period=1"], "period is given once more"),
    ],
)
def test_what_is_wrong_is_one_line(more, told, capsys):
    assert call(*more) == 1
    assert told in capsys.readouterr().err


def test_an_option_of_another_model(capsys):
    assert call("--set", "machines=3") == 1
    assert "option 'machines': --model jobs does not have it" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        call("--spread", "5")
    assert "--spread: of --model cluster, and this is jobs" in capsys.readouterr().err


def test_plans_with_a_period(capsys):
    Path("batch.csv").write_text("name,work,max_slots\na,40,8\nb,4,8\nc,9,2\n")
    assert main(["plan", "batch.csv", "--slots", "8", "--period", "5", "--json", "p.json"]) == 0
    assert "decided every 5 s and held in between" in capsys.readouterr().out
    made = mb.plan(mb.read_jobs("batch.csv"), 8, period=5.0)
    assert json.loads(Path("p.json").read_text()) == made.to_dict()
