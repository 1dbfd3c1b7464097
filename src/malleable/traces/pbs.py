"""Accounting logs of PBS and Torque: a line ``date time;type;job;key=value ...`` for each event.

Format: https://2021.help.altair.com/2021.1/PBSProfessional/PBSAdminGuide2021.1.pdf, section "Accounting".

Taken: what a job's record of its end (type E) says, or of its start (S) while it runs: ctime, start, end,
resources_used.walltime, Resource_List.walltime (requested), user, jobname, queue, account, and slots:
total_execution_slots, Resource_List.ncpus, or nodes x ppn. Jobs are rigid; elements of an array (``12[3]``) are
parts of one job. Left out: other types of records, memory, GPUs.
"""

from __future__ import annotations

import re

from malleable.traces.formats import File, Format
from malleable.traces.job_columns import Column, cells_of, trace_of_cells
from malleable.traces.trace import Trace

_LINE = re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;(\w);([^;]*);(.*)", re.ASCII)
_PAIR = re.compile(r"([\w.]+)=(.*?)(?= [\w.]+=|$)")


def _nodes(text: str) -> str:
    # Slots of ``2:ppn=8+1:ppn=4``.
    parts = [re.match(r"(\d+)?[^:+]*(?:.*?:ppn=(\d+))?", part) for part in text.split("+")]
    return f"{sum(int(found[1] or 1) * int(found[2] or 1) for found in parts if found)}"


# PBS's columns, and their names in Slurm's sacct, whose reader makes the trace. _parse adds two of our own:
# Element, the whole ID, and Tasks, how many tasks of the job may start one by one.
_TABLE = (
    Column("ctime", "Submit"), Column("start", "Start"), Column("end", "End"),
    Column("resources_used.walltime", "Elapsed"), Column("Resource_List.walltime", "Timelimit"),
    Column("user", "User"), Column("jobname", "JobName"), Column("queue", "Partition"),
    Column("account", "Account"), Column("total_execution_slots", "AllocCPUS"),
    Column("Resource_List.ncpus", "AllocCPUS"), Column("Resource_List.nodes", "AllocCPUS", _nodes),
)  # fmt: skip


def _parse(line: str) -> list[dict[str, str]]:
    found = _LINE.fullmatch(line)
    if not found:
        raise ValueError("not a record such as 05/01/2024 10:00:00;E;1.host;user=ann ...")
    kind, job, rest = found.groups()
    if kind not in "ES" or "[]" in job:  # an array as a whole
        return []
    cells = cells_of({key: value.strip('"') for key, value in _PAIR.findall(rest)}, _TABLE)
    whole, _, element = job.partition("[")
    part = {"Tasks": "1"} if element[:1].isdigit() else {}
    return [{"End": "Unknown", **cells, "JobID": whole, "Element": job, **part}]


def _read(file: File) -> Trace:
    return trace_of_cells(file, _parse, None)


FORMAT = Format("PBS accounting log", lambda head: bool(_LINE.match(head.line)), _read)
