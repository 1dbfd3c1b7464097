"""Calls on Dask that may have to be ended: they run in child processes of real workers, some of them killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import malleable as mb
from malleable.live.engines.remote import Packing
from malleable.live.journal import Journal
from malleable.live.protocol import Task
from malleable.live.status import run_status
from tests.live import calls_to_make as calls
from tests.live.dask_cluster import client_of, two_workers
from tests.live.waiting import PATIENCE, gone, pids_in, until

distributed = pytest.importorskip("distributed", reason="needs malleable[dask]")


@pytest.fixture(scope="module")
def cluster():
    with two_workers() as made:
        yield made


@pytest.fixture
def client(cluster):
    with client_of(cluster) as made:
        yield made


@pytest.fixture
def pool(client):
    with mb.Executor(engine=mb.engines.Dask(client)) as made:
        yield made


@pytest.fixture
def engine(client):
    made = mb.engines.Dask(client)
    yield made
    made.close(0.0)


def workers(client):
    """Process numbers of the workers."""
    return set(client.run(os.getpid).values())


def read(path):
    """What a file of a process says; nothing, if the process or thread has just ended."""
    try:
        return path.read_text()
    except OSError:
        return ""


def children(pids):
    """The processes that these workers have started for calls, and theirs; of any thread of a worker."""
    threads = [task for pid in pids for task in Path(f"/proc/{pid}/task").iterdir()]
    own = [int(word) for task in threads for word in read(task / "children").split()]
    found = [pid for pid in own if "apart" in read(Path(f"/proc/{pid}/cmdline"))]
    below = [read(Path(f"/proc/{pid}/task/{pid}/children")) for pid in found]
    return found + [int(word) for text in below for word in text.split()]


def packed(function, *arguments):
    return Packing()((function, arguments, {}))


def one(engine, call, key="a", slot=1):
    """A call that may be ended starts."""
    engine.start([Task(key, call=call, slot=slot, killable=True)])


def heard(engine):
    return until(lambda: engine.poll(0.05))


def test_a_call_that_straggles(client, tmp_path):
    engine = mb.engines.Dask(client)
    with mb.Executor(engine=engine, journal=tmp_path / "j") as pool:
        job = pool.job("a", backups=True)
        many = job.map(calls.straggle, [tmp_path] * 4, range(4))
        found = dict(each.result(PATIENCE) for each in many)
        assert sorted(found) == list(range(4))
        assert found[3] == 1  # its second attempt; on a busy machine others may have some, too
        pids = [*pids_in(tmp_path / "pid"), *pids_in(tmp_path / "child")]
        until(lambda: all(map(gone, pids)))
        assert pool.submit(pow, 2, 3).result(PATIENCE) == 8
    with Journal(tmp_path / "j", write=False) as journal:
        (job, _) = run_status(journal).jobs
        assert (job.done, job.failed) == (4, 0)
        assert 1 <= job.backups_won <= job.backup_tasks
        assert job.wasted_slot_seconds > 0.0
    until(lambda: not children(workers(client)))  # nobody needs them any more


def test_only_calls_that_may_be_ended_run_in_children_which_stay(pool, client):
    apart, plain = pool.job("apart", max_slots=1, backups=True), pool.job("plain")
    own = workers(client)
    assert plain.submit(calls.pid).result(PATIENCE) in own
    found = [apart.submit(calls.ancestors).result(PATIENCE) for _ in range(20)]
    assert {worker for _, _, worker in found} <= own
    assert len({pid for pid, _, _ in found}) < 10  # of 20 calls


def test_results_and_errors_are_those_of_other_calls(pool):
    job, base = pool.job("a", backups=True), 5
    assert job.submit(lambda value: value + base, 3).result(PATIENCE) == 8
    assert len(job.submit(bytes, 1_000_000).result(PATIENCE)) == 1_000_000
    size = 300_000
    assert job.submit(lambda data=bytes(size): len(data)).result(PATIENCE) == size
    bad = job.submit(calls.divide, 1, 0)
    assert isinstance(bad.exception(PATIENCE), ZeroDivisionError)
    assert "in divide" in str(bad.exception().__cause__)
    assert isinstance(job.submit(calls.raise_odd, "stubborn").exception(PATIENCE), RuntimeError)
    assert isinstance(job.submit(calls.leave, "exit").exception(PATIENCE), SystemExit)
    assert job.submit(calls.writes_everywhere).exception(PATIENCE) is None
    assert job.submit(pow, 2, 3).result(PATIENCE) == 8


def test_a_call_that_kills_its_process_fails_alone(pool, client):
    before = workers(client)
    job = pool.job("a", backups=True)
    many = job.map(calls.same, range(20))
    deadly = [job.submit(calls.die, how) for how in ("kill", "exit")]
    texts = [str(each.exception(PATIENCE)) for each in deadly]
    assert "ended by signal 9 before the call did" in texts[0]
    assert "ended with exit code 7 before the call did" in texts[1]
    assert [each.result(PATIENCE) for each in many] == list(range(20))
    assert workers(client) == before
    again = pool.job("again", backups=True, retries=1)
    assert isinstance(again.submit(calls.divide, 1, 0).exception(PATIENCE), ZeroDivisionError)


def test_a_call_is_ended_with_all_that_it_has_started(engine, tmp_path):
    one(engine, packed(calls.sleeper, tmp_path))
    pids = pids_in(tmp_path / "pids")
    assert engine.poll(0.2) == []
    engine.kill(["a"])
    engine.kill(["a", "unknown"])
    engine.cancel(["a"])
    (event,) = heard(engine)
    assert (event.kind, event.key, event.status) == ("ended", "a", 1)
    assert event.seconds > 0.1
    until(lambda: all(map(gone, pids)))
    one(engine, packed(pow, 2, 3), "b", 2)
    assert [(event.key, event.status) for event in heard(engine)] == [("b", 0)]


def test_a_call_that_has_not_begun_never_runs(engine, tmp_path):
    for k in range(8):  # on four threads
        one(engine, packed(calls.note, tmp_path, k, 1.0), f"{k}", k + 1)
    last = until(lambda: len(list(tmp_path.iterdir())) == 4 and [
        k for k in range(8) if not (tmp_path / f"{k}").exists()
    ])  # fmt: skip
    engine.kill([f"{k}" for k in last])
    found = []
    while len(found) < 8:
        found += heard(engine)
    assert {event.key for event in found if event.kind == "returned"} == {f"{k}" for k in last}
    assert {event.status for event in found if event.kind == "ended"} == {0}
    assert len(list(tmp_path.iterdir())) == 4


def test_a_call_that_was_cancelled_ends(engine, tmp_path):
    one(engine, packed(calls.sleeper, tmp_path))
    pids = pids_in(tmp_path / "pids")
    engine.cancel(["a"])
    assert [event.kind for event in heard(engine)] == ["returned"]
    until(lambda: all(map(gone, pids)))


def test_a_pool_that_is_stopped_ends_calls(client, tmp_path):
    pool = mb.Executor(engine=mb.engines.Dask(client))
    call = pool.job("a", backups=True).submit(calls.sleeper, tmp_path)
    pids = pids_in(tmp_path / "pids")
    pool._end(True, cancel=True, stop=True)
    assert call.exception(PATIENCE)
    until(lambda: all(map(gone, pids)))
    until(lambda: not children(workers(client)))


def test_a_worker_that_is_killed(pool, client, tmp_path):
    job = pool.job("a", backups=True)
    many = job.map(calls.note, [tmp_path] * 4, range(4), [3.0] * 4)
    until(lambda: all((tmp_path / f"{k}").exists() for k in range(4)))
    worker = next(iter(workers(client)))
    pids = children([worker])
    assert len(pids) == 3  # one starts the others
    os.kill(worker, signal.SIGKILL)
    until(lambda: all(map(gone, pids)))
    assert [each.result(PATIENCE) for each in many] == list(range(4))
    assert job.progress()[:3] == (4, 0, 0)


def test_a_worker_that_says_nothing(engine, client, tmp_path, monkeypatch):
    """What it runs counts as ended all the same."""
    monkeypatch.setattr("malleable.live.engines.dask._PATIENCE", 0.2)
    one(engine, packed(calls.sleeper, tmp_path))
    pids = pids_in(tmp_path / "pids")
    assert engine.poll(0.2) == []
    own = workers(client)
    try:
        for pid in own:
            os.kill(pid, signal.SIGSTOP)
        engine.kill(["a"])
        (event,) = heard(engine)
        assert (event.kind, event.status) == ("ended", -9)
    finally:
        for pid in own:
            os.kill(pid, signal.SIGCONT)
    until(lambda: all(map(gone, pids)))


PROGRAM = """
import sys
from distributed import Client
import malleable as mb
from tests.live import calls_to_make as calls
with Client(sys.argv[1], set_as_default=False) as client:
    with mb.Executor(engine=mb.engines.Dask(client)) as pool:
        pool.job("a", backups=True).submit(calls.sleeper, sys.argv[2]).result()
"""


def test_a_program_that_is_killed(client, tmp_path):
    words = [sys.executable, "-c", PROGRAM, client.scheduler.address, str(tmp_path)]
    with subprocess.Popen(words) as program:
        pids = pids_in(tmp_path / "pids")
        time.sleep(0.2)
        program.kill()
    until(lambda: all(map(gone, pids)))
    until(lambda: not children(workers(client)))


def test_a_worker_that_closes_in_a_process_that_goes_on(tmp_path):
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0",
            silence_logs=50, protocol="tcp",
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip
        engine = mb.engines.Dask(client)
        one(engine, packed(calls.sleeper, tmp_path))
        pids = pids_in(tmp_path / "pids")
        cluster.scale(0)
        until(lambda: all(map(gone, pids)))
        engine.close(0.0)
