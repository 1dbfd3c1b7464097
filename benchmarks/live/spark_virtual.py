"""Jobs of Spark's FAIR scheduler in virtual time, under FIFO, FAIR, a plain rival and the governor.

    python -m benchmarks.live.spark_virtual > benchmarks/results/spark.md

Spark is the fake of the tests: its FAIR scheduler, without what a task costs beside its seconds. Jobs are those
of `benchmarks.live.spark`. ``shortest``: the pool with fewest tasks left has all slots as its ``minShare``.
``bound``: all slots serve the job with least work left, and work is divisible.
"""

from __future__ import annotations

import numpy as np

from benchmarks.live.spark import LOAD, SLOTS, drawn, shortest_first
from malleable.live.decider import SchedulerDecider
from malleable.live.spark.context import Context
from malleable.live.spark.governor import Governor
from tests.live.fake_spark import FakeSpark

EVERY, SEEDS = 0.1, 20


def play(
    rule: str, arrivals: list[float], jobs: list[list[tuple[int, float]]]
) -> tuple[float, float]:
    """Mean response and makespan."""
    spark, governor, made, at = FakeSpark(SLOTS), None, [], 0.0
    if rule == "flex":
        decider = SchedulerDecider(SLOTS, counted=True, processors="own")
        governor = Governor(Context(spark), decider, clock=spark.clock)
    while len(made) < len(jobs) or any(job.status == "RUNNING" for job in made):
        at += EVERY
        while len(made) < len(jobs) and arrivals[len(made)] <= at:
            k = len(made)
            spark.until(max(spark.now, arrivals[k]))
            made.append(spark.submit("all" if rule == "fifo" else f"job {k}", *jobs[k]))
        spark.until(at)
        if governor:
            governor.look()
        if rule == "shortest":
            left = {
                job.pool.name: sum(stage.tasks - stage.done for stage in job.stages)
                for job in made
                if job.status == "RUNNING"
            }
            for job in made:
                job.pool.least = SLOTS if left and job.pool.name == min(left, key=left.get) else 0
    ends = np.array([job.ended for job in made])
    return float((ends - arrivals).mean()), float(ends.max())


def bound(arrivals: list[float], jobs: list[list[tuple[int, float]]]) -> float:
    """Mean response of the shortest job first on divisible work."""
    return float((shortest_first(arrivals, jobs) - arrivals).mean())


def main() -> None:
    print(
        f"# Mean response over FAIR's, {SLOTS} slots, load {LOAD}, {SEEDS} seeds (virtual time)\n"
    )
    print(
        "| jobs | rule | seeds 1 to 3 | mean of all | worst | makespan |\n|---|---|---|---|---|---|"
    )
    for queries in (False, True):
        cases = [drawn(seed, queries) for seed in range(1, SEEDS + 1)]
        fair = [play("fair", *case) for case in cases]
        for rule in ("fifo", "shortest", "flex", "bound"):
            if rule == "bound":
                own = [(bound(*case), span) for case, (_, span) in zip(cases, fair, strict=True)]
            else:
                own = [play(rule, *case) for case in cases]
            ratio, span = (np.array(own) / np.array(fair)).T
            first = " ".join(f"{one:.2f}" for one in ratio[:3])
            jobs = "two to four stages" if queries else "one stage"
            print(
                f"| {jobs} | {rule} | {first} | {ratio.mean():.2f} | {ratio.max():.2f} | {span.mean():.3f} |"
            )


if __name__ == "__main__":
    main()
