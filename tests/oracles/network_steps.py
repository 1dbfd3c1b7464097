"""When data arrive over shared links, event by event with everything computed anew: slow and obvious.

Every transfer is a bag of bytes by source node, on its way to one node (or to several, by shares). At
every event all rates are found by raising them together until a link is full. Shares no code with the
simulator.
"""

from __future__ import annotations

import math


class Network:
    """Links by name, and what crosses them: ``crossed[link]`` bytes."""

    def __init__(self, storage, link):
        self.capacity = {}
        for node in range(len(link)):
            self.capacity["disk", node] = storage[node]
            self.capacity["out", node] = self.capacity["in", node] = link[node]
        self.crossed = dict.fromkeys(self.capacity, 0.0)
        self.transfers = {}  # key: [bytes by source, shares by destination, weight]

    def path(self, a, b):
        links = [("disk", a)]
        if a != b:
            links += [("out", a), ("in", b)]
        return links

    def parts(self, transfer):
        """How much of each byte crosses each link."""
        held, shares, _ = transfer
        total = math.fsum(held.values())
        parts = {}
        for a, size in held.items():
            for b, share in shares.items():
                for link in self.path(a, b):
                    parts[link] = parts.get(link, 0.0) + size / total * share
        return {link: part for link, part in parts.items() if part > 0.0}

    def moving(self):
        return [key for key, (held, _, _) in self.transfers.items() if sum(held.values()) > 0.0]

    def rates(self):
        rising = set(self.moving())
        parts = {key: self.parts(self.transfers[key]) for key in rising}
        weight = {key: self.transfers[key][2] for key in rising}
        rate = {}
        while rising:
            levels = {}
            for link, capacity in self.capacity.items():
                heavy = sum(weight[key] * parts[key].get(link, 0.0) for key in rising)
                if heavy > 0.0 and capacity < math.inf:
                    used = sum(rate[key] * parts[key].get(link, 0.0) for key in rate)
                    levels[link] = max(0.0, capacity - used) / heavy
            if not levels:
                return rate | dict.fromkeys(rising, math.inf)
            least = min(levels.values())
            full = {link for link, level in levels.items() if level <= least * (1 + 1e-12)}
            for key in sorted(rising):
                if full & parts[key].keys():
                    rate[key] = least * weight[key]
                    rising.discard(key)
        return rate

    def advance(self, now, until):
        """On to the next end before a time: when, and which transfers have nothing left."""
        rate = self.rates()
        left = {key: math.fsum(self.transfers[key][0].values()) for key in rate}
        ends = {key: now + (left[key] / rate[key] if rate[key] < math.inf else 0.0) for key in rate}
        when = min([until, *ends.values()])
        done = []
        for key in rate:
            over = ends[key] <= when * (1 + 1e-13)
            moved = left[key] if over else rate[key] * (when - now)
            for link, part in self.parts(self.transfers[key]).items():
                self.crossed[link] += part * moved
            held = self.transfers[key][0]
            for node in held:
                held[node] *= 0.0 if over else 1.0 - moved / left[key]
            if over:
                done.append(key)
        return when, done


def arrivals(network, reads, outputs, copies):
    """When the data of tasks are complete.

    ``reads``: (key, time, source, node, bytes). ``outputs``: (time, job, node, bytes for each copy of
    that job), ``copies``: (key, time, job, shares by node, weight, outputs to wait for).
    """
    reads = sorted(reads, key=lambda row: row[1])
    outputs, copies = sorted(outputs), sorted(copies, key=lambda row: row[1])
    seen, waits, found = {}, {}, {}
    made = {}  # outputs so far: by job, then node
    now = 0.0
    while reads or outputs or copies or network.transfers:
        while outputs and outputs[0][0] <= now:
            _, job, node, size = outputs.pop(0)
            made.setdefault(job, []).append((node, size))
            for key, (own, _) in waits.items():
                if own == job:
                    held = network.transfers[key][0]
                    held[node] = held.get(node, 0.0) + size
                    seen[key] += 1
        while reads and reads[0][1] <= now:
            key, _, source, node, size = reads.pop(0)
            network.transfers[key] = [{source: size}, {node: 1.0}, 1.0]
        while copies and copies[0][1] <= now:
            key, _, job, shares, weight, count = copies.pop(0)
            held = {}
            for node, size in made.get(job, []):
                held[node] = held.get(node, 0.0) + size
            network.transfers[key] = [held, shares, weight]
            seen[key], waits[key] = len(made.get(job, [])), (job, count)
        for key in list(network.transfers):
            held = network.transfers[key][0]
            if sum(held.values()) == 0.0 and (key not in waits or seen[key] == waits[key][1]):
                found[key] = now
                del network.transfers[key]
                waits.pop(key, None)
        coming = [rows[0][0 if rows is outputs else 1] for rows in (reads, outputs, copies) if rows]
        until = min(coming, default=math.inf)
        if until == math.inf and not network.moving():
            break
        now, _ = network.advance(now, until)
    return found
