"""`malleable simulate FILE`: the model follows from the file."""

import json

import pytest

from tests.cli.command_line import SWIM, call, check_one_line
from tests.report.pages import sacct

CLUSTER = "maps,map_seconds,arrival\n4,10,0\n2,5,9\n"
FILES = {
    "cluster": ("c.csv", CLUSTER, ["--slots", 3], "cluster"),
    "sacct": ("week.txt", sacct(20), ["--load", 0.7], "cluster"),
    "swim": ("t.tsv", SWIM, ["--slots", 4], "cluster"),
    "jobs": ("j.csv", "work,arrival\n40,0\n9,3\n", ["--slots", 3], "jobs"),
    "tandem": ("m.csv", "arrival,map,shuffle\n0,3,4\n1,5,0\n", [], "tandem"),
    "slotted": ("s.csv", "arrival,map,reduce\n1,3,4;5\n2,5,1\n", [], "slotted"),
}


@pytest.mark.parametrize("case", FILES)
def test_the_model_follows_from_the_file(tmp_path, capsys, case):
    name, text, words, model = FILES[case]
    path = tmp_path / name
    path.write_text(text)
    done = call(capsys, "simulate", path, *words, "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["model"] == model
    assert done.stderr == ""
    again = call(capsys, "simulate", path, *words, "--model", model, "--json", "-")
    assert again.stderr == "" and json.loads(again.stdout)["model"] == model


def test_another_model_can_be_chosen(tmp_path, capsys):
    path = tmp_path / "t.tsv"
    path.write_text(SWIM)
    done = call(capsys, "simulate", path, "--model", "tandem", "--json", "-")
    assert json.loads(done.stdout)["model"] == "tandem"


def test_how_large_the_cluster_is(tmp_path, capsys):
    path = tmp_path / "c.csv"
    path.write_text(CLUSTER)
    check_one_line(call(capsys, "simulate", path), "--slots N, --load L or --cluster FILE")
    both = call(capsys, "simulate", path, "--slots", 3, "--load", 0.5)
    check_one_line(both, "--slots, --load and --cluster")


def test_jobs_that_all_come_at_one_time(tmp_path, capsys):
    path = tmp_path / "c.csv"
    path.write_text("maps,map_seconds\n4,10\n2,5\n3,7\n")
    check_one_line(call(capsys, "simulate", path, "--load", 0.5), "--spread SECONDS", "--slots N")
    words = "--load", 0.5, "--spread", "5m", "--json", "-", "--policy", "fifo"
    done = call(capsys, "simulate", path, *words)
    found = json.loads(done.stdout)["policies"]["fifo"]
    assert 0.0 < found["makespan"] < 400.0 and found["jobs"] == 3
    assert (
        done.stdout.split('"timing"')[0]
        == call(capsys, "simulate", path, *words).stdout.split('"timing"')[0]
    )


def test_no_loss_is_told_beside_the_longest_wait(tmp_path, capsys):
    path = tmp_path / "week.txt"
    path.write_text(sacct(40, arrays=True))
    done = call(capsys, "simulate", path, "--slots", 16)
    assert "longest wait" in done.stdout and "over fair" in done.stdout
    for word in ("churn", "dissatisfied", "users apart", "lost slots"):
        assert word not in done.stdout
