"""Tasks that fail are told of when they do, and can be looked into afterwards."""

import json
import os
import shlex
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from malleable.cli import main
from malleable.cli.run_screen import FailureTeller
from malleable.live.failures import Failure
from tests.live.screen import MALLEABLE, terminal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

SOLVE = r"""
import os, sys, signal
n = int(sys.argv[1])
print("out", n, flush=True)
print("\n".join(f"line {k} of {n}" for k in range(9)), "\x1b[31mred", file=sys.stderr, flush=True)
if n == 0: sys.exit(3)
if n == 1: os.kill(os.getpid(), signal.SIGSEGV)
"""
JOBS = """
[[job]]
name = "solve"
command = "python3 solve.py {}"
over = ["0", "1", "2"]
weight = 9

[[job]]
name = "slow"
command = "sleep 600 # {}"
over = ["x"]
timeout = 0.5

[[job]]
name = "waits"
command = "until [ -e go ]; do sleep 0.05; done"

[[job]]
name = "absent"
command = "no-such-program {}"
over = ["it's; x"]
retries = 1

[[job]]
name = "report"
commands = ["true", "true"]
after = ["solve"]
"""
HOW = {
    ("solve", 0): ("failed", "exit status 3"),
    ("solve", 1): ("failed", "signal 11 (SIGSEGV)"),
    ("slow", 0): ("timed out", "it ran longer than 0.5 s"),
    ("absent", 0): ("failed", "command not found: no-such-program"),
    ("report", None): ("skipped", "not started because solve failed"),
}
# However slow the machine, and however many tasks end in a second of it.
ALL = [
    sys.executable, "-c",
    "import sys; from malleable.cli import main, run_screen as it; it._MOST = 99; sys.exit(main())",
]  # fmt: skip


@pytest.fixture
def call(capfd, monkeypatch):
    """A command in this process, in a folder: its status and what it printed."""

    def called(folder, *words):
        monkeypatch.chdir(folder)
        capfd.readouterr()
        status = main(list(words))
        sys.stdout.flush()
        return SimpleNamespace(returncode=status, **capfd.readouterr()._asdict())

    return called


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """The folder of a run that has ended, and what it showed; it ended after the first failure was seen."""
    folder = tmp_path_factory.mktemp("ended")
    (folder / "jobs.toml").write_text(JOBS)
    (folder / "solve.py").write_text(SOLVE)
    with terminal(folder, "run", "jobs.toml", "--slots", "3", columns=80, command=ALL) as on:
        on.wait(lambda text: "| line 8 of 0" in text)
        (folder / "go").touch()
        assert on.end() == 3
    return folder, on.screen


def test_the_last_error_line_is_on_the_screen_while_the_run_goes_on(ended):
    _, screen = ended
    text = screen.text()
    assert "failed: solve task 0 (0): exit status 3" in text
    assert "| line 4 of 0" in text and "| line 3 of 0" not in text  # five lines
    assert "line 8 of 0 \\x1b[31mred" in text
    assert "all of it: malleable logs solve 0 --err" in text
    assert "timed out: slow task 0 (x): it ran longer than 0.5 s" in text
    assert "skipped: report, 2 tasks: not started because solve failed" in text
    assert 31 in screen.colours_of("failed: solve")


@pytest.mark.parametrize("columns", [80, 140])
def test_all_of_them_afterwards(ended, columns):
    folder = ended[0]
    with terminal(folder, "status", "--failed", columns=columns) as on:
        assert on.end() == 0
    text = on.screen.text()
    for (job, task), (way, what) in HOW.items():
        which = f"{job}, 2 tasks" if task is None else f"{job} task {task}"
        (line,) = (each for each in text.splitlines() if each.startswith(f"{way}: {which}"))
        assert what in line
    with terminal(folder, "run", "--resume", columns=columns) as on:
        assert on.end() == 3
    lines = on.screen.lines()
    title = next(
        k for k, line in enumerate(lines) if line.startswith("3 failed, 1 timed out, 2 skipped")
    )
    assert any("line 8 of 0" in line for line in lines[title:])
    assert any("command not found" in line for line in lines[title:])
    assert max(map(len, lines[title:])) <= columns


def test_what_is_shown_is_what_was_written_and_finds_the_file_again(tmp_path):
    """Also where a name is not UTF-8, in text for a shell, and quietly."""
    name = os.fsdecode(b"caf\xe9 it's.txt")
    (tmp_path / name).touch()
    for text, shown in (
        ("test -s {}", r"test -s $'caf\xe9 it\'s.txt'"),
        ('echo "x" | cat && test -s {}', r"""(echo "x" | cat && test -s $'caf\xe9 it\'s.txt')"""),
        ('test -s "$1"', r"""(set -- $'caf\xe9 it\'s.txt'; test -s "$1")"""),
    ):
        words = [*MALLEABLE, "run", "--job", "a", text, "-j1", "-q", "--joblog", "log", "--force"]
        done = subprocess.run(
            words, input=os.fsencode(name), capture_output=True, cwd=tmp_path, check=False
        )
        assert done.returncode == 3
        assert b"1 failed: malleable logs JOB TASK shows why" in done.stderr
        words = [*MALLEABLE, "status", "--failed", "--json", "-"]
        told = subprocess.run(words, capture_output=True, cwd=tmp_path, check=True).stdout
        (failed,) = json.loads(told)["failures"]
        assert failed["value"] == r"$'caf\xe9 it\'s.txt'"
        assert failed["command"] == f"cd {tmp_path} && {shown}"
        assert (tmp_path / "log").read_text().splitlines()[-1].endswith(shown.strip("()"))
        again = failed["command"].replace("test -s", "test -e")
        assert (
            subprocess.run(["bash", "-c", again], check=False, capture_output=True).returncode == 0
        )
        again = failed["command"].replace("test -s", "test ! -e")
        assert (
            subprocess.run(["bash", "-c", again], check=False, capture_output=True).returncode == 1
        )


def test_as_json(ended, call):
    folder = ended[0]
    told = json.loads(call(folder, "status", "--failed", "--json", "-").out)["failures"]
    assert {(each["job"], each["task"]): (each["way"], each["what"]) for each in told} == HOW
    again = json.loads(call(folder, "run", "--resume", "--json", "-").out)
    assert again["failures"] == told
    ways = {job["name"]: job["ways"] for job in again["jobs"]}
    assert ways["slow"]["timed out"] == 1 and ways["report"]["skipped"] == 2
    retried = {job["name"]: job["retried"] for job in again["jobs"]}
    assert retried == {"solve": 0, "slow": 0, "waits": 0, "absent": 1, "report": 0}
    by_task = {(each["job"], each["task"]): each for each in told}
    assert by_task["absent", 0]["tries"] == 2
    assert by_task["absent", 0]["value"] == "it's; x"
    assert shlex.split(by_task["absent", 0]["command"])[-2:] == ["no-such-program", "it's; x"]
    pasted = subprocess.run(
        ["sh", "-c", by_task["solve", 0]["command"]], cwd="/", capture_output=True, check=False
    )
    assert pasted.returncode == 3 and b"line 8 of 0" in pasted.stderr


def test_one_command_says_why_a_task_failed(ended, call):
    folder = ended[0]
    done = call(folder, "logs", "solve", "0", "--err")
    assert done.returncode == 0
    assert done.out.splitlines()[0] == "line 0 of 0" and "\x1b[31mred" in done.out
    assert "solve task 0 (0): exit status 3" in done.err and "python3 solve.py 0" in done.err
    every = call(folder, "logs", "solve").out
    assert every == "".join(f"==> task {k} <==\nout {k}\n" for k in range(3))
    assert (
        "skipped: report, 2 tasks: not started because solve failed"
        in call(folder, "logs", "report").err
    )
    assert (
        call(folder, "logs", "waits", "0").err
        == "malleable: waits task 0: nothing on standard output\n"
    )
    wrong = call(folder, "logs", "solv")
    assert (wrong.returncode, wrong.out) == (1, "") and "did you mean 'solve'" in wrong.err
    assert "tasks 0 to 2" in call(folder, "logs", "solve", "3").err


def test_logs_follow_a_run_to_its_end(tmp_path):
    command = "sh -c 'echo begin; until [ -e go ]; do sleep 0.05; done; echo end' {}"
    (tmp_path / "jobs.toml").write_text(
        f'[[job]]\nname = "a"\ncommand = "{command}"\nover.range = 1\n'
    )
    with subprocess.Popen(
        [*MALLEABLE, "run", "jobs.toml", "-q"], cwd=tmp_path, stdout=subprocess.DEVNULL
    ) as run:
        kept = tmp_path / ".malleable" / "journal.sqlite.output" / "1" / "0-a" / "0.0.out"
        until = time.monotonic() + 30.0
        while not (kept.exists() and kept.stat().st_size) and time.monotonic() < until:
            time.sleep(0.02)
        with terminal(tmp_path, "logs", "a", "0", "--follow") as on:
            on.wait(lambda text: "begin" in text)
            assert "end" not in on.screen.text()
            (tmp_path / "go").touch()
            assert on.end() == 0
            assert on.screen.lines()[:2] == ["begin", "end"]
        assert run.wait(30.0) == 0


def test_a_few_a_second():
    now, lines = [0.0], []
    tell = FailureTeller(lambda more: [lines.extend(more)] != [], clock=lambda: now[0])
    for k in range(1000):
        tell(Failure("a", k, "", "false", "failed", "exit status 1", 1, 0.0))
    assert [line for line in lines if line.startswith("failed")] == [
        f"failed: a task {k}: exit status 1" for k in range(3)
    ]
    now[0] = 1.5
    tell(Failure("a", 1000, "", "false", "failed", "exit status 1", 1, 0.0))
    assert lines[6].startswith("997 more") and lines[7] == "failed: a task 1000: exit status 1"


def test_a_command_is_shown_as_it_was_written_here(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    lines = ["gzip -k none.txt", "test 1 = 2; test -e x", "cd /; exit 4"]
    (tmp_path / "c.txt").write_text("\n".join(lines))
    assert main(["run", "c.txt", "-j", "1"]) == 3
    told = capfd.readouterr().err
    for line in (*lines[:2], f"({lines[2]})"):
        assert f"\n    {line}\n" in told
    monkeypatch.chdir("/")
    path = str(tmp_path / ".malleable/journal.sqlite")
    assert main(["status", path, "--failed"]) == 0
    assert f"    cd {tmp_path} && (gzip -k none.txt)\n" in capfd.readouterr().out


def test_many_failures_are_told_in_groups(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    command = "echo cannot read {} of 17 >&2; if [ {} = a3 ]; then exit 5; fi; exit 4"
    values = [f"a{k}" for k in range(40)]
    assert main(["run", command, "--job", "r", "--each", *values, "-q"]) == 3
    assert capfd.readouterr().err.startswith("malleable: 40 failed: ")  # although quiet
    assert main(["status", "--failed"]) == 0
    told = capfd.readouterr().out
    assert (
        "39 tasks: failed: exit status 4: cannot read {} of #\n    r task 0 (a0), r task 1" in told
    )
    assert "1 task: failed: exit status 5: cannot read {} of #\n    r task 3 (a3)\n" in told
    assert told.count("\n") == 7 and "all of them: malleable status --failed --json -" in told
