"""The table of columns in docs/internals/readers.md: ``python -m tests.traces.format_page`` writes it."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from malleable.traces import formats
from malleable.traces.job_columns import Column

PAGE = Path(__file__).absolute().parents[2] / "docs" / "internals" / "readers.md"
_BETWEEN = re.compile(r"(<!-- columns -->\n).*?(<!-- end of columns -->)", re.DOTALL)


def _conversion(column: Column) -> str:
    name = column.read.__name__.strip("_")
    return "" if column.read is str else "a rule of its own" if name == "<lambda>" else f"`{name}`"


def table() -> str:
    rows = ["| format | column there | sacct's column | conversion |", "|---|---|---|---|"]
    for stem in formats._MODULES:
        module = importlib.import_module(f"malleable.traces.{stem}")
        for column in getattr(module, "_TABLE", ()):
            there = f"`{column.name}`" if column.name else "number of the line"
            cells = (module.FORMAT.name, there, f"`{column.sacct}`", _conversion(column))
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def page(text: str) -> str:
    return _BETWEEN.sub(lambda found: found[1] + table() + found[2], text)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
