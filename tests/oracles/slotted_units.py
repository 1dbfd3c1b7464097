"""Map and reduce tasks in time steps, one machine at a time: slow, obvious, with all state in plain lists.

Jobs are (arrival, maps, reduce tasks). In every step a policy ranks the tasks that could start, and
machines are handed out one by one. Nothing is kept from step to step but what is left of each job,
and the virtual schedule by shortest remaining work (SRPT) of ASRPT and DSRPT, which is handed out unit by unit
as well.
"""

import math


class Job:
    def __init__(self, number, arrival, maps, tasks, estimate=None):
        self.number, self.arrival = number, arrival
        self.maps = maps
        self.tasks = list(tasks)  # lengths of those not started
        self.running = []  # units left of running tasks, non-preemptive
        self.units = sum(tasks)  # reduce units left, preemptive
        self.reduce_total = sum(tasks)
        self.estimate = self.reduce_total if estimate is None else estimate
        self.map_end = arrival - 1
        self.start = None
        self.finish = arrival - 1 if maps + self.reduce_total == 0 else None
        # Virtual SRPT.
        self.virtual_maps = maps
        self.virtual_left = maps + self.estimate

    def reduce_left(self, preemptive):
        return self.units if preemptive else sum(self.tasks) + sum(self.running)

    def shown_left(self, preemptive):
        done = self.reduce_total - self.reduce_left(preemptive)
        if done <= self.estimate:
            return self.estimate - done
        return done / 4

    def startable(self, preemptive):
        """Reduce tasks (units) that may start, as of the beginning of the step."""
        return self.units if preemptive else len(self.tasks)


def virtual_step(jobs, machines):
    """What SRPT without precedence does in a step: {job: (map units, all units)}."""
    served = {}
    for _ in range(machines):
        waiting = [job for job in jobs if job.virtual_left > 0]
        if not waiting:
            break
        job = min(waiting, key=lambda j: (j.virtual_left, j.arrival, j.number))
        maps, total = served.get(job, (0, 0))
        if job.virtual_maps > 0:
            job.virtual_maps -= 1
            maps += 1
        job.virtual_left -= 1
        served[job] = (maps, total + 1)
    return served


class Step:
    """The tasks that could run in one step, as of its beginning, and the machines that each job got."""

    def __init__(self, live, idle, preemptive):
        self.idle = idle
        self.mapping = {job: job.maps > 0 for job in live}
        self.limit = {job: job.maps if job.maps > 0 else job.startable(preemptive) for job in live}
        self.left = {job: job.shown_left(preemptive) for job in live}
        self.total = {job: job.maps + self.left[job] for job in live}
        self.gets = dict.fromkeys(live, 0)

    def give(self, job, most):
        for _ in range(int(min(most, 10**6))):
            if self.idle > 0 and self.gets[job] < self.limit[job]:
                self.gets[job] += 1
                self.idle -= 1

    def ranked(self, sign):
        return sorted(self.gets, key=lambda j: (sign * self.total[j], j.arrival, j.number))


def simulate(table, machines, policy, preemptive, estimates=None, most_steps=10**5):
    """Returns per job (first step, step of the last map task, last step), and per step the machines
    used; ``table`` in order of arrival."""
    jobs = [
        Job(k, a, m, tasks, None if estimates is None else estimates[k])
        for k, (a, m, tasks) in enumerate(table)
    ]
    queue = []  # DSRPT: [job, units or infinity] in order
    use = []
    step = 0
    while any(job.finish is None for job in jobs):
        step += 1
        assert step < most_steps
        live = [job for job in jobs if job.arrival <= step and job.finish is None]
        known = [job for job in jobs if job.arrival <= step]
        idle = machines - sum(len(job.running) for job in live)
        busy = machines - idle
        now = Step(live, idle, preemptive)
        mapping, limit, gets, give = now.mapping, now.limit, now.gets, now.give
        order = now.ranked(1)

        if policy in ("asrpt", "unlock", "dsrpt"):
            # DSRPT knows no more of a job that has ended, whatever its estimate said.
            served = virtual_step(live if policy == "dsrpt" else known, machines)
        if policy == "asrpt":
            for job in order:
                if mapping[job]:
                    give(job, served.get(job, (0, 0))[0])
            for job in order:
                if not mapping[job]:
                    give(job, limit[job])
            for job in order:
                if mapping[job]:
                    give(job, job.maps)
        elif policy == "unlock":
            for job in order:
                if mapping[job] and 2 * job.maps <= now.left[job]:
                    give(job, served.get(job, (0, 0))[0])
            for job in order:
                give(job, limit[job])
        elif policy == "dsrpt":
            for job, (maps, _) in served.items():
                if mapping.get(job):
                    give(job, maps)
            for entry in queue:
                job, units = entry
                if job.finish is None:
                    before = gets[job]
                    give(job, min(units, limit[job]))
                    entry[1] -= gets[job] - before
            queue = [entry for entry in queue if entry[1] > 0 and entry[0].finish is None]
            for job, (maps, units) in served.items():
                rest = math.inf if job.virtual_left <= 0 else units - maps
                if rest > 0:
                    queue.append([job, rest])
        elif policy == "fair":
            # One machine after another to whoever has least in all, oldest first.
            while now.idle > 0:
                wants = [
                    (len(job.running) + gets[job], job.arrival, job.number, job)
                    for job in live
                    if gets[job] < limit[job]
                ]
                if not wants:
                    break
                give(min(wants, key=lambda want: want[:3])[3], 1)
        else:
            by_arrival = sorted(live, key=lambda j: (j.arrival, j.number))
            ranked = {"fifo": by_arrival, "srpt": order, "lrpt": now.ranked(-1)}[policy]
            for job in ranked:
                give(job, limit[job])

        for job in live:
            machines_now = gets[job]
            if machines_now and job.start is None:
                job.start = step
            busy += machines_now
            if mapping[job]:
                job.maps -= machines_now
                if machines_now and job.maps == 0:
                    job.map_end = step
            elif preemptive:
                job.units -= machines_now
            else:
                job.running += [job.tasks.pop(0) for _ in range(machines_now)]
            if not mapping[job]:
                job.running = [units - 1 for units in job.running]
                job.running = [units for units in job.running if units > 0]
            if job.maps == 0 and job.reduce_left(preemptive) == 0:
                job.finish = step
        assert busy <= machines
        use.append(busy)
    return [(job.start, job.map_end, job.finish) for job in jobs], use


def srpt_bound(table, machines):
    """Last step of every job under SRPT without precedence, unit by unit."""
    jobs = [Job(k, a, m, tasks) for k, (a, m, tasks) in enumerate(table)]
    finish = [job.arrival - 1 for job in jobs]
    step = 0
    while any(job.virtual_left > 0 for job in jobs):
        step += 1
        for job in virtual_step([job for job in jobs if job.arrival <= step], machines):
            if job.virtual_left == 0:
                finish[job.number] = step
    return finish


def two_step_bound(table, machines):
    """Jobs in the system, step by step, if as many as possible ended before, new ones with both
    phases never in their step of arrival; SRPT without precedence, run again for every step."""

    def unfinished(step, others):
        """Of ``others``, after SRPT alone on them up to the end of ``step``."""
        jobs = [Job(k, *table[k]) for k in others]
        for t in range(1, step + 1):
            virtual_step([job for job in jobs if job.arrival <= t], machines)
        return sum(job.virtual_left > 0 for job in jobs)

    total, step, left = 0, 0, 0
    last = max((a for a, _, _ in table), default=0)
    while step < last or left > 0:
        step += 1
        here = [k for k, (a, m, tasks) in enumerate(table) if a == step and m + sum(tasks) > 0]
        total += left + len(here)
        both = [k for k in here if table[k][1] > 0 and table[k][2]]
        others = [k for k in range(len(table)) if table[k][0] <= step and k not in both]
        left = len(both) + unfinished(step, others)
    return total


def alone_bound(table, machines, preemptive):
    """Jobs in the system, step by step: under SRPT, or that would be even if each were alone."""
    srpt = srpt_bound(table, machines)
    alone = []
    for arrival, maps, tasks in table:
        steps = math.ceil(maps / machines) + math.ceil(sum(tasks) / machines)
        if not preemptive:  # one machine a task
            steps = max(steps, math.ceil(maps / machines) + max(tasks, default=0))
        alone.append(arrival - 1 + steps)
    total = 0
    for step in range(1, max([*srpt, *alone], default=0) + 1):
        inside = [
            sum(a <= step <= end for (a, _, _), end in zip(table, ends, strict=True))
            for ends in (srpt, alone)
        ]
        total += max(inside)
    return total


def least_total_flow(table, machines, latest):
    """The optimum of a tiny preemptive instance by trying every way to use the machines."""
    from functools import cache

    count = len(table)

    @cache
    def best(step, state):
        if all(m + r == 0 for m, r in state):
            return 0
        if step > latest:
            return math.inf
        inside = sum(
            1 for k in range(count) if table[k][0] <= step and state[k][0] + state[k][1] > 0
        )
        options = [(state, machines)]
        for k in range(count):
            grown = []
            for current, free in options:
                m, r = current[k]
                limit = 0 if table[k][0] > step else (m if m > 0 else r)
                for x in range(min(limit, free) + 1):
                    after = (m - x, r) if m > 0 else (m, r - x)
                    grown.append(((*current[:k], after, *current[k + 1 :]), free - x))
            options = grown
        return inside + min(best(step + 1, state) for state in {state for state, _ in options})

    return best(1, tuple((m, sum(tasks)) for _, m, tasks in table))
