"""Functions that workers of test pools import."""

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from contextlib import suppress
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


def begin_and_wait(folder, name):
    """Leaves a file when it begins, and waits for the file ``go``."""
    (Path(folder) / str(name)).touch()
    wait_for(Path(folder) / "go")
    return name


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


class Raises:
    """Raises as soon as somebody unpickles it, but in the process that has made it."""

    def __init__(self, error, *arguments):
        self.error, self.arguments = error, arguments

    def __reduce__(self):
        return _raise, (self.error, *self.arguments)


def _raise(error, *arguments):
    raise error(*arguments)


class UnreadableError(Exception):
    """Can be pickled, and raises when it is unpickled."""

    def __reduce__(self):
        return _raise, (SystemExit, 3)


class Wordless(BaseException):
    """Neither its words nor its pickle can be had."""

    def __str__(self):
        raise SystemExit(4)

    def __reduce__(self):
        raise KeyboardInterrupt


class Unpicklable:
    def __reduce__(self):
        raise SystemExit(5)


def unpickled_badly(error, *arguments):
    return Raises(error, *arguments)


def raised(error, *arguments):
    raise error(*arguments)


def unpicklable():
    return Unpicklable()


def forks(value, how="return"):
    """Parent and child come back."""
    if os.fork() == 0:
        if how == "exit":
            sys.exit(9)
        if how == "raise":
            raise ValueError(value)
        return -1
    os.wait()
    return value


def forked_status(code):
    """What a child ends with that has left the call by SystemExit."""
    if os.fork() == 0:
        sys.exit(code)
    return os.waitstatus_to_exitcode(os.wait()[1])


def closes_descriptors(replaced=False):
    os.closerange(3, 256)
    if replaced:  # something else has these numbers now
        for _ in range(200):
            socket.socketpair()[0].detach()


def writes_everywhere(data=b"\0" * 100):
    """Into all sockets that this process has."""
    for number in range(3, 256):
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, data)
    return 1


def deep(depth=10**6):
    return deep(depth - 1) + 1 if depth else 0


def writes_for_ever():
    """A thread of this call writes until its process ends."""

    def write():
        end = time.monotonic() + 20.0
        while time.monotonic() < end:
            writes_everywhere(b"\xee" * 37)

    threading.Thread(target=write, daemon=True).start()


def straggle(folder, k):
    """Sleeps for long the first time that it is called with 3, beside a process of its own."""
    folder = Path(folder)
    mine = folder / f"call {k}"
    again = mine.exists()
    mine.touch()
    if k == 3 and not again:
        child = subprocess.Popen(["sleep", "600"])
        (folder / "child").write_text(f"{child.pid}\n")
        (folder / "pid").write_text(f"{os.getpid()}\n")
        time.sleep(60.0)
    return k, int(again)
