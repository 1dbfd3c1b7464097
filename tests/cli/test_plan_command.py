"""`plan`: tables and traces, what it shows and writes, what it refuses."""

import csv
import gzip
import io
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import malleable as mb
from malleable.cli import main
from tests.cli.command_line import (
    SWIM,
    TABLE,
    busy_for,
    call,
    check_one_line,
    interrupted,
    read_json,
    rumen,
    run,
)


def test_plan_shows_value_bound_and_jobs(table):
    done = run("plan", table, "--slots", 50)
    assert (done.returncode, done.stderr) == (0, "")
    plan = mb.plan(mb.read_jobs(table), 50)
    assert f"value {plan.value:.4g}, lower bound {plan.lower_bound:.4g}, gap 0.27 %" in done.stdout
    assert [line.split()[0] for line in done.stdout.splitlines() if line.endswith(" 2")] == [
        "b",
        "c",
    ]
    assert "\x1b" not in done.stdout
    assert not any(line != line.rstrip() for line in done.stdout.splitlines())


def test_plan_files(table, tmp_path):
    names = ("p.json", "p.csv", "p.png")
    files = dict(zip(("--json", "--pieces", "--plot"), (tmp_path / n for n in names), strict=True))
    options = [str(word) for pair in files.items() for word in pair]
    done = run("plan", table, "--slots", 50, "--objective", "max:tardiness", *options)
    assert done.returncode == 0
    plan = mb.plan(mb.read_jobs(table), 50, "max:tardiness")
    assert json.loads(files["--json"].read_text()) == plan.to_dict()
    rows = list(csv.DictReader(io.StringIO(files["--pieces"].read_text())))
    assert list(rows[0]) == ["job", "start", "end", "slots"]
    assert [float(row["end"]) for row in rows] == plan.pieces["end"].tolist()
    assert files["--plot"].read_bytes().startswith(b"\x89PNG")
    before = {path: path.read_bytes() for path in files.values()}

    # Each of them alone stops everything, before anything is computed or written.
    for option, path in files.items():
        check_one_line(run("plan", "no.csv", "--slots", 50, option, path), str(path), "exists")
    assert before == {path: path.read_bytes() for path in files.values()}

    assert run("plan", table, "--slots", 9, *options, "--force").returncode == 0
    assert all(path.read_bytes() != data for path, data in before.items())
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["jobs.csv", *names])


def test_plan_to_standard_output_is_nothing_but_json(table):
    done = run("plan", "-", "--slots", 50, "--json", "-", stdin=TABLE)
    assert (done.returncode, done.stderr) == (0, "")
    assert read_json(done) == mb.plan(mb.read_jobs(table), 50).to_dict()
    pieces = run("plan", table, "--slots", 50, "--pieces", "-")
    assert pieces.stdout.startswith("job,start,end,slots\n")


def test_plan_explains(table):
    done = run("plan", table, "--slots", 50, "--explain")
    assert done.stdout.splitlines()[2:] == mb.plan(mb.read_jobs(table), 50).explain()


def test_plan_options_reach_the_planner(table):
    arguments = ("--policy", "fair", "--min-mode", "gang", "--at", "7", "--json", "-")
    done = run("plan", table, "--slots", 50, "--objective", "sum:sla", *arguments)
    jobs = mb.read_jobs(table)
    assert (
        read_json(done) == mb.plan(jobs, 50, "sum:sla", "fair", now=7.0, min_mode="gang").to_dict()
    )
    done = run("plan", table, "--slots", 50, "--effort", 0, "--budget", 0, "--json", "-")
    assert read_json(done) == mb.plan(jobs, 50, effort=0, budget=0).to_dict()


def test_an_effort_that_changes_nothing_is_said(table):
    for policy, said in (
        ("flex", ""),
        ("wdeq", "malleable: effort = 7 changes nothing for wdeq: it does not search\n"),
    ):
        done = run("plan", table, "--slots", 50, "--policy", policy, "--effort", 7)
        assert (done.returncode, done.stderr) == (0, said)


def test_no_jobs_are_an_empty_plan():
    done = run("plan", "-", "--slots", 5, "--json", "-", stdin="work\n")
    assert done.returncode == 0
    assert read_json(done)["jobs"] == []
    assert "0 jobs on 5 slots" in run("plan", "-", "--slots", 5, stdin="work\n").stdout


def test_a_gang_that_never_runs_is_strict_json():
    table = "work,min_slots\n5,9\n"
    done = run("plan", "-", "--slots", 4, "--min-mode", "gang", "--json", "-", stdin=table)
    read = json.loads(done.stdout, parse_constant=pytest.fail)
    assert (read["status"], read["value"]) == ("infeasible", None)


def test_names_from_elsewhere_stay_harmless():
    table = 'name,work\n"[red]x\x1b[2J",3\n"two\nlines",4\n'
    for option in ([], ["--explain"]):
        done = run("plan", "-", "--slots", 4, *option, stdin=table, env=ascii_only())
        assert done.returncode == 0
        assert "[red]x\\x1b[2J" in done.stdout
        assert "two\\nlines" in done.stdout
        assert "\x1b" not in done.stdout


def ascii_only():
    return {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}


def test_names_that_the_terminal_cannot_show():
    done = run("plan", "-", "--slots", 4, stdin="name,work\nä,3\n", env=ascii_only())
    assert done.returncode == 0
    assert "\\xe4" in done.stdout


def test_a_snapshot_sets_now():
    table = "work,arrival\n3,5\n4,0\n"
    done = run("plan", "-", "--slots", 5, "--at", 4, "--json", "-", stdin=table)
    assert done.stderr == ""
    assert [job["name"] for job in read_json(done)["jobs"]] == ["job1"]
    assert read_json(done)["jobs"][0]["completion"] == 4.8
    check_one_line(run("plan", "-", "--slots", 5, stdin=table), "arrival[0] = 5.0", "--at")
    later = run("plan", "-", "--slots", 5, "--at", 6, "--json", "-", stdin=table)
    assert len(read_json(later)["jobs"]) == 2


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("through", ["path", "stdin"])
def test_a_trace_is_taken_at_its_last_arrival(tmp_path, packed, through):
    data = gzip.compress(SWIM.encode()) if packed else SWIM.encode()
    path = tmp_path / "trace"
    path.write_bytes(data)
    source, stdin = (path, None) if through == "path" else ("-", data)
    done = run("plan", source, "--slots", 5, "--json", "-", stdin=stdin)
    assert done.returncode == 0
    now, work, snapshot = done.stderr.splitlines()
    assert now == "malleable: now = 20 s, the trace's last arrival (--at SECONDS: another time)"
    assert snapshot == "malleable: snapshot at 20 s: 3 jobs submitted by then"
    assert work.endswith(
        ": a SWIM trace does not say when work was done: the jobs of the snapshot have all of theirs"
    )
    assert [job["name"] for job in read_json(done)["jobs"]] == ["j0", "j1", "j2"]
    done = run("plan", source, "--slots", 5, "--at", 0, "--json", "-", stdin=stdin)
    assert "malleable: snapshot at 0 s: 1 job submitted by then\n" in done.stderr
    assert len(read_json(done)["jobs"]) == 1


def test_the_snapshot_of_a_rumen_trace_has_what_is_left():
    trace = rumen("done", 0, 20, [(1, 20)]) + rumen("half", 10, 90, [(20, 60)])
    trace += rumen("last", 40, 90, [(50, 60)])
    done = run("plan", "-", "--slots", 5, "--pieces", "-", stdin=trace)
    assert "now = 40 s" in done.stderr
    assert (
        "2 jobs submitted by then and not finished, with the work that was then left" in done.stderr
    )
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["job"]: float(row["end"]) for row in rows} == {"half": 60.0, "last": 50.0}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("work\n3\nnan\n", ["1 of 2 rows malformed: row 1: work[0] = nan"]),
        ("work\ninf\n", ["work[0] = inf"]),
        ("work\n-1\n", ["work[0] = -1"]),
        ("work,min_slots,max_slots\n1,5,4\n", ["min_slots[0] = 5"]),
        ("work,weight\n1,-2\n", ["weight[0] = -2"]),
        ("work,arrival\n1,nan\n", ["arrival[0] = nan"]),
        ("work,sla\n1,5:1;4:2\n", ["sla"]),
        ("wrk\n1\n", ["'wrk'", "'work'"]),
        ("name\na\n", ["'work' is missing"]),
        ("work\n1,2\n", ["row 0"]),
        ("work\nx\n", ["row 0", "work = 'x'"]),
        ("", ["empty"]),
        (bytes(range(256)) * 9, ["binary"]),
        (gzip.compress(b"work\n" + b"1\n" * 9000, mtime=0)[:-20], ["truncated"]),
        (b'{"jobID": "a", "submitTime": 1', ["JSON"]),
    ],
)
def test_wrong_tables(text, words, tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    files = ("--json", tmp_path / "p.json", "--pieces", tmp_path / "p.csv")
    check_one_line(call(capsys, "plan", path, "--slots", 5, *files), str(path), *words)
    assert list(tmp_path.iterdir()) == [path]


def test_a_wrong_table_through_a_pipe(tmp_path):
    done = run("plan", "-", "--slots", 5, "--json", "p.json", stdin="work\nnan\n", cwd=tmp_path)
    check_one_line(done, "<stdin>: 1 of 1 rows malformed: work[0] = nan")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--slots", "0"], ["slots = 0"]),
        (["--slots", "-3"], ["slots = -3"]),
        (["--slots", "9", "--objective", "sum:respons"], ["did you mean 'sum:response'"]),
        (["--slots", "9", "--objective", "sum:custom"], ["penalty"]),
        (["--slots", "9", "--objective", "sum:lateness"], ["deadline"]),
        (["--slots", "9", "--effort", "-1"], ["effort = -1"]),
        (["--slots", "9", "--budget", "nan"], ["budget = nan"]),
        (["--slots", "9", "--at", "inf"], ["--at = inf"]),
        (["--slots", "9", "--at", "nan"], ["--at = nan"]),
        (["--slots", "9", "--json", "no/p.json"], ["--json no/p.json", "folder does not exist"]),
        (["--slots", "9", "--json", "."], ["--json .", "is a folder"]),
        (["--slots", "9", "--json", "a", "--pieces", "./a"], ["same file as --json"]),
        (["--slots", "9", "--json", "jobs.csv", "--force"], ["same file as the input"]),
        (["--slots", "9", "--json", "-", "--pieces", "-"], ["standard output"]),
        (["--slots", "9", "--plot", "a.txt"], ["a.txt: unknown image format"]),
    ],
)
def test_wrong_arguments(arguments, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.csv").write_text("work\n4\n")
    check_one_line(call(capsys, "plan", "jobs.csv", *arguments), *words)
    assert [path.name for path in tmp_path.iterdir()] == ["jobs.csv"]


def test_jobs_need_slots(table, capsys):
    with pytest.raises(SystemExit) as caught:
        call(capsys, "plan", table)
    assert caught.value.code == 2
    assert "--slots N is needed" in capsys.readouterr().err


def test_missing_matplotlib_is_said_before_planning(table, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    assert main(["plan", "no.csv", "--slots", "5", "--plot", str(table) + ".png"]) == 1
    assert "pip install 'malleable[plot]'" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_interrupting_a_long_plan(tmp_path):
    rng = np.random.default_rng(1)
    rows = "".join(f"{w},{d},1\n" for w, d in rng.uniform(0, 20, (2000, 2)).tolist())
    (tmp_path / "t.csv").write_text("work,deadline,min_slots\n" + rows)
    options = ["--objective", "sum:tardiness", "--effort", "1000000000000", "--json", "p.json"]
    status, out, err = interrupted(
        ["plan", "t.csv", "--slots", "2500", *options], tmp_path, busy_for(2.0)
    )
    assert (status, out, err) == (130, "", "malleable: interrupted\n")
    assert not (tmp_path / "p.json").exists()


def test_an_error_comes_alone(tmp_path):
    """What is said of a snapshot, or of an effort that changes nothing, follows the plan."""
    flows = [{"name": "a", "jobs": [{"name": "b", "work": 8}]}]
    path = tmp_path / "flows.json"
    path.write_text(json.dumps({"slots": 4, "flows": flows}))
    for more in (["--at", 1], ["--policy", "fair", "--effort", 9]):
        check_one_line(run("plan", path, *more, "--objective", "sum:"), "objective = 'sum:'")
        done = run("plan", path, *more)
        assert done.returncode == 0
        assert done.stderr.startswith(("malleable: snapshot at 1 s", "malleable: effort"))
