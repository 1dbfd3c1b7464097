"""Policies that rank jobs by work left, on map and reduce slots: tasks one by one, all keys anew.

A decision is made at the first multiple of the epoch at or after a change. Between decisions jobs keep their
keys; a job that came meanwhile has the key that it has on arrival. Whole multiples of a power of two as times
keep sums exact. Shares no code with the simulator.
"""

import heapq
import math


def srpt(maps, reduces):
    """Seconds of all slots: both phases."""
    return maps + reduces


def max_srpt(maps, reduces):
    """The larger phase."""
    return max(maps, reduces)


class _Job:
    def __init__(self, row, arrival, maps, map_seconds, reduces, reduce_seconds):
        self.row, self.arrival, self.key, self.parked = row, arrival, None, 0
        self.total, self.seconds = (maps, reduces), (map_seconds, reduce_seconds)
        self.waiting, self.ended = [maps, reduces], [0, 0]

    def left(self, phase, slots):
        return self.seconds[phase] * (self.total[phase] - self.ended[phase]) / slots[phase]

    def ready(self, phase, slow_start):
        return phase == 0 or self.ended[0] >= math.ceil(slow_start * self.total[0] - 1e-9)


def completions(table, slots, epoch, rank, slow_start=1.0):
    """When jobs ``(arrival, maps, map seconds, reduces, reduce seconds)`` end; arrivals in order."""
    jobs = [_Job(row, *columns) for row, columns in enumerate(table)]
    done = [math.nan] * len(jobs)
    events = [
        (job.arrival, job.row, -1) for job in jobs
    ]  # a phase of -1: it comes; None: a decision
    heapq.heapify(events)
    here, free, decided, due = [], list(slots), -1, None

    def key(job):
        return rank(job.left(0, slots), job.left(1, slots))

    while events or due is not None:
        now = min(events[0][0] if events else math.inf, math.inf if due is None else due)
        changed = False
        while events and events[0][0] == now:
            _, row, phase = heapq.heappop(events)
            job, changed = jobs[row], True
            if phase < 0:
                here.append(job)
                job.key = key(job)
            else:
                free[phase] += 1
                job.ended[phase] += 1
            if phase == 0 and job.ended[0] == job.total[0]:  # reduce tasks that waited for it
                for _ in range(job.parked):
                    heapq.heappush(events, (now + job.seconds[1], row, 1))
                job.parked = 0
            if tuple(job.ended) == job.total:
                done[row] = now
                here.remove(job)
        if changed and due is None:
            due = max(math.ceil(now / epoch), decided + 1) * epoch if epoch else now
        if due == now:
            for job in here:
                job.key = key(job)
            decided, due = (now / epoch if epoch else -1), None
        for phase in (0, 1):
            for job in sorted(here, key=lambda job: (job.key, job.row)):
                if not job.ready(phase, slow_start):
                    continue
                count = min(free[phase], job.waiting[phase])
                free[phase] -= count
                job.waiting[phase] -= count
                if phase == 1 and job.ended[0] < job.total[0]:
                    job.parked += count
                    continue
                for _ in range(count):
                    heapq.heappush(events, (now + job.seconds[phase], job.row, phase))
    return done
