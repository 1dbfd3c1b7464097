# cython: language_level=3, boundscheck=False, wraparound=False
"""A scheduler's loop in Cython, without the interpreter's lock; tests/embed/loops.py has the same in Python."""
cimport malleable
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset
from malleable cimport (
    malleable_decision, malleable_epoch, malleable_epoch_options, malleable_jobs
)


def version():
    return malleable.malleable_version().decode()


def run(double[::1] work, int64_t[::1] most, int64_t[::1] offset, int64_t slots, int64_t[:, ::1] log,
        size_t handle=0):
    """Jobs offset[t] .. offset[t + 1] come at t; log[t, id] is what they get. An epoch of its own, or of Python's."""
    cdef malleable_epoch *epoch = <malleable_epoch *>handle
    cdef malleable_jobs jobs, changes
    cdef malleable_decision decision
    cdef malleable_epoch_options options
    cdef int64_t t, k, n, ended, total = work.shape[0], steps = log.shape[0]
    cdef int64_t[::1] ids, given, gone
    cdef double[::1] left, now_left
    cdef int status = 0
    import numpy as np
    if total == 0:
        return
    ids, given, gone = (np.zeros(total + 1, np.int64) for _ in range(3))
    left, now_left = np.array(work), np.zeros(total + 1)
    with nogil:
        if handle == 0:
            memset(&options, 0, sizeof(options))
            options.bytes, options.objective = sizeof(options), "sum:stretch"
            status = malleable.malleable_epoch_new(slots, &options, &epoch)
        memset(&decision, 0, sizeof(decision))
        decision.bytes, decision.room = sizeof(decision), total
        decision.ids, decision.given = &ids[0], &given[0]
        memset(&jobs, 0, sizeof(jobs))
        memset(&changes, 0, sizeof(changes))
        jobs.bytes = changes.bytes = sizeof(jobs)
        for t in range(steps):
            if status != 0:
                break
            n = offset[t + 1] - offset[t]
            if n > 0:
                jobs.count = n
                jobs.work = &work[offset[t]]
                jobs.max_slots = &most[offset[t]]
                status |= malleable.malleable_epoch_add(epoch, &jobs, NULL, NULL)
            status |= malleable.malleable_epoch_decide(epoch, t, NULL, 0.0, &decision)
            ended = 0
            for k in range(decision.rows):
                log[t, ids[k]] = given[k]
                left[ids[k]] = max(0.0, left[ids[k]] - given[k])
                now_left[k] = left[ids[k]]
                if now_left[k] == 0.0:
                    gone[ended] = ids[k]
                    ended += 1
            changes.count, changes.work = decision.rows, &now_left[0]
            status |= malleable.malleable_epoch_update(epoch, &changes, &ids[0], NULL)
            status |= malleable.malleable_epoch_finish(epoch, ended, &gone[0])
        if handle == 0:
            malleable.malleable_epoch_free(epoch)
    if status != 0:
        raise ValueError(malleable.malleable_message().decode())
