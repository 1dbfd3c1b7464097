"""Figures that stay: those of the first measurement beside those of the last one, as a page of the docs.

``kept.json`` has both. A row's first figures are written once, when the row is new, and never again; its
present ones whenever it is measured, those of fresh draws when it is measured with other seeds. The page is
made from that file alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.rivals.table import SECTIONS, Cell, Measured, figure, times

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).with_name("kept.json")
PAGE = ROOT / "docs" / "internals" / "rivals.md"
_HEAD = """# Benchmarks against rivals

On this page each of our policies competes with the plainest rules that might beat it. These plain rules are
the *rivals*. Our policies run as a user runs them. `python -m benchmarks.rivals` prints all tables, and
`python -m benchmarks.rivals --keep` also writes this page.

## How to read the tables

In all tables less is better. The text above each table says what its figures are, and which of our policies
competes ("ours"). It also names the function of `benchmarks/instances` that makes the jobs. The
[glossary](../glossary.md) explains load, stretch, tardiness, sigma and similar words. A table has these
columns:

- *first*: our figure when the row was new. This column never changes. The number in brackets is our figure
  divided by the figure of the best rival in the same measurement. **!** means that a rival wins. "inf" means
  that the figure of the best rival is 0.
- *now*: the same two numbers at the last measurement.
- *worst draw*: most instances are drawn at random several times, and all figures are means over the draws. In
  each draw, we divide our figure by the figure of one rival: the rival that is best on average over all
  draws. This column has the largest of these ratios. The column is empty if there is only one draw, or if the
  rival has the figure 0 in a draw.
- *fresh draws*: the same two ratios of as many other draws, on which no rule was chosen
  (`python -m benchmarks.rivals SECTION --seeds FIRST --keep`).
- *also ours, now*: our other policies and settings, each with its figure. "flex" is the policy FLEX, and
  "auto" is the policy `auto`.
- *best rival, now*: the name of the best rival, and its figure. "right sizes" behind a name means that the
  rule is told how long tasks really take.
- *floors*: figures that show how much could still be gained. Some are lower bounds ("bound"), which no rule
  can beat. The others are figures of rules that are told the right sizes, which a user would not know. Even
  such a rule may be worse than ours: a rule that knows the sizes need not be the best rule for these jobs.
- *draws*: how many draws there are.
- *seconds*: processor seconds of one run: ours / the best rival.

These are the rivals. `benchmarks/rivals/rules.py` has most of them, each in a few lines. The names "fifo",
"srpt", "flex" and "asrpt" are policies of the package; "asrpt" is for jobs with map and reduce tasks.

- *FAIR* gives all jobs equal numbers of slots. The slots that a job cannot use go to the others.
- *FIFO* serves the job that came first.
- *SRPT* serves the job with the least work left. This job gets all slots that it can use. If slots are left,
  the job with the next least work gets them, and so on.
- *capped*, behind the name of a rule: the loop holds each decision for a period, and no job gets more slots
  than it needs to end within the period.
- *left-over*, behind the name of a rule: the rule is capped, and the slots that are then left over go to
  jobs that end within the period. So these jobs end earlier. The rule "apparent cost, capped" hands out
  left-over slots, too.
- *mean of ended tasks* is SRPT for jobs whose task times are not known. The rule expects that the other
  tasks of a job take as long as the job's ended tasks took on average.
- *heSRPT* is a rule for tasks that slow each other down. All jobs get slots, and small jobs get more than
  large jobs. How much more depends on p, the exponent of the speed-up.
- *steep 0.4* and *steep 0.7* are heSRPT with 0.4 or 0.7 in place of p, even if the true p is another
  number.
- *latest start* orders jobs by their latest starts. The latest start of a job is the latest time at which the
  job can start and still meet its deadline. But in sections whose names begin with "loops", the name *latest
  start* stands for the next rule of this list, *on-time set*.
- *on-time set* chooses a set of jobs that can all be in time. These jobs go first, in the order of their
  latest starts.
- *apparent cost* serves the job with the largest weight / work first. But the more time a job has until its
  latest start, the less its weight counts.
- *in turn*, behind the name of a rule: a free slot goes to the first job that has waiting tasks. The other
  rules of clusters say how many slots each job should have. A free slot then goes to the job that has the
  smallest part of these slots.
- *hopeful* is apparent cost, but jobs that cannot be in time come last.
- *Smith* serves the job with the least work / weight first.
- *srwf* serves the flow with the least work left. Within this flow, the job with the longest path to the
  end of the flow goes first.
- *AFS* and *SRSF* are rules for training jobs on GPUs. SRSF serves the job with the least GPU time left.
  AFS compares jobs two by two, and gives each slot to the job that wins against all others.
- *price* sets one price for all slots. A job pays this price for each slot and second. It also pays 1 for
  each second until it ends. Each job asks for the number of slots with the smallest total cost. The price is
  just high enough that the jobs do not ask for more slots than there are.
"""


def keep(
    data: dict[str, Any], kept: Path = KEPT, page: Path = PAGE, *, fresh: bool = False
) -> None:
    """Add what was measured to the file and write the page anew. ``fresh``: with other seeds."""
    old = json.loads(kept.read_text()) if kept.exists() else {"first": {}, "now": {}, "fresh": {}}
    for name, rows in data.items():
        if "skipped" in rows:
            continue
        for instance, row in rows.items():
            if not fresh:
                old["first"].setdefault(name, {}).setdefault(instance, _short(row))
            old["fresh" if fresh else "now"].setdefault(name, {})[instance] = _short(row)
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
            "first | now | worst draw | fresh draws | also ours, now | best rival, now | floors | "
            "draws | seconds"
        )
        text += f"| instance | {columns} |\n"
        text += "|---|---|---|---|---|---|---|---|---|---|\n"
        for instance, row in kept["now"][name].items():
            first = measured(instance, kept["first"][name][instance])
            fresh = kept["fresh"].get(name, {}).get(instance)
            text += _line(first, measured(instance, row), row, fresh)
    return text


def _fresh(instance: str, row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    drawn = measured(instance, row)
    worst = "" if row["worst"] is None else f", worst {row['worst']:g}"
    return f"{times(drawn.ratio(drawn.ours[0]))}{worst}"


def _line(first: Measured, now: Measured, row: dict[str, Any], fresh: dict[str, Any] | None) -> str:
    best, default = now.best_rival(), now.ours[0]
    cells = [
        now.instance,
        _ours(first, first.ours[0]),
        _ours(now, default),
        "" if row["worst"] is None else f"{row['worst']:g}",
        _fresh(now.instance, fresh),
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
