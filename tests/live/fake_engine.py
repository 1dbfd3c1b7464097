"""An engine on a clock of its own that reports late, twice, or never what became of a task.

What is more than its slots it holds until one is free.
"""

import heapq
import itertools

from malleable.live.protocol import Abilities, Event


class FakeEngine:
    """``seconds(key)`` is what an attempt takes, ``status(key)`` how it ends; faults are shares of events."""

    abilities = Abilities()
    grace = 0.0  # seconds that a task takes to end

    def __init__(self, slots, rng, seconds, status, late=0.0, twice=0.0, never=0.0, lost=5.0):
        self.slots, self.rng, self.lost = slots, rng, lost
        self.seconds, self.status = seconds, status
        self.late, self.twice, self.never = late, twice, never
        self.now = 0.0
        self.running = {}  # key -> since
        self.held = []
        self.most = self.most_held = 0
        self.starts, self.killed = [], []
        self._known = set()
        self._queue = []
        self._number = itertools.count()

    def clock(self):
        return self.now

    def _say(self, at, event):
        heapq.heappush(self._queue, (at, next(self._number), event))

    def start(self, tasks):
        for task in tasks:
            assert task.key not in self._known
            self._known.add(task.key)
            self.starts.append(task.key)
            self.held.append(task.key)
        self._begin()

    def _begin(self):
        while self.held and len(self.running) < self.slots:
            key = self.held.pop(0)
            self.running[key] = self.now
            took, end = self.seconds(key), self.now + self.seconds(key)
            event = Event("ended", key, self.status(key), took)
            if self.rng.random() < self.never:  # somebody finds out later that nobody knows
                event, end = Event("lost", key), self.now + self.lost
            if self.rng.random() < self.late:
                end += self.rng.exponential(took)
            self._say(end, event)
            if self.rng.random() < self.twice:
                self._say(end + self.rng.exponential(took), event)
            if self.rng.random() < self.twice:
                self._say(self.now, Event("ended", f"99.{key}", 0, 1.0))  # never ours
        self.most = max(self.most, len(self.running))
        self.most_held = max(self.most_held, len(self.held))

    def cancel(self, keys):
        for key in keys:
            if key in self.held:
                self.held.remove(key)
                self._say(self.now, Event("ended", key, -15, 0.0))
            if key in self.running:
                self._say(self.now + self.grace, Event("ended", key, -15, 0.1))

    def kill(self, keys):
        self.killed += keys
        self.cancel(keys)

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
        self._begin()
        return found

    def close(self, grace):
        return 0
