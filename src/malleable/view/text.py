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


# A head, and the cell of a row.
Column = tuple[str, Callable[[Any], str]]

# (seconds of the unit, number from which it is used, name)
_UNITS = ((86400.0, 2.0, "d"), (3600.0, 1.0, "h"), (60.0, 2.0, "min"))
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


def digits(value: float) -> str:
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"


def duration(seconds: float | None) -> str:
    """``41.0 s``, ``3.20 min``, ``12.5 h``, ``2.10 d``; a dash if unknown."""
    if seconds is None or math.isnan(seconds):
        return "–"
    if math.isinf(seconds):
        return "never"
    if seconds == 0.0:
        return "0 s"
    if abs(seconds) < 1e-3:
        return f"{1e6 * seconds:.0f} us"
    if abs(seconds) < 1.0:
        return f"{1000 * seconds:.3g} ms"
    for size, least, unit in _UNITS:
        if abs(seconds) >= least * size:
            return f"{digits(seconds / size)} {unit}"
    return f"{digits(seconds)} s"


class Table:
    """A table of rich that fits any width. If it is too wide, heads fold at blanks, words fold anywhere, and
    ``spare`` columns (in this order) are left out. If it is still too wide, the columns are spread over several
    tables, which rich cannot do. The first ``left`` columns are words, the others numbers. ``styles`` are
    colours of a cell by (row, column), of a row by (row, None)."""

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
        from rich.cells import cell_len

        if self.title:
            yield self.title
        whole = [
            max(cell_len(cell) for cell in column)
            for column in zip(self.heads, *self.rows, strict=True)
        ]
        every, width = list(range(len(whole))), options.max_width - _EDGES
        if _width(whole, every) <= width:
            yield self._made(every, whole)
            return
        # Numbers never fold, heads fold at blanks, and words fold down to a label's width.
        least = []
        for k, (head, *cells) in enumerate(zip(self.heads, *self.rows, strict=True)):
            texts = head.split() if k < self.left else [*head.split(), *cells]
            need = max(map(cell_len, texts), default=0)
            least.append(min(whole[k], max(_LABEL, need)) if k < self.left else need)
        for k in self.spare:
            if _width(least, every) > width:
                every.remove(k)
        for columns in _spread(every, max(1, self.left), least, width):
            yield self._made(columns, [None if k < self.left else least[k] for k in columns])

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

    def _made(self, columns: Sequence[int], widths: Sequence[int | None]) -> Any:
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


def _width(widths: Sequence[int], columns: Sequence[int]) -> int:
    return sum(widths[k] for k in columns) + _GAP * (len(columns) - 1)


def _spread(every: list[int], left: int, least: Sequence[int], width: int) -> list[list[int]]:
    # Columns of as few tables as fit, with about as many each. All begin with the columns of words, or the
    # first one if those are more than half as wide.
    words = every[: min(left, len(every) - 1)]
    key = words if _width(least, words) <= width // 2 else every[:1]
    rest = every[len(key) :]
    for count in range(1, len(rest) + 1):
        parts = [[*key, *part.tolist()] for part in np.array_split(np.array(rest), count)]
        if all(_width(least, part) <= width for part in parts):
            break
    return parts if rest else [key]


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
