"""How to show moments: up to 100,000 s, about a day, with four digits or to the second. Later moments (such as
Unix times) are shown as seconds after ``now``: ``+12.5``; ``now`` is stated once, as a date if it looks like a
Unix time. JSON and CSV keep absolute times in full."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable.view.text import number

_FAR = 1e5  # seconds from which times are shown relative to an origin
_UNIX = 1e9, 1e10  # range of Unix time stamps: 2001 to 2286


def _date(moment: float) -> str | None:
    # Date and time of a number in the range of Unix times, None for others.
    if not _UNIX[0] <= moment < _UNIX[1]:
        return None
    return f"{datetime.fromtimestamp(moment, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def moment_text(moment: float) -> str:
    """A moment in full, and as a date if it looks like a Unix time."""
    date = _date(moment)
    full = f"{moment:.15g} s"
    return full if date is None else f"{full} ({date})"


@dataclass(frozen=True)
class Clock:
    """Shows moments after ``origin`` [s]; 0: in full."""

    origin: float = 0.0

    @classmethod
    def of(cls, now: float = 0.0, *moments: npt.ArrayLike) -> Clock:
        """The clock of a schedule at ``now`` [s], which is the origin if it is far from 0. Otherwise the
        earliest of ``moments`` is, if all finite ones are far from 0."""
        if abs(now) >= _FAR:
            return cls(now)
        known = [np.ravel(np.asarray(each, dtype=np.float64)) for each in moments]
        finite = np.concatenate([each[np.isfinite(each)] for each in known] or [np.empty(0)])
        first = float(finite.min(initial=np.inf))
        return cls(first) if _FAR <= first < np.inf else cls()

    def text(self, moment: float) -> str:
        if not self.origin:
            return number(moment)
        after = number(float(moment) - self.origin)
        return after if after.startswith("-") else f"+{after}"

    def shift(self, moments: Any) -> Any:
        return moments - self.origin

    def axis(self) -> str:
        if not self.origin:
            return "time [s]"
        return f"time [s after {_date(self.origin) or moment_text(self.origin)}]"

    def note(self, now: float | None = None) -> str | None:
        """A sentence for a table about its times; None if they need none. ``now`` has been shown already."""
        if not self.origin:
            return None
        start = "now" if self.origin == now else moment_text(self.origin)
        return f"times are seconds after {start}"
