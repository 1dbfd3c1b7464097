"""``malleable watch``: how far a run is, renewed in place until it has ended."""

from __future__ import annotations

import argparse
import math
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from malleable.cli.status_command import journal_arguments
from malleable.cli.streams import console, quiet, ready
from malleable.cli.terminal import adder
from malleable.live.journal import Journal
from malleable.live.status import RunStatus, run_status
from malleable.view.live import status_table

if TYPE_CHECKING:
    from rich.live import Live

_ECHO = 3  # columns on the right for what Ctrl-C writes: it must not begin a line of its own
_HEARD = 0.1  # seconds until Ctrl-C is heard
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
    journal_arguments(parser)
    adder(parser)("--every S", "show the table every S seconds", _every, 1.0)


def check_terminal() -> None:
    """ValueError if standard output cannot show a table that stays in place."""
    if not quiet() and not sys.stdout.isatty():
        raise ValueError("standard output is no terminal; use malleable status")


class View:
    """A table that stays in place on a terminal's standard output; nothing where people want it quiet."""

    def __init__(self, live: Live | None) -> None:
        self._live = live

    def __call__(self, status: RunStatus) -> None:
        """Show it again, if the terminal is ready."""
        from rich.constrain import Constrain

        if self._live and ready(sys.stdout):
            size = self._live.console.size
            table = status_table(status, max(1, size.height - _BESIDE))
            self._live.update(Constrain(table, size.width - _ECHO), refresh=True)

    def above(self, lines: Sequence[str]) -> bool:
        """Lines that stay above the table; False: the terminal takes none now."""
        from rich.text import Text

        if not ready(sys.stdout):
            return False
        if self._live:
            self._live.console.print(*map(Text.from_ansi, lines), sep="\n", soft_wrap=True)
        return True


@contextmanager
def view(passing: bool = False) -> Iterator[View]:
    """Show tables in place, until the end if ``passing``. ValueError if there is no terminal."""
    if quiet():
        yield View(None)
        return
    from rich.live import Live

    check_terminal()
    with Live(console=console(sys.stdout), auto_refresh=False, transient=passing) as live:
        yield View(live)


def run(asked: argparse.Namespace) -> int:
    """Show the table of malleable status again and again, until the run has ended. Ctrl-C ends the table, not
    the run.

    Nothing is written to the journal.
    """
    pressed: list[int] = []

    def press(number: int, frame: object) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(number)  # not within a line that is being drawn

    before = signal.signal(signal.SIGINT, press)
    try:
        with view() as show:
            while not pressed:
                with Journal(asked.journal, write=False) as journal:
                    status = run_status(journal, asked.number)
                show(status)
                if status.status != "running":
                    return 0
                until = time.monotonic() + asked.every
                while not pressed and (left := until - time.monotonic()) > 0.0:
                    time.sleep(min(left, _HEARD))
    finally:
        signal.signal(signal.SIGINT, before)
    raise KeyboardInterrupt
