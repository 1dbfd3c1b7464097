"""Applications of YARN: what its REST interface answers at ``/ws/v1/cluster/apps``.

Format: https://hadoop.apache.org/docs/stable/hadoop-yarn/hadoop-yarn-site/ResourceManagerRest.html.

Taken: id, user, name, queue, state, startedTime (submission), launchTime, finishedTime, vcoreSeconds. An
application is a malleable job whose work is its vcoreSeconds, in as many equal tasks as it had slots on
average, rounded up, all begun at its launch. Left out: memory, containers, attempts.
"""

from __future__ import annotations

import math
from typing import Any

from malleable.files.json import amount_of
from malleable.traces.formats import File, Format, Head
from malleable.traces.job_columns import Column, cells_of, of_ms, trace_of_cells
from malleable.traces.trace import Trace

_STATES = {"FINISHED": "COMPLETED", "KILLED": "CANCELLED", "FAILED": "FAILED", "RUNNING": "RUNNING"}
# Fields, and their names in Slurm's sacct, whose reader makes the trace. The first field that an application
# has counts: it starts at its launchTime, or else at its startedTime.
_TABLE = (
    Column("id", "JobID"), Column("user", "User"), Column("name", "JobName"), Column("queue", "Partition"),
    Column("state", "State", lambda state: _STATES.get(f"{state}", "PENDING")),
    Column("startedTime", "Submit", of_ms), Column("launchTime", "Start", of_ms),
    Column("startedTime", "Start", of_ms), Column("finishedTime", "End", of_ms),
)  # fmt: skip


def _parse(app: Any) -> list[dict[str, str]]:
    if not isinstance(app, dict) or "id" not in app:
        raise ValueError("not an application of YARN")
    cells = cells_of(app, _TABLE)
    ended = amount_of(app.get("finishedTime", 0), "finishedTime") / 1000.0
    begun = 0.0 if cells.get("Start", "Unknown") == "Unknown" else float(cells["Start"])
    work = amount_of(max(app.get("vcoreSeconds", 0), 0), "vcoreSeconds")
    tasks = max(1, math.ceil(work / (ended - begun))) if ended > begun else 1
    return [{**cells, "ElapsedRaw": f"{work / tasks!r}", "Tasks": f"{tasks}"}]


def _read(file: File) -> Trace:
    data = file.json()
    apps = (data.get("apps") or {}).get("app", []) if "apps" in data else [data.get("app")]
    if not isinstance(apps, list):
        raise ValueError("no list of applications in it")
    return trace_of_cells(file, _parse, enumerate(apps, 1), "application")


def _looks(head: Head) -> bool:
    return head.is_object and '"app' in head.text[:20]


FORMAT = Format("YARN applications", _looks, _read)
