"""How commands speak to people: quietly, and without colours."""

import json
import os
import subprocess
import sys

import pytest

from malleable.cli.arguments import build_parser
from malleable.cli.streams import Manner, console, speak, watched
from tests.cli.command_line import COMMAND, call, run

PLAN = ["plan", "jobs.csv", "--slots", "100"]


@pytest.fixture(autouse=True)
def _as_before():
    yield
    speak(Manner())


@pytest.mark.parametrize("words", [["-q", *PLAN], [*PLAN, "--quiet"], ["-q", *PLAN, "-q"]])
def test_quiet_commands_print_nothing(table, words):
    done = run(*words, cwd=table.parent)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert run(*PLAN, cwd=table.parent).stdout.count("\n") > 3


def test_quiet_commands_write_what_machines_read(table):
    done = run("-q", *PLAN, "--json", "-", "--explain", cwd=table.parent)
    assert json.loads(done.stdout)["policy"] == "flex"
    assert done.stderr == ""
    assert run(*PLAN, "--json", "-", "--explain", cwd=table.parent).stderr != ""


def test_quiet_commands_say_what_is_wrong(tmp_path):
    done = run("-q", *PLAN, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "malleable: error: jobs.csv: No such file or directory\n"


def test_quiet_commands_keep_notes_to_themselves(tmp_path, capsys):
    trace = tmp_path / "t.swf"
    trace.write_text(
        "".join(f"{k} 0 0 {k} 2 -1 -1 2 -1 -1 1 1 1 1 1 1 -1 -1\n" for k in range(1, 9))
    )
    words = ["plan", str(trace), "--slots", "4"]
    loud, quiet = call(capsys, *words), call(capsys, "-q", *words)
    assert loud.stderr.startswith("malleable: ")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    assert call(capsys, *words).stderr == loud.stderr  # the manner ends with the call


def test_nobody_watches_a_quiet_command():
    class Terminal:
        def isatty(self):
            return True

    assert watched(Terminal())
    speak(Manner(quiet=True))
    assert not watched(Terminal())


def on_a_terminal(*words, **environment):
    """What goes to a terminal, colours and all."""
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    names = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "90", **environment}
    with subprocess.Popen(
        [*COMMAND, *words], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env=names
    ) as process:
        os.close(slave)
        seen = b""
        try:
            while more := os.read(master, 100_000):
                seen += more
        except OSError:  # that is how the end of a terminal is told
            pass
    os.close(master)
    assert process.returncode == 0, seen
    return seen


def colours(seen):
    """Escapes that set one, which none does that makes text bold or moves the cursor."""
    import re

    return re.findall(rb"\x1b\[(?:\d+;)*3[0-8][\d;]*m", seen)


def test_colours_can_be_left_out():
    bench = ["bench", "--jobs", "300", "--epochs", "3"]
    assert colours(on_a_terminal(*bench, NO_COLOR=""))  # the bar's
    assert not colours(on_a_terminal("--no-color", *bench, NO_COLOR=""))
    assert not colours(on_a_terminal(*bench, "--no-color", NO_COLOR=""))
    assert not colours(on_a_terminal(*bench, NO_COLOR="1"))
    quiet = on_a_terminal(*bench, "-q", NO_COLOR="")
    assert quiet == b""


def test_a_console_has_colours_unless_it_is_asked_not_to(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert not console(sys.stdout).no_color
    speak(Manner(no_color=True))
    assert console(sys.stdout).no_color


def test_every_command_can_be_quiet():
    parser = build_parser(whole=True)
    (commands,) = (a.choices for a in parser._actions if isinstance(a.choices, dict))
    assert len(commands) > 10
    for command in commands.values():
        assert {"-q", "--quiet", "--no-color"} <= set(command._option_string_actions)
