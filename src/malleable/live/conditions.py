"""Conditions for the next start: free memory, a low load, time since the last start. Memory and load are read
from /proc a few times a second. They do not show a task that has just started, so ``delay`` gives it time."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

from malleable.validation import MOST_SLOTS

_LOOK = 0.1  # seconds between two looks
_MEMORY = Path("/proc/meminfo")


def free_memory(source: Path = _MEMORY) -> float:
    # Bytes that new processes may take; infinite if Linux does not say.
    for line in source.read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024.0
    return math.inf


@dataclass
class Conditions:
    """No task starts while fewer than ``memory`` bytes are free, while the load (running processes, on
    average over a minute) is above ``load``, or within ``delay`` seconds after another task."""

    memory: float = 0.0
    load: float = math.inf
    delay: float = 0.0
    why: str = ""  # why no task may start, as the last look found
    _looked: float = -math.inf  # time of the last look
    _next: float = -math.inf  # earliest start of the next task

    @property
    def any(self) -> bool:
        return self.memory > 0.0 or self.load < math.inf or self.delay > 0.0

    def startable(self, now: float) -> int:
        # How many tasks may start now.
        if now >= self._looked + _LOOK:
            self._looked, self.why = now, self._look()
        if self.why:
            return 0
        return MOST_SLOTS if not self.delay else int(now >= self._next)

    def _look(self) -> str:
        if self.memory and (free := free_memory()) < self.memory:
            return f"{free / 2**30:.3g}G of memory are free, {self.memory / 2**30:.3g}G are needed"
        if self.load < math.inf and (load := os.getloadavg()[0]) > self.load:
            return f"the load is {load:.3g}, above {self.load:g}"
        return ""

    def started(self, now: float) -> None:
        self._next = now + self.delay

    def wait(self, now: float) -> float:
        # Seconds after which to ask again.
        return _LOOK if self.why else max(0.0, self._next - now) or math.inf
