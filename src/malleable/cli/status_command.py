"""``malleable status``: how far the last run of a journal is, also while another process writes it."""

from __future__ import annotations

import argparse
import math
from typing import Any

from malleable.cli.outputs import Outputs, output_arguments
from malleable.cli.run_command import JOURNAL
from malleable.live.journal import Journal
from malleable.live.status import RunStatus, run_status
from malleable.view.text import finite, number, table, wall_time


def arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.description = "Jobs of a run: slots, why, how far, and when they are expected to end."
    add = parser.add_argument
    add("journal", metavar="JOURNAL", nargs="?", default=JOURNAL, help="default: %(default)s")
    add("--run", type=int, metavar="N", dest="number", help="of a run (default: the last)")
    output_arguments(parser)
    parser.set_defaults(run=run)


def _dict(status: RunStatus) -> dict[str, Any]:
    return {
        "run": status.number,
        "status": status.status,
        "seconds": status.now,
        "slots": status.slots,
        "jobs": [{**job._asdict(), "end": finite(job.end)} for job in status.jobs],
    }


def run(asked: argparse.Namespace) -> int:
    """Read the journal; nothing is written to it."""
    outputs = Outputs(asked, inputs=[asked.journal])
    with Journal(asked.journal, write=False) as journal:
        status = run_status(journal, asked.number)
    rows = [
        [
            job.name,
            job.user or "-",
            number(job.slots),
            job.why or "-",
            number(job.done),
            number(job.failed),
            number(job.left),
            "-" if job.left == 0 else "?" if math.isnan(job.end) else number(round(job.end, 1)),
            "late" if job.at_risk else "",
        ]
        for job in status.jobs
    ]
    title = f"run {status.number}, {status.status}: {wall_time(status.now)} on {status.slots} slots"
    heads = [
        "job",
        "user",
        "slots",
        "why",
        "done",
        "failed",
        "left",
        "expected end [s]",
        "deadline",
    ]
    return outputs.give(lambda: _dict(status), [table(title, heads, rows, left=1)])
