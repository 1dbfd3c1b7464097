"""How pools end: no process outlives them, and nothing is lost or counted twice."""

import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from malleable.live.engines.process.supervisor import processes
from tests.live.waiting import PATIENCE, gone, pids_in, until

ROOT = Path(__file__).resolve().parent.parent.parent
HEAD = """
import os, sys, time
sys.path.insert(0, {root!r})
import malleable as mb
from tests.live import calls_to_make as calls
"""


def started(tmp_path, body):
    path = tmp_path / "script.py"
    path.write_text(HEAD.format(root=str(ROOT)) + body)
    return subprocess.Popen(
        [sys.executable, str(path), str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def session(number):
    """Processes of a session."""
    found = []
    for pid in processes():
        with suppress(OSError):
            if os.getsid(pid) == number and not gone(pid):
                found.append(pid)
    return found


SLEEPS = """
if __name__ == "__main__":
    with mb.Executor(2{how}) as pool:
        future = pool.submit(calls.sleeper, sys.argv[1])
        print("here", flush=True)
        future.result()
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_nothing_survives_a_kill(tmp_path, method):
    how = f", mp_context=__import__('multiprocessing').get_context({method!r})"
    script = started(tmp_path, SLEEPS.format(how=how))
    pids = pids_in(tmp_path / "pids")
    script.send_signal(signal.SIGKILL)
    script.communicate()
    until(lambda: all(map(gone, pids)))


def test_ctrl_c_ends_what_runs(tmp_path):
    script = started(tmp_path, SLEEPS.format(how=""))
    pids = pids_in(tmp_path / "pids")
    script.send_signal(signal.SIGINT)
    _, errors = script.communicate(timeout=PATIENCE)
    assert script.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in errors
    until(lambda: all(map(gone, pids)))


def test_a_pool_without_a_keeper_is_broken(tmp_path):
    script = started(
        tmp_path,
        """
if __name__ == "__main__":
    with mb.Executor(2) as pool:
        futures = [pool.submit(calls.note, sys.argv[1], "pids", 60)]
        futures += [pool.submit(pow, 1, 1) for _ in range(9)]
        path = os.path.join(sys.argv[1], "pids")
        while not (os.path.exists(path) and os.path.getsize(path)):  # its pid is there
            time.sleep(0.01)
        os.kill(pool._run.engine._keeper.pid, 9)
        print(type(futures[0].exception()).__name__)
        try:
            pool.submit(pow, 1, 1)
        except Exception as error:
            print(error)
""",
    )
    said, errors = script.communicate(timeout=PATIENCE)
    assert said.splitlines() == [
        "BrokenProcessPool",
        "the process that starts workers has ended (exit code -9)",
    ], errors
    (worker,) = pids_in(tmp_path / "pids")
    until(lambda: gone(worker))


WITHOUT_WITH = """
import multiprocessing, threading

def submit():
    global pool
    {pool}
    for k in range(20):
        pool.submit(calls.note, sys.argv[1], f"note {{k}}", 0.01)

def in_daemon():
    thread = threading.Thread(target=submit, daemon=True)
    thread.start()
    thread.join()

def in_child():
    child = multiprocessing.get_context("fork").Process(target=submit)
    child.start()
    child.join()
    sys.exit(child.exitcode)

if __name__ == "__main__":
    {way}
"""
POOLS = {
    "threads": "pool = mb.Executor(2, threads=True)",
    "processes": "pool = mb.Executor(2)",
    "spawn": "pool = mb.Executor(2, mp_context=multiprocessing.get_context('spawn'))",
    "forkserver": "pool = mb.Executor(2, mp_context=multiprocessing.get_context('forkserver'))",
    "dask": """
    from distributed import Client, LocalCluster
    global cluster
    cluster = LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0")
    pool = mb.Executor(engine=mb.engines.Dask(Client(cluster)))""",
    "hyperqueue": "pool = mb.Executor(engine=mb.engines.HyperQueue(2))",
}
WAYS = {
    "plain": ("submit()", 0),
    "error": ("submit(); calls.divide(1, 0)", 1),
    "exit": ("submit(); sys.exit(3)", 3),
    "daemon": ("in_daemon()", 0),
    "process": ("in_child()", 0),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("engine", POOLS)
def test_a_pool_that_nobody_shuts_down(tmp_path, engine, way):
    """What was submitted is run before the interpreter ends, and nothing is left."""
    if engine in ("dask", "hyperqueue"):
        pytest.importorskip({"dask": "distributed"}.get(engine, engine))
    how, status = WAYS[way]
    script = started(tmp_path, WITHOUT_WITH.format(pool=POOLS[engine], way=how))
    _, errors = script.communicate(timeout=PATIENCE)
    assert script.returncode == status, errors
    ours = errors.replace("CommClosedError", "")  # Dask's own log, if its client closes late
    assert ("Error" in ours) == (way == "error"), errors
    assert len(list(tmp_path.glob("note *"))) == 20
    until(lambda: not session(script.pid))


def test_pools_that_come_while_the_interpreter_ends(tmp_path):
    script = started(
        tmp_path,
        """
import threading

def submit(k):
    while True:
        for threads in (False, True):
            pool = mb.Executor(1, threads=threads)
            pool.submit(calls.note, sys.argv[1], f"note {k}")

if __name__ == "__main__":
    for k in range(3):
        threading.Thread(target=submit, args=(k,), daemon=True).start()
    while not os.path.exists(os.path.join(sys.argv[1], "note 1")):
        time.sleep(0.01)
""",
    )
    _, errors = script.communicate(timeout=PATIENCE)
    assert script.returncode == 0, errors
    until(lambda: not session(script.pid))


@pytest.mark.parametrize(
    "pool",
    [
        "threading.Thread(target=time.sleep, args=(600,), daemon=True).start(); pool = mb.Executor(2)",
        *(
            f"pool = mb.Executor(2, mp_context=multiprocessing.get_context({method!r}))"
            for method in ("spawn", "forkserver")
        ),
    ],
    ids=["thread", "spawn", "forkserver"],
)
def test_a_script_without_a_guard_is_told(tmp_path, pool):
    script = started(
        tmp_path,
        f"""
import multiprocessing, threading
{pool}
print(repr(pool.submit(pow, 2, 2).exception()), flush=True)
pool.shutdown()
""",
    )
    said, errors = script.communicate(timeout=PATIENCE)
    (line,) = said.splitlines()
    assert "BrokenProcessPool" in line
    assert "freeze_support" in errors


GOES_ON = """
if __name__ == "__main__":
    with mb.Executor(2, journal=os.path.join(sys.argv[1], "journal"), resume=True) as pool:
        folder = os.path.join(sys.argv[1], "notes")
        made = [
            pool.job(name).map(calls.note, [folder] * 300, [f"{name}{k}" for k in range(300)], [0.004] * 300)
            for name in "ab"
        ]
        print("here", flush=True)
        print(sum(len(future.result()) > 0 for each in made for future in each))
"""


def test_a_run_that_is_killed_again_and_again(tmp_path):
    """Nothing is lost; what had returned is not called again, but for what the last moment held."""
    (tmp_path / "notes").mkdir()
    rng = random.Random(5)
    kills = 0
    for _ in range(10):
        script = started(tmp_path, GOES_ON)
        assert script.stdout.readline() == "here\n", script.stderr.read()
        try:
            script.wait(rng.uniform(0.05, 0.3))
        except subprocess.TimeoutExpired:
            script.send_signal(signal.SIGKILL)
            kills += 1
        said, _ = script.communicate(timeout=PATIENCE)
        if said:
            break
    else:
        said, _ = started(tmp_path, GOES_ON).communicate(timeout=PATIENCE)
    assert said.split()[-1] == "600"
    times = [path.read_text().count("\n") for path in (tmp_path / "notes").iterdir()]
    assert len(times) == 600
    assert kills > 0
    # A kill can take back at most what two workers had at hand, and what was not yet recorded.
    assert sum(times) - 600 <= kills * 40
    assert os.stat(tmp_path / "journal").st_mode & 0o777 == 0o600  # noqa: PTH116
