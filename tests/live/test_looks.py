"""What a run looks like on terminals of 80 and 140 columns, and where there is none."""

import io
import re
import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console

from malleable.live.journal import Attempt, Decided, Journal, RunningTasks
from malleable.live.status import run_status
from malleable.view.live import status_table
from malleable.view.text import Table, lasting
from tests.live.outputs import rows_of
from tests.live.screen import terminal
from tests.live.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
JOBS = """
[[job]]
name = "a-name-of-some-length"
command = ["sh", "-c", "sleep 0.4; [ $1 != 2 ]", "sh", "{}"]
over.range = 60
max_slots = 1
deadline = "1s"

[[job]]
name = "first"
command = "sleep 0.5 # {}"
over.range = 60
max_slots = 1

[[job]]
name = "later"
command = "sleep 0.2"
after = ["first"]
"""


@pytest.mark.parametrize("columns", [80, 140])
def test_a_bar_and_a_table_in_colours(tmp_path, columns):
    (tmp_path / "jobs.toml").write_text(JOBS)
    line = re.compile(
        r"^█*░+ \d+ %, \d+ of 121 done, 1 failed, 2 running(, [\d.]+/(s|min))?, [\d.]+ (s|min) left.*$",
        re.MULTILINE,
    )
    with terminal(tmp_path, "run", "jobs.toml", "-j", "2", columns=columns) as on:
        on.wait(line.search)
        shown = line.search(on.screen.text())[0]
        assert len(shown) < columns and on.screen.colours_of("1 failed,")[-1:] == (31,)
        with terminal(tmp_path, "watch", "--every", "0.1", columns=columns) as watch:
            watch.wait(
                lambda text: "run 1, running" in text and "later" in text and "missed" in text
            )
            lines = watch.screen.lines()
            assert sum("job " in each for each in lines) == 1, "one table"
            assert max(map(len, lines)) < columns
            assert 2 in watch.screen.colours_of("later")
            assert 31 in watch.screen.colours_of("1 failed") and 31 in watch.screen.colours_of(
                "1, missed"
            )
            assert ("why" in watch.screen.text()) == (columns == 140)
            assert "user" not in watch.screen.text()
            watch.press(b"\x03")
            assert watch.end() == 130
            told = watch.screen.lines()
            assert told[-2:] == ["malleable: interrupted", ""] and "^C" not in watch.screen.text()
            assert watch.screen.cursor and sum("run 1, " in each for each in told) == 1
        on.process.send_signal(signal.SIGINT)
        assert on.end() == 130


@pytest.mark.parametrize("columns", [80, 140])
def test_a_clean_screen_after_ctrl_c(tmp_path, columns):
    (tmp_path / "jobs.toml").write_text(JOBS)
    with terminal(tmp_path, "run", "jobs.toml", "-j", "2", columns=columns) as on:
        on.wait(lambda text: "running" in text)
        on.press(b"\x03")
        assert on.end() == 130
    lines = on.screen.lines()
    assert on.screen.cursor and on.screen.column == 0
    assert "^C" not in on.screen.text() and "running" not in on.screen.text()
    assert sum(line.split()[:1] == ["later"] for line in lines) == 1  # the table of the end


def test_a_dry_run_shows_commands_that_can_be_pasted(tmp_path):
    (tmp_path / "jobs.toml").write_text(
        '[[job]]\ncommand = ["sh", "-c", "echo $1; true", "sh", "{}"]\nover = ["a b", "c"]\n'
    )
    with terminal(tmp_path, "run", "jobs.toml", "--dry-run", "-j", "2", columns=140) as on:
        assert on.end() == 0
    told = on.screen.text()
    assert told.startswith(
        "1 job on 2 slots: expected end ?; what tasks take is not known of 1 job"
    )
    assert "sh -c 'echo $1; true' sh 'a b'" in told


def test_a_line_a_minute_where_nobody_looks(tmp_path):
    (tmp_path / "jobs.toml").write_text('[[job]]\ncommand = "sleep 0.4 # {}"\nover.range = 5\n')
    script = (
        "import sys; from malleable.cli import main, run_screen\n"
        "run_screen.MINUTE = 0.7\n"
        "sys.exit(main(['run', 'jobs.toml', '-j', '1', *sys.argv[1:]]))"
    )
    for words in ([], ["-q", "--journal", "k/j"]):
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", script, *words],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        told = [each for each in done.stderr.splitlines() if " running" in each]
        most = 0 if words else (time.monotonic() - began) / 0.7 + 1
        assert min(1, most) <= len(told) <= most, done.stderr
        assert all(re.match(r"malleable: \d+ %, \d+ of 5 done, ", each) for each in told)
        assert "\x1b" not in done.stderr and "\r" not in done.stderr


def test_no_column_is_empty_for_every_job(tmp_path):
    rows = [{"name": f"j{k}", "command": "x", "over": {"range": 9}} for k in range(3)]
    with Journal(tmp_path / "j") as journal:
        run = journal.begin(2, "sum:response", "flex", rows_of(rows, tmp_path))
        journal.record(run, 4.0, [Attempt(0, 0, 0, 0, 0.0, 2.0)], [Decided(0.0, 2, 2, "x")])
        journal.note_running(run, 4.0, [RunningTasks(2, 2, 3.0)])
        table = status_table(run_status(journal))
    assert table.heads == ["job", "why", "running", "done", "task [s]", "end [s]"]
    for k, head in enumerate(table.heads):
        assert any(row[k] not in ("", "-") for row in table.rows), head


def test_a_narrow_terminal_goes_without_spare_columns():
    heads = ["name", "why", "end"]
    table = Table("", heads, [["n" * 14, "w" * 14, "1" * 9]], 2, spare=[1])
    shown = {}
    for width in (60, 30, 18):
        console = Console(width=width, file=io.StringIO())
        console.print(table)
        shown[width] = console.file.getvalue().split("\n", 2)[1].split()
    assert shown == {60: heads, 30: ["name", "end"], 18: ["name", "end"]}


def test_how_long_things_last():
    told = {0.04: "0.0 s", 9.94: "9.9 s", 12.4: "12 s", 99.4: "99 s", 100: "2 min", 5400: "90 min",
            7500: "2 h 05 min", 86400: "24 h 00 min", 187200: "2 d 4 h", float("nan"): "?"}  # fmt: skip
    assert {seconds: lasting(seconds) for seconds in told} == told


def test_a_terminal_that_is_stopped_stops_no_run(tmp_path):
    """Ctrl-S, or a connection that hangs: what cannot be shown is left out."""
    (tmp_path / "jobs.toml").write_text(
        '[[job]]\ncommand = ["sh", "-c", "sleep 0.3; touch $1; [ $1 != 3 ]", "sh", "{}"]\nover.range = 20\n'
    )
    with terminal(tmp_path, "run", "jobs.toml", "-j", "2", columns=80) as on:
        on.wait(lambda text: "running" in text)
        on.press(b"\x13")
        until((tmp_path / "20").exists)
        on.press(b"\x11")
        assert on.end() == 3
    assert "1 failed: malleable logs" in on.screen.text()
