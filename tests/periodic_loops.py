"""Loops that hold decisions for a period, exact in between: jobs of map and shuffle phases, and tasks in
time steps (the slotted model).

Slow and obvious. `benchmarks.rivals.loops` has those of jobs and of flows.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.rivals.rules import level


def equal(wanted, slots):
    """Slots one by one in turn, up to what is wanted."""
    return level(np.asarray(wanted, dtype=np.int64), slots).tolist()


def shuffle_for(time, ready, comes, rate):
    """Shuffle work done in ``time`` at ``rate`` where ``ready`` waits and more comes at a steady pace."""
    if rate <= comes:
        return rate * time
    empty = ready / (rate - comes)
    return rate * min(time, empty) + comes * max(0.0, time - empty)


def time_for(work, ready, comes, rate):
    """When that much is done."""
    if work <= 0.0:
        return 0.0
    if rate <= 0.0:
        return math.inf
    if rate <= comes or work <= rate * (ready / (rate - comes)):
        return work / rate
    empty = ready / (rate - comes)
    return empty + (work - rate * empty) / comes if comes > 0.0 else math.inf


class Phases:
    """A job whose map output can be shuffled while it maps; works in seconds of the whole station."""

    def __init__(self, arrival, map_, shuffle):
        self.arrival, self.map, self.shuffle, self.ready = arrival, map_, shuffle, 0.0
        self.ratio = shuffle / map_

    def run(self, period, map_rate, rate):
        """Its end within the period, or infinity; what is left is kept."""
        maps_for = min(period, self.map / map_rate) if map_rate > 0.0 else period
        done, end = 0.0, math.inf
        for begin, time, comes in (
            (0.0, maps_for, map_rate * self.ratio),
            (maps_for, period - maps_for, 0.0),
        ):
            if time <= 0.0:
                continue
            part = shuffle_for(time, self.ready, comes, rate)
            if maps_for in (begin, period):
                end = begin + time_for(self.shuffle, self.ready, comes, rate)
            self.ready = max(0.0, self.ready + comes * time - part)
            self.shuffle -= part
            done += part
        self.map -= map_rate * maps_for
        if self.map < 1e-12:
            self.map = 0.0
        if self.map == 0.0 and self.shuffle < 1e-12:
            return min(end, period)
        return math.inf


def hold_phases(jobs, slots, rule, period):
    """Mean response of (arrival, map, shuffle) under ``rule(present, period) -> slots by station``."""
    waiting = [Phases(*job) for job in jobs]
    here, total, k = [], 0.0, 0
    while here or waiting:
        now = k * period
        while waiting and waiting[0].arrival <= now:
            here.append(waiting.pop(0))
        given = rule(here, now)
        assert all(sum(row[s] for row in given) <= slots[s] for s in (0, 1))
        for job, (maps, shuffles) in zip(list(here), given, strict=True):
            end = job.run(period, maps / slots[0], shuffles / slots[1])
            if end < math.inf:
                total += now + end - job.arrival
                here.remove(job)
        k += 1
    return total / len(jobs)


def hold_slots(jobs, machines, epoch, held, period):
    """Mean response of (arrival, maps, reduce tasks' steps): a step is a second, a machine that is
    granted runs waiting tasks of its job one after the other for ``held`` steps."""
    left, total = {}, 0.0
    waiting = list(jobs)
    now = 0
    while left or waiting:
        for job in [
            j for j, own in left.items() if not own[1] and not own[2] and max(own[3]) <= now
        ]:
            epoch.finish([job])
            del left[job]
        while waiting and waiting[0][0] <= now:
            arrival, maps, reduces = waiting.pop(0)
            job = epoch.add([maps], float(sum(reduces)), arrival=arrival)[0]
            left[int(job)] = [arrival, maps, list(reduces), []]  # ends of what runs
        for job, (_, maps, reduces, ends) in left.items():
            ends[:] = [end for end in ends if end > now]
            ready = len(reduces) if not maps else 0
            epoch.update([job], maps=[maps], reduces=[ready], running=[len(ends)],
                         reduce_left=[float(sum(reduces))])  # fmt: skip
        said = {"period": period} if period else {}
        decision = epoch.decide(float(now), **said)
        assert decision.slots.sum() <= machines
        columns = (decision.ids, decision.maps, decision.reduces)
        for job, on_maps, on_reduces in zip(*(c.tolist() for c in columns), strict=True):
            own = left[job]
            for machine in range(on_maps + on_reduces):
                at = now
                while at < now + held:
                    if machine < on_maps and own[1]:
                        own[1] -= 1
                        at += 1
                    elif machine >= on_maps and own[2]:
                        at += own[2].pop(0)
                    else:
                        break
                if at > now:
                    own[3].append(at)
            if not own[1] and not own[2]:  # all tasks have started
                total += max(own[3]) - own[0]
        now += held
    return total / len(jobs)
