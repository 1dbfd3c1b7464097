"""Live runs for people, as tables and lines of text: how far jobs are, when they are expected to end, and what
failed."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from malleable.live.failures import Failure
from malleable.live.jobs_file import Job
from malleable.live.journal_rows import ExpectedEnd
from malleable.live.ledger import Ledger
from malleable.live.shell_text import quoted
from malleable.live.status import JobStatus, RunStatus
from malleable.view.text import (
    Column,
    Table,
    columns_table,
    counted,
    duration,
    lasting,
    number,
    plain,
    printable,
)

# Head of the column of tasks that did not end well.
NOT_DONE = "not done"


# Head of the column of backup tasks.
BACKUPS = "backups won"


def backups_text(job: JobStatus) -> str:
    """Backup tasks that ended first, of all; empty: there was none."""
    return _share(job.backups_won, job.backup_tasks) if job.backup_tasks else ""


def time_text(seconds: float) -> str:
    below = 0.0 < seconds < 1.0
    return number(round(seconds, 1 - math.floor(math.log10(seconds)) if below else 1))


def end_text(end: float, early: float, late: float) -> str:
    # An expected end with its bounds, with as many digits as they allow.
    if math.isnan(end):
        return "?"
    wide = math.isfinite(late - early) and late > early
    if not wide:
        return time_text(end)
    digits = max(0, -math.floor(math.log10((late - early) / 2.0)))
    at, first, last = (number(round(value, min(digits, 3))) for value in (end, early, late))
    return at if first == last else f"{at} ({first} to {last})"


def _expected(end: ExpectedEnd) -> str:
    return (
        f"expected end {end_text(end.at, end.early, end.late)}{'' if math.isnan(end.at) else ' s'}"
    )


def task_text(seconds: float, spread: float) -> str:
    # Mean seconds of a task, and their standard error if it is not 0.
    if not seconds:
        return "?"
    digits = min(max(0, 1 - math.floor(math.log10(spread or seconds))), 6)
    known = (seconds, spread) if spread else (seconds,)
    return " ± ".join(number(round(value, digits)) for value in known)


def _deadline(job: JobStatus | Job) -> str:
    return number(job.deadline) if math.isfinite(job.deadline) else ""


def _has_end(job: JobStatus) -> bool:
    return job.left > 0 or not math.isnan(job.ended)


def _share(count: int, of: int) -> str:
    return f"{count:,} of {of:,}" if count or of else ""


def _task(job: JobStatus) -> str:
    known = bool(job.done or job.left)
    return task_text(job.seconds, job.spread if job.left else 0.0) if known else ""


_COLUMNS: list[Column] = [
    ("job", lambda job: job.name),
    ("user", lambda job: job.user),
    ("why", lambda job: job.why),
    (NOT_DONE, lambda job: ways_text([job])),
    ("running", lambda job: _share(job.running, max(job.slots, job.running))),
    ("done", lambda job: f"{job.done:,} of {job.tasks:,}"),
    ("retried", lambda job: f"{job.retried:,}" if job.retried else ""),
    (BACKUPS, backups_text),
    ("task [s]", _task),
    ("end [s]", lambda job: end_text(job.end, job.early, job.late) if _has_end(job) else ""),
    ("deadline [s]", lambda job: _deadline(job) + (f", {job.risk}" if job.risk else "")),
]
# Columns that a narrow terminal leaves out.
_SPARE = ("why", "user", "retried", BACKUPS, "task [s]")


def _style(head: str, job: JobStatus) -> str:
    if head:
        return "red" if head == NOT_DONE or (head == "deadline [s]" and job.risk) else ""
    waits = job.left and not job.running and math.isnan(job.began)
    return "dim" if waits else ""


def _urgency(job: JobStatus) -> tuple[bool, bool, float]:
    return job.left == 0, job.running + job.slots == 0, job.end if job.end == job.end else math.inf


def status_table(status: RunStatus, most: int | None = None) -> Table:
    """A row a job, in the order of the file; of more than ``most``, jobs that run or end come first."""
    jobs: Sequence[JobStatus] = status.jobs
    more = ""
    if most is not None and len(jobs) > most:
        jobs = sorted(jobs, key=_urgency)[:most]
        more = f"; {counted(len(status.jobs) - most, 'job')} not shown"
    end = status.end
    last = f", {_expected(end)}" if any(job.left for job in status.jobs) else ""
    on = f" on {counted(status.slots, 'slot')}" if status.slots else ""
    words = [job.risk for job in status.jobs]
    missed = words.count("missed")
    risks = len(words) - words.count("") - missed
    risky = f", {counted(missed, 'deadline')} missed" if missed else ""
    risky += f", {counted(risks, 'deadline')} at risk" if risks else ""
    title = f"run {status.number}, {status.status}: {duration(status.now)}{on}{last}{risky}{more}"
    return columns_table(title, jobs, _COLUMNS, 4, _SPARE, _style)


def status_json(status: RunStatus) -> dict[str, Any]:
    return {
        "run": status.number,
        "status": status.status,
        "seconds": status.now,
        "slots": status.slots,
        "rule": status.rule,
        **plain({"end": status.end.at, "early": status.end.early, "late": status.end.late}),
        "jobs": [{**_plain_job(job), "risk": job.risk} for job in status.jobs],
    }


def _plain_job(job: JobStatus) -> dict[str, Any]:
    found = {**plain(job), "tasks": job.tasks, "cancelled": job.cancelled}
    del found["now"]
    return found


def plan_table(
    jobs: Sequence[Job], expected: Sequence[ExpectedEnd], end: ExpectedEnd, slots: int
) -> Table:
    unknown = sum(math.isnan(own.at) for own in expected)
    without = f"; what tasks take is not known of {counted(unknown, 'job')}" if unknown else ""
    title = f"{counted(len(jobs), 'job')} on {counted(slots, 'slot')}: {_expected(end)}{without}"
    columns: list[Column] = [
        ("job", lambda row: jobs[row].name),
        ("first command", lambda row: jobs[row].shown(0) if len(jobs[row]) else ""),
        ("tasks", lambda row: f"{len(jobs[row]):,}"),
        ("task [s]", lambda row: task_text(expected[row].seconds, 0.0)),
        ("end [s]", lambda row: end_text(*expected[row][1:4])),
        ("deadline [s]", lambda row: _deadline(jobs[row])),
    ]
    return columns_table(title, range(len(jobs)), columns, left=2)


def line_text(progress: Ledger, rate: float, width: float = math.inf) -> str:
    """A run in a line: per cent, counts, tasks that end a second, and the time that is left. The least
    important parts are left out to fit into ``width``."""
    jobs, end = progress.jobs, progress.last_end
    done, total = sum(job.done for job in jobs), sum(job.tasks for job in jobs)
    over = done + sum(job.failed for job in jobs)
    again = sum(job.sums.retried for job in jobs)
    paused = sum(job.paused for job in jobs)
    parts = {
        "share": f"{100 * over // total if total else 100} %",
        "done": f"{done:,} of {total:,} done",
        "ways": ways_text(jobs),
        "retried": f"{again:,} retried" if again else "",
        "running": f"{progress.running:,} running",
        "rate": _rate_text(rate),
        "paused": f"{paused} paused" if paused else "",
    }
    if over < total:
        parts["left"] = f"{lasting(end.at - progress.now)} left"
        parts["spread"] = _left_between(end.early - progress.now, end.late - progress.now)
    for less in ("", "retried", "rate", "spread", "running"):
        parts.pop(less, None)
        spread = parts.get("spread", "")
        text = ", ".join(text for key, text in parts.items() if text and key != "spread") + spread
        if len(text) <= width:
            break
    return text


def _rate_text(rate: float) -> str:
    return f"{rate:.3g}/s" if rate >= 1.0 else f"{60 * rate:.2g}/min" if rate else ""


def _left_between(early: float, late: float) -> str:
    first, last = lasting(early), lasting(late)
    amount, _, unit = first.partition(" ")
    if first == last:
        return ""
    return f" ({amount if last.partition(' ')[2] == unit else first} to {last})"


def bar(share: float, width: int, plain: bool) -> str:
    # A progress bar of so many columns; ``plain``: of ASCII characters.
    full = int(share * width)
    return ("#" * full).ljust(width, ".") if plain else "\u2588" * full + "\u2591" * (width - full)


def plan_json(jobs: Sequence[Job], expected: Sequence[ExpectedEnd]) -> list[dict[str, Any]]:
    return [
        {
            **{"name": job.name, "tasks": len(job), "seconds": own.seconds or None},
            **plain({"end": own.at, "early": own.early, "late": own.late}),
        }
        for job, own in zip(jobs, expected, strict=True)
    ]


_JOURNAL = ".malleable/journal.sqlite"  # the default journal
# parts of a command that change the shell that runs it
_CHANGES = re.compile(
    r"\b(exit|exec|cd|set|shift|trap|umask|ulimit|export|unset|return|read)\b|(^|[\s;&|(])\w+="
)
_NUMBERS = re.compile(r"\d+")
_GROUPS, _EXAMPLES = 20, 3  # groups of failures, and examples of each
_LONGEST = 1000  # most characters of a shown line; `malleable logs` shows all


def _cut(text: str) -> str:
    text = printable(text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


def _from_here(path: str) -> str:
    below = os.path.relpath(path)
    return path if below.startswith("..") else below


def _which(failure: Failure) -> str:
    if failure.task < 0:
        return f"{failure.job}, {counted(failure.tasks, 'task')}"
    value = f" ({_cut(failure.value)})" if failure.value else ""
    return f"{failure.job} task {failure.task}{value}"


def failure_lines(failure: Failure) -> list[str]:
    """How a task failed, its command, the last lines of its output, and the file with all of them."""
    head = f"{failure.way}: {printable(_which(failure))}: {_cut(failure.what)}"
    if failure.task < 0:
        return [head]
    if failure.seconds and failure.way != "timed out":
        head += f" after {duration(failure.seconds)}"
    head += f", attempt {failure.tries}" if failure.tries > 1 else ""
    lines = [head, f"    {_cut(_as_written(failure.command))}"]
    lines += [f"    | {_cut(line)}" for line in failure.last_lines()]
    whole = failure.errors or failure.output
    if not whole:
        return lines
    return [*lines, f"    all of it: {_where_whole(failure, whole)}"]


def _as_written(command: str) -> str:
    # A command as you can paste it here: without the folder and a shell's parentheses.
    own = command
    with suppress(OSError):  # this folder is gone
        own = command.removeprefix(f"cd {quoted(str(Path.cwd()))} && ")
    plain = own.startswith("(") and own.endswith(")") and not _CHANGES.search(own)
    return own[1:-1] if plain else own


def failure_groups(failures: Sequence[Failure]) -> list[str]:
    """Many failures: how many ended in the same way with the same last line, except for numbers and values."""
    groups: dict[tuple[str, str, str], list[Failure]] = {}
    for each in failures:
        last = "".join(each.last_lines(1))
        last = last.replace(each.value, "{}") if each.value else last
        groups.setdefault((each.way, each.what, _NUMBERS.sub("#", last)), []).append(each)
    lines = []
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    for (way, what, last), own in ordered[:_GROUPS]:
        tasks = sum(each.tasks for each in own)
        lines.append(
            f"{counted(tasks, 'task')}: {way}: {_cut(what)}{': ' * bool(last)}{_cut(last)}"
        )
        which = ", ".join(printable(_which(each)) for each in own[:_EXAMPLES])
        lines.append(f"    {which}{', ...' * (len(own) > _EXAMPLES)}")
        lines += failure_lines(own[0])[1:2]
    hidden = len(ordered) - _GROUPS
    lines += [f"{counted(hidden, 'group')} more"] * (hidden > 0)
    return [
        *lines,
        "all of them: malleable status --failed --json -; one of them: malleable logs JOB TASK",
    ]


def _where_whole(failure: Failure, whole: str) -> str:
    output = Path(whole).parents[2]
    journal = str(output.with_name(output.name.removesuffix(".output")))
    words = ["malleable", "logs", failure.job, str(failure.task), *["--err"] * bool(failure.errors)]
    if os.path.relpath(journal) != _JOURNAL:
        words += ["--journal", _from_here(journal)]
    return " ".join(map(quoted, words))


_OF_FAILURES: list[Column] = [
    (
        "task",
        lambda each: f"{each.job} {each.task}" if each.task >= 0 else f"{each.job}, {each.tasks:,}",
    ),
    ("value", lambda each: each.value[:_LONGEST]),
    ("how", lambda each: f"{each.way}: {each.what}"[:_LONGEST]),
    ("last line", lambda each: "".join(each.last_lines(1))[:_LONGEST]),
]


def failure_table(failures: Sequence[Failure], ways: str, more: int = 0) -> Table:
    """A row a task, or a skipped job; ``ways``: the counts, ``more``: tasks that have no row."""
    hidden = f"; {more:,} more: malleable status --failed" if more else ""
    shown = [column for column in _OF_FAILURES if any(column[1](each) for each in failures)]
    return columns_table(f"{ways}{hidden}", failures, shown, left=len(shown))


def ways_text(jobs: Iterable[Any]) -> str:
    """How many tasks of jobs did not end well, by way: ``2 failed, 1 timed out``; empty: none."""
    ways: Counter[str] = Counter()
    for job in jobs:
        ways.update(job.ways)
        ways["failed"] += job.failed - sum(job.ways.values())
    words = ("failed", "timed out", "lost", "skipped", "cancelled")
    return ", ".join(f"{ways[word]:,} {word}" for word in words if ways[word])


def failure_json(failure: Failure) -> dict[str, Any]:
    found = plain(failure)
    if failure.task < 0:
        found["task"] = None
    return {**found, "last_lines": failure.last_lines()}
