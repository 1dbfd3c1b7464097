"""The facts of a run of commands or calls, from its journal (the file that records it): slots by job over time,
failures, and waits of jobs. The page shows them."""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from malleable import _core
from malleable.display import counted
from malleable.live.failures import failures
from malleable.live.jobs_file import Job, described_jobs
from malleable.live.journal import Attempt, Decided, Journal, RunningTasks
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
_MAGIC = b"SQLite format 3\0"  # a journal begins so


def is_journal(path: str | Path) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


class _Run(NamedTuple):
    """A run as its journal has it; ``comes``: when each job came [s of the run]; ``after``: rows of the jobs
    that it waits for."""

    status: RunStatus
    kind: str
    policy: str
    objective: str
    began: str
    jobs: list[Job]
    attempts: list[Attempt]
    decisions: list[Decided]
    failures: list[Any]
    comes: list[float]
    after: list[list[int]]
    running: dict[int, RunningTasks]


def run_facts(path: str, number: int | None, command: str) -> dict[str, Any]:
    """The facts of a run, by default the last one of the journal; ``command`` is what the page says made it.
    JournalError or ValueError: not a journal, or no such run."""
    run = _read(path, number)
    title = f"run {run.status.number} of {Path(path).name}"
    told: dict[str, Any] = plain(
        {
            "kind": "run",
            "title": title,
            "verdict": [_verdict(run)],
            "warnings": [],
            "skipped": [],
            "files": checksums(path),
            "version": _core.__version__,
            "command": command,
            "complete": True,
            "run": _own(run),
        }
    )
    return told


def _read(path: str, number: int | None) -> _Run:
    with Journal(path, write=False) as journal, journal.one_state():
        row = journal.run(number)
        status = run_status(journal, row.id)
        rows = journal.jobs(row.id, content=True)
        jobs = described_jobs(rows)
        attempts = list(journal.attempts(row.id))
        decisions = list(journal.decisions(row.id))
        running = journal.running_tasks(row.id) if journal.goes_on(row.id) else {}
        failed = list(islice(failures(journal, row), _FAILURES))
    place = {job.name: k for k, job in enumerate(jobs)}
    after = [[place[name] for name in job.after if name in place] for job in jobs]
    comes = [0.0] * len(jobs)
    if row.kind != "commands":
        first = [math.inf] * len(jobs)
        for job, at in [
            *((one.job, one.began) for one in attempts),
            *((one.job, one.at) for one in decisions),
        ]:
            first[job] = min(first[job], at)
        comes = [max(0.0, at) if math.isfinite(at) else 0.0 for at in first]
    how = row.kind, row.policy, row.objective, row.began
    return _Run(status, *how, jobs, attempts, decisions, failed, comes, after, running)


def _own(run: _Run) -> dict[str, Any]:
    told = run.status
    return {
        **fields_of(told, "number", "status", "slots"),
        **fields_of(run, "began", "policy", "objective"),
        "lasted": told.now,
        "jobs": _jobs(run),
        "over_time": _over_time(run),
        "failures": [
            fields_of(each, *_OF_FAILURE) | {"last_line": " ".join(each.last_lines(1))}
            for each in run.failures
        ],
    }


def _jobs(run: _Run) -> list[dict[str, Any]]:
    memory: dict[int, float] = {}
    busy: Counter[int] = Counter()
    first: dict[int, float] = {}
    for each in run.attempts:
        memory[each.job] = max(memory.get(each.job, 0.0), each.memory)
        busy[each.job] += each.seconds  # type: ignore[assignment]
        first[each.job] = min(first.get(each.job, math.inf), each.began)
    found = []
    for k, (job, own) in enumerate(zip(run.jobs, run.status.jobs, strict=True)):
        began = first.get(k)
        found.append(
            {
                **fields_of(job, "name", "user", "deadline"),
                **fields_of(own, *_OF_JOB),
                "comes": run.comes[k],
                "began": began,
                "wait": None if began is None else max(0.0, began - run.comes[k]),
                "waited_for": _waited_for(run, k, began),
                "busy": float(busy[k]),
                "memory": memory.get(k) or None,  # 0: unknown
            }
        )
    return found


def _waited_for(run: _Run, job: int, began: float | None) -> list[dict[str, Any]]:
    # Parts of a job's wait for its first task: for the jobs that it is after, then for slots of others.
    comes = run.comes[job]
    until = run.status.now if began is None else began
    if until <= comes:
        return []
    ready = comes
    parents = [(run.status.jobs[k].ended, k) for k in run.after[job]]
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
        inside = min(until, each.began + each.seconds) - max(since, each.began)
        if inside > 0.0 and each.job != job:
            held[run.jobs[each.job].name] += inside
    names = heapq.nlargest(2, held, key=held.__getitem__)
    more = f" and {counted(len(held) - 2, 'other')}" if len(held) > 2 else ""
    return f"slots that {', '.join(names)}{more} had" if names else "the start of its first task"


def _over_time(run: _Run) -> dict[str, Any]:
    last = max([run.status.now, *(each.began + each.seconds for each in run.attempts)], default=0.0)
    if not last > 0.0 or not (run.attempts or run.running):
        return {"time": [], "slots": []}
    edges = np.linspace(0.0, last, WINDOWS + 1)
    rows = [(each.job, each.began, each.began + each.seconds, 1.0) for each in run.attempts]
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


def _verdict(run: _Run) -> str:
    told = run.status
    tasks, done = (sum(getattr(job, name) for job in told.jobs) for name in ("tasks", "done"))
    failed = sum(job.failed for job in told.jobs)
    late = sum(job.risk in ("missed", "late") for job in told.jobs)
    due = sum(math.isfinite(job.deadline) for job in told.jobs)
    state = {
        "done": "is done",
        "running": "goes on",
        "stopped": "was stopped",
        "killed": "was killed",
    }[told.status]
    where = f"in {duration(told.now)} on {counted(told.slots, 'slot')}"
    text = f"The run {state}: {done:,} of {counted(tasks, 'task')} ended well {where}"
    text += f", {failed:,} did not" if failed else ""
    if due:
        missed = f"{late:,} of {counted(due, 'deadline')}" if late else "no deadline"
        text += f". {missed[0].upper()}{missed[1:]} {'was' if late < 2 else 'were'} missed"
    return text + "."
