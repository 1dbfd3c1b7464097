"""The job log of GNU parallel (``parallel --joblog FILE``): a line for each command.

Format: https://www.gnu.org/software/parallel/man.html, option ``--joblog``.

Taken: Starttime and JobRuntime. All commands are single tasks of one malleable job, which came when the first
of them started. Left out: hosts, bytes, exit values.
"""

from __future__ import annotations

from malleable.files.numbers import parse_number
from malleable.traces.formats import File, register
from malleable.traces.job_columns import Column, cells_of, trace_of_cells
from malleable.traces.trace import Trace

_HEAD = ("Seq", "Host", "Starttime", "JobRuntime")
_TABLE = (
    Column("Seq", "Element"), Column("Starttime", "Submit", str.strip), Column("Starttime", "Start", str.strip),
    Column("JobRuntime", "ElapsedRaw", str.strip),
)  # fmt: skip


def _parse(line: str) -> list[dict[str, str]]:
    values = line.split("\t")
    if len(values) < len(_HEAD):
        raise ValueError(f"{len(values)} cells, expected at least {len(_HEAD)}")
    cells = cells_of(dict(zip(_HEAD, values, strict=False)), _TABLE)
    parse_number(cells["Start"])
    return [{**cells, "JobID": "commands", "Tasks": "1"}]


def _read(file: File) -> Trace:
    lines = file.lines()
    next(lines)
    return trace_of_cells(file, _parse, lines)


register(
    "GNU parallel job log", lambda head: head.line.split("\t")[: len(_HEAD)] == list(_HEAD), _read
)
