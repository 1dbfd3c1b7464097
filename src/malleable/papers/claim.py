"""Whether a paper's claim holds here: by intervals, the same for all papers.

A claim is a set of margins that should all be above 0. It holds if all their intervals are, it fails if
one of them is below 0, and else it is open. The width of an interval falls with the root of the number
of simulations, so that about n (half width / distance to 0)^2 of them would settle an open one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from malleable.jobs.table import Floats
from malleable.replications import Interval, interval
from malleable.view.text import counted


class Verdict(NamedTuple):
    """What the numbers say of a claim.

    Attributes
    ----------
    holds : bool or None
        None: open.
    needed : float or None
        Of an open claim: about how many simulations would settle it; infinite right at its
        threshold, None where there is no interval.
    """

    holds: bool | None
    needed: float | None = None

    def __str__(self) -> str:
        return self.word

    @property
    def word(self) -> str:
        """``holds``, ``fails`` or ``open``."""
        return "open" if self.holds is None else "holds" if self.holds else "fails"

    def told(self, noun: str = "simulation") -> str:
        """The word, and of an open claim what would settle it."""
        if self.holds is not None:
            return self.word
        if self.needed is None:
            return f"open (one {noun} has no interval)"
        if math.isinf(self.needed):
            return "open (right at its threshold)"
        return f"open (about {counted(int(self.needed), noun)} would settle it)"

    def as_dict(self) -> dict[str, Any]:
        """The verdict in JSON types."""
        known = self.needed is not None and math.isfinite(self.needed)
        return {"verdict": self.word, "simulations_needed": self.needed if known else None}


class Claim(NamedTuple):
    """A sentence about a figure, what the paper prints of it, what we found, and what follows.

    Attributes
    ----------
    claim : str
        In the paper's words, or in ours.
    paper : str
        What the paper prints, where that is not the claim itself.
    criterion : str
        When it holds, where the paper gives no number.
    ours : str
        What was observed, with its interval where it has one.
    verdict : Verdict
    """

    claim: str
    paper: str
    criterion: str
    ours: str
    verdict: Verdict

    def as_dict(self) -> dict[str, Any]:
        """The claim in JSON types."""
        return {**self._asdict(), **self.verdict.as_dict()}


def judged(margins: Iterable[Interval], count: int, *, strict: bool = False) -> Verdict:
    """The verdict on a claim.

    Parameters
    ----------
    margins : iterable of Interval
        How far above 0 is what the claim says, with half widths of confidence intervals; NaN: none.
    count : int
        Simulations behind them.
    strict : bool
        Whether a margin of exactly 0, without any width, fails.
    """
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
    # At the threshold itself rounding may leave it where it is: one more at least.
    return Verdict(None, max(count + 1, *(each for each in needed if each is not None)))


def observed(holds: object) -> Verdict:
    """The verdict on a claim about every single simulation, or about one run without an interval."""
    return Verdict(bool(holds))


def margin(constant: float, *terms: tuple[float, Interval]) -> Interval:
    """A constant and multiples of means; half widths add up, however the means hang together."""
    mean = constant + sum(factor * own.mean for factor, own in terms)
    return Interval(mean, sum(abs(factor) * own.half for factor, own in terms))


def between(low: float, own: Interval, high: float) -> list[Interval]:
    """The margins of ``low <= mean <= high``."""
    return [margin(-low, (1.0, own)), margin(high, (-1.0, own))]


def paired(*terms: tuple[float, Sequence[float] | Floats], constant: float = 0.0) -> Interval:
    """The margin of multiples of samples, simulation by simulation; samples of unlike length (some were
    left out) as means that have nothing to do with each other."""
    if len({len(values) for _, values in terms}) == 1:
        total = sum(factor * np.asarray(values, dtype=np.float64) for factor, values in terms)
        return interval((constant + np.asarray(total)).tolist())
    return margin(constant, *((factor, interval(list(values))) for factor, values in terms))
