"""Jobs of a trace for planning: which, and at what time."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from malleable.cli.terminal import warnings_as_notes
from malleable.jobs.snapshot import snapshot
from malleable.jobs.table import Jobs, check_time
from malleable.traces import Trace
from malleable.view.text import counted

RECORDED = "recorded"
"""A snapshot with what the file says is left of the jobs, rather than what a policy leaves."""

_LOOKS = 8


def take_snapshot(
    trace: Trace,
    *,
    phase: str = "map",
    at: float | None = None,
    now: float | None = None,
    most: int | None = None,
    policy: str = RECORDED,
    **options: Any,
) -> tuple[Jobs, float, list[str]]:
    """Jobs to plan, the time of the plan, and what to tell about them.

    Parameters
    ----------
    trace : Trace
    phase : {"map", "reduce"}
        Of a trace.
    at : float, optional
        Snapshot: the jobs that have arrived by then [s]; the plan's time, too.
    now : float, optional
        Time of the plan without taking a snapshot.
    most : int, optional
        Without a time: the fullest of some snapshots until so many jobs have arrived.
    policy, **options
        What is left of the jobs of a snapshot: `RECORDED`, or as the policy leaves it (options of
        `malleable.jobs.snapshot.snapshot`).

    Notes
    -----
    Without a time and without ``most``, a trace is taken at its last arrival and a job table at 0.
    """
    is_table = isinstance(trace.table, Jobs)
    with warnings_as_notes():
        jobs = trace.jobs(phase)

    left = partial(_left, trace, jobs, phase, policy, options)
    when = []
    if at is not None:
        moment = check_time("--at", at)
    elif policy != RECORDED and (now is not None or is_table):
        raise ValueError(f"--snapshot {policy}: at which time? give --at SECONDS")
    elif now is not None:
        return jobs, check_time("--now", now), []
    elif not len(jobs) or (is_table and most is None):
        return jobs, 0.0, []
    elif most is None:
        moment = float(jobs.arrival.max())
        when = [f"now = {moment:.10g} s, the trace's last arrival (--at SECONDS: another time)"]
    else:
        arrivals, last = np.sort(jobs.arrival).tolist(), min(most, len(jobs))
        looks = {arrivals[max(last * k // _LOOKS, 1) - 1] for k in range(1, _LOOKS + 1)}
        moment = max(looks, key=lambda look: (len(left(look)[0]), look))
        when = [
            f"now = {moment:.10g} s, where of {len(looks)} moments most jobs are there "
            "(--at SECONDS: another time)"
        ]
    there, told = left(moment)
    return there, moment, when if is_table and policy == RECORDED else [*when, told]


def _left(
    trace: Trace, jobs: Jobs, phase: str, policy: str, options: dict[str, Any], moment: float
) -> tuple[Jobs, str]:
    """The jobs of a snapshot, and what such a snapshot is."""
    when = f"snapshot at {moment:.10g} s"
    if policy != RECORDED:
        came = int(np.count_nonzero(jobs.arrival <= moment))
        there = snapshot(jobs, at=moment, policy=policy, **options)
        return there, (
            f"{when}: of {counted(came, 'job')} that had arrived {len(there):,} are there, with the work"
            f" that {policy.upper()} on {counted(options['slots'], 'slot')} has left of them"
        )
    if trace.timed:
        there = trace.jobs(phase, moment)
        return there, (
            f"{when}: {counted(len(there), 'job')} submitted by then and not finished, with the work that"
            " was then left in the recorded run"
        )
    there = jobs.at(moment)
    return there, (
        f"{when}: {counted(len(there), 'job')}, all that had arrived by then with all of their work, as a"
        f" {trace.format} does not say when work was done (plan --snapshot fair: as FAIR leaves them)"
    )
