"""What each larger mechanism of the core is worth, over a plain replacement of at most 40 lines.

A set is a list of instances on which the build that is installed is measured. Each `rivals:SECTION` has
the instances and our own rules of `benchmarks.rivals`. Sets of other names have real traces, or instances
that no rule was chosen on.

To measure a row of `benchmarks/results/mechanisms.md` again, check out the commit that the row names and
measure its sets. Then apply the row's patch, build, and measure the same sets again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.rivals import sections  # noqa: F401
from benchmarks.rivals.table import SECTIONS, SkippedError

KINDS = ("benchmarks", "traces", "families")


class Instance(NamedTuple):
    """What is run: `run(seed)` gives a number, less being better."""

    name: str
    """With all parameters."""
    measure: str
    run: Callable[[int], float]
    seeds: Sequence[int] = tuple(range(1, 13))


class Set(NamedTuple):
    kind: str
    instances: Callable[[], Iterable[Instance]]


SETS: dict[str, Set] = {}


def instances(name: str, kind: str) -> Callable[[Any], Any]:
    """Register the function that gives the instances of a set."""
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r}: one of {', '.join(KINDS)}")

    def register(function: Callable[[], Iterable[Instance]]) -> Callable[[], Iterable[Instance]]:
        SETS[name] = Set(kind, function)
        return function

    return register


def _of_section(name: str) -> Iterator[Instance]:
    for row in SECTIONS[name].rows(False):
        for rule in row.ours:
            yield Instance(
                f"{name}: {row.instance}: {rule}",
                SECTIONS[name].title,
                lambda seed, row=row, rule=rule: row.run(rule, seed),
                row.seeds,
            )


for _name in SECTIONS:
    SETS[f"rivals:{_name}"] = Set("benchmarks", lambda _name=_name: _of_section(_name))


def measure(name: str, draws: int | None = None) -> Iterator[dict[str, Any]]:
    """Every instance of a set on the installed build: its values, one a seed, and processor seconds of all."""
    kind, found = SETS[name]
    try:
        listed = list(found())
    except SkippedError as reason:
        print(f"{name}: {reason}")
        return
    for each in listed:
        seeds = [int(seed) for seed in each.seeds[:draws]]
        began = time.process_time()
        values = [float(np.float64(each.run(seed))) for seed in seeds]
        yield {
            "set": name,
            "kind": kind,
            "instance": each.name,
            "measure": each.measure,
            "seeds": seeds,
            "values": values,
            "seconds": time.process_time() - began,
        }
