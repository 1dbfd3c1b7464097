"""Latencies for people and as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from malleable.view.latency import INSTANCES, SHARE, EpochLatency, Measured, machine
from malleable.view.text import Column, Table, columns_table, fields_of, wall_time


def latency_dict(measured: Measured) -> dict[str, Any]:
    """The results in JSON types; all times in seconds."""
    kept = ("slots", "epochs", "bytes")
    cases = [one.case._asdict() | fields_of(one, *kept) | one.times for one in measured.cases]
    return {"unit": "s", "share_changed": SHARE, "made_with": machine(), "cases": cases}


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
    made.append(f"{measured.cases[0].epochs:,} decisions of each")
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
    ("full plan", _time("plan_seconds")),
    ("memory a job", lambda row: _size(row[0].bytes and row[0].bytes / row[0].case.jobs)),
]
