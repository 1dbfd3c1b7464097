"""``malleable logs``: what tasks of a job printed, from files and from the journal that records the run."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Iterator

from malleable.cli.status_command import JOURNAL, read_journal
from malleable.cli.streams import note, quiet
from malleable.cli.terminal import adder
from malleable.live import output
from malleable.live.failures import Failure, failures
from malleable.live.journal import Journal
from malleable.validation import near, shown
from malleable.view.live import failure_lines
from malleable.view.text import printable

_LOOK = 0.2  # seconds between two looks at files that grow


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "The numbers of tasks begin with 0, as in status --failed."
    add = adder(parser)
    add("job JOB", "name of the job")
    add("task TASK", "number of the task (default: all tasks)", int, nargs="?")
    add("--err", "show standard error instead of standard output", bool)
    add("--follow", "show new output until the run has ended", bool)
    add("--journal FILE", "journal of the run", default=JOURNAL)
    add("--run N", "number of the run (default: the last)", int, dest="number")


class _Reader:
    """Shows streams of a job's tasks, each time only what is new. ``suffix``: "out" or "err"; ``heads``: with
    a line before each task."""

    def __init__(self, folder: str, suffix: str, heads: bool) -> None:
        self._folder, self._suffix, self._heads = folder, suffix, heads
        self._at: dict[tuple[int, int], int] = {}  # bytes shown, by task and attempt
        self._last = -1  # the task that was shown last
        self.any_shown = False

    def show(self, task: int, attempt: int) -> None:
        at = self._at.get((task, attempt), 0)
        stream = output.open_stream(output.stream_of(self._folder, task, attempt, self._suffix))
        if stream is None:  # an empty one was removed
            return
        with stream as file:
            if file.seek(0, os.SEEK_END) <= at:
                return
            if self._heads and self._last != task:
                sys.stdout.buffer.write(f"==> task {task} <==\n".encode())
            self._last, self.any_shown = task, True
            file.seek(at)
            shutil.copyfileobj(file, sys.stdout.buffer)
            self._at[task, attempt] = file.tell()


def _of_task(journal: Journal, asked: argparse.Namespace) -> Iterator[Failure]:
    # Failures of the task. Without a task: the entry (task -1) that says why the job's tasks never started.
    wanted = -1 if asked.task is None else asked.task
    run = journal.run(asked.number)
    return (each for each in failures(journal, run) if (each.job, each.task) == (asked.job, wanted))


def run(asked: argparse.Namespace) -> int:
    """Show what tasks of a job printed to standard output, or with --err to standard error. If a task had
    several attempts, the attempt that counts is shown, or else the last. If you name one task that failed, the
    command also says on standard error how it failed, and what its command was.

    It reads files and the journal, and writes nothing.
    """
    with read_journal(asked.journal, asked.number, of_commands=True) as (journal, submission):
        number = journal.run(asked.number).id
        folder, row = _folder(journal, number, asked)
        if not quiet():
            for failure in _of_task(journal, asked):
                sys.stderr.write("".join(f"{line}\n" for line in failure_lines(failure)[:2]))
        reader = _Reader(folder, output.SUFFIXES[asked.err], asked.task is None)
        while True:
            if submission:  # a run handed over to Slurm, whose state is read from the queue
                submission.look()
            over = not journal.goes_on(number)
            good = (each.good for each in journal.tried_again(number, row) if each.good)
            counting = {each.task: each.attempt for each in good}
            for task, attempt in output.kept_attempts(folder, asked.task):
                reader.show(task, counting.get(task, attempt))
            sys.stdout.buffer.flush()
            if over or not asked.follow:
                if not reader.any_shown:
                    which = "standard error" if asked.err else "standard output"
                    which_task = "" if asked.task is None else f" task {asked.task}"
                    note(f"{printable(asked.job)}{which_task}: nothing on {which}")
                return 0
            time.sleep(_LOOK)


def _folder(journal: Journal, number: int, asked: argparse.Namespace) -> tuple[str, int]:
    # The folder of the output of a job's tasks, and the job's number; ValueError if there is no such job or
    # task.
    run = journal.run(number)
    jobs = journal.jobs(number)
    names = [str(job.described.get("name")) for job in jobs]
    if asked.job not in names:
        known = ", ".join(names[:5]) + ", ..." * (len(names) > 5)
        hint = near(asked.job, names) or f"; there are {known}"
        raise ValueError(f"no job is called {shown(asked.job)} in run {number}{hint}")
    row = names.index(asked.job)
    if asked.task is not None and not 0 <= asked.task < jobs[row].tasks:
        raise ValueError(
            f"task = {asked.task}: job {printable(asked.job)} has tasks 0 to {jobs[row].tasks - 1:,}"
        )
    base = output.output_folder(journal.path, run)
    if base is None:
        note(f"run {number} keeps no output")
    return str(base / output.job_folder(row, asked.job)) if base else "", row
