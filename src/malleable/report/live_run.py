"""The facts of a run of commands or calls, from its journal (the file that records it): slots by job over time,
failures, and waits of jobs. The page shows them."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from malleable import _core
from malleable.display import counted
from malleable.live.failures import failures
from malleable.live.jobs_file import Job, described_jobs
from malleable.live.journal import Attempt, Journal, RunningTasks
from malleable.live.status import RunStatus, run_status
from malleable.report.facts import ramp
from malleable.report.study import checksums
from malleable.view.text import duration, fields_of, plain

WINDOWS = 120  # of time, in the chart
# Jobs that are drawn by themselves; all others are one more.
LAYERS = 7
_FAILURES = 100  # most failures that are listed
_OF_FAILURE = ("job", "task", "way", "what", "value", "command", "tasks", "tries")
_OF_JOB = (
    *("tasks", "done", "failed", "left", "retried", "backup_tasks", "backups_won"),
    *("wasted_slot_seconds", "ended", "risk"),
)
_STATES = {
    "done": "is done",
    "running": "goes on",
    "stopped": "was stopped",
    "killed": "was killed",
}
_MAGIC = b"SQLite format 3\0"  # a journal begins so


def is_journal(path: str | Path) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


class _Run(NamedTuple):
    """A run as its journal has it; ``comes``: when each job came [s of the run]."""

    status: RunStatus
    jobs: list[Job]
    attempts: list[Attempt]
    running: dict[int, RunningTasks]
    comes: list[float]


def run_facts(path: str, number: int | None, command: str) -> dict[str, Any]:
    """The facts of a run, by default the last one of the journal; ``command`` is what the page says made it.
    JournalError or ValueError: not a journal, or no such run."""
    with Journal(path, write=False) as journal, journal.one_state():
        row = journal.run(number)
        status = run_status(journal, row.id)
        jobs = described_jobs(journal.jobs(row.id, content=True))
        attempts = list(journal.attempts(row.id))
        comes = [0.0] * len(jobs)
        if row.kind != "commands":
            seen = [(each.job, each.began) for each in attempts]
            seen += [(each.job, each.at) for each in journal.decisions(row.id)]
            first = dict(sorted(seen, reverse=True))  # of equal jobs the last counts: the earliest
            comes = [max(0.0, first.get(k, 0.0)) for k in range(len(jobs))]
        running = journal.running_tasks(row.id) if journal.goes_on(row.id) else {}
        failed = list(islice(failures(journal, row), _FAILURES))
    run = _Run(status, jobs, attempts, running, comes)
    own = {
        **fields_of(status, "number", "status", "slots"),
        **fields_of(row, "began", "policy", "objective"),
        "lasted": status.now,
        "jobs": _jobs(run),
        "over_time": _over_time(run),
        "failures": [
            fields_of(each, *_OF_FAILURE) | {"last_line": " ".join(each.last_lines(1))}
            for each in failed
        ],
    }
    told: dict[str, Any] = {
        "kind": "run",
        "title": f"run {status.number} of {Path(path).name}",
        "verdict": [_verdict(status)],
        "warnings": [],
        "skipped": [],
        "files": checksums(path),
        "version": _core.__version__,
        "command": command,
        "complete": True,
        "run": own,
    }
    return {name: plain(value) for name, value in told.items()}


def _jobs(run: _Run) -> list[dict[str, Any]]:
    place = {job.name: k for k, job in enumerate(run.jobs)}
    attempts: list[list[Attempt]] = [[] for _ in run.jobs]
    for each in run.attempts:
        attempts[each.job].append(each)
    found = []
    for k, (job, status, own) in enumerate(zip(run.jobs, run.status.jobs, attempts, strict=True)):
        began = min((each.began for each in own), default=None)
        after = [place[name] for name in job.after if name in place]
        found.append(
            {
                **fields_of(job, "name", "user", "deadline"),
                **fields_of(status, *_OF_JOB),
                "comes": run.comes[k],
                "began": began,
                "wait": None if began is None else max(0.0, began - run.comes[k]),
                "waited_for": _waited_for(run, k, after, began),
                "busy": sum((each.seconds for each in own), 0.0),
                "memory": max((each.memory for each in own), default=0.0) or None,  # 0: unknown
            }
        )
    return found


def _waited_for(run: _Run, job: int, after: list[int], began: float | None) -> list[dict[str, Any]]:
    # Parts of a job's wait for its first task: for the jobs that it is after, then for slots of others.
    comes = run.comes[job]
    until = run.status.now if began is None else began
    if until <= comes:
        return []
    ready = comes
    parents = [(run.status.jobs[k].ended, k) for k in after]
    found: list[dict[str, Any]] = []
    if parents:
        last, k = max((until if math.isnan(end) else end, k) for end, k in parents)
        ready = min(until, max(comes, last))
        found = [{"what": f"the end of {run.jobs[k].name}", "seconds": ready - comes}]
    if until > ready:
        found.append({"what": _held_by(run, job, ready, until), "seconds": until - ready})
    return [part for part in found if part["seconds"] > 0.0]


def _held_by(run: _Run, job: int, since: float, until: float) -> str:
    # Which jobs held the slots meanwhile, in words.
    held: defaultdict[str, float] = defaultdict(float)
    for each in run.attempts:
        inside = min(until, each.end) - max(since, each.began)
        if inside > 0.0 and each.job != job:
            held[run.jobs[each.job].name] += inside
    names = heapq.nlargest(2, held, key=held.__getitem__)
    more = f" and {counted(len(held) - 2, 'other')}" if len(held) > 2 else ""
    return f"slots that {', '.join(names)}{more} had" if names else "the start of its first task"


def _over_time(run: _Run) -> dict[str, Any]:
    last = max([run.status.now, *(each.end for each in run.attempts)], default=0.0)
    if not last > 0.0 or not (run.attempts or run.running):
        return {"time": [], "slots": []}
    edges = np.linspace(0.0, last, WINDOWS + 1)
    rows = [(each.job, each.began, each.end, 1.0) for each in run.attempts]
    running = run.running.items()
    rows += [(job, own.began, run.status.now, float(own.tasks)) for job, own in running]
    job, begin, end, width = map(np.array, zip(*rows, strict=True))
    order = np.argsort(-np.bincount(job, (end - begin) * width, len(run.jobs)), kind="stable")
    order = order[np.isin(order, job)]
    rest = np.sort(order[LAYERS:])
    layers = [([k], run.jobs[k].name) for k in order[:LAYERS].tolist()]
    layers += [(rest.tolist(), counted(len(rest), "other job"))] if len(rest) else []
    found = []
    for chosen in (np.isin(job, own) for own, _ in layers):
        whole = ramp(begin[chosen], width[chosen], edges) - ramp(end[chosen], width[chosen], edges)
        found.append(np.maximum(np.diff(whole) / (edges[1] - edges[0]), 0.0))
    # Running tasks may still wait for a slot, and the run notices ends a little later.
    most = float(run.status.slots)
    part = most / np.maximum(sum(found), most)
    named = zip(layers, found, strict=True)
    slots = [{"name": name, "values": (means * part).tolist()} for (_, name), means in named]
    return {"time": edges.tolist(), "slots": slots}


def _verdict(status: RunStatus) -> str:
    jobs = status.jobs
    tasks, done, failed = (
        sum(getattr(job, name) for job in jobs) for name in ("tasks", "done", "failed")
    )
    late = sum(job.risk in ("missed", "late") for job in jobs)
    due = sum(math.isfinite(job.deadline) for job in jobs)
    where = f"in {duration(status.now)} on {counted(status.slots, 'slot')}"
    text = (
        f"The run {_STATES[status.status]}: {done:,} of {counted(tasks, 'task')} ended well {where}"
    )
    text += f", {failed:,} did not" if failed else ""
    if due:
        missed = f"{late:,} of {counted(due, 'deadline')}" if late else "no deadline"
        text += f". {missed[0].upper()}{missed[1:]} {'was' if late < 2 else 'were'} missed"
    return text + "."
