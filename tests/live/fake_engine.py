"""An engine on a clock of its own that reports late, twice, or never what became of a task."""

import heapq
import itertools

from malleable.live.engine import Abilities, Event


class FakeEngine:
    """``seconds(key)`` is what an attempt takes, ``status(key)`` how it ends; faults are shares of events."""

    abilities = Abilities(take_back="cancel")

    def __init__(self, slots, rng, seconds, status, late=0.0, twice=0.0, never=0.0, lost=5.0):
        self.slots, self.rng, self.lost = slots, rng, lost
        self.seconds, self.status = seconds, status
        self.late, self.twice, self.never = late, twice, never
        self.now = 0.0
        self.running = {}  # key -> since
        self.most = 0
        self.starts = []
        self._queue = []
        self._number = itertools.count()

    def clock(self):
        return self.now

    def _say(self, at, event):
        heapq.heappush(self._queue, (at, next(self._number), event))

    def start(self, tasks):
        for task in tasks:
            assert task.key not in self.starts
            self.starts.append(task.key)
            self.running[task.key] = self.now
            took, end = self.seconds(task.key), self.now + self.seconds(task.key)
            event = Event("ended", task.key, self.status(task.key), took)
            if self.rng.random() < self.never:  # somebody finds out later that nobody knows
                event, end = Event("lost", task.key), self.now + self.lost
            if self.rng.random() < self.late:
                end += self.rng.exponential(took)
            self._say(end, event)
            if self.rng.random() < self.twice:
                self._say(end + self.rng.exponential(took), event)
            if self.rng.random() < self.twice:
                self._say(self.now, Event("ended", f"99.{task.key}", 0, 1.0))  # never ours
        self.most = max(self.most, len(self.running))

    def cancel(self, keys):
        for key in keys:
            if key in self.running:
                self._say(self.now, Event("ended", key, -15, 0.1))

    def poll(self, seconds):
        until = self.now + seconds
        if not self._queue or self._queue[0][0] > until:
            self.now = until
            return []
        self.now = max(self.now, self._queue[0][0])
        found = []
        while self._queue and self._queue[0][0] <= self.now:
            found.append(heapq.heappop(self._queue)[2])
            self.running.pop(found[-1].key, None)
        return found

    def close(self, grace):
        return 0
