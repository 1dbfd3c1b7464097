"""The executor on a real Dask cluster: workers are processes, and some of them are killed."""

import gc
import os
import signal
import threading
import time
from concurrent import futures
from functools import partial

import pytest

import malleable as mb
from tests.live import calls_to_make as calls
from tests.live.dask_cluster import client_of, two_workers
from tests.live.waiting import PATIENCE, until

dask = pytest.importorskip("dask", reason="needs malleable[dask]")
distributed = pytest.importorskip("distributed", reason="needs malleable[dask]")


@pytest.fixture(scope="module")
def cluster():
    with two_workers() as made:
        yield made


@pytest.fixture
def client(cluster):
    cluster.scheduler.allowed_failures = 3
    with client_of(cluster) as made:
        yield made


@pytest.fixture
def pool(client):
    with mb.Executor(engine=mb.engines.Dask(client)) as made:
        yield made


@pytest.fixture
def threads():
    """Makes clusters of threads of this process: quick to start and to stop."""
    made = []

    def make(**options):
        made.append(
            distributed.LocalCluster(
                **{"n_workers": 1, "threads_per_worker": 2, **options}, processes=False,
                dashboard_address=":0", silence_logs=50, protocol="tcp",
            )
        )  # fmt: skip
        return made[-1]

    yield make
    for each in made:
        each.close()


def held(client):
    """Results of calls that are on workers."""
    return [key for key in client.who_has() if key.startswith("malleable-")]


def test_calls_futures_and_errors(pool, client, tmp_path):
    assert repr(pool) == "Executor(4 slots, Dask, auto, sum:response)"
    assert pool.submit(pow, 2, 8).result(PATIENCE) == 256
    assert list(pool.map(pow, range(3000), [2] * 3000)) == [n * n for n in range(3000)]
    bad = pool.submit(calls.divide, 1, 0)
    assert isinstance(bad.exception(PATIENCE), ZeroDivisionError)
    assert "in divide" in str(bad.exception().__cause__)
    quick, late = pool.submit(calls.same, 1), pool.submit(calls.wait_for, tmp_path / "go")
    completed = futures.as_completed([late, quick], PATIENCE)
    assert next(completed) is quick
    (tmp_path / "go").touch()
    assert list(completed) == [late]
    with pytest.raises(ValueError, match="backups = True: Dask cannot end a call"):
        pool.job("backups", backups=True)
    assert isinstance(pool.submit(calls.raise_odd, "stubborn").exception(PATIENCE), RuntimeError)
    del quick, late, bad, completed
    until(lambda: not held(client))


def test_functions_that_workers_cannot_import_go_there_themselves(pool):
    base = 5
    assert pool.submit(lambda value: value + base, 3).result(PATIENCE) == 8
    made = pool.submit(lambda: lambda value: value * base).result(PATIENCE)
    assert made(2) == 10


def test_a_large_function_goes_to_the_workers_once(client):
    engine = mb.engines.Dask(client)
    sent, scatter = [], client.scatter
    client.scatter = lambda data, **more: sent.append(len(data)) or scatter(data, **more)
    data = bytes(3_000_000)
    with mb.Executor(engine=engine) as pool:
        size = partial(calls.same, data)
        assert all(each.result(PATIENCE)[0] == data for each in pool.job("a").map(size, range(6)))
        assert len(sent) == 1
        assert sent[0] > len(data)
        engine._shared[1].cancel()  # lost
        found = pool.job("b").map(partial(len), [data] * 2)  # arguments are each call's own
        assert [each.result(PATIENCE) for each in found] == [len(data)] * 2
        assert all(each.result(PATIENCE)[0] == data for each in pool.job("c").map(size, range(6)))
        assert len(sent) == 2


def test_large_results_stay_until_somebody_asks(pool, client):
    kept = pool.submit(bytes, 1_000_000)
    futures.wait([kept], PATIENCE)
    assert held(client)
    assert kept.exception() is None
    assert held(client)
    assert len(kept.result(PATIENCE)) == 1_000_000
    until(lambda: not held(client))  # it is here now
    assert len(kept.result()) == 1_000_000
    with mb.Executor(engine=mb.engines.Dask(client)) as other:
        last = [other.submit(bytes, 1_000_000 + k) for k in range(4)]
    assert [len(each.result(PATIENCE)) for each in last] == [1_000_000 + k for k in range(4)]
    never = pool.submit(bytes, 1_000_000)
    futures.wait([never], PATIENCE)
    assert held(client)
    del never
    gc.collect()
    until(lambda: not held(client))


def most_at_once(times):
    steps = sorted([(began, 1) for began, _ in times] + [(ended, -1) for _, ended in times])
    at_once = most = 0
    for _, step in steps:
        at_once += step
        most = max(most, at_once)
    return most


def test_calls_in_flight_follow_the_allocation(pool):
    narrow, wide = pool.job("narrow", max_slots=1), pool.job("wide")
    thin = narrow.map(calls.times, [0.1] * 8)
    broad = wide.map(calls.times, [0.1] * 30)
    thin, broad = ([each.result(PATIENCE) for each in own] for own in (thin, broad))
    assert most_at_once(thin) == 1
    assert most_at_once(broad) >= 3
    assert most_at_once(thin + broad) <= 4


def test_a_late_short_job_goes_before_the_rest_of_a_long_one(pool):
    long = pool.job("long")
    many = long.map(calls.slow, range(150), [0.1] * 150)
    futures.wait(many[:4], PATIENCE)
    short = pool.job("short", seconds=0.1).map(calls.slow, range(4), [0.1] * 4)
    assert [each.result(PATIENCE) for each in short] == list(range(4))
    assert long.progress().left > 30
    long.cancel()


def test_a_program_beside_it_is_not_starved(pool, client):
    """It knows nothing of the pool, and the pool has work for all threads for seconds."""
    busy = pool.job("busy")
    many = busy.map(calls.slow, range(200), [0.1] * 200)
    futures.wait(many[:4], PATIENCE)
    theirs = client.map(calls.slow, range(20), [0.1] * 20, pure=False)
    assert client.gather(theirs) == list(range(20))
    assert busy.progress().left > 100
    futures.wait(many[:40], PATIENCE)  # and the pool goes on
    busy.cancel()


def test_priority_against_others(threads):
    with distributed.Client(threads(), set_as_default=False) as client:
        theirs = client.map(calls.slow, range(60), [0.1] * 60, pure=False)
        with mb.Executor(engine=mb.engines.Dask(client, slots=1, priority=1)) as pool:
            assert pool.slots == 1
            assert list(pool.map(calls.same, range(5))) == list(range(5))
        assert sum(each.done() for each in theirs) < 40
        client.cancel(theirs)


def test_cancel(pool):
    job = pool.job("cancelled")
    many = job.map(calls.slow, range(40), [0.2] * 40)
    until(many[0].running)
    assert many[-1].cancel()
    job.cancel()
    assert futures.wait(many, PATIENCE).not_done == set()
    assert all(each.cancelled() or each.done() for each in many)
    with pytest.raises(futures.CancelledError):
        many[20].result(PATIENCE)
    assert pool.submit(pow, 3, 2).result(PATIENCE) == 9


def test_a_worker_that_is_killed(pool):
    job = pool.job("long")
    many = job.map(calls.slow, range(60), [0.1] * 60)
    pids = {pool.job(f"who {k}").submit(calls.pid).result(PATIENCE) for k in range(3)}
    os.kill(pids.pop(), signal.SIGKILL)
    assert [each.result(PATIENCE) for each in many] == list(range(60))
    assert job.progress()[:3] == (60, 0, 0)


def test_a_call_that_kills_its_worker_fails_alone(pool, cluster):
    cluster.scheduler.allowed_failures = 0
    job = pool.job("deadly", max_slots=1)  # nothing runs beside it
    assert len([each.result(PATIENCE) for each in job.map(calls.same, range(300))]) == 300
    many = job.map(calls.same, range(20))  # short ones travel together
    deadly = job.submit(calls.die, "kill")
    many += job.map(calls.same, range(20))
    assert isinstance(deadly.exception(PATIENCE), distributed.KilledWorker)
    assert [each.result(PATIENCE) for each in many] == [*range(20), *range(20)]


def test_what_cannot_be_pickled_is_named(pool):
    refused = pool.job("locks").submit(pow, threading.Lock())
    with pytest.raises(Exception, match="call of pow .number 0 of job 'locks'. cannot be pickled"):
        refused.result(PATIENCE)


def test_a_bundle_that_could_not_tell_is_asked(client):
    engine = mb.engines.Dask(client)
    client.unsubscribe_topic(engine._name)
    with mb.Executor(engine=engine) as pool:
        assert list(pool.map(calls.same, range(10))) == list(range(10))


def test_workers_come_and_go(threads):
    cluster = threads(n_workers=0)
    with (
        distributed.Client(cluster, set_as_default=False) as client,
        mb.Executor(engine=mb.engines.Dask(client)) as pool,
    ):
        assert pool.slots == 0
        job = pool.job("waits")
        many = job.map(calls.slow, range(80), [0.1] * 80)
        time.sleep(0.3)
        assert job.progress().running == 0
        cluster.scale(2)
        until(lambda: pool.slots == 4)
        until(lambda: job.progress().running == 4)
        cluster.scale(1)
        until(lambda: pool.slots == 2)
        assert [each.result(PATIENCE) for each in many] == list(range(80))


def test_a_scheduler_that_comes_back(threads):
    first = threads(scheduler_port=0)
    port = int(first.scheduler_address.rpartition(":")[2])
    with (
        distributed.Client(f"tcp://127.0.0.1:{port}", set_as_default=False) as client,
        mb.Executor(engine=mb.engines.Dask(client)) as pool,
    ):
        many = pool.job("long").map(calls.slow, range(24), [0.1] * 24)
        futures.wait(many[:4], PATIENCE)
        first.close()
        threads(scheduler_port=port)
        assert [each.result(PATIENCE) for each in many] == list(range(24))


def test_calls_that_wait_for_workers_say_so(threads, caplog, monkeypatch):
    monkeypatch.setattr("malleable.live.engines.cluster.PATIENCE", 0.2)
    first = threads(scheduler_port=0)
    port = int(first.scheduler_address.rpartition(":")[2])
    with (
        distributed.Client(f"tcp://127.0.0.1:{port}", set_as_default=False) as client,
        mb.Executor(engine=mb.engines.Dask(client)) as pool,
    ):
        job = pool.job("waits")
        assert job.submit(calls.same, 1).result(PATIENCE) == 1
        first.close()
        second = threads(scheduler_port=port, n_workers=0)
        future = job.submit(calls.same, 2)
        until(lambda: "1 calls wait: the scheduler at tcp://127.0.0.1" in caplog.text)
        until(lambda: "has no workers" in job.progress().why)
        assert not future.done()
        second.scale(1)
        assert future.result(PATIENCE) == 2
        until(lambda: "calls go on" in caplog.text)
        assert "no workers" not in job.progress().why


def test_calls_that_no_worker_may_run_say_so(threads, caplog, monkeypatch):
    monkeypatch.setattr("malleable.live.engines.cluster.PATIENCE", 0.2)
    cluster = threads()
    with distributed.Client(cluster, set_as_default=False) as client:
        engine = mb.engines.Dask(client, slots=1, resources={"GPU": 1})
        with mb.Executor(engine=engine) as pool:
            future = pool.submit(calls.same, 1)
            until(lambda: "1 calls wait: other tasks hold all workers" in caplog.text)
            client.close()
            assert isinstance(future.exception(PATIENCE), futures.BrokenExecutor)


def test_a_scheduler_that_is_gone_and_the_journal(threads, tmp_path):
    def session(cluster, end=None):
        client = distributed.Client(cluster.scheduler_address, timeout=1, set_as_default=False)
        with (
            client,
            mb.Executor(
                engine=mb.engines.Dask(client), journal=tmp_path / "j", resume=True
            ) as pool,
        ):
            many = pool.job("noted").map(calls.note, [tmp_path] * 60, range(60), [0.1] * 60)
            if end is not None:
                futures.wait(many[:6], PATIENCE)
                cluster.close()
            return [each.exception(PATIENCE) or each.result() for each in many]

    first = session(threads(), end=6)
    kept = [k for k, result in enumerate(first) if result == k]
    assert 6 <= len(kept) < 60
    lost = next(result for result in first if not isinstance(result, int))
    assert isinstance(lost, futures.BrokenExecutor)
    assert "Dask takes no more calls" in str(lost)
    assert session(threads()) == list(range(60))
    assert all(len((tmp_path / str(k)).read_text().split()) == 1 for k in kept)


def test_results_that_stay_elsewhere_are_in_the_journal_too(client, tmp_path):
    for _ in range(2):
        with mb.Executor(
            engine=mb.engines.Dask(client), journal=tmp_path / "j", resume=True
        ) as pool:
            large = pool.submit(calls.noted_zeros, tmp_path, 1_000_000)
            assert len(large.result(PATIENCE)) == 1_000_000
            assert pool.submit(calls.divide, 1, 0).exception(PATIENCE)  # the run is not done
    assert len((tmp_path / "zeros").read_text().split()) == 1


def test_what_an_engine_cannot_take(client, monkeypatch):
    with pytest.raises(ValueError, match="slots: how many calls can run with workers, resources"):
        mb.engines.Dask(client, workers=["a"], resources={"GPU": 1})
    with pytest.raises(ValueError, match="slots = 0"):
        mb.engines.Dask(client, slots=0)
    with pytest.raises(ValueError, match="expected a distributed.Client"):
        mb.engines.Dask(3)
    with pytest.raises(ValueError, match="slots: the engine sets it"):
        mb.Executor(2, engine=mb.engines.Dask(client))
    other = distributed.Client(client.scheduler.address, set_as_default=False)
    other.close()
    with pytest.raises(ValueError, match="closed"):
        mb.engines.Dask(other)
    with pytest.raises(AttributeError, match="no attribute 'Desk'"):
        assert mb.engines.Desk


def test_records_are_those_of_a_serial_run_to_the_byte(pool):
    options = {"seeds": [1, 2], "policies": ["max-srpt", "k-lps"], "grid": {"load": [0.5, 0.8]}}
    serial = mb.replicate(stream_of, **options)
    far = mb.replicate(stream_of, **options, executor=pool)
    assert repr(far.rows).encode() == repr(serial.rows).encode()
    assert far == serial


def stream_of(seed, load):
    return mb.MapShuffleStream(1000 + seed, load)
