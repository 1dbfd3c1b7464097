"""CSV tables: rows with their lines, columns with their errors, and names that no spreadsheet runs."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from malleable.domain import shown
from malleable.files.bad_records import BadRecords
from malleable.files.reading import DAMAGED, damage


@contextmanager
def csv_rows(text: Iterable[str], strict: bool = False, between: str = ",") -> Iterator[Any]:
    """A `csv.reader`; what it cannot read in the block is a ValueError that names the line.

    Parameters
    ----------
    text : text stream, or its lines
    strict : bool
        Quotes in odd places are errors.
    between : str
        What stands between two cells.
    """
    rows = csv.reader(text, strict=strict, delimiter=between)
    try:
        yield rows
    except csv.Error as error:
        raise ValueError(f"line {rows.line_num}: {error}") from None


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def formula_safe(text: str) -> str:
    """A name as it goes into CSV: with an apostrophe before what a spreadsheet would run.

    A name that begins with apostrophes before such a character gets one more, so that
    `without_apostrophe` gives every name back.
    """
    return f"'{text}" if text.lstrip("'").startswith(_FORMULA) else text


def without_apostrophe(cell: str) -> str:
    """The name in a cell of CSV that `formula_safe` may have made safe."""
    guarded = cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA)
    return cell[1:] if guarded else cell


def csv_text(columns: Mapping[str, Iterable[Any]], plain: Sequence[str] = ()) -> str:
    """A CSV table of columns by name.

    Texts are made safe for spreadsheets (`formula_safe`), except those of ``plain`` columns, which
    are no names but numbers in a row.
    """
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


def _row(head: list[str], cells: list[str], parse: Callable[[str, str], Any]) -> list[Any]:
    if len(cells) != len(head):
        raise ValueError(f"{len(cells)} cells, expected {len(head)}")
    values = []
    for column, cell in zip(head, cells, strict=True):
        try:
            values.append(parse(column, cell))
        except ValueError as error:
            raise ValueError(f"{column} = {shown(cell)}: {error}") from None
    return values


def check_head(head: Sequence[str], needed: Sequence[str]) -> None:
    """ValueError unless these columns are there, and none is twice."""
    for column in needed:
        if column not in head:
            raise ValueError(f"column {column!r} is missing")
    if len(set(head)) < len(head):
        raise ValueError("a column occurs twice")


def read_columns(
    text: TextIO,
    known: Sequence[str] | None,
    needed: Sequence[str],
    parse: Callable[[str, str], Any],
    bad: BadRecords,
) -> dict[str, list[Any]]:
    """Columns of a CSV with a header; ``known``: the only ones that there may be (None: any).

    ``parse(column, cell)`` makes a value of a cell; what it says in a ValueError follows the cell.
    Lines that cannot be read go to ``bad``, with what is wrong.

    Raises
    ------
    ValueError
        One line that names the line (from 1) and the column.
    """
    with csv_rows(text) as rows:
        head = [cell.strip() for cell in next(rows, [])]
        for cell in head:
            if known is not None and cell not in known:
                raise ValueError(f"unknown column {shown(cell)}, expected {', '.join(known)}")
        check_head(head, needed)
        columns: dict[str, list[Any]] = {cell: [] for cell in head}
        try:
            for cells in filter(None, rows):
                try:
                    values = _row(head, cells, parse)
                except ValueError as error:
                    bad.add(f"line {rows.line_num}: {error}")
                    continue
                for column, value in zip(head, values, strict=True):
                    columns[column].append(value)
        except DAMAGED as error:
            bad.add(f"after line {rows.line_num}: {damage(error)}")
    return columns
