"""``malleable watch``: how far a run is, in place and anew, until it has ended."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from malleable.cli.status_command import journal_arguments
from malleable.cli.streams import console, quiet
from malleable.live.journal import Journal
from malleable.live.status import RunStatus, run_status
from malleable.view.live import status_table

_BESIDE = 6  # lines of a terminal that are no rows
_LEAST, _MOST = 0.1, 3600.0  # seconds between two looks


def _every(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not _LEAST <= seconds <= _MOST:
        raise argparse.ArgumentTypeError(f"{text!r}: expected seconds, {_LEAST:g} to {_MOST:g}")
    return seconds


def arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.description = (
        "As status, in place and anew until the run has ended; another process may write the "
        "journal. Ctrl-C ends the view, not the run."
    )
    journal_arguments(parser)
    parser.add_argument(
        "--every", type=_every, default=1.0, metavar="S", help="default: %(default)s"
    )
    parser.set_defaults(run=run)


def check_terminal() -> None:
    """ValueError where nobody would see a table that stays in place."""
    if not quiet() and not sys.stdout.isatty():
        raise ValueError("standard output is no terminal; malleable status tells once")


@contextmanager
def view() -> Iterator[Callable[[RunStatus], None]]:
    """A table that stays in place on a terminal's standard output: yields what shows it anew, if any."""
    if quiet():
        yield lambda _: None
        return
    from rich.live import Live

    check_terminal()
    on = console(sys.stdout)
    with Live(console=on, auto_refresh=False) as live:
        yield lambda status: live.update(
            status_table(status, max(1, on.size.height - _BESIDE)), refresh=True
        )


def run(asked: argparse.Namespace) -> int:
    """Look again and again; nothing is written to the journal."""
    with view() as show:
        while True:
            with Journal(asked.journal, write=False) as journal:
                status = run_status(journal, asked.number)
            show(status)
            if status.status != "running":
                return 0
            time.sleep(asked.every)
