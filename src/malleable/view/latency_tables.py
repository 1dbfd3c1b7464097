"""Latencies for people and as JSON, and two saved runs beside each other.

A run says of each case what the median decision took in every round, and what sorting took then. How far
the rounds of a case wander says how much of a difference between two runs is noise. Where sorting is
slower beyond noise, the machine is, and all are compared with that.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from malleable.files.reading import open_text
from malleable.view.latency import (
    INSTANCES,
    SHARE,
    EpochLatency,
    Measured,
    machine,
    most_bytes,
)
from malleable.view.text import Table, table, wall_time

CERTAINTY = 0.99
"""Of the interval in which a ratio lies."""
WORTH = 0.05
"""Less than that is not called slower or faster: two builds of the same differ by as much."""

_KEYS = ("instance", "policy", "objective", "jobs")


def latency_dict(measured: Measured) -> dict[str, Any]:
    """The results in JSON types; all times in seconds."""
    cases = []
    for one in measured.cases:
        fields = one._asdict()
        case, times = fields.pop("case"), fields.pop("times")
        cases.append(case._asdict() | fields | times)
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
    heads = [
        "policy", "objective", "jobs", "median", "p99", "p99.9", "worst",
        "growth", "changing 1 %", "full plan", "memory a job",
    ]  # fmt: skip
    for instance, words in INSTANCES.items():
        found = [one for one in measured.cases if one.case.instance == instance]
        rows = []
        for one, growth in zip(found, _exponents(found), strict=True):
            names = [f"decide_{name}" for name in ("median", "p99", "p999", "worst")]
            rows.append([
                one.case.policy,
                one.case.objective,
                f"{one.case.jobs:,}",
                *(wall_time(one.times[name]) for name in names),
                growth,
                wall_time(one.times["change_median"]),
                wall_time(one.times["plan_median"]) if "plan_median" in one.times else "-",
                _size(one.bytes and one.bytes / one.case.jobs),
            ])  # fmt: skip
        if rows:
            made.append(table(f"Latency of an epoch on this machine: {words}", heads, rows, left=2))
    timed = measured.cases[0].epochs
    grown = [one.bytes_grown for one in measured.cases if one.bytes_grown is not None]
    more = f"; memory grew by {_size(max(grown))} at most meanwhile" if grown else ""
    made.append(f"{timed:,} decisions of each, in {len(measured.sorting)} rounds{more}")
    made.append(f"sorting 100,000 numbers: {wall_time(statistics.median(measured.sorting))}")
    return made


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
    return Change(
        {key: after[key] for key in _KEYS},
        before["decide_median"],
        after["decide_median"],
        middle,
        low,
        high,
        after["decide_p99"] / before["decide_p99"] / machine_slower,
    )


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
    rows = [
        one.case | {"verdict": one.verdict}
        | {key: value for key, value in one._asdict().items() if key != "case"}
        for one in changes
    ]  # fmt: skip
    return {"unit": "s", "certainty": CERTAINTY, "worth": WORTH, "cases": rows}


def comparison_tables(changes: Sequence[Change], left_out: int) -> list[Table | str]:
    """For people: what is slower or faster first in words, then all."""
    heads = ["instance", "policy", "objective", "jobs", "before [us]", "after [us]", "ratio",
             f"interval ({CERTAINTY:.0%})", "p99", ""]  # fmt: skip
    rows = [
        [
            *(str(one.case[key]) for key in _KEYS[:3]),
            f"{one.case['jobs']:,}",
            f"{1e6 * one.before:,.1f}",
            f"{1e6 * one.after:,.1f}",
            f"{one.ratio:.2f}",
            f"{one.low:.2f} - {one.high:.2f}",
            f"{one.p99:.2f}",
            "" if one.verdict == "same" else one.verdict,
        ]
        for one in changes
    ]
    counts = {word: sum(one.verdict == word for one in changes) for word in ("slower", "faster")}
    told = f"{len(changes):,} cases: {counts['slower']} slower, {counts['faster']} faster"
    parts: list[Table | str] = [
        table("Median decisions of two runs", heads, rows, left=3),
        told + f" by {WORTH:.0%} or more, beyond noise",
    ]
    if left_out:
        parts.append(f"{left_out:,} cases stand in one of the files only")
    return parts
