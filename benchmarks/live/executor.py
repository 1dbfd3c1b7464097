"""Calls that do nothing: `mb.Executor` against `ProcessPoolExecutor`, paired; memory and resuming.

    python benchmarks/live/executor.py [--calls 20000] [--seeds 5] [--workers 2] [--json FILE]

Each seed makes the same calls in every pool, one pool after the other in an order of its own. A call is
submitted by itself, results are taken in order; the time is that of the whole, workers being there. The last
two lines are of one script that runs twice: peak memory of the pool's process, 100,000 calls with a journal,
killed (SIGKILL) when 95 of 100 were done; and what the second run needs from the start of its pool until all
calls are submitted and all results of the journal are back, in seconds and in seconds of the processor.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import malleable as mb

MANY = 100_000


def same(value):
    return value


def pools(workers, folder):
    def durable():
        return mb.Executor(workers, journal=folder / "durable", durable=True)

    return {
        "ProcessPoolExecutor": lambda: ProcessPoolExecutor(workers),
        "journal off": lambda: mb.Executor(workers),
        "survives kill -9": lambda: mb.Executor(workers, journal=folder / "journal"),
        "survives power loss": durable,
    }


def seconds_a_call(make, calls):
    with make() as pool:
        for future in [pool.submit(same, k) for k in range(50)]:
            future.result()
        began = time.perf_counter()
        futures = [pool.submit(same, k) for k in range(calls)]
        for k, future in enumerate(futures):
            assert future.result() == k
        return (time.perf_counter() - began) / calls


def peak():
    """Most memory that this process had [MB]."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise OSError("no VmHWM in /proc/self/status")


def session(path):
    """One session of the run that is killed once."""
    began, used = time.perf_counter(), time.process_time()
    with mb.Executor(2, journal=path, resume=True) as pool:
        futures = pool.job("many").map(same, range(MANY))
        took, used = time.perf_counter() - began, time.process_time() - used
        kept = sum(future.done() for future in futures)
        if kept < MANY // 2:
            while not futures[MANY * 95 // 100].done():
                time.sleep(0.001)
            told = {"peak": peak(), "kept": kept, "seconds": took, "used": used}
            print(json.dumps(told), flush=True)
            os.kill(os.getpid(), 9)
        assert [future.result() for future in futures] == list(range(MANY))
        told = {"peak": peak(), "kept": kept, "seconds": took, "used": used}
        print(json.dumps(told), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--session", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.session:
        session(asked.session)
        return
    found = {}
    for seed in range(asked.seeds):
        with tempfile.TemporaryDirectory(dir=".") as name:
            made = pools(asked.workers, Path(name))
            order = list(made)
            random.Random(seed).shuffle(order)
            for pool in order:
                found.setdefault(pool, [None] * asked.seeds)[seed] = seconds_a_call(
                    made[pool], asked.calls
                )
    base = found.pop("ProcessPoolExecutor")
    print(f"ProcessPoolExecutor: {1e6 * statistics.median(base):.0f} us a call (median)")
    for name in pools(1, Path()):
        if name in found:
            ratios = [own / other for own, other in zip(found[name], base, strict=True)]
            print(
                f"{name}: {1e6 * statistics.median(found[name]):.0f} us;"
                f" ratio {statistics.mean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            )
    with tempfile.TemporaryDirectory(dir=".") as name:
        command = [sys.executable, __file__, "--session", f"{name}/journal"]
        told = [
            json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout)
            for _ in range(2)
        ]
    print(f"{MANY:,} calls with a journal: {max(each['peak'] for each in told):.0f} MB at most")
    kept, seconds, used = (told[1][name] for name in ("kept", "seconds", "used"))
    print(f"after a kill: {kept:,} results back after {seconds:.2f} s ({used:.2f} of a processor)")
    if asked.json:
        asked.json.write_text(json.dumps({"base": base, "seconds": found, "sessions": told}))


if __name__ == "__main__":
    main()
