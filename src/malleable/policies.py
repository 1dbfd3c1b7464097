"""Policies and objectives by name. The core's registry (`_core.POLICIES`) has a row for each policy of each
model: its name, and properties such as whether it works in a loop of decisions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from malleable import _core
from malleable.validation import checked_choice, shown

Policy = _core.Policy

# Names as types, so that editors offer them; texts are taken, too. A test compares them with the registry.
JobPolicy = Literal["flex", "fair", "fifo", "wdeq", "hesrpt"]
FlowPolicy = Literal["flowflex", "flowflex-fast", "flowflex-literal", "fair", "fifo"]
TandemPolicy = Literal[
    "fcfs", "ps", "wps", "k-lps", "max-srpt", "split-srpt", "two-srpt", "best", "makespan"
]  # fmt: skip
SlottedPolicy = Literal["asrpt", "unlock", "dsrpt", "srpt", "lrpt", "fifo", "fair"]
ClusterPolicy = Literal[
    "flex", "auto", "fair", "fifo", "wdeq", "srpt", "max-srpt", "asrpt", "hesrpt", "gittins",
    "flowflex", "flowflex-fast", "fcfs", "easy", "easy-sjf", "easy-auto", "conservative", "adaptive",
    "adaptive-literal",
]  # fmt: skip
ObjectiveName = Literal[
    "sum:response", "sum:completion", "sum:stretch", "sum:tardy", "sum:tardiness", "sum:lateness",
    "sum:sla", "sum:strict", "sum:custom",
    "max:response", "max:completion", "max:stretch", "max:tardy", "max:tardiness", "max:lateness",
    "max:sla", "max:strict", "max:custom",
]  # fmt: skip


def policy_names(model: str, *, in_loop: bool = False) -> tuple[str, ...]:
    """Names of the policies of a model: jobs, flows, tandem, slotted or cluster. ``in_loop``: only those of
    the model's epoch."""
    rows = _core.POLICIES[model].values()
    return tuple(row.name for row in rows if row.in_loop or not in_loop)


def idle_effort(model: str, names: Iterable[object], effort: object) -> str:
    """A warning about an effort (candidates to try) that some policies ignore; empty if none does."""
    rows = [_core.POLICIES[model].get(name) for name in names if isinstance(name, str)]
    idle = [row.name for row in rows if row is not None and not row.searches]
    if effort is None or not idle:
        return ""
    subject = "it does" if len(idle) == 1 else "they do"
    return f"effort = {shown(effort)} changes nothing for {', '.join(idle)}: {subject} not search"


def policy_of(model: str, name: object, *, in_loop: bool = False, where: str = "") -> Policy:
    """The registry's row of a policy; ValueError that lists the names for an unknown one."""
    known = policy_names(model, in_loop=in_loop)
    return _core.POLICIES[model][checked_choice("policy", name, known, where)]
