"""When blocks arrive over shared links, event by event with everything computed anew: slow and obvious.

At every event all rates are found by raising them together until a link is full. Shares no code with the
simulator.
"""

from __future__ import annotations

import math


def path(a, b):
    """Links that a byte from one node to another crosses."""
    return [("disk", a)] + ([("out", a), ("in", b)] if a != b else [])


def rates(capacity, going):
    """Bytes a second of each read, max-min fair."""
    rising, rate = set(going), {}
    while rising:
        levels = {}
        for link, speed in capacity.items():
            sharing = [key for key in rising if link in path(*going[key][:2])]
            used = sum(rate[key] for key in rate if link in path(*going[key][:2]))
            if sharing and speed < math.inf:
                levels[link] = max(0.0, speed - used) / len(sharing)
        if not levels:
            return rate | dict.fromkeys(rising, math.inf)
        least = min(levels.values())
        full = {link for link, level in levels.items() if level <= least * (1 + 1e-12)}
        for key in sorted(rising):
            if full & set(path(*going[key][:2])):
                rate[key] = least
                rising.discard(key)
    return rate


def arrivals(storage, link, reads):
    """When each block is there. ``reads``: (key, time, source, node, bytes)."""
    capacity = {("disk", node): speed for node, speed in enumerate(storage)}
    for way in ("out", "in"):
        capacity |= {(way, node): speed for node, speed in enumerate(link)}
    reads, going, found, now = sorted(reads, key=lambda row: row[1]), {}, {}, 0.0
    while reads or going:
        rate = rates(capacity, going)
        ends = {key: now + own[2] / rate[key] for key, own in going.items()}
        when = min([*ends.values(), *(row[1] for row in reads[:1])])
        for key, own in list(going.items()):
            own[2] -= rate[key] * (when - now) if rate[key] < math.inf else own[2]
            if ends[key] <= when * (1 + 1e-13):
                found[key] = when
                del going[key]
        now = when
        while reads and reads[0][1] <= now:
            key, _, source, node, size = reads.pop(0)
            going[key] = [source, node, size]
    return found
