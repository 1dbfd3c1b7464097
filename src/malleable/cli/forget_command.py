"""``malleable forget``: removes runs from a journal, the file that records them."""

from __future__ import annotations

import argparse
import os
import shutil

from malleable.cli.status_command import JOURNAL
from malleable.cli.terminal import adder, duration, show
from malleable.live.journal import Journal
from malleable.live.output import output_folder
from malleable.view.text import counted


def arguments(parser: argparse.ArgumentParser) -> None:
    add = adder(parser)
    add("runs RUN", "number of a run", int, nargs="*")
    add("--older AGE", "all runs that began longer ago, as 30d (default: none)", duration)
    add("--journal FILE", "journal of the runs", default=JOURNAL)


def run(asked: argparse.Namespace) -> int:
    """Remove runs from a journal, with the output of their tasks. The knowledge of programs stays.

    Fails while a run still writes to the journal.
    """
    if not asked.runs and asked.older is None:
        asked.usage("needs numbers of runs, or --older AGE")
    if not os.path.lexists(asked.journal):
        raise ValueError(f"{asked.journal}: no journal there")
    with Journal(asked.journal) as journal:
        runs = {number: journal.run(number) for number in asked.runs}
        if asked.older is not None:
            runs |= {run.id: run for run in journal.older(asked.older)}
        for number, each in runs.items():
            folder = output_folder(journal.path, each)
            if folder:
                shutil.rmtree(folder, ignore_errors=True)
            journal.remove(number)
        journal.shrink()
    show(f"{counted(len(runs), 'run')} forgotten")
    return 0
