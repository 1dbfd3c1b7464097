"""`bench`: results as JSON, instances in words."""

import json

from malleable.cli import main
from tests.cli.command_line import call, check_one_line, read_json, run

SMALL = ["bench", "--jobs", "100,40", "--epochs", "20"]


def test_bench(tmp_path):
    done = run(*SMALL, "--json", tmp_path / "b.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "p99.9" in done.stdout
    read = json.loads((tmp_path / "b.json").read_text())
    assert [one["instance"] for one in read["cases"]] == ["a"] * 8 + ["b"] * 8 + ["c"] * 8
    assert [one["jobs"] for one in read["cases"]] == [40, 100] * 12
    assert {one["policy"] for one in read["cases"]} == {"flex", "fair", "fifo"}
    again = run(*SMALL, "--json", tmp_path / "b.json")
    check_one_line(again, "exists")
    machine = run(*SMALL, "--policy", "wdeq", "--instance", "b", "--json", "-")
    assert [one["policy"] for one in read_json(machine)["cases"]] == ["wdeq", "wdeq"]


def test_wrong_arguments(capsys):
    check_one_line(call(capsys, "bench", "--jobs", 0), "jobs = 0")
    check_one_line(call(capsys, "bench", "--jobs", "10,x"), "--jobs 10,x: numbers")
    check_one_line(call(capsys, "bench", "--policy", "asrpt"), "policy = 'asrpt'")
    check_one_line(call(capsys, "bench", "--instance", "d", "--jobs", 3), "instance = 'd'")
    check_one_line(call(capsys, "bench", "--jobs", 3, "--epochs", 0), "epochs = 0")


def test_the_instances_of_bench_are_told_in_words(capsys):
    assert main(["bench", "--jobs", "30", "--epochs", "2"]) == 0
    out = capsys.readouterr().out
    assert "2 slots a job, minima of 1" in out
    assert "10 jobs a slot, no minima or maxima" in out
    assert "(a)" not in out
