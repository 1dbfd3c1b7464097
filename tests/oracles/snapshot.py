"""What is left of jobs that came one by one, worked on in exact fractions.

Proves: the work left of every job at a time, and who is still there.
How: from event to event (an arrival, a completion, the time asked for), the slots of those who are
there are whatever ``share`` says of their rows, in order of arrival.
"""

from fractions import Fraction


def left_at(work, arrival, at, share):
    """Work left of every job at ``at``; None for jobs that have not come by then.

    ``share(rows)`` gives a number of slots for each of these rows, which are unfinished.
    """
    at = Fraction(at)
    work, arrival = [Fraction(w) for w in work], [Fraction(a) for a in arrival]
    came = sorted((a, row) for row, a in enumerate(arrival) if a <= at)
    left = [None] * len(work)
    for _, row in came:
        left[row] = work[row]
    now = came[0][0] if came else at
    while now < at:
        there = [row for when, row in came if when <= now and left[row] > 0]
        slots = dict(zip(there, share(there), strict=True))
        nexts = [at] + [when for when, _ in came if when > now]
        nexts += [now + left[row] / s for row, s in slots.items() if s > 0]
        then = min(nexts)
        for row, s in slots.items():
            left[row] -= s * (then - now)
        now = then
    return left
