"""Other processes and interpreters: a forked child has objects of its own, a second interpreter is told no."""

import os
import subprocess
import sys

import pytest

# Each in a process of its own, which ends whatever happens.
LIMIT = 60

SUBINTERPRETER = """
import sys
try:
    import _interpreters as interpreters  # from 3.13 on
    one = interpreters.create("legacy")  # which shares the lock
    def run(code):
        failed = interpreters.exec(one, code)
        return None if failed is None else f"{failed.type.__name__}: {failed.msg}"
except ImportError:
    import _xxsubinterpreters as interpreters
    one = interpreters.create(**({"isolated": False} if sys.version_info >= (3, 12) else {}))
    def run(code):
        try:
            interpreters.run_string(one, code)
        except interpreters.RunFailedError as error:
            return str(error)
assert run("import sys") is None
print(run("MODULE"))
import malleable
assert len(malleable.Epoch(3)) == 0  # the first interpreter's is whole
"""


def output(code):
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("code", ["from malleable import _core", "from malleable import Epoch"])
def test_a_second_interpreter_is_told_no(code):
    told = output(SUBINTERPRETER.replace("MODULE", code))
    assert "ImportError" in told
    assert "malleable cannot be imported in a subinterpreter: use threads or processes" in told


@pytest.mark.skipif(sys.version_info < (3, 12), reason="interpreters share the lock before 3.12")
def test_an_interpreter_with_a_lock_of_its_own_is_told_no():
    code = SUBINTERPRETER.replace('"legacy"', '"isolated"').replace("False", "True")
    assert "ImportError" in output(code.replace("MODULE", "from malleable import _core"))


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

FORK = """
import os, threading
import numpy as np
import malleable as mb
from malleable import embed

def in_child(work):
    child = os.fork()
    if child == 0:
        os._exit(0 if work() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""

COPIES = """
epoch = mb.Epoch(10)
ids = epoch.add([5.0, 7.0])
handle = embed.handle(epoch)
finish, size = embed.function("malleable_epoch_finish"), embed.function("malleable_epoch_size")

def work():
    left = np.zeros(1, np.int64)
    return finish(handle, 1, ids.ctypes) == 0 and len(epoch) == 1 and size(handle, left.ctypes, 0) == 0 \\
        and left[0] == 1 and epoch.decide(1.0).slots.tolist() == [10]

in_child(work)
assert len(epoch) == 2 and epoch.decide(0.0).slots.sum() == 10
plan = mb.plan(mb.Jobs(np.arange(1.0, 2001.0)), 10, "sum:stretch")
in_child(lambda: mb.plan(mb.Jobs(np.arange(1.0, 2001.0)), 10, "sum:stretch") == plan)
print("copies")
"""

BUSY = """
from malleable import _core
held = _core.UseGuard()
with held:  # as in a call of another thread
    def work():
        try:
            with held:
                return False
        except RuntimeError as error:
            return "in use" in str(error)
    in_child(work)
with held:
    pass
print("busy")
"""


@needs_fork
def test_a_forked_child_has_copies():
    assert output(FORK + COPIES) == "copies\n"


@needs_fork
def test_what_was_in_use_stays_so_in_a_forked_child():
    assert output(FORK + BUSY) == "busy\n"
