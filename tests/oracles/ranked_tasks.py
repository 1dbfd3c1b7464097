"""Policies by attained service (work done), on one kind of slots: tasks one by one, all anew at each event."""

import heapq
import math


def completions(arrival, tasks, seconds, slots, rank):
    """When jobs end if a free slot goes to the job with tasks left of the least ``rank(now, here, had)``,
    a list of keys of the jobs that are here; ``had``: slot-seconds of their tasks that ended."""
    left, running, had = list(tasks), [0] * len(tasks), [0.0] * len(tasks)
    done = [math.nan] * len(tasks)
    events = [(time, 0, job) for job, time in enumerate(arrival)]
    heapq.heapify(events)
    here, free = [], slots
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _, ends, job = heapq.heappop(events)
            if not ends:
                here.append(job)
                continue
            free += 1
            running[job] -= 1
            had[job] += seconds[job]
            if left[job] == running[job] == 0:
                done[job] = now
                here.remove(job)
        keys = dict(zip(here, rank(now, here, had), strict=True))
        for job in sorted(here, key=lambda job: (keys[job], arrival[job])):
            count = min(free, left[job])
            for _ in range(count):
                heapq.heappush(events, (now + seconds[job], 1, job))
            left[job] -= count
            running[job] += count
            free -= count
    return done


def doubling(had):
    """The class of what a job had: the least k with had <= 2^k, from -9."""
    k = -9
    while had > 2.0**k:
        k += 1
    return k


class Gittins:
    """The index from what ended, by classes; anew when an eighth more has ended."""

    def __init__(self, sizes=()):
        self.sizes, self.known, self.seen = list(sizes), None, len(sizes)

    def index(self, had):
        """Of all classes in which one may stop, the best chance to end over what it costs."""
        points = [(0.75 * 2.0**k if k > -9 else 0.5 * 2.0**k, k, 1 / 64) for k in range(-9, 55)]
        points += [(0.75 * 2.0 ** doubling(size), doubling(size), 1.0) for size in self.known]
        own = doubling(had)
        least = 2.0 ** (own - 1) if own > -9 else 0.0
        longer = [point for point in points if point[1] >= own]
        best = 0.0
        for stop in range(own, 55):
            ends = sum(count for _, k, count in longer if k <= stop)
            cost = sum(
                count * ((size if k <= stop else 2.0**stop) - least) for size, k, count in longer
            )
            best = max(best, ends / cost)
        return best

    def __call__(self, now, here, had):
        if self.known is None or len(self.sizes) > 1.125 * len(self.known):
            self.known = list(self.sizes)
        return [-self.index(had[job]) for job in here]
