"""What tasks of a program took in earlier runs: what is believed at first."""

from __future__ import annotations

import math

from malleable.live.journal import Journal

__all__ = ["earlier"]


def earlier(journal: Journal, program: str, user: str) -> tuple[float, float]:
    """Mean and deviation of a program's task seconds, as of lognormal times; 0 where there are none."""
    count, total, squares = journal.history(program, user)
    if count == 0:
        return 0.0, 0.0
    mean = total / count
    variance = max(0.0, squares / count - mean * mean)
    seconds = math.exp(mean + 0.5 * variance)
    return seconds, seconds * math.sqrt(math.expm1(min(variance, 100.0)))
