"""``malleable plan``: a table or a snapshot of a trace, planned, shown and written."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from malleable.cli.flow_command import plan_flow_file
from malleable.cli.snapshot import take_snapshot
from malleable.cli.terminal import (
    interruptible,
    note,
    read_file,
    show,
)
from malleable.files.writing import check_targets, write_file
from malleable.flows.plan import FlowPlan
from malleable.jobs.plan import DEFAULT_EFFORT, POLICIES, Plan, default_effort, plan
from malleable.traces import Trace
from malleable.view.drawing import check_drawing, image_bytes
from malleable.view.flow_picture import draw_flows
from malleable.view.flow_views import (
    flow_headline,
    flow_pieces_csv,
    flow_plan_dict,
    flow_rows,
)
from malleable.view.packing_picture import draw_packing
from malleable.view.plan_views import (
    json_text,
    pieces_csv,
    plan_dict,
    plan_headline,
    plan_rows,
)
from malleable.view.text import counted, printable, table

_ROWS = 30


class _Views(NamedTuple):
    """What makes of a plan JSON types, CSV, a picture, and what people read."""

    as_dict: Callable[[Any], dict[str, Any]]
    pieces: Callable[[Any], str]
    draw: Callable[[Any], Any]
    headline: Callable[[Any], list[str]]
    rows: Callable[[Any, int], tuple[Sequence[str], list[tuple[str, ...]]]]


def run(arguments: argparse.Namespace) -> int:
    """Plan; write files only when everything else has succeeded."""
    texts = {"--json": arguments.json, "--pieces": arguments.pieces}
    to_stdout = [option for option, path in texts.items() if path == "-"]
    if len(to_stdout) > 1:
        raise ValueError("--json - and --pieces -: only one of them fits on standard output")
    files = {option: path for option, path in texts.items() if path not in (None, "-")}
    inputs = [] if arguments.file == "-" else [arguments.file]
    check_targets({**files, "--plot": arguments.plot}, arguments.force, inputs)
    if arguments.plot is not None:
        check_drawing(arguments.plot)

    trace = read_file(arguments.file, arguments)
    made: Plan | FlowPlan
    if trace.flow is not None:
        made = plan_flow_file(arguments, trace.flows())
        views = _Views(flow_plan_dict, flow_pieces_csv, draw_flows, flow_headline, flow_rows)
    else:
        made = _plan_jobs(arguments, trace)
        views = _Views(plan_dict, pieces_csv, draw_packing, plan_headline, plan_rows)

    content: dict[str, str | bytes] = {}
    if arguments.json is not None:
        content["--json"] = json_text(views.as_dict(made))
    if arguments.pieces is not None:
        content["--pieces"] = views.pieces(made)
    if arguments.plot is not None:
        content["--plot"] = image_bytes(views.draw(made), arguments.plot)
        files["--plot"] = arguments.plot
    for option, path in files.items():
        write_file(path, content[option], arguments.force)

    why = made.explain() if arguments.explain else []
    if to_stdout:
        sys.stdout.write(str(content[to_stdout[0]]))
        sys.stderr.write("".join(line + "\n" for line in why))
        return 0
    show(*views.headline(made))
    if arguments.explain:
        sys.stdout.write("".join(line + "\n" for line in why))
    else:
        heads, rows = views.rows(made, _ROWS)
        if rows:
            show(table("", heads, rows))
        if len(made.order) > _ROWS:
            show(f"and {len(made.order) - _ROWS:,} more (--json FILE has all)")
    if files:
        show("wrote " + ", ".join(printable(path) for path in files.values()))
    return 0


def _plan_jobs(arguments: argparse.Namespace, trace: Trace) -> Plan:
    if arguments.slots is None:
        arguments.usage("--slots N is needed: only files of flows may say it themselves")
    policy = "flex" if arguments.policy is None else arguments.policy
    if policy not in POLICIES:
        arguments.usage(f"--policy {policy}: expected one of {', '.join(POLICIES)} for jobs")
    jobs, now, told = take_snapshot(
        trace,
        phase=arguments.phase,
        at=arguments.at,
        now=arguments.now,
        policy=arguments.snapshot,
        slots=arguments.slots,
        objective=arguments.objective,
        min_mode=arguments.min_mode,
    )
    for row in np.flatnonzero(jobs.arrival > now)[:1]:
        raise ValueError(
            f"{arguments.file}: arrival[{row}] = {jobs.arrival[row]}: after now = {now}; "
            "--at SECONDS takes a snapshot"
        )
    made = interruptible(
        f"planning {counted(len(jobs), 'job')}",
        lambda progress: plan(
            jobs,
            arguments.slots,
            arguments.objective,
            policy,
            arguments.effort,
            arguments.budget,
            now,
            min_mode=arguments.min_mode,
            progress=progress,
        ),
    )
    for line in told:
        note(line)
    effort = default_effort(len(jobs))
    if arguments.effort is None and policy == "flex" and effort < DEFAULT_EFFORT:
        note(
            f"effort {effort:,} for {counted(len(jobs), 'job')}, so that planning takes seconds "
            f"(--effort N: more candidates; {DEFAULT_EFFORT:,} for small tables)"
        )
    return made
