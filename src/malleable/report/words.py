"""Words and numbers as operators read them: durations, shares, and what each column means."""

from __future__ import annotations

import math
from typing import NamedTuple

from malleable.view.text import digits, duration

_LONG = 60  # most characters of a name


def share(fraction: float | None) -> str:
    if fraction is None or math.isnan(fraction):
        return "–"
    if fraction == 0.0:
        return "0 %"
    return f"{100 * fraction:.1f} %" if abs(fraction) < 0.0995 else f"{100 * fraction:.0f} %"


def change(before: float | None, after: float | None) -> str:
    """``−63 %`` or ``+4.1 %``, relative to before; "no change" below a thousandth."""
    if before is None or after is None or not before > 0.0 or math.isnan(after):
        return "–"
    part = after / before - 1.0
    if abs(part) < 0.0005:
        return "±0 %"
    if part >= 9.995:
        return f"× {digits(part + 1.0)}"
    sign = "+" if part > 0 else "−"
    return f"{sign}{share(abs(part))}"


def count(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:,.0f}"


def amount(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else digits(value)


def size(bytes: float | None) -> str:
    if bytes is None or math.isnan(bytes):
        return "–"
    for k, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB")):
        if abs(bytes) < 1024 ** (k + 1) or unit == "TiB":
            return (
                f"{bytes / 1024**k:.0f} {unit}" if k == 0 else f"{digits(bytes / 1024**k)} {unit}"
            )
    raise AssertionError


def short(name: str, most: int = _LONG) -> str:
    """A name that fits into a cell: the beginning and end of a long one."""
    if len(name) <= most:
        return name
    half = (most - 1) // 2
    return f"{name[:half]}…{name[-half:]}"


FORMATS = {"duration": duration, "share": share, "count": count, "amount": amount, "size": size}


class Column(NamedTuple):
    key: str  # the figure
    head: str
    format: str  # of `FORMATS`
    told: str  # what it means


_UNTIL = "from when a job is submitted until its"
COLUMNS = (
    Column("mean_response", "mean response", "duration", f"Mean response time: {_UNTIL} last task has ended."),
    Column("p50_response", "median response", "duration", "Half of the jobs have at most this response time."),
    Column("p95_response", "p95 response", "duration", "95 of 100 jobs have at most this response time."),
    Column("p99_response", "p99 response", "duration", "99 of 100 jobs have at most this response time."),
    Column("mean_wait", "mean wait", "duration", f"Mean wait: {_UNTIL} first task starts."),
    Column("p50_wait", "median wait", "duration", "Half of the jobs wait at most this long."),
    Column("p95_wait", "p95 wait", "duration", "95 of 100 jobs wait at most this long."),
    Column(
        "longest_wait", "longest wait", "duration", "The longest wait of any job for its first task."
    ),
    Column(
        "mean_slowdown", "mean slowdown", "amount",
        "Mean of each job's response time over the least time in which the whole cluster could run that job "
        "alone. 1 is the best there is.",
    ),
    Column("missed_deadlines", "late", "count", "Jobs with a deadline that end after their deadline."),
    Column("utilisation", "in use", "share", "Share of slots with a task, until the last job has ended."),
)  # fmt: skip

# Names of policies for people who do not know them.
NAMES = {
    "auto": "Short jobs first",
    "flex": "Planned by size",
    "fair": "Equal shares",
    "fifo": "First come, first served",
    "fcfs": "First come, first served",
    "easy": "Backfill",
    "easy-sjf": "Backfill, short requests first",
    "conservative": "Backfill with reservations for all",
}

POLICIES = {
    "recorded": "What really happened, as the file says.",
    "auto": "Short jobs first, by what finished tasks have shown of sizes and speed-ups.",
    "flex": "Slots by size of job, planned ahead: jobs that can be finished soonest get them first.",
    "fair": "Equal shares: every job gets as many slots as any other, as far as it can use them.",
    "fifo": "First come, first served.",
    "fcfs": "First come, first served: no job overtakes the first waiting job.",
    "easy": "The first waiting job has a reservation; others overtake if they do not delay it (backfill).",
    "easy-sjf": "EASY, with the shortest requested times first.",
    "conservative": "Backfill with a reservation for each waiting job.",
    "bound": "No schedule of these jobs on this cluster has a lower mean response time, whatever it knows.",
}

# What the page explains at its end.
GLOSSARY = (
    ("slot", "Room for one task at a time: a processor, a core, a container."),
    ("task", "A piece of work that runs on one slot and is not divided."),
    ("job", "All tasks of one submission, or of one flow of stages."),
    ("response time", "From when a job is submitted until its last task has ended."),
    ("wait", "From when a job is submitted until its first task starts."),
    (
        "slot time",
        "The time that all tasks of a job take together: ten tasks of a minute are ten minutes.",
    ),
    (
        "load",
        "The work of all jobs over what the slots could have done while jobs came. At 1 and above the queue "
        "grows.",
    ),
    (
        "malleable",
        "Of a job: it runs on few slots or many, and their number may change while it runs.",
    ),
    ("rigid", "Of a job: all its tasks start together on a fixed number of slots."),
    (
        "requested time",
        "The longest time that the job may run, as its user said. Reservations use it.",
    ),
    (
        "FAIR with its best setting",
        "FAIR with reduce tasks that start early, late or last: the one with the least mean response time "
        "here.",
    ),
)
