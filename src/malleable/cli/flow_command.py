"""What ``plan`` does with flows."""

from __future__ import annotations

import argparse
from typing import Any

from malleable.cli.snapshot import RECORDED
from malleable.cli.terminal import interruptible, note, reading, warnings_as_notes
from malleable.files.reading import head_of
from malleable.flows.plan import FLOW_POLICIES, FlowPlan, plan_flows
from malleable.jobs.table import check_time
from malleable.traces import read_flows
from malleable.traces.flow_files import looks_like_flows
from malleable.view.text import counted

__all__ = ["holds_flows", "plan_flow_file"]


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
    if arguments.snapshot != RECORDED:
        raise ValueError(f"--snapshot {arguments.snapshot}: of job tables and traces, not of flows")
    with warnings_as_notes():
        flows = read_flows(source, **reading(arguments))
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
