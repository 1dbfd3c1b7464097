"""An engine in simulated time, slow and obvious, that a scheduler decides for; jobs for it, and policies."""

import copy
import heapq
import pickle

import numpy as np

import malleable as mb
from malleable.cluster.simulate import CLUSTER_POLICIES

POLICIES = [name for name in CLUSTER_POLICIES if not name.startswith("flowflex")]
FLOWS = [name for name in CLUSTER_POLICIES if name.startswith("flowflex")]


def largest_first(state, now):
    """Of maps and reduces alike, all slots to the largest job, then to the next."""
    most = np.atleast_2d(state["max_slots"].T).T
    work = np.atleast_2d(state["work"].T).T
    slots = np.zeros(most.shape)
    for pool, capacity in enumerate(np.atleast_1d(state["capacity"])):
        free = capacity
        for row in np.argsort(-work[:, pool], kind="stable"):
            slots[row, pool] = min(free, most[row, pool])
            free -= slots[row, pool]
    return slots if state["max_slots"].ndim == 2 else slots[:, 0]


class Engine:
    """Tasks on equal nodes in simulated time, slow and obvious; ``every``: seconds between its looks, at
    which it tells counts alone, or None: it tells every event."""

    def __init__(self, jobs, cluster, scheduler, every=None, blocks=None):
        self.jobs, self.cluster, self.scheduler, self.every = jobs, cluster, scheduler, every
        self.blocks = blocks
        slots = np.stack([cluster.map_slots, cluster.reduce_slots], axis=1)
        self.free = slots.astype(int)
        self.completion = np.full(len(jobs), np.nan)
        self.done = np.zeros((len(jobs), 2), dtype=int)
        self.running = np.zeros((len(jobs), 2), dtype=int)
        self.total = np.stack([jobs.maps, jobs.reduces], axis=1)
        self.ids, self.row, self.ends = {}, {}, []
        self.parked = {}

    def arrive(self, row, now):
        one = self.jobs
        table = mb.ClusterJobs(
            one.maps[row : row + 1],
            one.map_seconds[row : row + 1],
            one.reduces[row : row + 1],
            one.reduce_seconds[row : row + 1],
            arrival=one.arrival[row],
            weight=one.weight[row],
            min_map_slots=one.min_map_slots[row],
            min_reduce_slots=one.min_reduce_slots[row],
        )
        self.ids[row] = int(self.scheduler.add(table, now)[0])
        if self.blocks is not None:
            self.scheduler.set_blocks(self.ids[row], self.blocks[row])
        self.row[self.ids[row]] = row

    def begin(self, row, phase, node, now):
        self.running[row, phase] += 1
        self.free[node, 0 if self.cluster.generic else phase] -= 1
        seconds = (self.jobs.map_seconds, self.jobs.reduce_seconds)[phase][row]
        if phase == 1 and self.done[row, 0] < self.total[row, 0]:
            self.parked.setdefault(row, []).append((now, node))
        else:
            heapq.heappush(self.ends, (now + seconds, len(self.ends), row, phase, node, seconds))

    def end(self, row, phase, node, seconds, now):
        self.running[row, phase] -= 1
        self.done[row, phase] += 1
        self.free[node, 0 if self.cluster.generic else phase] += 1
        if self.every is None:
            self.scheduler.ended([self.ids[row]], phase, seconds=seconds, node=node, now=now)
        if phase == 0 and self.done[row, 0] == self.total[row, 0]:
            for began, place in self.parked.pop(row, []):
                own = self.jobs.reduce_seconds[row]
                last = max(now, began + own)
                heapq.heappush(self.ends, (last, len(self.ends), row, 1, place, last - began))
        if (self.done[row] == self.total[row]).all():
            self.completion[row] = now
            if self.every is None:
                self.scheduler.finish([self.ids.pop(row)], now)

    def look(self, now):
        rows = list(self.ids)
        if rows:
            done, running = self.done[rows], self.running[rows]
            ids = [self.ids[row] for row in rows]
            self.scheduler.observe(
                ids, pending=self.total[rows] - done - running, running=running, done=done, now=now
            )
            over = [row for row in rows if np.isfinite(self.completion[row])]
            self.scheduler.finish([self.ids.pop(row) for row in over], now)

    def run(self):
        came, turn, now = 0, 0.0, 0.0
        count = len(self.jobs)
        for _ in range(200_000):
            times = [self.ends[0][0]] if self.ends else []
            times += [self.jobs.arrival[came]] if came < count else []
            times += [] if self.every is None else [turn]
            times += [self.scheduler.next_time] if np.isfinite(self.scheduler.next_time) else []
            if not np.isnan(self.completion).any() or not times:
                break
            now = min(times)
            while self.ends and self.ends[0][0] == now:
                _, _, row, phase, node, seconds = heapq.heappop(self.ends)
                self.end(row, phase, node, seconds, now)
            while came < count and self.jobs.arrival[came] == now:
                if self.every is None:
                    self.arrive(came, now)
                came += 1
            if self.every is not None:
                if now < turn:
                    continue
                turn += self.every
                for row in range(came):
                    if row not in self.ids and self.total[row].sum() != self.done[row].sum():
                        self.arrive(row, now)
                self.look(now)
            self.scheduler.decide(now)
            self.assign(now)
        return self.completion

    def assign(self, now):
        starts = self.scheduler.assign(now, self.free)
        columns = zip(*(c.tolist() for c in (starts.ids, starts.phase, starts.node)), strict=True)
        for job, phase, node in columns:
            self.begin(self.row[job], phase, node, now)


class Copied(Engine):
    """Goes on with a copy of its scheduler, or a pickle of it, after every event."""

    turn = 0

    def end(self, *arguments):
        self.turn += 1
        move = copy.copy if self.turn % 2 else lambda s: pickle.loads(pickle.dumps(s))
        self.scheduler = move(self.scheduler)
        super().end(*arguments)


def instance(seed, count=25):
    rng = np.random.default_rng(seed)
    return mb.ClusterJobs(
        rng.integers(1, 12, count),
        rng.integers(1, 8, count) + rng.random(count),
        rng.integers(0, 5, count),
        rng.integers(1, 8, count) + rng.random(count),
        arrival=np.sort(rng.uniform(0, 60, count)),
        weight=rng.integers(1, 4, count),
    )
