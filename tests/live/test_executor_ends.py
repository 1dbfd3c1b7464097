"""How pools end: no process outlives them, and nothing is lost or counted twice."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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
    began = time.monotonic()
    script.send_signal(signal.SIGINT)
    _, errors = script.communicate(timeout=PATIENCE)
    assert time.monotonic() - began < 30.0
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


def test_what_was_submitted_is_run_before_the_interpreter_ends(tmp_path):
    script = started(
        tmp_path,
        """
if __name__ == "__main__":
    for threads in (False, True):
        pool = mb.Executor(2, threads=threads)
        for k in range(20):
            pool.submit(calls.note, sys.argv[1], f"{threads}{k}", 0.01)
""",
    )
    _, errors = script.communicate(timeout=PATIENCE)
    assert script.returncode == 0, errors
    assert len(list(tmp_path.glob("True*"))) == len(list(tmp_path.glob("False*"))) == 20


def test_a_script_without_a_guard_is_told(tmp_path):
    script = started(
        tmp_path,
        """
import multiprocessing
pool = mb.Executor(2, mp_context=multiprocessing.get_context("spawn"))
print(repr(pool.submit(pow, 2, 2).exception()))
""",
    )
    said, errors = script.communicate(timeout=PATIENCE)
    assert "BrokenProcessPool" in said
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
