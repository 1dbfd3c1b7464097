"""Figures that stay: those of the first measurement beside those of the last one, as a page of the docs.

``kept.json`` has both. A row's first figures are written once, when the row is new, and never again; its
present ones whenever it is measured. The page is made from that file alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.ground.table import SECTIONS, Cell, Measured, figure, times

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).with_name("kept.json")
PAGE = ROOT / "docs" / "ground.md"
_HEAD = """# The proving ground

On this page each of our policies competes with the plainest rules that might beat it, the *rivals*. All rules
run as a user runs them. `python -m benchmarks.ground` prints all tables, and `python -m benchmarks.ground
--keep` also writes this page. `benchmarks/ground/rivals.py` describes the rivals. `benchmarks/instances`
describes the instances: the text above each table has their names.

In all tables less is better. A table has these columns:

- *first*: our figure when the row was new. It never changes. In brackets stands our figure over that of the
  best rival of the same measurement. **!** means that a rival wins.
- *now*: the same at the last measurement.
- *worst draw*: most instances are drawn at random several times, and figures are means over the draws. This
  column has the largest ratio in a single draw: ours, now, over the rival that is best on average.
- *also ours, now*: our other policies and settings. "without" (in the sections on periods) means that
  the policy is not told how seldom decisions come.
- *best rival, now*: its name and figure. "right sizes" means that the rule is told how long tasks really take.
- *floors*: figures that no rule can have in practice: lower bounds, and rules that are told the right sizes.
- *draws*: how many draws there are.
- *seconds*: processor seconds of one run, ours / the best rival.

Names of rivals have these words. In a loop that decides once a period, *capped* means that no job gets more
slots than end it within the period, and *left-over* means that slots that nobody then wants end such jobs
earlier. *steep 0.4* is heSRPT with this exponent, whatever the speed-up really is. *latest start* serves the
jobs that can all be in time, and of them first the one that has to start first. *apparent cost* serves jobs
by weight / work, which counts less the later the deadline is.
"""


def keep(data: dict[str, Any], kept: Path = KEPT, page: Path = PAGE) -> None:
    """Add what was measured to the file and write the page anew."""
    old = json.loads(kept.read_text()) if kept.exists() else {"first": {}, "now": {}}
    for name, rows in data.items():
        if "skipped" in rows:
            continue
        for instance, row in rows.items():
            old["first"].setdefault(name, {}).setdefault(instance, _short(row))
            old["now"].setdefault(name, {})[instance] = _short(row)
    kept.write_text(json.dumps(old, separators=(",", ":")).replace('},"', '},\n"') + "\n")
    page.write_text(as_page(old))


def _short(row: dict[str, Any]) -> dict[str, Any]:
    digits = {"value": 6, "seconds": 2}
    return row | {
        field: {rule: float(f"{value:.{count}g}") for rule, value in row[field].items()}
        for field, count in digits.items()
    }


def measured(instance: str, row: dict[str, Any]) -> Measured:
    """A row as it was when it was measured."""
    cells = {rule: Cell(value, row["seconds"][rule]) for rule, value in row["value"].items()}
    return Measured(instance, row["ours"], row["rivals"], row["floors"], cells)


def as_page(kept: dict[str, Any]) -> str:
    """A table for each section, in the order of the command."""
    text = _HEAD
    for name in [*SECTIONS, *(name for name in kept["now"] if name not in SECTIONS)]:
        if name not in kept["now"]:
            continue
        title = SECTIONS[name].title if name in SECTIONS else ""
        text += f"\n## {name}\n{title}.\n\n"
        columns = (
            "first | now | worst draw | also ours, now | best rival, now | floors | draws | seconds"
        )
        text += f"| instance | {columns} |\n"
        text += "|---|---|---|---|---|---|---|---|---|\n"
        for instance, row in kept["now"][name].items():
            first = measured(instance, kept["first"][name][instance])
            text += _line(first, measured(instance, row), row)
    return text


def _line(first: Measured, now: Measured, row: dict[str, Any]) -> str:
    best, default = now.best_rival(), now.ours[0]
    cells = [
        now.instance,
        _ours(first, first.ours[0]),
        _ours(now, default),
        "" if row["worst"] is None else f"{row['worst']:g}",
        "; ".join(f"{rule} {_ours(now, rule)}" for rule in now.ours[1:]),
        f"{best} {figure(now.cells[best].value)}",
        "; ".join(f"{rule} {figure(now.cells[rule].value)}" for rule in now.floors),
        f"{row['draws']}",
        f"{now.cells[default].seconds:.2g} / {now.cells[best].seconds:.2g}",
    ]
    return "| " + " | ".join(cells) + " |\n"


def _ours(row: Measured, rule: str) -> str:
    mark = " **!**" if row.loses(rule) else ""
    return f"{figure(row.cells[rule].value)} ({times(row.ratio(rule))}{mark})"
