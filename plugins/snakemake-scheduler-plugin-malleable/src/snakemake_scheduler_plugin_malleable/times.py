"""Seconds of jobs, by rule and by how much data is behind them, as the core's scheduler learns.

A rule's jobs of which the time is known are shown to a `malleable.Scheduler` as jobs of one task each; what is
said of each is its data, in bytes, times the seconds that a byte took in the mean of logarithms. The scheduler
finds how far that may be believed, and says what a job with other data takes. It is asked at a few points
between the least and the most data of the rule's jobs; between these it is a line in logarithms. A rule
of which no job is known takes what others do. O(known jobs + points) for a rule that is fitted anew.

A sample whose first steps took long for what they read will take long again: `Pace` learns that beside.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

import numpy as np

import malleable as mb

__all__ = ["Pace", "Times"]

_KEPT = 300  # jobs of a rule that count, the last ones
_POINTS = 25
_BEYOND = 8.0  # how far from what is known a rule is asked for
_LEAST, _MOST = 1e-3, 1e9  # seconds
UNKNOWN = 1.0  # seconds of a job while nothing is known of any
_SPREAD = 0.2, 0.2  # variances of logarithms of flows' parts and of chance, before any was seen
_RULES = 1.0  # the same of rules' parts
_BELIEVED = 4.0  # jobs as many as which these count
_ROUNDS = 10


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
        scheduler.ended(ids, seconds=seconds, now=0.0)
        scheduler.finish(ids, 0.0)
        fresh = scheduler.add(_table(scale * points, rule), 0.0)
        taken = np.clip(scheduler.counts(fresh)["estimate"][:, 0], _LEAST, _MOST)
        return np.log(points), np.log(taken)


class Pace:
    """By how much jobs of a flow, and of a rule, take longer than `Times` says.

    The logarithm of what a job took over its estimate is taken as the sum of a part of its rule, a part of its
    flow, and chance, all normal. The parts are the means that this leaves to be expected: flows of which much
    was seen count fully, others are nearer to 1, and a rule that only large samples have reached so far is not
    taken for a long one. How far flows differ is learnt, too. O(jobs seen) for a look.

    Parameters
    ----------
    flows : int

    Attributes
    ----------
    flow : ndarray, shape (flows + 1,)
        Factors of flows; the last entry, 1, is that of jobs without a flow.
    """

    def __init__(self, flows: int) -> None:
        self.flow = np.ones(flows + 1)
        self._rules: dict[str, int] = {}
        self._seen: list[tuple[int, int, float, float]] = []
        self._of_rule = np.zeros(0)
        self._spread = _SPREAD  # variances: of flows, and of chance

    def add(self, flow: int, rule: str, data: float, seconds: float) -> None:
        """A job has ended; data above 0. Jobs without a flow (-1) are not counted."""
        if flow >= 0 and math.isfinite(seconds):
            number = self._rules.setdefault(rule, len(self._rules))
            self._seen.append((flow, number, data, min(max(seconds, _LEAST), _MOST)))

    def rule(self, name: str) -> float:
        """Factor of a rule."""
        number = self._rules.get(name, len(self._of_rule))
        return math.exp(self._of_rule[number]) if number < len(self._of_rule) else 1.0

    def moved(self, to: np.ndarray, flows: int) -> Pace:
        """The same for other flows; ``to`` has the new number of each flow, -1 where there is none."""
        fresh = Pace(flows)
        names = list(self._rules)
        for flow, rule, data, seconds in self._seen:
            fresh.add(int(to[flow]), names[rule], data, seconds)
        return fresh

    def look(self, estimate: Callable[[str, np.ndarray], np.ndarray]) -> None:
        """Factors by all that was seen; `estimate` is that of `Times`."""
        if not self._seen:
            return
        flows, rules = len(self.flow) - 1, len(self._rules)
        flow, rule, data, off = (np.array(column) for column in zip(*self._seen, strict=True))
        off = np.log(off)
        for name, number in self._rules.items():
            own = rule == number
            off[own] -= np.log(estimate(name, data[own]))
        of_flow = np.log(self.flow[:-1])
        of_rule = np.append(self._of_rule, np.zeros(rules - len(self._of_rule)))
        counts, of_rules = np.bincount(flow, minlength=flows), np.bincount(rule, minlength=rules)
        between, within = self._spread
        for _ in range(_ROUNDS):
            of_rule = np.bincount(rule, off - of_flow[flow], rules) / (of_rules + within / _RULES)
            of_flow = np.bincount(flow, off - of_rule[rule], flows) / (counts + within / between)
        chance = off - of_rule[rule] - of_flow[flow]
        # What is not known of a flow's part counts as spread of flows, and what that part took as chance.
        unsure = 1.0 / (1.0 / between + counts / within)
        some = counts > 0
        self._spread = (
            _mean(of_flow[some] ** 2 + unsure[some], _SPREAD[0]),
            _mean(chance**2 + unsure[flow], _SPREAD[1]),
        )
        self.flow[:-1], self._of_rule = np.exp(of_flow), of_rule


def _mean(values: np.ndarray, before: float) -> float:
    """Of values and of what was believed before any was seen."""
    return float((values.sum() + _BELIEVED * before) / (len(values) + _BELIEVED))


def _table(said: np.ndarray, rule: str) -> mb.ClusterJobs:
    count = len(said)
    seconds = np.clip(said, _LEAST, _MOST)
    return mb.ClusterJobs(np.ones(count, np.int64), seconds, program=[rule or "?"] * count)
