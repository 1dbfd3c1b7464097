"""Policies by name: which there are and what they promise, as the core's registry says it."""

from __future__ import annotations

from collections.abc import Iterable

from malleable import _core
from malleable.domain import checked_choice, shown

Policy = _core.Policy


def policy_names(model: str, *, in_loop: bool = False) -> tuple[str, ...]:
    """Names of the policies of a model: jobs, flows, tandem, slotted or cluster.

    Parameters
    ----------
    in_loop : bool
        Only those that the model's epoch object takes.
    """
    rows = _core.POLICIES[model].values()
    return tuple(row.name for row in rows if row.in_loop or not in_loop)


def idle_effort(model: str, names: Iterable[object], effort: object) -> str:
    """What to say of an effort that some policies do not look at; nothing where all do."""
    rows = [_core.POLICIES[model].get(name) for name in names if isinstance(name, str)]
    idle = [row.name for row in rows if row is not None and not row.searches]
    if effort is None or not idle:
        return ""
    who = "it does" if len(idle) == 1 else "they do"
    return f"effort = {shown(effort)} changes nothing for {', '.join(idle)}: {who} not search"


def policy_of(model: str, name: object, *, in_loop: bool = False, where: str = "") -> Policy:
    """The registry's row of a policy; ValueError that lists the names for one that is unknown."""
    known = policy_names(model, in_loop=in_loop)
    return _core.POLICIES[model][checked_choice("policy", name, known, where)]
