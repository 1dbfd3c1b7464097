"""Live runs for people: how far jobs are, and when they are expected to end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from malleable.live.expected import End, Left
from malleable.live.jobs_file import Job
from malleable.live.status import JobStatus, RunStatus
from malleable.view.text import Column, Table, columns_table, counted, number, plain, wall_time

__all__ = ["end_text", "plan_json", "plan_table", "status_json", "status_table", "task_text"]


def end_text(end: float, early: float, late: float) -> str:
    """An expected end and its spread."""
    if math.isnan(end):
        return "?"
    wide = math.isfinite(late - early) and late > early
    digits = max(0, 1 - math.floor(math.log10(late - early))) if wide else 1
    at, first, last = (number(round(value, min(digits, 3))) for value in (end, early, late))
    return at if first == last else f"{at} ({first} to {last})"


def task_text(seconds: float, spread: float) -> str:
    """Seconds of a task and how far they may be off."""
    if not seconds:
        return "?"
    digits = min(max(0, 1 - math.floor(math.log10(spread or seconds))), 3)
    return " ± ".join(number(round(value, digits)) for value in (seconds, spread))


def _deadline(job: JobStatus | Job) -> str:
    return number(job.deadline) if math.isfinite(job.deadline) else "-"


def _has_end(job: JobStatus) -> bool:
    return job.left > 0 or not math.isnan(job.ended)


_COLUMNS: list[Column] = [
    ("job", lambda job: job.name),
    ("user", lambda job: job.user or "-"),
    ("why", lambda job: job.why or "-"),
    ("slots", lambda job: number(job.slots)),
    ("running", lambda job: number(job.running)),
    ("done", lambda job: f"{job.done:,} of {job.done + job.failed + job.left:,}"),
    ("failed", lambda job: number(job.failed)),
    ("task [s]", lambda job: task_text(job.seconds, job.spread) if job.left else "-"),
    ("end [s]", lambda job: end_text(job.end, job.early, job.late) if _has_end(job) else "-"),
    ("deadline [s]", lambda job: _deadline(job) + (f", {job.risk}" if job.risk else "")),
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
    words = [job.risk for job in status.jobs]
    missed = words.count("missed")
    risks = len(words) - words.count("") - missed
    risky = f", {counted(missed, 'deadline')} missed" if missed else ""
    risky += f", {counted(risks, 'deadline')} at risk" if risks else ""
    title = (
        f"run {status.number}, {status.status}: {wall_time(status.now)} on "
        f"{counted(status.slots, 'slot')}{last}{risky}{more}"
    )
    return columns_table(title, jobs, _COLUMNS, left=3)


def status_json(status: RunStatus) -> dict[str, Any]:
    """As the table, with all numbers."""
    return {
        "run": status.number,
        "status": status.status,
        "seconds": status.now,
        "slots": status.slots,
        **dict(zip(("end", "early", "late"), plain(tuple(status.end)), strict=True)),
        "jobs": [{**_plain_job(job), "risk": job.risk} for job in status.jobs],
    }


def _plain_job(job: JobStatus) -> dict[str, Any]:
    """Its fields; those that are the run's are not repeated."""
    found = plain(job)
    del found["now"]
    return dict(found)


def plan_table(jobs: Sequence[Job], left: Sequence[Left], ends: Sequence[End], slots: int) -> Table:
    """What would run, and when it is expected to end."""
    known = [end for end in ends if not math.isnan(end.at)]
    last = f"{end_text(*map(max, zip(*known, strict=True)))} s" if known else "not known"
    unknown = len(ends) - len(known)
    without = f"; {counted(unknown, 'job')} without seconds that are known" if unknown else ""
    title = f"{counted(len(jobs), 'job')} on {counted(slots, 'slot')}: expected end {last}{without}"
    columns: list[Column] = [
        ("job", lambda row: jobs[row].name),
        ("first command", lambda row: " ".join(jobs[row].arguments(0)) if len(jobs[row]) else "-"),
        ("tasks", lambda row: number(len(jobs[row]))),
        ("seconds", lambda row: number(left[row].seconds) if left[row].seconds else "?"),
        ("end [s]", lambda row: end_text(*ends[row])),
        ("deadline [s]", lambda row: _deadline(jobs[row])),
    ]
    return columns_table(title, range(len(jobs)), columns, left=2)


def plan_json(
    jobs: Sequence[Job], left: Sequence[Left], ends: Sequence[End]
) -> list[dict[str, Any]]:
    """As the table, with all numbers."""
    return [
        {"name": job.name, "tasks": len(job), "seconds": own.seconds or None, **known}
        for job, own, end in zip(jobs, left, ends, strict=True)
        for known in [dict(zip(("end", "early", "late"), plain(tuple(end)), strict=True))]
    ]
