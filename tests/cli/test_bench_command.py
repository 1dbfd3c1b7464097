"""`bench`: results as JSON, instances in words."""

import json

from malleable.cli import main
from tests.cli.command_line import check_one_line, read_json, run


def test_bench(tmp_path):
    done = run("bench", "--jobs", 100, "--epochs", 3, "--json", tmp_path / "b.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "decide: p99.9" in done.stdout
    read = json.loads((tmp_path / "b.json").read_text())
    assert [one["instance"] for one in read["instances"]] == ["a", "b"]
    again = run("bench", "--jobs", 100, "--epochs", 3, "--json", tmp_path / "b.json")
    check_one_line(again, "exists")
    machine = run("bench", "--jobs", 100, "--epochs", 3, "--json", "-")
    assert read_json(machine)["instances"][0]["jobs"] == 100
    check_one_line(run("bench", "--jobs", 0), "jobs = 0")


def test_the_instances_of_bench_are_told_in_words(capsys):
    assert main(["bench", "--jobs", "30", "--epochs", "2"]) == 0
    out = capsys.readouterr().out
    assert "2 slots a job, minima of 1" in out
    assert "10 jobs a slot, no minima or maxima" in out
    assert "(a)" not in out
