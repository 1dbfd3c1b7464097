"""The contract of ``concurrent.futures``, once for every engine; Ray's tests run it, too.

Differences that remain: an engine without the ability ``withdraw`` (Dask, HyperQueue, Ray) does not know which
calls have begun of those that it was given. There a call runs from when it was handed over. If its job or pool
is cancelled, it may be cancelled although it has begun.
"""

import threading
import weakref
from concurrent import futures
from contextlib import contextmanager

import pytest

import malleable as mb
from tests.live import calls_to_make as calls
from tests.live.waiting import PATIENCE, until


@contextmanager
def on_threads():
    with mb.Executor(2, threads=True) as made:
        yield made


@contextmanager
def on_processes():
    with mb.Executor(2) as made:
        yield made


@contextmanager
def on_dask():
    distributed = pytest.importorskip("distributed", reason="needs malleable[dask]")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0",
            silence_logs=50, protocol="tcp",
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        mb.Executor(engine=mb.engines.Dask(client)) as made,
    ):  # fmt: skip
        yield made


@contextmanager
def on_hyperqueue():
    pytest.importorskip("hyperqueue", reason="needs malleable[hyperqueue]")
    with mb.Executor(engine=mb.engines.HyperQueue(2)) as made:
        yield made


def begun(folder):
    """Names of calls of `calls.begin_and_wait` that have begun."""
    return {path.name for path in folder.iterdir() if path.name != "go"}


class Contract:
    """What holds on every engine; a subclass has the fixture ``pool``."""

    @pytest.fixture
    def held(self, pool, tmp_path):
        """Calls that hold all slots until the file ``go`` is there."""
        made = [pool.submit(calls.begin_and_wait, tmp_path, k) for k in range(pool.slots)]
        until(lambda: len(begun(tmp_path)) == pool.slots)
        yield made
        (tmp_path / "go").touch()

    @staticmethod
    def withdraws(pool):
        return pool._run.engine.abilities.withdraw

    def test_a_call_that_runs(self, pool, held, tmp_path):
        assert all(future.running() for future in held)
        assert not any(future.cancel() or future.cancelled() or future.done() for future in held)
        for look in (held[0].result, held[0].exception):
            with pytest.raises(futures.TimeoutError):
                look(0.0)
        assert futures.wait(held, 0.0) == (set(), set(held))
        with pytest.raises(futures.TimeoutError):
            next(futures.as_completed(held, 0.0))
        (tmp_path / "go").touch()
        assert [future.result(PATIENCE) for future in held] == list(range(pool.slots))
        assert not any(future.cancel() or future.running() for future in held)
        assert all(future.done() and future.exception() is None for future in held)

    def test_a_call_that_waits(self, pool, held, tmp_path):
        waits = pool.submit(calls.begin_and_wait, tmp_path, "waits")
        told = []
        waits.add_done_callback(told.append)
        assert not (waits.running() or waits.done() or waits.cancelled())
        assert waits.cancel()
        assert waits.cancel()
        assert waits.cancelled()
        assert waits.done()
        assert not waits.running()
        assert told == [waits]
        waits.add_done_callback(told.append)
        assert told == [waits, waits]
        for look in (waits.result, waits.exception):
            with pytest.raises(futures.CancelledError):
                look(PATIENCE)
        assert futures.wait([waits, *held], PATIENCE, futures.FIRST_COMPLETED).done == {waits}
        assert next(futures.as_completed([waits, *held], PATIENCE)) is waits
        (tmp_path / "go").touch()
        assert pool.submit(pow, 2, 3).result(PATIENCE) == 8
        assert "waits" not in begun(tmp_path)

    def test_long_calls_after_short_ones(self, pool, tmp_path):
        """The pool has learnt that calls are short, and hands many of them over."""
        assert list(pool.map(abs, range(500))) == list(range(500))
        made = [pool.submit(calls.begin_and_wait, tmp_path, k) for k in range(20)]
        until(lambda: len(begun(tmp_path)) >= pool.slots)
        if self.withdraws(pool):
            assert sum(future.running() for future in made) == pool.slots
        cancelled = [future for future in made if future.cancel()]
        assert all(future.cancelled() for future in cancelled)
        (tmp_path / "go").touch()
        left = [k for k, future in enumerate(made) if future not in cancelled]
        assert [made[k].result(PATIENCE) for k in left] == left
        assert begun(tmp_path) == set(map(str, left))
        if self.withdraws(pool):
            assert len(left) == pool.slots

    @pytest.mark.parametrize("whole", [True, False], ids=["pool", "job"])
    def test_a_pool_or_a_job_that_is_cancelled(self, pool, whole, tmp_path):
        job = pool.job("a")
        wait([job.submit(abs, k) for k in range(500)])
        made = [job.submit(calls.begin_and_wait, tmp_path, k) for k in range(20)]
        until(lambda: len(begun(tmp_path)) >= pool.slots)
        if whole:
            pool.shutdown(wait=False, cancel_futures=True)
        else:
            job.cancel()
        with pytest.raises(RuntimeError):
            job.submit(abs, 1)
        until(lambda: sum(future.cancelled() for future in made) >= 20 - pool.slots)
        (tmp_path / "go").touch()
        assert not futures.wait(made, PATIENCE).not_done
        for k, future in enumerate(made):
            if future.cancelled():
                with pytest.raises(futures.CancelledError):
                    future.exception()
            else:
                assert future.result() == k
        if self.withdraws(pool):
            assert {str(k) for k, f in enumerate(made) if not f.cancelled()} == begun(tmp_path)

    def test_a_cancel_in_every_thread(self, pool, held, tmp_path):
        made = [pool.submit(calls.begin_and_wait, tmp_path, f"late {k}") for k in range(50)]
        told = []
        for future in made:
            future.add_done_callback(told.append)

        def cancel():
            for future in made:
                future.cancel()

        threads = [threading.Thread(target=cancel) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(map(id, told)) == sorted(map(id, made))
        (tmp_path / "go").touch()
        wait(held)
        assert len(begun(tmp_path)) == pool.slots

    def test_errors(self, pool):
        good, bad = pool.submit(calls.same, 1), pool.submit(calls.divide, 1, 0)
        assert isinstance(bad.exception(PATIENCE), ZeroDivisionError)
        with pytest.raises(ZeroDivisionError):
            bad.result(PATIENCE)
        assert not (bad.cancelled() or bad.running() or bad.cancel())
        assert good.exception(PATIENCE) is None

    def test_the_first_error(self, pool, tmp_path):
        waits = pool.submit(calls.wait_for, tmp_path / "go")
        bad = pool.submit(calls.divide, 1, 0)
        done, left = futures.wait([waits, bad], PATIENCE, futures.FIRST_EXCEPTION)
        assert (done, left) == ({bad}, {waits})
        (tmp_path / "go").touch()
        assert futures.wait([waits, bad], PATIENCE) == ({waits, bad}, set())

    def test_each_future_is_completed_once(self, pool):
        made = [pool.submit(calls.same, k) for k in range(30)]
        assert sorted(f.result() for f in futures.as_completed(made * 2, PATIENCE)) == list(
            range(30)
        )

    def test_callbacks(self, pool, caplog):
        told, here = [], threading.Event()
        future = pool.submit(calls.slow, 5)
        future.add_done_callback(lambda future: told.append(future.result()))
        future.add_done_callback(lambda _: calls.divide(1, 0))
        future.add_done_callback(lambda _: here.set())
        assert here.wait(PATIENCE)
        assert told == [5]
        assert "exception calling callback" in caplog.text
        assert pool.submit(pow, 2, 3).result(PATIENCE) == 8

    def test_a_callback_that_cancels_and_submits(self, pool, held, tmp_path):
        waits = [pool.submit(calls.same, k) for k in range(5)]
        more, here = [], threading.Event()

        def act(_):
            more.extend([*(future.cancel() for future in waits), pool.submit(calls.same, 7)])
            here.set()

        held[0].add_done_callback(act)
        (tmp_path / "go").touch()
        assert here.wait(PATIENCE)
        assert more[-1].result(PATIENCE) == 7
        assert [future.cancelled() for future in waits] == more[:-1]

    def test_map(self, pool, tmp_path):
        assert list(pool.map(pow, range(100), [2] * 99)) == [k * k for k in range(99)]
        found = pool.map(calls.divide, [1, 1, 1], [1, 0, 1])
        assert next(found) == 1.0
        with pytest.raises(ZeroDivisionError):
            next(found)
        with pytest.raises(futures.TimeoutError):
            list(pool.map(calls.wait_for, [tmp_path / "go"] * 2, timeout=0.01))
        (tmp_path / "go").touch()

    def test_map_keeps_no_result(self, pool):
        for found in pool.map(set, [[1]] * 5):
            known = weakref.ref(found)
            del found
            until(lambda known=known: known() is None)

    def test_shutdown(self, pool, held, tmp_path):
        last = pool.submit(calls.same, 5)
        pool.shutdown(wait=False)
        with pytest.raises(RuntimeError, match="after shutdown"):
            pool.submit(abs, 1)
        assert not any(future.done() for future in (*held, last))
        (tmp_path / "go").touch()
        pool.shutdown()
        assert all(future.done() for future in (*held, last))
        assert last.result() == 5

    @pytest.mark.parametrize("error", [ValueError, SystemExit])
    def test_the_end_of_a_block(self, pool, error):
        with pytest.raises(error), pool:
            made = [pool.submit(calls.slow, k) for k in range(6)]
            raise error
        assert [future.result(0.0) for future in made] == list(range(6))


def wait(made):
    assert not futures.wait(made, PATIENCE).not_done


class TestContract(Contract):
    @pytest.fixture(params=[on_threads, on_processes, on_dask, on_hyperqueue])
    def pool(self, request):
        with request.param() as made:
            yield made
