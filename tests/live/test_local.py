"""Commands as processes: how they end, and that nothing of them stays."""

import errno
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from malleable.live.engines.process import supervisor
from malleable.live.engines.process.child import SHORT
from malleable.live.engines.process.local import Local
from malleable.live.protocol import Task
from tests.live.waiting import PATIENCE, gone, pids_in, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@contextmanager
def engine(slots=4):
    made = Local(slots)
    try:
        yield made
    finally:
        made.close(0.0)


def ends(made, count):
    """So many events that are no starts, by key."""
    found, end = {}, time.monotonic() + PATIENCE
    while len(found) < count:
        assert time.monotonic() < end, found
        found |= {event.key: event for event in made.poll(0.2)}
    return found


def sh(key, text, *arguments, **more):
    return Task(key, ["/bin/sh", "-c", text, "sh", *arguments], **more)


def test_how_commands_end(tmp_path):
    out, both = str(tmp_path / "out"), str(tmp_path / "both")
    with engine() as made:
        made.start(
            [
                sh(
                    "ok", "echo $X; pwd", output=out, environment={"X": "a b"}, folder=str(tmp_path)
                ),
                sh("seven", "echo o; echo e >&2; exit 7", output=both, errors=both),
                sh("signal", "kill -9 $$"),
                Task("none", ["/no/such/program"]),
                Task("folder", ["true"], folder="/no/such/folder"),
                sh("late", "sleep 60", seconds=0.1),
            ]
        )
        found = ends(made, 6)
    assert {key: event.status for key, event in found.items() if event.kind == "ended"} == {
        "ok": 0, "seven": 7, "signal": -9, "late": -15,
    }  # fmt: skip
    assert found["late"].late
    assert not found["ok"].late
    assert found["none"].kind == found["folder"].kind == "refused"
    assert "No such file" in found["none"].text
    assert Path(out).read_text() == f"a b\n{tmp_path}\n"
    assert Path(both).read_text() == "o\ne\n"
    assert Path(out).stat().st_mode & 0o777 == 0o600


def test_a_command_that_does_not_want_to_end(tmp_path):
    with engine() as made:
        made.start([sh("stubborn", "trap '' TERM; echo $$ >pid; sleep 60 & wait; sleep 60",
                       folder=str(tmp_path))])  # fmt: skip
        (pid,) = pids_in(tmp_path / "pid")
        began = time.monotonic()
        assert made.close(0.2) == 0
        assert time.monotonic() - began < PATIENCE
        until(lambda: gone(pid))


WRITTEN = "until [ -s pid ]; do sleep 0.01; done; "
DAEMON = "setsid sh -c 'echo $$ >pid; exec sleep 60' >/dev/null 2>&1 & " + WRITTEN


def test_what_a_command_leaves_behind_is_killed(tmp_path):
    with engine() as made:
        made.start([sh("parent", DAEMON, folder=str(tmp_path))])
        (pid,) = pids_in(tmp_path / "pid")
        assert ends(made, 1)["parent"].status == 0
        until(lambda: gone(pid))


BARE = "(env -i setsid sh -c 'echo $$ >pid; exec sleep 60' >/dev/null 2>&1 &) ; " + WRITTEN


LEFT = (
    "(env -i setsid sh -c 'sh -c \"echo \\$\\$ >pid; exec sleep 60\" &' >/dev/null 2>&1 &) ; "
    + WRITTEN
)


@pytest.mark.parametrize(
    "daemon", [BARE, LEFT], ids=["leads its session", "its session's leader is gone"]
)
def test_the_end_of_a_command_leaves_daemons_of_others_alone(tmp_path, daemon):
    """Such without our environment, too; and these end when their own command does."""
    os.mkfifo(tmp_path / "fifo")
    with engine() as made:
        made.start([sh("long", daemon + "cat fifo", folder=str(tmp_path))])
        (pid,) = pids_in(tmp_path / "pid")
        for k in range(20):
            made.start([sh(f"short{k}", "(exit 0); exit 0")])
        ends(made, 20)
        time.sleep(0.1)
        assert not gone(pid)
        (tmp_path / "fifo").write_text("")
        assert ends(made, 1)["long"].status == 0
        until(lambda: gone(pid))


def test_daemons_of_unknown_commands_end_with_the_last_command(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with engine() as made:
        made.start([sh("old", "cat fifo", folder=str(tmp_path))])
        time.sleep(0.1)
        made.start([sh("parent", BARE, folder=str(tmp_path))])
        (pid,) = pids_in(tmp_path / "pid")
        assert ends(made, 1)["parent"].status == 0
        time.sleep(0.1)
        assert not gone(pid)
        (tmp_path / "fifo").write_text("")
        assert ends(made, 1)["old"].status == 0
        until(lambda: gone(pid))


def test_what_is_left_in_the_session_of_a_command_ends_with_it(tmp_path):
    """Whatever became of its environment and its group, and whoever else runs."""
    group = (
        "import os; os.setpgid(0, 0); open('pid', 'w').write(f'{os.getpid()}\\n');"
        " os.execlp('sleep', 'sleep', '60')"
    )
    os.mkfifo(tmp_path / "fifo")
    with engine() as made:
        made.start([sh("old", "sleep 60")])
        text = f'env -i {sys.executable} -c "{group}" & cat fifo'
        made.start([sh("a", text, folder=str(tmp_path))])
        (pid,) = pids_in(tmp_path / "pid")
        assert not gone(pid)
        (tmp_path / "fifo").write_text("")
        assert ends(made, 1)["a"].status == 0
        until(lambda: gone(pid))


def test_daemons_of_daemons_end(tmp_path):
    text = (
        "setsid sh -c '(setsid sh -c \"echo \\$\\$ >pid; exec sleep 60\" &) ; exec sleep 60' & "
        + WRITTEN
    )
    with engine() as made:
        made.start([sh("old", "sleep 60"), sh("parent", text, folder=str(tmp_path))])
        (pid,) = pids_in(tmp_path / "pid")
        assert ends(made, 1)["parent"].status == 0
        until(lambda: gone(pid))


def test_nothing_survives_the_engine(tmp_path):
    with engine() as made:
        made.start([sh("parent", DAEMON + "sleep 60", folder=str(tmp_path))])
        (pid,) = pids_in(tmp_path / "pid")
    until(lambda: gone(pid))


def test_a_close_that_was_interrupted():
    """As by a second Ctrl-C: what the supervisor said of its end is heard by the next poll."""
    with engine(1) as made:
        made.start([sh("a", "sleep 600")])
        made._send([("stop", 60.0)])  # as `close` does, whose wait for the answer is cut short
        assert [event for event in made.poll(PATIENCE) if event.key != "a"] == []
    assert gone(made._process.pid)


def test_cancelled():
    with engine() as made:
        made.start([sh("a", "sleep 60"), sh("b", "exit 0")])
        made.cancel(["a", "b", "never"])
        found = ends(made, 2)
    assert found["a"].status == -15


def test_a_killed_supervisor_is_replaced_and_its_tasks_are_lost(tmp_path):
    with engine() as made:
        made.start([sh("a", "echo $$ >pid; sleep 60", folder=str(tmp_path))])
        (pid,) = pids_in(tmp_path / "pid")
        time.sleep(0.1)
        made.poll(0.5)
        os.kill(made._process.pid, signal.SIGKILL)
        assert ends(made, 1)["a"].kind == "lost"
        until(lambda: gone(pid))
        made.start([sh("b", "exit 3")])
        assert ends(made, 1)["b"].status == 3


# Files of output are new.


def test_output_goes_to_new_files(tmp_path):
    (tmp_path / "old").write_text("precious")
    with engine() as made:
        made.start(
            [
                sh("old", "echo x", output=str(tmp_path / "old")),
                sh("other", "echo x", output=str(tmp_path / "new"), errors=str(tmp_path / "old")),
                Task("none", ["/no/such/program"], output=str(tmp_path / "never")),
            ]
        )
        found = ends(made, 3)
    assert {key: event.kind for key, event in found.items()} == dict.fromkeys(found, "refused")
    assert found["old"].text == f"{tmp_path}/old: File exists"
    assert {path.name for path in tmp_path.iterdir()} == {"old"}
    assert (tmp_path / "old").read_text() == "precious"


# A machine without room.


@pytest.fixture
def own_supervisor():
    """What a supervisor says, in this process."""
    loop, other = socket.socketpair()
    with loop, other:
        yield supervisor.Supervisor(loop, 4, "token")


@pytest.mark.parametrize("why", sorted(SHORT))
def test_errors_of_a_machine_without_room_are_no_failures(own_supervisor, monkeypatch, why):
    assert {
        errno.EAGAIN,
        errno.ENOMEM,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOSPC,
        errno.EDQUOT,
    } == SHORT

    def refuses(*command):
        raise OSError(why, os.strerror(why), "true")

    monkeypatch.setattr(supervisor, "spawn", refuses)
    own_supervisor.obey(("start", "a", ["true"], {}, "", "", "", "", 0.0))
    assert own_supervisor.said == [("returned", "a", os.strerror(why))]


def test_fewer_run_while_there_is_no_room(tmp_path):
    ends_when_told = "until [ -e go ]; do sleep 0.01; done"
    with engine(3) as made:
        made.start([sh("long", f"touch up; {ends_when_told}", folder=str(tmp_path))])
        until((tmp_path / "up").exists)
        own = made._process.pid
        most = resource.prlimit(own, resource.RLIMIT_NOFILE)
        resource.prlimit(own, resource.RLIMIT_NOFILE, (3, most[1]))
        made.start([sh("a", "exit 0"), sh("b", "exit 0")])
        found = ends(made, 2)
        told = {(event.kind, event.text) for event in found.values()}
        assert told == {("returned", os.strerror(errno.EMFILE))}
        assert made.slots == 1
        resource.prlimit(own, resource.RLIMIT_NOFILE, most)
        until(lambda: made.poll(0.1) or made.slots == 3)
        made.start([sh("a", "exit 0"), sh("b", "exit 0")])
        assert {event.kind for event in ends(made, 2).values()} == {"ended"}
        (tmp_path / "go").touch()
        assert ends(made, 1)["long"].status == 0


# Folders that disappear.


@pytest.mark.parametrize("which", ["folder", "output"])
def test_a_folder_that_disappears_is_named(tmp_path, which):
    folder = tmp_path / which
    where = {"folder": str(folder)} if which == "folder" else {"output": str(folder / "a")}
    folder.mkdir()
    with engine() as made:
        made.start([sh("a", "exit 0", **where)])
        assert ends(made, 1)["a"].status == 0
        for path in (*folder.iterdir(), folder):
            path.unlink() if path.is_file() else path.rmdir()
        made.start([sh("b", "exit 0", **where)])
        with pytest.raises(FileNotFoundError) as told:
            ends(made, 1)
    assert told.value.filename == str(folder)


# A supervisor that does not listen.


@pytest.fixture
def stubborn(tmp_path):
    """A command of a supervisor that is stopped, which says when it has had SIGTERM."""
    text = "trap 'echo x >told' TERM; echo $$ >pid; while :; do sleep 0.02; done"
    with engine() as made:
        made.start([sh("a", text, folder=str(tmp_path))])
        (pid,) = pids_in(tmp_path / "pid")
        os.kill(made._process.pid, signal.SIGSTOP)
        yield made, pid


def test_a_stopped_supervisor_ends_commands_all_the_same(stubborn, tmp_path):
    made, pid = stubborn
    assert made.close(0.3) == 0
    assert (tmp_path / "told").exists()
    until(lambda: gone(pid))


@pytest.mark.parametrize("grace", [0.0, 0.3])
def test_a_supervisor_that_is_held(stubborn, tmp_path, monkeypatch, grace):
    """As by a debugger: it cannot be woken."""
    made, pid = stubborn
    send = subprocess.Popen.send_signal
    other = lambda process, number: number == signal.SIGCONT or send(process, number)  # noqa: E731
    monkeypatch.setattr(subprocess.Popen, "send_signal", other)
    assert made.close(grace) == 0
    assert (tmp_path / "told").exists() == (grace > 0.0)
    until(lambda: gone(pid))


def test_more_than_a_stopped_supervisor_takes_does_not_hold_the_loop(tmp_path):
    with engine(2) as made:
        os.kill(made._process.pid, signal.SIGSTOP)
        large = {"X": "x" * 100_000}
        made.start([sh(str(k), "exit 0", environment=large) for k in range(50)])
        assert made.poll(0.0) == []
        os.kill(made._process.pid, signal.SIGCONT)
        assert {event.status for event in ends(made, 50).values()} == {0}
