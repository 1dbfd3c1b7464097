"""Live runs for people: how far jobs are, and when they are expected to end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from malleable.live.expected import End, Left
from malleable.live.jobs_file import Job
from malleable.live.status import JobStatus, RunStatus
from malleable.view.text import Table, counted, finite, number, table, wall_time

__all__ = ["end_text", "plan_json", "plan_table", "status_json", "status_table", "task_text"]

_HEADS = ["job", "user", "why", "slots", "running", "done", "failed", "task [s]",
          "expected end [s]", "deadline [s]"]  # fmt: skip


def end_text(end: float, early: float, late: float) -> str:
    """An expected end and its spread."""
    if math.isnan(end):
        return "?"
    digits = max(0, 1 - math.floor(math.log10(late - early))) if late > early else 1
    at, first, last = (number(round(value, min(digits, 3))) for value in (end, early, late))
    return at if first == last else f"{at} ({first} to {last})"


def task_text(seconds: float, spread: float) -> str:
    """Seconds of a task and how far they may be off."""
    if not seconds:
        return "?"
    digits = min(max(0, 1 - math.floor(math.log10(spread or seconds))), 3)
    return " ± ".join(number(round(value, digits)) for value in (seconds, spread))


def _cells(job: JobStatus) -> list[str]:
    deadline = number(job.deadline) if math.isfinite(job.deadline) else "-"
    return [
        job.name,
        job.user or "-",
        job.why or "-",
        number(job.slots),
        number(job.running),
        f"{job.done:,} of {job.done + job.failed + job.left:,}",
        number(job.failed),
        task_text(job.seconds, job.spread) if job.left else "-",
        end_text(job.end, job.early, job.late) if job.left else "-",
        f"{deadline}, {job.risk}" if job.risk else deadline,
    ]


def _urgency(job: JobStatus) -> tuple[bool, bool, float]:
    return job.left == 0, job.running + job.slots == 0, job.end if job.end == job.end else math.inf


def status_table(status: RunStatus, most: int | None = None) -> Table:
    """A row a job, in the order of the file; if there are more than ``most``, those that run or end first."""
    jobs: Sequence[JobStatus] = status.jobs
    more = ""
    if most is not None and len(jobs) > most:
        jobs = sorted(jobs, key=_urgency)[:most]
        more = f"; {counted(len(status.jobs) - most, 'job')} not shown"
    end = status.end
    last = f", expected end {end_text(*end)} s" if any(job.left for job in status.jobs) else ""
    risks = sum(1 for job in status.jobs if job.risk)
    risky = f", {counted(risks, 'deadline')} at risk" if risks else ""
    title = (
        f"run {status.number}, {status.status}: {wall_time(status.now)} on "
        f"{counted(status.slots, 'slot')}{last}{risky}{more}"
    )
    return table(title, _HEADS, [_cells(job) for job in jobs], left=3)


def status_json(status: RunStatus) -> dict[str, Any]:
    """As the table, with all numbers."""
    numbers = ("deadline", "end", "early", "late")
    return {
        "run": status.number,
        "status": status.status,
        "seconds": status.now,
        "slots": status.slots,
        **{
            key: finite(value)
            for key, value in zip(("end", "early", "late"), status.end, strict=True)
        },
        "jobs": [
            {
                **job._asdict(),
                **{key: finite(getattr(job, key)) for key in numbers},
                "risk": job.risk,
            }
            for job in status.jobs
        ],
    }


def plan_table(jobs: Sequence[Job], left: Sequence[Left], ends: Sequence[End], slots: int) -> Table:
    """What would run, and when it is expected to end."""
    known = [end for end in ends if not math.isnan(end.at)]
    last = f"{end_text(*map(max, zip(*known, strict=True)))} s" if known else "not known"
    unknown = len(ends) - len(known)
    without = f"; {counted(unknown, 'job')} without seconds that are known" if unknown else ""
    title = f"{counted(len(jobs), 'job')} on {counted(slots, 'slot')}: expected end {last}{without}"
    rows = [
        [
            job.name,
            " ".join(job.arguments(0)) if len(job) else "-",
            number(len(job)),
            number(own.seconds) if own.seconds else "?",
            end_text(*end),
            number(job.deadline) if math.isfinite(job.deadline) else "-",
        ]
        for job, own, end in zip(jobs, left, ends, strict=True)
    ]
    heads = ["job", "first command", "tasks", "seconds", "end [s]", "deadline [s]"]
    return table(title, heads, rows, left=2)


def plan_json(
    jobs: Sequence[Job], left: Sequence[Left], ends: Sequence[End]
) -> list[dict[str, Any]]:
    """As the table, with all numbers."""
    return [
        {
            "name": job.name,
            "tasks": len(job),
            "seconds": own.seconds or None,
            "end": finite(end.at),
            "early": finite(end.early),
            "late": finite(end.late),
        }
        for job, own, end in zip(jobs, left, ends, strict=True)
    ]
