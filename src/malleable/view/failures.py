"""Tasks that did not end well, for people: a few lines each, a table of many, and all of it as JSON."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from malleable.live.failures import Failure
from malleable.view.text import Column, Table, columns_table, counted, plain, printable, wall_time

_LONGEST = 1000  # characters of a line that is shown; `malleable logs` shows all


def _cut(text: str) -> str:
    text = printable(text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


def _from_here(path: str) -> str:
    """A path as one would say it from the current folder."""
    below = os.path.relpath(path)
    return path if below.startswith("..") else below


def _which(failure: Failure) -> str:
    if failure.task < 0:
        return f"{failure.job}, {counted(failure.tasks, 'task')}"
    value = f" ({_cut(failure.value)})" if failure.value else ""
    return f"{failure.job} task {failure.task}{value}"


def failure_lines(failure: Failure) -> list[str]:
    """How a task failed, its command, the last lines that it printed, and the file that has all of them."""
    head = f"{failure.way}: {printable(_which(failure))}: {_cut(failure.what)}"
    if failure.task < 0:
        return [head]
    if failure.seconds and failure.way != "timed out":
        head += f" after {wall_time(failure.seconds)}"
    head += f", attempt {failure.tries}" if failure.tries > 1 else ""
    lines = [head, f"    {_cut(failure.command)}"]
    lines += [f"    | {_cut(line)}" for line in failure.last_lines()]
    whole = failure.errors or failure.output
    return [*lines, f"    all of it: {printable(_from_here(whole))}"] if whole else lines


_COLUMNS: list[Column] = [
    (
        "task",
        lambda each: f"{each.job} {each.task}" if each.task >= 0 else f"{each.job}, {each.tasks:,}",
    ),
    ("value", lambda each: each.value[:_LONGEST]),
    ("how", lambda each: f"{each.way}: {each.what}"[:_LONGEST]),
    ("last line", lambda each: "".join(each.last_lines(1))[:_LONGEST]),
]


def failure_table(failures: Sequence[Failure], ways: str, more: int = 0) -> Table:
    """A row a task, or a job that was skipped; ``ways``: the counts, ``more``: tasks that have no row."""
    hidden = f"; {more:,} more: malleable status --failed" if more else ""
    shown = [column for column in _COLUMNS if any(column[1](each) for each in failures)]
    return columns_table(f"{ways}{hidden}", failures, shown, left=len(shown))


def ways_text(jobs: Iterable[Any]) -> str:
    """How many tasks of jobs did not end well, by how: ``2 failed, 1 timed out``; empty: none."""
    ways: Counter[str] = Counter()
    for job in jobs:
        ways.update(job.ways)
        ways["failed"] += job.failed - sum(job.ways.values())
    words = ("failed", "timed out", "lost", "skipped", "cancelled")
    return ", ".join(f"{ways[word]:,} {word}" for word in words if ways[word])


def failure_json(failure: Failure) -> dict[str, Any]:
    """All that is known of it."""
    found = plain(failure)
    if failure.task < 0:
        found["task"] = None
    return {**found, "last_lines": failure.last_lines()}
