"""joblib in a pool: `Parallel` as it stands, and searches of scikit-learn."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import malleable as mb
from tests.live.waiting import gone, pids_in, until

joblib = pytest.importorskip("joblib", reason="needs malleable[joblib]: make full installs it")
delayed, Parallel = joblib.delayed, joblib.Parallel


@pytest.fixture(params=[False, True], ids=["processes", "threads"])
def pool(request):
    with mb.Executor(2, threads=request.param) as made:
        yield made


def square(x):
    return x * x


def kind(array, at):
    return type(array).__name__, float(array[at]), array.flags.writeable


def nap(seconds, folder, name):
    time.sleep(seconds)
    Path(folder, str(name)).touch()
    return name


def fails(x):
    if x == 3:
        raise KeyError("three")
    time.sleep(0.01)
    return x


def nested(x):
    return sum(Parallel(n_jobs=2)(delayed(square)(k) for k in range(x)))


def level(x):
    return joblib.parallel.get_active_backend()[0].nesting_level


def threads_of(x):
    from threadpoolctl import threadpool_info

    np.linalg.inv(np.eye(3))
    return [each["num_threads"] for each in threadpool_info()]


def test_results_as_without_it(pool):
    with mb.joblib_backend(pool, job="grid", weight=2):
        assert Parallel()(delayed(square)(k) for k in range(50)) == [k * k for k in range(50)]
        assert Parallel(n_jobs=2)(delayed(square)(k) for k in range(3)) == [0, 1, 4]
        assert Parallel(n_jobs=2)([]) == []
        found = Parallel(n_jobs=2, return_as="generator")(delayed(square)(k) for k in range(500))
        assert list(found) == [k * k for k in range(500)]
        found = Parallel(n_jobs=2, return_as="generator_unordered")(
            delayed(square)(k) for k in range(500)
        )
        assert sorted(found) == [k * k for k in range(500)]
        with Parallel(n_jobs=2) as both:
            for _ in range(3):
                assert both(delayed(square)(k) for k in range(9)) == [k * k for k in range(9)]
    assert list(pool.progress()) == ["grid"]


def test_short_calls_go_in_batches(pool):
    with mb.joblib_backend(pool, job="short"):
        Parallel(n_jobs=2)(delayed(square)(k) for k in range(20_000))
    assert pool.progress()["short"].done < 20_000


def test_an_error_is_that_of_the_call_and_the_job_goes_on(pool):
    with mb.joblib_backend(pool, job="fails"):
        for _ in range(2):
            with pytest.raises(KeyError, match="three"):
                Parallel(n_jobs=2)(delayed(fails)(k) for k in range(200))
        assert Parallel(n_jobs=2)(delayed(square)(k) for k in range(3)) == [0, 1, 4]


def hang(folder, name):
    Path(folder, f"pid {name}").write_text(f"{os.getpid()}\n")
    time.sleep(600.0)


def parent(_):
    return os.getppid()


@pytest.mark.parametrize("how", ["timeout", "interrupt"])
def test_calls_that_nobody_wants_any_more_are_ended(tmp_path, how):
    """They would hold all slots."""
    begun = [tmp_path / f"pid {k}" for k in range(2)]

    def interrupt():
        for path in begun:
            pids_in(path)
        os.kill(os.getpid(), signal.SIGINT)

    with mb.Executor(2) as made, mb.joblib_backend(made):
        error = KeyboardInterrupt if how == "interrupt" else multiprocessing.TimeoutError
        if how == "interrupt":
            threading.Thread(target=interrupt).start()
        with pytest.raises(error):
            Parallel(timeout=1.0 if how == "timeout" else None)(
                delayed(hang)(tmp_path, k) for k in range(2)
            )
        assert Parallel()(delayed(square)(k) for k in range(4)) == [0, 1, 4, 9]
        until(lambda: all(gone(pid) for path in begun if path.exists() for pid in pids_in(path)))


def test_a_shared_pool_that_broke_is_made_anew():
    with mb.joblib_backend(n_jobs=2):
        keeper = Parallel()(delayed(parent)(k) for k in range(2))[0]
        assert keeper != os.getpid()
        os.kill(keeper, signal.SIGKILL)
        until(lambda: gone(keeper))
        for _ in range(3):
            with suppress(BrokenProcessPool):  # until the pool has heard of it
                assert Parallel()(delayed(square)(k) for k in range(4)) == [0, 1, 4, 9]
        assert Parallel()(delayed(square)(k) for k in range(4)) == [0, 1, 4, 9]


def test_nested_calls(pool):
    with mb.joblib_backend(pool):
        assert Parallel(n_jobs=2)(delayed(nested)(k) for k in range(6)) == [0, 0, 1, 5, 14, 30]
        assert set(Parallel(n_jobs=2)(delayed(level)(k) for k in range(4))) == {1}


def test_large_arrays_are_mapped_and_nothing_is_left_behind():
    def left():
        return {*Path("/dev/shm").glob("joblib_memmapping_folder_*")}

    before, array = left(), np.arange(1e6)
    with mb.Executor(2) as pool, mb.joblib_backend(pool):
        found = Parallel(n_jobs=2)(delayed(kind)(array, k) for k in range(4))
        assert found == [("memmap", float(k), False) for k in range(4)]
        small = Parallel(n_jobs=2, max_nbytes=None)(delayed(kind)(array, k) for k in range(2))
        assert {name for name, *_ in small} == {"ndarray"}
    assert left() <= before


def test_n_jobs_is_a_maximum(tmp_path):
    with mb.Executor(3) as pool:
        most = []

        def watch():
            while not stop.is_set():
                most.append(max((p.running for p in pool.progress().values()), default=0))
                time.sleep(0.02)

        stop = threading.Event()
        with mb.joblib_backend(pool, job="two"):
            Parallel(n_jobs=2)(delayed(square)(k) for k in range(2))
            watcher = threading.Thread(target=watch)
            watcher.start()
            Parallel(n_jobs=2)(delayed(nap)(0.2, str(tmp_path), k) for k in range(8))
            stop.set()
            watcher.join()
        assert max(most) == 2


def test_a_short_search_does_not_wait_behind_a_long_one(tmp_path):
    ends = {}

    def search(pool, name, calls):
        with mb.joblib_backend(pool, job=name, seconds=0.05):
            Parallel(n_jobs=2)(
                delayed(nap)(0.05, str(tmp_path), f"{name}{k}") for k in range(calls)
            )
        ends[name] = time.monotonic()

    with mb.Executor(2) as pool:
        pool.submit(square, 1).result()
        began = time.monotonic()
        long = threading.Thread(target=search, args=(pool, "long", 80))
        long.start()
        while pool.progress().get("long", None) is None:
            time.sleep(0.005)
        short = threading.Thread(target=search, args=(pool, "short", 6))
        short.start()
        long.join()
        short.join()
    assert ends["short"] - began < 0.5 * (ends["long"] - began)


def test_the_name_is_known_to_joblib():
    program = (
        "import joblib, malleable as mb\n"
        "from joblib import Parallel, delayed, parallel_config\n"
        "if __name__ == '__main__':\n"
        "    with parallel_config(backend='malleable', n_jobs=2):\n"
        "        print(Parallel()(delayed(divmod)(k, 3) for k in range(4)))\n"
        "        print(type(joblib.parallel.get_active_backend()[0]).__name__)\n"
    )
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert found.stdout.split("\n")[:2] == [
        "[(0, 0), (0, 1), (0, 2), (1, 0)]", "MalleableBackend",
    ], found.stderr  # fmt: skip


def test_settings_that_are_wrong_are_named():
    with (
        mb.Executor(2) as pool,
        pytest.raises(ValueError, match="weight"),
        mb.joblib_backend(pool, job="grid", weight=-1),
    ):
        Parallel(n_jobs=2)(delayed(square)(k) for k in range(3))


def test_libraries_use_few_threads():
    pytest.importorskip("threadpoolctl")
    with mb.Executor(2) as pool, mb.joblib_backend(pool, inner_max_num_threads=1):
        found = Parallel(n_jobs=2)(delayed(threads_of)(k) for k in range(4))
    assert {each for call in found for each in call} <= {1}


def test_searches_of_scikit_learn():
    pytest.importorskip("sklearn", reason="needs scikit-learn: make full installs it")
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, cross_val_score

    X, y = make_classification(300, 8, random_state=0)
    grid = {"C": [0.01, 0.1, 1.0, 10.0]}
    alone = GridSearchCV(LogisticRegression(), grid, cv=3).fit(X, y)
    with mb.Executor(2) as pool:
        with mb.joblib_backend(pool, job="grid"):
            found = GridSearchCV(LogisticRegression(), grid, cv=3).fit(X, y)
            forest = RandomForestClassifier(20, random_state=0)
            scores = cross_val_score(forest, X, y, cv=3)
        assert pool.progress()["grid"].done > 0
    assert found.best_params_ == alone.best_params_
    assert np.allclose(found.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])
    assert np.allclose(scores, cross_val_score(forest, X, y, cv=3))
