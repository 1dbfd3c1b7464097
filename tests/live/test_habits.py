"""What users of GNU parallel do without looking it up."""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from malleable.cli.arguments import build_parser
from malleable.cli.run_screen import Wanted, halt
from malleable.files.reading import parse_seconds
from malleable.live.jobs_file import parse_jobs
from malleable.live.ledger import JobState
from tests.live.screen import MALLEABLE, terminal
from tests.live.waiting import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
PRINT = "sh -c 'sleep 0.$1; sleep 0.05; echo out $1; echo err $1 >&2; [ $1 != 3 ]' sh {}"


def run(folder, *words, lines="", **options):
    return subprocess.run(
        [*MALLEABLE, "run", *words], cwd=folder, input=lines, capture_output=True, text=True,
        check=False, **options,
    )  # fmt: skip


def test_a_command_reads_standard_input_and_its_output_comes_in_order(tmp_path):
    lines = "5\n4\n3\n1\n"
    began = time.time()
    words = [PRINT, "-j", "4", "--keep-order", "--joblog", "log"]
    done = run(tmp_path, *words, lines=lines)
    assert done.returncode == 3
    assert done.stdout.split("\n") == ["out 5", "out 4", "out 3", "out 1", ""]
    errors = [line for line in done.stderr.splitlines() if line.startswith("err")]
    assert errors == ["err 5", "err 4", "err 3", "err 1"]
    assert "failed: sh task 2 (3): exit status 1" in done.stderr and "| err" not in done.stderr
    heads, *rows = (line.split("\t") for line in (tmp_path / "log").read_text().splitlines())
    assert heads == [
        "Seq",
        "Host",
        "Starttime",
        "JobRuntime",
        "Send",
        "Receive",
        "Exitval",
        "Signal",
        "Command",
    ]
    rows = {int(row[0]): dict(zip(heads, row, strict=True)) for row in rows}
    assert sorted(rows) == [1, 2, 3, 4]
    assert [rows[k]["Exitval"] for k in rows] == ["0" if k != 3 else "1" for k in rows]
    assert all(row["Receive"] == "6" and row["Signal"] == "0" for row in rows.values())
    assert float(rows[1]["JobRuntime"]) >= 0.5
    assert began <= float(rows[1]["Starttime"]) <= time.time()
    pasted = subprocess.run(
        ["sh", "-c", rows[4]["Command"]], capture_output=True, text=True, check=True
    )
    assert pasted.stdout == "out 1\n"
    refused = run(tmp_path, PRINT, "--joblog", "log", lines=lines)
    assert refused.returncode == 1 and "log" in refused.stderr


def test_output_as_tasks_end_and_none(tmp_path):
    # The task that comes first ends only once the output of the other one is shown.
    waits = "sh -c '[ $1 = 2 ] || until grep -q 2 shown; do sleep 0.01; done; echo $1' sh {}"
    with (tmp_path / "shown").open("wb") as shown:
        subprocess.run(
            [*MALLEABLE, "run", "--job", "a", waits, "-j", "3", "--output", "stream", "-q"],
            cwd=tmp_path, input=b"5\n2\n", stdout=shown, check=True, timeout=PATIENCE,
        )  # fmt: skip
    assert (tmp_path / "shown").read_text().split() == ["2", "5"]
    assert list(tmp_path.glob("**/packed"))
    none = run(tmp_path, PRINT, "--keep", "none", "--journal", "j/k", lines="1\n")
    assert none.returncode == 0 and not [*tmp_path.glob("j/**/*.out"), *tmp_path.glob("j/**/*.err")]


def test_what_tasks_print_on_a_terminal_stands_beside_the_line(tmp_path):
    command = f'printf "2\\n9\\n" | exec {sys.executable} -m malleable run "$@"'
    with terminal(
        tmp_path, PRINT, "-j", "2", "--output", "stream", command=["sh", "-c", command, "sh"]
    ) as on:
        assert on.end() == 0
    assert on.screen.lines()[:4] == ["out 2", "err 2", "out 9", "err 9"]


@pytest.mark.parametrize(
    ("when", "tasks", "least"),
    [("soon,fail=1", 3, 0), ("now,fail=1", 1, 0), ("now,success=2", 2, 2), ("now,done=30%", 3, 1)],
)
def test_giving_up(tmp_path, when, tasks, least):
    """Three slots: one task fails at once, two end later, others later still; --resume runs the rest."""
    command = (
        "sh -c '[ -e go ] || { [ $1 != 1 ] || exit 7; [ $1 -lt 4 ] || sleep 2; sleep 0.8; }' sh {}"
    )
    lines = "".join(f"{k}\n" for k in range(1, 10))
    done = run(tmp_path, command, "-j", "3", "--halt", when, "--json", "log", lines=lines)
    text = (tmp_path / "log").read_text()
    ended = text.count('"finished": false')
    assert (done.returncode, ended) == (3, 1), done.stderr
    assert "halted" in done.stderr
    with terminal(tmp_path, "status", columns=80) as on:
        assert on.end() == 0
    row = next(line.split() for line in on.screen.lines() if line.split()[:1] == ["sh"])
    count = int(row[row.index("of") - 1])
    assert least <= count <= tasks
    (tmp_path / "go").touch()
    again = run(tmp_path, "--resume")
    assert again.returncode == 3 and "1 failed" in again.stderr


def test_when_it_gives_up():
    work = JobState("a", 100, lambda *_: None)
    work.done, work.failed = 30, 9
    work.ways["skipped"] = 4
    for text, reached in {
        "soon,fail=5": True, "now,fail=6": False, "now,fail=5%": True, "soon,fail=6%": False,
        "now,success=30": True, "now,success=31%": False, "now,done=35": True, "now,done=36": False,
        "1": True, "2": True,
    }.items():  # fmt: skip
        assert halt(text).reached([work]) == reached, text
    assert halt("never") is None and halt("0") is None
    assert halt("2").at_once and not halt("1").at_once
    for text in ("now", "fail=1", "soon,fail=0", "soon,fail=x", "3"):
        with pytest.raises(argparse.ArgumentTypeError):
            halt(text)


def test_durations():
    told = {"90": 90, "90s": 90, "10m": 600, "10 min": 600, "2h": 7200, "1d": 86400, "1h30m": 5400}
    assert {text: parse_seconds(text) for text in told} == told
    for text in ("", "h", "1x", "1h30", "s5", "1_0s", "-3m"):
        with pytest.raises(ValueError, match="not a duration"):
            parse_seconds(text)
    (job,) = parse_jobs([{"command": "x", "timeout": "10m", "deadline": "1.5h", "seconds": 3}])
    assert (job.timeout, job.deadline, job.seconds) == (600.0, 5400.0, 3.0)
    with pytest.raises(ValueError, match=r"job\[0\].timeout = 'soon': not a duration"):
        parse_jobs([{"command": "x", "timeout": "soon"}])


def test_usage_errors_print_the_usage_of_their_command(capsys):
    for words in (["run", "--bogus"], ["logs"], ["status", "--failde"], ["run", "-j", "x"]):
        with pytest.raises(SystemExit) as left:
            build_parser().parse_args(words)
        assert left.value.code == 2
        told = capsys.readouterr().err
        assert told.startswith(f"usage: malleable {words[0]} "), told
        assert f"malleable {words[0]}: error: " in told


def test_what_cannot_be_is_said(tmp_path):
    more = run(tmp_path, "sleep {}", "-j", "2", "--min-slots", "3", lines="1\n")
    assert more.returncode == 1 and "min_slots = 3: above the 2 slots" in more.stderr
    assert not os.path.lexists(tmp_path / ".malleable")
    blank = run(tmp_path, "  ")
    assert blank.returncode == 1 and blank.stderr.startswith("malleable: error: ")
    none = run(tmp_path, "gzip", lines="1\n")
    assert none.returncode == 1 and "--job NAME gzip" in none.stderr
    with terminal(tmp_path, "run", "echo {}") as on:
        assert on.end() == 1
    assert "and a terminal has none" in on.screen.text().replace("\n", "")


@pytest.mark.parametrize(
    ("columns", "words", "told"),
    [
        (80, ["run", "-j", "2.5", "true"], "argument -j/--slots: '2.5': expected a whole number"),
        (140, ["run", "--retires", "3"], "unrecognized arguments: --retires; did you mean '--retries'?"),
        (140, ["simulate", "--seed", "x"], "argument --seed: 'x': expected a whole number"),
    ],
)  # fmt: skip
def test_usage_errors_say_what_was_meant(tmp_path, columns, words, told):
    with terminal(tmp_path, *words, columns=columns) as on:
        assert on.end() == 2
    assert told in on.screen.text()


# What was asked for and cannot be written.

PRINTS = "sh -c 'echo $1; until [ -e go$1 ]; do sleep 0.01; done; echo $1' sh {}"


@pytest.mark.parametrize("how", ["--keep-order", "--output=stream"])
def test_output_without_room_ends_the_run(tmp_path, how):
    """The second task would never end."""
    (tmp_path / "go1").touch()
    words = [*MALLEABLE, "run", "--job", "a", PRINTS, "-j", "2", how, "-q"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            words, cwd=tmp_path, input=b"1\n2\n", stdout=full, stderr=subprocess.PIPE,
            check=False, timeout=PATIENCE,
        )  # fmt: skip
    assert done.returncode == 1
    (said,) = done.stderr.decode().splitlines()
    assert said.startswith("malleable: error: standard output: No space left on device")
    (tmp_path / "go2").touch()
    done = run(tmp_path, "--resume", "--keep-order")
    assert (done.returncode, done.stdout) == (0, "2\n2\n")  # the first has ended before


def test_a_closed_pipe_ends_the_run(tmp_path):
    words = [*MALLEABLE, "run", "--job", "a", PRINTS, "-j", "3", "--keep-order"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, cwd=tmp_path, **pipes) as process:
        process.stdin.write(b"1\n2\n3\n")
        process.stdin.close()
        (tmp_path / "go1").touch()
        assert process.stdout.readline() == b"1\n"
        process.stdout.close()
        (tmp_path / "go2").touch()
        assert process.wait(PATIENCE) == 141
        said = process.stderr.read().decode()
    assert "standard output has no reader any more; ended tasks are kept" in said
    assert "Exception" not in said and "Traceback" not in said


def test_what_cannot_be_written_is_not_tried_again():
    wanted, tried = Wanted(), []

    def fails():
        tried.append(1)
        raise OSError("no room")

    for _ in range(2):
        wanted(fails)
    assert (str(wanted.error), tried) == ("no room", [1])
