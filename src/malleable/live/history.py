"""Task times of programs in earlier runs, which the scheduler has learnt. The journal (the file of all runs)
keeps them in the form of `malleable.Scheduler.history`. O(programs)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from malleable.cluster.history import read_history
from malleable.live.guard import Guard
from malleable.live.journal import Journal


def known_history(journal: Journal | None, guard: Guard) -> dict[str, Any] | None:
    """The journal's history for a scheduler; None: there is none, or (with a warning) no usable one."""

    def read() -> dict[str, Any] | None:
        history = journal.history() if journal else None
        if history is not None:
            read_history(history)
        return history

    return guard("the history of programs", read)


def keep_history(journal: Journal, history: Mapping[str, Any]) -> None:
    """Replace the journal's history; ValueError, and nothing lost, if the old one cannot be read."""
    known = journal.history()
    if known is not None:
        read_history(known)
    journal.learn(history)
