"""Runs depend on nothing outside once they have begun, and no view ends them."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

import malleable as mb
from malleable.live.decider import SchedulerDecider
from malleable.live.guard import Guard
from malleable.live.jobs_file import parse_jobs, recalled, recorded
from malleable.live.journal import Attempt, Decided, Journal
from malleable.live.run import CommandRun
from malleable.live.status import run_status
from tests.live.fake_engine import FakeEngine
from tests.live.on_a_terminal import shown
from tests.live.outputs import output_of, rows_of
from tests.live.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
COMMAND = [sys.executable, "-m", "malleable"]
JOBS = """
[[job]]
name = "eat"
command = "cat {} >>../eaten && rm {} && until [ -e ../go ]; do sleep 0.02; done"
over.files = "*.in"

[[job]]
name = "lines"
command = "echo {line}{n} >>../eaten"
over.matrix.line = {lines = "lines.txt"}
over.matrix.n = {range = 2}
after = ["eat"]
"""


def run(folder, *words, **more):
    return subprocess.run(
        [*COMMAND, *words], cwd=folder, capture_output=True, text=True, check=False, **more
    )


def journal_of(folder):
    return Journal(folder / ".malleable" / "journal.sqlite", write=False)


@pytest.fixture
def eating(tmp_path):
    """A folder with inputs, and a run there that was killed while it ate them."""
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    for k in range(6):
        (inputs / f"{k}.in").write_text(f"{k}\n")
    (inputs / "lines.txt").write_text("a\nb\n")
    (inputs / "jobs.toml").write_text(JOBS)
    process = subprocess.Popen([*COMMAND, "run", "inputs/jobs.toml", "--slots", "2"], cwd=tmp_path)
    assert until(lambda: len(list(inputs.glob("*.in"))) == 4)
    process.kill()
    process.wait()
    return tmp_path


def test_inputs_and_the_jobs_file_may_go(eating):
    """Tasks remove their inputs; then somebody removes everything else."""
    shutil.rmtree(eating / "inputs")
    (eating / "inputs").mkdir()
    for k in range(6):  # a retry finds its input, as one that had not removed it yet
        (eating / "inputs" / f"{k}.in").write_text(f"{k}\n")
    (eating / "go").touch()
    status = json.loads(run(eating, "status", "--json", "-").stdout)
    assert [(j["done"], j["failed"], j["left"]) for j in status["jobs"]] == [(0, 0, 6), (0, 0, 4)]
    done = run(eating, "run", "--resume", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert [(j["done"], j["tasks"]) for j in json.loads(done.stdout)["jobs"]] == [(6, 6), (4, 4)]
    eaten = (eating / "eaten").read_text().split()
    assert set(eaten) == {*"012345", "a1", "a2", "b1", "b2"}
    shown = json.loads(run(eating, "status", "--json", "-").stdout)
    assert [j["done"] for j in shown["jobs"]] == [6, 4]


def test_tasks_are_what_they_were_though_the_folder_has_others(eating):
    for path in (eating / "inputs").glob("*.in"):
        path.unlink()
    (eating / "inputs" / "99.in").write_text("99\n")
    (eating / "inputs" / "lines.txt").write_text("z\n")
    (eating / "inputs" / "jobs.toml").write_text("no TOML")
    (eating / "go").touch()
    done = run(eating, "run", "--resume", "--json", "-")
    assert done.returncode == 3  # inputs that somebody else removed: failed, not skipped
    assert [(j["done"], j["failed"]) for j in json.loads(done.stdout)["jobs"]] == [(0, 6), (0, 4)]
    for k in range(6):
        (eating / "inputs" / f"{k}.in").write_text(f"{k}\n")
    done = run(eating, "run", "--rerun-failed", "--json", "-")
    assert done.returncode == 0, done.stderr
    eaten = (eating / "eaten").read_text().split()
    assert {*"012345", "a1", "a2", "b1", "b2"} == set(eaten)


def test_jobs_come_back_as_they_were(tmp_path):
    (tmp_path / "lines").write_text("x\nb\n")
    tables = [
        {"name": "none", "command": "a b"},
        {"name": "values", "command": "a {}", "over": ["1", 2, "x\udcffy", ""], "memory": "2G"},
        {"name": "down", "command": "a {}", "over": {"range": [5, -4, -3]}},
        {"name": "empty", "command": "a", "over": []},
        {"name": "no range", "command": "a", "over": {"range": [5, 1]}},
        {"name": "commands", "commands": ["a {#}", "b {#} $x"], "retries": 2},
        {
            "name": "matrix", "command": "a {p} {q.}", "folder": "below", "after": ["down"],
            "over": {"matrix": {"p": {"range": 3}, "q": {"lines": "lines"}}},
            "environment": {"X": "\udcfe"}, "timeout": 3, "deadline": 9, "max_slots": 4,
        },
    ]  # fmt: skip
    jobs = parse_jobs(tables, tmp_path)
    with Journal(tmp_path / "j") as journal:
        number = journal.begin(2, "sum:response", "flex", recorded(jobs, tables))
        back = recalled(journal.jobs(number, content=True))
        assert [row.content for row in journal.jobs(number)] == [None] * len(jobs)
    for before, after in zip(jobs, back, strict=True):
        assert len(before) == len(after)
        for k in range(len(before)):
            assert before.arguments(k) == after.arguments(k)
        for name in ("name", "folder", "memory", "retries", "timeout", "deadline", "max_slots",
                     "after", "environment"):  # fmt: skip
            assert getattr(before, name) == getattr(after, name)


def test_a_million_values_are_small(tmp_path):
    tables = [{"name": "a", "command": "true {}", "over": [f"data/{k}.txt" for k in range(10**6)]}]
    jobs = parse_jobs(tables, tmp_path)
    with Journal(tmp_path / "j") as journal:
        number = journal.begin(2, "sum:response", "flex", recorded(jobs, tables))
        journal.commit()
        (row,) = journal.jobs(number, content=True)
        assert row.tasks == 10**6
        assert recalled([row])[0].values[-1] == "data/999999.txt"
    assert (tmp_path / "j").stat().st_size < 10 * 10**6


def test_a_run_that_was_killed_after_its_last_word(tmp_path):
    """Between "done" and the exit: who resumes hears what came of it."""
    (tmp_path / "jobs.toml").write_text('[[job]]\nname = "a"\ncommand = "true"\nover.range = 3\n')
    script = (
        "import os, signal, sys\n"
        "from malleable.cli import main, run_command\n"
        "run_command._show_outcome = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "main(['run', 'jobs.toml', '--slots', '2'])\n"
    )
    killed = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=False)
    assert killed.returncode == -signal.SIGKILL
    done = run(tmp_path, "run", "--resume", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert "has ended" in done.stderr
    (job,) = json.loads(done.stdout)["jobs"]
    assert (job["tasks"], job["done"], job["failed"], job["cancelled"]) == (3, 3, 0, False)
    assert 0.0 <= job["began"] <= job["ended"] < 1e6  # since the run began
    with journal_of(tmp_path) as journal:
        assert len(list(journal.attempts(1))) == 3


# Views.


def test_a_guard_tells_once_and_lets_interrupts_go():
    told = []
    guard = Guard(told.append)

    def fails():
        raise SystemExit("no paper")

    def interrupted():
        raise KeyboardInterrupt

    assert [guard("the view", fails) for _ in range(3)] == [None] * 3
    assert guard("the view", lambda: 3) == 3
    assert told == ["the view failed, the run goes on: no paper"]
    with pytest.raises(KeyboardInterrupt):
        guard("the view", interrupted)


def test_views_that_fail_end_no_run(tmp_path):
    script = (
        "import sys\n"
        "from malleable.cli import main, run_screen\n"
        "def fails(*_): raise ZeroDivisionError('drawn badly')\n"
        "run_screen.line_text = fails\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    (tmp_path / "jobs.toml").write_text(
        '[[job]]\ncommand = "sleep 0.7; echo {} >>ran"\nover.range = 4\n'
    )
    text, status, _ = shown(
        [sys.executable, "-c", script, "run", "jobs.toml", "--slots", "1"], tmp_path
    )
    assert status == 0, text
    assert text.count("drawn badly") == 1
    assert (tmp_path / "ran").read_text().split() == ["1", "2", "3", "4"]


def test_what_predicts_ends_no_run(tmp_path):
    """The history that a run begins with cannot be read, and the one that it ends with not be learnt."""
    assert run(tmp_path, "run", "--job", "a", "true", input="1\n").returncode == 0
    path = tmp_path / ".malleable" / "journal.sqlite"
    with Journal(path) as journal:
        journal._do("update history set learnt = '{\"format\": 1}'")
    done = run(tmp_path, "run", "--job", "a", "true", input="1\n2\n")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("history of programs failed, the run goes on") == 1
    with Journal(path, write=False) as journal:
        with pytest.raises(ValueError, match="not a mapping with format"):
            journal.history()
        (kept,) = journal._do("select learnt from history").fetchone()
        assert kept == '{"format": 1}'  # another version may know what it is
    told = run(tmp_path, "run", "--dry-run", "--job", "a", "true", input="1\n2\n")
    assert told.returncode == 0
    assert "history" in told.stderr


def test_ends_that_cannot_be_predicted_are_not_told(tmp_path, monkeypatch):
    def fails(*_, **__):
        raise ValueError("math domain error")

    said = []
    rows = [{"name": "a", "command": "x", "over": {"range": 5}}]
    with Journal(tmp_path / "j") as journal:
        jobs = parse_jobs(rows, tmp_path)
        begun = CommandRun.begin(
            journal, jobs, rows, 2, "sum:response", "flex", guard=Guard(said.append)
        )
        monkeypatch.setattr(mb.Scheduler, "expected_ends", fails)
        engine = FakeEngine(2, np.random.default_rng(1), lambda key: 1.0, lambda key: 0)
        loop = begun.loop(engine, SchedulerDecider(2), clock=engine.clock, guard=begun.guard)
        found = run_status(journal)
        while found.jobs[0].done < 3:
            loop.step(0.5)
            found = run_status(journal)
        loop.go()
    assert found.jobs[0].left == 5 - found.jobs[0].done > 0
    assert math.isnan(found.jobs[0].end)
    assert said == ["the prediction of ends failed, the run goes on: math domain error"]
    assert loop.jobs[0].done == 5


# Words.


def test_a_missed_deadline_stays_missed(tmp_path):
    tables = [
        {"name": name, "command": "x", "over": {"range": 2}, "deadline": 5} for name in "abcd"
    ]
    with Journal(tmp_path / "j") as journal:
        number = journal.begin(2, "sum:response", "flex", rows_of(tables, tmp_path))
        took = {0: (1.0, 2.0), 1: (1.0, 7.0), 2: (1.0,), 3: (1.0, 2.0)}
        attempts = [
            Attempt(job, task, 0, int(job == 3 and task == 1), 0.5, seconds)
            for job, all_seconds in took.items()
            for task, seconds in enumerate(all_seconds)
        ]
        journal.record(number, 8.0, attempts, [Decided(0.0, 0, 2, "x")])
        found = run_status(journal)
        assert [job.risk for job in found.jobs] == ["", "missed", "missed", "missed"]
        # Who has ended has ended then, not now.
        assert [(job.end, job.began, job.ended) for job in found.jobs[:2]] == [
            (2.5, 0.5, 2.5), (7.5, 0.5, 7.5),
        ]  # fmt: skip
        table = run_status(journal)
        from malleable.view.live import status_table

        assert "3 deadlines missed" in status_table(table).title


@pytest.mark.parametrize("number", ["99999999999999999999", "-1", "7"])
def test_numbers_of_runs_that_are_none(tmp_path, number):
    assert run(tmp_path, "run", "--job", "a", "true", input="1\n").returncode == 0
    done = run(tmp_path, "status", f"--run={number}")
    assert done.returncode == 1
    assert f"no run {number}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_damaged_journal_is_one_error(tmp_path):
    assert run(tmp_path, "run", "--job", "a", "true", input="1\n").returncode == 0
    path = tmp_path / ".malleable" / "journal.sqlite"
    with Journal(path) as journal:
        journal._do("update job set described = 'x'")
    for words in (["status"], ["run", "--resume"], ["run", "--rerun-failed"], ["logs", "a"]):
        done = run(tmp_path, *words)
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1].startswith(
            "malleable: error: .malleable/journal.sqlite: "
        )
        assert done.stderr.count("error") == 1
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    done = run(tmp_path, "status")
    assert done.returncode == 1
    assert "malformed" in done.stderr


def test_names_that_are_no_text(tmp_path):
    name = os.fsdecode(b"b\xff")
    folder = tmp_path / os.fsdecode(b"f\xff")
    folder.mkdir()
    words = ["run", "--job", name, 'printf %s {} && printf %s "$MALLEABLE_JOB" >&2']
    done = subprocess.run(
        [*COMMAND, *words], cwd=folder, input=b"v\xfe\n", capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    journal = folder / ".malleable" / "journal.sqlite"
    assert output_of(journal, 1, name, 0).read_bytes() == b"v\xfe"
    assert output_of(journal, 1, name, 0, suffix="err").read_bytes() == b"b\xff"
    for words in (["status"], ["status", "--json", "-"], ["run", "--resume"]):
        again = subprocess.run([*COMMAND, *words], cwd=folder, capture_output=True, check=False)
        assert again.returncode == 0, again.stderr


def test_the_reason_of_an_attempt_is_kept(tmp_path):
    (tmp_path / "jobs.toml").write_text('[[job]]\ncommand = ["./none"]\nretries = 1\n')
    assert run(tmp_path, "run", "jobs.toml", "--slots", "1").returncode == 3
    with journal_of(tmp_path) as journal:
        first, second = journal.attempts(1)
    assert (first.attempt, second.attempt, second.how) == (0, 1, "refused")
    assert "No such file" in first.why
    assert first.backup_of is None


def test_two_attempts_of_which_one_is_a_backup_count_once(tmp_path):
    with Journal(tmp_path / "j") as journal:
        rows = rows_of([{"name": "a", "command": "x", "over": {"range": 2}}], tmp_path)
        number = journal.begin(2, "sum:response", "flex", rows)
        journal.record(
            number,
            3.0,
            [
                Attempt(0, 0, 0, 0, 0.0, 2.0),
                Attempt(0, 0, 1, 0, 1.0, 1.5, backup_of=0),
                Attempt(0, 1, 0, 1, 0.0, 1.0),
                Attempt(0, 1, 1, 1, 0.0, 1.0, backup_of=0),
            ],
        )
        (job,) = run_status(journal).jobs
        assert (job.done, job.failed, job.left) == (1, 1, 0)
        first, second = journal.tried(number)
        assert first.good and first.over(5)
        assert second.over(0) and not second.over(1)
