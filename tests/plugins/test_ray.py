"""The executor on a real Ray node of this machine, some of whose workers are killed."""

import gc
import os
import signal
import subprocess
import sys
import threading
from concurrent import futures

import pytest

import malleable as mb
from tests.live import calls_to_make as calls
from tests.live.test_executor_contract import Contract
from tests.live.waiting import PATIENCE, until

ray = pytest.importorskip("ray", reason="needs malleable[ray]: make full installs it")


@pytest.fixture(scope="module", autouse=True)
def node():
    ray.init(
        num_cpus=4, resources={"licence": 2}, include_dashboard=False, log_to_driver=False,
        object_store_memory=100_000_000,
    )  # fmt: skip
    yield
    ray.shutdown()


@pytest.fixture
def pool():
    with mb.Executor(engine=mb.engines.Ray()) as made:
        yield made


def most_at_once(times):
    steps = sorted([(began, 1) for began, _ in times] + [(ended, -1) for _, ended in times])
    at_once = most = 0
    for _, step in steps:
        at_once += step
        most = max(most, at_once)
    return most


def test_calls_futures_and_errors(pool, tmp_path):
    assert repr(pool) == "Executor(4 slots, Ray, auto, sum:response)"
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
    base = 5
    assert pool.submit(lambda value: value + base, 3).result(PATIENCE) == 8


def test_large_functions_and_results_stay_on_the_cluster(pool):
    data = bytes(300_000)
    found = pool.job("a").map(lambda k: (len(data), k), range(6))
    assert [each.result(PATIENCE) for each in found] == [(300_000, k) for k in range(6)]
    kept = [pool.submit(bytes, 1_000_000 + k) for k in range(4)]
    futures.wait(kept, PATIENCE)
    assert not any(isinstance(each._result, bytes) for each in kept)
    assert [len(each.result(PATIENCE)) for each in kept] == [1_000_000 + k for k in range(4)]
    del found, kept
    gc.collect()


def test_calls_in_flight_follow_the_allocation(pool):
    narrow, wide = pool.job("narrow", max_slots=1), pool.job("wide")
    thin = narrow.map(calls.times, [0.1] * 8)
    broad = wide.map(calls.times, [0.1] * 30)
    thin, broad = ([each.result(PATIENCE) for each in own] for own in (thin, broad))
    assert most_at_once(thin) == 1
    assert most_at_once(thin + broad) <= 4


def test_a_late_short_job_goes_before_the_rest_of_a_long_one(pool):
    long = pool.job("long")
    many = long.map(calls.slow, range(150), [0.1] * 150)
    futures.wait(many[:4], PATIENCE)
    short = pool.job("short", seconds=0.1).map(calls.slow, range(4), [0.1] * 4)
    assert [each.result(PATIENCE) for each in short] == list(range(4))
    assert long.progress().left > 30
    long.cancel()


def test_cancel(pool):
    job = pool.job("cancelled")
    many = job.map(calls.slow, range(40), [0.2] * 40)
    until(many[0].running)
    assert many[-1].cancel()
    job.cancel()
    assert futures.wait(many, PATIENCE).not_done == set()
    assert pool.submit(pow, 3, 2).result(PATIENCE) == 9


def test_workers_that_are_killed(pool):
    job = pool.job("long")
    many = job.map(calls.slow, range(60), [0.1] * 60)
    pids = {pool.job(f"who {k}").submit(calls.pid).result(PATIENCE) for k in range(3)}
    os.kill(pids.pop(), signal.SIGKILL)
    assert [each.result(PATIENCE) for each in many] == list(range(60))
    assert job.progress()[:3] == (60, 0, 0)
    deadly = pool.job("deadly", max_slots=1).submit(calls.die, "kill")
    assert isinstance(deadly.exception(PATIENCE), futures.BrokenExecutor)
    assert pool.submit(pow, 3, 2).result(PATIENCE) == 9


def test_slots_follow_another_resource_or_what_is_said():
    with mb.Executor(engine=mb.engines.Ray(resource="licence", amount=0.5)) as pool:
        assert pool.slots == 4
        assert pool.submit(pow, 3, 2).result(PATIENCE) == 9
    with mb.Executor(engine=mb.engines.Ray(slots=1)) as pool:
        times = [each.result(PATIENCE) for each in pool.job("one").map(calls.times, [0.05] * 4)]
    assert most_at_once(times) == 1


def test_a_resource_that_nobody_has_is_told():
    with mb.Executor(engine=mb.engines.Ray(resource="moon")) as pool:
        waits = pool.job("waits").submit(pow, 3, 2)
        until(lambda: "moon" in pool.progress()["waits"].why)
        assert waits.cancel()


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match="num_cpus"):
        mb.engines.Ray(num_cpus=2)
    with pytest.raises(ValueError, match="amount"):
        mb.engines.Ray(amount=0)
    refused = mb.Executor(engine=mb.engines.Ray())
    with refused as pool, pytest.raises(Exception, match="cannot be pickled"):
        pool.submit(pow, threading.Lock()).result(PATIENCE)


GOES = """
import threading, time, ray
import malleable as mb
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, address="local")
pool = mb.Executor(engine=mb.engines.Ray())
many = pool.job("long").map(time.sleep, [0.2] * 100)
many[0].result(60)
ray.shutdown()
print(type(many[-1].exception(60)).__name__)
try:
    pool.submit(pow, 2, 2)
except Exception as error:
    print(type(error).__name__, "Ray" in str(error))
pool.shutdown()
"""


def test_a_cluster_that_goes_away():
    found = subprocess.run(
        [sys.executable, "-c", GOES], capture_output=True, text=True, timeout=300, check=False
    )
    assert found.stdout.split() == ["BrokenExecutor", "BrokenExecutor", "True"], found.stderr


OWN = """
import malleable as mb, ray
with mb.Executor(engine=mb.engines.Ray(slots=2)) as pool:
    print(pool.submit(pow, 2, 5).result(100))
print(ray.is_initialized())
"""


def test_a_node_of_its_own_ends_with_the_engine():
    found = subprocess.run(
        [sys.executable, "-c", OWN], capture_output=True, text=True, timeout=300, check=False
    )
    assert found.stdout.split() == ["32", "False"], found.stderr


class TestContract(Contract):
    """Of futures; see there for the differences."""
