"""A scheduler's loop over flows that arrive, as a fluid: slots are asked for at every event.

Jobs run at the slots that they are given until the next arrival or the next end of a job. O(events x jobs).
"""

import numpy as np


def fluid_loop(arrival, job_offset, work, decide):
    """When each flow ends.

    ``decide(now, came, finished, left)`` is told the flows that came and the jobs that finished since it
    was asked last, and what is left of every job; it returns the job rows that hold slots, and how many.
    """
    left = np.array(work, dtype=float)
    flow = np.repeat(np.arange(len(arrival)), np.diff(job_offset))
    open_jobs = np.diff(job_offset).copy()
    completion = np.array(arrival, dtype=float)
    order = np.argsort(arrival, kind="stable")
    now, next_flow, finished = float(min(arrival)), 0, np.empty(0, dtype=int)
    while True:
        come = next_flow
        while come < len(order) and arrival[order[come]] <= now:
            come += 1
        rows, slots = decide(now, order[next_flow:come], finished, left)
        next_flow = come
        until = arrival[order[come]] if come < len(order) else np.inf
        if not len(rows) and until == np.inf:
            assert not open_jobs.any(), "nobody has slots, and nobody comes"
            return completion
        ends = now + left[rows] / slots
        until = min(until, ends.min(initial=np.inf))
        done = ends <= until + 1e-12 * max(1.0, abs(until))
        left[rows] = np.maximum(left[rows] - slots * (until - now), 0.0)
        left[rows[done]] = 0.0
        finished, now = rows[done], until
        np.subtract.at(open_jobs, flow[finished], 1)
        completion[flow[finished]] = now
