"""Training jobs in rounds: a job that gets another number of GPUs holds them and does nothing for a while.

`share_rounds` asks a rule ``rule(state, now) -> slots`` at every round. The state's rows are the jobs that are
there: ``ids``, ``arrival``, ``work`` (left) and ``size``, seconds on one GPU; ``attained`` and ``held``, GPU
seconds so far and GPUs now; ``max_slots``, ``rate`` (a row of what 0, 1, 2, ... GPUs do), ``capacity``.
Rules for unknown sizes do not read ``work`` and ``size``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import malleable as mb
from benchmarks.instances import GpuJobs
from benchmarks.rivals.loops import Rule, State
from benchmarks.rivals.rules import in_order, level

ROUND, RESTART = 60.0, 30.0
"""Seconds between two questions, and that a change costs."""


class Rounds(NamedTuple):
    """Responses [s], and changes of each job after its start."""

    response: Any
    restarts: Any


def share_rounds(jobs: GpuJobs, slots: int, rule: Rule) -> Rounds:
    count, width = len(jobs.work), min(slots, int(jobs.most.max()))
    rate = np.zeros((count, width + 1))
    for row, table in enumerate(jobs.tables):
        rate[row] = table[np.minimum(np.arange(width + 1), min(len(table) - 1, jobs.most[row]))]
    left, done = jobs.work.copy(), np.full(count, np.nan)
    attained, idle = np.zeros(count), np.zeros(count)  # idle: seconds of a restart to go
    held, restarts = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    rows, first, now = np.empty(0, dtype=np.int64), 0, 0.0
    while first < count or len(rows):
        if not len(rows):
            now = max(now, ROUND * np.ceil(jobs.arrival[first] / ROUND))
        last = int(np.searchsorted(jobs.arrival, now, side="right"))
        rows, first = np.concatenate([rows, np.arange(first, last)]), last
        state = {"ids": rows, "arrival": jobs.arrival[rows], "work": left[rows], "held": held[rows]}
        state |= {"size": jobs.work[rows], "attained": attained[rows], "rate": rate[rows]}
        state |= {"max_slots": np.minimum(jobs.most[rows], slots), "capacity": slots}
        given = np.asarray(rule(state, now))
        if given.sum() > slots or (given < 0).any() or (given > state["max_slots"]).any():
            raise ValueError(f"the rule hands out {given.tolist()} of {slots} slots at {now} s")
        moved = given != held[rows]
        restarts[rows] += moved & (given > 0) & (attained[rows] > 0)
        idle[rows] = np.where(moved, RESTART * (given > 0), idle[rows])
        held[rows] = given
        works = np.maximum(ROUND - idle[rows], 0.0)
        speed = rate[rows, given]
        ends = (speed > 0) & (left[rows] <= speed * works)
        took = np.divide(left[rows], speed, out=np.zeros(len(rows)), where=ends)
        done[rows[ends]] = now + idle[rows][ends] + took[ends]
        left[rows] -= speed * works
        attained[rows] += given * ROUND
        idle[rows] = np.maximum(idle[rows] - ROUND * (given > 0), 0.0)
        rows, now = rows[~ends], now + ROUND
    return Rounds(done - jobs.arrival, restarts)


def one_by_one(state: State, worth: Any) -> Any:
    """One slot for each, first come, then slot by slot to the job that gains most: ``worth[row, slots]``."""
    given = in_order(state["arrival"], np.minimum(state["max_slots"], 1), state["capacity"])
    rows = np.arange(len(given))
    for _ in range(state["capacity"] - int(given.sum())):
        open_ = (given > 0) & (given < state["max_slots"])
        gain = np.where(open_, worth[rows, np.minimum(given, worth.shape[1] - 1)], 0.0)
        best = int(gain.argmax())
        if not gain[best] > 0.0:
            break
        given[best] += 1
    return given


def optimus(state: State, now: float) -> Any:
    """Optimus (Peng et al., EuroSys 2018): the next slot to the job whose end it brings forward most."""
    seconds = state["work"][:, None] / np.maximum(state["rate"], 1e-12)
    return one_by_one(
        state, np.append(seconds[:, :-1] - seconds[:, 1:], 0.0 * seconds[:, :1], axis=1)
    )


def tiresias(limit: float, worth: float = 0.5) -> Rule:
    """Tiresias (Gu et al., NSDI 2019): below so many GPU seconds first, each queue first come, all that a job
    asks for or nothing: as many GPUs as do at least ``worth`` each."""

    def rule(state: State, now: float) -> Any:
        given, free = np.zeros(len(state["ids"]), dtype=np.int64), state["capacity"]
        count = np.arange(state["rate"].shape[1])
        useful = (state["rate"] >= worth * count) & (count <= state["max_slots"][:, None])
        asked = np.where(useful, count, 0).max(axis=1)
        for row in np.lexsort((state["arrival"], state["attained"] >= limit)).tolist():
            if asked[row] <= free:
                given[row] = asked[row]
                free -= given[row]
        return given

    return rule


def fair(state: State, now: float) -> Any:
    """Equal shares."""
    return level(state["max_slots"], state["capacity"])


def srpt(state: State, now: float) -> Any:
    """The least seconds left first, each with all that it can use."""
    top = state["rate"][np.arange(len(state["ids"])), state["max_slots"]]
    return in_order(state["work"] / top, state["max_slots"], state["capacity"])


class EpochOfRounds:
    """A user's loop around `malleable.Epoch`; ``more``: what it says of jobs beside speed-ups."""

    def __init__(self, slots: int, known: bool = True, period: float = ROUND, **more: Any):
        options = {} if known else {"sizes": "unknown"}
        self.epoch = mb.Epoch(slots, "sum:response", period=period, **options)
        self.known, self.more = known, more
        self.id_of: dict[int, int] = {}

    def __call__(self, state: State, now: float) -> Any:
        rows, here = state["ids"].tolist(), set(state["ids"].tolist())
        ended = [row for row in self.id_of if row not in here]
        self.epoch.finish([self.id_of.pop(row) for row in ended])
        known = [k for k, row in enumerate(rows) if row in self.id_of]
        if self.known:
            self.epoch.update([self.id_of[rows[k]] for k in known], work=state["work"][known])
        for k, row in enumerate(rows):
            if row in self.id_of:
                continue
            most = int(state["max_slots"][k])
            work = [state["size"][k]] if self.known else [1.0]
            columns = {"max_slots": most, "arrival": [state["arrival"][k]]} | self.more
            table = state["rate"][k, 1 : most + 1]
            self.id_of[row] = int(self.epoch.add(work, speedup=[table], **columns)[0])
        decision = self.epoch.decide(now)
        given = dict(zip(decision.ids.tolist(), decision.slots.tolist(), strict=True))
        return [given[self.id_of[row]] for row in rows]
