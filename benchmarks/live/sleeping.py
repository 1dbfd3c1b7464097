"""Ten jobs of 350 sleeping tasks on 24 slots: mean response against others, and how right expected ends are.

    python benchmarks/live/sleeping.py --seeds 5

Each job has a number of tasks (exponential, at least 1, 350 in all), each task sleeps 2 to 3 s (uniform).
All jobs come at once, in random order; task times are not known. For each seed, one after the other, the
same tasks run under `malleable run` (sum:response), in the order of submission (``--policy fifo``), and from
one list in one GNU parallel where it is on the PATH. The fluid optimum is the lower bound of a plan that
knows all seconds and divides tasks at will: no schedule is better. Responses count from the first start.
``--scale`` shortens all sleeps.

When half of all tasks have ended, `malleable status` is asked when each job that is left will end; the error
is the distance from the true end over what was left until then.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import malleable as mb
from malleable.live.journal import Journal, JournalError
from malleable.live.status import RunStatus, run_status

RUN = [sys.executable, "-m", "malleable", "run"]
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def tasks_of(seed: int, jobs: int, tasks: int, scale: float) -> list[np.ndarray]:
    """Seconds of each task of each job."""
    rng = np.random.default_rng(seed)
    size = rng.exponential(size=jobs)
    counts = 1 + rng.multinomial(tasks - jobs, size / size.sum())
    return [scale * rng.uniform(2.0, 3.0, count).round(3) for count in counts]


def journal_of(folder: Path) -> Path:
    """Where `malleable run` keeps it."""
    return folder / ".malleable" / "journal.sqlite"


def look(folder: Path) -> RunStatus | None:
    """How far the run is, once there is one."""
    try:
        with Journal(journal_of(folder), write=False) as journal:
            return run_status(journal)
    except JournalError:
        return None


def ends_of(folder: Path, jobs: int) -> tuple[list[float], float]:
    """When the last task of each job ended and the first one began, in seconds of the run."""
    ends, first = [0.0] * jobs, np.inf
    with Journal(journal_of(folder), write=False) as journal:
        for attempt in journal.attempts(1):
            ends[attempt.job] = max(ends[attempt.job], attempt.began + attempt.seconds)
            first = min(first, attempt.began)
    return ends, first


def ours(
    work: list[np.ndarray], slots: int, policy: str
) -> tuple[list[float], list[tuple[float, float, bool]]]:
    """Responses, and of each job left at half progress: errors, and whether it ended in the spread."""
    rows = [
        f'[[job]]\ncommand = "sleep {{}}"\nover = {json.dumps([f"{s:.3f}" for s in own])}\n'
        for own in work
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "jobs.toml").write_text("".join(rows))
        command = [*RUN, "jobs.toml", "--slots", str(slots), "--policy", policy]
        half, process = None, subprocess.Popen(command, cwd=folder, **QUIET)
        while process.poll() is None:
            status = look(folder) if half is None else None
            if status and 2 * sum(job.done for job in status.jobs) >= sum(map(len, work)):
                half = status
            time.sleep(0.1)
        assert process.returncode == 0
        ends, first = ends_of(folder, len(work))
    errors = [
        (
            abs(job.end - end) / (end - half.now),
            abs(job.end - end) / end,
            job.early <= end <= job.late,
        )
        for job, end in zip(half.jobs, ends, strict=True)
        if end > half.now and job.left
    ]
    return [end - first for end in ends], errors


def parallel(work: list[np.ndarray], slots: int) -> list[float]:
    """Responses of jobs whose tasks stand in one list, in the order of submission."""
    lines = "".join(f"{seconds:.3f}\n" for own in work for seconds in own)
    with tempfile.TemporaryDirectory() as folder:
        command = ["parallel", f"-j{slots}", "--joblog", "log", "sleep", "{}"]
        subprocess.run(command, cwd=folder, input=lines.encode(), check=True, **QUIET)
        with (Path(folder) / "log").open() as file:
            log = sorted(csv.DictReader(file, delimiter="\t"), key=lambda row: int(row["Seq"]))
    ended = iter(float(row["Starttime"]) + float(row["JobRuntime"]) for row in log)
    first = min(float(row["Starttime"]) for row in log)
    return [max(next(ended) for _ in own) - first for own in work]


def fluid(work: list[np.ndarray], slots: int) -> float:
    """A mean response that no schedule is below."""
    jobs = mb.Jobs(
        work=[own.sum() for own in work], max_slots=[min(len(own), slots) for own in work]
    )
    return mb.plan(jobs, slots=slots, objective="sum:response").lower_bound / len(work)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--tasks", type=int, default=350)
    parser.add_argument("--slots", type=int, default=24)
    parser.add_argument("--scale", type=float, default=1.0)
    asked = parser.parse_args()
    ratios: dict[str, list[float]] = {}
    errors = []
    for seed in range(asked.seeds):
        work = tasks_of(seed, asked.jobs, asked.tasks, asked.scale)
        responses, found = ours(work, asked.slots, "flex")
        errors += found
        mean = statistics.mean(responses)
        others = {
            "the fluid optimum": fluid(work, asked.slots),
            "submission order": statistics.mean(ours(work, asked.slots, "fifo")[0]),
        }
        if shutil.which("parallel"):
            others["one GNU parallel"] = statistics.mean(parallel(work, asked.slots))
        for name, other in others.items():
            ratios.setdefault(name, []).append(mean / other)
        each = {name: round(values[-1], 3) for name, values in ratios.items()}
        print(
            json.dumps({"seed": seed, "mean_response_s": round(mean, 2), "over": each}), flush=True
        )
    for name, values in ratios.items():
        low, high = min(values), max(values)
        print(f"mean response over {name}: {statistics.mean(values):.3f} ({low:.3f} to {high:.3f})")
    of_rest, of_all, inside = zip(*errors, strict=True)
    print(
        f"expected end at half progress, {len(errors)} jobs: median error "
        f"{statistics.median(of_rest):.1%} of what is left, {statistics.median(of_all):.1%} of the whole;"
        f" {statistics.mean(inside):.0%} end within the spread"
    )


if __name__ == "__main__":
    main()
