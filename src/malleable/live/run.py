"""A run of commands on this machine: jobs as they were read, a journal, an engine, a loop.

A run is begun once and may have several sessions: what was killed goes on with ``resume``. Tasks' streams
are files of the user's alone beside the journal; empty ones are removed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from malleable.live.engine import Engine, Event, Task
from malleable.live.history import earlier
from malleable.live.jobs_file import Job, parse_jobs
from malleable.live.journal import Journal, JournalError, Run
from malleable.live.loop import Decider, Loop, Work

__all__ = ["FAILED", "CommandRun", "folder_name"]

FAILED = 3
"""Exit status of a run in which tasks failed."""


def folder_name(name: str) -> str:
    """A job's name as the name of a folder."""
    return quote(name, safe=" +,-=@_")[:200]


class CommandRun:
    """One run.

    Parameters
    ----------
    jobs : sequence of Job
    journal : Journal
    run : Run
        As the journal has it.
    again : bool
        Whether tasks that failed are run again.
    """

    def __init__(
        self, jobs: Sequence[Job], journal: Journal, run: Run, again: bool = False
    ) -> None:
        self.jobs, self.journal, self.run, self.number = jobs, journal, run, run.id
        self.outputs = journal.path.absolute().parent / "output" / str(self.number)
        self.start = journal.enter(self.number)
        self._folders = [str(self.outputs / folder_name(job.name)) for job in jobs]
        self._again = again
        self._took: dict[tuple[str, str], list[float]] = {}  # by program and user: n, logs, squares
        journal.commit()

    @classmethod
    def resume(cls, journal: Journal, again: bool = False) -> CommandRun:
        """The last run of the journal, as it was begun."""
        run = journal.run()
        if run.status == "done" and not again:
            raise JournalError(f"{journal.path}: run {run.id} has ended; nothing to resume")
        return cls(parse_jobs(run.jobs, run.folder), journal, run, again)

    def loop(self, engine: Engine, decider: Decider, **options: Any) -> Loop:
        """The loop with all jobs, and what earlier sessions ended."""
        of_run: dict[str, Any] = {"start": self.start, "settled": self._settled}
        loop = Loop(engine, decider, self.journal, self.number, **of_run, **options)
        place = {job.name: row for row, job in enumerate(self.jobs)}
        counted = self.journal.counted(self.number)
        for folder in (self.outputs.parent, self.outputs, *map(Path, self._folders)):
            folder.mkdir(exist_ok=True, mode=0o700)
        for row, job in enumerate(self.jobs):
            work = self._work(row, job, [place[name] for name in job.after])
            work.taken = counted[row].seconds if row in counted else 0.0
            loop.add(work)
        for row, number, task in self.journal.tried(self.number):
            if task.last.status == 0 or (not self._again and task.over(self.jobs[row].retries)):
                loop.over(row, number, task.last.status)
            else:
                loop.tried(row, number, task.last.attempt + 1, task.lost)
        return loop

    def _work(self, row: int, job: Job, after: Sequence[int]) -> Work:
        environment = {**job.environment, "MALLEABLE_JOB": job.name}

        def make(number: int, attempt: int) -> Task:
            own = {"MALLEABLE_NUMBER": str(number), "MALLEABLE_ATTEMPT": str(attempt)}
            output, errors = (f"{self._folders[row]}/{number}.{end}" for end in ("out", "err"))
            streams: dict[str, Any] = {"output": output, "errors": errors}
            arguments = job.arguments(number)
            return Task(
                "", arguments, environment | own, job.folder, seconds=job.timeout, **streams
            )

        kept = ("weight", "deadline", "min_slots", "max_slots", "user", "retries", "memory")
        return Work(
            job.name,
            len(job),
            make,
            **{name: getattr(job, name) for name in kept},
            program=job.called,
            after=after,
            seconds=job.seconds or earlier(self.journal, job.called, job.user)[0],
        )

    def _settled(self, row: int, number: int, event: Event) -> None:
        job = self.jobs[row]
        if event.kind == "ended" and event.status == 0:
            log = math.log(max(event.seconds, 1e-9))
            sums = self._took.setdefault((job.called, job.user), [0, 0.0, 0.0])
            for place, value in enumerate((1, log, log * log)):
                sums[place] += value
        for suffix in ("out", "err"):
            path = f"{self._folders[row]}/{number}.{suffix}"
            with suppress(OSError):  # it was removed, or never made
                if os.stat(path).st_size == 0:  # noqa: PTH116 - twice a task
                    os.unlink(path)  # noqa: PTH108

    def end(self, loop: Loop, status: str) -> None:
        """The run's last words: its status, and what its programs' tasks took."""
        for (program, user), (count, logs, squares) in self._took.items():
            self.journal.remember(program, user, int(count), logs, squares)
        self._took.clear()
        self.journal.record(self.number, loop.now, status=status)
        self.journal.commit()


def output_of(journal: Path, run: int, job: str, number: int, suffix: str = "out") -> Path:
    """Where a stream of a task is kept."""
    return journal.absolute().parent / "output" / str(run) / folder_name(job) / f"{number}.{suffix}"
