"""What tests of live runs wait for, and how long."""

import time
from pathlib import Path

PATIENCE = 60.0  # [s]: nothing here takes so long, however busy the machine is


def until(condition, patience=PATIENCE):
    """What a condition gives once it holds."""
    end = time.monotonic() + patience
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.01)
    return found


def gone(pid):
    """Whether a process has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return True
    return stat.rpartition(b")")[2].split()[0] == b"Z"


def pids_in(path):
    """Process numbers of a file, once it has been written in full."""
    text = until(lambda: path.exists() and path.read_text().endswith("\n") and path.read_text())
    return [int(word) for word in text.split()]
