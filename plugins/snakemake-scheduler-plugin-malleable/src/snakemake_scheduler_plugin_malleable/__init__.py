"""Snakemake's scheduler plug-in ``malleable``: which of the ready jobs start now, so that flows end early.

Snakemake asks whenever something happened. Answered are jobs by priority, then by `order`, as far as they
fit (`selection`); times are learnt (`times`, `records`). What runs and what has ended is seen from what is
offered and from the DAG, as nobody tells. If anything goes wrong here, Snakemake's own scheduler decides.
Per call O(ready jobs) in bulk, and what changed.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_scheduler_plugins.base import SchedulerBase
from snakemake_interface_scheduler_plugins.settings import SchedulerSettingsBase

import malleable as mb
from snakemake_scheduler_plugin_malleable.order import Order, pause
from snakemake_scheduler_plugin_malleable.records import benchmarked, data_behind, past_seconds
from snakemake_scheduler_plugin_malleable.selection import Needs, Running, choose
from snakemake_scheduler_plugin_malleable.times import Pace, Times
from snakemake_scheduler_plugin_malleable.workflow import Jobs, Workflow, rule_of

__all__ = ["Scheduler", "SchedulerSettings"]

_UNLIMITED = 2**40  # a resource of so much limits nothing
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_OVERDUE = 0.25  # of the time so far, what is left of a job that has outlived its estimate


@dataclass
class SchedulerSettings(SchedulerSettingsBase):
    flow: str | None = field(
        default=None,
        metadata={
            "help": "Wildcard whose values are the flows to be ended early, such as sample; several: "
            "separated by commas, the first that a job has counts. Default: connected parts of "
            "the DAG, without the jobs that are about all of it.",
            "type": str,
        },
    )
    objective: str | None = field(
        default="sum:response",
        metadata={
            "help": "What to make small over all flows: sum: or max: and response, completion, stretch, "
            "tardy, tardiness or lateness.",
            "type": str,
        },
    )
    weights: str | None = field(
        default=None,
        metadata={
            "help": "Weights of flows, as sampleA=3,sampleB=0.5: values of a wildcard of its jobs.",
            "type": str,
        },
    )
    deadlines: str | None = field(
        default=None,
        metadata={
            "help": "Deadlines of flows from the start of the run on, as sampleA=2h,sampleB=90m.",
            "type": str,
        },
    )

    def __post_init__(self) -> None:
        self.weights_of = _pairs("weights", self.weights, float)
        self.deadlines_of = _pairs("deadlines", self.deadlines, _seconds)
        objective = self.objective or "sum:response"
        try:
            mb.FlowEpoch(1, objective)
        except ValueError as error:
            raise WorkflowError(f"--scheduler-malleable-objective {objective}: {error}") from None
        if objective.endswith(":lateness"):
            raise WorkflowError(
                "--scheduler-malleable-objective lateness: every flow would need a deadline; "
                "tardiness takes flows without one"
            )


def _seconds(text: str) -> float:
    unit = _UNITS.get(text[-1:])
    return float(text[:-1]) * unit if unit else float(text)


def _pairs(option: str, text: str | None, parse: Any) -> dict[str, float]:
    found: dict[str, float] = {}
    for pair in filter(None, (each.strip() for each in (text or "").split(","))):
        name, sign, value = pair.rpartition("=")
        try:
            number = parse(value.strip())
        except ValueError:
            number = -1.0
        if not name or not sign or not 0.0 <= number <= 1e12:
            raise WorkflowError(
                f"--scheduler-malleable-{option}: {pair!r}: expected NAME=NUMBER, such as sampleA=2"
            )
        found[name.strip()] = number
    return found


class _Started:
    """A job that was selected, and is believed to run."""

    __slots__ = ("job", "needs", "rows", "seconds", "since")

    def __init__(
        self, job: Any, rows: list[int], needs: Needs, since: float, seconds: float
    ) -> None:
        self.job, self.rows, self.needs = job, rows, needs
        self.since, self.seconds = since, seconds

    def left(self, now: float) -> float:
        past = now - self.since
        return max(self.seconds - past, _OVERDUE * past if past > self.seconds else 0.0)


class Scheduler(SchedulerBase):
    """See the module."""

    def __post_init__(self) -> None:
        if self.settings is None:
            self.settings = SchedulerSettings()
        self.clock = time.time
        self._times = Times()
        self._workflow: Workflow | None = None
        self._old: Workflow | None = None
        self._pace: Pace | None = None
        self._began: float | None = None
        self._arrival: dict[str, float] = {}
        self._past_of: dict[Any, float] = {}  # seconds of jobs in earlier runs
        self._looked_at: Mapping[Any, int] = {}  # jobs whose earlier runs are known
        self._started: dict[Any, _Started] = {}
        self._most: dict[str, int] = {}  # of each resource, ever seen free with what runs
        self._rule_needs: dict[int, Needs] = {}
        self._warned = False
        self._learnt, self._look = 0, -np.inf

    def dag_updated(self) -> None:
        """The DAG is another one."""
        self._workflow = None

    def select_jobs(
        self,
        selectable_jobs: Any,
        remaining_jobs: Sequence[Any],
        available_resources: Mapping[str, Any],
        input_sizes: Mapping[Any, int | None],
    ) -> Sequence[Any] | None:
        """Jobs that start now; None: Snakemake's own scheduler is to decide."""
        try:
            with _uncollected():
                return self._select(selectable_jobs, available_resources, input_sizes)
        except Exception as error:
            if not self._warned:
                self.logger.warning(
                    f"Scheduler malleable: {type(error).__name__}: {error}; Snakemake's own decides."
                )
                self.logger.debug("Scheduler malleable failed", exc_info=True)
            self._warned = True
            self._workflow = None
            return None

    def _select(self, offered: Any, free: Mapping[str, Any], sizes: Any) -> list[Any]:
        now = self.clock()
        if self._began is None:
            self._began = now
        ready = offered if isinstance(offered, (set, frozenset)) else set(offered)
        self._see(ready, now)
        self._see_resources(free)
        if self._workflow is None:
            self._read(sizes)
        if not self._offer(ready):
            self._read(sizes)
            if not self._offer(ready):
                raise RuntimeError("jobs that are no part of the DAG")
        assert self._workflow is not None
        rows = np.flatnonzero(self._ready)
        order = self._in_order(rows, now)
        running = [Running(s.needs, now + s.left(now)) for s in self._started.values()]
        chosen = choose(order, self._workflow.rule, self._job, free, self._seconds_of, running, now)
        if not chosen and not self._started:
            # Nothing is known to run: whatever fits, promised or not.
            chosen = choose(order, self._workflow.rule, self._job, free, lambda row: 0.0, (), now)
        for row, needs in chosen:
            self._start(row, needs, now)
        return [self._job(row) for row, _ in chosen]

    # What runs and what has ended.

    def _see(self, ready: Any, now: float) -> None:
        """Jobs that were started and run no longer."""
        executing = self._executing()
        ended: list[int] = []
        for job, started in list(self._started.items()):
            if all(self.dag.finished(each) for each in _members(job)):
                del self._started[job]
                self._learn(started, now)
                ended += started.rows
            elif job in ready or (executing is not None and job not in executing):
                del self._started[job]  # failed, or never started
        if self._workflow is not None and ended:
            self._order.ended(np.array(ended, np.int64))

    def _executing(self) -> Any:
        """Jobs that Snakemake runs, where it says so."""
        scheduler = getattr(getattr(self.dag, "workflow", None), "scheduler", None)
        return getattr(scheduler, "running", None)

    def _learn(self, started: _Started, now: float) -> None:
        if len(started.rows) != 1 or self._workflow is None or self._pace is None:
            return
        seconds = benchmarked(started.job, started.since)
        if seconds is None:
            ends = []
            for file in started.job.output:
                try:
                    ends.append(os.stat(file).st_mtime)  # noqa: PTH116
                except OSError:
                    ends.append(now)
            end = max(ends, default=now)
            seconds = (end if started.since <= end <= now else now) - started.since
        row = started.rows[0]
        rule, data = rule_of(started.job), float(self._data[row])
        self._times.add(rule, data, seconds)
        self._pace.add(int(self._workflow.flow[row]), rule, data, seconds)

    def _see_resources(self, free: Mapping[str, Any]) -> None:
        for name, value in free.items():
            if isinstance(value, int) and value < _UNLIMITED:
                held = sum(started.needs.get(name, 0) for started in self._started.values())
                self._most[name] = max(self._most.get(name, 0), value + held)

    def _slots(self) -> int:
        cores = self._most.get("_cores") or self._most.get("_nodes")
        return max(1, cores or min(1000, len(self._workflow or ())))

    # The workflow.

    def _read(self, sizes: Any) -> None:
        """The DAG as it is now."""
        settings, dag = self.settings, self.dag
        wildcards = [name.strip() for name in (settings.flow or "").split(",") if name.strip()]
        old = self._old
        work = self._workflow = self._old = Workflow(
            dag.needrun_jobs(), dag.job_dependencies, dag.finished, wildcards
        )
        n = len(work)
        self._known: set[Any] = set()
        self._ready = np.zeros(n, bool)
        self._seen = np.zeros(n, bool)  # ready once, or before such a job
        self._group: dict[int, Any] = {}
        self._row_of: dict[Any, int] = {}
        self._priority = np.zeros(n)
        self._rule_needs = {}
        self._rows_of_rule = [np.flatnonzero(work.rule == k) for k in range(len(work.rules))]
        every = getattr(dag, "jobs", None)  # those that need not run among them
        everything: Jobs = work
        if every is not None and not callable(every) and len(every := list(every)) > n:
            everything = Jobs(every, dag.job_dependencies)
        data = np.maximum(data_behind(everything, sizes), 1.0)  # nothing known: all alike
        self._learn_from_past(everything, data)
        self._data = data
        if everything is not work:
            self._data = np.array([data[everything.row[job]] for job in work.jobs])
        if old is None or self._pace is None:
            self._pace = Pace(work.flows)
        else:
            to = np.full(old.flows + 1, -1)
            for job, flow in zip(work.jobs, work.flow.tolist(), strict=True):
                to[old.flow[old.row[job]] if job in old.row else -1] = flow
            self._pace = self._pace.moved(to[:-1], work.flows)
            self._pace.look(self._times.estimate)
        self._own = np.full(n, np.nan)
        for job, seconds in self._past_of.items():
            if job in work.row:
                self._own[work.row[job]] = seconds
        self._seconds = np.empty(n)
        for k in range(len(work.rules)):
            self._estimate(k)
        self._threads = np.ones(n)
        self._order = Order(
            work, self._seconds, self._threads, self._slots(),
            settings.objective or "sum:response", self._terms(),
        )  # fmt: skip
        for started in self._started.values():
            started.rows = [work.row[each] for each in _members(started.job) if each in work.row]

    def _learn_from_past(self, everything: Jobs, data: np.ndarray) -> None:
        """Times of earlier runs; jobs that were known before have been learnt from."""
        known, self._looked_at = self._looked_at, everything.row
        fresh = (job for job in everything.jobs if job not in known)
        persistence = getattr(getattr(self.dag, "workflow", None), "persistence", None)
        assert self._workflow is not None
        waits = self._workflow.row.__contains__
        for job, seconds in past_seconds(fresh, waits, getattr(persistence, "metadata", None)):
            self._past_of[job] = seconds
            self._times.add(rule_of(job), float(data[everything.row[job]]), seconds)

    def _terms(self) -> dict[str, np.ndarray]:
        """Arrivals, weights and deadlines of flows; those that come later arrive then."""
        work = self._workflow
        assert work is not None and self._began is not None
        terms = {"arrival": np.zeros(work.flows), "weight": np.ones(work.flows)}
        for name, weight in self.settings.weights_of.items():
            terms["weight"][work.named(name)] = weight
        deadlines = np.full(work.flows, np.inf)
        for name, deadline in self.settings.deadlines_of.items():
            deadlines[work.named(name)] = deadline
        if self.settings.deadlines_of:
            terms["deadline"] = deadlines
        return terms

    def _estimate(self, rule: int) -> None:
        work = self._workflow
        assert work is not None and self._pace is not None
        rows = self._rows_of_rule[rule]
        name = work.rules[rule]
        found = self._times.estimate(name, self._data[rows])
        found = found * self._pace.rule(name) * self._pace.flow[work.flow[rows]]
        self._seconds[rows] = np.where(np.isnan(self._own[rows]), found, self._own[rows])

    # What is offered.

    def _offer(self, ready: Any) -> bool:
        """Marks what may start; False: the DAG has changed."""
        work = self._workflow
        assert work is not None
        gone, come = self._known - ready, list(ready - self._known)
        rows = list(map(work.row.get, come))
        members: list[int] = []
        for place in [k for k, row in enumerate(rows) if row is None]:
            job = come[place]
            own = [work.row.get(each) for each in _members(job)]
            if None in own:
                return False
            rows[place] = row = max(own, key=lambda k: (self._order.tails[k], -k))
            self._group[row], self._row_of[job] = job, row
            members += own
        for job in gone:
            self._ready[self._row(job)] = False
        self._known = set(ready)
        if rows:
            fresh = np.array(rows, np.int64)
            self._ready[fresh] = True
            self._priority[fresh] = [job.priority for job in come]
            self._end_parents(np.append(fresh, np.array(members, np.int64)))
            self._see_needs(fresh)
        for job in gone:
            self._see_gone(job)
        return True

    def _end_parents(self, own: np.ndarray) -> None:
        """What a ready job waited for has ended, whoever started it."""
        work, seen = self._workflow, self._seen
        assert work is not None
        own = own[self._order.open[own]]
        seen[own] = True
        found = []
        while len(own):
            own = np.unique(work.parents.of(own))
            own = own[self._order.open[own] & ~seen[own]]
            seen[own] = True
            found.append(own)
        if found and len(ended := np.concatenate(found)):
            self._order.ended(ended)

    def _see_gone(self, job: Any) -> None:
        if job in self._started:
            return
        work = self._workflow
        assert work is not None
        rows = [work.row[each] for each in _members(job) if self.dag.finished(each)]
        if rows:
            self._order.ended(np.array(rows, np.int64))

    def _see_needs(self, rows: np.ndarray) -> None:
        """Threads of a rule's jobs are those of the first one that is ready."""
        work = self._workflow
        assert work is not None
        changed = []
        rules, first = np.unique(work.rule[rows], return_index=True)
        for rule, place in zip(rules.tolist(), first.tolist(), strict=True):
            job = self._job(int(rows[place]))
            if rule in self._rule_needs or _grouped(job):
                continue
            found = job.scheduler_resources
            needs = {name: value for name, value in found.items() if isinstance(value, int)}
            self._rule_needs[rule] = needs
            cores = needs.get("_cores", 1)
            if cores > 1:
                self._threads[self._rows_of_rule[rule]] = min(cores, self._slots())
                changed.append(self._rows_of_rule[rule])
        if changed:
            self._order.changed(np.concatenate(changed))

    # The order.

    def _in_order(self, rows: np.ndarray, now: float) -> np.ndarray:
        work = self._workflow
        assert work is not None and self._began is not None
        self._look_at_times()
        left = {
            row: started.left(now) for started in self._started.values() for row in started.rows
        }
        parallel = self._parallel()
        self._order.decide(max(now - self._began, 0.0), max(1, round(parallel)), left)
        ranks, tails = self._order.rank_of_jobs()[rows], self._order.tails[rows]
        bound = self._order.least_time(parallel, left)
        # What starts at the next decision only starts when a job of those that run has ended.
        urgent = tails >= bound - self._wait(left)
        ranks = np.where(urgent, -1, ranks)
        return rows[np.lexsort((rows, -tails, ranks, -self._priority[rows]))]

    def _look_at_times(self) -> None:
        """What was learnt since the last look, if the time since pays for it."""
        if self._learnt == len(self._times) or time.perf_counter() < self._look:
            return
        began = time.thread_time()
        self._learnt = len(self._times)
        assert self._workflow is not None and self._pace is not None
        self._pace.look(self._times.estimate)
        before = self._seconds.copy()
        for rule in range(len(self._workflow.rules)):
            self._estimate(rule)
        self._order.changed(np.flatnonzero(self._seconds != before))
        self._look = time.perf_counter() + pause(time.thread_time() - began)

    def _wait(self, left: Mapping[int, float]) -> float:
        return min(left.values(), default=0.0)

    def _parallel(self) -> float:
        """Slots, or fewer where another resource is the narrower one."""
        work, slots = self._workflow, self._slots()
        assert work is not None
        seconds = np.where(self._order.open, self._seconds, 0.0)
        of_rule = np.bincount(work.rule, weights=seconds, minlength=len(work.rules))
        cores = float((seconds * self._threads).sum()) / slots
        narrowest = cores
        for name, most in self._most.items():
            if name not in ("_cores", "_job_count") and most > 0:
                taken = sum(
                    of_rule[rule] * own.get(name, 0) for rule, own in self._rule_needs.items()
                )
                narrowest = max(narrowest, taken / most)
        return slots * cores / narrowest if narrowest > 0.0 else float(slots)

    def _job(self, row: int) -> Any:
        """What Snakemake starts for a row: the job, or its group."""
        assert self._workflow is not None
        return self._group.get(row, self._workflow.jobs[row])

    def _row(self, job: Any) -> int:
        assert self._workflow is not None
        row = self._workflow.row.get(job)
        return self._row_of[job] if row is None else row

    def _seconds_of(self, row: int) -> float:
        work = self._workflow
        assert work is not None
        return float(sum(self._seconds[work.row[each]] for each in _members(self._job(row))))

    def _start(self, row: int, needs: Needs, now: float) -> None:
        work, job = self._workflow, self._job(row)
        assert work is not None
        rows = [work.row[each] for each in _members(job)]
        self._started[job] = _Started(job, rows, needs, now, self._seconds_of(row))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Nobody looks for cycles among millions of jobs and files meanwhile; none are made here."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _grouped(job: Any) -> bool:
    return hasattr(job, "is_group") and job.is_group()


def _members(job: Any) -> Sequence[Any]:
    if not _grouped(job):
        return (job,)
    jobs = job.jobs() if callable(job.jobs) else job.jobs
    return list(jobs)
