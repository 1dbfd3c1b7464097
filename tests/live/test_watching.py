"""What people see of a run: a line or all jobs on a terminal, in place; nothing where nobody looks."""

import contextlib
import math
import re
import subprocess
import sys

import pytest

from malleable.live.journal import (
    Attempt,
    Decided,
    ExpectedEnd,
    Journal,
    JournalError,
    RunningTasks,
)
from malleable.live.status import run_status
from malleable.view.live import end_text, status_json, status_table, task_text
from tests.live.on_a_terminal import shown
from tests.live.outputs import rows_of
from tests.live.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
COMMAND = [sys.executable, "-m", "malleable"]
NASTY = "a\x1b[31m\nb"
JOBS = f"""
[[job]]
name = "a\\u001b[31m\\nb"
user = "\\u001b]0;x"
command = "sleep 0.6 # {{}}"
over.range = 6
deadline = 1

[[job]]
name = "other"
command = "true"
after = [{NASTY!r}]
"""


@pytest.fixture
def folder(tmp_path):
    text = JOBS.replace(repr(NASTY), '"a\\u001b[31m\\nb"')
    (tmp_path / "jobs.toml").write_text(text)
    return tmp_path


def escapes(text):
    """What a terminal would obey, beside what moves the cursor, clears and colours tables' rules."""
    return [found for found in re.findall(r"\x1b.[^a-zA-Z]*.", text) if "]0" in found]


def test_a_line_where_standard_error_is_a_terminal(folder):
    text, status, _ = shown([*COMMAND, "run", "jobs.toml", "--slots", "2"], folder, columns=40)
    assert status == 0
    lines = re.findall(r"\r([^\r\x1b]+)\x1b\[K", text)
    assert any(re.search(r"\d of 7 done, [12] running", line) for line in lines)
    assert max(map(len, lines)) < 40
    assert re.search(r"\d s left", text)
    assert escapes(text) == []
    quiet = subprocess.run(
        [*COMMAND, "run", "jobs.toml", "--slots", "9"], cwd=folder, capture_output=True, check=True
    )
    assert quiet.stderr == b""


def begun(path):
    with contextlib.suppress(JournalError), Journal(path, write=False) as journal:
        return journal.has_runs()
    return False


def test_another_process_watches(folder):
    text = (folder / "jobs.toml").read_text()
    (folder / "jobs.toml").write_text(
        text.replace("sleep 0.6", "until [ -e go ]; do sleep 0.1; done")
    )
    with subprocess.Popen(
        [*COMMAND, "run", "jobs.toml", "--slots", "2"], cwd=folder, stdout=subprocess.DEVNULL
    ) as run:
        until(lambda: begun(folder / ".malleable/journal.sqlite"))
        text, status, seen = shown(
            [*COMMAND, "watch", "--every", "0.1"],
            folder,
            until=b"run 1, running",
            then=(folder / "go").touch,
        )
        assert run.wait(30.0) == 0
    assert (status, seen) == (0, True)
    assert text.count("run 1, running") >= 2
    assert "run 1, done" in text
    assert escapes(text) == []


def test_a_view_needs_a_terminal(folder):
    done = subprocess.run(
        [*COMMAND, "watch"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "no terminal" in done.stderr
    every = subprocess.run([*COMMAND, "watch", "--every", "0"], capture_output=True, check=False)
    assert every.returncode == 2


def test_a_killed_run_is_called_so_and_has_no_slots(tmp_path):
    rows = [{"name": f"j{k}", "command": "x", "over": {"range": 9}} for k in range(5)]
    with Journal(tmp_path / "j") as journal:
        run = journal.begin(2, "sum:response", "flex", rows_of(rows, tmp_path))
        journal.record(run, 4.0, [Attempt(0, 0, 0, 0, 0.0, 2.0)], [Decided(0.0, 3, 2, "x")])
        expected = [ExpectedEnd(k, 9.0, 8.0, 12.0, 2.0, 0.5) for k in range(4)]
        journal.note_running(run, 4.0, [RunningTasks(3, 2, 3.0)], expected, "in order: why not")
        status = run_status(journal)
        assert (status.status, status.jobs[3].slots, status.jobs[3].running) == ("running", 2, 2)
        short = status_table(status, 2)
        assert short.rows[0][0] == "j3"  # what runs comes first
        assert "3 jobs not shown" in short.title
        assert len(status_table(status).rows) == 5
        first = status.jobs[0]
        assert (first.seconds, first.spread) == (2.0, 0.5)
        assert (first.end, first.early, first.late) == (9.0, 8.0, 12.0)
        assert math.isnan(status.jobs[4].end) and math.isnan(
            status.end.at
        )  # of which nothing is said
        assert status.rule == "in order: why not"
        assert any(task_text(first.seconds, first.spread) in row for row in short.rows[1:])
    with Journal(tmp_path / "j", write=False) as journal:
        status = run_status(journal)
        assert (status.status, status.jobs[3].slots, status.jobs[3].running) == ("killed", 0, 0)
        assert status_json(status)["jobs"][0]["deadline"] is None


@pytest.mark.parametrize(
    ("end", "text"),
    [
        ((12.3456, 12.3456, 12.3456), "12.3"),
        ((12.3456, 10.12, 15.87), "12 (10 to 16)"),
        ((12.3456, 11.62, 12.95), "12.3 (11.6 to 12.9)"),
        ((12.3456, 12.12, 12.55), "12.3 (12.1 to 12.6)"),
        ((1234.5, 1000.0, 1700.0), "1234 (1000 to 1700)"),
        ((0.0312,) * 3, "0.031"),
        ((0.25,) * 3, "0.25"),
        ((0.0,) * 3, "0"),
        ((float("nan"),) * 3, "?"),
    ],
)
def test_no_more_digits_than_are_known(end, text):
    assert end_text(*end) == text
