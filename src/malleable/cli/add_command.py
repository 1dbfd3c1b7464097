"""``malleable add``: more jobs for a run that goes on, as an order in a folder beside its journal."""

from __future__ import annotations

import argparse
from pathlib import Path

from malleable.cli.run_command import job_arguments, rows_of, source_arguments
from malleable.cli.status_command import JOURNAL
from malleable.cli.terminal import adder, show
from malleable.live.control import order


def arguments(parser: argparse.ArgumentParser) -> None:
    source_arguments(parser)
    add = adder(parser)
    add("--needs NAME", "a resource of which each task holds one (default: none)", action="append")
    add("--journal FILE", "journal of the run", default=JOURNAL)
    job_arguments(parser, "end within this time after the start of the run")


def run(asked: argparse.Namespace) -> int:
    """Give more work to a run that goes on: the commands or the jobs of FILE, or COMMAND for each line of
    standard input. They become jobs of the run. The run must still go on: it is the run that writes to the
    journal.
    """
    asked.resource = asked.needs
    rows, folder = rows_of(asked)
    show(order(Path(asked.journal), {"do": "add", "rows": rows, "folder": folder}))
    return 0
