"""``malleable plan``: a table or a snapshot of a trace, planned, shown and written."""

from __future__ import annotations

import argparse
import sys

import numpy as np

from malleable.cli.flow_command import holds_flows, plan_flow_file
from malleable.cli.snapshot import read_snapshot
from malleable.cli.terminal import interruptible, note, rereadable, show
from malleable.planning import POLICIES, Plan, plan
from malleable.report.drawing import check_drawing, image_bytes
from malleable.report.packing_picture import draw_packing
from malleable.report.plan_views import json_text, pieces_csv, plan_dict
from malleable.report.text import counted, number, percent, printable, table, wall_time
from malleable.workloads.output_files import check_targets, write_file

_ROWS = 30


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

    source = rereadable(arguments.file)
    if holds_flows(source):
        return plan_flow_file(arguments, source)
    if arguments.slots is None:
        arguments.usage("--slots N is needed: only files of flows may say it themselves")
    policy = "flex" if arguments.policy is None else arguments.policy
    if policy not in POLICIES:
        arguments.usage(f"--policy {policy}: expected one of {', '.join(POLICIES)} for jobs")
    jobs, now, told = read_snapshot(
        source, phase=arguments.phase, at=arguments.at, now=arguments.now
    )
    for row in np.flatnonzero(jobs.arrival > now)[:1]:
        raise ValueError(
            f"{arguments.file}: arrival[{row}] = {jobs.arrival[row]}: after now = {now}; "
            "--at SECONDS takes a snapshot"
        )
    made = interruptible(
        f"planning {counted(len(jobs), 'job')}",
        lambda: plan(
            jobs,
            arguments.slots,
            arguments.objective,
            policy,
            arguments.effort,
            arguments.budget,
            now,
            min_mode=arguments.min_mode,
        ),
    )
    content = {}
    if arguments.json is not None:
        content["--json"] = json_text(plan_dict(made))
    if arguments.pieces is not None:
        content["--pieces"] = pieces_csv(made)
    picture = None
    if arguments.plot is not None:
        picture = image_bytes(draw_packing(made), arguments.plot)

    if told is not None:
        note(told)
    for option, path in files.items():
        write_file(path, content[option], arguments.force)
    if picture is not None:
        write_file(arguments.plot, picture, arguments.force)
    if to_stdout:
        sys.stdout.write(content[to_stdout[0]])
        if arguments.explain:
            sys.stderr.write("".join(line + "\n" for line in made.explain()))
        return 0
    _show(made, arguments.explain)
    written = [*files.values(), *([arguments.plot] if picture is not None else [])]
    if written:
        show("wrote " + ", ".join(printable(path) for path in written))
    return 0


def _show(made: Plan, explain: bool) -> None:
    jobs = made.jobs
    show(
        f"{made.policy.upper()}, {made.objective}: {counted(len(jobs), 'job')} on "
        f"{counted(made.slots, 'slot')} at {number(made.now)} s, status {made.status}",
        f"value {number(made.value)}, lower bound {number(made.lower_bound)}, gap "
        f"{percent(made.gap)}, planned in {wall_time(made.timing['seconds'])}",
    )
    if explain:
        sys.stdout.write("".join(line + "\n" for line in made.explain()))
        return
    rows = [
        (
            jobs.name[row],
            f"{made.allocation[row]:,}",
            number(float(made.start[row])),
            number(float(made.completion[row])),
            number(float(made.penalty[row])),
        )
        for row in made.order[:_ROWS].tolist()
    ]
    if rows:
        heads = ("job, by order", "slots now", "start [s]", "end [s]", "penalty")
        show(table("", heads, rows))
    if len(jobs) > _ROWS:
        show(f"and {len(jobs) - _ROWS:,} more (--json FILE has all)")
