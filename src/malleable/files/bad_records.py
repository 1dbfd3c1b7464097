"""Malformed records of a trace: one error that counts them, or a warning if they are left out."""

from __future__ import annotations

import inspect
import re
import warnings

from malleable.files.advice import AdvisedError
from malleable.files.reading import one_line

_SHOWN = 3  # kinds of faults that a message shows
_KINDS = 1000  # kinds that are counted separately
_VALUES = re.compile(r"'[^']*'|\d+")  # values may differ between messages of one kind


class BadRecords:
    """Counts malformed records (a ``noun``) and keeps the first of each kind. ``skip``: `report` warns about
    them rather than raising an error."""

    def __init__(self, skip: bool = False, noun: str = "jobs") -> None:
        self.skip = skip
        self.noun = noun
        self.count = 0
        self._kinds: dict[str, tuple[int, str]] = {}  # by kind: their number, and the first message

    def add(self, reason: str) -> None:
        self.count += 1
        kind = _VALUES.sub("", reason)
        if kind in self._kinds or len(self._kinds) < _KINDS:
            number, first = self._kinds.get(kind, (0, one_line(reason)))
            self._kinds[kind] = number + 1, first

    def report(self, where: str, good: int) -> None:
        """Raise ValueError or warn, if there was a malformed record; ``good`` others were read."""
        if not self.count:
            return
        kinds = sorted(self._kinds.values(), key=lambda kind: -kind[0])[:_SHOWN]
        more = self.count - sum(number for number, _ in kinds)
        few = "; ".join(
            first if number == 1 else f"{first} (and {number - 1:,} more of this kind)"
            for number, first in kinds
        ) + (f"; {more:,} of other kinds" if more else "")
        told = f"{where}: {self.count} of {self.count + good} {self.noun} malformed: {few}"
        if not self.skip:
            raise AdvisedError(told, "skip_bad=True leaves them out", "--skip-bad leaves them out")
        if not good:
            raise ValueError(f"{told}; none is left")
        warnings.warn(told, stacklevel=_caller())


def _caller() -> int:
    # How many frames above this function the user's call of the package is, for the place of a warning.
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith("malleable."):
        frame, level = frame.f_back, level + 1
    return level
