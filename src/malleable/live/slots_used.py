"""Whether the slots of a run do anything, or its tasks wait for processors.

A task that computes takes its processor time where it has a processor to itself. If more tasks run than there
are processors, each of them takes longer, and no more gets done. A task that waits for a disk, a network or a
clock takes longer than its processor time, too, but leaves its processor idle. So slots are said to help
little if both hold: tasks keep the processors busy, and take much longer than their processor time. If others
keep the processors busy, nothing is said.

Looked at in windows of tasks that have ended, as many as there are slots and some more. O(1) a task.
"""

from __future__ import annotations

from collections.abc import Callable

from malleable.lines import counted
from malleable.live.protocol import Event

_BUSY = 0.65  # of what the processors can do
_SLOW = 1.3  # seconds of a task over its processor time
_LEAST = 8  # tasks of a window


class SlotsUsed:
    """Hears how tasks end, and says once that slots beyond the processors help little.

    Parameters
    ----------
    slots, processors : int
    say : callable
        Told the sentence.
    clock : callable
        Seconds.
    """

    def __init__(
        self, slots: int, processors: int, say: Callable[[str], object], clock: Callable[[], float]
    ) -> None:
        self._slots, self._processors = slots, processors
        self._say, self._clock = say, clock
        self._window = max(_LEAST, slots)
        self._silent = slots <= processors
        self._begin()

    def _begin(self) -> None:
        self._since, self._tasks, self._seconds, self._cpu = self._clock(), 0, 0.0, 0.0

    def __call__(self, row: int, number: int, event: Event | None) -> None:
        """A task has ended, or (None) never starts."""
        if self._silent or event is None:
            return
        self._tasks += 1
        self._seconds += event.seconds
        self._cpu += event.cpu
        if self._tasks < self._window:
            return
        passed = self._clock() - self._since
        if self._seconds > _SLOW * self._cpu and self._cpu > _BUSY * self._processors * passed:
            self._silent = True
            self._say(
                f"{counted(self._slots, 'slot')} used {self._cpu / passed:.2g} of"
                f" {counted(self._processors, 'processor')}; tasks took"
                f" {self._seconds / self._cpu:.2g} times their processor time:"
                " slots beyond the processors help little"
            )
        self._begin()
