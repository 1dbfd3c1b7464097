"""Seconds of jobs, by rule and by how much data is behind them, as the core's scheduler learns.

A rule's jobs of which the time is known are shown to a `malleable.Scheduler` as jobs of one task each; what is
said of each is its data, in bytes, times the seconds that a byte took in the mean of logarithms. The scheduler
finds how far that may be believed, and says what a job with other data takes. It is asked at a few points
between the least and the most data of the rule's jobs; between these it is a line in logarithms. A rule
of which no job is known takes what others do. O(known jobs + points) for a rule that is fitted anew.

What is behind a job is also how its flow did so far: a sample whose first steps took long for what they read
will take long again. `Pace` is the mean of that, in logarithms, by which data are multiplied.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

import malleable as mb

__all__ = ["Pace", "Times"]

_KEPT = 300  # jobs of a rule that count, the last ones
_POINTS = 25
_BEYOND = 8.0  # how far from what is known a rule is asked for
_LEAST, _MOST = 1e-3, 1e9  # seconds
UNKNOWN = 1.0  # seconds of a job while nothing is known of any


class Times:
    """What jobs of rules took, and will."""

    def __init__(self) -> None:
        self._known: dict[str, deque[tuple[float, float]]] = {}
        self._count: dict[str, int] = {}
        self._fitted: dict[str, int] = {}
        self._fits: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self._sum, self._total = 0.0, 0

    def add(self, rule: str, data: float, seconds: float) -> None:
        """A job took so long; data in bytes, 1 where nothing is known."""
        if not math.isfinite(seconds) or seconds < 0.0:
            return
        data = max(data, 1e-9)
        taken = min(max(seconds, _LEAST), _MOST)
        self._known.setdefault(rule, deque(maxlen=_KEPT)).append((data, taken))
        self._count[rule] = self._count.get(rule, 0) + 1
        self._sum += math.log(taken)
        self._total += 1

    def __len__(self) -> int:
        return self._total

    @property
    def common(self) -> float:
        """What a job takes of whose rule nothing is known."""
        return math.exp(self._sum / self._total) if self._total else UNKNOWN

    def knows(self, rule: str) -> bool:
        """Whether a job of this rule is known."""
        return rule in self._known

    def news(self, rule: str) -> bool:
        """Whether there is so much more of a rule that it should be asked for again."""
        count, fitted = self._count.get(rule, 0), self._fitted.get(rule, 0)
        return count > fitted and (fitted < 5 or count >= 1.2 * fitted)

    def estimate(self, rule: str, data: np.ndarray) -> np.ndarray:
        """Seconds of jobs with so much data, above 0."""
        if rule not in self._known:
            return np.full(len(data), self.common)
        if self.news(rule) or rule not in self._fits:
            self._fits[rule] = self._fit(rule, data)
            self._fitted[rule] = self._count[rule]
        found: np.ndarray = np.exp(np.interp(np.log(data), *self._fits[rule]))
        return found

    def _fit(self, rule: str, data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of data, and of what a job with so much takes."""
        past, seconds = np.array(self._known[rule]).T
        least, most = (
            min(past.min(), data.min(initial=np.inf)) / _BEYOND,
            max(past.max(), data.max(initial=0.0)) * _BEYOND,
        )
        points = np.geomspace(least, most, _POINTS)
        scale = math.exp(np.log(seconds / past).mean())
        scheduler = mb.Scheduler(mb.Cluster([{"slots": 1}]))
        ids = scheduler.add(_table(scale * past, rule), 0.0)
        scheduler.finished(ids, seconds=seconds, now=0.0)
        scheduler.finish(ids, 0.0)
        fresh = scheduler.add(_table(scale * points, rule), 0.0)
        taken = np.clip(scheduler.counts(fresh)["estimate"][:, 0], _LEAST, _MOST)
        return np.log(points), np.log(taken)


class Pace:
    """How flows did so far, against others' jobs of the same rules.

    Parameters
    ----------
    flows, rules : int
    """

    def __init__(self, flows: int, rules: int) -> None:
        self._size = flows, rules
        self._seen: list[tuple[int, int, float]] = []
        self.before = np.zeros((2, flows))  # sums and numbers of what an earlier DAG had seen

    def add(self, flow: int, rule: int, data: float, seconds: float) -> None:
        """A job has ended; data above 0."""
        self._seen.append((flow, rule, math.log(max(seconds, _LEAST) / data)))

    def sums(self) -> np.ndarray:
        """Sums of logarithms and their numbers, by flow; only rules of which two have ended count."""
        flows, rules = self._size
        if not self._seen:
            return self.before
        flow, rule, ratio = (np.array(column) for column in zip(*self._seen, strict=True))
        counts = np.bincount(rule, minlength=rules)
        means = np.bincount(rule, weights=ratio, minlength=rules) / np.maximum(counts, 1)
        told = (counts[rule] > 1) & (flow >= 0)
        off = (ratio - means[rule])[told]
        now = [np.bincount(flow[told], w, flows) for w in (off, np.ones(len(off)))]
        return self.before + np.array(now)

    def factors(self) -> np.ndarray:
        """By which the data of flows are multiplied."""
        total, count = self.sums()
        return np.exp(total / np.maximum(count, 1.0))


def _table(said: np.ndarray, rule: str) -> mb.ClusterJobs:
    count = len(said)
    seconds = np.clip(said, _LEAST, _MOST)
    return mb.ClusterJobs(np.ones(count, np.int64), seconds, program=[rule or "?"] * count)
