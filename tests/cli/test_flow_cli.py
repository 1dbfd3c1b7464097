"""Flows on the command line, and what is shown of them."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import malleable as mb
from malleable.cli import main
from malleable.flows.generate import section51_flows
from malleable.papers import reproduce
from malleable.traces.flow_files import write_flows
from malleable.view.plan_explain import explain_lines
from malleable.view.plan_pictures import draw_flows


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_flows("flows.json", section51_flows(3, flows=4, jobs=5), slots=25)
    return "flows.json"


def test_plan_with_the_slots_of_the_file(small, capsys):
    assert main(["plan", small, "--policy", "flowflex", "--objective", "max:tardiness"]) == 0
    out = capsys.readouterr().out
    assert "FLOWFLEX, max:tardiness: 4 flows of 20 jobs on 25 slots" in out
    assert "flow0" in out and "times as fast" in out


def test_json_pieces_and_picture_agree_with_the_plan(small, capsys):
    pytest.importorskip("matplotlib")
    options = ["--slots", "7", "--effort", "20", "--json", "p.json", "--pieces", "p.csv", "--plot"]
    assert main(["plan", small, *options, "p.png"]) == 0
    capsys.readouterr()
    flows = mb.read_flows(small)
    plan = mb.plan(flows, 7, effort=20)
    with Path("p.json").open(encoding="utf-8") as handle:
        shown = json.load(handle)
    assert shown["value"] == plan.value and shown["lower_bound"] == plan.lower_bound
    assert shown["speed"] == plan.speed and shown["guarantee"][0] == [2.0, 3.0]
    assert shown["order"] == [flows.name[row] for row in plan.order]
    assert [job["name"] for job in shown["jobs"]] == list(flows.job_name)
    assert [job["completion"] for job in shown["jobs"]] == plan.completion.tolist()
    assert [f["penalty"] for f in shown["flows"]] == plan.penalty.tolist()
    assert plan.to_dict() == shown
    with Path("p.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [float(row["end"]) for row in rows] == plan.pieces["end"].tolist()
    assert [row["job"] for row in rows] == [flows.job_name[k] for k in plan.pieces["job"]]
    with Path("p.png").open("rb") as handle:
        assert handle.read(4) == b"\x89PNG"


def test_explain_says_who_waits_and_who_is_late(small, capsys):
    assert main(["plan", small, "--explain"]) == 0
    lines = capsys.readouterr().out.splitlines()[-4:]
    assert all(line.startswith(f"flow{k}: ") for k, line in enumerate(lines))
    late = mb.Flows(
        [[{"work": 4}], [], [{"work": 1}]], deadline=[1.0, None, 9.0], arrival=[0, 2, 3]
    )
    told = explain_lines(mb.plan(late, 1, "sum:tardiness"))
    assert "3 s after its deadline" in told[0] and "penalty 3" in told[0]
    assert "no work, done at 2 s" in told[1]
    assert "comes at 3 s" in told[2] and "before its deadline" in told[2]


def test_wrong_use(small, capsys):
    for arguments in (["plan", small, "--policy", "flex"], ["plan", small, "--policy", "wdeq"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 2
    write_flows("bare.json", section51_flows(3, flows=2, jobs=2))
    assert main(["plan", "bare.json"]) == 1
    assert "--slots N" in capsys.readouterr().err
    with Path("cycle.json").open("w", encoding="utf-8") as handle:
        jobs = [{"name": "a", "work": 1, "after": ["b"]}, {"name": "b", "work": 1, "after": ["a"]}]
        json.dump({"slots": 1, "flows": [{"name": "f", "jobs": jobs}]}, handle)
    assert main(["plan", "cycle.json"]) == 1
    error = capsys.readouterr().err
    assert "cycle.json: 1 of 1 flows malformed: flow 'f': its jobs form a cycle" in error
    assert error.count("\n") == 1


def test_standard_input_and_snapshot(small, capsys, monkeypatch):
    with Path(small).open("rb") as handle:
        data = handle.read()

    class Stdin:
        buffer = io.BytesIO(data)

    monkeypatch.setattr("sys.stdin", Stdin())
    assert main(["plan", "-", "--at", "5", "--json", "-"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert len(shown["flows"]) == 4 and min(job["start"] for job in shown["jobs"]) == 5.0


@pytest.mark.parametrize("name", ["flowflex-fig10", "flowflex-fig11"])
def test_figures(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    figure = reproduce(name, 2)
    rows = figure.panels[0].rows
    assert len(rows) == (9 if name.endswith("10") else 8)
    for row in rows:
        # Every ratio is one to a bound, and FlowFlex is the best of the four.
        assert 1.0 <= row["flowflex"].mean <= row["flowflex"].worst
        means = [row[policy].mean for policy in ("flowflex-literal", "fair", "fifo")]
        assert row["flowflex"].mean <= min(means) + 1e-9
    assert json.loads(json.dumps(figure.as_dict()))["simulations"] == 2
    if name.endswith("11"):
        assert main(["reproduce", name, "--simulations", "1", "--json", "f.json"]) == 0
        assert "makespan" in capsys.readouterr().out


def test_picture_of_many_flows_has_a_row_per_flow():
    pytest.importorskip("matplotlib")
    plan = mb.plan(section51_flows(1, flows=70, jobs=8), 25, effort=0)
    figure = draw_flows(plan)
    assert figure.axes[0].get_ylim() == (70.0, 0.0)
    assert np.isfinite(figure.axes[0].get_xlim()).all()
