"""Jobs of a run are paused, resumed, cancelled and set from another terminal, by the run's owner alone."""

import contextlib
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time

import pytest

from malleable.cli import main
from malleable.live.control import Control, order, orders_folder
from malleable.live.journal import Journal
from malleable.live.status import run_status
from tests.full import in_full
from tests.live.screen import MALLEABLE, terminal
from tests.live.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
JOBS = """
[[job]]
name = "a"
command = "sleep 0.1 # {}"
over.range = 4000
min_slots = 2

[[job]]
name = "b"
command = "sleep 0.1 # {}"
over.range = 4000

[[job]]
name = "c"
command = "true"
after = ["b"]
"""


@pytest.fixture
def going(tmp_path, monkeypatch):
    """A run on three slots; what looks at it, by job."""
    (tmp_path / "jobs.toml").write_text(JOBS)
    monkeypatch.chdir(tmp_path)
    process = subprocess.Popen(
        [*MALLEABLE, "run", "jobs.toml", "-q", "-j", "3"], cwd=tmp_path, stdout=subprocess.DEVNULL
    )

    def jobs():
        with Journal(tmp_path / ".malleable/journal.sqlite", write=False) as journal:
            return {job.name: job for job in run_status(journal).jobs}

    path = tmp_path / ".malleable" / "journal.sqlite"
    until(lambda: orders_folder(path).exists() and any(job.done for job in jobs().values()))
    yield process, jobs, path
    process.kill()
    process.wait()


@pytest.mark.parametrize("columns", [140, pytest.param(80, marks=in_full)])
def test_from_another_terminal(tmp_path, going, columns, capsys):
    process, jobs, _ = going

    def tell(*words):
        capsys.readouterr()
        status = main([*words])
        return status, " ".join("".join(capsys.readouterr()).split())

    with terminal(tmp_path, "pause", "a", columns=columns) as on:
        assert on.end() == 0 and on.screen.text().startswith("a is paused")
    until(lambda: jobs()["a"].running == 0)
    before = jobs()["a"].done
    until(lambda: jobs()["b"].running == 3)  # a's guaranteed slots are not kept free
    assert jobs()["a"].done == before and jobs()["a"].why == "paused"
    with terminal(tmp_path, "status", columns=columns) as on:
        assert on.end() == 0 and any(
            line.split()[:2] == ["a", "paused"] for line in on.screen.lines()
        )
    assert tell("set", "a", "weight=3", "max_slots=1", "min_slots=0") == (
        0, "a: weight = 3, max_slots = 1, min_slots = 0",
    )  # fmt: skip
    assert tell("resume", "a") == (0, "a goes on")
    until(lambda: jobs()["a"].done > before)
    assert all(jobs()["a"].running <= 1 for _ in range(3))
    assert tell("cancel", "b") == (0, "b is cancelled")
    found = until(lambda: jobs()["b"].running == 0 and jobs())
    assert found["b"].left == 0 and found["b"].ways["cancelled"] > 3000
    assert found["c"].ways["skipped"] == 1
    status, said = tell("cancel", "bb")
    assert status == 1 and "did you mean 'b'" in said
    assert "has ended" in tell("pause", "b")[1]
    assert "weigth: unknown; did you mean 'weight'" in tell("set", "a", "weigth=3")[1]
    assert "above the 3 slots" in tell("set", "a", "min_slots=9", "max_slots=none")[1]
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130


def test_a_run_that_goes_on_keeps_to_it(going, capsys):
    process, jobs, path = going
    assert main(["pause", "a"]) == main(["set", "b", "deadline=2h"]) == main(["cancel", "b"]) == 0
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    assert not orders_folder(path).exists()
    done = jobs()["a"].done, jobs()["b"].done
    assert jobs()["b"].deadline == 7200.0
    capsys.readouterr()
    assert main(["resume", "a"]) == 1
    assert "no run of this journal is going on" in capsys.readouterr().err
    again = subprocess.Popen([*MALLEABLE, "run", "--resume", "-q"], stdout=subprocess.DEVNULL)
    try:
        until(lambda: orders_folder(path).exists())
        time.sleep(1.0)
        found = jobs()
        assert (found["a"].done, found["b"].done) == done
        assert (found["a"].why, found["a"].running) == ("paused", 0)
        assert main(["cancel", "a"]) == 0
        assert again.wait(30) == 3
    finally:
        again.kill()
        again.wait()
    assert main(["status", "--failed"]) == 0
    assert re.search(r"cancelled: a, [\d,]+ tasks: never started", capsys.readouterr().out)


@contextlib.contextmanager
def listening(tmp_path):
    heard = []
    control = Control(tmp_path / "journal", lambda it: heard.append(dict(it)) or "done so")
    try:
        yield control, heard, orders_folder(tmp_path / "journal")
    finally:
        control.close()


def as_nobody(call, meanwhile):
    """What a call gives as another user: text, or the name of its error."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            os.write(theirs, repr(call()).encode())
        except BaseException as error:
            os.write(theirs, type(error).__name__.encode())
        finally:
            os._exit(0)
    os.close(theirs)
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        meanwhile()
        time.sleep(0.01)
    with os.fdopen(ours, "rb") as file:
        return file.read().decode()


def test_only_the_owner(tmp_path):
    with listening(tmp_path) as (control, heard, folder):
        assert stat.S_IMODE(folder.lstat().st_mode) == 0o700
        if os.geteuid() != 0:
            pytest.skip("to be another user takes root")

        def ask():
            return (folder / "1.order").write_text('{"do": "cancel"}')

        for above in (tmp_path, *tmp_path.parents[:3]):
            above.chmod(0o755)
        assert as_nobody(ask, control.serve) == "PermissionError"
        assert heard == []
        os.chown(folder, 65534, 65534)
        with pytest.raises(ValueError, match="belongs to user 65534"):
            order(tmp_path / "journal", {})


def test_each_order_has_an_answer(tmp_path):
    with listening(tmp_path) as (control, heard, folder):
        for k, wrong in enumerate((b"{", b"\xff", b"[]", b"null")):
            (folder / f"{k}.order").write_bytes(wrong)
        (folder / "5.order").write_bytes(b'{"do": "x"}')
        (folder / "6.new").write_bytes(b'{"do": "y')  # somebody is at it
        control.serve()
        answers = [json.loads(path.read_text()) for path in sorted(folder.glob("*.answer"))]
        assert [list(each) for each in answers] == [["error"]] * 4 + [["done"]]
        assert heard == [{"do": "x"}]
        assert len(answers) == 5
        for path in folder.iterdir():
            path.unlink()
    assert not folder.exists()


def test_what_a_killed_run_left_is_replaced_and_nothing_else(tmp_path):
    folder = orders_folder(tmp_path / "journal")
    with Journal(tmp_path / "journal"):
        folder.mkdir()
        (folder / "1.order").write_text('{"do": "x"}')
    with pytest.raises(ValueError, match="no run of this journal is going on"):
        order(tmp_path / "journal", {"do": "x"})
    with listening(tmp_path) as (control, heard, _):
        control.serve()
        assert heard == []
    folder.write_text("mine")
    with pytest.raises(ValueError, match="is no folder"):
        Control(tmp_path / "journal", lambda it: "")
    assert folder.read_text() == "mine"


def test_more_work_and_other_slots(going, capfd, tmp_path):
    process, jobs, _ = going
    (tmp_path / "more.txt").write_text("echo $MALLEABLE_SLOT >> slots\n" * 3)
    assert main(["add", "more.txt", "--weight", "1e9"]) == 0
    assert main(["add", "more.txt", "--weight", "1e9"]) == 0
    assert main(["add", "touch {}", "--job", "late", "--each", "x y", "--weight", "1e9"]) == 0
    said = capfd.readouterr().out
    assert "added to run 1: more (3 tasks)" in said and "more-2 (3 tasks)" in said
    until(lambda: jobs()["late"].left == jobs()["more-2"].left == 0)
    assert (tmp_path / "x y").exists() and jobs()["more"].done == 3
    assert main(["set", "--slots", "5"]) == 0 and "5 slots" in capfd.readouterr().out
    until(lambda: sum(job.running for job in jobs().values()) == 5)
    assert main(["set", "--slots", "1"]) == 1
    assert "min_slots = 2: above the 1 slots" in capfd.readouterr().err
    assert main(["set", "--slots", "3"]) == 0
    until(lambda: sum(job.running for job in jobs().values()) == 3)
    assert main(["add", "nothing {x}", "--each", "a"]) == 1
    (tmp_path / "c.toml").write_text(
        '[[job]]\nname = "d"\ncommand = "true"\nafter = ["more"]\nweight = 1e9\n'
    )
    assert main(["add", "c.toml"]) == 0
    until(lambda: jobs()["d"].done == 1)
    assert main(["run", "more.txt"]) == 1
    assert "another run writes to it" in (told := capfd.readouterr().err) and "--journal" in told
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    again = subprocess.Popen(
        [*MALLEABLE, "run", "--resume", "-q", "-j", "4"], stdout=subprocess.DEVNULL
    )
    try:
        until(lambda: sum(job.running for job in jobs().values()) == 4)
        assert (jobs()["d"].done, jobs()["late"].done) == (1, 1)
    finally:
        again.kill()
        again.wait()
