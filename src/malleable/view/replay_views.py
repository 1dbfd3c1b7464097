"""Replays as tables and JSON."""

from __future__ import annotations

from typing import Any

from malleable.cluster.replay import Replay
from malleable.view.text import number, percent, table


def replay_dict(found: list[Replay]) -> dict[str, Any]:
    """What ``--json`` writes."""
    return {"replays": [one._asdict() for one in found]}


def replay_table(found: list[Replay]) -> Any:
    """One row a policy."""
    first = found[0]
    how = "as recorded" if first.same else "NOT as recorded"
    title = (
        f"{first.recorded} decides {how}: {number(first.jobs)} jobs, "
        f"{number(first.decisions)} decisions"
    )
    parts = [one.differing / one.decisions if one.decisions else None for one in found]
    rows = [
        [one.policy, percent(part), number(one.moved)]
        for one, part in zip(found, parts, strict=True)
    ]
    return table(title, ["policy", "decisions that differ", "slots that move"], rows)
