"""The outcome of jobs that were handed over to Slurm, in the form of a journal. It is read, on request, from
files that the tasks write and from the queue, and laid over the journal in this reader's memory alone. A task
that left the queue and has not written its end was ended by Slurm, or with its node. O(tasks)."""

from __future__ import annotations

import calendar
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from malleable.live.jobs_file import Job, described_jobs
from malleable.live.journal import Attempt, Journal, RunningTasks
from malleable.live.output import job_folder, output_folder
from malleable.live.slurm.commands import Slurm, SlurmError

# The kind of a run, in its journal, that was handed over.
SUBMITTED = "submitted"

# Folder of the journals of hand-overs, beside the journal of runs.
FOLDER = "slurm"

# Names of a job's file with its arrays, and suffix of a task's file.
ARRAYS, ENDS = "arrays", "ends"

_Try = tuple[
    float, "float | None", int
]  # start and end of an attempt [s of the run], and its status
_PAUSE = 5.0  # seconds between two looks
_LATE = (124, 137)  # exit statuses of timeout
_LINE = re.compile(r"(\d{1,9}) (\d{1,12}(?:\.\d+)?)(?: (\d{1,9}))?", re.ASCII)
_OVER = "over"  # the last line of a task's file
_NO_WORD = "Slurm ended it, or its node failed"
_NEVER = "it is not in the queue, and has not begun"


def last_submission(journal: Path) -> Path | None:
    """The journal of the last hand-over beside a journal."""
    found = journal.absolute().parent / FOLDER
    return max(found.glob("*.sqlite"), default=None)


class Submission:
    """Run ``number``, a hand-over to Slurm, of a journal that is open for reading."""

    def __init__(
        self,
        journal: Journal,
        number: int,
        engine: Slurm,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._journal, self._engine, self._wall = journal, engine, wall
        self._run = journal.run(number)
        self._jobs = described_jobs(journal.jobs(number))
        # [s] since 1970: where the seconds of the run begin
        self._zero = calendar.timegm(time.strptime(self._run.began, "%Y-%m-%dT%H:%M:%SZ"))
        self._folder = output_folder(journal.path, self._run)
        self._looked = 0.0  # when the queue was last asked
        # Why the queue is not known; empty: it is.
        self.trouble = ""

    def look(self) -> None:
        # Read files and queue, at most every `_PAUSE` seconds, and lay the outcome over the journal.
        at = self._wall()
        if at < self._looked + _PAUSE or self._folder is None:
            return
        self._looked = at
        now = max(0.0, at - self._zero)
        found: list[Attempt] = []
        running: list[RunningTasks] = []
        queued = self._queued()
        for row, job in enumerate(self._jobs):
            own, begun = self._of_job(row, job, queued[row] if queued else None, now)
            found += own
            if begun:
                running.append(RunningTasks(row, len(begun), sum(begun) / len(begun)))
        over = len({each[:2] for each in found}) == sum(map(len, self._jobs))
        lasted = max((each.began + each.seconds for each in found), default=now) if over else now
        self._journal.overlay(self._run.id, lasted, found, running, "done" if over else "running")

    def _queued(self) -> list[set[int]] | None:
        # By job: its tasks that are in the queue; None: Slurm does not answer.
        assert self._folder
        self.trouble = ""
        try:
            queue = self._engine.left()
        except SlurmError as error:
            self.trouble = str(error)
            return None
        folders = [self._folder / job_folder(row, job.name) for row, job in enumerate(self._jobs)]
        return [
            {first + k for number, first in _arrays(folder) for k in queue.get(number, ())}
            for folder in folders
        ]

    def _of_job(
        self, row: int, job: Job, queued: set[int] | None, now: float
    ) -> tuple[list[Attempt], list[float]]:
        # Attempts of tasks that are over, and when running ones began; ``queued``: in the queue.
        assert self._folder
        folder = self._folder / job_folder(row, job.name)
        found: list[Attempt] = []
        begun: list[float] = []
        for task in range(len(job)):
            here = queued is None or task in queued
            tries, over = self._tries(folder / f"{task}.{ENDS}")
            last = max(tries, default=-1)
            if not over and here:
                if last >= 0 and tries[last][1] is None:
                    begun.append(tries[last][0])
                continue
            for attempt, (began, ended, status) in tries.items():
                one = row, task, attempt
                if ended is not None:
                    how = "late" if job.timeout and status in _LATE else ""
                    found.append(Attempt(*one, status, began, max(0.0, ended - began), how=how))
                else:  # an attempt before the last one was lost, and Slurm started the task again
                    how = "lost" if attempt < last else "cancelled"
                    found.append(Attempt(*one, status=1, began=began, how=how, why=_NO_WORD))
            if last < 0:
                found.append(
                    Attempt(row, task, 0, status=1, began=now, how="cancelled", why=_NEVER)
                )
        return found, begun

    def _tries(self, path: Path) -> tuple[dict[int, _Try], bool]:
        # Attempts that a task has written down, and whether it is over; other lines are ignored.
        found: dict[int, _Try] = {}
        over = False
        with suppress(OSError):
            for line in path.read_text(errors="replace").splitlines():
                over |= line == _OVER
                words = _LINE.fullmatch(line)
                if words is None:
                    continue
                attempt, at = int(words[1]), max(0.0, float(words[2]) - self._zero)
                if words[3] is None:
                    found[attempt] = at, None, 0
                elif attempt in found:
                    found[attempt] = found[attempt][0], at, int(words[3])
        return found, over


def _arrays(folder: Path) -> list[tuple[int, int]]:
    # Number of each array of a job, and the first task in it.
    with suppress(OSError, ValueError):
        lines = (folder / ARRAYS).read_text().split("\n")
        return [(int(number), int(first)) for number, first in map(str.split, filter(None, lines))]
    return []
