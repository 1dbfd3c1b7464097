"""Families of jobs on which no rule of the epochs or plans was chosen.

stream(name, seed, jobs, load, tight): jobs that come, on 64 slots; the gap between arrivals is
    E[work] / (64 load), the mean being that of the draw.
table(name, seed, jobs): the same jobs, all there at time 0, on jobs / 8 slots.
FAMILIES says what works, maxima, weights and gaps are:
    heavy     Pareto works (shape 1.3, from 2), maxima about the square root of the work
    light     gamma works (shape 3, mean 30), maxima U{1..16}
    bimodal   nine in ten jobs U(1, 4) on U{1..4} slots, the others U(50, 400) on U{8..64}
    narrow    exponential works (mean 20) on U{1..3} slots
    bursts    lognormal(2.5, 1.2) works, maxima 2^U{0..6}, in groups of geometric size (mean 12) at once
    worthy    lognormal(3, 1) works, maxima U{1..64}, weights that grow with the root of the work
    waves     lognormal(2, 1.8) works, maxima U{4..32}, gaps longer and shorter by 3 in turns of 50
    minima    lognormal(3, 1.2) works, maxima U{8..48}, every fourth job with a minimum of 1 slot
Deadlines: arrival + work / maximum x U(1.2, 5) + U(0, 2) x the mean time of a job at its maximum; `tight`:
    arrival + work / maximum x U(1, 2). Of a table: + U(0, 0.4) x all work / slots in place of the mean time.
stepped(name, seed, jobs, steps): tables with deadlines of arrival + work / maximum x U(1, 4) + U(0, 0.4)
    x all work / slots, of STEPPED, on which no number of sets was chosen:
    twins     half the works about 8 on 4 slots, half about 40 on 16, weights U{1..3}
    worth     lognormal(2.5, 1) works on U{1..32}, weights about the work
    wide      Weibull works (shape 0.6, scale 30) on all slots
    powers    works 2^U{0..7}, maxima 2^U{0..4}, weights 2^U{0..2}
    few-dues  as worth, with deadlines at the six parts of all work / slots
curved(name, seed, jobs): a table with speed-ups: s^U(0.4, 0.9), or Amdahl's law (part U(0.02, 0.3)).
dags(name, seed, flows, load=None): flows of lognormal(2.5, 1) jobs on 48 slots: chains, forks (one job,
    U{2..8} beside each other, one job), layers (U{2..4} layers of U{1..4} jobs, each after all of the layer
    before). `load` none: all there at time 0. Deadlines: arrival + the times of all jobs at their maxima +
    U(0, 4) x the mean of these, or U(0, 0.7) x all work / slots if all are there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from malleable import Flows, Jobs

__all__ = [
    "CURVES",
    "DAGS",
    "FAMILIES",
    "STEPPED",
    "curved",
    "dags",
    "mean_time",
    "stepped",
    "stream",
    "table",
]

_Drawn = tuple[Any, Any, Any]


def _heavy(rng: Any, n: int) -> _Drawn:
    work = 2.0 * (1.0 + rng.pareto(1.3, n))
    return work, np.clip(np.sqrt(work) * rng.uniform(0.5, 2.0, n), 1, 64).astype(int), np.ones(n)


def _light(rng: Any, n: int) -> _Drawn:
    return rng.gamma(3.0, 10.0, n), rng.integers(1, 17, n), rng.integers(1, 4, n)


def _bimodal(rng: Any, n: int) -> _Drawn:
    small = rng.random(n) < 0.9
    work = np.where(small, rng.uniform(1.0, 4.0, n), rng.uniform(50.0, 400.0, n))
    return work, np.where(small, rng.integers(1, 5, n), rng.integers(8, 65, n)), np.ones(n)


def _narrow(rng: Any, n: int) -> _Drawn:
    return rng.exponential(20.0, n) + 0.1, rng.integers(1, 4, n), rng.integers(1, 10, n)


def _bursts(rng: Any, n: int) -> _Drawn:
    return rng.lognormal(2.5, 1.2, n), 2 ** rng.integers(0, 7, n), np.ones(n)


def _worthy(rng: Any, n: int) -> _Drawn:
    work = rng.lognormal(3.0, 1.0, n)
    return work, rng.integers(1, 65, n), np.sqrt(work) * rng.uniform(0.5, 2.0, n)


def _waves(rng: Any, n: int) -> _Drawn:
    return rng.lognormal(2.0, 1.8, n), rng.integers(4, 33, n), np.ones(n)


def _minima(rng: Any, n: int) -> _Drawn:
    return rng.lognormal(3.0, 1.2, n), rng.integers(8, 49, n), rng.integers(1, 5, n)


FAMILIES: dict[str, Callable[[Any, int], _Drawn]] = {
    "heavy": _heavy,
    "light": _light,
    "bimodal": _bimodal,
    "narrow": _narrow,
    "bursts": _bursts,
    "worthy": _worthy,
    "waves": _waves,
    "minima": _minima,
}


def mean_time(jobs: Jobs) -> float:
    """Seconds of a job at its maximum, in the mean."""
    return float((jobs.work / jobs.max_slots).mean())


def _gaps(name: str, rng: Any, n: int) -> Any:
    gaps = rng.exponential(1.0, n)
    if name == "bursts":
        gaps = np.where(rng.random(n) < 1 / 12, 12.0 * gaps, 0.0)
    elif name == "waves":
        gaps *= np.where(np.arange(n) // 50 % 2 == 0, 3.0, 1 / 3) / (5 / 3)
    return gaps


def _jobs(name: str, seed: int, n: int, slots: int, load: float | None, tight: bool) -> Jobs:
    rng = np.random.default_rng([seed, sorted(FAMILIES).index(name)])
    work, most, weight = FAMILIES[name](rng, n)
    most = np.minimum(most, slots)
    arrival = np.zeros(n)
    if load:
        arrival = np.cumsum(_gaps(name, rng, n)) * work.mean() / (slots * load)
    alone = work / most
    due = arrival + alone * (rng.uniform(1.0, 2.0, n) if tight else rng.uniform(1.2, 5.0, n))
    if not tight:
        due += rng.uniform(0.0, 2.0, n) * (alone.mean() if load else 0.2 * work.sum() / slots)
    low = (rng.random(n) < 0.25).astype(int) if name == "minima" and load else 0
    return Jobs(work, arrival=arrival, min_slots=low, max_slots=most, weight=weight, deadline=due)


def stream(
    name: str, seed: int, jobs: int = 300, load: float = 0.85, tight: bool = False
) -> tuple[Jobs, int]:
    """Jobs that come one after the other."""
    return _jobs(name, seed, jobs, 64, load, tight), 64


def table(name: str, seed: int, jobs: int, steps: bool = False) -> tuple[Jobs, int]:
    """Jobs that are all there; with ``steps`` at two times more is paid, in place of deadlines."""
    slots = max(jobs // 8, 4)
    found = _jobs(name, seed, jobs, slots, None, False)
    if not steps:
        return found, slots
    return _with_steps(found, np.random.default_rng([seed, 99]).uniform(1.1, 2.0, jobs)), slots


def _with_steps(jobs: Jobs, later: Any) -> Jobs:
    times = [
        [(float(due), 1.0), (float(due * by), 3.0)]
        for due, by in zip(jobs.deadline, later, strict=True)
    ]
    return Jobs(jobs.work, max_slots=jobs.max_slots, weight=jobs.weight, sla=times)


def _twins(rng: Any, n: int) -> _Drawn:
    work = np.where(rng.random(n) < 0.5, 8.0, 40.0) * rng.uniform(0.95, 1.05, n)
    return work, np.where(work < 20.0, 4, 16), rng.integers(1, 4, n)


def _worth(rng: Any, n: int) -> _Drawn:
    work = rng.lognormal(2.5, 1.0, n)
    return work, rng.integers(1, 33, n), work / work.mean() * rng.uniform(0.8, 1.2, n)


def _wide(rng: Any, n: int) -> _Drawn:
    return 30.0 * rng.weibull(0.6, n) + 0.1, np.full(n, 10**6), np.ones(n)


def _powers(rng: Any, n: int) -> _Drawn:
    return 2.0 ** rng.integers(0, 8, n), 2 ** rng.integers(0, 5, n), 2.0 ** rng.integers(0, 3, n)


STEPPED: dict[str, Callable[[Any, int], _Drawn]] = {
    "few-dues": _worth,
    "powers": _powers,
    "twins": _twins,
    "wide": _wide,
    "worth": _worth,
}


def stepped(name: str, seed: int, jobs: int, steps: bool = False) -> tuple[Jobs, int]:
    """Jobs with weights and deadlines, or steps, that are all there."""
    slots = max(jobs // 8, 4)
    rng = np.random.default_rng([seed, sorted(STEPPED).index(name), 77])
    work, most, weight = STEPPED[name](rng, jobs)
    most, span = np.minimum(most, slots), work.sum() / slots
    due = work / most * rng.uniform(1.0, 4.0, jobs) + rng.uniform(0.0, 0.4, jobs) * span
    if name == "few-dues":
        due = np.ceil(6.0 * due / span) * span / 6.0
    found = Jobs(work, max_slots=most, weight=weight, deadline=due)
    return _with_steps(found, rng.uniform(1.1, 2.0, jobs)) if steps else found, slots


CURVES = ("powers", "amdahl")


def curved(name: str, seed: int, jobs: int) -> tuple[Jobs, int]:
    """Jobs with speed-ups below linear, all there, on 64 slots."""
    rng = np.random.default_rng([seed, 100])
    work, most = rng.lognormal(3.0, 1.2, jobs), rng.integers(2, 65, jobs)
    speedup: list[Any]
    if name == "powers":
        speedup = rng.uniform(0.4, 0.9, jobs).tolist()
    else:
        counts = np.arange(1, 65)
        parts = rng.uniform(0.02, 0.3, jobs).tolist()
        speedup = [(1.0 / (part + (1.0 - part) / counts)).tolist() for part in parts]
    due = rng.uniform(0.2, 2.0, jobs) * work.sum() / 30
    return Jobs(work, max_slots=most, deadline=due, speedup=speedup), 64


def _chain(rng: Any) -> list[list[int]]:
    return [[row - 1] if row else [] for row in range(rng.integers(2, 7))]


def _fork(rng: Any) -> list[list[int]]:
    width = int(rng.integers(2, 9))
    return [[], *([0] for _ in range(width)), list(range(1, width + 1))]


def _layers(rng: Any) -> list[list[int]]:
    after: list[list[int]] = []
    before: list[int] = []
    for _ in range(rng.integers(2, 5)):
        own = list(range(len(after), len(after) + int(rng.integers(1, 5))))
        after += [before for _ in own]
        before = own
    return after


DAGS: dict[str, Callable[[Any], list[list[int]]]] = {
    "chains": _chain,
    "forks": _fork,
    "layers": _layers,
}


def dags(name: str, seed: int, flows: int, load: float | None = None) -> tuple[Flows, int]:
    """Flows with weights and deadlines."""
    rng, slots = np.random.default_rng([seed, 200]), 48
    tables, total, alone = [], [], []
    for _ in range(flows):
        after = DAGS[name](rng)
        work, most = rng.lognormal(2.5, 1.0, len(after)), rng.integers(1, 25, len(after))
        tables.append(
            [
                {
                    "name": f"job{row}",
                    "work": float(work[row]),
                    "max_slots": int(most[row]),
                    "after": [f"job{parent}" for parent in parents],
                }
                for row, parents in enumerate(after)
            ]
        )
        total.append(float(work.sum()))
        alone.append(float((work / most).sum()))
    mean = float(np.mean(total))
    arrival = np.zeros(flows)
    if load:
        arrival = np.cumsum(rng.exponential(size=flows)) * mean / (slots * load)
    spread = 4 * np.mean(alone) if load else 0.7 * sum(total) / slots
    due = arrival + np.array(alone) + rng.uniform(0.0, 1.0, flows) * spread
    return Flows(tables, arrival=arrival, weight=rng.integers(1, 6, flows), deadline=due), slots
