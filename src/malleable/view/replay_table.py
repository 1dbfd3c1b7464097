"""Replays as tables."""

from __future__ import annotations

from typing import Any

from malleable.cluster.replay import Replay
from malleable.view.text import Column, columns_table, number, percent


def replay_table(found: list[Replay]) -> Any:
    """One row a policy."""
    first = found[0]
    how = "as recorded" if first.same else "NOT as recorded"
    title = (
        f"{first.recorded} decides {how}: {number(first.jobs)} jobs, "
        f"{number(first.decisions)} decisions"
    )
    columns: list[Column] = [
        ("policy", lambda one: one.policy),
        (
            "decisions that differ",
            lambda one: percent(one.decisions and one.differing / one.decisions),
        ),
        ("slots that move", lambda one: number(one.moved)),
    ]
    return columns_table(title, found, columns)
