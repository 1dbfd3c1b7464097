"""`plan` and its neighbours on traces: what is left out, snapshots, effort, progress, advice."""

import io
import json
import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

import malleable as mb
from malleable.cli import main
from malleable.cli.outputs import Outputs
from malleable.jobs.generate import lognormal_jobs
from malleable.jobs.plan import default_effort
from tests.cli.command_line import COMMAND, SWIM, call, check_one_line, read_json, rumen, run

BAD_RUMEN = rumen("good", 0, 50, [(1, 20)]) + rumen("late", 1, 60, [(30, 10)])
BAD_SWIM = SWIM + "j9\tx\t0\t1\t1\t1\n"
DAGS = "M1,1,j_1,1,Terminated,10,20,1,1\nM1,1,j_2,1,Terminated,x,20,1,1\n"
COMMANDS = {
    "plan rumen": ("plan trace --slots 5", BAD_RUMEN),
    "plan swim": ("plan trace --slots 5", BAD_SWIM),
    "plan flows": ("plan trace --slots 5", DAGS),
    "tandem swim": ("simulate trace --model tandem", BAD_SWIM),
    "tandem rumen": ("simulate trace --model tandem", BAD_RUMEN),
    "tandem rumen without bytes": (
        "simulate trace --model tandem",
        rumen("good", 0, 50, [(1, 20)])
        + rumen("none", 1, 60, [(2, 9)]).replace("mapTasks", "reduceTasks"),
    ),
    "tandem table": ("simulate trace", "map,shuffle\n1,2\nx,2\n"),
    "slotted swim": ("simulate trace --model slotted", BAD_SWIM),
    "slotted rumen": ("simulate trace --model slotted", BAD_RUMEN),
    "slotted table": ("simulate trace --model slotted", "map,reduce\n1,2\nx,2\n"),
    "cluster swim": (
        "simulate trace --model cluster --load 0.5",
        BAD_SWIM + "j8\t50\t0\t9\t9\t9\n",
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_malformed_records_are_named_then_left_out(name, capsys, monkeypatch, tmp_path):
    """The advice is in words of the command line, and following it helps."""
    command, trace = COMMANDS[name]
    (tmp_path / "trace").write_text(trace)
    monkeypatch.chdir(tmp_path)
    done = call(capsys, *command.split())
    check_one_line(done, "trace: 1 of ", "malformed", "(--skip-bad leaves them out)")
    assert "skip_bad" not in done.stderr
    done = call(capsys, *command.split(), "--skip-bad", "--json", "-")
    assert "malleable: trace: 1 of " in done.stderr
    read_json(done)


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("plan trace --slots 5 --max-size 64", "more than 64 bytes, unpacked (a larger --max-size"),
        ("plan - --slots 5 --max-size 64", "more than 64 bytes, unpacked (a larger --max-size"),
        ("simulate trace --max-size 64", "a larger --max-size"),
        ("simulate trace --model cluster --load 1 --max-size 64", "a larger --max-size"),
        ("simulate trace --model slotted --max-size 64", "a larger --max-size"),
        ("simulate flat --model slotted", "(--read slot=S says it)"),
    ],
)
def test_advice_in_words_of_the_command_line(command, advice, tmp_path, monkeypatch, capsys):
    (tmp_path / "trace").write_text(SWIM)
    (tmp_path / "flat").write_text(rumen("a", 0, 9, [(5, 5)]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(SWIM.encode())))
    check_one_line(call(capsys, *command.split()), advice)


def test_rumen_jobs_left_out_are_those_of_the_simulation(tmp_path, capsys):
    path = tmp_path / "trace"
    path.write_text(BAD_RUMEN)
    done = call(capsys, "plan", path, "--slots", 5, "--skip-bad", "--at", 5, "--json", "-")
    assert [job["name"] for job in read_json(done)["jobs"]] == ["good"]
    assert "job late, task 0: negative duration" in done.stderr


# snapshots ------------------------------------------------------------------------------------------


def test_a_snapshot_of_flows(tmp_path, capsys):
    path = tmp_path / "flows.json"
    path.write_text('{"slots": 5, "flows": [{"jobs": [{"work": 3}]}]}')
    done = call(capsys, "plan", path, "--at", 2)
    assert "1 flow of 1" in done.stderr and "with all of their work" in done.stderr


# effort and progress ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("jobs", "effort", "tried"),
    [(2000, None, 4000), (40_000, None, 60), (40_000, 3, 3), (40_000, 0, 0)],
)
def test_effort(jobs, effort, tried, tmp_path, capsys, monkeypatch):
    """Large tables get fewer candidates; what the user says is obeyed."""
    asked = []

    def planned(table, *, effort, **options):
        asked.append(default_effort(len(table)) if effort is None else effort)
        return mb.plan(table, effort=0, **options)

    monkeypatch.setattr("malleable.cli.plan_command.plan", planned)
    path = tmp_path / "t.csv"
    path.write_text("work\n" + "1\n" * jobs)
    options = [] if effort is None else ["--effort", effort]
    done = call(capsys, "plan", path, "--slots", 50, *options)
    assert done.returncode == 0
    assert asked == [tried]


def test_a_bar_on_a_terminal(tmp_path):
    """The search says how far it is, on standard error only."""
    pty = pytest.importorskip("pty")
    jobs = lognormal_jobs(3000, 500, min_slots=0, max_slots=(1, 60), rng=3)
    mb.write_jobs(jobs, tmp_path / "t.csv")
    master, slave = pty.openpty()
    command = [*COMMAND, "plan", str(tmp_path / "t.csv"), "--slots", "500", "--json", "-"]
    done = subprocess.run(
        [*command, "--effort", "3000"],
        stdout=subprocess.PIPE,
        stderr=slave,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
        check=False,
    )
    os.close(slave)
    read_json(done)
    seen = ""
    with suppress(OSError):  # the end of the terminal
        while part := os.read(master, 100_000):
            seen += part.decode(errors="replace")
    os.close(master)
    assert "planning 3,000 jobs" in seen
    assert "0:00:0" in seen
    assert "100%" in seen


# figures ----------------------------------------------------------------------------------------------


def test_one_simulation_has_no_interval_and_breaks_nothing(tmp_path, capsys):
    """A mean without interval is a number, and null in strict JSON."""
    path = tmp_path / "f.json"
    assert main(["reproduce", "adaptive-table6", "--simulations", "1", "--json", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "nan" not in shown
    found = json.loads(path.read_text(), parse_constant=pytest.fail)
    for row in found["panels"]["benchmarks"]:
        del row["benchmark"]
        assert {own["half"] for own in row.values()} == {None}
        assert all(own["mean"] > 0 for own in row.values())


def test_json_is_made_when_asked_for(tmp_path, capsys):
    class Arguments:
        json = None
        force = False

    assert Outputs(Arguments()).give(lambda: pytest.fail("asked for"), ["shown"]) == 0
    assert capsys.readouterr().out == "shown\n"
    Arguments.json = str(tmp_path / "r.json")
    assert Outputs(Arguments()).give(lambda: {"x": float("inf")}, []) == 0
    assert json.loads(Path(Arguments.json).read_text()) == {"x": None}
    capsys.readouterr()
    Arguments.json = "-"
    assert Outputs(Arguments()).give(lambda: {"x": 1}, ["not shown"]) == 0
    assert json.loads(capsys.readouterr().out) == {"x": 1}


def test_help_says_what_a_snapshot_is():
    told = " ".join(run("plan", "--help").stdout.split())
    assert "each job has all of its work" in told
    assert "fewer for more than 2,000 jobs, so that planning takes seconds" in told
