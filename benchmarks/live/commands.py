"""Commands that do nothing: seconds a task of `malleable run`, GNU parallel and HyperQueue, in turns.

    python benchmarks/live/commands.py --rounds 5 --tasks 2000 --slots 2

Each round runs all of them once, one after the other, and gives ratios within the round; the medians of
these stand below. Every peer keeps the output of each task in files and goes on after a task that fails.
GNU parallel runs where it is on the PATH; HyperQueue where PYTHON of ``--hyperqueue PYTHON`` has its
package (``pip install hyperqueue``): a server and a worker in one process, the cheapest that it offers;
its client looks once a second whether the job has ended.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HYPERQUEUE = """
import os, sys
from hyperqueue import LocalCluster, Job
from hyperqueue.cluster import WorkerConfig
tasks, slots = int(sys.argv[1]), int(sys.argv[2])
with LocalCluster() as cluster:
    cluster.start_worker(WorkerConfig(cores=slots))
    client, job = cluster.client(), Job()
    for k in range(tasks):
        job.program(["true", str(k)], stdout=f"{os.getcwd()}/{k}.out", stderr=f"{os.getcwd()}/{k}.err")
    client.wait_for_jobs([client.submit(job)])
"""
# As it is where a package is installed: what Python has compiled stays.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def timed(command: list[str], lines: str, folder: Path) -> tuple[float, float]:
    """Seconds on the wall, and of the processor with all children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run(
        command, cwd=folder, input=lines.encode(), check=True, env=ENVIRONMENT,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(tasks: int, slots: int, hyperqueue: str | None) -> dict[str, list[str]]:
    """What each peer is called with."""
    found = {
        "malleable": [
            *(sys.executable, "-m", "malleable", "run", "--slots", str(slots)),
            *("--job", "a", "true {}"),
        ]
    }
    if shutil.which("parallel"):
        found["parallel"] = ["parallel", f"-j{slots}", "--results", "out", "true", "{}"]
    if hyperqueue:
        found["hyperqueue"] = [hyperqueue, "-c", HYPERQUEUE, str(tasks), str(slots)]
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--slots", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--hyperqueue", metavar="PYTHON")
    asked = parser.parse_args()
    lines = "".join(f"{k}\n" for k in range(asked.tasks))
    peers = commands(asked.tasks, asked.slots, asked.hyperqueue)
    with tempfile.TemporaryDirectory() as folder:
        timed(peers["malleable"], "1\n", Path(folder))
    rounds: list[dict[str, tuple[float, float]]] = []
    for _ in range(asked.rounds):
        found = {}
        for name, command in peers.items():
            with tempfile.TemporaryDirectory() as folder:
                found[name] = timed(command, lines, Path(folder))
        rounds.append(found)
        each = {name: round(1e3 * wall / asked.tasks, 3) for name, (wall, _) in found.items()}
        print(json.dumps({"wall_ms_a_task": each}), flush=True)
    for name in peers:
        wall = statistics.median(found[name][0] for found in rounds) / asked.tasks
        busy = statistics.median(found[name][1] for found in rounds) / asked.tasks
        ratio = statistics.median(found["malleable"][0] / found[name][0] for found in rounds)
        print(
            f"{name:>12}: {1e3 * wall:.2f} ms a task, {1e3 * busy:.2f} ms of the processor;"
            f" malleable takes {ratio:.2f} of its time"
        )


if __name__ == "__main__":
    main()
