"""Functions that workers of test pools import."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

STARTED = []


def same(value, *more, **named):
    return (value, *more, named) if more or named else value


def slow(value, seconds=0.05):
    time.sleep(seconds)
    return value


def divide(a, b):
    return a / b


def times(seconds=0.02):
    began = time.monotonic()
    time.sleep(seconds)
    return began, time.monotonic()


def note(folder, name, seconds=0.0):
    """Leaves a line for each time that it is called."""
    with (Path(folder) / str(name)).open("a") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(seconds)
    return name


def noted_zeros(folder, count):
    note(folder, "zeros")
    return bytes(count)


def wait_for(path, value=0):
    """Until the file is there, a minute at most."""
    end = time.monotonic() + 60.0
    while not Path(path).exists() and time.monotonic() < end:
        time.sleep(0.01)
    return value


def die(how):
    if how == "exit":
        os._exit(7)
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(folder):
    path = Path(folder) / "died"
    if not path.exists():
        path.touch()
        os._exit(7)
    return "alive"


def leave(how):
    if how == "exit":
        sys.exit(3)
    raise KeyboardInterrupt


def unpicklable_result():
    return threading.Lock()


class OddError(Exception):
    """Does not unpickle, whoever pickles it: it takes another number of arguments than it has."""

    def __init__(self, a, b):
        super().__init__(a)

    def __reduce__(self):
        return type(self), self.args


class StubbornError(Exception):
    """Does not pickle."""

    def __init__(self):
        super().__init__("stubborn")
        self.lock = threading.Lock()


def raise_odd(kind):
    raise OddError(1, 2) if kind == "odd" else StubbornError


class BadResult:
    """Does not unpickle."""

    def __reduce__(self):
        return divide, (1, 0)


def bad_result():
    return BadResult()


def begin(value):
    STARTED.append(value)


def began():
    return list(STARTED)


def fail_to_begin():
    raise ValueError("no good start")


def pid():
    return os.getpid()


def sleeper(folder):
    """A call that has a process of its own, and one that left its session."""
    folder = Path(folder)
    child = subprocess.Popen(["sleep", "60"])
    daemon = subprocess.Popen(["sh", "-c", "sleep 60 & wait"], start_new_session=True)
    (folder / "pids").write_text(f"{os.getpid()} {child.pid} {daemon.pid}\n")
    time.sleep(60)
