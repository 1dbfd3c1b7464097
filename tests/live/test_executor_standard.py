"""The standard library's own tests of ``concurrent.futures`` on our pools, where the interpreter brings them.

Debian has them in ``libpython3.11-testsuite``. Left out are tests that look inside the pools of the standard
library, or start a program that imports these, and the differences below.
"""

import importlib.util
import subprocess
import sys
import unittest
from concurrent import futures
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
INSIDE = (
    "test_context_manager_shutdown", "test_default_workers", "test_del_shutdown", "test_hang_gh83386",
    "test_hang_global_shutdown_lock", "test_idle_", "test_interpreter_shutdown", "test_max_tasks_",
    "test_processes_terminate", "test_saturation", "test_shutdown_no_wait", "wait_false",
    "test_submit_after_interpreter_shutdown", "test_thread_names_", "test_threads_terminate",
    "FailingInitializer",
)  # fmt: skip
DIFFERENCES = {
    "test_cancel_futures": "a pool that is cancelled at once has begun nothing",
    "test_killed_child": "the death of a worker fails its call and no other",
    "ExecutorDeadlock": "a call that cannot be pickled, or ends its worker, fails alone",
    "test_max_workers_negative": "the argument is slots",
    "test_traceback": "the cause of an error, which has the traceback, is of another class",
    "Spawn": "workers are forked however their helper is started",
    "Forkserver": "workers are forked however their helper is started",
}


def main(kind):
    """Run what is left; the exit status says whether all went well."""
    import malleable as mb

    found = importlib.import_module("test.test_concurrent_futures")
    own = futures.ThreadPoolExecutor if kind == "threads" else futures.ProcessPoolExecutor

    def pool(max_workers=None, **more):
        return mb.Executor(max_workers, threads=kind == "threads", **more)

    suite = unittest.TestSuite()
    for value in list(vars(found).values()):
        test = isinstance(value, type) and issubclass(value, unittest.TestCase)
        if test and getattr(value, "executor_type", None) is own:
            value.executor_type = staticmethod(pool)
            suite.addTests(
                case
                for case in unittest.defaultTestLoader.loadTestsFromTestCase(value)
                if not any(name in case.id() for name in (*INSIDE, *DIFFERENCES))
            )
    assert suite.countTestCases() > 20
    sys.exit(not unittest.TextTestRunner().run(suite).wasSuccessful())


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_of_the_standard_library(kind):
    try:
        found = importlib.util.find_spec("test.test_concurrent_futures")
    except ImportError:
        found = None
    if found is None:
        pytest.skip("this Python has no test.test_concurrent_futures (libpython3.11-testsuite)")
    if found.submodule_search_locations:
        pytest.skip("differences are named for the one module of Python 3.10 and 3.11")
    words = [sys.executable, "-m", "tests.live.test_executor_standard", kind]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    main(sys.argv[1])
