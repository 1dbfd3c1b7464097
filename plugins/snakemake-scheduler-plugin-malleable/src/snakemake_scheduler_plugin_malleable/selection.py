"""Which jobs of an order start now: what fits into the resources that are free.

The first job that does not fit gets a promise: when enough of what runs will have ended. Jobs behind it
start where they fit and end before that, or leave what it needs; otherwise a job of many threads would wait as
long as others come. O(jobs looked at); of a rule of which many jobs in a row did not fit no more are looked
at, unless nothing runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["Running", "choose"]

_PATIENCE = 50  # jobs of a rule that do not fit
Needs = dict[str, int]


class Running:
    """What a job that runs holds, and when it will have ended."""

    __slots__ = ("end", "needs")

    def __init__(self, needs: Needs, end: float) -> None:
        self.needs, self.end = needs, end


def needs_of(job: Any, names: Sequence[str]) -> Needs:
    """What a job takes of these resources; 0 is left out."""
    found = job.scheduler_resources
    return {
        name: value for name in names if isinstance(value := found.get(name, 0), int) and value > 0
    }


def choose(
    order: np.ndarray,
    rules: np.ndarray,
    job_of: Callable[[int], Any],
    free: Mapping[str, Any],
    seconds_of: Callable[[int], float],
    running: Sequence[Running],
    now: float,
) -> list[tuple[int, Needs]]:
    """Rows that start, and what each takes.

    Parameters
    ----------
    order : ndarray of int
        Rows that may start, first ones first.
    rules : ndarray of int
        By row.
    job_of, seconds_of : callable
        Of a row.
    free : mapping
        Resources; those that are no numbers limit nothing.
    running : sequence of Running
    now : float
    """
    left = {
        name: value
        for name, value in free.items()
        if isinstance(value, int) and not isinstance(value, bool)
    }
    names = tuple(left)
    chosen: list[tuple[int, Needs]] = []
    ends = list(running)
    promise: _Promise | None = None
    misfits: dict[int, int] = {}
    at = 0
    while at < len(order):
        if left.get("_cores", 1) <= 0 or left.get("_job_count", 1) <= 0:
            break
        row = int(order[at])
        at += 1
        rule = int(rules[row])
        needs = needs_of(job_of(row), names)
        if all(left[name] >= value for name, value in needs.items()):
            end = now + seconds_of(row)
            if promise is None or promise.leaves(needs, end):
                chosen.append((row, needs))
                ends.append(Running(needs, end))
                for name, value in needs.items():
                    left[name] -= value
                misfits[rule] = 0
                continue
        elif promise is None:
            promise = _Promise.of(needs, left, ends, now)
        misfits[rule] = misfits.get(rule, 0) + 1
        if misfits[rule] >= _PATIENCE and (chosen or running):
            order = order[at:][rules[order[at:]] != rule]
            at = 0
    return chosen


class _Promise:
    """When a job may start, and what it leaves then."""

    def __init__(self, at: float, needs: Needs, spare: Needs) -> None:
        self.at, self.needs, self.spare = at, needs, spare

    @classmethod
    def of(cls, needs: Needs, left: Needs, ends: Sequence[Running], now: float) -> _Promise | None:
        """None: not from what is known to run."""
        there = dict(left)
        for other in sorted(ends, key=lambda each: each.end):
            for name, value in other.needs.items():
                there[name] += value
            if all(there[name] >= value for name, value in needs.items()):
                spare = {name: there[name] - value for name, value in needs.items()}
                return cls(max(other.end, now), needs, spare)
        return None

    def leaves(self, needs: Needs, end: float) -> bool:
        """Whether a job keeps it; if so, it counts."""
        if end <= self.at:
            return True
        both = [name for name in needs if name in self.spare]
        if any(self.spare[name] < needs[name] for name in both):
            return False
        for name in both:
            self.spare[name] -= needs[name]
        return True
