"""What ``plan`` does with flows."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

from malleable.cli.terminal import interruptible, show
from malleable.flow_planning import FLOW_POLICIES, FlowPlan, plan_flows
from malleable.report.drawing import image_bytes
from malleable.report.flow_picture import draw_flows
from malleable.report.flow_views import flow_pieces_csv, flow_plan_dict
from malleable.report.plan_views import json_text
from malleable.report.text import counted, number, percent, printable, table, wall_time
from malleable.tables import check_time
from malleable.workloads import read_flows
from malleable.workloads.files import head_of
from malleable.workloads.flow_files import looks_like_flows
from malleable.workloads.output_files import write_file

__all__ = ["holds_flows", "plan_flow_file"]

_ROWS = 30


def holds_flows(source: Any) -> bool:
    """Whether a file (or standard input, read before) holds flows rather than a table of jobs.

    A file that cannot be read holds none: whoever reads it next says what is wrong.
    """
    try:
        head, _ = head_of(source)
    except (OSError, ValueError):
        return False
    return looks_like_flows(head.decode("utf-8", errors="replace"))


def plan_flow_file(arguments: argparse.Namespace, source: Any) -> int:
    """Plan the flows of a file; outputs have been checked."""
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
    made = interruptible(
        f"planning {counted(len(flows), 'flow')}",
        lambda: plan_flows(
            flows, slots, arguments.objective, policy, arguments.effort, arguments.budget, now
        ),
    )
    content = {}
    if arguments.json is not None:
        content["--json"] = json_text(flow_plan_dict(made))
    if arguments.pieces is not None:
        content["--pieces"] = flow_pieces_csv(made)
    picture = None
    if arguments.plot is not None:
        picture = image_bytes(draw_flows(made), arguments.plot)
    paths = {"--json": arguments.json, "--pieces": arguments.pieces}
    printed = False
    written = []
    for option, text in content.items():
        if paths[option] == "-":
            sys.stdout.write(text)
            printed = True
        else:
            write_file(paths[option], text, arguments.force)
            written.append(paths[option])
    if picture is not None:
        write_file(arguments.plot, picture, arguments.force)
        written.append(arguments.plot)
    if printed:
        if arguments.explain:
            sys.stderr.write("".join(line + "\n" for line in made.explain()))
        return 0
    _show(made, arguments.explain)
    if written:
        show("wrote " + ", ".join(printable(path) for path in written))
    return 0


def _show(made: FlowPlan, explain: bool) -> None:
    flows = made.flows
    show(
        f"{made.policy.upper()}, {made.objective}: {counted(len(flows), 'flow')} of "
        f"{counted(len(flows.work), 'job')} on {counted(made.slots, 'slot')} at "
        f"{number(made.now)} s, status {made.status}",
        f"value {number(made.value)}, lower bound {number(made.lower_bound)}, gap "
        f"{percent(made.gap)}, planned in {wall_time(made.timing['seconds'])}",
    )
    if np.isfinite(made.speed):
        show(f"at its bound if the slots were {made.speed:.4g} times as fast")
    if explain:
        sys.stdout.write("".join(line + "\n" for line in made.explain()))
        return
    slots = np.zeros(len(flows), dtype=np.int64)
    np.add.at(slots, flows.flow, made.allocation)
    rows = [
        (
            flows.name[row],
            f"{slots[row]:,}",
            number(float(made.flow_completion[row])),
            number(float(made.penalty[row])),
        )
        for row in made.order[:_ROWS].tolist()
    ]
    if rows:
        show(table("", ("flow, by order", "slots now", "end [s]", "penalty"), rows))
    if len(flows) > _ROWS:
        show(f"and {len(flows) - _ROWS:,} more (--json FILE has all)")
