"""Latencies for people and as JSON, and two saved runs beside each other.

A run says of each case what the median decision took in every round, and what sorting took then. How far
the rounds of a case wander says how much of a difference between two runs is noise. Where sorting is
slower beyond noise, the machine is, and all are compared with that.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from malleable.files.reading import open_text
from malleable.view.latency import INSTANCES, SHARE, EpochLatency, Measured, machine, most_bytes
from malleable.view.text import Column, Table, columns_table, fields_of, wall_time

CERTAINTY = 0.99
"""Of the interval in which a ratio lies."""
WORTH = 0.05
"""Less than that is not called slower or faster: two builds of the same differ by as much."""

_KEYS = ("instance", "policy", "objective", "jobs")


def latency_dict(measured: Measured) -> dict[str, Any]:
    """The results in JSON types; all times in seconds."""
    kept = ("slots", "epochs", "rounds", "bytes", "bytes_grown")
    cases = [one.case._asdict() | fields_of(one, *kept) | one.times for one in measured.cases]
    return {
        "unit": "s",
        "share_changed": SHARE,
        "made_with": machine(),
        "process_bytes": most_bytes(),
        "sorting": measured.sorting,
        "cases": cases,
    }


def _size(count: float | None) -> str:
    return "-" if count is None else f"{count:,.0f} B"


def _exponents(results: Sequence[EpochLatency]) -> list[str]:
    """How the median grows with the number of jobs, beside the case with more of them than the one before."""
    told = []
    for k, one in enumerate(results):
        before = results[k - 1] if k else one
        same = before.case._replace(jobs=one.case.jobs) == one.case
        if not same or one.case.jobs <= before.case.jobs:
            told.append("")
            continue
        slower = one.times["decide_median"] / before.times["decide_median"]
        told.append(f"n^{math.log(slower) / math.log(one.case.jobs / before.case.jobs):.2f}")
    return told


def latency_tables(measured: Measured) -> list[Table | str]:
    """The results for people: one table an instance, one row a case."""
    made: list[Table | str] = []
    for instance, words in INSTANCES.items():
        found = [one for one in measured.cases if one.case.instance == instance]
        title = f"Latency of an epoch on this machine: {words}"
        rows = list(zip(found, _exponents(found), strict=True))
        made += [columns_table(title, rows, _COLUMNS, left=2)] if found else []
    timed = measured.cases[0].epochs
    grown = [one.bytes_grown for one in measured.cases if one.bytes_grown is not None]
    more = f"; memory grew by {_size(max(grown))} at most meanwhile" if grown else ""
    made.append(f"{timed:,} decisions of each, in {len(measured.sorting)} rounds{more}")
    made.append(f"sorting 100,000 numbers: {wall_time(statistics.median(measured.sorting))}")
    return made


def _time(name: str) -> Callable[[tuple[EpochLatency, str]], str]:
    return lambda row: wall_time(row[0].times[name]) if name in row[0].times else "-"


_COLUMNS: list[Column] = [  # of a case, and how it grows
    ("policy", lambda row: row[0].case.policy),
    ("objective", lambda row: row[0].case.objective),
    ("jobs", lambda row: f"{row[0].case.jobs:,}"),
    ("median", _time("decide_median")),
    ("p99", _time("decide_p99")),
    ("p99.9", _time("decide_p999")),
    ("worst", _time("decide_worst")),
    ("growth", lambda row: row[1]),
    ("changing 1 %", _time("change_median")),
    ("full plan", _time("plan_median")),
    ("memory a job", lambda row: _size(row[0].bytes and row[0].bytes / row[0].case.jobs)),
]


class Change(NamedTuple):
    """A case in two runs: ``ratio`` of the second's time to the first's, and the ends of its interval."""

    case: dict[str, Any]
    before: float
    after: float
    ratio: float
    low: float
    high: float
    p99: float

    @property
    def verdict(self) -> str:
        """Slower or faster: for sure, and by enough."""
        if self.low > 1.0 and self.ratio >= 1.0 + WORTH:
            return "slower"
        if self.high < 1.0 and self.ratio <= 1.0 / (1.0 + WORTH):
            return "faster"
        return "same"


def read_run(path: str) -> dict[str, Any]:
    """A run that ``malleable bench --json`` saved.

    Raises
    ------
    ValueError, OSError
        The file is none.
    """
    try:
        with open_text(path) as (text, _):
            run = json.load(text)
        _ = run["made_with"]["machine"]
        for case in run["cases"]:
            if len(case["rounds"]) != len(run["sorting"]):
                raise ValueError("as many rounds as there are of sorting")
            if not all(second > 0.0 for second in (*case["rounds"], *run["sorting"])):
                raise ValueError("seconds above 0")
            _ = [case[key] for key in (*_KEYS, "decide_median", "decide_p99")]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: no run of malleable bench --json ({error})") from None
    return dict(run)


def compare_runs(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """The cases that both runs have, in the second's order."""
    low, slower, high = _ratio(before["sorting"], after["sorting"])
    if low <= 1.0 <= high:
        slower = 1.0
    known = {tuple(case[key] for key in _KEYS): case for case in before["cases"]}
    pairs = [(known.get(tuple(case[key] for key in _KEYS)), case) for case in after["cases"]]
    return [_change(first, second, slower) for first, second in pairs if first is not None]


def _change(before: Mapping[str, Any], after: Mapping[str, Any], machine_slower: float) -> Change:
    low, middle, high = (end / machine_slower for end in _ratio(before["rounds"], after["rounds"]))
    medians = before["decide_median"], after["decide_median"]
    tail = after["decide_p99"] / before["decide_p99"] / machine_slower
    return Change({key: after[key] for key in _KEYS}, *medians, middle, low, high, tail)


def _ratio(before: Sequence[float], after: Sequence[float]) -> tuple[float, float, float]:
    """Hodges and Lehmann's ratio of two samples, between the ends of Mann and Whitney's interval.

    It holds whatever the distribution; the ends are 0 and infinite for samples that are too small.
    """
    ratios = sorted(second / first for first in before for second in after)
    pairs, rounds = len(ratios), len(before) + len(after)
    z = statistics.NormalDist().inv_cdf(0.5 + CERTAINTY / 2)
    rank = int(pairs / 2 - z * math.sqrt(pairs * (rounds + 1) / 12))
    ends = (ratios[rank - 1], ratios[-rank]) if rank >= 1 else (0.0, math.inf)
    return ends[0], statistics.median(ratios), ends[1]


def comparison_dict(changes: Sequence[Change]) -> dict[str, Any]:
    """In JSON types."""
    kept = ("verdict", *Change._fields[1:])
    rows = [one.case | fields_of(one, *kept) for one in changes]
    return {"unit": "s", "certainty": CERTAINTY, "worth": WORTH, "cases": rows}


def comparison_tables(changes: Sequence[Change], left_out: int) -> list[Table | str]:
    """For people: what is slower or faster first in words, then all."""
    columns: list[Column] = [
        ("instance", lambda one: str(one.case["instance"])),
        ("policy", lambda one: str(one.case["policy"])),
        ("objective", lambda one: str(one.case["objective"])),
        ("jobs", lambda one: f"{one.case['jobs']:,}"),
        ("before [us]", lambda one: f"{1e6 * one.before:,.1f}"),
        ("after [us]", lambda one: f"{1e6 * one.after:,.1f}"),
        ("ratio", lambda one: f"{one.ratio:.2f}"),
        (f"interval ({CERTAINTY:.0%})", lambda one: f"{one.low:.2f} - {one.high:.2f}"),
        ("p99", lambda one: f"{one.p99:.2f}"),
        ("", lambda one: "" if one.verdict == "same" else one.verdict),
    ]
    counts = {word: sum(one.verdict == word for one in changes) for word in ("slower", "faster")}
    told = f"{len(changes):,} cases: {counts['slower']} slower, {counts['faster']} faster"
    parts: list[Table | str] = [
        columns_table("Median decisions of two runs", changes, columns, left=3),
        told + f" by {WORTH:.0%} or more, beyond noise",
    ]
    if left_out:
        parts.append(f"{left_out:,} cases stand in one of the files only")
    return parts
