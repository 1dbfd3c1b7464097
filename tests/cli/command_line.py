"""The command line as a process or called in this one, and what tests give it."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from malleable.cli import main

TABLE = "name,work,min_slots,max_slots,deadline\na,400,1,100,9\nb,40,1,20,3\nc,40,1,20,4\n"

SWIM = "j0\t0\t0\t671088640\t0\t0\nj1\t9\t9\t0\t1000000000\t0\nj2\t20\t11\t67108864\t0\t0\n"

COMMAND = [sys.executable, "-m", "malleable"]


def rumen(name, submit, finish, tasks):
    attempts = [
        {"attempts": [{"startTime": a * 1000, "finishTime": b * 1000, "result": "SUCCESS"}]}
        for a, b in tasks
    ]
    times = {"submitTime": submit * 1000, "finishTime": finish * 1000}
    return json.dumps({"jobID": name, **times, "mapTasks": attempts})


def run(*arguments, stdin=None, cwd=None, **options):
    if stdin is None:
        options.setdefault("stdin", subprocess.DEVNULL)
    else:
        options["input"] = stdin if isinstance(stdin, bytes) else stdin.encode()
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, cwd=cwd, check=False, **options
    )
    done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
    return done


def read_json(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout, parse_constant=pytest.fail)


def call(capsys, *arguments):
    """The same as `run` without a process of its own."""
    status = main([str(word) for word in arguments])
    captured = capsys.readouterr()
    return subprocess.CompletedProcess(arguments, status, captured.out, captured.err)


def check_one_line(done, *words):
    """Exit status 1, nothing on standard output, one line that says what and where."""
    assert done.returncode == 1, done
    assert done.stdout == ""
    assert done.stderr.startswith("malleable: error: ")
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith("\n")
    for word in words:
        assert word in done.stderr


def interrupted(arguments, cwd, ready):
    """Run, interrupt as soon as ``ready()`` holds, and return the ended process's outcome."""
    # A parent that ignores the signal hands that down.
    start = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    start += "from malleable.cli import main; sys.exit(main())"
    with subprocess.Popen(
        [sys.executable, "-c", start, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
    ) as process:
        ready(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def cpu_seconds(process):
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def busy_for(seconds):
    def ready(process):
        while cpu_seconds(process) < seconds:
            time.sleep(0.05)

    return ready


def on_terminal(columns, *arguments):
    """What somebody sees on a terminal of that width, without colours."""
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    size = {"COLUMNS": str(columns), "LINES": "50"}
    done = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **size, "TERM": "xterm"},
    )
    os.close(slave)
    seen = b""
    with contextlib.suppress(OSError):  # that is how the end of a terminal is told
        while more := os.read(master, 100_000):
            seen += more
    os.close(master)
    assert done.wait() == 0
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen.decode()).replace("\r", "").splitlines()
