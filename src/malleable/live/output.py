"""Files of tasks' output: ``journal.sqlite.output/RUN/JOB-NAME/TASK.ATTEMPT.out`` and ``.err``, with numbers
from the journal, until it is packed (moved into one compressed file of the job). The name is for people: short,
of letters, digits and ``. _ + = @ -``."""

from __future__ import annotations

import io
import os
import re
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import IO

from malleable.live.journal import Journal, Run
from malleable.live.own_files import open_file, own_folder
from malleable.live.packs import packed_keys, packed_stream

_NAME = 40  # most characters of a job's name
_UNREADABLE = re.compile(r"[^\w.+=@-]+")
_OF_TASK = re.compile(r"(\d+)\.(\d+)\.(?:out|err)", re.ASCII)
SUFFIXES = ("out", "err")


def job_folder(row: int, name: str) -> str:
    """The name of a job's folder: its number, and the readable part of its name."""
    return f"{row}-{_UNREADABLE.sub('_', name)[:_NAME]}"


def _of_journal(journal: Path) -> Path:
    return journal.absolute().with_name(journal.name + ".output")


def output_folder(journal: Path, run: Run) -> Path | None:
    """Where a run keeps its output; None: not made yet."""
    return _of_journal(journal) / run.output if run.output else None


def own_output_folder(journal: Journal, run: Run) -> Path:
    """A run's folder, made by the run's first session. If a removed journal left a folder of that name, the
    run takes another name, which the journal records."""
    found = output_folder(journal.path, run)
    parent = _of_journal(journal.path)
    own_folder(parent)
    if found is None:
        names = (f"{run.id}-{k}" if k > 1 else str(run.id) for k in count(1))
        found = next(parent / name for name in names if not os.path.lexists(parent / name))
        journal.place(run.id, found.name)
        journal.commit()
    own_folder(found)
    return found


def stream_of(folder: str, number: int, attempt: int, suffix: str) -> str:
    """The file of a stream (its output or its errors) of an attempt at a task, in its job's folder."""
    return f"{folder}/{number}.{attempt}.{suffix}"


def open_stream(path: str) -> IO[bytes] | None:
    """A stream, from its own file or packed; None: there is none."""
    try:
        return os.fdopen(open_file(Path(path), os.O_RDONLY, closed=False), "rb")
    except FileNotFoundError:
        folder, _, name = path.rpartition("/")
        task, attempt, suffix = name.split(".")
        found = packed_stream(folder, int(task), int(attempt), suffix)
        return None if found is None else io.BytesIO(found)


def kept_attempts(folder: str, task: int | None = None) -> list[tuple[int, int]]:
    """Tasks of a job, or this one, with the last attempt of each that has a stream in the folder; in order."""
    last: dict[int, int] = {}
    if not folder:
        return []
    for number, attempt, _ in packed_keys(folder):
        if task is None or number == task:
            last[number] = max(last.get(number, 0), attempt)
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            found = _OF_TASK.fullmatch(entry.name)
            if found and (task is None or int(found[1]) == task):
                number = int(found[1])
                last[number] = max(last.get(number, 0), int(found[2]))
    return sorted(last.items())
