"""``malleable plan``: a schedule for the jobs of a table, or of a trace at one moment."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Any

import numpy as np

from malleable.cli import terminal
from malleable.cli.outputs import OBJECTIVE, Outputs, output_arguments
from malleable.cli.streams import note, quiet
from malleable.flows.plan import FLOW_POLICIES, FlowPlan
from malleable.flows.table import Flows
from malleable.jobs.plan import DEFAULT_EFFORT, POLICIES, Plan
from malleable.jobs.table import MIN_MODES, Jobs, check_time
from malleable.planning import plan
from malleable.policies import idle_effort
from malleable.traces import Trace
from malleable.validation import near
from malleable.view.drawing import image_bytes
from malleable.view.plan_tables import pieces_csv, plan_columns, plan_dict, plan_headline
from malleable.view.text import columns_table, counted, fields_of

_ROWS = 30  # jobs that the table shows


def arguments(parser: argparse.ArgumentParser) -> None:
    add = terminal.adder(parser)
    add("file FILE", "job table, flows or trace, plain or .gz (-: standard input)")
    add("--slots N", "number of slots (default for flows: as their file says)", int)
    add("--objective", OBJECTIVE, default="sum:response")
    policies = tuple(dict.fromkeys((*POLICIES, *FLOW_POLICIES)))
    told = "how slots are given (default: flex for jobs, flowflex for flows)"
    add("--policy", told, choices=policies)
    told = "flex: how many schedules are tried after a few fixed orders of the jobs (default:"
    told += f" {DEFAULT_EFFORT}; fewer for more than 2,000 jobs, so that planning takes seconds)"
    add("--effort N", told, int)
    add("--budget S", "flex: stop the search after this time [s] (default: none)", float)
    add("--period S", "jobs: decide every S seconds, and keep the slots in between", float, 0.0)
    told = "begin the plan at this time, with the jobs that have arrived by then (default: 0; for a trace its"
    told += " last arrival); if FILE does not say what work is left, each job has all of its work"
    add("--at SECONDS", told, float)
    terminal.reading_arguments(parser)
    told = "minimum of a job: slots that it always has, a gang: at least this many slots, or none, or a start:"
    told += " none until it gets this many, and then never less"
    add("--min-mode", told, default=MIN_MODES[0], choices=MIN_MODES)
    add("--explain", "say why, one line for each job", bool)
    add("--pieces FILE", "write the whole schedule as CSV (-: standard output)")
    add("--plot FILE", "draw the schedule (.png, .svg, .pdf)")
    output_arguments(parser)


def run(asked: argparse.Namespace) -> int:
    """Plan the jobs of a table, or of a trace at one moment.

    Files are written only if everything else has succeeded.
    """
    outputs = Outputs(asked, texts=["pieces"], pictures=["plot"], inputs=[asked.file])
    trace = terminal.read_file(asked.file, asked)
    holds_flows = trace.flow is not None
    made = _plan_flows(asked, trace.flows()) if holds_flows else _plan_jobs(asked, trace)
    parts: list[Any] = plan_headline(made)
    why = made.explain() if asked.explain else []
    count = len(made.order)
    if asked.explain:
        parts.append(why)
    elif count:
        parts.append(columns_table("", range(min(count, _ROWS)), plan_columns(made)))
        if count > _ROWS:
            parts.append(f"and {count - _ROWS:,} more (--json FILE has all)")
    status = outputs.give(
        partial(plan_dict, made),
        parts,
        pieces=lambda _: pieces_csv(made),
        plot=lambda path: image_bytes(made.plot(), path),
    )
    if outputs.to_stdout and not quiet():
        sys.stderr.write("".join(line + "\n" for line in why))
    return status


def _policy(asked: argparse.Namespace, known: tuple[str, ...], noun: str) -> str:
    policy = known[0] if asked.policy is None else asked.policy
    if policy not in known:
        told = f"expected one of {', '.join(known)} for {noun}{near(policy, known)}"
        asked.usage(f"--policy {policy}: {told}")
    return str(policy)


def _planned(asked: argparse.Namespace, table: Any, count: str, **options: Any) -> Any:
    common = fields_of(asked, "objective", "effort", "budget", "period")
    model = "flows" if isinstance(table, Flows) else "jobs"
    with terminal.warnings_as_notes(), terminal.counting_bar(f"planning {count}") as tell:
        made = plan(table, progress=tell, **common, **options)
    if idle := idle_effort(model, [options["policy"]], asked.effort):
        note(idle)
    return made


def _begin(asked: argparse.Namespace) -> float:
    return 0.0 if asked.at is None else check_time("--at", asked.at)


def _plan_flows(asked: argparse.Namespace, flows: Flows) -> FlowPlan:
    slots = flows.slots if asked.slots is None else asked.slots
    if slots is None:
        raise ValueError(f"{asked.file}: the file does not say the slots; give --slots N")
    policy = _policy(asked, FLOW_POLICIES, "flows")
    whole, now = len(flows), _begin(asked)
    if asked.at is not None:
        flows = flows.at(now)
    made: FlowPlan = _planned(
        asked, flows, counted(len(flows), "flow"), slots=slots, policy=policy, now=now
    )
    if asked.at is not None:
        note(
            f"snapshot at {now:.10g} s: the {counted(len(flows), 'flow')} of {whole:,} that have arrived,"
            " with all of their work: a file of flows does not say when work was done"
        )
    return made


def _plan_jobs(asked: argparse.Namespace, trace: Trace) -> Plan:
    if asked.slots is None:
        asked.usage("--slots N is needed: only a file of flows may have the number of slots")
    policy = _policy(asked, POLICIES, "jobs")
    common = fields_of(asked, "slots", "min_mode")
    jobs, now = _snapshot(asked, trace)
    for row in np.flatnonzero(jobs.arrival > now)[:1]:
        raise ValueError(
            f"{asked.file}: arrival[{row}] = {jobs.arrival[row]}: after now = {now}; "
            "--at SECONDS takes a snapshot"
        )
    count = counted(len(jobs), "job")
    made: Plan = _planned(asked, jobs, count, policy=policy, now=now, **common)
    return made


def _snapshot(asked: argparse.Namespace, trace: Trace) -> tuple[Jobs, float]:
    # The jobs to plan, and the time of the plan: by default a trace's last arrival, and 0 for a table of jobs.
    is_table = isinstance(trace.table, Jobs)
    now = _begin(asked)
    with terminal.warnings_as_notes():
        if asked.at is None:
            jobs = trace.jobs()
            if is_table or not len(jobs):
                return jobs, now
            now = float(jobs.arrival.max())
            note(f"now = {now:.10g} s, the trace's last arrival (--at SECONDS: another time)")
        jobs = trace.jobs(at=now)
    if not is_table:
        left = " and not finished, with the work that was then left" if trace.timed else ""
        note(f"snapshot at {now:.10g} s: {counted(len(jobs), 'job')} submitted by then{left}")
    return jobs, now
