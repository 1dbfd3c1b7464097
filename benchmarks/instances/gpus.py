"""Training jobs whose speed-ups were measured; they need the traces' folder (MALLEABLE_TRACES).

gpu_jobs(name, jobs=None): a workload of ``pcs-gpu`` (GPU_WORKLOADS) on 64 GPUs: arrival [s], work [seconds on
    one GPU], the most GPUs of each, and by job what 0, 1, 2, ... GPUs do. ``jobs``: the first of them only.
    Published of the whole workloads, mean completion time over AFS: PUBLISHED.
gpu_table(name, jobs=None): the same as a `malleable.Jobs` table.
gpu_rounds(name, wide, first): ROUND_JOBS of its jobs from the place ``first`` on, for loops in rounds;
    ``wide``: each may have as many GPUs as its model was measured with.
speedup_stream(kind, seed): 1,000 jobs on 64 slots, no trace needed: Poisson arrivals for the load of
    SPEEDUP_STREAMS in work on one slot, work lognormal with that sigma and mean 10,000, a table of nine for
    each. ``power``: s^p, p from U(0.3, 1); ``amdahl``: serial part from U(0, 0.4)^1.5; ``steps``: powers of two
    only, to an exponent from U(0.6, 1); ``convex``: little from slots 2 to 3 ... 8, then as good as linear;
    ``mixed``: linear, powers, Amdahl, flat, steps and convex ones. Tables end at 4 to 44 slots.
stated_powers(p, off, seed): 150 jobs on 64 slots, work lognormal (sigma 1.5), s slots do s^p, p the same for
    all, or (None) from U(0.4, 0.9), load 1; what is stated is off by a normal error, and from 0.1 to 1.
due_powers(p, seed): these jobs, what they state, which is right, and when they are due: after 1 to 2 times the
    time alone on all slots, and up to 4 times the mean of these times more.
"""

from __future__ import annotations

import csv
import gzip
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import malleable as mb
from benchmarks.instances.workflows import traces

__all__ = [
    "GPU_WORKLOADS",
    "PUBLISHED",
    "PUBLISHED_ERRORS",
    "ROUND_JOBS",
    "SPEEDUP_STREAMS",
    "GpuJobs",
    "due_powers",
    "gpu_jobs",
    "gpu_rounds",
    "gpu_table",
    "speedup_stream",
    "stated_powers",
]

GPU_WORKLOADS = ("2869ce", "0e4a51", "6c71a0")
"""The last has 14,783 jobs, too many for rules that compare jobs two by two."""
PUBLISHED = {
    "2869ce": {"FIFO": 4.86, "SRSF": 1.428, "Themis": 1.65, "PCS-jct": 1.15},
    "0e4a51": {"FIFO": 9.30, "SRSF": 1.064, "Themis": 1.32, "PCS-jct": 1.57},
    "6c71a0": {"FIFO": 31.5, "SRSF": 1.073, "Themis": 1.50, "PCS-jct": 1.47},
}
"""PCS (OSDI 2024), rounded as printed."""
PUBLISHED_ERRORS = {
    "2869ce": {"PCS-jct": (1.15, 4.0), "PCS-bal": (1.46, 1.4)},
    "0e4a51": {"PCS-jct": (1.57, 5.6), "PCS-bal": (2.37, 1.4)},
    "6c71a0": {"PCS-jct": (1.47, 4.9), "PCS-bal": (2.02, 2.0)},
}
"""From there, too: mean completion time over AFS, and mean error of ends told at arrival [%]."""
SPEEDUP_STREAMS = {
    "power": (0.5, 1.5),
    "amdahl": (0.6, 1.5),
    "steps": (0.6, 1.5),
    "convex": (0.5, 1.5),
    "mixed": (0.8, 2.0),
}
"""Load and sigma by kind."""


class GpuJobs(NamedTuple):
    """Columns of a workload."""

    arrival: npt.NDArray[np.float64]
    work: npt.NDArray[np.float64]
    most: npt.NDArray[np.int64]
    tables: list[npt.NDArray[np.float64]]


@lru_cache(maxsize=2)
def gpu_jobs(name: str, jobs: int | None = None) -> tuple[GpuJobs, int]:
    """A workload and the number of GPUs."""
    root = traces()
    assert root is not None, "no folder of traces"
    rates: dict[str, list[float]] = {}
    with (root / "pcs-gpu" / "speedups.csv").open() as file:
        for row in csv.DictReader(file):  # by model, GPUs rising
            rates.setdefault(row["model"], [0.0]).append(float(row["speedup"]))
    tables = {model: np.array(values) for model, values in rates.items()}
    with gzip.open(root / "pcs-gpu" / f"trace_{name}.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))[:jobs]
    found = GpuJobs(
        np.cumsum([float(row["sleep_time"]) for row in rows]),
        np.array([float(row["service"]) for row in rows]),
        np.array([min(int(row["num_jobs"]), len(tables[row["model_name"]]) - 1) for row in rows]),
        [tables[row["model_name"]] for row in rows],
    )
    return found, 64


ROUND_JOBS = {"2869ce": 150, "0e4a51": 300, "6c71a0": 1500}
"""About 15,000 rounds of a minute each."""


def gpu_rounds(name: str, wide: bool = False, first: int = 0) -> tuple[GpuJobs, int]:
    """Some jobs of a workload, for loops in rounds."""
    jobs, slots = gpu_jobs(name)
    some = slice(first, first + ROUND_JOBS[name])
    tables = jobs.tables[some]
    most = np.array([len(table) - 1 for table in tables]) if wide else jobs.most[some]
    return GpuJobs(jobs.arrival[some] - jobs.arrival[first], jobs.work[some], most, tables), slots


def gpu_table(name: str, jobs: int | None = None) -> tuple[mb.Jobs, int]:
    """A workload as a table of jobs."""
    found, slots = gpu_jobs(name, jobs)
    rates = [own[1 : most + 1] for own, most in zip(found.tables, found.most.tolist(), strict=True)]
    table = mb.Jobs(found.work, arrival=found.arrival, max_slots=found.most, speedup=rates)
    return table, slots


def _table(kind: str, place: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """What 0, 1, 2, ... slots do."""
    k = np.arange(1.0, (4, 8, 16, 32, 44, 8, 16, 20, 44)[place] + 1)
    if kind == "power":
        rates = k ** rng.uniform(0.3, 1.0)
    elif kind == "amdahl":
        serial = rng.uniform(0.0, 0.4) ** 1.5
        rates = 1.0 / (serial + (1.0 - serial) / k)
    elif kind == "steps":
        rates = 2.0 ** (np.floor(np.log2(k)) * rng.uniform(0.6, 1.0))
    elif kind == "convex":
        knee = int(rng.integers(3, 9))
        rates = np.where(
            k < knee, 1.0 + 0.3 * (k - 1.0), np.minimum(0.3 * knee + k - knee, 0.9 * k)
        )
    else:
        rates = (k, k**0.5, k**0.8, 1.0 / (0.1 + 0.9 / k), np.ones(len(k)), 2.0 ** np.floor(np.log2(k)),
                 np.maximum(1.0, k**1.3 / 3.0**0.3), k**0.9, 1.0 + 0.25 * (k - 1.0))[place]  # fmt: skip
    rates[0] = 1.0
    return np.append(0.0, np.maximum.accumulate(rates))


def speedup_stream(kind: str, seed: int, jobs: int = 1000) -> tuple[GpuJobs, int]:
    """Jobs with tables of that kind, and the number of slots."""
    rng, slots = np.random.default_rng(seed), 64
    load, sigma = SPEEDUP_STREAMS[kind]
    tables = [_table(kind, place, rng) for place in range(9)]
    work = rng.lognormal(0.0, sigma, jobs)
    work *= 1e4 / work.mean()
    own = [tables[place] for place in rng.integers(0, 9, jobs)]
    arrival = np.cumsum(rng.exponential(1e4 / (slots * load), jobs))
    return GpuJobs(arrival, work, np.array([len(table) - 1 for table in own]), own), slots


def stated_powers(
    p: float | None, off: float, seed: int, jobs: int = 150
) -> tuple[GpuJobs, npt.NDArray[np.float64]]:
    """Jobs for 64 slots, and the p that they state."""
    rng, slots = np.random.default_rng(seed), 64
    work = rng.lognormal(3.0, 1.5, jobs)
    own = rng.uniform(0.4, 0.9, jobs) if p is None else np.full(jobs, p)
    stated = np.clip(own + rng.normal(0.0, off, jobs), 0.1, 1.0)
    mean = np.exp(3.0 + 1.5**2 / 2.0)
    arrival = np.cumsum(rng.exponential(mean / (2.2 * slots ** own.mean()), jobs))
    tables = [np.append(0.0, np.arange(1.0, slots + 1.0) ** each) for each in own.tolist()]
    return GpuJobs(arrival, work, np.full(jobs, slots), tables), stated


def due_powers(
    p: float | None, seed: int
) -> tuple[GpuJobs, npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Jobs for 64 slots, their p, and their deadlines."""
    jobs, own = stated_powers(p, 0.0, seed)
    rng, alone = np.random.default_rng([seed, 1]), jobs.work / 64.0**own
    slack = (
        alone * rng.uniform(1.0, 2.0, len(alone)) + rng.uniform(0.0, 4.0, len(alone)) * alone.mean()
    )
    return jobs, own, jobs.arrival + slack
