"""Sets of whole plans, and of their bounds: value over bound, so that a tighter bound is less."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from time import process_time
from typing import Any

import numpy as np

import malleable as mb
from benchmarks.instances import due_steps, due_table, periodic_jobs
from benchmarks.mechanisms import Instance, instances
from benchmarks.mechanisms.families import (
    CURVES,
    DAGS,
    FAMILIES,
    STEPPED,
    curved,
    dags,
    stepped,
    table,
)

_SUMS = ("sum:response", "sum:tardiness", "sum:tardy")
_MAXIMA = ("max:tardiness", "max:stretch")


def _both(
    name: str,
    make: Callable[[int], tuple[Any, int]],
    objective: str,
    seeds: tuple[int, ...],
    **options: Any,
) -> Iterator[Instance]:
    """A plan's value, and its value over its bound, of one plan each seed."""

    @lru_cache(maxsize=len(seeds))
    def plan(seed: int) -> Any:
        made, slots = make(seed)
        found = mb.plan(made, slots, objective, **options)
        return found.value, found.lower_bound

    yield Instance(f"{name}: {objective}", objective, lambda seed: plan(seed)[0], seeds)

    def over_bound(seed: int) -> float:
        value, bound = plan(seed)
        return float(value / bound) if bound else 1.0 + float(value != bound)

    yield Instance(f"{name}: {objective}, bound", "value over bound", over_bound, seeds)


def _tables(sizes: tuple[int, ...], seeds: tuple[int, ...]) -> Iterator[Instance]:
    for jobs in sizes:
        for family in FAMILIES:
            name = f"{family} table, {jobs:,} jobs"
            for objective in (*_SUMS, *_MAXIMA):
                yield from _both(
                    name, lambda seed, f=family, n=jobs: table(f, seed, n), objective, seeds
                )
            yield from _both(
                name, lambda seed, f=family, n=jobs: table(f, seed, n, True), "sum:sla", seeds
            )


@instances("plans-small", "families")
def small() -> Iterator[Instance]:
    """Tables of few jobs."""
    yield from _tables((20, 100), (1, 2, 3, 4, 5, 6, 7, 8))


@instances("plans-large", "families")
def large() -> Iterator[Instance]:
    """Tables of thousands of jobs."""
    yield from _tables((3_000,), (1,))


@instances("plans-deadlines", "benchmarks")
def deadlines() -> Iterator[Instance]:
    """The tables of `benchmarks.large_plans`."""
    for jobs, seeds in ((1_000, (1, 2, 3)), (10_000, (1,))):
        for g in (0.35, 0.06):
            for objective in ("sum:tardiness", "sum:tardy", "max:tardiness"):
                yield from _both(
                    f"T({jobs:,}, {g:g})",
                    lambda seed, n=jobs, g=g: due_table(n, g, seed),
                    objective,
                    seeds,
                )
            yield from _both(
                f"T({jobs:,}, {g:g}) with steps",
                lambda seed, n=jobs, g=g: due_steps(n, g, seed),
                "sum:sla",
                seeds,
            )


@instances("plans-curved", "families")
def below_linear() -> Iterator[Instance]:
    """Speed-ups below linear."""
    for name in CURVES:
        for jobs in (30, 150):
            for objective in (*_SUMS, *_MAXIMA):
                yield from _both(
                    f"{name} speed-ups, {jobs} jobs",
                    lambda seed, f=name, n=jobs: curved(f, seed, n),
                    objective,
                    (1, 2, 3, 4),
                )


@instances("plans-periodic", "families")
def held() -> Iterator[Instance]:
    """Plans of loops that hold decisions."""
    for family in FAMILIES:
        for objective in ("sum:response", "sum:tardiness", "max:stretch"):
            for period in (0.5, 4.0):
                yield from _both(
                    f"{family} table, 60 jobs, period {period:g} s",
                    lambda seed, f=family: table(f, seed, 60),
                    objective,
                    (1, 2, 3, 4),
                    period=period,
                )


@instances("plans-periodic-benchmarks", "benchmarks")
def periodic_benchmarks() -> Iterator[Instance]:
    """The jobs of the section `loops-period-jobs`, all there at time 0."""
    for objective in ("sum:response", "sum:stretch", "max:stretch"):
        for period in (0.5, 2.0):
            yield from _both(
                f"periodic_jobs, 100 jobs at once, period {period:g} s",
                _at_once,
                objective,
                (1, 2, 3, 4),
                period=period,
            )


def _at_once(seed: int) -> tuple[Any, int]:
    jobs, slots = periodic_jobs(seed, jobs=100)
    return mb.Jobs(jobs.work, max_slots=jobs.max_slots), slots


@instances("plans-flows", "families")
def flow_plans() -> Iterator[Instance]:
    """Plans of flows that are there, and of flows that come."""
    for name in DAGS:
        for flows, load in ((8, None), (40, None), (60, 0.8)):
            come = f", load {load:g}" if load else ""
            for objective in ("sum:response", "sum:tardiness", "sum:tardy", "max:tardiness"):
                yield from _both(
                    f"{name}, {flows} flows{come}",
                    lambda seed, f=name, n=flows, load=load: dags(f, seed, n, load),
                    objective,
                    (1, 2, 3, 4),
                )


@instances("plans-steps", "families")
def step_plans() -> Iterator[Instance]:
    """Sets of jobs that end in time, of tables of few jobs."""
    for jobs in (20, 100):
        for name in STEPPED:
            for objective, steps in (("sum:tardy", False), ("sum:sla", True)):
                yield Instance(
                    f"{name} table, {jobs} jobs: {objective}",
                    objective,
                    lambda seed, f=name, n=jobs, o=objective, s=steps: float(
                        mb.plan(*stepped(f, seed, n, s), o).value
                    ),
                    (1, 2, 3, 4, 5, 6),
                )


def _batch(objective: str, parts: int, seed: int) -> float:
    rng = np.random.default_rng(seed)
    jobs = mb.Jobs(rng.lognormal(2.0, 1.0, 4), max_slots=rng.integers(1, 9, 4))
    return float(mb.plan(jobs, 6, objective, period=float(jobs.work.max()) / parts).value)


@instances("plans-batches", "families")
def batches() -> Iterator[Instance]:
    """Four jobs, and periods in which all of them may end."""
    for objective in ("sum:response", "sum:stretch"):
        for parts in (2, 4):
            yield Instance(
                f"four jobs, a period of 1/{parts} of the largest work: {objective}",
                objective,
                lambda seed, o=objective, p=parts: _batch(o, p, seed),
                tuple(range(200, 240)),
            )


def _seconds(objective: str, jobs: int, seed: int) -> float:
    made = table("heavy", seed, jobs)
    taken = []
    for _ in range(3):
        began = process_time()
        mb.plan(*made, objective, effort=0)
        taken.append(process_time() - began)
    return min(taken)


@instances("plans-seconds", "benchmarks")
def seconds() -> Iterator[Instance]:
    """Processor time of the fixed orders and bounds of many jobs."""
    for objective in ("sum:response", "sum:tardiness"):
        yield Instance(
            f"100,000 jobs: {objective}",
            "processor time [s]",
            lambda seed, o=objective: _seconds(o, 100_000, seed),
            (1, 2),
        )
