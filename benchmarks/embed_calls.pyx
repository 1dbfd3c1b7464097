# cython: language_level=3, boundscheck=False, wraparound=False
"""Many calls of the C interface from Cython, timed by the clock of the thread's processor time."""
cimport malleable
from libc.stdint cimport int64_t
from libc.string cimport memset
from time import thread_time


def decide(size_t handle, double now, int64_t calls):
    """Seconds of so many decisions of one job."""
    cdef malleable.malleable_epoch *epoch = <malleable.malleable_epoch *>handle
    cdef int64_t k, ids = 0, given = 0
    cdef malleable.malleable_decision decision
    memset(&decision, 0, sizeof(decision))
    decision.bytes, decision.room, decision.ids, decision.given = sizeof(decision), 1, &ids, &given
    began = thread_time()
    with nogil:
        for k in range(calls):
            malleable.malleable_epoch_decide(epoch, now, NULL, 0.0, &decision)
    took = thread_time() - began
    assert given == 1 and decision.rows == 1
    return took


def size(size_t handle, double now, int64_t calls):
    """Seconds of so many questions how many jobs there are: the call alone."""
    cdef malleable.malleable_epoch *epoch = <malleable.malleable_epoch *>handle
    cdef int64_t k, jobs = 0
    began = thread_time()
    with nogil:
        for k in range(calls):
            malleable.malleable_epoch_size(epoch, &jobs, NULL)
    took = thread_time() - began
    assert jobs == 1
    return took
