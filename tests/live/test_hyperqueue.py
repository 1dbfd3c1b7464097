"""Commands and calls on a real HyperQueue server, and what happens when it or its tasks are killed."""

import json
import os
import signal
import socket
import threading
import time
from concurrent import futures
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

import malleable as mb
from malleable.cli import main
from malleable.live.decider import SchedulerDecider
from malleable.live.engines.process import pilot
from malleable.live.engines.remote import Packing
from malleable.live.ledger import JobState
from malleable.live.loop import Loop
from malleable.live.protocol import Task
from tests.live import calls_to_make as calls
from tests.live.outputs import output_of
from tests.live.waiting import PATIENCE, gone, pids_in, until

hyperqueue = pytest.importorskip("hyperqueue", reason="needs malleable[hyperqueue]")

# Of servers that tests start, all but one.
pytestmark = pytest.mark.filterwarnings(
    "ignore:the HyperQueue server that is started here:RuntimeWarning"
)


@pytest.fixture(scope="module")
def server():
    """Folder of a server with four cores that several engines use."""
    with pytest.warns(RuntimeWarning, match="asks for no password"):
        engine = mb.engines.HyperQueue(4)
    yield engine.server
    engine.close()


@pytest.fixture
def engine(server):
    made = mb.engines.HyperQueue(4, server, host="127.0.0.1")
    yield made
    made.close(0.0)


@pytest.fixture
def pool(engine):
    with mb.Executor(engine=engine) as made:
        yield made


def test_calls_futures_and_errors(pool, tmp_path):
    assert repr(pool) == "Executor(4 slots, HyperQueue, auto, sum:response)"
    assert pool.submit(pow, 2, 8).result(PATIENCE) == 256
    assert list(pool.map(pow, range(2000), [2] * 2000)) == [n * n for n in range(2000)]
    bad = pool.submit(calls.divide, 1, 0)
    assert isinstance(bad.exception(PATIENCE), ZeroDivisionError)
    assert "in divide" in str(bad.exception().__cause__)
    base = 5
    assert pool.submit(lambda value: value + base, 3).result(PATIENCE) == 8
    quick, late = pool.submit(calls.same, 1), pool.submit(calls.wait_for, tmp_path / "go")
    completed = futures.as_completed([late, quick], PATIENCE)
    assert next(completed) is quick
    (tmp_path / "go").touch()
    assert list(completed) == [late]


def test_calls_behind_one_that_takes_longer_go_elsewhere(pool, tmp_path):
    job = pool.job("mixed")
    assert len([each.result(PATIENCE) for each in job.map(calls.same, range(1000))]) == 1000
    long = job.submit(calls.wait_for, tmp_path / "go")
    many = job.map(calls.same, range(400))
    assert [each.result(PATIENCE) for each in many] == list(range(400))
    assert not long.done()
    (tmp_path / "go").touch()
    assert long.result(PATIENCE) == 0


def test_a_call_that_kills_its_process_fails_alone(pool):
    job = pool.job("deadly")
    many = job.map(calls.slow, range(8), [0.1] * 8)
    deadly = job.submit(calls.die, "kill")
    again = pool.job("again", retries=1).submit(calls.die, "exit")
    assert isinstance(deadly.exception(PATIENCE), futures.BrokenExecutor)
    assert "ended before the call did" in str(again.exception(PATIENCE))
    assert [each.result(PATIENCE) for each in many] == list(range(8))


def test_what_cannot_be_pickled_is_named(pool):
    with pytest.raises(Exception, match="call of pow .number 0 of job 'locks'. cannot be pickled"):
        pool.job("locks").submit(pow, threading.Lock()).result(PATIENCE)


def heard(engine, count):
    """So many events, by key."""
    found, end = {}, time.monotonic() + PATIENCE
    while len(found) < count:
        assert time.monotonic() < end
        found |= {event.key: event for event in engine.poll(1.0)}
    return found


def test_commands(engine, tmp_path):
    script = 'echo $PLACE; echo bad >&2; echo "${MALLEABLE_SECRET-none}"'
    streams = [str(tmp_path / name) for name in ("out", "err")]
    engine.start(
        [
            Task(
                "good", ["sh", "-c", script], {"PLACE": "here"}, str(tmp_path), *streams, bundle=1
            ),
            Task("bad", ["sh", "-c", "exit 3"], bundle=2),
            Task("late", ["sleep", "60"], seconds=0.3, bundle=3),
            Task("none", ["/no/such/command"], bundle=4),
            Task("nowhere", ["true"], folder="/no/such/folder", bundle=5),
        ]
    )
    found = heard(engine, 5)
    assert (found["good"].status, found["bad"].status) == (0, 3)
    assert found["late"].late
    assert (found["late"].kind, found["late"].status) == ("ended", -signal.SIGTERM)
    assert found["late"].seconds == pytest.approx(0.3, abs=2.0)
    assert found["none"].kind == found["nowhere"].kind == "refused"
    assert "No such file" in found["none"].text
    assert (tmp_path / "out").read_text() == "here\nnone\n"
    assert (tmp_path / "err").read_text() == "bad\n"
    assert found["good"].memory > 0


def test_short_commands_go_together(engine, tmp_path):
    """As many as a process runs in no time; one that takes longer holds none up."""
    loop = Loop(engine, SchedulerDecider(4))
    wait = f"[ $0 != 150 ] || until [ -e {tmp_path}/go ]; do sleep 0.05; done"
    row = loop.add(JobState("a", 400, lambda number, _: Task("", ["sh", "-c", wait, str(number)])))
    work = loop.jobs[row]
    until(lambda: loop.step(0.2) or work.done == 399)
    assert work.left == work.running == 1
    (tmp_path / "go").touch()
    until(lambda: loop.step(0.2) or loop.finished)
    assert (work.done, work.failed) == (400, 0)


def test_a_process_that_is_killed_loses_one_command(engine, tmp_path):
    kill = f"[ -e {tmp_path}/killed ] || {{ touch {tmp_path}/killed; kill -9 $PPID; }}"
    commands = [["true"], ["sh", "-c", kill], ["true"], ["true"]]
    engine.start([Task(str(k), command, bundle=1) for k, command in enumerate(commands)])
    found = heard(engine, 4)
    kinds = [found[str(k)].kind for k in range(4)]
    assert kinds == ["ended", "lost", "returned", "returned"]


def parents_of(engine, tmp_path, count):
    """Processes that ran commands, in the order of their ends."""
    tasks = [
        Task(
            str(k),
            ["sh", "-c", "echo $PPID; pwd"],
            output=str(tmp_path / f"out {count} {k}"),
            bundle=k,
        )
        for k in range(count)
    ]
    tasks[0] = replace(tasks[0], folder=str(tmp_path))
    engine.start(tasks)
    assert {each.status for each in heard(engine, count).values()} == {0}
    told = [(tmp_path / f"out {count} {k}").read_text().split() for k in range(count)]
    assert [Path(folder) for _, folder in told] == [tmp_path, *[Path.cwd()] * (count - 1)]
    return {parent for parent, _ in told}


def test_a_process_runs_one_command_after_the_other_for_a_while(engine, tmp_path, monkeypatch):
    assert len(parents_of(engine, tmp_path, 60)) <= 4  # cores of the server
    monkeypatch.setattr("malleable.live.engines.hyperqueue._STAY", 0.0)
    until(
        lambda: engine.poll(0.1) == [] and not (engine._workers or engine._coming)
    )  # idle ones leave
    assert len(parents_of(engine, tmp_path, 9)) == 9


def has_work(worker):
    return bool(worker.sent)


def test_cancel(engine, tmp_path, monkeypatch):
    deaf = f"trap '' TERM; touch {tmp_path}/deaf; while :; do sleep 0.1; done"
    engine.start([Task(f"sleep {k}", ["sleep", "60"], bundle=k) for k in range(9)])
    engine.start([Task("deaf", ["sh", "-c", deaf], bundle=9)])
    until(lambda: engine.poll(0.1) == [] and sum(map(has_work, engine._workers.values())) == 4)
    tell = engine._tell

    def tell_slowly(process, *messages):  # so that who was told first looks for more meanwhile
        tell(process, *messages)
        time.sleep(0.2)

    monkeypatch.setattr(engine, "_tell", tell_slowly)
    engine.cancel([f"sleep {k}" for k in range(9)])
    engine.cancel(["never", "sleep 3"])
    found = heard(engine, 9)
    kinds = [each.kind for each in found.values()]
    assert (kinds.count("returned"), kinds.count("ended")) == (5, 4)
    assert {each.status for each in found.values() if each.kind == "ended"} == {-signal.SIGTERM}
    until((tmp_path / "deaf").exists)
    engine.cancel(["deaf"])
    assert heard(engine, 1)["deaf"].status == -signal.SIGKILL


def test_a_task_that_is_killed_leaves_others_alone(engine, tmp_path):
    wait = f"touch {tmp_path}/began; exec sleep 60"
    commands = [["true"], ["sh", "-c", wait], ["sh", "-c", "exit 4"]]
    engine.start([Task(f"c{k}", command, bundle=1) for k, command in enumerate(commands)])
    until(lambda: engine.poll(0.05) is not None and (tmp_path / "began").exists())
    engine.kill(["c2", "never"])  # it waits behind the other one
    assert heard(engine, 1)["c2"].kind == "returned"
    engine.kill(["c1"])
    assert heard(engine, 1)["c1"].status == -signal.SIGTERM
    engine.start([Task("d", call=packed(calls.sleeper, tmp_path), bundle=2)])
    until(lambda: engine.poll(0.05) is not None and (tmp_path / "pids").exists())
    pids = pids_in(tmp_path / "pids")
    engine.kill(["d"])
    killed = heard(engine, 1)["d"]
    assert (killed.kind, killed.status) == ("ended", 1)
    until(lambda: all(map(gone, pids)))
    engine.start([Task("e", call=packed(pow, 2, 3), bundle=3)])
    assert heard(engine, 1)["e"].status == 0


def packed(function, *arguments):
    return Packing()((function, arguments, {}))


def test_a_call_that_straggles(pool, tmp_path):
    job = pool.job("a", backups=True)
    many = job.map(calls.straggle, [tmp_path] * 4, range(4))
    again = dict(each.result(PATIENCE) for each in many)  # of calls that a busy machine slows, too
    assert sorted(again) == [0, 1, 2, 3] and again[3]
    pids = [*pids_in(tmp_path / "pid"), *pids_in(tmp_path / "child")]
    until(lambda: all(map(gone, pids)))


def test_a_command_that_straggles(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "if [ $MALLEABLE_NUMBER.$MALLEABLE_ATTEMPT = 3.0 ]; then exec sleep 60; fi"
    (tmp_path / "task.sh").write_text(text)
    (tmp_path / "jobs.toml").write_text(
        '[[job]]\nname = "a"\ncommand = ["sh", "task.sh"]\nover.range = 4\nbackups = true\n'
    )
    where = ["--engine", f"hyperqueue:{server}"]
    assert main(["run", "jobs.toml", "--slots", "4", *where, "--json", "run.json"]) == 0
    (job,) = json.loads((tmp_path / "run.json").read_text())["jobs"]
    assert job["done"] == 4
    assert job["backups_won"] >= 1  # on a busy machine other tasks may seem to straggle, too


def children(pid):
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def pilots_of(engine):
    """Processes that run a command for this engine."""
    port, found = f"\0{engine._listener.getsockname()[1]}\0".encode(), []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended
            command = path.read_bytes()
            if pilot.__file__.encode() in command and port in command:
                found += [int(path.parent.name)] if children(path.parent.name) else []
    return found


def test_processes_and_servers_that_are_killed():
    engine = mb.engines.HyperQueue(2)
    try:
        engine.start([Task(f"{k}", ["sleep", "60"], bundle=k) for k in range(3)])
        pilots = until(
            lambda: engine.poll(0.05) == [] and len(found := pilots_of(engine)) == 2 and found
        )
        [sleeps] = children(pilots[0])
        os.kill(pilots[0], signal.SIGKILL)
        assert next(iter(heard(engine, 1).values())).kind == "lost"
        os.kill(sleeps, signal.SIGKILL)
        os.kill(engine._own.pid, signal.SIGKILL)
        with pytest.raises(OSError, match="the server does not answer"):
            until(lambda: engine.poll(0.1) is None)
        assert "the server does not answer" in engine.broken
    finally:
        engine.close(0.0)


def test_a_pool_without_its_server(tmp_path):
    engine = mb.engines.HyperQueue(2)
    with mb.Executor(engine=engine, journal=tmp_path / "j", resume=True) as pool:
        many = pool.job("noted").map(calls.note, [tmp_path] * 12, range(12), [0.2] * 12)
        futures.wait(many[:4], PATIENCE)
        os.kill(engine._own.pid, signal.SIGKILL)
        found = [each.exception(PATIENCE) or each.result() for each in many]
    kept = [k for k, result in enumerate(found) if result == k]
    assert 4 <= len(kept) < 12
    assert isinstance(found[-1], futures.BrokenExecutor)
    with mb.Executor(engine=mb.engines.HyperQueue(2), journal=tmp_path / "j", resume=True) as pool:
        many = pool.job("noted").map(calls.note, [tmp_path] * 12, range(12), [0.2] * 12)
        assert [each.result(PATIENCE) for each in many] == list(range(12))
    assert all(len((tmp_path / str(k)).read_text().split()) == 1 for k in kept)


@contextmanager
def visitor(engine):
    made = socket.create_connection(("127.0.0.1", engine._listener.getsockname()[1]))
    yield made
    made.close()


def test_who_does_not_know_the_secret_learns_nothing(pool, engine):
    assert pool.submit(pow, 2, 2).result(PATIENCE) == 4
    with visitor(engine) as mute, visitor(engine) as stranger:
        stranger.sendall(bytes(pilot.HALF))
        with pytest.raises(EOFError):
            pilot.read(stranger, 1)
        assert pool.submit(pow, 2, 3).result(PATIENCE) == 8  # others are served meanwhile
        with visitor(engine) as again:  # what one process has shown is of no use to another one
            again.sendall(next(iter(engine._workers)))
            with pytest.raises(EOFError):
                pilot.read(again, 1)
        assert mute.fileno() >= 0


def test_a_run_of_commands(server, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.toml").write_text(
        '[[job]]\nname = "a"\ncommand = "sh -c \'echo $1; exit $1\' sh {}"\nover = ["0", "4"]\n'
        '[[job]]\nname = "b"\ncommand = "pwd"\n'
    )
    where = ["--engine", f"hyperqueue:{server}"]
    assert main(["run", "jobs.toml", "--slots", "2", *where, "--json", "run.json"]) == 3
    told = json.loads((tmp_path / "run.json").read_text())
    assert [(job["done"], job["failed"]) for job in told["jobs"]] == [(1, 1), (1, 0)]
    journal = tmp_path / ".malleable" / "journal.sqlite"
    assert output_of(journal, 1, "a", 0).read_text() == "0\n"
    assert output_of(journal, 1, "b", 0).read_text() == f"{tmp_path}\n"
    for wrong in ("dask://here:1", "hyperqueue:", "hyperqueues"):
        assert main(["run", "jobs.toml", "--slots", "2", "--engine", wrong]) == 1
        assert "expected hyperqueue or hyperqueue:FOLDER" in capsys.readouterr().err
    assert main(["run", "jobs.toml", "--slots", "2", "--engine", "hyperqueue:/none"]) == 1


def test_what_an_engine_cannot_take(server):
    with pytest.raises(ValueError, match="slots = 0"):
        mb.engines.HyperQueue(0)
    with pytest.raises(OSError, match="no HyperQueue server answers"):
        mb.engines.HyperQueue(1, "/none")
    with mb.Executor(engine=mb.engines.HyperQueue(1)) as unused:
        server_of_its_own = unused._engine._own
    assert server_of_its_own.poll() == 0
    engine = mb.engines.HyperQueue(1, server, host="127.0.0.1", python="/no/python")
    engine.start([Task("a", ["true"], bundle=1)])
    found = heard(engine, 1)
    assert found["a"].kind == "refused"
    assert "/no/python" in found["a"].text
    engine.close()
    engine.close()
