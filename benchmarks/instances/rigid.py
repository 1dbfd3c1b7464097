"""Logs of rigid jobs: each runs on exactly so many slots, or waits."""

from __future__ import annotations

import numpy as np

import malleable as mb
from benchmarks.instances.workflows import traces

RIGID_SLOTS = 16
_WIDTHS = (1, 1, 2, 4, 4, 8, 12, 16)
_SECONDS = (60, 120, 180, 600, 900)
_ASKED = (1.0, 1.5, 2.0, 5.0, 10.0)


def rigid_log(
    seed: int, count: int = 120, gap: float = 160.0, exact: bool = True
) -> mb.ClusterJobs:
    """Jobs that come at random, ``gap`` seconds after one another in the mean; users ask for what jobs take, or
    for several times as much."""
    rng = np.random.default_rng(seed)
    arrival = np.round(np.cumsum(rng.exponential(gap, count)))
    width, seconds = rng.choice(_WIDTHS, count), rng.choice(_SECONDS, count).astype(np.float64)
    asked = seconds if exact else seconds * rng.choice(_ASKED, count)
    return mb.ClusterJobs(width, seconds, arrival=arrival, width=width, requested=asked)


def lublin(first: int = 0, count: int = 10_000) -> mb.ClusterJobs:
    """Jobs of the Lublin-Feitelson model for 256 processors, without requested times, from a public file."""
    folder = traces()
    assert folder is not None, "no folder of traces"
    jobs = mb.read(folder / "rigid" / "lublin_256.swf").tasks()
    some = slice(first, first + count)
    width, arrival = jobs.maps[some], jobs.arrival[some]
    seconds = np.maximum(jobs.map_seconds[some], 1.0)
    return mb.ClusterJobs(
        width, seconds, arrival=arrival - arrival[0], width=width, requested=seconds
    )
