"""``malleable status``: how far the last run of a journal is, also while another process writes it."""

from __future__ import annotations

import argparse

from malleable.cli.outputs import Outputs, output_arguments
from malleable.cli.streams import note
from malleable.live.journal import Journal
from malleable.live.status import run_status
from malleable.view.live import status_json, status_table

JOURNAL = ".malleable/journal.sqlite"


def journal_arguments(parser: argparse.ArgumentParser) -> None:
    """Which run of which journal."""
    add = parser.add_argument
    add("journal", metavar="JOURNAL", nargs="?", default=JOURNAL, help="default: %(default)s")
    add("--run", type=int, metavar="N", dest="number", help="of a run (default: the last)")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.description = "Jobs of a run: slots, why, how far, and when they are expected to end."
    journal_arguments(parser)
    output_arguments(parser)
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    """Read the journal; nothing is written to it."""
    outputs = Outputs(asked, inputs=[asked.journal])
    with Journal(asked.journal, write=False) as journal:
        status = run_status(journal, asked.number)
    if status.trouble:
        note(status.trouble)
    return outputs.give(lambda: status_json(status), [status_table(status)])
