"""SWIM traces (Statistical Workload Injector for MapReduce): jobs of Facebook's Hadoop clusters, known by their
bytes only.

Source: Chen et al., "The case for evaluating MapReduce performance using workload suites" (MASCOTS 2011).
Tab-separated lines without a header: name, submit time [s], gap to the previous submit [s], map input
[bytes], shuffle [bytes], reduce output [bytes]; some samples append paths of their input and output, one or
several, which are ignored. There are no task counts and no run times, so the rates that turn bytes into tasks
and slot-seconds are assumptions.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np

from malleable.files.json import amount_of
from malleable.files.numbers import parse_number
from malleable.traces.formats import File, Format, Head
from malleable.traces.phases import Phase
from malleable.traces.trace import Trace

_FIELDS = ("submit time", "gap", "map input", "shuffle", "reduce output")
_END = 2.0**60  # beyond any time in seconds or number of bytes


def _looks(head: Head) -> bool:
    cells = head.line.split("\t")
    try:
        return len(cells) >= 6 and math.isfinite(parse_number(cells[1]))
    except ValueError:
        return False


def _parse(line: str) -> tuple[str, list[float]]:
    # Name and the five numbers of a line; ValueError says what is wrong with it.
    cells = line.split("\t")
    if len(cells) < 1 + len(_FIELDS):
        raise ValueError(f"{len(cells)} tab-separated fields, expected at least 6")
    if not cells[0]:
        raise ValueError("blank job name")
    fields = zip(_FIELDS, cells[1:], strict=False)
    return cells[0], [_amount(field, cell) for field, cell in fields]


def _amount(field: str, cell: Any) -> float:
    with suppress(ValueError):
        cell = parse_number(cell)
    return amount_of(cell, field, _END)


def _read(file: File) -> Trace:
    jobs = list(file.records(_parse))
    file.check_records(len(jobs))
    jobs.sort(key=lambda job: job[1][0])
    arrival, _, bytes_in, shuffled, _ = np.array([numbers for _, numbers in jobs]).T.copy()
    maps, reduces, names = Phase(bytes=bytes_in), Phase(bytes=shuffled), [name for name, _ in jobs]
    return Trace(arrival=arrival, map=maps, reduce=reduces, name=names)


FORMAT = Format("SWIM trace", _looks, _read)
