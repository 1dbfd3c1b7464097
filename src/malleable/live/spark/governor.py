"""The governor of a Spark context: it looks at the running jobs, records what happened (`Ledger`), asks our
scheduler, and sets the minima of Spark's pools.

Spark starts the tasks, first of pools below their minimum. The governor sets each pool's minimum to what our
scheduler gives the stages of the pool. A Spark job is a flow (a graph of jobs), and its stages are the flow's
jobs; each has a row in the ledger. Minima are set back at the end. A look costs O(stages), and the scheduler's
time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from malleable.live.decider import SchedulerDecider
from malleable.live.jobs_file import Terms
from malleable.live.journal import Attempt, Journal
from malleable.live.ledger import JobState, Ledger
from malleable.live.spark.context import Context, Job, Key, Stage


@dataclass(kw_only=True)
class Wishes(Terms):
    """What the user asks for the jobs of a pool; ``deadline`` in seconds after ``since`` [s since 1970], or, if
    that is NaN, after a job was submitted. ``name``: the program that the pool always runs; empty: none."""

    name: str = ""
    since: float = math.nan


class Governor(Ledger):
    """Jobs of a Spark, governed. ``wishes`` returns the `Wishes` of a pool by name; other arguments are those
    of `Ledger`."""

    def __init__(
        self,
        spark: Context,
        decider: SchedulerDecider,
        wishes: Callable[[str], Wishes] = lambda pool: Wishes(),
        journal: Journal | None = None,
        run: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(decider, journal, run, **options)
        self.decider: SchedulerDecider = decider
        self.spark, self._wishes = spark, wishes
        self._epoch = time.time() - self.now  # zero of the run's clock, in seconds since 1970
        self._slots = 0
        self._row_of: dict[Key, int] = {}
        self._stages: dict[int, Stage] = {}  # by row: stages that have not ended, as last seen
        self._pools: dict[int, str] = {}  # by row
        self._busy: dict[int, float] = {}  # slot-seconds seen, by row
        self._looked = math.nan  # time of the last look
        self.looks = 0

    @property
    def slots(self) -> int:
        return self._slots

    @property
    def busy(self) -> bool:
        return bool(self._stages)

    def look(self) -> None:
        """One pass: look at what runs, and set the minima of pools."""
        seen = self.spark.look()
        now, self.looks = self.now, self.looks + 1
        if seen.slots != self._slots or self.looks == 1:
            self._slots = seen.slots
            self.decider.resize(self._slots, now)
        passed = 0.0 if math.isnan(self._looked) else now - self._looked
        for row, stage in self._stages.items():
            self._busy[row] += passed * stage.running
        self._looked = now
        there: set[Key] = set()
        for job in seen.jobs:
            self._hear(job)
            there.update(stage.key for stage in job.stages)
        for key in self._row_of.keys() - there:
            self._gone(key)
        self._keep_floors()
        self._settle_jobs()  # starts and ends jobs
        self.describe()  # writes new jobs to the journal
        self._decide()
        self._share()
        self.record()

    def _hear(self, job: Job) -> None:
        wishes = self._wishes(job.pool)
        for stage in job.stages:
            row = self._row_of.get(stage.key)
            if row is None:
                row = self._come(job, stage, wishes)
            self._pools[row] = job.pool  # not known before the job began
            work = self.jobs[row]
            self._stages[row] = stage
            if stage.waits:
                continue
            self._end(row, stage.done - work.done, stage.mean)
            work.tasks = max(stage.tasks, work.done)
            work.running, work.next = stage.running, work.tasks - stage.pending
            elapsed = max(0.0, round(self._busy[row] - work.sums.seconds, 3))
            work.since = work.running * self.now - elapsed
            self.decider.changed(row)

    def _come(self, job: Job, stage: Stage, wishes: Wishes) -> int:
        since = job.submitted if math.isnan(wishes.since) else wishes.since
        arrival = min(self.now, max(0.0, since - self._epoch))
        program = stage.program
        if wishes.name:
            program = f"{wishes.name} {program}"
        row = self.add(
            JobState(
                stage.name,
                stage.tasks,
                weight=wishes.weight,
                deadline=arrival + wishes.deadline,
                user=wishes.user,
                program=program,
                after=[self._row_of[key] for key in stage.after],
                arrival=arrival,
                flow=f"job {job.number}",
            )
        )
        self._row_of[stage.key], self._busy[row] = row, 0.0
        return row

    def _outlook(self, row: int) -> Literal["free", "waits", "dead"]:
        # whether a job may run by the jobs that it waits for: Spark itself sees to that
        return "free"

    def _end(self, row: int, count: int, mean: float) -> None:
        # So many tasks have ended well; ``mean``: seconds of a task, of all that have.
        work = self.jobs[row]
        if count <= 0:
            return
        mean = 0.0 if math.isnan(mean) else mean
        seconds = max(0.0, mean * (work.done + count) - work.sums.seconds) / count
        self._count_ended(row, work.done, count, 0, seconds)
        work.done += count
        work.mean, work.sums.seconds, work.sums.ended = mean, mean * work.done, self.now

    def _gone(self, key: Key) -> None:
        # A stage is not there any more.
        row = self._row_of[key]
        work = self.jobs[row]
        done, mean, well = self.spark.ended(key) or (work.tasks, work.mean, True)
        for known in (self._stages, self._pools, self._busy):
            del known[row]
        del self._row_of[key]
        self._end(row, done - work.done, mean)
        work.running, work.since, work.next = 0, 0.0, work.done
        self._touched.add(row)
        self.decider.changed(row)
        if well:
            work.tasks = work.done
            return
        # attempt 0, with status 1
        self._attempted += [
            Attempt(row, task, 0, 1, self.now, how="cancelled")
            for task in range(work.done, work.tasks)
        ]
        self.cancel(row)

    # Wanted changes.

    def _keep_floors(self) -> None:
        # Divide the minimum of each pool among its stages, the first ones first.
        left: dict[str, int] = {}
        for row, stage in self._stages.items():
            if stage.waits:
                continue
            pool, work = self._pools[row], self.jobs[row]
            if pool not in left:
                left[pool] = max(self.spark.own_minimum(pool), self._wishes(pool).min_slots)
            least = min(left[pool], stage.tasks - stage.done)
            left[pool] -= least
            if least != work.min_slots:
                work.min_slots = least
                self.decider.update_terms(row, self.now)

    def _share(self) -> None:
        # Set the minimum of each pool to the slots that its stages are given.
        slots: dict[str, int] = dict.fromkeys(self.spark.changed, 0)
        for row, stage in self._stages.items():
            if stage.waits:
                continue
            given = self.jobs[row].slots
            if stage.barrier and given < stage.pending:
                given = 0
            slots[self._pools[row]] = slots.get(self._pools[row], 0) + given
        for pool, given in slots.items():
            self.spark.set_minimum(pool, given)
