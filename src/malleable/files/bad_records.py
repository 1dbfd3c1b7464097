"""Malformed records of a trace: one error that counts them, or a warning if they are left out."""

from __future__ import annotations

import inspect
import warnings

from malleable.files.advice import AdvisedError
from malleable.files.reading import one_line

_SHOWN = 3


class BadRecords:
    """Counts malformed records (a ``noun``) and keeps the first few. ``skip``: `settle` warns about them
    rather than raising an error."""

    def __init__(self, skip: bool = False, noun: str = "jobs") -> None:
        self.skip = skip
        self.noun = noun
        self.count = 0
        self._first: list[str] = []

    def add(self, reason: str) -> None:
        self.count += 1
        if len(self._first) < _SHOWN:
            self._first.append(one_line(reason))

    def settle(self, where: str, good: int) -> None:
        """Raise ValueError or warn, if there was a malformed record; ``good`` others were read."""
        if not self.count:
            return
        few = "; ".join(self._first) + ("; ..." if self.count > _SHOWN else "")
        told = f"{where}: {self.count} of {self.count + good} {self.noun} malformed: {few}"
        if not self.skip:
            raise AdvisedError(told, "skip_bad=True leaves them out", "--skip-bad leaves them out")
        if not good:
            raise ValueError(f"{told}; none is left")
        warnings.warn(told, stacklevel=_caller())


def _caller() -> int:
    """How many frames above the asking function the call of the package is."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith("malleable."):
        frame, level = frame.f_back, level + 1
    return level
