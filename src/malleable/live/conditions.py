"""What has to hold before another task starts: free memory, a low load, a time since the task before.

Memory and load are those of the machine, read from /proc a few times a second; between two looks a start costs
nothing. A task that has just started is in neither of them yet: ``delay`` gives it time to show.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

from malleable.validation import MOST_SLOTS

_LOOK = 0.1  # seconds between two looks
_MEMORY = Path("/proc/meminfo")


def free_memory(source: Path = _MEMORY) -> float:
    """Bytes that programs could have without paging."""
    for line in source.read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024.0
    return math.inf


@dataclass
class Conditions:
    """No task starts while ``memory`` bytes are not free, while the load (processes that run, on average over a
    minute) is above ``load``, and within ``delay`` seconds after another one."""

    memory: float = 0.0
    load: float = math.inf
    delay: float = 0.0
    why: str = ""
    """What does not hold; empty: tasks may start."""
    _looked: float = -math.inf
    _next: float = -math.inf  # when another task may start, after the last one

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return self.memory > 0.0 or self.load < math.inf or self.delay > 0.0

    def room(self, now: float) -> int:
        """How many tasks may start now."""
        if now >= self._looked + _LOOK:
            self._looked, self.why = now, self._look()
        if self.why:
            return 0
        return MOST_SLOTS if not self.delay else int(now >= self._next)

    def _look(self) -> str:
        if self.memory and (free := free_memory()) < self.memory:
            return (
                f"{free / 2**30:.3g}G of memory are free, and {self.memory / 2**30:.3g}G have to be"
            )
        if self.load < math.inf and (load := os.getloadavg()[0]) > self.load:
            return f"the load is {load:.3g}, above {self.load:g}"
        return ""

    def started(self, now: float) -> None:
        """Tasks have started."""
        self._next = now + self.delay

    def wait(self, now: float) -> float:
        """Seconds until it is worth to look again."""
        return _LOOK if self.why else max(0.0, self._next - now) or math.inf
