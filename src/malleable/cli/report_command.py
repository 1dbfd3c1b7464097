"""``malleable report``: a page on what other policies would have done to recorded jobs."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path

from malleable.cli import terminal
from malleable.cli.outputs import Outputs, output_arguments
from malleable.report.facts import POLICIES, RIGID_POLICIES, Asked, facts
from malleable.report.live_run import is_journal, run_facts
from malleable.report.page import check_page, page, report_parts
from malleable.report.study import study
from malleable.view.text import fields_of

_MOST_WORKERS = 4  # simulations at once


def arguments(parser: argparse.ArgumentParser) -> None:
    add = terminal.adder(parser)
    add(
        "files FILE",
        "a trace, a table, a folder, or a journal of runs (-: standard input)",
        nargs="+",
    )
    add("--html FILE", "write the page: one file that needs no network")
    usual = f"{','.join(POLICIES)}; if jobs are rigid: {','.join(RIGID_POLICIES)}"
    add("--policy A,B", f"policies to compare (default: {usual})")
    told = "the policy that ran when the record was made (default: all that may have run are tried)"
    add("--recorded-policy NAME", told)
    terminal.log_arguments(parser)
    add("--quick", "leave out other loads, and shares of malleable jobs", bool)
    add("--run N", "number of the run in a journal (default: the last)", int, dest="number")
    output_arguments(parser)


def _asked(asked: argparse.Namespace) -> Asked:
    policies = None
    if asked.policy is not None:
        policies = tuple(name.strip() for name in asked.policy.split(",") if name.strip())
        if not policies:
            raise ValueError("--policy: at least one")
    return Asked(
        policies=policies,
        **fields_of(asked, "recorded_policy", "quick", "seed"),
        workers=min(_MOST_WORKERS, os.cpu_count() or 1),
        command=shlex.join(["malleable", *asked.words]),
    )


def run(asked: argparse.Namespace) -> int:
    """What would another policy have done to these jobs, and to which users? FILE is a record of a cluster
    (sacct, SWF, Spark, Rumen, SWIM ...; also several files or a folder of one format), a table of jobs, or the
    journal of a run of malleable. If it is a journal, the page also shows the run.

    After Ctrl-C nothing is written.
    """
    outputs = Outputs(asked, tables=("html",), inputs=[*asked.files, asked.cluster])
    if asked.html is not None:
        check_page()
    wanted = _asked(asked)
    if len(asked.files) == 1 and is_journal(Path(asked.files[0])):
        found = run_facts(asked.files[0], asked.number, wanted.command)
    else:
        if asked.number is not None:
            raise ValueError("--run: needs a journal of runs")
        with terminal.busy("reading"):
            told = study(
                asked.files, options=terminal.reading_options(asked), **terminal.log_options(asked)
            )
        with terminal.warnings_as_notes(), terminal.counting_bar("simulations") as tell:
            found = facts(told, wanted, tell)
    if not found["complete"]:
        raise KeyboardInterrupt
    return outputs.give(lambda: found, report_parts(found), html=lambda _: page(found))
