"""Policies by name: which there are and what they promise, as the core's registry says it."""

from __future__ import annotations

from malleable import _core
from malleable.domain import shown

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


def policy_of(model: str, name: object, *, in_loop: bool = False, where: str = "") -> Policy:
    """The registry's row of a policy; ValueError that lists the names for one that is unknown."""
    row = _core.POLICIES[model].get(name) if isinstance(name, str) else None
    if row is None or (in_loop and not row.in_loop):
        known = ", ".join(policy_names(model, in_loop=in_loop))
        raise ValueError(f"policy = {shown(name)}: expected one of {known}{where}")
    return row
