"""Journals of version 1, converted: what they hold is kept, and what they lack is named.

Their runs did not record the tasks of jobs over files or lines, but looked at these again whenever somebody
asked. What was found then is not known any more: such a job has the tasks of which an attempt is there, and its
run cannot go on. All other jobs have the tasks that their tables say. Histories are learnt anew from the
attempts. O(attempts).
"""

from __future__ import annotations

import json
import re
import sqlite3
from array import array
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from malleable.domain import shown
from malleable.files.json import parse_json
from malleable.live.history import Took, learnt
from malleable.live.jobs_file import UNRECORDED, depends_on_files, parse_jobs, recorded
from malleable.live.recorded import SCHEMA, JobRow, packed

_KEPT = {
    "session": "id, run, began, at, pid",
    "attempt": "run, job, task, attempt, status, began, seconds, cpu, memory, how",
    "decision": "run, at, job, slots, why",
    "flying": "run, job, tasks, began, latest",
    "result": "run, job, task, digest, value",
}
_ARRAY = re.compile(r"\d+ ")  # a governed array's name begins with its number


def _kind(rows: Sequence[Any]) -> str:
    if all(isinstance(row, dict) and "calls" in row for row in rows):
        return "calls"
    governed = all(
        row.get("command") == ["true"] and _ARRAY.match(str(row.get("name"))) for row in rows
    )
    return "arrays" if governed else "commands"


def _of_commands(rows: Sequence[Any], folder: str, last: dict[int, int]) -> list[JobRow]:
    """Jobs whose tables describe all of their tasks; for other jobs, the tasks that were tried."""
    lost = {place for place, row in enumerate(rows) if depends_on_files(row)}
    known = [
        {**row, "command": ["true"], "over": ["?"] * (last.get(place, -1) + 1)}
        if place in lost
        else row
        for place, row in enumerate(rows)
    ]
    found = recorded(parse_jobs(known, folder), known)
    for place in lost:
        said = {"command": rows[place].get("command"), UNRECORDED: sorted(rows[place]["over"])}
        described = {**found[place].described, **said}
        found[place] = found[place]._replace(content=None, described=described)
    return found


def _jobs(kind: str, rows: Sequence[Any], folder: str, last: dict[int, int]) -> list[JobRow]:
    if kind == "commands":
        return _of_commands(rows, folder, last)
    found = []
    for place, row in enumerate(rows):
        tasks = row["calls"] if kind == "calls" else row["over"]["range"]
        settings = {
            key: value for key, value in row.items() if key not in ("calls", "command", "over")
        }
        found.append(JobRow(settings, max(int(tasks), last.get(place, -1) + 1)))
    return found


def _took(base: sqlite3.Connection, run: int, jobs: Sequence[JobRow]) -> list[Took]:
    seconds: dict[int, array[float]] = {}
    good = "select job, seconds from attempt where run = ? and status = 0 order by job, task"
    for job, took in base.execute(good, (run,)):
        seconds.setdefault(job, array("d")).append(took)
    return [
        Took(said.get("program") or said["name"], said.get("user", ""), seconds[place])
        for place, (said, *_) in enumerate(jobs)
        if place in seconds
    ]


def convert(base: sqlite3.Connection) -> None:
    """Within a transaction, which the caller ends.

    Raises
    ------
    ValueError
        Where the file has what no version 1 wrote, and what that is.
    """
    for table in ("run", *_KEPT):
        base.execute(f"alter table {table} rename to old_{table}")
    base.execute("drop index if exists decision_of")
    base.execute("drop table history")
    for statement in SCHEMA.split(";"):
        base.execute(statement)
    for table, columns in _KEPT.items():
        base.execute(f"insert into {table} ({columns}) select {columns} from old_{table}")
    history = None
    query = "select id, began, slots, objective, policy, folder, jobs, lasted, status from old_run order by id"
    for run, *begun, folder, described, lasted, status in base.execute(query).fetchall():
        try:
            rows = parse_json(described, "jobs") if isinstance(described, str) else None
            if not isinstance(rows, list):
                raise ValueError(f"jobs = {shown(described)}: expected a list")
            kind = _kind(rows)
            last = dict(
                base.execute(
                    "select job, max(task) from attempt where run = ? group by job", (run,)
                )
            )
            jobs = _jobs(kind, rows, folder, last)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise ValueError(f"table run of version 1, id {run}: {error}") from None
        base.execute(
            "insert into run (id, began, kind, slots, objective, policy, lasted, status)"
            " values (?, ?, ?, ?, ?, ?, ?, ?)",
            (run, begun[0], kind, *begun[1:], lasted, status),
        )
        base.executemany(
            "insert into job values (?, ?, ?, ?, ?)",
            [(run, k, job.tasks, json.dumps(job.described), packed(job.content))
             for k, job in enumerate(jobs)],
        )  # fmt: skip
        with suppress(
            ValueError, TypeError, OverflowError
        ):  # times that no run writes teach nothing
            history = learnt(history, _took(base, run, jobs)) or history
    if history is not None:
        base.execute("insert into history values (0, ?)", (json.dumps(history),))
    for table in ("run", *_KEPT):
        base.execute(f"drop table old_{table}")
