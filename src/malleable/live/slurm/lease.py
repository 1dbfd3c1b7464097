"""The lease: it restores job arrays when their governor (the program that changes their order) dies. It
consists of a process that watches, and of a job that waits in Slurm.

The process watches a file that the governor touches; it acts at once, but ends with its machine. The job
survives the machine, and begins when the lease is over unless it is pushed back before. Both contain all that
is to be restored, and a later governor can read it there.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from malleable.live.slurm.answers import LEASE, Array, Look
from malleable.live.slurm.commands import Change, Slurm, SlurmError, clean, lines_of

# Changes that restore the values before the run: ``Nice``, ``ArrayTaskThrottle``.
Saved = Sequence[Change]

_UPDATE = re.compile(r"^update JobId=(\d+) (Nice|ArrayTaskThrottle)=(-?\d+)$", re.MULTILINE)
_FILE = "lease-"  # the names of watched files begin so
_LOOKS = 4  # looks until all restored values are visible
_OWNER = re.compile(r"malleable lease (\S+) (\d+)")


# The process that watches: arguments are the file and the name of the job.
_WATCH = """\
while sleep 1; do
  [ -e "$1" ] || exit 0
  [ $(( $(date +%s) - $(stat -c %Y -- "$1") )) -lt "$(head -n 1 -- "$1")" ] || break
done
tries=0
until scontrol ping 2>/dev/null | grep -q 'is UP' || [ $tries -ge 360 ]; do
  tries=$((tries + 1))
  sleep 10
done
tail -n +2 -- "$1" | scontrol >/dev/null 2>&1
scancel -u "$(id -un)" -n "$2" >/dev/null 2>&1
rm -f -- "$1"
"""


class Lease:
    """The lease of one governor. Its process tries for an hour to reach a controller of Slurm, and then takes
    the job out of the queue. The file that it watches, with the seconds of the lease and what to restore, is
    in ``folder``; None: there is only a job."""

    def __init__(self, engine: Slurm, folder: Path | None = None) -> None:
        self._engine = engine
        self._path = folder and folder / f"{_FILE}{socket.gethostname()}-{os.getpid()}"
        self._process: subprocess.Popen[bytes] | None = None
        self._number = 0  # of the job; 0: none
        self._covered: set[Change] = set()  # what the job restores

    def keep(self, saved: Saved, look: Look, seconds: float) -> list[Change]:
        """Restore this after these seconds, unless renewed; returns the changes of the job. SlurmError or
        OSError if there is no lease."""
        if self._path:
            self._watch(self._path, saved, seconds)
        begin = f"now+{max(1, int(seconds))}"
        here = self._number in look.leases
        if here and self._covered.issuperset(saved):
            return [Change(self._number, "StartTime", begin)]
        before = self._number
        tool = shutil.which("scontrol") or "scontrol"
        script = f"#!/bin/sh\n{tool} <<'END' >/dev/null 2>&1\n{lines_of(saved)}END\nexit 0\n"
        self._number = self._engine.submit(
            [
                f"--job-name={LEASE}",
                f"--comment=malleable lease {socket.gethostname()} {os.getpid()}",
                f"--begin={begin}", "--ntasks=1", "--cpus-per-task=1", "--time=1",
                "--output=/dev/null", "--error=/dev/null", "--no-requeue", "--chdir=/",
            ],
            script,
        )  # fmt: skip
        self._covered = set(saved)
        if before and before in look.leases:
            self._engine.drop(before)
        return []

    def _watch(self, path: Path, saved: Saved, seconds: float) -> None:
        fresh = path.with_name(f".{path.name}")
        fresh.write_text(f"{max(1, int(seconds))}\n{lines_of(saved)}")
        fresh.replace(path)
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _WATCH, "lease", str(path), LEASE],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                start_new_session=True, env=clean(os.environ),
            )  # fmt: skip

    def release(self) -> None:
        if self._path:
            self._path.unlink(missing_ok=True)
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None
        if self._number:
            self._engine.drop(self._number)
        self._number, self._covered = 0, set()


def set_back(engine: Slurm, saved: Saved) -> bool:
    """Set waiting arrays back as they were; returns whether one of some looks at the queue has shown it."""
    for _ in range(_LOOKS):
        try:
            arrays = engine.look().arrays
        except SlurmError:
            continue
        wrong = []
        for own in saved:
            array = arrays.get(own.number, Array(own.number))
            now = {"Nice": array.nice, "ArrayTaskThrottle": array.throttle}
            if array.pending and own.value != now[own.key]:
                wrong.append(own)
        if not wrong:
            return True
        engine.change(wrong)
    return False


def _saved_in(text: str) -> Saved:
    values = {(int(array), key): int(value) for array, key, value in _UPDATE.findall(text)}
    return [Change(*at, value) for at, value in values.items()]


def left_behind(engine: Slurm, look: Look, folder: Path) -> int:
    """Set back what dead governors did not, by their leases; returns how many arrays. SlurmError: a governor
    may be alive on another machine, or Slurm refuses."""
    here = socket.gethostname()
    texts = []
    for number, comment in look.leases.items():
        owner = _OWNER.match(comment)
        if owner and owner[1] != here:
            raise SlurmError(
                f"a governor on {owner[1]} (process {owner[2]}) holds job {number}; end it, or wait until "
                "that job has run"
            )
        texts.append(engine.script(number))
    files = sorted(folder.glob(f"{_FILE}*"))
    for path in files:
        machine, _, process = path.name.removeprefix(_FILE).rpartition("-")
        text = path.read_text()
        age = time.time() - path.stat().st_mtime
        if machine != here and age < float(text.partition("\n")[0] or 0):
            raise SlurmError(
                f"a governor on {machine} (process {process}) holds {path}; end it, or wait until its "
                "lease is over"
            )
        texts.append(text)
    saved = _saved_in("\n".join(texts))
    if saved and not set_back(engine, saved):
        raise SlurmError("the changes of a killed governor cannot be set back")
    for path in files:  # so its process ends
        path.unlink(missing_ok=True)
    for number in look.leases:
        engine.drop(number)
    return len({own.number for own in saved})
