"""The same scheduler's loop in Python, and in Numba: what jobs get at every step."""

import numpy as np

import malleable as mb
from malleable import embed

STEPS = 80


def instance(seed=5, jobs=200):
    """Work, maxima, and which jobs come at which step."""
    rng = np.random.default_rng(seed)
    work = rng.integers(1, 60, jobs).astype(np.float64)
    most = rng.integers(1, 9, jobs)
    offset = np.sort(rng.integers(0, jobs + 1, STEPS + 1))
    offset[0], offset[-1] = 0, jobs
    return work, most, offset


def new_epoch():
    return mb.Epoch(40, "sum:stretch")


def in_python(work, most, offset):
    epoch, left = new_epoch(), work.copy()
    log = np.full((STEPS, len(work)), -1)
    for t in range(STEPS):
        rows = slice(offset[t], offset[t + 1])
        if offset[t + 1] > offset[t]:
            epoch.add(work[rows], max_slots=most[rows])
        decision = epoch.decide(float(t))
        log[t, decision.ids] = decision.slots
        left[decision.ids] = np.maximum(0.0, left[decision.ids] - decision.slots)
        epoch.update(decision.ids, work=left[decision.ids])
        epoch.finish(decision.ids[left[decision.ids] == 0.0])
    return log


def numba_loop():
    """The loop, compiled: it calls the C interface without the interpreter."""
    import numba

    add = embed.function("malleable_epoch_add")
    update = embed.function("malleable_epoch_update")
    finish = embed.function("malleable_epoch_finish")
    decide = embed.function("malleable_epoch_decide")

    @numba.njit(nogil=True)
    def run(epoch, work, most, offset, log, jobs, changes, decision):
        ids = np.zeros(len(work) + 1, np.int64)
        given, gone = ids.copy(), ids.copy()
        decision[0].room = len(work)
        decision[0].ids, decision[0].given = ids.ctypes.data, given.ctypes.data
        left, now_left = work.copy(), np.zeros(len(work) + 1)
        changes[0].work = now_left.ctypes.data
        status = 0
        for t in range(len(log)):
            first = offset[t]
            jobs[0].count = offset[t + 1] - first
            if jobs[0].count > 0:
                jobs[0].work = work[first:].ctypes.data
                jobs[0].max_slots = most[first:].ctypes.data
                status |= add(epoch, jobs.ctypes, gone.ctypes, 0)
            status |= decide(epoch, t, 0, 0.0, decision.ctypes)
            rows = decision[0].rows
            ended = 0
            for k in range(rows):
                log[t, ids[k]] = given[k]
                left[ids[k]] = max(0.0, left[ids[k]] - given[k])
                now_left[k] = left[ids[k]]
                if now_left[k] == 0.0:
                    gone[ended] = ids[k]
                    ended += 1
            changes[0].count = rows
            status |= update(epoch, changes.ctypes, ids.ctypes, 0)
            status |= finish(epoch, ended, gone.ctypes)
        return status

    return run
