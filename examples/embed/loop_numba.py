"""A scheduler's loop in Numba, without the interpreter's lock. One command: ``python loop_numba.py``."""

import numba  # needs malleable[custom]
import numpy as np

import malleable as mb
from malleable import embed

decide = embed.function("malleable_epoch_decide")
update = embed.function("malleable_epoch_update")
finish = embed.function("malleable_epoch_finish")


@numba.njit(nogil=True)
def run(epoch, work, changes, decision, log):
    """Slots of each job by second; the number of seconds, or -1 after an error."""
    jobs = len(work)
    ids, given = np.zeros(jobs, np.int64), np.zeros(jobs, np.int64)
    left, ended = np.zeros(jobs), np.zeros(jobs, np.int64)
    changes[0].work = left.ctypes.data
    decision[0].room = jobs
    decision[0].ids, decision[0].given = ids.ctypes.data, given.ctypes.data
    for now in range(len(log)):
        asked = decide(epoch, now, 0, 1.0, decision.ctypes)  # held for a second
        rows = decision[0].rows
        if asked != 0 or rows == 0:
            return -1 if asked != 0 else now
        count = 0
        for k in range(rows):  # your cluster works for a second
            work[ids[k]] = max(0.0, work[ids[k]] - given[k])
            left[k], log[now, ids[k]] = work[ids[k]], given[k]
            if left[k] == 0.0:
                ended[count] = ids[k]
                count += 1
        changes[0].count = rows
        if update(epoch, changes.ctypes, ids.ctypes, 0) != 0:
            return -1
        if finish(epoch, count, ended.ctypes) != 0:
            return -1
    return len(log)


def main():
    work = np.array([40.0, 18.0, 9.0])  # slot-seconds that are left
    epoch = mb.Epoch(slots=10)  # kept while its handle is used
    epoch.add(work, max_slots=[8, 4, 4])
    log = np.zeros((100, 3), np.int64)
    changes = np.zeros(1, embed.record("malleable_jobs"))
    decision = np.zeros(1, embed.record("malleable_decision"))
    changes["bytes"], decision["bytes"] = changes.itemsize, decision.itemsize
    seconds = run(embed.handle(epoch), work, changes, decision, log)
    for now in range(seconds):
        print(f"{now} s:", *log[now])


if __name__ == "__main__":
    main()
