"""Training jobs whose speed-ups were measured; they need the traces' folder (MALLEABLE_TRACES).

gpu_jobs(name, jobs=None): a workload of ``pcs-gpu`` (GPU_WORKLOADS) on 64 GPUs: arrival [s], work [seconds on
    one GPU], the most GPUs of each, and by job what 0, 1, 2, ... GPUs do. ``jobs``: the first of them only.
    Published of the whole workloads, mean completion time over AFS: PUBLISHED.
"""

from __future__ import annotations

import csv
import gzip
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.instances.workflows import traces

__all__ = ["GPU_WORKLOADS", "PUBLISHED", "GpuJobs", "gpu_jobs"]

GPU_WORKLOADS = ("2869ce", "0e4a51")
PUBLISHED = {"2869ce": {"FIFO": 4.86, "SRSF": 1.428}, "0e4a51": {"FIFO": 9.30, "SRSF": 1.064}}
"""PCS (OSDI 2024), rounded as printed."""


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
