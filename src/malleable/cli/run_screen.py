"""The screen of a run: a line that moves, and above it the tasks that failed."""

from __future__ import annotations

import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from malleable.cli.streams import coloured, note, quiet, ready
from malleable.live.failures import Failure
from malleable.live.ledger import Progress
from malleable.view.failures import failure_lines, ways_text
from malleable.view.live import bar, line_text

_WIDTH = 80  # of a terminal that does not say
_BAR, _LEAST = 30, 6  # columns of a bar, at most and at least
_WIDE = 60  # columns from which on there is room for one
_PACE = 15  # looks that the rate is of
_SECOND = 1.0
MINUTE = 60.0
"""Seconds between two lines if the output is not a terminal."""
_MOST = 3  # failures that are shown a second


class Screen:
    """Standard error with a last line that moves, if somebody looks; other lines go above that one."""

    def __init__(self, moves: bool) -> None:
        self.moves = moves
        self._last = ""

    @property
    def width(self) -> int:
        """Columns."""
        with suppress(OSError):
            return os.get_terminal_size(sys.stderr.fileno()).columns or _WIDTH
        return _WIDTH

    def line(self, text: str) -> None:
        """Draw the last line again."""
        if self.moves and ready(sys.stderr):
            self._last = f"\r{text}\x1b[K"
            self._write(self._last)

    def above(self, lines: Sequence[str]) -> bool:
        """Lines that stay; False: the terminal takes none now."""
        if not ready(sys.stderr):
            return False
        clear = "\r\x1b[K" if self._last else ""
        self._write(clear + "".join(f"{line}\n" for line in lines) + self._last)
        return True

    @contextmanager
    def aside(self) -> Iterator[None]:
        """The last line goes while somebody else writes lines."""
        if self._last:
            self._write("\r\x1b[K")
        yield
        if self._last:
            self._write(self._last)

    def close(self) -> None:
        """Nothing moves any more."""
        if self._last:
            self._write("\r\x1b[K")
        self.moves, self._last = False, ""

    def _write(self, text: str) -> None:
        with suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()


class FailureTeller:
    """Shows failures when they happen, a few a second at most; others are counted and told once a second.

    ``above`` shows lines, or says that it cannot now; ``whole``: with the last lines that the task printed.
    """

    def __init__(
        self,
        above: Callable[[Sequence[str]], bool],
        whole: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._above, self._whole, self._clock = above, whole, clock
        self._shown: deque[float] = deque(maxlen=_MOST)
        self._hidden = 0
        self._red = coloured(sys.stderr)

    def __call__(self, failure: Failure) -> None:
        """One more."""
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
        """Says how many were not shown."""
        if self._hidden:
            verb = "does" if self._hidden == 1 else "do"
            told = f"{self._hidden:,} more {verb} not end well: malleable status --failed"
            if self._above([told]):
                self._hidden = 0


class Thrift:
    """Has something done, and not again before it has cost no more than a small part of the time."""

    _SHARE = 0.05

    def __init__(self) -> None:
        self._next = -math.inf

    def __call__(self, do: Callable[[], object], at_once: bool = False) -> None:
        """Does it, if it is time or has to be ``at_once``."""
        if at_once or time.monotonic() >= self._next:
            first, began = self._next < 0.0, time.thread_time()
            do()
            if not first:  # which imports what it needs
                cost = time.thread_time() - began
                self._next = time.monotonic() + cost / self._SHARE
            else:
                self._next = 0.0


class ProgressLine:
    """How far a run is, in a line: in place where somebody looks, else once a minute."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._said = 0.0
        self._ended: deque[tuple[float, int]] = deque(maxlen=_PACE)
        self._colours = coloured(sys.stderr)
        self._plain = "utf" not in (sys.stderr.encoding or "").lower()

    def __call__(self, progress: Progress) -> None:
        """As it is now."""
        done = sum(job.done + job.failed for job in progress.jobs)
        self._ended.append((progress.now, done))
        since, before = self._ended[0]
        rate = (done - before) / (progress.now - since) if progress.now > since else 0.0
        if self._screen.moves:
            width = self._screen.width - 1
            width -= _LEAST + 1 if width > _WIDE else 0
            text = line_text(progress, rate, progress.end, width)
            total = sum(job.tasks for job in progress.jobs)
            self._screen.line(self._drawn(text, done / max(1, total), progress))
        elif progress.now - self._said >= MINUTE:
            self._said = progress.now
            note(line_text(progress, rate, progress.end))

    def _drawn(self, text: str, share: float, progress: Progress) -> str:
        width = self._screen.width - 1
        room = min(_BAR, width - len(text) - 1)
        drawn = bar(share, room, self._plain) + " " if room >= _LEAST else ""
        text = text[: width - len(drawn)]
        ways = ways_text(progress.jobs)
        if self._colours and ways:
            text = text.replace(ways, f"\x1b[31m{ways}\x1b[0m", 1)
        return drawn + text
