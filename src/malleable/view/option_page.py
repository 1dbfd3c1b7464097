"""Every option by name as a page: of policies, the scheduler and the simulated cluster, and of readers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from malleable import _core
from malleable.traces.formats import reading_rows

_INTRO = """\
# Options by name

`malleable simulate --options` prints this page.

Options of the first two tables are for `malleable.Scheduler`, for the C interface
(`malleable_scheduler_new_with`, `name=value` between spaces) and for simulated clusters. Options of the third
table are for simulated clusters only. Simulations take all three by `malleable.simulate(..., NAME=VALUE)`,
`--set NAME=VALUE`, or `[options]` of a cluster's file.
"""
_PARTS = (
    ("policy", "Of policies"),
    ("scheduler", "Of the scheduler"),
    ("simulation", "Of the simulated cluster"),
)
_READING = """\
Rows of a format are options of `malleable.read(file, NAME=VALUE)`. Rows of converters are assumptions of
`trace.tasks(NAME=VALUE)` and the other converters, for everything that a trace does not say.
`Trace.assumptions` lists the assumptions of one converter. On the command line `--read NAME=VALUE` sets both.
"""


def option_page() -> str:
    """The page as Markdown. O(options)."""
    rows = list(_core.OPTIONS)
    parts = [_INTRO]
    for of, title in _PARTS:
        own = [_cells(row) for row in rows if row["of"] == of]
        parts.append(
            f"## {title}\n\n{_table(('name', 'values', 'default', 'meaning', 'read by'), own)}"
        )
    reading = [
        (f"`{row.name}`", row.of, _shown(row.default, ""), row.meaning) for row in reading_rows()
    ]
    table = _table(("name", "of", "default", "meaning"), reading)
    parts.append(f"## Of readers of traces\n\n{_READING}\n{table}")
    return "\n".join(parts)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    default = _shown(row["default"], row["unit"])
    return (f"`{row['name']}`", _values(row), default, row["meaning"], row["readers"] or "all")


def _values(row: Mapping[str, Any]) -> str:
    if row["kind"] == "flag":
        return "`true`, `false`"
    if row["kind"] == "word":
        return ", ".join(f"`{word}`" for word in row["words"])
    low, high = f"{row['low']:.16g}", f"{row['high']:.16g}"
    noun = "whole number" if row["kind"] == "whole" else "number"
    limits = f"{noun} from {low}" + ("" if high == "inf" else f" to {high}")
    return limits + (", or a list" if row["kind"] == "speedup" else "")


def _shown(value: Any, unit: str) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    text = f"{value:.10g}" if isinstance(value, float) else str(value)
    return f"`{text}`" + (f" {unit}" if unit else "")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
