"""A cluster of map and reduce slots, second by second, in whole seconds: slow and obvious.

Every task is an object. At each second: tasks that are over end, jobs arrive, the policy gives every
job its target, then free slots go one at a time to the job that is relatively most below its target.
Decisions every second. Shares no code with the simulator.
"""

from __future__ import annotations

import math


class _Job:
    def __init__(self, row, arrival, maps, map_seconds, reduces, reduce_seconds, shuffle):
        self.row, self.arrival = row, arrival
        self.left = {"map": maps, "reduce": reduces}
        self.maps, self.map_seconds = maps, map_seconds
        self.reduces, self.reduce_seconds, self.shuffle = reduces, reduce_seconds, shuffle
        self.running = {"map": [], "reduce": []}  # seconds that each task has run
        self.maps_done = []  # when
        self.reduces_done = 0
        self.completion = None
        self.copied = []  # by running reduce task, in step with `running`

    def released(self, now):
        """Share of its data that a reduce task could have by now, one part a finished map."""
        return len(self.maps_done) / self.maps if self.maps else 1.0

    def ready(self, phase, slow_start):
        if phase == "map":
            return True
        return len(self.maps_done) >= math.ceil(slow_start * self.maps - 1e-9)

    def seconds(self, phase):
        return self.map_seconds if phase == "map" else self.shuffle + self.reduce_seconds

    def finished(self, phase):
        return len(self.maps_done) if phase == "map" else self.reduces_done

    def work(self, phase):
        total = self.maps if phase == "map" else self.reduces
        return (total - self.finished(phase)) * self.seconds(phase)


def _fair(jobs, slots):
    """Whole slots, one at a time to whoever has least; `jobs` are (most, work) pairs."""
    given = [0] * len(jobs)
    for _ in range(slots):
        open_jobs = [k for k, (most, _) in enumerate(jobs) if given[k] < most]
        if not open_jobs:
            break
        given[min(open_jobs, key=lambda k: (given[k], k))] += 1
    return given


def _shortest(jobs, slots):
    given = [0] * len(jobs)
    for k in sorted(range(len(jobs)), key=lambda k: (jobs[k][1], k)):
        given[k] = min(jobs[k][0], slots)
        slots -= given[k]
    return given


def _fifo(jobs, slots):
    given = [0] * len(jobs)
    for k, (most, _) in enumerate(jobs):
        given[k] = min(most, slots)
        slots -= given[k]
    return given


_POLICIES = {"fair": _fair, "flex": _shortest, "fifo": _fifo}


def simulate(table, slots, policy, slow_start):
    """Completions of jobs ``(arrival, maps, map_seconds, reduces, reduce_seconds, shuffle)``.

    Whole numbers throughout; arrivals in order; ``shuffle`` a multiple of ``maps``.
    """
    jobs = [_Job(row, *columns) for row, columns in enumerate(table)]
    present, now, waiting = [], 0, list(jobs)
    seen = {"map": [], "reduce": []}  # in the order in which phases became ready
    while waiting or present:
        for job in present:
            for phase in ("map", "reduce"):
                _end(job, phase, now)
        for job in list(present):
            if len(job.maps_done) == job.maps and job.reduces_done == job.reduces:
                job.completion = now
                present.remove(job)
        while waiting and waiting[0].arrival == now:
            job = waiting.pop(0)
            if job.maps + job.reduces == 0:
                job.completion = now
            else:
                present.append(job)
        for phase in ("map", "reduce"):
            _assign(present, seen[phase], phase, slots[phase], policy, slow_start)
        now += 1
        for job in present:
            for phase in ("map", "reduce"):
                job.running[phase] = [ran + 1 for ran in job.running[phase]]
            # Copying goes on during this second as far as data are there.
            for k, copied in enumerate(job.copied):
                if copied < job.shuffle * job.released(now):
                    job.copied[k] = copied + 1
                elif copied < job.shuffle or job.released(now) < 1:
                    job.running["reduce"][k] -= 1
        assert now < 100_000
    return [job.completion for job in jobs]


def _end(job, phase, now):
    keep = [k for k, ran in enumerate(job.running[phase]) if ran < job.seconds(phase)]
    done = len(job.running[phase]) - len(keep)
    job.running[phase] = [job.running[phase][k] for k in keep]
    if phase == "map":
        job.maps_done += [now] * done
    else:
        job.copied = [job.copied[k] for k in keep]
        job.reduces_done += done


def _assign(present, seen, phase, slots, policy, slow_start):
    seen += [job for job in present if job.ready(phase, slow_start) and job not in seen]
    ready = [
        job for job in seen if job in present and job.left[phase] + len(job.running[phase]) > 0
    ]
    demands = [(job.left[phase] + len(job.running[phase]), job.work(phase)) for job in ready]
    target = dict(zip(ready, _POLICIES[policy](demands, slots), strict=True))
    free = slots - sum(len(job.running[phase]) for job in present)
    for _ in range(free):
        best = None
        for job in present:
            if job not in target or job.left[phase] == 0:
                continue
            if policy == "fifo":
                need = 0.0
            elif target[job] == 0:
                need = math.inf
            else:
                need = len(job.running[phase]) / target[job]
            if best is None or need < best[0]:
                best = (need, job)
        if best is None:
            return
        job = best[1]
        job.left[phase] -= 1
        job.running[phase].append(0)
        if phase == "reduce":
            job.copied.append(0)
