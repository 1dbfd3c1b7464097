"""All views of a run give the same expected end, and jobs that have ended keep theirs."""

import json
import math
import re
import sys
import time

import numpy as np
import pytest

import malleable as mb
from malleable.cli import main
from malleable.live.decider import SchedulerDecider
from malleable.live.jobs_file import parse_jobs
from malleable.live.journal import Journal
from malleable.live.run import CommandRun
from malleable.live.status import run_status
from tests.full import in_full
from tests.live.fake_engine import FakeEngine
from tests.live.screen import terminal
from tests.live.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
ROWS = [
    {"name": "a", "command": "x {}", "over": {"range": 30}},
    {"name": "b", "command": "y {}", "over": {"range": 9}, "seconds": 4, "deadline": 90},
    {"name": "c", "command": "z", "after": ["a"]},
]


def test_line_table_and_dry_run_say_the_same(tmp_path):
    """At the same moment, whatever has ended and runs."""
    jobs = parse_jobs(ROWS, tmp_path)
    with Journal(tmp_path / "journal.sqlite") as journal:
        begun = CommandRun.begin(journal, jobs, ROWS, 4, "sum:response", "auto")
        rng = np.random.default_rng(1)
        engine = FakeEngine(
            4, rng, lambda key: 1.0 + 0.37 * (len(key) + int(key[-3])), lambda key: 0
        )
        loop = begun.loop(engine, SchedulerDecider(4), clock=engine.clock)
        known = 0
        while not loop.finished:
            loop.step(0.7)
            loop._running_noted = loop._expected_at = -math.inf  # now, not once a second
            loop.record()
            end = loop.last_end  # what the line of the run shows
            status = run_status(journal, begun.number)
            assert status.now == loop.now
            assert tuple(status.end) == pytest.approx(tuple(end), nan_ok=True)
            known += end.at > loop.now
        assert known >= 10


def test_an_executor_says_what_its_journal_does(tmp_path):
    with mb.Executor(slots=2, threads=True, journal=tmp_path / "j") as pool:
        job = pool.job("a")
        futures = job.map(time.sleep, [0.05] * 4 + [1.2] * 8)

        def agree():
            with Journal(tmp_path / "j", write=False) as journal:
                said, own, now = run_status(journal), job.progress(), pool._run.loop.now
            ends = said.jobs[0].end if said.jobs else math.nan, own.end + now
            return own.done >= 5 and own.end > 1.0 and abs(ends[0] - ends[1]) < 0.2 and ends

        assert until(agree)  # what the journal has of running tasks is a second old at most
        assert all(future.result() is None for future in futures)


JOBS = """
[[job]]
name = "good"
command = "sleep 0.1 # {}"
over.range = 3

[[job]]
name = "bad"
command = ["sh", "try.sh", "{}"]
over.range = 2
"""


def ended(text):
    """End and seconds of a task of the job "good", as a table on a screen says them."""
    head = next(line for line in text.splitlines() if "end" in line and line.split()[0] == "job")
    row = next(line for line in text.splitlines() if line.split()[:1] == ["good"])
    cells = []
    for title in ("task [s]", "end [s]"):
        edge = head.index(title) + len(title)
        cells.append(row[:edge].split()[-1])
    return cells


@pytest.mark.parametrize(
    ("columns", "first", "then"), [(80, "--resume", "run"), (140, "--rerun-failed", "status")]
)
def test_a_job_that_has_ended_keeps_its_end(tmp_path, monkeypatch, capsys, columns, first, then):
    (tmp_path / "jobs.toml").write_text(JOBS)
    (tmp_path / "try.sh").write_text("sleep 0.3; exit 1")
    tables = []
    with terminal(tmp_path, "run", "jobs.toml", "--slots", "5", columns=columns) as on:
        assert on.end() == 3
        tables.append(ended(on.screen.text()))
    (tmp_path / "try.sh").write_text("sleep 0.7; exit 0")
    monkeypatch.chdir(tmp_path)
    before = json.loads(_json(capsys, "status"))["jobs"][0]
    for words in (["run", first], [then, "--rerun-failed"] if then == "run" else [then]):
        with terminal(tmp_path, *words, columns=columns) as on:
            assert on.end() in (0, 3)
            tables.append(ended(on.screen.text()))
    after = json.loads(_json(capsys, "status"))["jobs"]
    assert all(table == tables[0] for table in tables), tables
    assert float(tables[0][1]) == pytest.approx(before["ended"], abs=0.05)
    assert (after[0]["ended"], after[0]["seconds"]) == (before["ended"], before["seconds"])
    assert after[1]["ended"] > before["ended"] and after[1]["failed"] == 0


def _json(capsys, *words):
    capsys.readouterr()
    assert main([*words, "--json", "-"]) == 0
    return capsys.readouterr().out


def test_an_end_that_nobody_knows_is_a_question_mark(tmp_path):
    (tmp_path / "jobs.toml").write_text(
        '[[job]]\ncommand = "until [ -e go ]; do sleep 0.05; done"\n'
    )
    with terminal(tmp_path, "run", "jobs.toml", "--slots", "2") as on:
        on.wait(lambda text: re.search(r"0 of 1 done, 1 running, \? left", text))
        (tmp_path / "go").touch()
        assert on.end() == 0


@pytest.mark.parametrize("columns", [140, pytest.param(80, marks=in_full)])
def test_a_line_and_a_table_on_two_terminals_say_the_same(tmp_path, columns):
    (tmp_path / "jobs.toml").write_text(
        '[[job]]\nname = "x"\ncommand = "sleep 0.4 # {}"\nover.range = 30\n'
    )
    with terminal(tmp_path, "run", "jobs.toml", "--slots", "2", columns=columns) as on:
        on.wait(lambda text: re.search(r" [12]\d of 30 done.* \d+(\.\d+)? s left", text))
        with terminal(tmp_path, "status", columns=columns) as other:
            assert other.end() == 0
            table = other.screen.text()
        on.read(0.1)
        line = on.screen.text()
        left = float(re.findall(r"(\d+(?:\.\d+)?) s left", line)[-1])
        passed, end = map(
            float, re.findall(r"running: ([\d.]+) s .*expected end ([\d.]+)", table)[0]
        )
        assert end - passed == pytest.approx(left, abs=2.5)
        assert re.search(r"^auto: ", table, re.MULTILINE)
        assert on.end() == 0
