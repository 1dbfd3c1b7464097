"""The slots on which tasks ran: numbers from the trace of a simulation (a row for each start and end of a
task), for records in the format of Batsim, a simulator of batch systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable.arrays import Integers
from malleable.records import job_records

TASK_COLUMNS = ("job", "phase", "task", "node")
_START, _END, _BACKUP = 0, 1, 5  # kinds of rows of a trace


def interval_text(slots: Integers) -> str:
    # Sorted numbers as Batsim writes them: ``0-3 7``.
    if not len(slots):
        return ""
    breaks = np.flatnonzero(np.diff(slots) > 1) + 1
    firsts = slots[np.concatenate([[0], breaks])].tolist()
    lasts = slots[np.concatenate([breaks - 1, [len(slots) - 1]])].tolist()
    return " ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in zip(firsts, lasts, strict=True))


def job_slots(trace: Mapping[str, npt.NDArray[Any]], rows: npt.NDArray[Any]) -> list[str]:
    # All slots that each of these jobs ever held.
    most = int(trace["slot"].max(initial=0)) + 1
    held = trace["slot"] >= 0
    pairs = np.unique(trace["job"][held] * most + trace["slot"][held])
    job, slot = pairs // most, pairs % most
    first = np.searchsorted(job, rows, side="left").tolist()
    last = np.searchsorted(job, rows, side="right").tolist()
    return [interval_text(slot[a:b]) for a, b in zip(first, last, strict=True)]


def task_records(
    trace: Mapping[str, npt.NDArray[Any]], policy: str, arrival: npt.NDArray[Any]
) -> dict[str, npt.NDArray[Any]]:
    """One row for each attempt that ended, in the order of the starts, with the columns of jobs (every task
    is a job of one slot); ``name`` is ``job/phase/task``, and `TASK_COLUMNS` come after. ``success`` is 0 for
    attempts that failed, were killed or were not needed."""
    held = np.flatnonzero(trace["slot"] >= 0)
    keys = [trace[name][held] for name in ("slot", "task", "phase", "job")]
    order = held[np.lexsort((held, *keys))]
    starts = np.isin(trace["kind"][order], (_START, _BACKUP))
    # Attempts on a slot do not overlap: the next event after a start is its end, if it ended.
    closed = starts[:-1] & ~starts[1:]
    begin, end = order[:-1][closed], order[1:][closed]
    turn = np.argsort(begin, kind="stable")
    begin, end = begin[turn], end[turn]
    job, phase, task, node = (trace[name][begin] for name in TASK_COLUMNS)
    start, finish = trace["time"][begin], trace["time"][end]
    word = np.where(phase == 1, "reduce", "map")
    names = ["/".join(map(str, own)) for own in zip(job, word, task, strict=True)]
    times = arrival[job], start, finish, finish
    told = np.arange(len(begin)), names, times, finish - start
    ran = {"held": trace["slot"][begin].astype(str), "success": trace["kind"][end] == _END}
    records = job_records("cluster", policy, *told, requested_time=-1.0, **ran)
    own = (job, word, task, node)
    return records | dict(zip(TASK_COLUMNS, own, strict=True))
