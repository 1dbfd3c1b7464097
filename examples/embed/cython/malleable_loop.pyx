# cython: language_level=3
"""A scheduler's loop in Cython, without the interpreter's lock: ``python -c 'import malleable_loop; malleable_loop.run()'``."""
cimport malleable
from libc.stdint cimport int64_t
from libc.stdio cimport fflush, printf, stdout
from libc.string cimport memset


def run():
    cdef double[3] work = [40.0, 18.0, 9.0]  # slot-seconds that are left
    cdef int64_t[3] most = [8, 4, 4]
    cdef int64_t[3] ids, given, slots, ended
    cdef double[3] left
    cdef int64_t count, k
    cdef int now, status
    cdef malleable.malleable_epoch *epoch = NULL
    cdef malleable.malleable_jobs jobs, changes
    cdef malleable.malleable_decision decision
    memset(&jobs, 0, sizeof(jobs))
    memset(&changes, 0, sizeof(changes))
    memset(&decision, 0, sizeof(decision))
    decision.bytes, decision.room, decision.ids, decision.given = sizeof(decision), 3, ids, given
    jobs.bytes, jobs.count, jobs.work, jobs.max_slots = sizeof(jobs), 3, work, most
    changes.bytes, changes.work = sizeof(changes), left
    with nogil:
        status = malleable.malleable_epoch_new(10, NULL, &epoch)
        if status == 0:
            status = malleable.malleable_epoch_add(epoch, &jobs, NULL, NULL)
        for now in range(100):
            if status != 0:
                break
            status = malleable.malleable_epoch_decide(epoch, now, NULL, 1.0, &decision)
            if status != 0 or decision.rows == 0:
                break
            memset(slots, 0, sizeof(slots))
            count = 0
            for k in range(decision.rows):  # your cluster works for a second
                slots[ids[k]] = given[k]
                work[ids[k]] = max(0.0, work[ids[k]] - given[k])
                left[k] = work[ids[k]]
                if left[k] == 0.0:
                    ended[count] = ids[k]
                    count += 1
            printf("%d s: %d %d %d\n", now, <int>slots[0], <int>slots[1], <int>slots[2])
            changes.count = decision.rows
            status = malleable.malleable_epoch_update(epoch, &changes, ids, NULL)
            if status == 0:
                status = malleable.malleable_epoch_finish(epoch, count, ended)
        malleable.malleable_epoch_free(epoch)
        fflush(stdout)
    if status != 0:
        raise ValueError(malleable.malleable_message().decode())
