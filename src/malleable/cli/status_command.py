"""``malleable status``: how far a run is, from its journal, the file that records runs. For jobs that were
handed over to Slurm, the queue is asked, too."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from malleable.cli.outputs import Outputs, output_arguments
from malleable.cli.streams import note
from malleable.cli.terminal import adder
from malleable.live.failures import failures
from malleable.live.guard import Guard
from malleable.live.journal import Journal
from malleable.live.journal_rows import NOTHING_STARTS
from malleable.live.slurm.commands import Slurm
from malleable.live.slurm.submitted import SUBMITTED, Submission, last_submission
from malleable.live.status import run_status
from malleable.view import live as live_view

_SINGLE = 30  # up to this many failures are shown one by one
JOURNAL = ".malleable/journal.sqlite"


def history_of(path: str) -> dict[str, Any] | None:
    """What runs in a journal have learnt of programs; None: nothing, or there is no journal."""
    if not Path(path).exists():
        return None
    with Journal(path, write=False) as journal:
        return Guard(partial(note, grave=True))("the history of programs", journal.history)


def journal_arguments(parser: argparse.ArgumentParser) -> None:
    add = adder(parser)
    add("journal JOURNAL", "the journal of the run", default=JOURNAL, nargs="?")
    add("--run N", "number of the run (default: the last)", int, dest="number")


def arguments(parser: argparse.ArgumentParser) -> None:
    add = adder(parser)
    journal_arguments(parser)
    told = "show tasks that did not end well: what happened, their commands, and the end of their standard"
    add("--failed", f"{told} error", bool)
    output_arguments(parser)


def _handed_over(path: str, number: int | None, of_commands: bool) -> Path | None:
    # The journal of jobs in Slurm, if no run is named and they are newer than the last run. ``of_commands``:
    # only runs of commands count.
    last = last_submission(Path(path))
    if number is not None or last is None or not os.path.lexists(path):
        return last if number is None else None
    with Journal(path, write=False) as journal, Journal(last, write=False) as other:
        if not journal.has_runs() or (of_commands and journal.run().kind in ("arrays", "stages")):
            return last
        run = journal.run()
        return None if journal.goes_on(run.id) or run.began > other.run().began else last


@contextmanager
def read_journal(
    path: str, number: int | None, of_commands: bool
) -> Iterator[tuple[Journal, Submission | None]]:
    """The journal to read, and its jobs in Slurm if it is about a hand-over."""
    with Journal(_handed_over(path, number, of_commands) or path, write=False) as journal:
        run = journal.run(number) if journal.has_runs() else None
        if run is None or run.kind != SUBMITTED:
            yield journal, None
            return
        submission = Submission(journal, run.id, Slurm())
        submission.look()
        if submission.trouble:
            note(f"the queue could not be read: {submission.trouble}")
        yield journal, submission


def run(asked: argparse.Namespace) -> int:
    """Show the jobs of a run: how many slots they have and why, how far they are, and when they will probably
    end.

    Nothing is written to the journal.
    """
    outputs = Outputs(asked, inputs=[asked.journal])
    with read_journal(asked.journal, asked.number, asked.failed) as (journal, _):
        if asked.failed:
            return _failed(journal, asked.number, outputs)
        status = run_status(journal, asked.number)

    # ``rule``: the policy that decides, in words, or why no task starts
    held = status.rule.startswith(NOTHING_STARTS)
    rule = [[status.rule if held else f"auto: {status.rule}"]] if status.rule else []
    return outputs.give(
        lambda: live_view.status_json(status), [live_view.status_table(status), *rule]
    )


def _failed(journal: Journal, number: int | None, outputs: Outputs) -> int:
    run = journal.run(number)
    found = list(failures(journal, run))
    lines = [line for each in found[:_SINGLE] for line in live_view.failure_lines(each)]
    if len(found) > _SINGLE:
        lines = live_view.failure_groups(found)
    if not found:
        lines = [f"run {run.id}: no task has failed"]
    result = {"run": run.id, "failures": [live_view.failure_json(each) for each in found]}
    return outputs.give(lambda: result, [lines])
