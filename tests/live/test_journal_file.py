"""The journal: one writer, what is recorded is kept, and other files are refused."""

import os
import random
import resource
import signal
import sqlite3
import stat
import sys
import time
from itertools import count

import pytest

from malleable.live import journal_file
from malleable.live.journal import Attempt, Decided, JobRow, Journal, JournalError
from tests.full import FULL


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


# The birth of a journal: it is there whole, or not at all.


def forked(what):
    """How a child ends that does this."""
    child = os.fork()
    if child == 0:
        try:
            what()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def begins(path):
    with Journal(path) as journal:
        begun(journal)
        journal.commit()


def check_born(path):
    """What a run left that was killed does not keep the next one away."""
    if path.exists():
        with sqlite3.connect(path) as base:
            assert base.execute("select count(*) from run").fetchone()[0] in (0, 1)
        base.close()
    begins(path)
    kept = {each.name for each in path.parent.iterdir()}
    assert kept == {path.name, path.name + ".lock"}


@pytest.mark.parametrize("size", range(0, 40 * 2048, 2048))
@pytest.mark.parametrize("action", [signal.SIG_DFL, signal.SIG_IGN])
def test_killed_or_without_room_at_a_write(path, size, action):
    def limited():
        signal.signal(signal.SIGXFSZ, action)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        begins(path)

    if size:
        assert forked(limited) in (0, 1 if action is signal.SIG_IGN else -signal.SIGXFSZ)
    check_born(path)


def test_killed_at_every_line(tmp_path):
    """Of the module, and there is a system call in each that matters; every fourth one outside `make full`."""
    step = 1 if FULL else 4

    def killed_at(line):
        steps = count()

        def trace(frame, event, _):
            if frame.f_code.co_filename != journal_file.__file__:
                return None
            if event == "line" and next(steps) == line:
                os.kill(os.getpid(), signal.SIGKILL)
            return trace

        sys.settrace(trace)
        begins(tmp_path / str(line) / "j")

    ends = []
    while not ends or ends[-1]:
        ends.append(forked(lambda: killed_at(step * len(ends))))
        check_born(tmp_path / str(len(ends) - 1) / "j")
    assert len(ends) > 30 // step
    assert set(ends[:-1]) == {-signal.SIGKILL}


@pytest.mark.parametrize("seed", range(200 if FULL else 10))
def test_killed_at_random(tmp_path, seed):
    told, tells = os.pipe()
    child = os.fork()
    if child == 0:
        for k in count():
            begins(tmp_path / str(k) / "j")
            os.write(tells, b"x")
    os.read(told, 1)
    time.sleep(random.Random(seed).uniform(0.0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    for pipe in (told, tells):
        os.close(pipe)
    for folder in tmp_path.iterdir():
        check_born(folder / "j")


def test_a_file_system_without_links(path, monkeypatch):
    def refused(*names):
        raise PermissionError

    monkeypatch.setattr(os, "link", refused)
    check_born(path)


def test_a_file_that_comes_meanwhile_is_left_alone(path, monkeypatch):
    link = os.link

    def comes(source, target):
        path.write_text("precious")
        link(source, target)

    monkeypatch.setattr(os, "link", comes)
    with pytest.raises(FileExistsError):
        begins(path)
    assert path.read_text() == "precious"


def test_an_empty_file_becomes_a_journal(path):
    path.parent.mkdir()
    path.touch()
    begins(path)
    check_born(path)
