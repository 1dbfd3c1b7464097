"""Grids: the same rows wherever they run, and what is finished after Ctrl-C."""

from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import pytest

import malleable as mb
from malleable.replications import replicate

POLICIES = ["max-srpt", "k-lps"]


def stream_of(seed, load):
    return mb.MapShuffleStream(3000 + seed, load)


points = partial(replicate, stream_of, [1, 2], POLICIES, grid={"load": [0.5, 0.8]})


def test_same_rows_wherever_they_run():
    serial = points()
    assert serial.complete
    assert [(row["load"], row["seed"], row["policy"]) for row in serial.rows] == [
        (load, seed, policy) for load in (0.5, 0.8) for seed in (1, 2) for policy in POLICIES
    ]
    with ThreadPoolExecutor(2) as pool:
        assert points(executor=pool) == serial


def test_pools_of_processes():
    call = partial(replicate, partial(_from_load, 2000), [1], ["fcfs", "ps"], grid={"load": [0.5]})
    with ProcessPoolExecutor(2) as pool:
        assert call(executor=pool) == call()


def _from_load(jobs, seed, load):
    return mb.MapShuffleStream(jobs, load)


def test_dask():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = points(executor=client.get_executor())
    assert found == points()


def test_options_of_the_simulation_vary_too_and_the_last_one_fastest():
    axes = {"load": [0.7, 0.8], "estimates": [0.0, 1.0]}
    found = replicate(stream_of, [3], ["max-srpt"], grid=axes)
    assert found.points == [
        {"load": load, "estimates": sigma} for load in (0.7, 0.8) for sigma in (0.0, 1.0)
    ]
    alone = mb.simulate(stream_of(3, 0.7), policy="max-srpt", rng=3).summary["max-srpt"]
    exact, wrong = found.rows[:2]
    assert exact["mean_response"] == pytest.approx(alone["mean_response"], rel=1e-9)
    assert wrong["mean_response"] > exact["mean_response"]


def test_a_point_is_chosen_before_its_means_are_shown():
    found = points()
    with pytest.raises(ValueError, match=r"2 points: at\(\.\.\.\) chooses"):
        found.summary["k-lps"]
    one = found.at(load=0.8)
    assert one.seeds == [1, 2]
    rows = [row for row in found.rows if row["load"] == 0.8 and row["policy"] == "k-lps"]
    mean = one.summary["k-lps"]["mean_response"].mean
    assert mean == pytest.approx(sum(row["mean_response"] for row in rows) / 2)
    assert repr(found) == "Replications(max-srpt, k-lps: 2 replications at 2 points)"


def test_progress():
    with ThreadPoolExecutor(2) as pool:
        for executor in (None, pool):
            seen = []
            points(executor=executor, progress=lambda *at, seen=seen: seen.append(at))
            assert seen == [(k, 4) for k in range(1, 5)]


def test_errors_come_through():
    call = partial(replicate, stream_of, [1, 2], ["fcfs", "lifo"], grid={"load": [0.5]})
    with ThreadPoolExecutor(2) as pool:
        for executor in (None, pool):
            with pytest.raises(ValueError, match="policy = 'lifo'"):
                call(executor=executor)


@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor(2)], ids=["here", "threads"])
def test_ctrl_c_keeps_what_is_finished(executor):
    def interrupt(done, total):
        if done == 2:
            raise KeyboardInterrupt

    found = points(executor=executor, progress=interrupt)
    assert not found.complete
    assert 4 <= len(found.rows) <= 8
    assert found.rows[:4] == points().rows[:4]


def test_any_object_with_submit_will_do():
    class Patient:
        def submit(self, function, *arguments):
            future = Future()
            future.set_result(function(*arguments))
            return future

    assert points(executor=Patient()) == points()
