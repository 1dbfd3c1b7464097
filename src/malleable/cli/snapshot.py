"""Reading a workload for planning: which jobs, and at what time."""

from __future__ import annotations

from typing import Any

import numpy as np

from malleable.cli.terminal import rereadable
from malleable.tables import Jobs, check_time
from malleable.workloads import read_workload
from malleable.workloads.detect import workload_format

__all__ = ["read_snapshot"]

_LOOKS = 8


def read_snapshot(
    path: Any,
    *,
    phase: str = "map",
    at: float | None = None,
    now: float | None = None,
    most: int | None = None,
) -> tuple[Jobs, float, str | None]:
    """Jobs to plan, the time of the plan, and what to tell about a time that nobody asked for.

    Parameters
    ----------
    path : str, or what `rereadable` made of it
        A job table or trace; ``-``: standard input.
    phase : {"map", "reduce"}
        Of a trace.
    at : float, optional
        Snapshot: the jobs that have arrived by then [s]; the plan's time, too.
    now : float, optional
        Time of the plan without taking a snapshot.
    most : int, optional
        Without a time: the fullest of some snapshots until so many jobs have arrived.

    Notes
    -----
    Without a time and without ``most``, a trace is taken at its last arrival and a job table at 0.
    """
    source = rereadable(path) if isinstance(path, str) else path
    if at is not None:
        moment = check_time("--at", at)
        return read_workload(source, phase=phase, at=moment), moment, None
    jobs = read_workload(source, phase=phase)
    if now is not None:
        return jobs, check_time("--now", now), None
    table = workload_format(_again(source)) == "job table"
    if not len(jobs) or (table and most is None):
        return jobs, 0.0, None
    arrivals = np.sort(jobs.arrival)
    if most is None:
        moment = float(arrivals[-1])
        told = f"now = {moment:.10g} s, the trace's last arrival (--at SECONDS: another time)"
        return read_workload(_again(source), phase=phase, at=moment), moment, told
    last = min(most, len(jobs))
    moments = sorted(
        {float(arrivals[max(last * k // _LOOKS, 1) - 1]) for k in range(1, _LOOKS + 1)}
    )
    snapshots = [read_workload(_again(source), phase=phase, at=moment) for moment in moments]
    busiest = max(range(len(moments)), key=lambda k: (len(snapshots[k]), k))
    told = (
        f"now = {moments[busiest]:.10g} s, where of {len(moments)} moments most jobs are there "
        "(--at SECONDS: another time)"
    )
    return snapshots[busiest], moments[busiest], told


def _again(source: Any) -> Any:
    if hasattr(source, "seek"):
        source.seek(0)
    return source
