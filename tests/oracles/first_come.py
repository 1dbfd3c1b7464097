"""Rigid jobs, first come first served with one reservation (EASY), event by event and slot by slot."""

from __future__ import annotations


def easy(arrival, seconds, width, slots):
    """When each job starts. Times are exact; jobs are in the order of arrival."""
    start = [None] * len(arrival)
    events = sorted(set(arrival))
    while events:
        now = events.pop(0)
        waiting = [j for j in range(len(arrival)) if start[j] is None and arrival[j] <= now]
        reserved = None
        for j in waiting:
            runs = [k for k in range(len(arrival)) if start[k] is not None]
            runs = [k for k in runs if start[k] + seconds[k] > now]
            free = slots - sum(width[k] for k in runs)
            if width[j] <= free:
                if reserved is not None:
                    until, spare = reserved
                    if now + seconds[j] > until:
                        if width[j] > spare:
                            continue
                        reserved = until, spare - width[j]
                start[j] = now
                events = sorted({*events, now + seconds[j]})
            elif reserved is None:
                until = now
                for k in sorted(runs, key=lambda k: start[k] + seconds[k]):
                    if free >= width[j]:
                        break
                    free += width[k]
                    until = start[k] + seconds[k]
                reserved = until, free - width[j]
    return start
