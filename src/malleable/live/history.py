"""Task times of programs in earlier runs, as the scheduler's core learns them.

The journal has it in the form of `malleable.Scheduler.history`. Nothing is estimated here. O(programs).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from malleable.cluster.history import read_history
from malleable.live.guard import Guard
from malleable.live.journal import Journal


def known_history(journal: Journal | None, guard: Guard) -> dict[str, Any] | None:
    """The history that a journal has, for a scheduler; None: there is none, or (told) none that can be used."""

    def read() -> dict[str, Any] | None:
        history = journal.history() if journal else None
        if history is not None:
            read_history(history)
        return history

    return guard("the history of programs", read)


def keep_history(journal: Journal, history: Mapping[str, Any]) -> None:
    """Replace the journal's history; ValueError if the old one cannot be read, so that nothing is lost."""
    known = journal.history()
    if known is not None:
        read_history(known)
    journal.learn(history)
