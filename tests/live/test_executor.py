"""What users of `concurrent.futures` expect of a pool, of processes and of threads."""

import gc
import multiprocessing
import operator
import os
import pickle
import sys
import threading
import time
import traceback
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool

import pytest

import malleable as mb
from malleable.live.engines.process.local import Local
from tests.live import calls_to_make as calls
from tests.live.waiting import PATIENCE, until


@pytest.fixture(params=["processes", "threads"])
def pool(request):
    with mb.Executor(2, threads=request.param == "threads") as made:
        yield made


@pytest.fixture
def processes():
    with mb.Executor(2) as made:
        yield made


def test_submit(pool):
    assert isinstance(pool, futures.Executor)
    assert pool.submit(pow, 2, 8).result() == 256
    assert pool.submit(calls.same, 1, self=2, fn=3).result(PATIENCE) == (1, {"self": 2, "fn": 3})
    with pytest.raises(TypeError):
        pool.submit()
    with pytest.raises(TypeError):
        pool.submit(fn=pow)


def test_map(pool):
    assert list(pool.map(pow, range(500), range(500))) == [n**n for n in range(500)]
    assert list(pool.map(pow, [1, 2], [3])) == [1]
    assert list(pool.map(pow, [], [])) == []
    assert list(pool.map(calls.same, range(40), chunksize=7)) == list(range(40))


def test_map_ends_where_a_call_raises(pool):
    results = pool.map(divide := operator.floordiv, [6, 6, 6, 6], [2, 3, 0, 1])
    assert next(results) == 3
    assert next(results) == 2
    with pytest.raises(ZeroDivisionError):
        next(results)
    assert list(results) == []
    assert pool.submit(divide, 4, 2).result() == 2


def test_map_does_not_wait_for_ever(pool, tmp_path):
    (tmp_path / "1").touch()
    results = pool.map(calls.wait_for, [tmp_path / "1", tmp_path / "2"], [1, 2], timeout=3.0)
    assert next(results) == 1
    with pytest.raises(futures.TimeoutError):
        next(results)
    (tmp_path / "2").touch()
    assert list(pool.map(calls.slow, [1, 2], timeout=PATIENCE)) == [1, 2]


def test_a_map_that_is_left_cancels_the_rest(pool):
    results = pool.map(calls.slow, range(8000))
    next(results)
    began = time.monotonic()
    results.close()
    pool.shutdown()
    assert time.monotonic() - began < PATIENCE  # all of them take 200 s


def test_exceptions_come_with_their_traceback(pool):
    future = pool.submit(calls.divide, 1, 0)
    error = future.exception(PATIENCE)
    assert isinstance(error, ZeroDivisionError)
    with pytest.raises(ZeroDivisionError) as caught:
        future.result()
    assert caught.value is error
    shown = "".join(traceback.format_exception(error))
    assert "calls_to_make.py" in shown
    assert "divide" in shown


def test_wait_and_as_completed(pool, tmp_path):
    quick, late = pool.submit(calls.same, 1), pool.submit(calls.wait_for, tmp_path / "go")
    done, rest = futures.wait([quick, late], return_when=futures.FIRST_COMPLETED)
    assert (done, rest) == ({quick}, {late})
    assert futures.wait([quick, late], timeout=0.0).not_done == {late}
    completed = futures.as_completed([late, quick], PATIENCE)
    assert next(completed) is quick
    (tmp_path / "go").touch()
    assert list(completed) == [late]
    bad = pool.submit(calls.divide, 1, 0)
    other = pool.submit(calls.slow, 3, 0.2)
    done, _ = futures.wait([bad, other], return_when=futures.FIRST_EXCEPTION)
    assert bad in done
    never = pool.submit(calls.wait_for, tmp_path / "never")
    with pytest.raises(futures.TimeoutError):
        list(futures.as_completed([never], timeout=0.01))
    (tmp_path / "never").touch()
    many = [pool.submit(calls.same, k) for k in range(300)]
    assert sorted(f.result() for f in futures.as_completed(many)) == list(range(300))


def test_callbacks(pool):
    heard, here = [], threading.Event()

    def hear(future):
        heard.append(future.result())
        here.set()

    future = pool.submit(calls.slow, 5, 0.1)
    future.add_done_callback(hear)
    assert here.wait(PATIENCE)
    future.add_done_callback(hear)
    assert heard == [5, 5]


def test_states_of_a_future(pool, tmp_path):
    busy = [pool.submit(calls.wait_for, tmp_path / "go", k) for k in range(2)]
    waits = pool.submit(calls.same, 3)
    until(lambda: all(future.running() for future in busy))
    assert not waits.running()
    assert not busy[0].cancel()
    assert not busy[0].done()
    with pytest.raises(futures.TimeoutError):
        busy[0].result(0.0)
    heard = []
    waits.add_done_callback(heard.append)
    assert waits.cancel()
    assert waits.cancel()
    assert waits.cancelled()
    assert waits.done()
    assert heard == [waits]
    assert list(futures.as_completed([waits], 1.0)) == [waits]
    assert futures.wait([waits], 1.0).done == {waits}
    with pytest.raises(futures.CancelledError):
        waits.result()
    (tmp_path / "go").touch()
    assert [future.result() for future in busy] == [0, 1]
    assert not busy[0].cancel()
    assert not busy[0].cancelled()
    assert "finished" in repr(busy[0])


def test_shutdown(pool):
    future = pool.submit(calls.slow, 1, 0.2)
    pool.shutdown()
    pool.shutdown()
    assert future.done()
    for call in (lambda: pool.submit(pow, 1, 1), lambda: pool.job("late")):
        with pytest.raises(RuntimeError, match="after shutdown"):
            call()


def test_shutdown_without_a_call():
    pool = mb.Executor(2)
    pool.shutdown()
    with pytest.raises(RuntimeError):
        pool.submit(pow, 1, 1)


def test_shutdown_does_not_wait_if_it_must_not(pool, tmp_path):
    made = [pool.submit(calls.wait_for, tmp_path / "go", k) for k in range(6)]
    pool.shutdown(wait=False)
    assert not any(future.done() for future in made)
    (tmp_path / "go").touch()
    assert [future.result(PATIENCE) for future in made] == list(range(6))


def test_shutdown_cancels_what_waits(pool):
    made = [pool.submit(calls.slow, k, 0.2) for k in range(50)]
    until(lambda: sum(future.running() for future in made) >= 2)
    pool.shutdown(cancel_futures=True)
    assert all(future.done() for future in made)
    assert 2 <= sum(not future.cancelled() for future in made) <= 10


@pytest.mark.parametrize(
    "call",
    [(lambda: 1,), (calls.same, threading.Lock()), (calls.same, (k for k in range(3)))],
    ids=["lambda", "lock", "generator"],
)
def test_what_cannot_be_pickled(processes, call):
    future = processes.submit(*call)
    assert isinstance(future.exception(PATIENCE), pickle.PicklingError)
    assert "top of a module" in str(future.exception())
    assert processes.submit(pow, 2, 2).result() == 4


def test_answers_that_cannot_be_pickled(processes):
    with pytest.raises(TypeError, match="pickle"):
        processes.submit(calls.unpicklable_result).result()
    with pytest.raises(RuntimeError, match="StubbornError: stubborn"):
        processes.submit(calls.raise_odd, "stubborn").result()
    with pytest.raises(RuntimeError, match="unpickled"):
        processes.submit(calls.raise_odd, "odd").result()
    with pytest.raises(ZeroDivisionError):
        processes.submit(calls.bad_result).result()
    assert processes.submit(pow, 2, 2).result() == 4


def test_calls_that_leave(pool):
    assert isinstance(pool.submit(calls.leave, "exit").exception(), SystemExit)
    assert isinstance(pool.submit(calls.leave, "interrupt").exception(), KeyboardInterrupt)
    assert pool.submit(pow, 2, 2).result() == 4


@pytest.mark.parametrize("how", ["exit", "kill"])
def test_a_worker_that_dies_takes_one_call_with_it(processes, how):
    before = [processes.submit(calls.same, k) for k in range(100)]
    dead = processes.submit(calls.die, how)
    after = [processes.submit(calls.same, k) for k in range(100)]
    error = dead.exception(PATIENCE)
    assert isinstance(error, BrokenProcessPool)
    assert ("exit code 7" if how == "exit" else "signal 9") in str(error)
    assert [future.result(PATIENCE) for future in before + after] == 2 * list(range(100))


def test_a_call_whose_worker_dies_is_tried_again_on_request(processes, tmp_path):
    job = processes.job("again", retries=1)
    assert job.submit(calls.die_once, str(tmp_path)).result(PATIENCE) == "alive"
    assert isinstance(job.submit(calls.die, "exit").exception(PATIENCE), BrokenProcessPool)


def test_large_things_come_and_go(processes):
    data = os.urandom(5_000_000)
    assert all(back == data for back in processes.map(calls.same, [data] * 4))


@pytest.mark.parametrize("threads", [False, True])
def test_initializers(threads):
    with mb.Executor(2, threads=threads, initializer=calls.begin, initargs=(7,)) as pool:
        assert set(pool.submit(calls.began).result()) == {7}
    with mb.Executor(2, threads=threads, initializer=calls.fail_to_begin) as pool:
        with pytest.raises(futures.BrokenExecutor, match="no good start"):
            pool.submit(calls.slow, 1, 0.5).result(PATIENCE)
        until(lambda: pool._run.broken)
        with pytest.raises(futures.BrokenExecutor):
            pool.submit(pow, 1, 1)


def test_workers_are_replaced():
    with mb.Executor(1, max_tasks_per_child=3) as pool:
        seen = [pool.submit(calls.pid).result() for _ in range(9)]
        together = [future.result() for future in [pool.submit(calls.pid) for _ in range(60)]]
    assert len(set(seen)) == 3
    assert max(together.count(each) for each in together) == 3


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_contexts(method):
    context = multiprocessing.get_context(method)
    with mb.Executor(2, mp_context=context) as pool:
        assert list(pool.map(calls.same, range(20))) == list(range(20))
        assert pool.submit(calls.pid).result() != os.getpid()


def test_beside_threads_nothing_is_forked_from_them(monkeypatch):
    made = []
    # A main module that workers can import, wherever the tests run.
    monkeypatch.setattr(sys.modules["__main__"], "__file__", calls.__file__, raising=False)
    monkeypatch.setattr(multiprocessing.get_context("fork").Process, "_Popen", made.append)
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        with mb.Executor(1) as pool:
            assert pool.submit(pow, 2, 3).result(PATIENCE) == 8
    finally:
        stop.set()
        thread.join()
    assert made == []


def test_workers_end_with_their_pool():
    pool = mb.Executor(2)
    pids = {future.result() for future in [pool.submit(calls.pid) for _ in range(50)]}
    del pool
    gc.collect()

    def gone(pid):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    until(lambda: all(map(gone, pids)))


def test_a_fork_of_this_process_does_not_use_its_pool(processes):
    processes.submit(pow, 1, 1).result()
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            processes.submit(pow, 1, 1)
        except RuntimeError as error:
            os.write(writes, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reads, 100).decode() == f"this pool belongs to process {os.getpid()}"
    os.close(reads)
    os.close(writes)
    assert processes.submit(pow, 3, 2).result(PATIENCE) == 9


def test_many_threads_submit(pool):
    found = []

    def work():
        found.extend(f.result() for f in [pool.submit(calls.same, k) for k in range(200)])

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(found) == sorted(5 * list(range(200)))


def test_calls_behind_a_long_one_go_elsewhere(pool, tmp_path):
    pool.submit(calls.same, 0).result()
    list(pool.map(calls.same, range(300)))  # short as far as anybody knows
    made = [
        pool.submit(calls.wait_for, tmp_path / "go", k)
        if k == 20
        else pool.submit(calls.note, str(tmp_path), k)
        for k in range(300)
    ]
    futures.wait(made[:20] + made[21:])
    assert not made[20].done()
    (tmp_path / "go").touch()
    assert [future.result() for future in made] == list(range(300))
    noted = [tmp_path / str(k) for k in range(300) if k != 20]
    assert all(path.read_text().count("\n") == 1 for path in noted)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"slots": 0}, "slots"),
        ({"slots": 1.5}, "slots"),
        ({"objective": "sum:respons"}, "respons"),
        ({"policy": "flx"}, "flx"),
        ({"max_tasks_per_child": 0}, "max_tasks_per_child"),
        ({"threads": True, "max_tasks_per_child": 3}, "for processes only"),
        ({"durable": True}, "need a journal"),
        ({"resume": True}, "need a journal"),
    ],
)
def test_wrong_arguments(wrong, message):
    with pytest.raises(ValueError, match=message):
        mb.Executor(**wrong)


def test_other_engines_have_their_own_slots():
    engine = Local(2)
    try:
        with pytest.raises(ValueError, match="runs commands only"):
            mb.Executor(engine=engine)
        with pytest.raises(ValueError, match="slots: the engine sets it"):
            mb.Executor(3, engine=engine)
    finally:
        engine.close(0.0)
    with pytest.raises(TypeError, match="callable"):
        mb.Executor(initializer=3)
