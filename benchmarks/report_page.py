"""How long the operator's page takes: `malleable report` as a user calls it, and how large its file is.

    python -m benchmarks.report_page --traces FOLDER

A Facebook day (SWIM's workload of 2010, 24 hours sampled: 24,442 jobs, five policies, as many slots as make
the load 0.7) without and
with the curve over loads and wrong sizes, and `instances.operator_week` (200,000 jobs on 110 slots) without
curves. Times are of the wall, and of the processor for all processes; one run each.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import instances

POLICIES = "fair,fifo,srpt,flex,auto"
DAY = "FB-2010_samples_24_times_1hr_0.tsv.gz"


def measured(words: list[str], folder: Path) -> str:
    """Runs the command; what it took."""
    page = folder / "page.html"
    page.unlink(missing_ok=True)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    call = [sys.executable, "-m", "malleable", "report", *words, "--html", str(page), "--quiet"]
    subprocess.run(call, check=True)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{wall:7.1f} s of the wall, {used:7.1f} s of the processor, {page.stat().st_size / 1e6:.2f} MB"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, help="folder of traces (see docs/traces.md)")
    parser.add_argument("--jobs", type=int, default=200_000, help="of the generated week")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        week = folder / "week.csv"
        week.write_text(instances.operator_week(arguments.jobs))
        told = measured([str(week), "--slots", "110", "--quick"], folder)
        print(f"{arguments.jobs:,} jobs, no curves       {told}", flush=True)
        if arguments.traces is None:
            print("Facebook day: needs --traces")
            return 0
        day = [str(arguments.traces / "swim-facebook" / DAY), "--policy", POLICIES, "--load", "0.7"]
        print(f"Facebook day, no curves    {measured([*day, '--quick'], folder)}", flush=True)
        print(f"Facebook day, with curves  {measured(day, folder)}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
