"""Plans of loops that hold their slots: over the best loop of small batches, and over the bound of larger ones.

``python -m benchmarks.periodic_plans``. Works lognormal(2, 1) or lognormal(3, 1.5), all there at time 0.

small_batch(seed): 4 jobs on 6 slots, works lognormal(2, 1), maxima U{1..8}; the best loop is by dynamic
    programming (tests/oracles/periodic_optimum). Periods: the largest work over 2, 4, 8 and 16.
large_batch(seed): 100 jobs on 100 slots, works lognormal(3, 1.5), maxima U{1..64}.

``python -m benchmarks.periodic_plans periods`` draws docs/period.png and prints the table beside it:
2,000 jobs of instances.periodic_jobs without their weights, load 0.8, seeds 0 to 4.
"""

from __future__ import annotations

import statistics
import sys

import numpy as np

import malleable as mb
from benchmarks.instances.loops import periodic_jobs
from tests.oracles.periodic_optimum import periodic_optimum

PERIODS = (0.2, 0.5, 1.0, 2.0, 5.0)
PARTS = (2, 4, 8, 16)
OBJECTIVES = ("sum:response", "sum:stretch", "max:response", "max:stretch")


def small_batch(seed: int) -> tuple[mb.Jobs, int]:
    rng = np.random.default_rng(seed)
    return mb.Jobs(rng.lognormal(2.0, 1.0, 4), max_slots=rng.integers(1, 9, 4)), 6


def large_batch(seed: int) -> tuple[mb.Jobs, int]:
    rng = np.random.default_rng(seed)
    return mb.Jobs(rng.lognormal(3.0, 1.5, 100), max_slots=rng.integers(1, 65, 100)), 100


def _line(name: str, ratios: list[float]) -> str:
    worst = int(np.argmax(ratios))
    return (
        f"  {name:28s} mean {statistics.mean(ratios):.4f}, median {statistics.median(ratios):.4f}, "
        f"worst {ratios[worst]:.4f} (seed {worst})"
    )


def small(objective: str, part: int, seeds: int) -> None:
    """Plans, and bounds, over the best loop of all."""
    plans: dict[str, list[float]] = {"flex": [], "fair": []}
    bounds = []
    for seed in range(seeds):
        jobs, slots = small_batch(seed)
        period = float(jobs.work.max()) / part
        work, most = jobs.work.tolist(), jobs.max_slots.tolist()
        best = periodic_optimum(work, most, slots, period, objective, size=work).value
        for policy, ratios in plans.items():
            made = mb.plan(jobs, slots, objective, policy, period=period)
            ratios.append(made.value / best)
        bounds.append(best / mb.plan(jobs, slots, objective, period=period).lower_bound)
    print(f"{objective}, the largest work over {part}:")
    for policy, ratios in plans.items():
        print(_line(f"{policy} / best loop", ratios))
    print(_line("best loop / bound", bounds))


def large(objective: str, period: float, seeds: int) -> None:
    """Plans over their bounds."""
    print(f"{objective}, 100 jobs, period {period:g} s:")
    for policy in ("flex", "fair"):
        plans = [
            mb.plan(*large_batch(seed), objective, policy, period=period) for seed in range(seeds)
        ]
        print(_line(f"{policy} / bound", [own.value / own.lower_bound for own in plans]))


def stream(seed: int) -> mb.Jobs:
    jobs, _ = periodic_jobs(seed, 0.8, 1.0, 2000)
    return mb.Jobs(
        jobs.work, arrival=jobs.arrival, max_slots=jobs.max_slots, deadline=jobs.deadline
    )


def periods() -> None:
    """The table and the picture of docs/loop.md."""
    grid = {"period": [0.0, *PERIODS, 10.0]}
    told, untold = (
        mb.replicate(stream, range(5), ["flex", "fair"], grid=grid, slots=100, knows_period=know)
        for know in (True, False)
    )
    told.plot("docs/period.png")
    for period in grid["period"]:
        own, other = told.at(period=period).summary, untold.at(period=period).summary
        means = [
            way[name]["mean_response"].mean for way in (own, other) for name in ("flex", "fair")
        ]
        late = [own[name]["tardy_share"].mean for name in ("flex", "fair")]
        idle = [way["flex"]["idle_assigned"].mean for way in (own, other)]
        cells = [f"{period:g}", *(f"{mean:.4g}" for mean in means)]
        print("|", " | ".join([*cells, *(f"{100 * share:.1f} %" for share in late + idle)]), "|")


if __name__ == "__main__":
    if sys.argv[1:] == ["periods"]:
        periods()
        sys.exit()
    for goal in OBJECTIVES:
        for cut in PARTS[:3] if goal.startswith("sum") else PARTS[:2]:
            small(goal, cut, 60)
        for period in PERIODS:
            large(goal, period, 5)
