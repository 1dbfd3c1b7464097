"""CSV tables: errors that name the line, checks of headers, and names that a spreadsheet does not run as
formulas."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any


@contextmanager
def csv_rows(text: Iterable[str], strict: bool = False, between: str = ",") -> Iterator[Any]:
    """A `csv.reader`; what it cannot read in the block is a ValueError that names the line. ``strict``:
    quotes in odd places are errors; ``between``: the separator."""
    rows = csv.reader(text, strict=strict, delimiter=between)
    try:
        yield rows
    except csv.Error as error:
        raise ValueError(f"line {rows.line_num}: {error}") from None


# beginnings of what a spreadsheet takes for a formula
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def formula_safe(text: str) -> str:
    """A name as it goes into CSV: with an apostrophe before what a spreadsheet would run. A name that
    already begins so gets one more, so that `without_apostrophe` restores every name."""
    return f"'{text}" if text.lstrip("'").startswith(_FORMULA) else text


def without_apostrophe(cell: str) -> str:
    """The name in a cell of CSV that `formula_safe` may have changed."""
    guarded = cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA)
    return cell[1:] if guarded else cell


def csv_text(columns: Mapping[str, Iterable[Any]], plain: Sequence[str] = ()) -> str:
    """A CSV table of columns by name. Texts are made safe for spreadsheets (`formula_safe`), except ``plain``
    columns: numbers in a row."""
    # A cell of a plain column holds several numbers in a row.
    safe = [
        list(values if name in plain else map(_safe, values)) for name, values in columns.items()
    ]
    returns = any(isinstance(cell, str) and "\r" in cell for cells in safe for cell in cells)
    out = io.StringIO()
    # The csv module quotes a lone carriage return only if it is part of the line terminator.
    writer = csv.writer(
        out, lineterminator="\n", quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL
    )
    writer.writerow(columns)
    writer.writerows(zip(*safe, strict=True))
    return out.getvalue()


def _safe(cell: Any) -> Any:
    return formula_safe(cell) if isinstance(cell, str) else cell


def check_head(head: Sequence[str], needed: Sequence[str]) -> None:
    """ValueError unless these columns are there, none of them twice."""
    for column in needed:
        if column not in head:
            raise ValueError(f"column {column!r} is missing")
    for index, column in enumerate(head):
        if column in head[:index]:
            raise ValueError(f"column {column!r} occurs twice")
