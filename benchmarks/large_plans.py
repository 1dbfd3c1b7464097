"""Plans of many jobs with deadlines: value over bound, and processor seconds.

``python -m benchmarks.large_plans [SECTION ...]`` prints tables; sections are `met`, `tardiness`, `steps`,
`large` (the two before with more effort, see `large_efforts`), `maxima`, `loop`, `steps-of-effort`, `budget`,
`decide`, `memory`. Instances: `tables`, `loops` and `speed` of benchmarks/instances, each named in its line;
seed 1 unless said. `loop` prints a value for each of the seeds 0, 1, 2.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import malleable as mb
from benchmarks.instances import (
    DUE_EVERY,
    KindStream,
    due_steps,
    due_stream,
    due_table,
    facebook_due,
    instance_a,
    section41_larger,
)
from benchmarks.rivals.loops import JobEpoch, hold_jobs
from malleable.view.latency import DecisionStream

SIZES = (1_000, 10_000, 100_000)

Made = Callable[[], tuple[mb.Jobs, int]]


def _due(jobs: int, g: float) -> tuple[str, Made]:
    return f"T({jobs:,}, {g:g})", lambda: due_table(jobs, g)


def _steps(jobs: int, g: float) -> tuple[str, Made]:
    return f"T({jobs:,}, {g:g}) with steps", lambda: due_steps(jobs, g)


def _paper(jobs: int) -> tuple[str, Made]:
    return f"P({jobs:,})", lambda: section41_larger(jobs, 1, weighted=True)


def _facebook(g: float) -> tuple[str, Made]:
    return f"F({g:g})", lambda: facebook_due(g)


def large_efforts(jobs: int) -> tuple[int, ...]:
    """Efforts that take seconds, for many jobs half a minute."""
    if jobs <= 2_000:
        return (50_000,)
    return (16_000,) if jobs <= 50_000 else (1_000, 4_000)


def _plans(cases: list[tuple[str, Made]], objectives: list[str], large: bool = False) -> None:
    for name, made in cases:
        jobs, slots = made()
        efforts = large_efforts(len(jobs)) if large else (None,)
        for objective, effort in itertools.product(objectives, efforts):
            began = time.process_time()
            plan = mb.plan(jobs, slots, objective, effort=effort)
            taken = time.process_time() - began
            ratio = plan.value / plan.lower_bound if plan.lower_bound else float("nan")
            said = "" if effort is None else f" effort {effort:,}"
            print(
                f"{name:28s} {objective:14s} value {plan.value:12.6g} bound {plan.lower_bound:12.6g} "
                f"over {ratio:6.4f}  {taken:6.2f} s{said}",
                flush=True,
            )


def met(large: bool = False) -> None:
    _plans([_due(n, 1.0) for n in SIZES], ["sum:tardiness", "sum:tardy"], large)


def tardiness(large: bool = False) -> None:
    cases = [_due(n, 0.35) for n in SIZES] + [_paper(n) for n in SIZES]
    _plans([*cases, _facebook(0.35), _facebook(0.06)], ["sum:tardiness"], large)


def steps(large: bool = False) -> None:
    both = (0.35, 0.06)
    _plans([_due(n, g) for n in SIZES for g in both], ["sum:tardy"], large)
    _plans([_steps(n, g) for n in SIZES for g in both], ["sum:sla"], large)
    _plans([_facebook(g) for g in both], ["sum:tardy"], large)
    _plans([_paper(n) for n in SIZES], ["sum:tardy", "sum:sla"], large)


def large() -> None:
    tardiness(True)
    steps(True)


def maxima() -> None:
    cases = [_due(n, g) for n in SIZES[1:] for g in (1.0, 0.35, 0.06)]
    cases += [_paper(n) for n in SIZES[1:]] + [_facebook(0.35)]
    _plans(cases, ["max:lateness", "max:stretch"])


def loop() -> None:
    for jobs, load, seeds in ((500, 0.9, 3), (1_500, 0.9, 3), (1_500, 1.2, 3)):
        for kind in ("tardiness", "tardy"):
            costs = []
            for seed in range(seeds):
                table, slots = due_stream(seed, jobs, load)
                done = hold_jobs(
                    table, slots, JobEpoch(slots, f"sum:{kind}"), DUE_EVERY, between=True
                )
                late = np.maximum(done - table.deadline, 0.0)
                cost = late if kind == "tardiness" else late > 1e-9 * table.deadline
                costs.append(float((table.weight * cost).sum()))
            print(
                f"{jobs} jobs, load {load:g}, {kind:10s}",
                *(f"{c:10.1f}" for c in costs),
                flush=True,
            )


def _small_cases() -> Iterator[tuple[str, mb.Jobs, int, str]]:
    """Tables of few jobs and of hundreds, and objectives with deadlines."""
    for jobs in (12, 40, 150, 500):
        for g in (0.35, 0.06):
            for seed in range(3):
                for made, objectives in (
                    (due_table, ("sum:tardiness", "sum:tardy", "max:lateness", "sum:response")),
                    (due_steps, ("sum:sla",)),
                ):
                    table, slots = made(jobs, g, seed)
                    for objective in objectives:
                        yield f"T({jobs}, {g:g}), seed {seed}", table, slots, objective


EFFORTS = (0, 1, 5, 10, 20, 35, 60, 100, 200, 499, 500, 1_000, 2_000, 4_000)


def steps_of_effort() -> None:
    """How often more effort makes a plan worse, or a bound lower."""
    tried = worse = lower = 0
    for name, table, slots, objective in _small_cases():
        before: Any = None
        for effort in EFFORTS:
            plan = mb.plan(table, slots, objective, effort=effort)
            if before is not None:
                tried += 1
                slack = 1e-9 * abs(before.value)
                if plan.value > before.value + slack:
                    worse += 1
                    print(f"worse at {effort}: {name}, {objective}: {before.value} {plan.value}")
                if plan.lower_bound < before.lower_bound - slack:
                    lower += 1
                    print(
                        f"lower at {effort}: {name}, {objective}: "
                        f"{before.lower_bound} {plan.lower_bound}"
                    )
            before = plan
    print(f"{tried} steps of effort: {worse} make a plan worse, {lower} a bound lower", flush=True)


def budget() -> None:
    for name, made in (_due(10_000, 0.35), _due(100_000, 0.35)):
        jobs, slots = made()
        for objective in ("sum:tardiness", "sum:tardy", "sum:response"):
            for allowed in (0.3, 1.0, 3.0):
                began = time.perf_counter()
                plan = mb.plan(jobs, slots, objective, effort=10**7, budget=allowed)
                taken = time.perf_counter() - began
                print(f"{name} {objective} budget {allowed:g} s: {taken:.2f} s, {plan.status}")


def decide(jobs: int = 1_000_000) -> None:
    """Median milliseconds of a decision after 1 % of the jobs have changed."""
    kinds = [f"sum:{kind}" for kind in ("response", "tardiness", "tardy", "sla")]
    for objective in (*kinds, "max:stretch", "max:lateness", "fair"):
        stream: Any
        if objective == "fair":
            stream = DecisionStream("a", jobs, policy="fair")
        elif objective == "sum:sla":
            stream = KindStream(jobs, "sla")
        else:
            stream = DecisionStream("a", jobs, objective)
        seconds = []
        for _ in range(14):
            stream.change()
            began = time.process_time()
            stream.decide()
            seconds.append(time.process_time() - began)
        print(
            f"{jobs:,} jobs, {objective}: {1e3 * float(np.median(seconds[3:])):.1f} ms", flush=True
        )


_MEASURED = """
import resource, sys, time, numpy as np, malleable as mb
columns = dict(np.load(sys.argv[1]))
slots = int(columns.pop("slots"))
jobs = mb.Jobs(**columns)
del columns
most = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before, began = most(), time.process_time()
mb.plan(jobs, slots, "sum:response", effort=0)
taken = time.process_time() - began
print(f"{len(jobs):,} jobs, sum:response, effort 0: {taken:.2f} s; {before:.0f} MB, then {most():.0f} MB")
"""


def memory(jobs: int = 1_000_000) -> None:
    """The most memory of a process with the table alone, and with its plan."""
    table, slots = instance_a(jobs)
    columns = {name: getattr(table, name) for name in ("work", "min_slots", "max_slots", "weight")}
    with tempfile.TemporaryDirectory() as folder:
        # Made in another process: to draw the table takes more memory than to plan it.
        file = f"{folder}/table.npz"
        np.savez(file, slots=slots, **columns)
        subprocess.run([sys.executable, "-c", _MEASURED, file], check=True)


SECTIONS: dict[str, Callable[[], None]] = {
    "met": met,
    "tardiness": tardiness,
    "steps": steps,
    "large": large,
    "maxima": maxima,
    "loop": loop,
    "steps-of-effort": steps_of_effort,
    "budget": budget,
    "decide": decide,
    "memory": memory,
}


if __name__ == "__main__":
    for section in sys.argv[1:] or SECTIONS:
        print(f"{section}:")
        SECTIONS[section]()
