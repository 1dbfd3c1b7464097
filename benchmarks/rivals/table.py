"""Sections, their rows and cells: how they are measured, compared, printed and kept."""

from __future__ import annotations

import json
import math
import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SECTIONS: dict[str, Section] = {}
"""By name, in the order in which they are printed."""


class SkippedError(Exception):
    """Raised by a section whose traces are absent: the reason."""


@dataclass
class Row:
    """An instance with the rules that are run on it.

    Attributes
    ----------
    instance : str
        What the table calls it.
    run : callable
        Of the name of a rule and a seed: what is measured, less being better.
    ours, rivals : sequence of str
        Names of rules: ours, the default first, then what else we have; and the rivals.
    floors : sequence of str
        Rules that no user can have (right sizes, a bound): for comparison, not as rivals.
    seeds : sequence of int
        A cell is the mean over these.
    """

    instance: str
    run: Callable[[str, int], float]
    ours: Sequence[str]
    rivals: Sequence[str]
    seeds: Sequence[int] = (0,)
    floors: Sequence[str] = ()


class Section(NamedTuple):
    """A table: what it measures, and a function of ``quick`` that gives its rows."""

    name: str
    title: str
    rows: Callable[[bool], Iterable[Row]]


class Cell(NamedTuple):
    """Mean over the seeds, and processor seconds of one of them; its error; values by seed."""

    value: float
    seconds: float
    error: str = ""
    draws: tuple[float, ...] = ()


@dataclass
class Measured:
    """A row with its cells, by name of the rule."""

    instance: str
    ours: list[str]
    rivals: list[str]
    floors: list[str]
    cells: dict[str, Cell] = field(default_factory=dict)

    def best_rival(self) -> str:
        """The name of the best one that did not crash."""
        return min(self.rivals, key=lambda rule: _known(self.cells[rule].value))

    def ratio(self, rule: str) -> float:
        """Over the best rival."""
        least = self.cells[self.best_rival()].value
        value = self.cells[rule].value
        if value == least:
            return 1.0
        return value / least if least else math.inf

    def worst(self) -> float:
        """The default's largest ratio of all draws to the rival that is best on average; NaN: one draw."""
        own, least = self.cells[self.ours[0]].draws, self.cells[self.best_rival()].draws
        if len(own) < 2 or len(own) != len(least) or min(least) <= 0.0:
            return math.nan
        return max(a / b for a, b in zip(own, least, strict=True))

    def errors(self) -> list[str]:
        """Rules that crashed, and how."""
        return [f"{rule}: {cell.error}" for rule, cell in self.cells.items() if cell.error]

    def loses(self, rule: str) -> bool:
        """Whether a rival is better, beyond the third digit."""
        return self.ratio(rule) > 1.0005


def _known(value: float) -> float:
    return math.inf if math.isnan(value) else value


def section(name: str, title: str) -> Callable[[Any], Any]:
    """Register the function that gives a section's rows."""

    def register(rows: Callable[[bool], Iterable[Row]]) -> Callable[[bool], Iterable[Row]]:
        SECTIONS[name] = Section(name, title, rows)
        return rows

    return register


def _cell(task: tuple[str, int, str, bool]) -> Cell:
    """Run in a worker, which makes the rows again: a row's function need not travel."""
    name, place, rule, quick = task
    row = _rows(name, quick)[place]
    began = time.process_time()
    try:
        found = [row.run(rule, seed) for seed in row.seeds]
    except Exception as error:  # the other cells are worth having
        return Cell(math.nan, 0.0, f"{type(error).__name__}: {error}")
    seconds = (time.process_time() - began) / len(found)
    return Cell(float(np.mean(found)), seconds, draws=tuple(map(float, found)))


_KNOWN: dict[tuple[str, bool], list[Row]] = {}


def _rows(name: str, quick: bool) -> list[Row]:
    if (name, quick) not in _KNOWN:
        _KNOWN[name, quick] = list(SECTIONS[name].rows(quick))
    return _KNOWN[name, quick]


def measure(
    names: Sequence[str],
    quick: bool = False,
    workers: int = 2,
    draws: int | None = None,
    seeds: int | None = None,
) -> Iterator[tuple[Section, list[Measured] | str]]:
    """The rows of each section, or why it is skipped, as soon as they are there; at most so many draws.

    ``seeds``: the first seed of the draws, in place of the rows' own ones.
    """
    _KNOWN.clear()
    tasks: list[tuple[str, int, str, bool]] = []
    skipped: dict[str, str] = {}
    for name in names:
        try:
            rows = _rows(name, quick)
        except SkippedError as reason:
            skipped[name] = str(reason)
            continue
        for place, row in enumerate(rows):
            row.seeds = list(row.seeds)[:draws]
            if seeds is not None and len(row.seeds) > 1:
                row.seeds = range(seeds, seeds + len(row.seeds))
            rules = dict.fromkeys([*row.ours, *row.rivals, *row.floors])
            tasks += [(name, place, rule, quick) for rule in rules]
    with _Workers(workers) as run:
        cells = run(tasks)
        for name in names:
            if name in skipped:
                yield SECTIONS[name], skipped[name]
                continue
            found = [
                Measured(row.instance, list(row.ours), list(row.rivals), list(row.floors))
                for row in _rows(name, quick)
            ]
            for _, place, rule, _ in (task for task in tasks if task[0] == name):
                found[place].cells[rule] = next(cells)
            yield SECTIONS[name], found


class _Workers:
    """Runs tasks in so many processes, results in their order; one: here."""

    def __init__(self, count: int):
        self.pool = multiprocessing.get_context("fork").Pool(count) if count > 1 else None

    def __enter__(self) -> Callable[[Any], Iterator[Cell]]:
        return (lambda tasks: map(_cell, tasks)) if self.pool is None else self._spread

    def _spread(self, tasks: Any) -> Iterator[Cell]:
        assert self.pool is not None
        return self.pool.imap(_cell, tasks)

    def __exit__(self, *_: Any) -> None:
        if self.pool is not None:
            self.pool.terminate()


def figure(value: float) -> str:
    """Four digits at most."""
    if math.isnan(value):
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def times(ratio: float) -> str:
    """A ratio, to three digits behind the point while that means something."""
    return f"{ratio:.3f}" if ratio < 10.0 else figure(ratio)


def lines(section: Section, rows: list[Measured] | str) -> Iterator[str]:
    """A section as text: ours with ratios to the best rival; ``!``: a rival wins; ``*``: this one does."""
    yield f"{section.name}: {section.title}"
    if isinstance(rows, str):
        yield f"  skipped: {rows}"
        return
    for names, block in _blocks(rows):
        head = ["", *names, "worst", "seconds"]
        table = [head]
        for row in block:
            least = min(_known(row.cells[rule].value) for rule in row.ours)
            texts = [row.instance]
            for rule in names:
                value = row.cells[rule].value
                text = figure(value)
                if rule in row.ours:
                    text += f" ({times(row.ratio(rule))}{'!' * row.loses(rule)})"
                elif rule in row.rivals and value < least / 1.0005:
                    text += " *"
                texts.append(text)
            texts.append(figure(row.worst()))
            texts.append("/".join(f"{row.cells[rule].seconds:.2g}" for rule in names))
            table.append(texts)
        widths = [max(len(line[k]) for line in table) for k in range(len(head))]
        for line in table:
            yield (
                "  "
                + "  ".join(
                    text.ljust(width) if k == 0 else text.rjust(width)
                    for k, (text, width) in enumerate(zip(line, widths, strict=True))
                ).rstrip()
            )
    for row in rows:
        yield from (f"  CRASHED: {row.instance}, {text}" for text in row.errors())


def _blocks(rows: list[Measured]) -> Iterator[tuple[list[str], list[Measured]]]:
    """Neighbours that have the same rules stand in one table."""
    block: list[Measured] = []
    for row in rows:
        if block and _rules(block[0]) != _rules(row):
            yield _rules(block[0]), block
            block = []
        block.append(row)
    if block:
        yield _rules(block[0]), block


def _rules(row: Measured) -> list[str]:
    return list(dict.fromkeys([*row.ours, *row.rivals, *row.floors]))


def as_data(found: Iterable[tuple[Section, list[Measured] | str]]) -> dict[str, Any]:
    """What ``--json`` writes: section -> instance -> rules with value and processor seconds."""
    data: dict[str, Any] = {}
    for each, rows in found:
        if isinstance(rows, str):
            data[each.name] = {"skipped": rows}
            continue
        data[each.name] = {
            row.instance: {
                "ours": row.ours,
                "rivals": row.rivals,
                "floors": row.floors,
                "value": {rule: cell.value for rule, cell in row.cells.items()},
                "seconds": {rule: cell.seconds for rule, cell in row.cells.items()},
                "draws": max(len(cell.draws) for cell in row.cells.values()),
                "worst": None if math.isnan(row.worst()) else round(row.worst(), 3),
            }
            for row in rows
        }
    return data


def write_json(path: Path, data: dict[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=1) + "\n")
