"""Jobs of a cluster for MPI programs: each starts on its minimum or waits, and some can shrink and grow."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import malleable as mb
from benchmarks.instances.workflows import traces

HPC_SLOTS = 256
HPC_FAMILIES = ("lognormal", "exponential", "bursts", "correlated")


class HpcJobs(NamedTuple):
    """A table, the widths at which jobs would like to run, and what 0, 1, 2, ... slots of each do."""

    jobs: mb.Jobs
    preferred: npt.NDArray[np.int64]
    rates: npt.NDArray[np.float64]


def _drawn(rng: np.random.Generator, family: str, count: int) -> tuple[Any, Any, Any]:
    """Arrivals, seconds and widths."""
    if family == "exponential":
        widths = rng.integers(1, 65, count)
        return np.cumsum(rng.exponential(1.0, count)), rng.exponential(3600.0, count) + 1.0, widths
    if family == "bursts":
        gaps = np.where(
            rng.random(count) < 0.9, rng.exponential(0.1, count), rng.exponential(9.0, count)
        )
        seconds = np.minimum(300.0 * rng.pareto(1.1, count) + 10.0, 3 * 86400.0)
        return np.cumsum(gaps), seconds, np.minimum(128, 1 + (4.0 * rng.pareto(1.0, count)))
    if family == "correlated":
        z = rng.standard_normal(count)
        wide = np.round(3.0 + 1.05 * (z + rng.standard_normal(count)))
        widths = np.clip(2.0**wide, 1, 200)
        return np.cumsum(rng.exponential(1.0, count)), np.exp(7.0 + 1.5 * z), widths
    widths = 2 ** rng.integers(0, 8, count)
    return np.cumsum(rng.exponential(1.0, count)), rng.lognormal(7.0, 1.8, count), widths


def _logged(first: int, count: int) -> tuple[Any, Any, Any]:
    """The same of rows of Lublin's model, as they were recorded."""
    folder = traces()
    assert folder is not None, "no folder of traces"
    with (folder / "rigid" / "lublin_256.swf").open() as log:
        rows = [line.split() for line in log if not line.startswith(";")][first : first + count]
    columns = np.array([[float(row[k]) for k in (1, 3, 4)] for row in rows]).T
    return columns[0] - columns[0][0], np.maximum(columns[1], 1.0), columns[2]


def hpc_jobs(
    family: str, malleable: float, seed: int, *, load: float = 1.0, count: int = 1000
) -> HpcJobs:
    """A part of the jobs is malleable: from half the preferred width to twice that; the others are rigid.

    Speed-ups follow Amdahl's law, with a parallel part from 0.7 to 0.999. Deadlines lie 2 to 20 times as
    late as a job would end at its preferred width if it started at once. ``family``: ``lublin``, a window
    of a log that begins at row ``seed``, or one of `HPC_FAMILIES`; in ``correlated`` long jobs are wide.
    """
    rng = np.random.default_rng(seed)
    drawn = _logged(seed, count) if family == "lublin" else _drawn(rng, family, count)
    arrival, seconds, widths = drawn
    preferred = np.clip(widths, 1, HPC_SLOTS).astype(np.int64)
    serial = 1.0 - rng.uniform(0.7, 0.999, count)
    can = rng.random(count) < malleable
    low = np.where(can, np.maximum(1, preferred // 2), preferred)
    high = np.where(can, np.minimum(HPC_SLOTS, 2 * preferred), preferred)
    arrival = arrival * ((seconds * preferred).sum() / (HPC_SLOTS * load) / arrival[-1])
    k = np.arange(1.0, HPC_SLOTS + 1)
    rates = 1.0 / (serial[:, None] + (1.0 - serial[:, None]) / k)
    work = seconds * rates[np.arange(count), preferred - 1]
    speedup = [own[:most] for own, most in zip(rates, high.tolist(), strict=True)]
    due = arrival + seconds * rng.uniform(2.0, 20.0, count)
    columns = {"arrival": arrival, "deadline": due, "min_slots": low, "max_slots": high}
    table = mb.Jobs(work, speedup=speedup, **columns)
    return HpcJobs(table, preferred, np.column_stack([np.zeros(count), rates]))
