"""A checker of schedules, which knows nothing of how they came about.

Proves: a list of pieces is a schedule of the instance, and the completions are its own.
How: cut time at every start and end of a piece; within each cut every job's slots are constant,
and each rule is checked as it reads.
"""

import math
from itertools import pairwise


def violations(
    pieces,
    work,
    minimum,
    maximum,
    slots,
    *,
    completion=None,
    arrival=None,
    now=0.0,
    min_mode="guarantee",
    integral=True,
    tolerance=1e-6,
):
    """What is wrong with ``pieces`` (job, start, end, slots); an empty list if nothing is.

    Pieces of one job may overlap and add up. ``min_mode``: "guarantee" (at least the minimum, as
    given, from ``now`` to the job's last end), "gang" (none or at least the minimum) or "none".
    ``completion`` is absolute; a job without work must have its arrival there. Work, slots and
    times may be off by ``tolerance``, relatively; cuts shorter than 1e-9 of the schedule are not
    looked at, since rounding makes them.
    """
    assert min_mode in {"guarantee", "gang", "none"}
    count = len(work)
    found = []
    pieces = [(int(j), float(a), float(b), float(s)) for j, a, b, s in pieces]
    for row, (j, start, end, given) in enumerate(pieces):
        if not 0 <= j < count:
            return [f"piece {row}: job {j} does not exist"]
        if not all(map(math.isfinite, (start, end, given))):
            return [f"piece {row}: not finite"]
        if start < now - tolerance * max(1.0, abs(now)):
            found.append(f"piece {row}: starts at {start}, before now")
        if end < start or given < 0:
            found.append(f"piece {row}: from {start} to {end} on {given} slots")
        if integral and given != round(given):
            found.append(f"piece {row}: {given} slots are not a whole number")

    done = [0.0] * count
    last = [-math.inf] * count
    for j, start, end, given in pieces:
        done[j] += given * (end - start)
        if given > 0:
            last[j] = max(last[j], end)
    for j in range(count):
        if abs(done[j] - work[j]) > tolerance * work[j]:
            found.append(f"job {j}: {done[j]} of {work[j]} slot-seconds done")
        if completion is not None:
            true_end = last[j] if work[j] > 0 else (0.0 if arrival is None else arrival[j])
            if abs(completion[j] - true_end) > tolerance * max(1.0, abs(true_end)):
                found.append(f"job {j}: completes at {true_end}, not at {completion[j]}")

    times = sorted({now, *(p[1] for p in pieces), *(p[2] for p in pieces)})
    shortest = 1e-9 * (times[-1] - times[0])
    slack = 1 + tolerance
    starting, ending = {}, {}
    for row, (_, start, end, _) in enumerate(pieces):
        starting.setdefault(start, []).append(row)
        ending.setdefault(end, []).append(row)
    running = set()
    for left, right in pairwise(times):
        running |= set(starting.get(left, ()))
        running -= set(ending.get(left, ()))
        if right - left <= shortest:
            continue
        given = [0.0] * count
        for row in running:
            given[pieces[row][0]] += pieces[row][3]
        when = f"from {left} to {right}"
        if sum(given) > slots * slack:
            found.append(f"{when}: {sum(given)} of {slots} slots used")
        for j in range(count):
            if given[j] > min(maximum[j], slots) * slack:
                found.append(f"job {j} {when}: {given[j]} slots, at most {maximum[j]}")
            if given[j] * slack < minimum[j]:
                short = right <= last[j] if min_mode == "guarantee" else given[j] > 0
                if short and min_mode != "none":
                    found.append(f"job {j} {when}: {given[j]} slots, at least {minimum[j]}")
    return found
