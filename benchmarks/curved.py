"""What plans of jobs with a speed-up below linear give: value over FAIR's, gap, seconds.

    python -m benchmarks.curved [--jobs 30,100,300,1000] [--seeds 5]

Each line is a mean over instances.curved_instance(jobs, p, seed): FLEX with its default effort and without
any, heSRPT, each over FAIR's value; FLEX's gap; the processor time of its plan [s].
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import malleable as mb
from benchmarks.instances import curved_instance

OBJECTIVES = (
    *("sum:response", "sum:stretch", "sum:tardiness", "sum:tardy"),
    *("max:stretch", "max:lateness"),
)


def row(jobs: int, p: float, objective: str, seed: int) -> tuple[float, ...]:
    table, slots = curved_instance(jobs, p, seed)
    fair = mb.plan(table, slots, objective, "fair").value
    began = time.process_time()
    flex = mb.plan(table, slots, objective)
    seconds = time.process_time() - began
    flex.validate()
    quick = mb.plan(table, slots, objective, effort=0)
    hesrpt = mb.plan(table, slots, objective, "hesrpt")
    gap = np.inf if flex.gap is None else flex.gap
    return flex.value / fair, quick.value / fair, hesrpt.value / fair, gap, seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", default="30,100,300,1000")
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    print(*("jobs", "p", "objective", "flex", "effort 0", "hesrpt", "gap", "seconds"), sep="\t")
    for jobs in map(int, asked.jobs.split(",")):
        for p in (0.8, 0.5):
            for objective in OBJECTIVES:
                rows = [row(jobs, p, objective, seed) for seed in range(1, asked.seeds + 1)]
                print(jobs, p, objective, *np.mean(rows, axis=0).round(3), sep="\t", flush=True)


if __name__ == "__main__":
    main()
