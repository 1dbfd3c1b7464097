"""A run of 100,000 tasks: memory of the process that governs it, and how soon it goes on after kill -9.

    python benchmarks/live/large.py --seeds 5

For each seed a journal is written in which a random half of the tasks has ended well, as a run leaves it that
was killed. Measured of ``malleable run --resume`` from there: seconds from its start to the first task that
it starts and, to tell what is ours, of that what Python takes to import the command; and most memory of the
governing process until its end (with ``--whole``: all other tasks run, `true` each; else it is ended when the
first task has started). The same of a new run of so many tasks, which has nothing to read.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from malleable.live.jobs_file import parse_jobs, recorded
from malleable.live.journal import Attempt, Journal

COMMAND = [sys.executable, "-m", "malleable", "run"]
IMPORT = "import malleable.cli.arguments as a; a.build_parser().parse_args(['run'])"


def processor_seconds(pid: int) -> float:
    """Of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def seconds_to_start(words: list[str], folder: Path, whole: bool) -> tuple[float, float, float]:
    """Seconds until the first task has started, of the processor too; the process' most bytes."""
    mark = folder / "started"
    mark.unlink(missing_ok=True)
    began = time.perf_counter()
    process = subprocess.Popen([*COMMAND, *words], cwd=folder, stdout=subprocess.DEVNULL)
    while not mark.exists() and process.poll() is None:
        time.sleep(0.001)
    took = time.perf_counter() - began
    busy = processor_seconds(process.pid)
    time.sleep(0.5)
    status = Path(f"/proc/{process.pid}/status")
    most = 0
    while process.poll() is None:
        text = status.read_text()
        if "VmHWM" in text:
            most = max(most, int(text.partition("VmHWM:")[2].split()[0]) * 1024)
        if not whole:
            os.kill(process.pid, signal.SIGKILL)
        time.sleep(0.2)
    process.wait()
    return took, busy, most


def prepared(folder: Path, tasks: int, seed: int) -> None:
    """A journal in which half of the tasks has ended well."""
    rows = [{"name": "a", "command": "touch started; true", "over": {"range": tasks}}]
    ended = np.sort(np.random.default_rng(seed).choice(tasks, tasks // 2, replace=False)).tolist()
    with Journal(folder / ".malleable" / "journal.sqlite") as journal:
        jobs = recorded(parse_jobs(rows, folder), rows)
        run = journal.begin(2, "sum:response", "flex", jobs)
        journal.enter(run)
        attempts = (Attempt(0, k, 0, 0, 0.001 * k, 0.01, 0.005, 1e6) for k in ended)
        journal.record(run, 0.001 * tasks, attempts)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--whole", action="store_true", help="run all tasks to the end")
    asked = parser.parse_args()
    rows = []
    for seed in range(asked.seeds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", IMPORT], check=True)
        imported = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            prepared(folder, asked.tasks, seed)
            resumed, of_it, most = seconds_to_start(["--resume"], folder, asked.whole)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "jobs.toml").write_text(
                f'[[job]]\ncommand = "touch started; true"\nover.range = {asked.tasks}\n'
            )
            *_, fresh_most = seconds_to_start(["--slots", "2"], folder, False)
        rows.append((imported, busy, resumed, of_it, most / 1e6, fresh_most / 1e6))
        print(" ".join(f"{value:.2f}" for value in rows[-1]), flush=True)
    middle = map(statistics.median, zip(*rows, strict=True))
    imported, busy, resumed, of_it, most, fresh_most = middle
    print(
        f"{asked.tasks:,} tasks: resumed after {resumed:.2f} s, {of_it:.2f} s of the processor; of these"
        f" imports {imported:.2f} and {busy:.2f} s. At most {most:.0f} MB, a new run {fresh_most:.0f} MB"
    )


if __name__ == "__main__":
    main()
