"""The job log of GNU parallel (``parallel --joblog FILE``): a line for each command.

Format: https://www.gnu.org/software/parallel/man.html, option ``--joblog``.

Taken: Starttime and JobRuntime. All commands are single tasks of one malleable job, which came when the first
of them started. Left out: hosts, bytes, exit values.
"""

from __future__ import annotations

from malleable.files.numbers import parse_number
from malleable.traces.formats import File, Format
from malleable.traces.job_columns import Column, cells_of, rows_of, trace_of_cells
from malleable.traces.trace import Trace

_HEAD = ("Seq", "Host", "Starttime", "JobRuntime")
# Columns, and their names in Slurm's sacct, whose reader makes the trace; Element is a part of a job,
# which these logs do not have.
_TABLE = (
    Column("", "Element"), Column("Starttime", "Submit", str.strip), Column("Starttime", "Start", str.strip),
    Column("JobRuntime", "ElapsedRaw", str.strip),
)  # fmt: skip


def _parse(row: dict[str, str]) -> list[dict[str, str]]:
    cells = cells_of(row, _TABLE)
    parse_number(cells.get("Start", ""))
    return [{**cells, "JobID": "commands", "Tasks": "1"}]


def _read(file: File) -> Trace:
    return trace_of_cells(file, _parse, rows_of(file))


FORMAT = Format(
    "GNU parallel job log", lambda head: head.line.split("\t")[: len(_HEAD)] == list(_HEAD), _read
)
