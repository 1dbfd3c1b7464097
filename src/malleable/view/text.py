"""Numbers, names and tables as text for people."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np

from malleable.display import counted as counted  # noqa: PLC0414 (the alias says that the name is passed on)
from malleable.display import printable as printable  # noqa: PLC0414 (likewise)

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions


Column = tuple[str, Callable[[Any], str]]
"""A head, and the cell of a row."""

_NOTHING = {"", "-"}  # empty cells
_LABEL = 14  # least width of a folded column of words
_GAP, _EDGES = 2, 2  # between two columns; left and right of a table
_WIDTH = 110  # width of tables outside of a terminal


def number(value: float) -> str:
    """Four significant digits, and all those before the point; ``inf`` for infinity."""
    if 1e3 <= abs(value) < 1e15:
        return f"{value:,.0f}" if abs(value) >= 1e6 else f"{value:.0f}"
    return f"{value:.4g}"


def finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def plain(content: Any) -> Any:
    """The same in JSON's types: fields by name, arrays as lists, None for infinity and NaN."""
    if isinstance(content, float):
        return finite(content)
    if dataclasses.is_dataclass(content):
        content = vars(content)
    elif hasattr(content, "_asdict"):
        content = content._asdict()
    elif isinstance(content, np.ndarray):
        content = content.tolist()
    if isinstance(content, Mapping):
        return {key: plain(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [plain(value) for value in content]
    return content


def json_text(content: Any) -> str:
    """Strict JSON, indented, with a newline at the end; infinity and NaN become null."""
    try:
        text = json.dumps(content, indent=1, allow_nan=False)
    except ValueError:
        text = json.dumps(plain(content), indent=1, allow_nan=False)
    return text + "\n"


def percent(fraction: float | None) -> str:
    if fraction is None or not math.isfinite(fraction):
        return "-"
    return f"{100 * fraction:.2f} %" if abs(fraction) < 10 else f"{100 * fraction:,.0f} %"


def lasting(seconds: float) -> str:
    """A time that is left, for people: ``8 s``, ``12 min``, ``2 h 05 min``, ``3 d 4 h``."""
    if not math.isfinite(seconds):
        return "?"
    whole = max(0, round(seconds))
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f} s"
    if whole < 100:
        return f"{whole} s"
    minutes = round(seconds / 60.0)
    if minutes < 100:
        return f"{minutes} min"
    hours = round(seconds / 3600.0)
    return (
        f"{minutes // 60} h {minutes % 60:02} min"
        if hours < 48
        else f"{hours // 24} d {hours % 24} h"
    )


def wall_time(seconds: float) -> str:
    """A duration of the wall clock in the unit that reads best; schedules stay in seconds."""
    if seconds < 1e-3:
        return f"{1e6 * seconds:.0f} us"
    if seconds < 1.0:
        return f"{1e3 * seconds:.3g} ms"
    return f"{seconds:.3g} s"


class Table:
    """Cells for people: fits any width without losing a column or cutting a cell.

    If a table is too wide, heads fold at blanks, columns of words fold, ``spare`` columns (in this order) are
    left out, then the columns are spread over several tables that all begin with the first ones. The first
    ``left`` columns are words, the others numbers. ``styles`` are colours of a cell by (row, column), of a
    row by (row, None)."""

    def __init__(
        self,
        title: str,
        heads: Sequence[str],
        rows: Sequence[Sequence[str]],
        left: int = 1,
        spare: Sequence[int] = (),
        styles: Mapping[tuple[int, int | None], str] | None = None,
    ) -> None:
        self.title = printable(title)
        self.heads = [printable(head) for head in heads]
        self.rows = [[printable(cell) for cell in row] for row in rows]
        self.left = left
        self.spare, self.styles = tuple(spare), styles or {}

    def without_title(self) -> Table:
        return Table("", self.heads, self.rows, self.left, self.spare, self.styles)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        if self.title:
            yield self.title
        for columns, widths in self._parts(options.max_width - _EDGES):
            yield self._made(columns, widths)

    def _repr_html_(self) -> str:
        align = ["left" if k < self.left else "right" for k in range(len(self.heads))]

        def line(tag: str, cells: Sequence[str]) -> str:
            return "".join(
                f'<{tag} style="text-align: {side}">{escape(cell)}</{tag}>'
                for side, cell in zip(align, cells, strict=True)
            )

        body = "".join(f"<tr>{line('td', row)}</tr>\n" for row in self.rows)
        title = f"<caption>{escape(self.title)}</caption>\n" if self.title else ""
        return (
            f"<table>\n{title}<thead><tr>{line('th', self.heads)}</tr></thead>\n"
            f"<tbody>\n{body}</tbody>\n</table>\n"
        )

    def _parts(self, width: int) -> list[tuple[list[int], list[int]]]:
        from rich.cells import cell_len

        cells = [
            max((cell_len(row[k]) for row in self.rows), default=0) for k in range(len(self.heads))
        ]
        head = [cell_len(text) for text in self.heads]
        word = [max(map(cell_len, text.split()), default=0) for text in self.heads]
        full = [max(pair) for pair in zip(cells, head, strict=True)]
        every = list(range(len(self.heads)))
        if sum(full) + _GAP * (len(every) - 1) <= width:
            return [(every, full)]
        # Least width of each column: numbers never fold, words fold down to a label's width.
        least = [
            min(full[k], max(_LABEL, word[k])) if k < self.left else max(cells[k], word[k])
            for k in every
        ]
        every = self._without_spare(every, least, width)
        key = self._key(every, least, width // 2)
        rest = every[len(key) :]
        parts = _packed(key, rest, least, width, len(rest))
        # As many tables as needed, with about equally many columns.
        even = _packed(key, rest, least, width, -(-len(rest) // max(len(parts), 1)))
        parts = even if len(even) == len(parts) else parts
        return [(part, _spread(part, least, cells, full, width)) for part in parts or [key]]

    def _key(self, every: list[int], least: list[int], width: int) -> list[int]:
        """The first columns of words that fit, at least one; every part of the table begins with them."""
        key = every[:1]
        for k in [k for k in every[1:-1] if k < self.left]:
            if sum(least[c] for c in [*key, k]) + _GAP * len(key) > width:
                break
            key.append(k)
        return key

    def _without_spare(self, every: list[int], least: list[int], width: int) -> list[int]:
        """As many columns as fit without the spare ones, the first ones first; all if none fit."""
        for count in range(len(self.spare) + 1):
            some = [k for k in every if k not in self.spare[:count]]
            if sum(least[c] for c in some) + _GAP * (len(some) - 1) <= width:
                return some
        return every

    def _made(self, columns: list[int], widths: list[int]) -> Any:
        from rich import box
        from rich.table import Table as Drawn
        from rich.text import Text

        made = Drawn(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
        for k, width in zip(columns, widths, strict=True):
            justify: Literal["left", "right"] = "left" if k < self.left else "right"
            made.add_column(Text(self.heads[k]), justify=justify, overflow="fold", width=width)
        for place, row in enumerate(self.rows):
            style = self.styles.get
            cells = (Text(row[k], style=style((place, k), "")) for k in columns)
            made.add_row(*cells, style=style((place, None)))
        return made


def _packed(
    key: list[int], rest: list[int], least: list[int], width: int, most: int
) -> list[list[int]]:
    """Columns of tables that begin with the key, have at most ``most`` others and fit if they can."""
    parts: list[list[int]] = []
    for k in rest:
        wider = [*parts[-1], k] if parts else []
        full = sum(least[c] for c in wider) + _GAP * (len(wider) - 1) > width
        if not parts or full or len(wider) > len(key) + most:
            parts.append([*key, k])
        else:
            parts[-1] = wider
    return parts


def _spread(
    columns: list[int], least: list[int], cells: list[int], full: list[int], width: int
) -> list[int]:
    """Widths of one table's columns: what they need, and the rest to the narrowest that fold."""
    widths = [least[k] for k in columns]
    spare = width - _GAP * (len(columns) - 1) - sum(widths)
    for most in (cells, full):  # rows first, then heads
        while spare > 0 and (folded := [p for p, k in enumerate(columns) if widths[p] < most[k]]):
            widths[min(folded, key=widths.__getitem__)] += 1
            spare -= 1
    while spare < 0 and max(widths) > 1:  # a very narrow terminal: the widest fold, too
        widths[widths.index(max(widths))] -= 1
        spare += 1
    return widths


table = Table


def columns_table(
    title: str,
    rows: Iterable[Any],
    columns: Iterable[Column],
    left: int = 1,
    spare: Sequence[str] = (),
    style: Callable[[str, Any], str] | None = None,
) -> Table:
    """A line for each of these rows, without empty columns. ``spare``: heads of columns that a narrow terminal
    leaves out; ``style(head, row)``: the colours of a cell, with an empty head those of the row."""
    rows, columns = list(rows), list(columns)
    made = [[cell(row) for row in rows] for _, cell in columns]
    kept = [k for k, cells in enumerate(made) if not rows or not _NOTHING.issuperset(cells)]
    heads = [columns[k][0] for k in kept]
    cells = [[made[k][place] for k in kept] for place in range(len(rows))]
    styles: dict[tuple[int, int | None], str] = {}
    for place, row in enumerate(rows if style else ()):
        assert style is not None
        styles |= {(place, at): style(head, row) for at, head in enumerate(heads)}
        styles[place, None] = style("", row)
    without = [heads.index(head) for head in spare if head in heads]
    return Table(title, heads, cells, sum(k < left for k in kept), without, styles)


def fields_of(holder: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(holder, name) for name in names}


def console_for(stream: IO[str] | None = None, plain: bool = False) -> Console:
    """A console on a stream (by default standard output), wide enough if it is no terminal. ``plain``:
    without colours, as with NO_COLOR."""
    from rich.console import Console

    file = sys.stdout if stream is None else stream
    width = None if file.isatty() else _WIDTH
    none = True if plain else None  # None: as in the environment
    return Console(
        file=file, width=width, highlight=False, markup=False, emoji=False, no_color=none
    )
