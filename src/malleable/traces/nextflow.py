"""Nextflow's trace: a table with a line for each task (``nextflow run -with-trace``).

Format: https://www.nextflow.io/docs/latest/reports.html#trace-file.

Taken: process (a malleable job of single tasks), submit, start and complete, or duration and realtime, cpus.
Left out: cached tasks, memory, which process waits for which.
"""

from __future__ import annotations

from malleable.files.numbers import parse_moment, parse_number
from malleable.files.reading import parse_seconds
from malleable.traces.formats import File, Format, Head
from malleable.traces.job_columns import Column, cells_of, rows_of, trace_of_cells
from malleable.traces.trace import Trace


def _seconds(text: str) -> float:
    # Seconds of ``1h 2m 3s``, or of a number of milliseconds.
    return parse_seconds(text) if text[-1:].isalpha() else parse_number(text) / 1000.0


def _moment(text: str) -> str:
    return f"{parse_number(text) / 1000.0!r}" if text.isdigit() else text


_STATES = {"NEW": "PENDING", "SUBMITTED": "PENDING", "ABORTED": "CANCELLED"}
# Columns, and their names in Slurm's sacct, whose reader makes the trace; of two for one name the first that
# a line has counts. "": the number of the line, which makes each task an element of its job. `Element` and
# `Tasks` are ours, beside sacct's names.
_TABLE = (
    Column("status", "State", lambda status: _STATES.get(status, status)),
    Column("process", "JobID"), Column("name", "JobID", lambda name: name.partition(" (")[0]),
    Column("", "Element"), Column("submit", "Submit", _moment), Column("start", "Start", _moment),
    Column("complete", "End", _moment), Column("realtime", "ElapsedRaw", lambda text: f"{_seconds(text)!r}"),
    Column("cpus", "AllocCPUS"),
)  # fmt: skip


def _parse(row: dict[str, str]) -> list[dict[str, str]]:
    row = {name: value for name, value in row.items() if value not in ("-", "")}
    if row.get("status") == "CACHED":
        return []
    cells = cells_of(row, _TABLE)
    cells["JobName"] = cells["JobID"]
    if "Start" not in cells and {"duration", "realtime"} <= set(row):
        waited = _seconds(row["duration"]) - _seconds(row["realtime"])
        cells["Start"] = f"{parse_moment(cells['Submit']) + max(waited, 0.0)!r}"
    return [{"Start": "Unknown", **cells, "Tasks": "1"}]


def _read(file: File) -> Trace:
    return trace_of_cells(file, _parse, rows_of(file))


def _looks(head: Head) -> bool:
    cells = set(head.line.split("\t"))
    return "submit" in cells and bool(cells & {"realtime", "complete"})


FORMAT = Format("Nextflow trace", _looks, _read)
