"""Tasks that did not end well: which ones, how they ended, and where to look; one as it happens (`Failure`), or
all of a run from its journal (`failures`)."""

from __future__ import annotations

import math
import os
import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from malleable.live.jobs_file import Job, described_jobs, never_begin, recalled
from malleable.live.journal import Attempt, Journal, JournalError, Run
from malleable.live.journal_rows import WORDS
from malleable.live.output import SUFFIXES, job_folder, open_stream, output_folder, stream_of
from malleable.live.packs import packed_stream
from malleable.live.shell_text import quoted

_LINES = 5  # of standard error
_END = 4096  # bytes at the end of a file in which they are searched
_OWN = "MALLEABLE_"  # variables that we set for each task begin so
_COMMANDS = "commands", "submitted"  # kinds of runs with files of output
_MISSING = "No such file or directory"


class Failure(NamedTuple):
    """A task that did not end well, or all tasks of a job that never will start.

    ``way`` is failed, timed out, lost, skipped or cancelled; ``what`` says more. ``task`` is its number from
    0; -1 for the ``tasks`` of a skipped job. ``command`` can be pasted into a shell. ``tries`` counts
    attempts, ``began`` is the start of the last one [s of the run]. ``output`` and ``errors`` are its
    streams; empty: none."""

    job: str
    task: int
    value: str
    command: str
    way: str
    what: str
    status: int
    seconds: float
    began: float = math.nan
    tries: int = 1
    tasks: int = 1
    output: str = ""
    errors: str = ""

    def last_lines(self, most: int = _LINES) -> list[str]:
        """The last lines of standard error, or of standard output if standard error is empty."""
        return _last_lines(self.errors, most) or _last_lines(self.output, most)


def _last_lines(path: str, most: int) -> list[str]:
    with suppress(OSError, ValueError):
        stream = open_stream(path) if path else None
        if stream is None:
            return []
        with stream as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _END))
            lines = file.read(_END).decode(errors="replace").rstrip().splitlines()
            whole = lines if size <= _END else lines[1:] or lines
            return whole[-most:]
    return []


def value_text(value: Any) -> str:
    """A value of a task as its author wrote it, or quoted for a shell if it is not UTF-8; empty: none."""
    if isinstance(value, Mapping):
        names = [name for name in value if not name.isdecimal()] or value
        return " ".join(f"{name}={value_text(value[name])}" for name in names)
    text = "" if value is None else str(value)
    return quoted(text) if any("\ud800" <= c <= "\udfff" for c in text) else text


def _command(job: Job, number: int, attempt: int) -> str:
    # A shell command that runs the task again by hand.
    line = job.shown(number)
    variables = dict(job.environment)
    if _OWN in line:
        own = job.name, number, attempt, 0
        names = ("JOB", "NUMBER", "ATTEMPT", "SLOT")
        variables |= {_OWN + name: str(each) for name, each in zip(names, own, strict=True)}
    words = [f"{name}={quoted(value)}" for name, value in variables.items()]
    if job.is_shell:
        before = f"export {' '.join(words)}; " if words else ""
        line = f"({before}{line})"
    else:
        line = " ".join([*words, line])
    return f"cd {quoted(job.folder)} && {line}" if job.folder else line


def _signal(number: int) -> str:
    with suppress(ValueError):
        return f"signal {number} ({signal.Signals(number).name})"
    return f"signal {number}"


def _what(how: str, status: int, seconds: float, why: str, timeout: float) -> str:
    # How an attempt ended, in words; ``how`` and ``why`` are the journal's.
    if how == "late":
        return f"it ran longer than {timeout:g} s" if timeout else f"it ran for {seconds:.3g} s"
    if how == "refused":
        program, _, text = why.rpartition(": ")
        missing = text == _MISSING and program and "/" not in program
        return f"command not found: {program}" if missing else f"could not be started: {why}"
    if how in ("lost", "cancelled"):
        return why or ("how it ended is unknown" if how == "lost" else "its job was cancelled")
    if status < 0:
        return _signal(-status)
    more = {126: " (cannot be run)", 127: " (command not found)"}.get(status, "")
    if 128 < status <= 128 + 64:
        with suppress(ValueError):
            more = f" (a shell's word for {signal.Signals(status - 128).name})"
    return f"exit status {status}{more}"


def failure(job: Job, last: Attempt, tries: int, folder: str) -> Failure:
    """The failure of a task whose last attempt this is; ``folder`` has the job's output; empty: none."""
    own = job.command or job.commands  # otherwise it is a call, or a task of a queue
    streams = []
    for suffix in SUFFIXES:
        path = stream_of(folder, last.task, last.attempt, suffix) if folder else ""
        packed = path and packed_stream(folder, last.task, last.attempt, suffix)
        streams.append(path if packed or os.path.lexists(path) else "")
    return Failure(
        job.name,
        last.task,
        value_text(job.values[last.task]) if job.command else "",
        _command(job, last.task, last.attempt) if own else "",
        WORDS.get(last.how, "failed"),
        _what(last.how, last.status or 0, last.seconds, last.why, job.timeout) if own else last.why,
        last.status or 0,
        last.seconds,
        last.began,
        tries,
        1,
        *streams,
    )


def skipped(job: Job, tasks: int, parents: Sequence[str]) -> Failure:
    """Tasks of a job that never start because ``parents`` failed; without any, it was cancelled."""
    told = f"not started because {', '.join(parents[:3])} failed"
    way, told = ("skipped", told) if parents else ("cancelled", "never started")
    return Failure(job.name, -1, "", "", way, told, 0, 0.0, tries=0, tasks=tasks)


def recalled_jobs(journal: Journal, run: Run) -> list[Job]:
    """Jobs of a run of commands, with what their tasks are. JournalError for a run of another kind."""
    if run.kind not in _COMMANDS:
        raise JournalError(f"{journal.path}: run {run.id} has {run.kind}, and no commands")
    return recalled(journal.jobs(run.id, content=True))


def failures(journal: Journal, run: Run) -> Iterator[Failure]:
    """All failures of a run so far, by job and task, then skipped jobs. O(attempts)."""
    with journal.one_state():
        commands = run.kind in _COMMANDS
        jobs = recalled_jobs(journal, run) if commands else described_jobs(journal.jobs(run.id))
        base = output_folder(journal.path, run)
        bad: set[int] = set()
        over: Counter[int] = Counter()
        for tried in journal.tried(run.id):
            row = tried.last.job
            job = jobs[row]
            if not tried.over(job.retries):
                continue
            over[row] += 1
            if not tried.good:
                bad.add(row)
                folder = str(base / job_folder(row, job.name)) if base else ""
                yield failure(job, tried.last, tried.made, folder)
    for row, parents in never_begin(jobs, bad).items():
        if never := len(jobs[row]) - over[row]:
            yield skipped(jobs[row], never, parents)
