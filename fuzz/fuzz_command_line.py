"""The command line: files of any kind and options of any value.

Whatever it is given it ends in time, with status 0 or with one line that says what is wrong, after
warnings about rows that were skipped on request; nobody sees a traceback.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from decode import Bytes
from driver import run

from malleable.cli import main

NUMBERS = [
    "1",
    "8",
    "0",
    "-1",
    "2.5",
    "1e300",
    "nan",
    "inf",
    "x",
    "",
    "1e18",
    "9" * 30,
    "3,4",
    "100",
]
POLICIES = [
    "flex",
    "fair",
    "fifo",
    "wdeq",
    "flowflex",
    "flowflex-fast",
    "srpt",
    "asrpt",
    "max-srpt",
]
OBJECTIVES = [
    "sum:response",
    "max:stretch",
    "sum:tardy",
    "max:lateness",
    "sum:sla",
    "min:x",
    "sum:",
]
COMMANDS: dict[str, dict[str, list[str] | None]] = {
    "plan": {
        "--slots": NUMBERS,
        "--policy": [*POLICIES, "none"],
        "--objective": OBJECTIVES,
        "--at": NUMBERS,
        "--now": NUMBERS,
        "--effort": ["0", "1", "5", "-1", "x"],
        "--min-mode": ["gang", "guarantee", "start"],
        "--phase": ["map", "reduce"],
        "--explain": None,
    },
    "simulate": {
        "--policy": [*POLICIES, "flex,fair", "none,,"],
        "--model": ["tandem", "slotted", "cluster", "x"],
        "--load": ["0.5", "2", "0", "nan", "x", "1e300", "0.75"],
        "--read": ["task_seconds=5", "block_bytes=9", "most=1", "gap=x", "="],
        "--estimates": ["0.5", "learn", "x", "nan"],
        "--machines": NUMBERS,
        "--step-seconds": NUMBERS,
        "--horizon": NUMBERS,
        "--seed": NUMBERS,
        "--set": ["epoch=1", "failure=0.1", "noise=x", "=", "heartbeat=3", "replicas=2"],
        "--no-overlap": None,
        "--as-printed": None,
        "--non-preemptive": None,
        "--skip-bad": None,
        "--effort": ["0", "5", "x"],
    },
}


def target(data: bytes) -> None:
    """The first bytes are options, the rest is the file."""
    head, text = data[:24], data[24:]
    bytes_ = Bytes(head)
    command = bytes_.pick(sorted(COMMANDS))
    arguments = [command]
    known = sorted(COMMANDS[command])
    for _ in range(bytes_.integer(0, 4)):
        option = bytes_.pick(known)
        values = COMMANDS[command][option]
        arguments += [option] if values is None else [option, bytes_.pick(values)]
    suffix = bytes_.pick([".csv", ".json", ".txt", ".gz", ""])
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        path = Path(folder) / f"input{suffix}"
        path.write_bytes(text)
        arguments.insert(1, str(path))
        if bytes_.chance(128):
            arguments += ["--json", os.devnull]
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = main(arguments)
            except SystemExit as stopped:
                status = stopped.code
        assert status in (0, 1, 2, None), (status, arguments)
        said = err.getvalue().strip()
        assert "Traceback" not in said, said
        if status == 1:
            *warned, wrong = said.splitlines()
            assert wrong.startswith("malleable: error: "), said
            assert not any("error: " in line for line in warned), said
            # How large the cluster is taken to be is a note, whatever comes of it.
            warned = [line for line in warned if not line.startswith("malleable: The cluster has ")]
            assert not warned or "--skip-bad" in arguments, said


if __name__ == "__main__":
    sys.exit(run(target, sys.argv[1:]))
