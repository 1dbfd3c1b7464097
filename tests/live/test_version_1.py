"""Journals that version 1 wrote, read and converted: the dumps in ``version_1`` are of its runs."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import malleable as mb
from malleable.live.journal import Journal, JournalError
from malleable.live.status import run_status

COMMAND = [sys.executable, "-m", "malleable"]
DUMPS = Path(__file__).parent / "version_1"
_HEADER = "pragma journal_mode = wal; pragma application_id = 0x6d616c6c; pragma user_version = 1;"


@pytest.fixture
def restored(tmp_path):
    def made(name, path=None):
        path = path or tmp_path / ".malleable" / "journal.sqlite"
        path.parent.mkdir(mode=0o700, exist_ok=True)
        base = sqlite3.connect(path)
        text = (DUMPS / f"{name}.sql").read_text().replace("@FOLDER@", str(tmp_path))
        base.executescript(_HEADER + text)
        base.close()
        return path

    return made


def run(folder, *words):
    return subprocess.run(
        [*COMMAND, *words], cwd=folder, capture_output=True, text=True, check=False
    )


def version(path):
    base = sqlite3.connect(path)
    found = base.execute("pragma user_version").fetchone()[0]
    base.close()
    return found


def test_readers_leave_the_file_as_it_is(restored):
    path = restored("commands")
    before = path.read_bytes()
    with Journal(path, write=False) as journal:
        first, second = run_status(journal, 1), run_status(journal)
    assert path.read_bytes() == before
    assert [(job.name, job.done, job.failed) for job in first.jobs] == [
        ("squares", 6, 0), ("fails", 0, 2), ("never", 0, 1),
    ]  # fmt: skip
    assert first.status == "done"
    assert first.jobs[0].user == "ann"
    # Of jobs over files and lines what was tried is known, and nothing else.
    assert second.status == "killed"
    told = [(job.name, job.done, job.left, job.why) for job in second.jobs]
    assert told == [
        ("consume", 4, 0, "tasks were not recorded"),
        ("matrix", 0, 0, "tasks were not recorded"),
        ("list", 2, 0, ""),
    ]


def test_what_was_recorded_is_kept_and_learnt_anew(restored):
    path = restored("commands")
    Journal(path).close()
    assert version(path) == 4
    with Journal(path, write=False) as journal:
        assert len(list(journal.attempts(1))) == 10
        assert [each.job for each in journal.decisions(1)] == [1, 0]
        runs = {(p["program"], p["user"]): p["map"] for p in journal.history()["programs"]}
        assert {name: own[0] for name, own in runs.items()} == {
            ("expr", "ann"): 1.0, ("consume", ""): 1.0, ("list", ""): 1.0,
        }  # fmt: skip
        assert runs["consume", ""][1] == pytest.approx(-1.11, abs=0.05)  # log 0.33
        after = mb.Scheduler(mb.Cluster([{"slots": 1}]), history=journal.history())
        assert after.history == journal.history()


def test_a_run_whose_tasks_were_not_recorded_cannot_go_on(restored, tmp_path):
    path = restored("commands")
    (tmp_path / "in").mkdir()
    for name in ("7.in", "8.in"):
        (tmp_path / "in" / name).touch()
    for words in (["--resume"], ["--rerun-failed"]):
        done = run(tmp_path, "run", *words)
        assert done.returncode == 1
        (said,) = done.stderr.splitlines()
        assert "run 2: job 'consume': an older version began this run" in said
        assert "over.files" in said
    assert not (tmp_path / "eaten").exists()
    with Journal(path, write=False) as journal:
        assert journal.run().status == "running"


def test_a_killed_run_that_needs_nothing_else_goes_on(restored, tmp_path):
    restored("killed")
    done = run(tmp_path, "run", "--resume", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert [(j["done"], j["failed"]) for j in json.loads(done.stdout)["jobs"]] == [
        (8, 0), (4, 0), (2, 0),
    ]  # fmt: skip
    ran = (tmp_path / "ran").read_text().splitlines()
    assert sorted(ran) == sorted(["9", "11", "13", "15", "x-1", "x-2", "y z-1", "y z-2"])


def test_a_pool_goes_on_from_its_calls(restored, tmp_path):
    path = restored("calls", tmp_path / "calls.sqlite")
    with mb.Executor(2, journal=path, resume=True) as pool:
        job = pool.job("squares", weight=2, user="ann")
        found = [future.result() for future in job.map(pow, range(5), [2] * 5)]
    assert found == [0, 1, 4, 9, 16]
    with Journal(path, write=False) as journal:
        assert journal.run().id == 1
        assert len(list(journal.attempts(1))) == 6  # no call was made again


def test_governed_arrays(restored):
    with Journal(restored("arrays"), write=False) as journal:
        assert journal.run().kind == "arrays"
        assert [(job.name, job.done) for job in run_status(journal).jobs] == [
            ("1 first", 6), ("2 second", 5),
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ("update run set jobs = '[1'", "jobs: not JSON"),
        ("update run set jobs = '{}'", "expected a list"),
        ('update run set jobs = \'[{"calls": "x"}]\'', "table run of version 1, id 1"),
        ('update run set jobs = \'[{"command": "x {y}"}]\'', "names no value"),
        ("drop table decision", "no such table"),
    ],
)
def test_what_no_version_1_wrote_is_named_and_left(restored, edit, said):
    path = restored("killed")
    base = sqlite3.connect(path)
    base.execute(edit)
    base.commit()
    base.close()
    for write in (False, True):
        with pytest.raises(JournalError, match=said):
            Journal(path, write=write)
    assert version(path) == 1
