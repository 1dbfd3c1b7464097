"""``malleable watch``: the table of ``malleable status``, drawn again and again until the run has ended."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from malleable.cli.status_command import journal_arguments
from malleable.cli.streams import console, quiet, ready
from malleable.cli.terminal import adder, interrupts_heard
from malleable.live.journal import Journal
from malleable.live.status import RunStatus, run_status
from malleable.view.live import status_table

_ECHO = 3  # columns on the right for the echo of Ctrl-C, which must not begin a new line
_HEARD = 0.1  # seconds between two checks for Ctrl-C
_BESIDE = 6  # lines of the terminal that are not rows of the table
_LEAST, _MOST = 0.1, 3600.0  # seconds between two looks


def arguments(parser: argparse.ArgumentParser) -> None:
    journal_arguments(parser)
    adder(parser)("--every S", "show the table every S seconds", float, 1.0)


@contextmanager
def _view() -> Iterator[Callable[[RunStatus], object]]:
    if quiet():
        yield lambda status: None
        return
    from rich.constrain import Constrain
    from rich.live import Live

    if not sys.stdout.isatty():
        raise ValueError("standard output is no terminal; use malleable status")
    with Live(console=console(sys.stdout), auto_refresh=False) as live:

        def show(status: RunStatus) -> None:
            if ready(sys.stdout):
                size = live.console.size
                table = status_table(status, max(1, size.height - _BESIDE))
                live.update(Constrain(table, size.width - _ECHO), refresh=True)

        yield show


def run(asked: argparse.Namespace) -> int:
    """Show the table of malleable status again and again, until the run has ended. Ctrl-C ends the table, not
    the run.

    Nothing is written to the journal.
    """
    if not _LEAST <= asked.every <= _MOST:
        asked.usage(f"--every {asked.every:g}: expected seconds, {_LEAST:g} to {_MOST:g}")
    with interrupts_heard() as interrupts, _view() as show:  # none while a line is drawn
        while not interrupts.heard:
            with Journal(asked.journal, write=False) as journal:
                status = run_status(journal, asked.number)
            show(status)
            if status.status != "running":
                return 0
            until = time.monotonic() + asked.every
            while not interrupts.heard and (left := until - time.monotonic()) > 0.0:
                time.sleep(min(left, _HEARD))
    raise KeyboardInterrupt
