"""Calls that do what no call should: they fail alone, and all others are answered."""

import _thread
import gc
import importlib
import linecache
import os
import signal
import sys
import threading
import time
from concurrent.futures import wait
from concurrent.futures.process import BrokenProcessPool

import pytest

import malleable as mb
from tests.full import part
from tests.live import calls_to_make as calls
from tests.live.waiting import PATIENCE, gone, until

PROCESSES, THREADS = {"slots": 2}, {"slots": 2, "threads": True}
BASE = [SystemExit, KeyboardInterrupt, GeneratorExit, calls.Wordless]


@pytest.fixture(params=[PROCESSES, THREADS], ids=["processes", "threads"])
def pool(request):
    with mb.Executor(**request.param) as made:
        yield made


@pytest.fixture
def processes():
    with mb.Executor(2) as made:
        yield made


def answered(pool, count=200):
    """Whether calls are still answered."""
    return [f.result(PATIENCE) for f in [pool.submit(calls.same, k) for k in range(count)]] == list(
        range(count)
    )


@pytest.mark.parametrize("error", BASE)
def test_results_whose_unpickling_raises(error, processes, tmp_path):
    bad = processes.submit(calls.unpickled_badly, error)
    assert isinstance(bad.exception(PATIENCE), error)
    assert answered(processes)
    with mb.Executor(2, journal=tmp_path / "journal") as kept:
        bad = kept.submit(calls.unpickled_badly, error)
        assert isinstance(bad.exception(PATIENCE), error)
        assert answered(kept)
    with mb.Executor(2, journal=tmp_path / "journal", resume=True) as again:
        assert isinstance(again.submit(calls.unpickled_badly, error).exception(PATIENCE), error)
        assert answered(again)


@pytest.mark.parametrize("error", BASE)
def test_whatever_a_call_raises_is_its_futures(error, pool):
    found = pool.submit(calls.raised, error).exception(PATIENCE)
    assert isinstance(found, error) or (error is calls.Wordless and "Wordless" in str(found))
    assert answered(pool)


def test_what_was_raised_cannot_be_unpickled(processes):
    found = processes.submit(calls.raised, calls.UnreadableError).exception(PATIENCE)
    assert "cannot be unpickled here: SystemExit: 3" in str(found)
    assert answered(processes)


def test_results_whose_pickling_raises(processes, tmp_path):
    assert processes.submit(calls.unpicklable).exception(PATIENCE).args == (5,)
    assert answered(processes)
    with mb.Executor(2, threads=True, journal=tmp_path / "journal") as pool:
        assert isinstance(pool.submit(calls.unpicklable).result(PATIENCE), calls.Unpicklable)
        assert answered(pool)


@pytest.mark.parametrize("how", ["return", "exit", "raise"])
def test_calls_that_fork_are_answered_once(how, pool):
    futures = [pool.submit(calls.forks if k % 50 == 7 else calls.same, k, *[how] * (k % 50 == 7))
               for k in range(499)]  # fmt: skip
    assert [future.result(PATIENCE) for future in futures] == list(range(499))
    for code, status in ((9, 9), (None, 0), ("words", 1)):
        assert pool.submit(calls.forked_status, code).result(PATIENCE) == status


def test_initializers_that_fork():
    with mb.Executor(2, initializer=calls.forks, initargs=(0,)) as pool:
        assert answered(pool)


def test_a_call_that_ends_its_process_fails_alone(processes):
    futures = [processes.submit(calls.same, k) for k in range(100)]
    bad = processes.submit(calls.die, "exit")
    futures += [processes.submit(calls.same, k) for k in range(100)]
    assert isinstance(bad.exception(PATIENCE), BrokenProcessPool)
    assert [future.result(PATIENCE) for future in futures] == [*range(100)] * 2


@pytest.mark.parametrize("replaced", [False, True])
def test_a_call_that_closes_descriptors_fails_alone(replaced, processes):
    futures = [processes.submit(calls.same, k) for k in range(100)]
    bad = processes.submit(calls.closes_descriptors, replaced)
    futures += [processes.submit(calls.same, k) for k in range(100)]
    assert isinstance(bad.exception(PATIENCE), BrokenProcessPool)
    assert [future.result(PATIENCE) for future in futures] == [*range(100)] * 2


@pytest.mark.parametrize("data", [b"x", b"\0" * 100, b"\xff" * 5000])
def test_a_call_that_writes_into_all_sockets_harms_no_other(data, processes):
    futures = [processes.submit(calls.same, k) for k in range(100)]
    bad = processes.submit(calls.writes_everywhere, data)
    futures += [processes.submit(calls.same, k) for k in range(100)]
    assert bad.result(PATIENCE) == 1
    assert [future.result(PATIENCE) for future in futures] == [*range(100)] * 2


def test_a_thread_that_goes_on_writing_costs_calls_of_its_worker_alone(processes):
    wait([processes.submit(calls.writes_for_ever)], PATIENCE)
    futures = [processes.submit(bytes, 10**6) for _ in range(100)]
    assert wait(futures, PATIENCE).not_done == set()
    until(lambda: answered(processes))


def test_deep_and_large(pool):
    assert isinstance(pool.submit(calls.deep).exception(PATIENCE), RecursionError)
    assert len(pool.submit(bytes, 1 << 27).result(PATIENCE)) == 1 << 27
    assert answered(pool)


@pytest.mark.parametrize("error", BASE)
def test_callbacks_that_raise(error, pool, caplog):
    seen = []
    future = pool.submit(calls.slow, 1, 0.2)
    future.add_done_callback(lambda _: calls.raised(error))
    future.add_done_callback(seen.append)
    assert future.result(PATIENCE) == 1
    until(lambda: seen)
    assert answered(pool)
    assert "exception calling callback" in caplog.text


def test_a_callback_that_shuts_the_pool_down():
    pool = mb.Executor(2)
    future = pool.submit(calls.slow, 1, 0.1)
    future.add_done_callback(lambda _: pool.shutdown())
    assert future.result(PATIENCE) == 1
    pool.shutdown()


def _lines_of_submit():
    """Files whose lines are those between a client's submit and its future."""
    return tuple(
        importlib.import_module(f"malleable.live.{name}").__file__
        for name in ("calls", "executor", "futures", "engines.process.processes", "engines.threads")
    )


def _enters(frame):
    """At ``with``, where no signal is heard before the lock is had or let go."""
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    return line.lstrip().startswith("with ")


@pytest.mark.parametrize("journal", [False, True])
def test_an_interrupt_at_any_line_of_submit_loses_no_future(journal, tmp_path, pool):
    """At each in turn: nothing before or after it is lost, and the pool ends."""
    if journal:
        pool = mb.Executor(2, journal=tmp_path / "journal")
    files, lines, futures = _lines_of_submit(), 0, []
    job = pool.job("a")
    while True:
        left = lines

        def count(frame, event, _):
            nonlocal left
            if frame.f_code.co_filename not in files:
                return None
            if event == "line" and not _enters(frame):
                left -= 1
                if left < 0:
                    raise KeyboardInterrupt
            return count

        futures.append(job.submit(calls.same, lines))
        sys.settrace(count)
        try:
            job.submit(calls.same, -lines)
        except KeyboardInterrupt:
            lines += 1
        else:
            break
        finally:
            sys.settrace(None)
        futures.append(job.submit(calls.same, lines))
    assert lines > 20
    began = time.monotonic()
    assert all(future.result(PATIENCE) is not None for future in futures)
    job.close()
    after = pool.job("b", after=job)
    assert after.submit(calls.same, 3).result(PATIENCE) == 3
    pool.shutdown()
    assert time.monotonic() - began < PATIENCE


@pytest.mark.parametrize("how", [PROCESSES, THREADS], ids=["processes", "threads"])
def test_ctrl_c_again_and_again(how):
    """At random moments of a loop that submits."""
    futures, heard, stop = [], 0, threading.Event()
    armed = False

    def handler(*_):
        nonlocal armed
        if armed:
            armed = False
            raise KeyboardInterrupt

    def interrupt():
        while not stop.wait(0.003):
            _thread.interrupt_main()

    before = signal.signal(signal.SIGINT, handler)
    thread = threading.Thread(target=interrupt)
    try:
        with mb.Executor(**how) as pool:
            assert answered(pool)
            thread.start()
            while heard < part(100):
                try:
                    armed = True
                    for _ in range(10):
                        future = pool.submit(calls.same, len(futures))
                        futures.append(future)
                    armed = False
                except KeyboardInterrupt:
                    heard += 1
            for future in futures:
                future.result(PATIENCE)
    finally:
        stop.set()
        thread.join()
        time.sleep(0.05)
        signal.signal(signal.SIGINT, before)


def test_children_of_calls_that_fork_are_gone(processes):
    own = os.getpid()
    for _ in range(20):
        processes.submit(calls.forks, 1).result(PATIENCE)
    engine = processes._run.engine
    assert gc.isenabled()
    assert os.getpid() == own
    assert not gone(engine._keeper.pid)
    assert len(engine._workers) <= 2


def test_each_end_of_a_worker_is_told(processes):
    """Also of one that ends while another is started: none of these calls waits for ever."""
    for _ in range(15):
        ended = [processes.submit(calls.die, "exit") for _ in range(3)]
        assert answered(processes, 3)
        for future in ended:
            assert isinstance(future.exception(PATIENCE), BrokenProcessPool)


def test_a_call_that_closes_all_descriptors_says_no_more_than_that(capfd, processes):
    for _ in range(3):
        gone = processes.submit(os.closerange, 3, 500)
        assert isinstance(gone.exception(PATIENCE), BrokenProcessPool)
        assert answered(processes, 3)
    assert "Traceback" not in capfd.readouterr().err
