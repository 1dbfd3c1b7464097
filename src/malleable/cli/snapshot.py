"""Reading a workload for planning: which jobs, and at what time."""

from __future__ import annotations

from typing import Any

import numpy as np

from malleable.cli.terminal import rereadable
from malleable.files.reading import MAX_SIZE
from malleable.jobs.snapshot import snapshot
from malleable.jobs.table import Jobs, check_time
from malleable.traces import read_workload
from malleable.traces.detect import workload_format
from malleable.view.text import counted

RECORDED = "recorded"
"""A snapshot with what the file says is left of the jobs, rather than what a policy leaves."""

_LOOKS = 8


def read_snapshot(
    path: Any,
    *,
    phase: str = "map",
    at: float | None = None,
    now: float | None = None,
    most: int | None = None,
    policy: str = RECORDED,
    slots: int = 1,
    objective: str = "sum:response",
    min_mode: str = "guarantee",
    errors: str = "raise",
    max_size: int = MAX_SIZE,
) -> tuple[Jobs, float, list[str]]:
    """Jobs to plan, the time of the plan, and what to tell about them.

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
    policy, slots, objective, min_mode
        What is left of the jobs of a snapshot: `RECORDED`, or as the policy leaves it on so many slots.
    errors, max_size
        As of the readers.

    Notes
    -----
    Without a time and without ``most``, a trace is taken at its last arrival and a job table at 0.
    """
    source = rereadable(path, max_size) if isinstance(path, str) else path
    reading: dict[str, Any] = {"phase": phase, "errors": errors, "max_size": max_size}
    options = {"objective": objective, "min_mode": min_mode}
    kind = workload_format(source)

    def left(moment: float) -> tuple[Jobs, str | None]:
        return _left(_again(source), moment, kind, policy, slots, options, reading)

    if at is not None:
        moment = check_time("--at", at)
        jobs, told = left(moment)
        return jobs, moment, _lines(told)
    if policy != RECORDED and (now is not None or kind == "job table"):
        raise ValueError(f"--snapshot {policy}: at which time? --at SECONDS says it")
    jobs = read_workload(_again(source), **reading)
    if now is not None:
        return jobs, check_time("--now", now), []
    if not len(jobs) or (kind == "job table" and most is None):
        return jobs, 0.0, []
    arrivals = np.sort(jobs.arrival)
    if most is None:
        moment = float(arrivals[-1])
        jobs, told = left(moment)
        when = f"now = {moment:.10g} s, the trace's last arrival (--at SECONDS: another time)"
        return jobs, moment, _lines(when, told)
    last = min(most, len(jobs))
    moments = sorted(
        {float(arrivals[max(last * k // _LOOKS, 1) - 1]) for k in range(1, _LOOKS + 1)}
    )
    found = [(*left(moment), moment) for moment in moments]
    jobs, told, moment = max(found, key=lambda one: (len(one[0]), one[2]))
    when = (
        f"now = {moment:.10g} s, where of {len(moments)} moments most jobs are there "
        "(--at SECONDS: another time)"
    )
    return jobs, moment, _lines(when, told)


def _lines(*told: str | None) -> list[str]:
    return [line for line in told if line]


def _left(
    source: Any,
    moment: float,
    kind: str,
    policy: str,
    slots: int,
    options: dict[str, str],
    reading: dict[str, Any],
) -> tuple[Jobs, str | None]:
    """The jobs of a snapshot, and what such a snapshot is."""
    when = f"snapshot at {moment:.10g} s"
    if policy != RECORDED:
        jobs = read_workload(source, **reading)
        came = int(np.count_nonzero(jobs.arrival <= moment))
        there = snapshot(jobs, slots, moment, policy, **options)
        return there, (
            f"{when}: of {counted(came, 'job')} that had arrived {len(there):,} are there, with the work"
            f" that {policy.upper()} on {counted(slots, 'slot')} has left of them"
        )
    jobs = read_workload(source, at=moment, **reading)
    count = counted(len(jobs), "job")
    if kind == "job table":  # which says itself how much work there is
        return jobs, None
    if kind == "Rumen trace":
        return jobs, (
            f"{when}: {count} submitted by then and not finished, with the work that was then left in"
            " the recorded run"
        )
    return jobs, (
        f"{when}: {count}, all that had arrived by then with all of their work, as a {kind} does not"
        " say when work was done (plan --snapshot fair: as FAIR leaves them)"
    )


def _again(source: Any) -> Any:
    if hasattr(source, "seek"):
        source.seek(0)
    return source
