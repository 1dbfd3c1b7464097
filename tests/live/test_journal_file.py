"""The journal: one writer, what is recorded is kept, and other files are refused."""

import os
import sqlite3
import stat

import pytest

from malleable.live.journal import Attempt, Decided, JobRow, Journal, JournalError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "journal.sqlite"


def begun(journal):
    return journal.begin(4, "sum:response", "flex", [JobRow({"name": "a"}, 3)])


def test_what_is_recorded_is_kept(path):
    with Journal(path) as journal:
        run = begun(journal)
        assert journal.enter(run) == 0.0
        attempts = [Attempt(0, 1, 0, 0, 0.5, 1.0), Attempt(0, 0, 0, 1, 0.25, 2.0, how="late")]
        journal.record(run, 3.0, attempts, [Decided(0.0, 0, 4, "its share", 2.0, 9.0)])
        journal.record(run, 4.0, [Attempt(0, 1, 0, 7, 9.0, 9.0)])  # told twice: the first stands
        journal.commit()
        journal.record(run, 5.0, [Attempt(0, 2, 0, 0, 0.5, 1.0)])
    with Journal(path) as journal:
        assert list(journal.attempts(run)) == [
            attempts[1], attempts[0], Attempt(0, 2, 0, 0, 0.5, 1.0),
        ]  # fmt: skip
        assert list(journal.decisions(run)) == [Decided(0.0, 0, 4, "its share", 2.0, 9.0)]
        assert journal.enter(run) == 5.0
        assert journal.run().id == run


def test_files_are_the_users_alone(path):
    with Journal(path) as journal:
        begun(journal)
        journal.commit()
        modes = {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == {0o600}


def test_one_process_writes(path):
    with Journal(path) as journal:
        run = begun(journal)
        journal.commit()
        with pytest.raises(JournalError, match=f"another run writes to it .process {os.getpid()}"):
            Journal(path)
        with Journal(path, write=False) as reader:
            assert reader.run(run).slots == 4
    Journal(path).close()


def test_what_is_no_journal(path, tmp_path):
    with pytest.raises(JournalError, match="no journal there"):
        Journal(path, write=False)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as base:
        base.execute("create table t (x)")
    base.close()
    text = tmp_path / "text"
    text.write_text("x" * 5000)
    for file, message in ((other, "not a journal of runs"), (text, "not a database")):
        before = file.read_bytes()
        with pytest.raises(JournalError, match=message):
            Journal(file)
        assert file.read_bytes() == before


def test_another_version(path):
    Journal(path).close()
    with sqlite3.connect(path) as base:
        base.execute("pragma user_version = 99")
    base.close()
    with pytest.raises(JournalError, match="of version 99"):
        Journal(path)


def test_no_run(path):
    with Journal(path) as journal:
        with pytest.raises(JournalError, match="no run in this journal"):
            journal.run()
        with pytest.raises(JournalError, match="no run 7"):
            journal.run(7)
