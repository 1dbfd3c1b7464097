"""Jobs of sleeping tasks of which some take long, but not again: mean response with backup tasks and without.

    python -m benchmarks.live.backups --seeds 5

The instance is `straggling_sleeps` of `benchmarks/instances`. For each seed the same jobs come at the same
times, once with backup tasks and once without, as real processes on this machine; task times are not known.
A response is the time from a job's arrival to the end of its last task. With ``--inherent`` a second attempt
takes as long as the first one.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time

from benchmarks.instances import ATTEMPTS, SleepingJob, straggling_sleeps
from malleable.live.decider import SchedulerDecider
from malleable.live.engines.process.local import Local
from malleable.live.ledger import JobState
from malleable.live.loop import Loop
from malleable.live.protocol import Task


def work_of(name: str, job: SleepingJob, backups: bool, inherent: bool) -> JobState:
    """A job as a loop has it."""

    def make(number: int, attempt: int) -> Task:
        seconds = job.seconds[number, 0 if inherent else min(attempt, ATTEMPTS - 1)]
        return Task("", ["sleep", f"{seconds:.3f}"])

    return JobState(name, len(job.seconds), make, backups=backups, arrival=job.arrival)


def run(
    jobs: list[SleepingJob], slots: int, policy: str, backups: bool, inherent: bool
) -> list[JobState]:
    """All jobs as they ended."""
    engine = Local(slots)
    try:
        loop = Loop(engine, SchedulerDecider(slots, policy))
        coming = list(enumerate(jobs))
        while coming or not loop.finished:
            while coming and coming[0][1].arrival <= loop.now:
                place, job = coming.pop(0)
                loop.add(work_of(f"job {place}", job, backups, inherent))
            left = max(0.0, coming[0][1].arrival - loop.now) if coming else 1.0
            if loop.finished:
                time.sleep(left)
            else:
                loop.step(left)
        return list(loop.jobs)
    finally:
        engine.close(0.0)


def response(works: list[JobState], jobs: list[SleepingJob]) -> float:
    """Its mean."""
    return statistics.mean(work.ended - job.arrival for work, job in zip(works, jobs, strict=True))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=40)
    parser.add_argument("--sigma", type=float, default=1.0)
    parser.add_argument("--policy", default="auto")
    parser.add_argument("--inherent", action="store_true")
    asked = parser.parse_args()
    ratios = []
    for seed in range(asked.seeds):
        jobs, slots = straggling_sleeps(seed, asked.sigma, asked.jobs)
        off, on = (
            run(jobs, slots, asked.policy, backups, asked.inherent) for backups in (False, True)
        )
        ratios.append(response(on, jobs) / response(off, jobs))
        told = {
            "seed": seed,
            "mean_response_s": [round(response(each, jobs), 2) for each in (off, on)],
            "ratio": round(ratios[-1], 3),
            "tasks": sum(work.tasks for work in on),
            "backup_tasks": sum(work.sums.backup_tasks for work in on),
            "backups_won": sum(work.sums.backups_won for work in on),
            "wasted_slot_seconds": round(sum(work.sums.wasted_slot_seconds for work in on), 1),
            "slot_seconds": round(sum(work.sums.seconds for work in off), 1),
        }
        print(json.dumps(told), flush=True)
    mean = math.exp(statistics.mean(map(math.log, ratios)))
    print(json.dumps({"geometric_mean_ratio": round(mean, 3)}))


if __name__ == "__main__":
    main()
