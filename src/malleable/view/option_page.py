"""The page ``docs/options.md``: every option by name, of policies, the scheduler, the simulated cluster, and of
converters (functions that make jobs from a trace)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from malleable import _core
from malleable.traces.converting import ASSUMPTIONS

_INTRO = """\
# Options by name

This page lists the options of [simulated clusters](cluster.md) and of a [scheduler](scheduler.md) of your own.
The options in the section "Of the simulated cluster" are for simulations only. You give an option like this:

| to | how |
|---|---|
| a simulation in Python | `malleable.simulate(..., NAME=VALUE)` |
| a simulation on the command line | `--set NAME=VALUE` |
| a simulation, in the file of its cluster | `NAME = VALUE` below `[options]` |
| a scheduler in Python | `malleable.Scheduler(..., NAME=VALUE)` |
| a scheduler in C | `malleable_scheduler_options`, its member `options`: `"NAME=VALUE NAME=VALUE"` |

In the column "values", `1e12` is a one with twelve zeros. The column "read by" names the policies on which an
option has an effect.

The [glossary](glossary.md) explains words.
"""
_PARTS = (
    ("policy", "Of policies"),
    ("scheduler", "Of the scheduler"),
    ("simulation", "Of the simulated cluster"),
)
_READING = """\
A [trace](traces.md) is a file of recorded jobs. A *converter*, such as `trace.tasks(NAME=VALUE)`, makes jobs
from a trace. If the trace lacks something that the jobs need, the converter assumes it.
`Trace.assumptions` lists the assumptions of one converter. On the command line you give an assumption by
`--read NAME=VALUE`.
"""


def option_page() -> str:
    rows = list(_core.OPTIONS)
    parts = [_INTRO]
    for of, title in _PARTS:
        own = [_cells(row) for row in rows if row["of"] == of]
        parts.append(
            f"## {title}\n\n{_table(('name', 'values', 'default', 'meaning', 'read by'), own)}"
        )
    reading = [(f"`{name}`", _shown(default, ""), told) for name, default, told in ASSUMPTIONS]
    table = _table(("name", "default", "meaning"), reading)
    parts.append(f"## Of converters of traces\n\n{_READING}\n{table}")
    return "\n".join(parts)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    default = _shown(row["default"], row["unit"])
    return (f"`{row['name']}`", _values(row), default, row["meaning"], row["readers"] or "all")


def _values(row: Mapping[str, Any]) -> str:
    if row["kind"] == "flag":
        return "`true`, `false`"
    if row["kind"] == "word":
        return ", ".join(f"`{word}`" for word in row["words"])
    low, high = _number(row["low"]), _number(row["high"])
    noun = "whole number" if row["kind"] == "whole" else "number"
    limits = f"{noun} from {low}" + ("" if high == "inf" else f" to {high}")
    return limits + (", or a list" if row["kind"] == "speedup" else "")


def _number(value: float) -> str:
    # Powers of ten and two from 10^6 on as powers, which are easier to read.
    if value < 1e6 or math.isinf(value):
        return f"{value:g}"
    short = f"{value:.0e}".replace("e+", "e")
    return short if float(short) == value else f"2^{math.log2(value):g}"


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
