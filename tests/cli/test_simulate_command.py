"""`simulate`: tables, records and pictures of the tandem queue."""

import re

import pytest

import malleable as mb
from malleable.cli import main
from malleable.jobs.generate import bimodal_jobs
from tests.cli.command_line import read_json, run


def test_main_reads_what_the_generator_wrote(tmp_path):
    jobs = bimodal_jobs(rng=5)
    mb.write_jobs(jobs, tmp_path / "t.csv")
    done = run("plan", tmp_path / "t.csv", "--slots", 100, "--objective", "sum:sla", "--json", "-")
    assert read_json(done)["value"] == mb.plan(jobs, 100, "sum:sla").value


def test_simulate_prints_and_writes(tmp_path, capsys):
    jobs = tmp_path / "jobs.csv"
    jobs.write_text("name,arrival,map,shuffle\na,0,1,2\nb,0,3,1\nc,0,2,2\n")
    records = tmp_path / "records.csv"
    status = main(["simulate", str(jobs), "--policy", "fcfs,ps", "--records", str(records)])
    assert status == 0
    assert "fcfs" in capsys.readouterr().out
    assert len(records.read_text().splitlines()) == 7
    assert main(["simulate", str(jobs), "--policy", "lifo"]) == 1
    assert "lifo" in capsys.readouterr().err


def test_how_far_promised_ends_are_off_is_shown(tmp_path, capsys):
    jobs, written = tmp_path / "jobs.csv", tmp_path / "told.json"
    lines = [f"job{k},{10 + 37 * k % 90},{5 * k},2" for k in range(12)]
    jobs.write_text("\n".join(["name,work,arrival,max_slots", *lines]) + "\n")
    call = ("simulate", str(jobs), "--model", "jobs", "--slots", "3", "--policy", "flex")
    assert main([*call, "--set", "predictable=0.05", "--json", str(written)]) == 0
    shown = capsys.readouterr().out
    off = mb.simulate(mb.read_jobs(jobs), "flex", slots=3, predictable=0.05).summary["flex"]
    assert 0.0 < off["end_error"] < 1.0
    assert "promised ends off by" in shown
    assert f"{100 * off['end_error']:.2f} %" in shown
    assert main(call) == 0
    assert "promised ends off by" not in capsys.readouterr().out


def test_one_is_singular(capsys, tmp_path):
    """Of whatever the command line counts."""
    jobs, reduces = tmp_path / "t.csv", tmp_path / "r.csv"
    jobs.write_text("name,work\na,4\n")
    reduces.write_text("name,arrival,map,reduce\na,1,1,1\n")
    for arguments in (
        ("plan", jobs, "--slots", 1),
        ("plan", jobs, "--slots", 1, "--explain"),
        ("simulate", reduces, "--slots", 1),
        ("reproduce", "asrpt-fig5", "--simulations", 1),
        ("reproduce", "flowflex-fig11", "--simulations", 1),
    ):
        assert main(list(map(str, arguments))) == 0
        found = re.findall(r"(?<![\d.,/of ] )(?<![\d.,])\b1 [a-z]+s\b", capsys.readouterr().out)
        assert [text for text in found if text not in ("1 is",)] == [], arguments


def test_without_a_file_the_usage_is_shown(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["simulate", "--policy", "flex"])
    assert "FILE is needed" in capsys.readouterr().err
