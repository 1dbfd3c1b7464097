"""Numbers, names and tables as text for people."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["console_for", "counted", "number", "percent", "printable", "table", "wall_time"]

_LABEL = 14  # least width of a single column of words, however narrow the terminal
_WIDTH = 110  # of tables that do not go to a terminal


def number(value: float) -> str:
    """Six significant digits; infinite as ``never`` would mislead for values, so as ``inf``."""
    return f"{value:.6g}"


def percent(fraction: float | None) -> str:
    """A fraction as a percentage; a dash where there is none."""
    if fraction is None or not math.isfinite(fraction):
        return "-"
    return f"{100 * fraction:.2f} %" if abs(fraction) < 10 else f"{100 * fraction:,.0f} %"


def counted(count: int, noun: str) -> str:
    """``1 job``, ``2 jobs``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def wall_time(seconds: float) -> str:
    """A duration in the unit that reads best (wall-clock time only; schedules stay in seconds)."""
    if seconds < 1e-3:
        return f"{1e6 * seconds:.0f} us"
    if seconds < 1.0:
        return f"{1e3 * seconds:.3g} ms"
    return f"{seconds:.3g} s"


def printable(text: str) -> str:
    """The text on one line, with control characters and what UTF-8 cannot hold escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1
) -> Table:
    """A table whose first ``left`` columns are words and whose others are numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(
        title=Text(title) if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    for index, column in enumerate(columns):
        words = index < left
        justify: Literal["left", "right"] = "left" if words else "right"
        made.add_column(
            Text(column),
            justify=justify,
            overflow="fold",
            no_wrap=not words,
            min_width=_LABEL if words and left == 1 else None,
        )
    for row in rows:
        made.add_row(*(Text(printable(cell)) for cell in row))
    return made


def console_for(stream: IO[str] | None = None) -> Console:
    """A console on a stream (standard output by default), wide enough if it is no terminal."""
    from rich.console import Console

    file = sys.stdout if stream is None else stream
    width = None if file.isatty() else _WIDTH
    return Console(file=file, width=width, highlight=False, markup=False, emoji=False)
