"""What the pages say of formats."""

from __future__ import annotations

from pathlib import Path

from malleable.traces.formats import _formats
from malleable.traces.job_table import _TABLES
from tests.traces.format_page import PAGE, page

FORMATS = Path(__file__).absolute().parents[2] / "docs" / "traces.md"


def test_each_format_has_a_row() -> None:
    names = {format.name for format in _formats()} - {"table of jobs"}
    names |= {table.name for table in _TABLES}
    text = FORMATS.read_text()
    assert [name for name in sorted(names) if f"\n| {name} |" not in text] == []


def test_the_table_of_columns_is_as_the_readers_have_it() -> None:
    """If it is not: ``python -m tests.traces.format_page``."""
    text = PAGE.read_text()
    assert page(text) == text and "| PBS accounting log | `ctime` | `Submit` |" in text
