"""Jobs that come one after the other, for loops that ask whenever a job comes or ends.

event_stream(seed, *, sizes="logn", widths="uniform", load=0.9, arrivals="poisson", due=None, steps=None,
    weights=False, changing=False, jobs=300): 64 slots. Works by ``sizes``: lognormal(3, 1.5) ("logn"),
    exponential with mean 60 ("exp"), Pareto from 20 on with index 2 ("pareto") or 1.5 ("heavy"), nine in ten
    exponential with mean 10 and the others with mean 500 ("mixed"). Maxima by ``widths``: U{1..64}
    ("uniform"), 1 and 64 with equal chances ("extreme"), three in ten 1 and the others 64 ("few narrow"),
    2^U(0, 6) ("log"), sqrt(work) x U(0.5, 2) ("with work"), 640 / (work + 10) ("against work"), U{1..16}
    ("narrow"), 64 ("all"). Arrivals: E[work] / (64 load) apart ("poisson"); twenty at once ("batches"); at
    1 + 0.8 sin times this rate, four waves in all ("waves"). Weights: 1, or U{1..9}. ``changing``: sixty
    changes of the slots to U{32..64}. ``due``: (tight, impossible): deadlines arrival + work / max x
    U(1, 1 + tight) + U(0, tight) x E[work] / 64, but arrival + work / max x U(0.2, 0.95) for so large a part
    of the jobs. ``steps``: (count, far, steep): SLA steps at arrival + work / max x U(1, 1 + far) + U(0, far)
    x E[work] / 64, whose rises are U(0.5, 1.5) x steep^k.
tandem_stream(kind, seed, load=0.9, jobs=2000): map and shuffle of E[the larger one] / load apart; both
    lognormal(0, 1) by themselves ("independent"), shuffle = 1 / map ("opposed"), 4 and 0.5 or 0.5 and 4
    ("bimodal"), one of both a tenth ("mixed"), shuffle = map x U(0.8, 1.25) ("alike").
slotted_stream(kind, seed, load=0.9, steps=400): 50 machines. Map and reduce work of section VII of Zheng et
    al. 2013 (ASRPT; "exp-large", "exp-small"), both Exp(20) ("balanced"), both rounded up Pareto from 8 on
    with index 1.6 ("Pareto"), or both Exp(20) in batches of twenty ("bursts"); reduce tasks are U{1..10}, as
    equal as may be.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from malleable import Jobs, MapReduceJobs, MapShuffleJobs
from malleable.slotted.generate import even_split, section7

__all__ = ["EventStream", "event_stream", "slotted_stream", "tandem_stream"]

_SLOTS = 64


class EventStream(NamedTuple):
    """Jobs, slots, and when the slots change to what."""

    jobs: Jobs
    slots: int
    changes: tuple[Any, Any]


def _works(rng: np.random.Generator, kind: str, jobs: int) -> tuple[Any, float]:
    """Works and their mean."""
    if kind == "mixed":
        return rng.exponential(np.where(rng.random(jobs) < 0.9, 10.0, 500.0)), 59.0
    if kind == "exp":
        return rng.exponential(60.0, jobs), 60.0
    if kind == "logn":
        return rng.lognormal(3.0, 1.5, jobs), math.exp(3 + 1.5**2 / 2)
    index = {"pareto": 2.0, "heavy": 1.5}[kind]
    return 20.0 * (1.0 + rng.pareto(index, jobs)), 20.0 * index / (index - 1.0)


def _widths(rng: np.random.Generator, kind: str, work: Any) -> Any:
    jobs = len(work)
    drawn: dict[str, Any] = {
        "uniform": lambda: rng.integers(1, _SLOTS + 1, jobs),
        "extreme": lambda: rng.choice([1, _SLOTS], jobs),
        "few narrow": lambda: np.where(rng.random(jobs) < 0.3, 1, _SLOTS),
        "log": lambda: 2.0 ** rng.uniform(0.0, 6.0, jobs),
        "with work": lambda: np.sqrt(work) * rng.uniform(0.5, 2.0, jobs),
        "against work": lambda: 10.0 * _SLOTS / (work + 10.0),
        "narrow": lambda: rng.integers(1, _SLOTS // 4 + 1, jobs),
        "all": lambda: np.full(jobs, _SLOTS),
    }
    return np.clip(np.round(drawn[kind]()), 1, _SLOTS).astype(np.int64)


def _arrivals(rng: np.random.Generator, kind: str, jobs: int, gap: float) -> Any:
    if kind == "poisson":
        return np.cumsum(rng.exponential(gap, jobs))
    if kind == "batches":
        return np.repeat(np.cumsum(rng.exponential(20 * gap, jobs // 20 + 1)), 20)[:jobs]
    wave, now = gap * jobs / 4, 0.0
    found: list[float] = []
    while len(found) < jobs:
        now += rng.exponential(gap / 1.8)
        if 1.8 * rng.random() < 1.0 + 0.8 * math.sin(2 * math.pi * now / wave):
            found.append(now)
    return np.array(found)


def event_stream(
    seed: int,
    *,
    sizes: str = "logn",
    widths: str = "uniform",
    load: float = 0.9,
    arrivals: str = "poisson",
    due: tuple[float, float] | None = None,
    steps: tuple[int, float, float] | None = None,
    weights: bool = False,
    changing: bool = False,
    jobs: int = 300,
) -> EventStream:
    """One draw."""
    rng = np.random.default_rng(seed)
    work, mean = _works(rng, sizes, jobs)
    most = _widths(rng, widths, work)
    arrival = _arrivals(rng, arrivals, jobs, mean / (_SLOTS * load))
    alone = work / most
    columns: dict[str, Any] = {}
    if due is not None:
        tight, impossible = due
        slack = (
            alone * rng.uniform(1, 1 + tight, jobs) + rng.uniform(0, tight, jobs) * mean / _SLOTS
        )
        lost = alone * rng.uniform(0.2, 0.95, jobs)
        columns["deadline"] = arrival + np.where(rng.random(jobs) < impossible, lost, slack)
    if steps is not None:
        count, far, steep = steps
        after = alone[:, None] * rng.uniform(1, 1 + far, (jobs, count))
        after += rng.uniform(0, far, (jobs, count)) * mean / _SLOTS
        rises = rng.uniform(0.5, 1.5, (jobs, count)) * steep ** np.arange(count)
        times = np.sort(arrival[:, None] + after, axis=1)
        pairs = np.stack([times, np.cumsum(rises, axis=1)], axis=2)
        columns["sla"] = [[tuple(step) for step in own] for own in pairs.tolist()]
    weight = rng.integers(1, 10, jobs) if weights else np.ones(jobs)
    changes = (np.empty(0), np.empty(0, dtype=np.int64))
    if changing:
        at = np.cumsum(rng.exponential(arrival[-1] / 60, 60))
        changes = (at, rng.integers(_SLOTS // 2, _SLOTS + 1, 60))
    table = Jobs(work, arrival=arrival, max_slots=most, weight=weight, **columns)
    return EventStream(table, _SLOTS, changes)


def tandem_stream(kind: str, seed: int, load: float = 0.9, jobs: int = 2000) -> MapShuffleJobs:
    """Jobs with two phases."""
    rng = np.random.default_rng(seed)
    first = rng.lognormal(0.0, 1.0, jobs)
    second = rng.lognormal(0.0, 1.0, jobs)
    swap = rng.random(jobs) < 0.5
    if kind == "opposed":
        second = 1.0 / first
    elif kind == "bimodal":
        first, second = np.where(swap, 4.0, 0.5), np.where(swap, 0.5, 4.0)
    elif kind == "mixed":
        first, second = np.where(swap, first, 0.1 * first), np.where(swap, 0.1 * second, second)
    elif kind == "alike":
        second = first * rng.uniform(0.8, 1.25, jobs)
    gap = max(first.mean(), second.mean()) / load
    return MapShuffleJobs(first, second, arrival=np.cumsum(rng.exponential(gap, jobs)))


def slotted_stream(
    kind: str, seed: int, load: float = 0.9, steps: int = 400
) -> tuple[MapReduceJobs, int]:
    """Jobs with map and reduce tasks, and the number of machines."""
    machines, rng = 50, np.random.default_rng(seed)
    if kind.startswith("exp"):
        mean = 45.0
        return section7(kind, steps=steps, rate=load * machines / mean, rng=rng), machines
    mean = 16.0 * 1.6 / 0.6 if kind == "Pareto" else 40.0
    batch = 20 if kind == "bursts" else 1
    jobs = int(steps * load * machines / mean)
    arrival = np.repeat(rng.integers(1, steps + 1, jobs // batch + 1), batch)[:jobs]
    works = rng.exponential(20.0, (2, jobs))
    if kind == "Pareto":
        works = 8.0 * (1.0 + rng.pareto(1.6, (2, jobs)))
    maps, reduces = np.ceil(works).astype(np.int64)
    offset, lengths = even_split(reduces, rng.integers(1, 11, jobs))
    return MapReduceJobs.from_columns(np.sort(arrival), maps, offset, lengths), machines
