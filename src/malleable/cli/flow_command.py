"""What ``plan`` does with flows."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from malleable.cli.terminal import interruptible
from malleable.flow_planning import FLOW_POLICIES, FlowPlan, plan_flows
from malleable.report.text import counted, number, percent, wall_time
from malleable.tables import check_time
from malleable.workloads import read_flows
from malleable.workloads.files import head_of
from malleable.workloads.flow_files import looks_like_flows

__all__ = ["flow_headline", "flow_rows", "holds_flows", "plan_flow_file"]


def holds_flows(source: Any) -> bool:
    """Whether a file (or standard input, read before) holds flows rather than a table of jobs.

    A file that cannot be read holds none: whoever reads it next says what is wrong.
    """
    try:
        head, _ = head_of(source)
    except (OSError, ValueError):
        return False
    return looks_like_flows(head.decode("utf-8", errors="replace"))


def plan_flow_file(arguments: argparse.Namespace, source: Any) -> FlowPlan:
    """Plan the flows of a file."""
    flows = read_flows(source)
    slots = flows.slots if arguments.slots is None else arguments.slots
    if slots is None:
        raise ValueError(f"{arguments.file}: says no slots; --slots N does")
    policy = "flowflex" if arguments.policy is None else arguments.policy
    if policy not in FLOW_POLICIES:
        arguments.usage(f"--policy {policy}: expected one of {', '.join(FLOW_POLICIES)} for flows")
    now = 0.0 if arguments.now is None else check_time("--now", arguments.now)
    if arguments.at is not None:
        now = check_time("--at", arguments.at)
        flows = flows.at(now)
    return interruptible(
        f"planning {counted(len(flows), 'flow')}",
        lambda: plan_flows(
            flows, slots, arguments.objective, policy, arguments.effort, arguments.budget, now
        ),
    )


def flow_headline(made: FlowPlan) -> list[str]:
    """What was planned and how good it is."""
    flows = made.flows
    lines = [
        f"{made.policy.upper()}, {made.objective}: {counted(len(flows), 'flow')} of "
        f"{counted(len(flows.work), 'job')} on {counted(made.slots, 'slot')} at "
        f"{number(made.now)} s, status {made.status}",
        f"value {number(made.value)}, lower bound {number(made.lower_bound)}, gap "
        f"{percent(made.gap)}, planned in {wall_time(made.timing['seconds'])}",
    ]
    if np.isfinite(made.speed):
        lines.append(f"at its bound if the slots were {made.speed:.4g} times as fast")
    return lines


def flow_rows(made: FlowPlan, most: int) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """Heads and rows of a table of the first flows."""
    flows = made.flows
    slots = np.zeros(len(flows), dtype=np.int64)
    np.add.at(slots, flows.flow, made.allocation)
    return ("flow, by order", "slots now", "end [s]", "penalty"), [
        (
            flows.name[row],
            f"{slots[row]:,}",
            number(float(made.flow_completion[row])),
            number(float(made.penalty[row])),
        )
        for row in made.order[:most].tolist()
    ]
