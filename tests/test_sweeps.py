"""Sweeps: the same rows wherever they run, and what is finished after Ctrl-C."""

import threading
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import pytest

import malleable as mb
from malleable.sweeps import sweep

POINTS = ([0.5, 0.8], [1, 2], ["max-srpt", "k-lps"])


def stream_of(load, seed):
    return mb.MapShuffleStream(3000 + seed, load)


def test_same_rows_wherever_they_run():
    serial = sweep(stream_of, *POINTS, workers=1)
    assert serial.complete
    assert [(row["load"], row["seed"], row["policy"]) for row in serial[:3]] == [
        (0.5, 1, "max-srpt"),
        (0.5, 1, "k-lps"),
        (0.5, 2, "max-srpt"),
    ]
    assert sweep(stream_of, *POINTS) == serial
    assert sweep(stream_of, *POINTS, workers=3) == serial
    with ThreadPoolExecutor(2) as pool:
        assert sweep(stream_of, *POINTS, executor=pool) == serial


def test_pools_of_processes():
    make = partial(_from_load, 2000)
    serial = sweep(make, [0.5], [1], ["fcfs", "ps"], workers=1)
    with ProcessPoolExecutor(2) as pool:
        assert sweep(make, [0.5], [1], ["fcfs", "ps"], executor=pool) == serial


def _from_load(jobs, load, seed):
    return mb.MapShuffleStream(jobs, load)


def test_dask():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = sweep(stream_of, *POINTS, executor=client.get_executor())
    assert found == sweep(stream_of, *POINTS, workers=1)


def test_errors_vary_fastest_and_have_a_column():
    rows = sweep(stream_of, [0.7], [3], ["max-srpt"], sigmas=[0.0, 1.0])
    assert [row["sigma"] for row in rows] == [0.0, 1.0]
    alone = mb.simulate(stream_of(0.7, 3), policy="max-srpt", rng=3).summary["max-srpt"]
    assert rows[0]["mean_response"] == pytest.approx(alone["mean_response"], rel=1e-9)
    assert rows[1]["mean_response"] > rows[0]["mean_response"]


def test_progress():
    for options in ({"workers": 1}, {"workers": 2}):
        seen = []
        sweep(stream_of, *POINTS, progress=lambda *at, seen=seen: seen.append(at), **options)
        assert seen == [(k, 8) for k in range(1, 9)]


def test_errors_come_through():
    for options in ({"workers": 1}, {"workers": 2}):
        with pytest.raises(ValueError, match="policy = 'lifo'"):
            sweep(stream_of, [0.5], [1], ["fcfs", "lifo"], **options)
    with pytest.raises(ValueError, match="workers = 0"):
        sweep(stream_of, [0.5], [1], ["fcfs"], workers=0)
    with pytest.raises(ValueError, match="workers: an executor"):
        sweep(stream_of, [0.5], [1], ["fcfs"], workers=2, executor=object())


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_keeps_what_is_finished(workers):
    def interrupt(done, total):
        if done == 3:
            raise KeyboardInterrupt

    rows = sweep(stream_of, *POINTS, workers=workers, progress=interrupt)
    assert not rows.complete
    assert 3 <= len(rows) <= 8
    assert rows[:3] == sweep(stream_of, *POINTS, workers=1)[:3]


def test_ctrl_c_stops_what_runs():
    begun = threading.Event()

    def make(load, seed):
        begun.set()
        return mb.MapShuffleStream(10**9 if seed else 2000, load)

    def interrupt(done, total):
        begun.wait(10)
        raise KeyboardInterrupt

    rows = sweep(make, [0.5], [0, 1], ["fcfs"], workers=2, progress=interrupt)
    assert not rows.complete
    assert [row["seed"] for row in rows] == [0]


def test_any_object_with_submit_will_do():
    class Patient:
        def submit(self, function, *arguments):
            future = Future()
            future.set_result(function(*arguments))
            return future

    assert sweep(stream_of, *POINTS, executor=Patient()) == sweep(stream_of, *POINTS)
