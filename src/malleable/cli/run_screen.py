"""The views of ``malleable run``: a line that moves, above it the tasks that failed; and what users of GNU
parallel expect: giving up after failures (``--halt``), a log of tasks (``--joblog``), and output as tasks end.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from malleable.cli.streams import coloured, note, quiet, ready
from malleable.files.writing import naming
from malleable.live.failures import Failure
from malleable.live.jobs_file import Job
from malleable.live.ledger import JobState, Ledger
from malleable.live.output import SUFFIXES, open_stream, stream_of
from malleable.live.protocol import Event
from malleable.view.live import bar, failure_lines, line_text, ways_text

_WIDTH = 80  # width if the terminal does not report one
_BAR, _LEAST = 30, 6  # most and least columns of a bar
_WIDE = 60  # columns from which a bar is shown
_PACE = 15  # looks over which the rate is averaged
_SECOND = 1.0
MINUTE = 60.0
_MOST = 3  # failures shown per second


class Screen:
    """Standard error with a last line that is redrawn in place on a terminal; other lines go above it."""

    def __init__(self, moves: bool) -> None:
        self.moves = moves
        self._last = ""

    @property
    def width(self) -> int:
        with suppress(OSError):
            return os.get_terminal_size(sys.stderr.fileno()).columns or _WIDTH
        return _WIDTH

    def line(self, text: str) -> None:
        if self.moves and ready(sys.stderr):
            self._last = f"\r{text}\x1b[K"
            self._write(self._last)

    def above(self, lines: Sequence[str]) -> bool:
        if not ready(sys.stderr):
            return False
        clear = "\r\x1b[K" if self._last else ""
        self._write(clear + "".join(f"{line}\n" for line in lines) + self._last)
        return True

    @contextmanager
    def aside(self) -> Iterator[None]:
        # Take the line away while this block writes.
        if self._last:
            self._write("\r\x1b[K")
        yield
        if self._last:
            self._write(self._last)

    def close(self) -> None:
        if self._last:
            self._write("\r\x1b[K")
        self.moves, self._last = False, ""

    def _write(self, text: str) -> None:
        with suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()


class FailureTeller:
    """Shows failures when they happen, a few a second at most; the rest is counted and reported once a
    second. ``above`` shows lines, or says that it cannot now; ``whole``: with the last lines of the task's
    output."""

    def __init__(
        self,
        above: Callable[[Sequence[str]], bool],
        whole: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._above, self._whole, self._clock = above, whole, clock
        self._shown: deque[float] = deque(maxlen=_MOST)  # times of the last lines
        self._hidden = 0  # failures that were not shown
        self._red = coloured(sys.stderr)

    def __call__(self, failure: Failure) -> None:
        if quiet():
            return
        now = self._clock()
        if len(self._shown) == _MOST and now - self._shown[0] < _SECOND:
            self._hidden += failure.tasks
            return
        self.flush()
        head, *rest = failure_lines(failure)[: None if self._whole else 2]
        word, colon, what = head.partition(":")
        told = f"\x1b[1;31m{word}\x1b[0m{colon}{what}" if self._red else head
        if self._hidden or not self._above([told, *rest]):
            self._hidden += failure.tasks
        else:
            self._shown.append(now)

    def flush(self) -> None:
        if self._hidden:
            verb = "does" if self._hidden == 1 else "do"
            told = f"{self._hidden:,} more {verb} not end well: malleable status --failed"
            if self._above([told]):
                self._hidden = 0


class ProgressLine:
    """How far a run is, in a line: in place on a terminal, else once a minute."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._said = 0.0  # when the line was written last [s of the run]
        # Recent times, and the tasks that had ended by then.
        self._ended: deque[tuple[float, int]] = deque(maxlen=_PACE)
        self._colours = coloured(sys.stderr)
        self._plain = "utf" not in (sys.stderr.encoding or "").lower()

    def __call__(self, progress: Ledger) -> None:
        done = sum(job.done + job.failed for job in progress.jobs)
        self._ended.append((progress.now, done))
        since, before = self._ended[0]
        rate = (done - before) / (progress.now - since) if progress.now > since else 0.0
        if self._screen.moves:
            width = self._screen.width - 1
            width -= _LEAST + 1 if width > _WIDE else 0
            text = line_text(progress, rate, width)
            total = sum(job.tasks for job in progress.jobs)
            self._screen.line(self._drawn(text, done / max(1, total), progress))
        elif progress.now - self._said >= MINUTE:
            self._said = progress.now
            note(line_text(progress, rate))

    def _drawn(self, text: str, share: float, progress: Ledger) -> str:
        width = self._screen.width - 1
        room = min(_BAR, width - len(text) - 1)
        drawn = bar(share, room, self._plain) + " " if room >= _LEAST else ""
        text = text[: width - len(drawn)]
        ways = ways_text(progress.jobs)
        if self._colours and ways:
            text = text.replace(ways, f"\x1b[31m{ways}\x1b[0m", 1)
        return drawn + text


# values of ``--halt``, and GNU parallel's short forms
_HALT = re.compile(r"(now|soon),(fail|success|done)=([1-9]\d{0,8})(%?)", re.ASCII)
_SHORT = {"1": "soon,fail=1", "2": "now,fail=1"}
_HEADS = "Seq Host Starttime JobRuntime Send Receive Exitval Signal Command"
_NOT_FOUND = 127  # exit status of a shell whose command was not found
_NAMES = {"out": "standard output", "err": "standard error"}


class Halt(NamedTuple):
    """When a run gives up: at once or after the running tasks, at a number or percentage of failed tasks."""

    at_once: bool
    what: str
    tasks: int
    percent: bool

    def reached(self, jobs: Iterable[JobState]) -> bool:
        done = failed = total = 0
        for job in jobs:
            done += job.done
            failed += job.failed - job.ways["skipped"] - job.ways["cancelled"]
            total += job.tasks
        have = {"fail": failed, "success": done, "done": done + failed}[self.what]
        return have >= (self.tasks * total / 100.0 if self.percent else self.tasks) and have > 0


def halt(text: str) -> Halt | None:
    if text in ("never", "0"):
        return None
    found = _HALT.fullmatch(_SHORT.get(text, text))
    if not found:
        told = "expected never, soon,fail=1, now,fail=10%, now,success=1 or the like"
        raise argparse.ArgumentTypeError(f"{text!r}: {told}")
    when, what, count, percent = found.groups()
    return Halt(when == "now", what, int(count), bool(percent))


class Wanted:
    """Writes a file that the user asked for. Its first error is kept; the run ends because of it."""

    error: OSError | None = None

    def __call__(self, write: Callable[..., object], *what: Any) -> None:
        if self.error is None:
            try:
                write(*what)
            except OSError as error:
                self.error = error


class JobLog:
    """A line for each task that has ended, with the columns of GNU parallel's ``--joblog``."""

    def __init__(self, path: str, jobs: Sequence[Job], folders: Sequence[str]) -> None:
        self._file: TextIO = Path(path).open("a", encoding="utf-8", buffering=1)  # noqa: SIM115
        self._jobs, self._folders, self._path = jobs, folders, path
        self._first = [0]  # number of each job's first task; there may come more jobs
        with naming(path):
            if not self._file.tell():
                self._file.write("\t".join(_HEADS.split()) + "\n")

    def __call__(self, row: int, number: int, event: Event | None) -> None:
        if event is None:
            return
        received = 0
        printed = stream_of(self._folders[row], number, event.attempt, SUFFIXES[0])
        with suppress(OSError):  # empty ones are removed
            received = os.stat(printed).st_size  # noqa: PTH116
        while len(self._first) <= row:
            self._first.append(self._first[-1] + len(self._jobs[len(self._first) - 1]))
        status = _NOT_FOUND if event.kind == "refused" else event.status
        cells = (
            self._first[row] + number + 1, ":", f"{time.time() - event.seconds:.3f}",
            f"{event.seconds:.3f}", 0, received, max(0, status), max(0, -status),
            self._jobs[row].shown(number),
        )  # fmt: skip
        with naming(self._path):
            self._file.write("\t".join(map(str, cells)) + "\n")

    def close(self) -> None:
        with naming(self._path):
            self._file.close()


class Shown:
    """Writes the output of each task to our own streams when the task ends, or ``in_order``."""

    def __init__(
        self,
        jobs: Sequence[Job],
        folders: Sequence[str],
        screen: Screen,
        in_order: bool,
    ) -> None:
        self._folders, self._screen, self._in_order = folders, screen, in_order
        self._jobs = jobs
        # By job and task: the attempt (-1: none) whose output waits for its turn.
        self._ended: dict[tuple[int, int], int] = {}
        self._row = self._number = 0  # the task whose turn it is

    def __call__(self, row: int, number: int, event: Event | None) -> None:
        attempt = event.attempt if event else -1
        if not self._in_order:
            self._show(row, number, attempt)
            return
        self._ended[row, number] = attempt
        while self._row < len(self._jobs):
            at = self._row, self._number
            if self._number == len(self._jobs[self._row]):
                self._row, self._number = self._row + 1, 0
            elif at in self._ended:
                self._number += 1
                self._show(*at, self._ended.pop(at))
            else:
                break

    def rest(self) -> None:
        for at in sorted(self._ended):
            self._show(*at, self._ended.pop(at))

    def _show(self, row: int, number: int, attempt: int) -> None:
        if attempt < 0:
            return
        with self._screen.aside():
            for suffix, stream in zip(SUFFIXES, (sys.stdout, sys.stderr), strict=True):
                printed = open_stream(stream_of(self._folders[row], number, attempt, suffix))
                if printed is None:  # an empty one was removed
                    continue
                with printed as file, naming(_NAMES[suffix]):
                    shutil.copyfileobj(file, _bytes_of(stream))
                    stream.flush()


def _bytes_of(stream: Any) -> Any:
    stream.flush()
    return stream.buffer
