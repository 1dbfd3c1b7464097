"""Whether a paper's claim holds here. A claim is a set of margins that should be above 0: it holds if all their
intervals are, it fails if one is below 0, and otherwise it is open. About n (half width / distance to 0)^2
simulations would settle an open claim."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from malleable.jobs.table import Floats
from malleable.replications import Interval, interval
from malleable.view.text import counted


class Verdict(NamedTuple):
    """Whether a claim ``holds`` (None: open). ``needed``: about how many simulations would settle an open
    one; infinite exactly at its threshold, None without an interval."""

    holds: bool | None
    needed: float | None = None

    def __str__(self) -> str:
        return self.word

    @property
    def word(self) -> str:
        return "open" if self.holds is None else "holds" if self.holds else "fails"

    def told(self, noun: str = "simulation") -> str:
        """The word, and for an open claim what would decide it."""
        if self.holds is not None:
            return self.word
        if self.needed is None:
            return f"open (one {noun} has no interval)"
        if math.isinf(self.needed):
            return "open (right at its threshold)"
        return f"open (about {counted(int(self.needed), noun)} would settle it)"

    def as_dict(self) -> dict[str, Any]:
        known = self.needed is not None and math.isfinite(self.needed)
        return {"verdict": self.word, "simulations_needed": self.needed if known else None}


class Claim(NamedTuple):
    """A sentence about a figure: the ``claim``, what the ``paper`` prints if that is not the claim, the
    ``criterion`` if the paper gives no number, what we observed (``ours``), and the ``verdict``."""

    claim: str
    paper: str
    criterion: str
    ours: str
    verdict: Verdict

    def as_dict(self) -> dict[str, Any]:
        return {**self._asdict(), **self.verdict.as_dict()}


def judged(margins: Iterable[Interval], count: int, *, strict: bool = False) -> Verdict:
    """The verdict on a claim: ``margins`` with half widths of confidence intervals (NaN: none) from ``count``
    simulations. ``strict``: a margin of exactly 0 without width fails."""
    needed: list[float | None] = []
    for mean, half in margins:
        if math.isnan(half):
            needed.append(None)
        elif abs(mean) > half or (half == 0.0 and not math.isnan(mean)):
            if mean < 0.0 or (mean == 0.0 and strict):
                return Verdict(False)
        else:
            needed.append(math.ceil(count * (half / abs(mean)) ** 2) if mean else math.inf)
    if not needed:
        return Verdict(True)
    if None in needed:
        return Verdict(None)
    # At least one more, because at the threshold rounding may give the same number again.
    return Verdict(None, max(count + 1, *(each for each in needed if each is not None)))


def observed(holds: object) -> Verdict:
    """The verdict on a claim about every single simulation, or about one run without an interval."""
    return Verdict(bool(holds))


def margin(constant: float, *terms: tuple[float, Interval]) -> Interval:
    """A constant and multiples of means; half widths add up."""
    mean = constant + sum(factor * own.mean for factor, own in terms)
    return Interval(mean, sum(abs(factor) * own.half for factor, own in terms))


def between(low: float, own: Interval, high: float) -> list[Interval]:
    # margins of the claim low < own < high
    return [margin(-low, (1.0, own)), margin(high, (-1.0, own))]


def paired(*terms: tuple[float, Sequence[float] | Floats], constant: float = 0.0) -> Interval:
    """The margin of multiples of samples, simulation by simulation; samples of unequal length (some were left
    out) count as independent means."""
    if len({len(values) for _, values in terms}) == 1:
        total = sum(factor * np.asarray(values, dtype=np.float64) for factor, values in terms)
        return interval((constant + np.asarray(total)).tolist())
    return margin(constant, *((factor, interval(list(values))) for factor, values in terms))
