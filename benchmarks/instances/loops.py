"""Jobs and flows that come one after the other, for loops that ask for decisions.

periodic_jobs(seed, load, period, jobs=400): works lognormal(3, 1.5), maxima U{1..64}, minima 0, 100 slots,
    Poisson arrivals E[work] / (100 load) apart, E[work] = exp(3 + 1.5^2 / 2); deadlines arrival + work / max
    x U(1.5, 6) + 2 period, weights U{1..9}. Works, maxima and arrivals depend on the seed alone, so the same
    jobs are held for any period. Seeds LOOP_SEEDS, periods LOOP_PERIODS x SERVICE, the mean time of a job at
    its maximum. The load is that of the distribution: what a draw of 400 jobs brings until its last arrival
    is 0.77 times the slots in the mean and from 0.59 to 0.95 in single draws (seeds 0 to 19), so that ratios
    of two rules over 20 seeds scatter by 0.02 at P = 0.2, by 0.01 at P = 5.
periodic_errors(seed, sigma, jobs=400): factors exp(sigma Z) of what is believed of their works.
periodic_flows(seed, load=0.8, flows=80): DAGs of U{3..8} jobs of works lognormal(2.5, 1), maxima U{1..29}, an
    arrow from each earlier job with chance 0.35, 50 slots, Poisson arrivals E[work of a flow] / (50 load)
    apart.
due_stream(seed, jobs, load=0.9): 100 slots, three in ten jobs there at the start, the others come Poisson
    E[work] / (100 load) apart; works lognormal(3, 1.5), maxima U{1..64}, weights U{1..9}, deadlines arrival +
    work / max + U(0.05, 1.2) x 0.35 x all work / 100. Decisions at completions and every DUE_EVERY seconds.
width_stream(seed, widths, slack=1.0, load=0.9, jobs=300): 64 slots, works lognormal(3, 1.5), Poisson arrivals
    E[work] / (64 load) apart, deadlines arrival + work / max x U(1, 1 + slack); maxima by widths: U{1..64}
    ("uniform"), or 1 and 64 with equal chances ("extreme"). Decisions at arrivals and completions.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from malleable import Flows, Jobs

__all__ = [
    "DUE_EVERY",
    "LOOP_PERIODS",
    "LOOP_SEEDS",
    "SERVICE",
    "due_stream",
    "periodic_errors",
    "periodic_flows",
    "periodic_jobs",
    "width_stream",
]

LOOP_PERIODS = (0.05, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
"""How long decisions are held, in mean times of a job at its maximum (`SERVICE`)."""

LOOP_SEEDS = range(20)
"""Seeds of loops whose decisions are held."""

DUE_EVERY = 5.0
"""Seconds between decisions of `due_stream` beside those at completions."""

_MU, _SIGMA = 3.0, 1.5
_MEAN = math.exp(_MU + _SIGMA**2 / 2)  # slot-seconds of a job
SERVICE = _MEAN * sum(1 / most for most in range(1, 65)) / 64
"""E[work / maximum] of these jobs: 4.59 s."""


def periodic_jobs(
    seed: int, load: float = 0.8, period: float = 1.0, jobs: int = 400
) -> tuple[Jobs, int]:
    """Malleable jobs that come while decisions are held for a period."""
    rng, slots = np.random.default_rng(seed), 100
    work = rng.lognormal(_MU, _SIGMA, jobs)
    most = rng.integers(1, 65, jobs)
    arrival = np.cumsum(rng.exponential(size=jobs)) * _MEAN / (slots * load)
    due = arrival + work / most * rng.uniform(1.5, 6.0, jobs) + 2 * period
    weight = rng.integers(1, 10, jobs)
    return Jobs(work, arrival=arrival, max_slots=most, deadline=due, weight=weight), slots


def periodic_errors(seed: int, sigma: float, jobs: int = 400) -> npt.NDArray[np.float64]:
    """Estimates of each job's work, over the truth."""
    return np.random.default_rng([seed, 1]).lognormal(0.0, sigma, jobs)


def periodic_flows(seed: int, load: float = 0.8, flows: int = 80) -> tuple[Flows, int]:
    """DAGs that come while decisions are held for a period."""
    rng, slots = np.random.default_rng(seed), 50
    tables = []
    for size in rng.integers(3, 9, flows).tolist():
        work, most = rng.lognormal(2.5, 1.0, size), rng.integers(1, 30, size)
        arrows = rng.random((size, size)) < 0.35
        tables.append(
            [
                {
                    "name": f"job{row}",
                    "work": float(work[row]),
                    "max_slots": int(most[row]),
                    "after": [f"job{parent}" for parent in range(row) if arrows[parent, row]],
                }
                for row in range(size)
            ]
        )
    gap = 5.5 * math.exp(2.5 + 0.5) / (slots * load)
    return Flows(tables, arrival=np.cumsum(rng.exponential(size=flows)) * gap), slots


def due_stream(seed: int, jobs: int, load: float = 0.9) -> tuple[Jobs, int]:
    """Jobs with weights and tight deadlines, three in ten there at the start."""
    rng, slots = np.random.default_rng(seed), 100
    work = rng.lognormal(_MU, _SIGMA, jobs)
    most = rng.integers(1, 65, jobs)
    weight = rng.integers(1, 10, jobs)
    there = round(0.3 * jobs)
    gaps = rng.exponential(_MEAN / (load * slots), jobs)
    gaps[:there] = 0.0
    arrival = np.cumsum(gaps)
    due = arrival + work / most + rng.uniform(0.05, 1.2, jobs) * 0.35 * work.sum() / slots
    return Jobs(work, arrival=arrival, max_slots=most, weight=weight, deadline=due), slots


def width_stream(
    seed: int, widths: str, slack: float = 1.0, load: float = 0.9, jobs: int = 300
) -> tuple[Jobs, int]:
    """Jobs with deadlines, of very different widths."""
    rng, slots = np.random.default_rng(seed), 64
    work = rng.lognormal(_MU, _SIGMA, jobs)
    most = rng.integers(1, 65, jobs) if widths == "uniform" else rng.choice([1, 64], jobs)
    arrival = np.cumsum(rng.exponential(_MEAN / (load * slots), jobs))
    due = arrival + work / most * rng.uniform(1.0, 1.0 + slack, jobs)
    return Jobs(work, arrival=arrival, max_slots=most, deadline=due), slots
