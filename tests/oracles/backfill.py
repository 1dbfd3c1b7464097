"""Rigid jobs on one pool of slots, event by event: first come first served, EASY backfill
(a reservation for the first waiting job) and conservative backfill (for all) as their papers print them.

At one instant jobs end, jobs come, then jobs start. Reservations go by requested times; a job that outlives its
requested time is expected to end at once. Every decision looks at all jobs anew: slow, and obvious.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Job(NamedTuple):
    """A job that needs ``width`` slots for ``run`` seconds, of which its user asked for ``requested``."""

    arrival: float
    width: int
    run: float
    requested: float
    user: int = 0


Key = Callable[[Job, float], float]
"""Of a job that waits, at a time: who has least is first."""


def arrival(job: Job, now: float) -> float:
    return job.arrival


def shortest(job: Job, now: float) -> float:
    return job.requested


def smallest(job: Job, now: float) -> float:
    return job.requested * job.width


def wfp3(job: Job, now: float) -> float:
    return -(((now - job.arrival) / job.requested) ** 3) * job.width


def unicef(job: Job, now: float) -> float:
    return -(now - job.arrival) / (math.log2(max(job.width, 2)) * job.requested)


def f1(first: float) -> Key:
    """Submit times count from 1 s before the log's first."""

    def key(job: Job, now: float) -> float:
        return math.log10(job.requested) * job.width + 870.0 * math.log10(job.arrival - first + 1.0)

    return key


class Multifactor:
    """Age (at most seven days), size, and two to the minus usage over an equal share, alike. Slot-seconds count
    half after seven days."""

    def __init__(self, jobs: Sequence[Job], slots: int) -> None:
        self.slots = slots
        self.held: list[tuple[float, float, int, int]] = []  # from, until, slots, user
        self.users = {job.user for job in jobs}

    def __call__(self, job: Job, now: float) -> float:
        used = dict.fromkeys(self.users, 0.0)
        for begin, end, width, user in self.held:
            ages = (now - min(end, now)) / _WEEK, (now - begin) / _WEEK
            used[user] += width * _WEEK / math.log(2.0) * (2.0 ** -ages[0] - 2.0 ** -ages[1])
        whole = sum(used.values())
        share = used[job.user] / whole * len(self.users) if whole > 0.0 else 0.0
        return -(min((now - job.arrival) / _WEEK, 1.0) + job.width / self.slots + 2.0**-share)


_WEEK = 7 * 86400.0


def backfill(jobs: Sequence[Job], slots: int, policy: str, key: Key = arrival) -> list[float]:
    """When each job starts; ``policy``: fcfs, easy or conservative."""
    starts = [math.nan] * len(jobs)
    running: list[int] = []
    waiting: list[int] = []
    coming = sorted(range(len(jobs)), key=lambda j: (jobs[j].arrival, j))
    choose = {"fcfs": _fcfs, "easy": _easy, "conservative": _conservative}[policy]
    while coming or waiting or running:
        ends = [starts[j] + jobs[j].run for j in running]
        now = min([*ends, jobs[coming[0]].arrival] if coming else ends)
        running = [j for j in running if starts[j] + jobs[j].run > now]
        while coming and jobs[coming[0]].arrival <= now:
            waiting.append(coming.pop(0))
        waiting.sort(key=lambda j: (key(jobs[j], now), jobs[j].arrival, j))
        free = slots - sum(jobs[j].width for j in running)
        expected = [
            (max(now, starts[j] + jobs[j].requested), (jobs[j].arrival, j), jobs[j].width)
            for j in running
        ]
        for j in choose([jobs[j] for j in waiting], waiting, free, expected, now):
            starts[j] = now
            if isinstance(key, Multifactor):
                key.held.append((now, now + jobs[j].run, jobs[j].width, jobs[j].user))
            running.append(j)
            waiting.remove(j)
    return starts


Ends = list[tuple[float, tuple[float, int], int]]
"""When jobs end, as expected, who they are by arrival, and on how many slots."""


def _fcfs(queue: list[Job], ids: list[int], free: int, expected: Ends, now: float) -> list[int]:
    chosen = []
    for job, j in zip(queue, ids, strict=True):
        if job.width > free:
            break
        free -= job.width
        chosen.append(j)
    return chosen


def _easy(queue: list[Job], ids: list[int], free: int, expected: Ends, now: float) -> list[int]:
    """Jobs that run are taken by their expected ends until the first of the queue fits; what is left then is
    spare."""
    expected = list(expected)
    chosen = []
    shadow = spare = None
    for job, j in zip(queue, ids, strict=True):
        if shadow is None or spare is None:
            if job.width > free:
                then = free
                for end, _, width in sorted(expected):
                    then += width
                    if then >= job.width:
                        shadow, spare = end, then - job.width
                        break
                continue
        elif job.width > free:
            continue
        elif now + job.requested > shadow:
            if job.width > spare:
                continue
            spare -= job.width
        free -= job.width
        expected.append((now + job.requested, (job.arrival, j), job.width))
        chosen.append(j)
    return chosen


def _conservative(
    queue: list[Job], ids: list[int], free: int, expected: Ends, now: float
) -> list[int]:
    """Each job gets the earliest place that those before it leave."""
    changes = [(now, free), *((end, width) for end, _, width in expected)]
    chosen = []
    for job, j in zip(queue, ids, strict=True):
        for begin in sorted({time for time, _ in changes}):
            inside = [time for time, _ in changes if begin <= time < begin + job.requested]
            if all(sum(w for t, w in changes if t <= time) >= job.width for time in inside):
                break
        changes += [(begin, -job.width), (begin + job.requested, job.width)]
        if begin == now and job.width <= free:  # what outlives its time may not have ended
            free -= job.width
            chosen.append(j)
    return chosen


def jobs_of(table: Any) -> list[Job]:
    """The jobs of a table of rigid cluster jobs."""
    columns = (table.arrival, table.width, table.map_seconds, table.requested)
    return [Job(*own) for own in zip(*(column.tolist() for column in columns), strict=True)]
