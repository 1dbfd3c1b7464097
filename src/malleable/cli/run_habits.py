"""What GNU parallel's users expect of ``malleable run``: giving up, a log of tasks, output as tasks end."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from malleable.cli.run_screen import Screen
from malleable.files.writing import naming
from malleable.live.jobs_file import Job
from malleable.live.ledger import Work
from malleable.live.output import SUFFIXES, stream_of
from malleable.live.own_files import open_file
from malleable.live.protocol import Event

_HALT = re.compile(r"(now|soon),(fail|success|done)=([1-9]\d{0,8})(%?)", re.ASCII)
_SHORT = {"1": "soon,fail=1", "2": "now,fail=1"}
_HEADS = [
    "Seq",
    "Host",
    "Starttime",
    "JobRuntime",
    "Send",
    "Receive",
    "Exitval",
    "Signal",
    "Command",
]
_NOT_FOUND = 127
_NAMES = {"out": "standard output", "err": "standard error"}


class Halt(NamedTuple):
    """When a run gives up: at once or once what runs has ended, at so many tasks, or per cent of them."""

    at_once: bool
    what: str
    tasks: int
    percent: bool

    def reached(self, jobs: Iterable[Work]) -> bool:
        """Whether it does so now."""
        done = failed = total = 0
        for job in jobs:
            done += job.done
            failed += job.failed - job.ways["skipped"] - job.ways["cancelled"]
            total += job.tasks
        have = {"fail": failed, "success": done, "done": done + failed}[self.what]
        return have >= (self.tasks * total / 100.0 if self.percent else self.tasks) and have > 0


def halt(text: str) -> Halt | None:
    """What ``--halt`` says; None: never."""
    if text in ("never", "0"):
        return None
    found = _HALT.fullmatch(_SHORT.get(text, text))
    if not found:
        told = "expected never, soon,fail=1, now,fail=10%, now,success=1 or the like"
        raise argparse.ArgumentTypeError(f"{text!r}: {told}")
    when, what, count, percent = found.groups()
    return Halt(when == "now", what, int(count), bool(percent))


def _places(jobs: Sequence[Job]) -> list[int]:
    """The number of the first task of each job among all tasks of the run."""
    found = [0]
    for job in jobs:
        found.append(found[-1] + len(job))
    return found


class Wanted:
    """What somebody asked to be written. Its first error ends the run (`malleable.cli.run_command`)."""

    error: OSError | None = None

    def __call__(self, write: Callable[[], object]) -> None:
        """Writes, unless that failed before."""
        if self.error is None:
            try:
                write()
            except OSError as error:
                self.error = error


class JobLog:
    """A line for each task that has ended, with the columns of GNU parallel's ``--joblog``."""

    def __init__(self, path: str, jobs: Sequence[Job], folders: Sequence[str]) -> None:
        self._file: TextIO = Path(path).open("a", encoding="utf-8", buffering=1)  # noqa: SIM115
        self._jobs, self._folders, self._first = jobs, folders, _places(jobs)
        self._path = path
        with naming(path):
            if not self._file.tell():
                self._file.write("\t".join(_HEADS) + "\n")

    def __call__(self, row: int, number: int, event: Event | None) -> None:
        """One more; None: it never starts, and has no line."""
        if event is None:
            return
        attempt = int(event.key.rpartition(".")[2])
        received = 0
        with suppress(OSError):  # empty ones are removed
            received = os.stat(stream_of(self._folders[row], number, attempt, SUFFIXES[0])).st_size  # noqa: PTH116
        status = _NOT_FOUND if event.kind == "refused" else event.status
        cells = (
            self._first[row] + number + 1, ":", f"{time.time() - event.seconds:.3f}",
            f"{event.seconds:.3f}", 0, received, max(0, status), max(0, -status),
            self._jobs[row].shown(number),
        )  # fmt: skip
        with naming(self._path):
            self._file.write("\t".join(map(str, cells)) + "\n")

    def close(self) -> None:
        """No more come."""
        with naming(self._path):
            self._file.close()


class Shown:
    """What a task printed goes to our own streams when the task ends; in order, after all before it.

    ``over``: job and number of tasks that earlier sessions ended: nobody waits for these. None: in any order.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        folders: Sequence[str],
        screen: Screen,
        over: Collection[tuple[int, int]] | None,
    ) -> None:
        self._folders, self._screen, self._over = folders, screen, over
        self._sizes = [len(job) for job in jobs]
        self._ended: dict[
            tuple[int, int], int
        ] = {}  # attempts, -1: none; of what waits for its turn
        self._row = self._number = 0  # whose turn it is

    def __call__(self, row: int, number: int, event: Event | None) -> None:
        """A task has ended, or with None never will start."""
        attempt = int(event.key.rpartition(".")[2]) if event else -1
        if self._over is None:
            self._show(row, number, attempt)
            return
        self._ended[row, number] = attempt
        while self._row < len(self._sizes):
            at = self._row, self._number
            if self._number == self._sizes[self._row]:
                self._row, self._number = self._row + 1, 0
            elif at in self._ended:
                self._number += 1
                self._show(*at, self._ended.pop(at))
            elif at in self._over:
                self._number += 1
            else:
                break

    def rest(self) -> None:
        """What still waits for its turn, in order."""
        for at in sorted(self._ended):
            self._show(*at, self._ended.pop(at))

    def _show(self, row: int, number: int, attempt: int) -> None:
        if attempt < 0:
            return
        with self._screen.aside():
            for suffix, stream in zip(SUFFIXES, (sys.stdout, sys.stderr), strict=True):
                path = Path(stream_of(self._folders[row], number, attempt, suffix))
                try:
                    descriptor = open_file(path, os.O_RDONLY, closed=False)
                except FileNotFoundError:  # an empty one was removed
                    continue
                with os.fdopen(descriptor, "rb") as file, naming(_NAMES[suffix]):
                    shutil.copyfileobj(file, _bytes_of(stream))
                    stream.flush()


def _bytes_of(stream: Any) -> Any:
    stream.flush()
    return stream.buffer
