"""What ``plan`` does with flows."""

from __future__ import annotations

import argparse

from malleable.cli.snapshot import RECORDED
from malleable.cli.terminal import interruptible, note
from malleable.flows.plan import FLOW_POLICIES, FlowPlan, plan_flows
from malleable.flows.table import Flows
from malleable.jobs.table import check_time
from malleable.view.text import counted

__all__ = ["plan_flow_file"]


def plan_flow_file(arguments: argparse.Namespace, flows: Flows) -> FlowPlan:
    """Plan the flows of a file."""
    if arguments.snapshot != RECORDED:
        raise ValueError(f"--snapshot {arguments.snapshot}: of job tables and traces, not of flows")
    slots = flows.slots if arguments.slots is None else arguments.slots
    if slots is None:
        raise ValueError(f"{arguments.file}: says no slots; --slots N does")
    policy = "flowflex" if arguments.policy is None else arguments.policy
    if policy not in FLOW_POLICIES:
        arguments.usage(f"--policy {policy}: expected one of {', '.join(FLOW_POLICIES)} for flows")
    now = 0.0 if arguments.now is None else check_time("--now", arguments.now)
    if arguments.at is not None:
        now = check_time("--at", arguments.at)
        whole, flows = len(flows), flows.at(now)
        note(
            f"snapshot at {now:.10g} s: the {counted(len(flows), 'flow')} of {whole:,} that have arrived,"
            " with all of their work: a file of flows does not say when work was done"
        )
    return interruptible(
        f"planning {counted(len(flows), 'flow')}",
        lambda _: plan_flows(
            flows, slots, arguments.objective, policy, arguments.effort, arguments.budget, now
        ),
    )
