"""How often runs end within the range that they expected, for tasks of a millisecond to ten seconds.

    python benchmarks/live/ends.py --seeds 8

A run has one list of sleeps (log-normal, sigma 0.3) on four slots. While it goes on, its journal is read: each
expected end that it states between a tenth and nine tenths of its tasks counts, and so does the one at half of
them alone. Printed are, for each length of tasks, how many of the ranges held (80 of 100 should), the ratio of
the expected time that was left to the true one (geometric mean), and the median width of the ranges over the
time that was left. Runs with tasks of a tenth of a second or more are made side by side.
"""

from __future__ import annotations

import argparse
import math
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from malleable.live.journal import Journal, JournalError

SLOTS = 4
TASKS = {0.001: 6000, 0.01: 3000, 0.1: 600, 1.0: 120, 10.0: 30}


def stated(seconds: float, tasks: int, seed: int) -> list[tuple[float, float, float, float, float]]:
    """Share of tasks that had ended, then time that was left: expected, early, late, true."""
    drawn = seconds * np.random.default_rng(seed).lognormal(-0.045, 0.3, tasks)
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "commands.txt").write_text("".join(f"sleep {each:.6f}\n" for each in drawn))
        words = [sys.executable, "-m", "malleable", "run", "commands.txt", "-q", "-j", str(SLOTS)]
        process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL)
        path = folder / ".malleable" / "journal.sqlite"
        known = math.nan
        while process.poll() is None:
            time.sleep(0.2)
            if not path.exists():
                continue
            with Journal(path, write=False) as journal, journal.one_state():
                try:
                    now = journal.run(1).lasted
                except JournalError:  # the run has not begun
                    continue
                end = journal.expected(1).get(0)
                done = sum(1 for _ in journal.attempts(1))
            if end and math.isfinite(end.at) and end.at != known:
                known = end.at
                found.append((done / tasks, now, end.at, end.early, end.late))
        with Journal(path, write=False) as journal:
            last = max(each.end for each in journal.attempts(1))
    return [
        (share, at - now, early - now, late - now, last - now)
        for share, now, at, early, late in found
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--together", type=int, default=4)
    parser.add_argument("--seconds", type=float, nargs="*", default=list(TASKS))
    asked = parser.parse_args()
    for seconds in asked.seconds:
        with ThreadPoolExecutor(asked.together if seconds >= 0.1 else 1) as pool:
            tasks = [TASKS[seconds]] * asked.seeds
            runs = list(pool.map(stated, [seconds] * asked.seeds, tasks, range(asked.seeds)))
        runs = [[each for each in run if 0.1 <= each[0] <= 0.9 and each[4] > 0.0] for run in runs]
        every = [each for run in runs for each in run]
        half = [min(run, key=lambda each: abs(each[0] - 0.5)) for run in runs if run]
        covered, covered_half = (
            statistics.fmean(early <= true <= late for _, _, early, late, true in some)
            for some in (every, half)
        )
        off = math.exp(
            statistics.fmean(math.log(max(at, 1e-9) / true) for _, at, _, _, true in every)
        )
        wide = statistics.median((late - early) / true for _, _, early, late, true in every)
        print(
            f"{seconds:g} s: {covered:.0%} of {len(every)} ranges held, "
            f"{covered_half:.0%} of {len(half)} at half; expected over true {off:.3f}, width {wide:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
