"""Jobs that start on their minimum or wait, and never have less after that: rigid and malleable ones."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

import numpy as np

import malleable as mb
from benchmarks.instances import HPC_FAMILIES, HPC_SLOTS, HpcJobs, hpc_jobs, traces
from benchmarks.rivals.table import Row, SkippedError, section

_SHARES = (0.0, 0.2, 0.5, 1.0)
_PUBLISHED = {
    "EASY": ("preferred", "preferred", False),
    "at minimum": ("minimum", "minimum", True),
    "at preferred": ("preferred", "minimum", True),
    "at maximum": ("maximum", "minimum", True),
}
"""Where a job starts, how far it shrinks for others, and whether it grows from the common pool."""

_DUE = {"sum:tardiness": ("by deadline",), "sum:tardy": ("by deadline",)}
"""Rivals of objectives with deadlines."""


class _Loop:
    """What runs and waits; a rival says which jobs start on how many slots, and how the others change."""

    def __init__(self, world: HpcJobs) -> None:
        jobs = world.jobs
        self.widths = {
            "minimum": jobs.min_slots,
            "preferred": world.preferred,
            "maximum": jobs.max_slots,
        }
        self.work, self.arrival, self.rates = jobs.work, jobs.arrival, world.rates
        self.deadline = jobs.deadline
        self.left = jobs.work.copy()
        self.has = np.zeros(len(jobs), dtype=np.int64)
        self.running: list[int] = []
        self.waiting: list[int] = []
        self.now = 0.0

    def seconds(self, job: int, slots: int) -> float:
        return float(self.left[job] / self.rates[job, slots])

    def reserving(self, key: Any, start: str, least: str) -> None:
        """Jobs start by a key; the first that does not fit has a reservation. Running jobs may shrink."""
        low, at = self.widths[least], self.widths[start]
        until, spare, reserved = np.inf, HPC_SLOTS, False
        for job in sorted(self.waiting, key=key):
            free = HPC_SLOTS - int(self.has[self.running].sum())
            gives = int((self.has - low)[self.running].clip(0).sum())
            need = int(at[job])
            if need > free + gives:  # fewer, if it may
                need = max(int(low[job]), free + gives)
            over = self.now + self.seconds(job, need) > until
            if need > free + gives or (over and need > spare):
                if not reserved:
                    ends = sorted(
                        (self.now + self.seconds(j, int(self.has[j])), j) for j in self.running
                    )
                    reserved, there = True, free + gives
                    while there < need:
                        until, j = ends.pop(0)
                        there += int(min(self.has[j], low[j]))
                    spare = there - need
                continue
            spare -= need * over
            self._shrink(need - free, low)
            self.begin(job, need)

    def first_fit(self, key: Any) -> None:
        """Running jobs shrink to their minima; others start on theirs, by a key, wherever these fit."""
        low = self.widths["minimum"]
        self.has[self.running] = low[self.running]
        free = HPC_SLOTS - int(self.has[self.running].sum())
        for job in sorted(self.waiting, key=key):
            if low[job] <= free:
                free -= int(low[job])
                self.begin(job, int(low[job]))

    def begin(self, job: int, slots: int) -> None:
        self.has[job] = slots
        self.waiting.remove(job)
        self.running.append(job)

    def _shrink(self, need: int, low: Any) -> None:
        """By agreement: who has most beyond its least gives first."""
        while need > 0:
            job = max(self.running, key=lambda j: self.has[j] - low[j])
            self.has[job] -= 1
            need -= 1

    def grow(self, gain: Any) -> None:
        """Free slots, one by one, to whom they help most."""
        most = self.widths["maximum"]
        heap = [(-gain(j), j) for j in self.running if self.has[j] < most[j]]
        heapq.heapify(heap)
        for _ in range(HPC_SLOTS - int(self.has[self.running].sum())):
            if not heap:
                break
            job = heapq.heappop(heap)[1]
            self.has[job] += 1
            if self.has[job] < most[job]:
                heapq.heappush(heap, (-gain(job), job))

    def saved(self, job: int) -> float:
        """Of what is left, by one slot more."""
        has = int(self.has[job])
        return float((self.rates[job, has + 1] - self.rates[job, has]) / self.left[job])


def _decide(loop: _Loop, rule: str) -> None:
    if rule in _PUBLISHED:
        start, least, grows = _PUBLISHED[rule]
        loop.reserving(lambda job: loop.arrival[job], start, least)
        if grows:
            loop.grow(lambda job: -loop.has[job] / loop.widths["maximum"][job])
        return
    if rule == "by deadline":
        loop.reserving(lambda job: loop.deadline[job], "minimum", "minimum")
    elif rule == "first fit":
        loop.first_fit(lambda job: loop.arrival[job])
    else:  # by work and wait
        loop.first_fit(
            lambda job: loop.work[job] / (1.0 + (loop.now - loop.arrival[job]) / 3600.0) ** 2
        )
    loop.grow(loop.saved)


def hold_started(world: HpcJobs, rule: str) -> tuple[Any, Any]:
    """Starts and completions if the rule is asked whenever a job comes or ends."""
    loop, count = _Loop(world), len(world.jobs)
    start, end, comes = np.zeros(count), np.zeros(count), 0
    while comes < count or loop.running:
        rows = np.array(loop.running, dtype=np.int64)
        rate = loop.rates[rows, loop.has[rows]]
        until = float((loop.left[rows] / rate).min(initial=np.inf)) + loop.now
        if comes < count:
            until = min(until, loop.arrival[comes])
        loop.left[rows] -= rate * (until - loop.now)
        loop.now = until
        for job in rows[loop.left[rows] <= 1e-9 * loop.work[rows]].tolist():
            end[job] = until
            loop.running.remove(job)
        while comes < count and loop.arrival[comes] <= until:
            loop.waiting.append(comes)
            comes += 1
        before = set(loop.waiting)
        _decide(loop, rule)
        start[list(before - set(loop.waiting))] = until
    return start, end


_MEASURES = {
    "sum:response": lambda jobs, start, end: (end - jobs.arrival).mean(),
    "longest wait": lambda jobs, start, end: (start - jobs.arrival).max(),
    "sum:stretch": lambda jobs, start, end: ((end - jobs.arrival) / jobs.work).mean(),
    "max:stretch": lambda jobs, start, end: ((end - jobs.arrival) / jobs.work).max(),
    "sum:tardiness": lambda jobs, start, end: np.maximum(0.0, end - jobs.deadline).mean(),
    "sum:tardy": lambda jobs, start, end: (end > jobs.deadline).mean(),
}
"""What is measured of starts and ends: objectives, over the number of jobs, and the longest wait [s]."""


def play(rule: str, world: HpcJobs, measure: str) -> float:
    """One measure of a rule; ours has it as its objective, or else the mean response."""
    jobs = world.jobs
    if rule == "start":
        objective = measure if ":" in measure else "sum:response"
        how: dict[str, Any] = {"slots": HPC_SLOTS, "min_mode": "start", "objective": objective}
        records = mb.simulate(jobs, policy="flex", **how).records
        order = np.argsort(records["job_id"])
        start, end = records["starting_time"][order], records["completion"][order]
    else:
        start, end = hold_started(world, rule)
    return float(_MEASURES[measure](jobs, start, end))


def _rows() -> Iterator[tuple[str, str, float, float]]:
    """Measures, families, loads and shares of malleable jobs."""
    for family in ("lublin", *HPC_FAMILIES):
        yield from (("sum:response", family, 1.0, share) for share in _SHARES)
    yield from (("longest wait", "lublin", 1.0, share) for share in _SHARES)
    for load in (0.7, 0.9, 1.1):
        yield from (("sum:response", "lublin", load, share) for share in _SHARES)
    for measure in ("sum:stretch", "max:stretch", "sum:tardiness", "sum:tardy"):
        yield from ((measure, "lublin", 1.0, share) for share in _SHARES)
    for measure in ("sum:tardiness", "sum:tardy"):
        for family in HPC_FAMILIES:
            yield from ((measure, family, 1.0, share) for share in (0.0, 0.5))


@section(
    "start",
    "Jobs of MPI programs come to 256 slots (`hpc_jobs`), some of them rigid, the others malleable. A job "
    "starts on its minimum or waits, and a running job never has less. The rows name the sizes of the jobs "
    "and the part that is malleable. The figures are mean responses [s] at load 1, unless the row says "
    'more. Ours is FLEX with `min_mode="start"` and the objective that the row names, or else the mean '
    "response. EASY starts every job at its preferred "
    'width, first come, with a reservation. "at minimum", "at preferred" and "at maximum" do the same with '
    "malleable jobs, which shrink if others can then start, and grow from the common pool of "
    'free slots. "first fit" starts jobs by arrival wherever their minima fit, and "by work and wait" by '
    'work / (1 + wait / 1 h)^2. For objectives with deadlines there is also "by deadline": jobs start by '
    "deadline on their minima, with a reservation for the first that does not fit. All three let jobs grow "
    "by what a slot saves of the time that is left. The rule "
    '"by work and wait" has the shorter mean where most jobs are rigid, and lets some of them wait up to '
    "three times as long as EASY does",
)
def start_rows(quick: bool) -> Iterator[Row]:
    if traces() is None:
        raise SkippedError("no folder of traces: MALLEABLE_TRACES names none")
    count = 200 if quick else 1000
    for measure, family, load, share in _rows():
        seeds = (0, 2000, 4000) if family == "lublin" else (1, 2, 3)
        name = f"{family}, {share:.0%} malleable"
        name += f", load {load:g}" if load != 1.0 else ""
        name += f", {measure}" if measure != "sum:response" else ""
        yield Row(
            name,
            lambda rule, seed, measure=measure, family=family, load=load, share=share: play(
                rule, hpc_jobs(family, share, seed, load=load, count=count), measure
            ),
            ours=("start",),
            rivals=(*_PUBLISHED, "first fit", "by work and wait", *_DUE.get(measure, ())),
            seeds=seeds[:1] if quick else seeds,
        )
