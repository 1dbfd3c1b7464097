"""Snapshots of a trace, for planning: the jobs that are there at a moment, and their remaining work."""

from __future__ import annotations

from malleable.cli.terminal import warnings_as_notes
from malleable.jobs.table import Jobs, check_time
from malleable.traces import Trace
from malleable.view.text import counted


def take_snapshot(
    trace: Trace,
    *,
    phase: str = "map",
    at: float | None = None,
    now: float | None = None,
) -> tuple[Jobs, float, list[str]]:
    """Jobs to plan, the time of the plan, and what to tell about them.

    ``at`` takes a snapshot at a time [s]: the jobs of the ``phase`` that have arrived by then; ``now`` sets
    the time of the plan only. Without them a trace is taken at its last arrival, and a job table at 0."""
    is_table = isinstance(trace.table, Jobs)
    with warnings_as_notes():
        jobs = trace.jobs(phase)
    when = []
    if at is not None:
        moment = check_time("--at", at)
    elif now is not None:
        return jobs, check_time("--now", now), []
    elif is_table or not len(jobs):
        return jobs, 0.0, []
    else:
        moment = float(jobs.arrival.max())
        when = [f"now = {moment:.10g} s, the trace's last arrival (--at SECONDS: another time)"]
    there, told = _left(trace, jobs, phase, moment)
    return there, moment, when if is_table else [*when, told]


def _left(trace: Trace, jobs: Jobs, phase: str, moment: float) -> tuple[Jobs, str]:
    # The jobs that are there at a moment [s], and what to tell about them.
    when = f"snapshot at {moment:.10g} s"
    if trace.timed:
        there = trace.jobs(phase, moment)
        return there, (
            f"{when}: {counted(len(there), 'job')} submitted by then and not finished, with the work that"
            " was then left in the recorded run"
        )
    there = jobs.at(moment)
    return there, (
        f"{when}: {counted(len(there), 'job')}, all that had arrived by then with all of their work, as a"
        f" {trace.format} does not say when work was done"
    )
