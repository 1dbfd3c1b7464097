"""A run of commands on this machine: jobs as they were read, a journal, an engine, a loop.

A run is begun once and may have several sessions: what was killed goes on with ``resume``. Tasks' streams
are files of the user's alone beside the journal; empty ones are removed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from malleable.live.engine import Engine, Event, Task
from malleable.live.history import earlier
from malleable.live.jobs_file import Job, parse_jobs
from malleable.live.journal import Journal, JournalError
from malleable.live.loop import Decider, Loop, Progress, Work

__all__ = ["FAILED", "CommandRun"]

FAILED = 3
"""Exit status of a run in which tasks failed."""


def _folder_name(name: str) -> str:
    """A job's name as the name of a folder."""
    return quote(name, safe=" +,-=@_")[:200]


class CommandRun:
    """One run.

    Parameters
    ----------
    jobs : sequence of Job
    rows : sequence of mapping
        The tables they were made of: what the journal keeps.
    journal : Journal
    slots, objective, policy, folder
        Kept with the run; names of files are relative to ``folder``.
    number : int, optional
        Of a run in the journal that is to go on; else a new one begins.
    again : bool
        Whether tasks that failed are run again.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        rows: Sequence[Mapping[str, Any]],
        journal: Journal,
        slots: int,
        objective: str,
        policy: str,
        folder: str,
        number: int | None = None,
        again: bool = False,
    ) -> None:
        self.jobs = jobs
        self.journal = journal
        self.number = (
            journal.begin(slots, objective, policy, folder, rows) if number is None else number
        )
        self.outputs = journal.path.absolute().parent / "output" / str(self.number)
        self.start = journal.enter(self.number)
        self.slots, self.objective, self.policy = slots, objective, policy
        self._folders = [str(self.outputs / _folder_name(job.name)) for job in jobs]
        self._again = again
        self._took: dict[tuple[str, str], list[float]] = {}  # by program and user: n, logs, squares
        journal.commit()

    @classmethod
    def resume(cls, journal: Journal, number: int | None = None, again: bool = False) -> CommandRun:
        """A run of the journal, the last one by default, as it was begun."""
        run = journal.run(number)
        if run.status == "done" and not again:
            raise JournalError(f"{journal.path}: run {run.id} has ended; nothing to resume")
        jobs = parse_jobs(run.jobs, run.folder)
        return cls(
            jobs, run.jobs, journal, run.slots, run.objective, run.policy, run.folder, run.id, again
        )

    def loop(
        self,
        engine: Engine,
        decider: Decider,
        progress: Callable[[Progress], object] | None = None,
        **options: Any,
    ) -> Loop:
        """The loop with all jobs, and what earlier sessions ended."""
        loop = Loop(
            engine,
            decider,
            self.journal,
            self.number,
            start=self.start,
            progress=progress,
            settled=self._settled,
            **options,
        )
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
        folder = self._folders[row]
        environment = {**job.environment, "MALLEABLE_JOB": job.name}

        def make(number: int, attempt: int) -> Task:
            stem = f"{folder}/{number}"
            return Task(
                "",
                job.arguments(number),
                {**environment, "MALLEABLE_NUMBER": str(number), "MALLEABLE_ATTEMPT": str(attempt)},
                job.folder,
                output=f"{stem}.out",
                errors=f"{stem}.err",
                seconds=job.timeout,
            )

        return Work(
            job.name,
            len(job),
            make,
            weight=job.weight,
            deadline=job.deadline,
            min_slots=job.min_slots,
            max_slots=job.max_slots,
            user=job.user,
            program=job.called,
            after=after,
            retries=job.retries,
            seconds=job.seconds or earlier(self.journal, job)[0],
            memory=job.memory,
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
    return (
        journal.absolute().parent / "output" / str(run) / _folder_name(job) / f"{number}.{suffix}"
    )
