"""Epoch by epoch: slots for the jobs of flows now, from state that is kept between decisions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.flow_planning import FLOW_POLICIES, FlowPlan
from malleable.flow_tables import Flows
from malleable.objectives import Objective, ObjectiveLike, parse_objective
from malleable.tables import Floats, Integers, check_count, check_slots, check_time

__all__ = ["FlowDecision", "FlowEpoch", "FlowIds"]


class FlowIds(NamedTuple):
    """Ids of flows that were added, and of their jobs in the order of their rows."""

    flows: Integers
    jobs: Integers


class FlowDecision:
    """Slots now.

    Attributes
    ----------
    ids, slots : ndarray of int64
        Jobs that have not finished, and what each of them gets.
    changed : ndarray of bool
        Whether that differs from the decision before (jobs that are new count from 0).
    ready : ndarray of bool
        Whether all jobs that this one waits for have finished, and its flow has come.
    ended : ndarray of int64
        Flows of which the last job finished since the decision before; they are gone.
    """

    def __init__(
        self,
        ids: Integers,
        slots: Integers,
        changed: npt.NDArray[np.bool_],
        ready: npt.NDArray[np.bool_],
        ended: Integers,
        plan: FlowPlan,
    ) -> None:
        self.ids = ids
        self.slots = slots
        self.changed = changed
        self.ready = ready
        self.ended = ended
        self._plan = plan

    def plan(self) -> FlowPlan:
        """The plan behind the decision: all flows there are, with their finished jobs."""
        return self._plan


class FlowEpoch:
    """A scheduler's loop over flows: flows come, jobs change and finish, slots are decided.

    Parameters
    ----------
    slots : int
        Capacity.
    objective : str
        As in `malleable.plan`, of flows.
    policy : str
        As for flows in `malleable.plan`.
    effort : int
        Candidates of the local search in every decision; by default none, so that the last
        decision's order and the fixed orders decide.
    task_work : float
        Work [slot-seconds] that a task is taken to need in jobs of which only the number of tasks is
        known (section 5.2 of the FlowFlex paper); `set_task_work` changes it.
    hysteresis : float
        The last decision's order is kept unless another schedule's value is better by more than this
        share. 0: the best one always decides.
    ready_fraction : float
        A second phase (see ``continues`` in `add`) is ready once this share of the first one's work is
        done and nothing else holds it back. Both are then planned as one job with the work and the
        maxima of the two (section 5.2). 1: when the first phase has finished.

    Notes
    -----
    The order of flows in one decision is tried among the first in the next. Work is what remains;
    the original size (for stretch) and the arrival stay. Ids are never used twice. A wrong call
    changes nothing.
    """

    def __init__(
        self,
        slots: int,
        objective: ObjectiveLike = "sum:response",
        policy: str = "flowflex",
        effort: int = 0,
        task_work: float = 1.0,
        hysteresis: float = 0.0,
        ready_fraction: float = 1.0,
    ) -> None:
        self._slots = check_slots(slots)
        self._goal: Objective = parse_objective(objective)
        if len(self._goal.kinds) != 1 or self._goal.text.endswith("custom"):
            raise ValueError("objective: one kind for all flows, and not custom")
        if policy not in FLOW_POLICIES:
            raise ValueError(f"policy = {policy!r}: expected one of {', '.join(FLOW_POLICIES)}")
        self._policy = policy
        self._effort = check_count("effort", effort)
        self._task_work = _positive("task_work", task_work)
        self._hysteresis = check_time("hysteresis", hysteresis)
        if self._hysteresis < 0.0:
            raise ValueError(f"hysteresis = {hysteresis}: must be at least 0")
        self._ready_fraction = check_time("ready_fraction", ready_fraction)
        if not 0.0 <= self._ready_fraction <= 1.0:
            raise ValueError(f"ready_fraction = {ready_fraction}: must be 0 to 1")
        self._flows = Flows([])
        self._flow_ids: Integers = np.empty(0, dtype=np.int64)
        self._job_ids: Integers = np.empty(0, dtype=np.int64)
        self._tasks: Floats = np.empty(0)  # of jobs whose work is a guess, else 0
        self._whole: Floats = np.empty(0)  # work of each job when it came
        self._follows: Integers = np.empty(0, dtype=np.int64)  # row of the first phase, or -1
        self._finished: npt.NDArray[np.bool_] = np.empty(0, dtype=np.bool_)
        self._given: Integers = np.empty(0, dtype=np.int64)
        self._next_flow = self._next_job = 0
        self._order: Integers = np.empty(0, dtype=np.int64)  # flow ids

    def __len__(self) -> int:
        return len(self._flow_ids)

    @property
    def slots(self) -> int:
        """Capacity, until a decision is asked for with another one."""
        return self._slots

    def add(
        self,
        flows: Flows,
        tasks: npt.ArrayLike | None = None,
        continues: npt.ArrayLike | None = None,
    ) -> FlowIds:
        """Add flows; ids follow each other in the order of rows.

        Parameters
        ----------
        flows : Flows
            Their names are replaced: flows are called after their ids here.
        tasks : array_like of int, shape (J,), optional
            Tasks of jobs whose work is not known yet (0: it is): their work is taken for as many
            times the default work of a task, until `update` says better.
        continues : array_like of int, shape (J,), optional
            For a job that is the second phase of another one (reduce behind map): that one's row in
            ``flows``, which it must wait for; -1: none. See ``ready_fraction``.
        """
        count = len(flows.work)
        guess = np.zeros(count)
        if tasks is not None:
            guess = np.array(tasks, dtype=np.float64)
            if guess.shape != (count,):
                raise ValueError(f"tasks has {guess.size} entries but there are {count} jobs")
            for row in np.flatnonzero(~(np.isfinite(guess) & (guess >= 0)))[:1]:
                raise ValueError(f"tasks[{row}] = {guess[row]}: must be a number, at least 0")
        follows = np.full(count, -1, dtype=np.int64)
        if continues is not None:
            follows = self._continued(flows, continues)
        names = tuple(f"flow{self._next_flow + k}" for k in range(len(flows)))
        local = zip(flows.local_names(), flows.flow.tolist(), strict=True)
        work = np.where(guess > 0, guess * self._task_work, flows.work)
        # What a flow weighs for stretch includes what is guessed.
        size = flows.size + np.bincount(
            flows.flow, weights=np.where(guess > 0, work - flows.work, 0.0), minlength=len(flows)
        )
        renamed = flows._replaced(
            name=names,
            job_name=tuple(f"{names[flow]}/{text}" for text, flow in local),
            work=work,
            size=np.maximum(size, 0.0),
        )
        joined = Flows.joined([self._flows, renamed])
        ids = FlowIds(
            np.arange(self._next_flow, self._next_flow + len(flows), dtype=np.int64),
            np.arange(self._next_job, self._next_job + count, dtype=np.int64),
        )
        self._flows = joined
        self._flow_ids = np.concatenate([self._flow_ids, ids.flows])
        self._job_ids = np.concatenate([self._job_ids, ids.jobs])
        self._tasks = np.concatenate([self._tasks, guess])
        self._whole = np.concatenate([self._whole, work])
        base = len(self._follows)
        self._follows = np.concatenate([self._follows, np.where(follows < 0, -1, follows + base)])
        self._finished = np.concatenate([self._finished, np.zeros(count, dtype=np.bool_)])
        self._given = np.concatenate([self._given, np.zeros(count, dtype=np.int64)])
        self._order = np.concatenate([self._order, ids.flows])
        self._next_flow += len(flows)
        self._next_job += count
        return ids

    def set_task_work(self, task_work: float) -> None:
        """Another default; jobs whose work is still a guess follow it."""
        self._task_work = _positive("task_work", task_work)
        guessed = (self._tasks > 0) & ~self._finished
        work = np.where(guessed, self._tasks * self._task_work, self._flows.work)
        self._flows = self._flows._replaced(work=work)
        self._whole = np.where(guessed, work, self._whole)

    def update(
        self,
        ids: npt.ArrayLike,
        work: npt.ArrayLike | None = None,
        max_slots: npt.ArrayLike | None = None,
    ) -> None:
        """Overwrite the remaining work or the maximum of jobs, by id."""
        rows = self._rows("ids", ids, self._job_ids)
        for at in np.flatnonzero(self._finished[rows])[:1]:
            raise ValueError(f"ids[{at}] = {self._job_ids[rows[at]]}: the job has finished")
        new_work, new_max = self._flows.work.copy(), self._flows.max_slots.copy()
        if work is not None:
            values = np.broadcast_to(np.asarray(work, dtype=np.float64), rows.shape)
            for at in np.flatnonzero(~(np.isfinite(values) & (values >= 0)))[:1]:
                raise ValueError(f"work[{at}] = {values[at]}: must be finite and at least 0")
            new_work[rows] = values
        if max_slots is not None:
            limits = np.broadcast_to(np.asarray(max_slots, dtype=np.int64), rows.shape)
            for at in np.flatnonzero(limits < 1)[:1]:
                raise ValueError(f"max_slots[{at}] = {limits[at]}: must be at least 1")
            new_max[rows] = limits
        self._flows = self._flows._replaced(work=new_work, max_slots=new_max)
        if work is not None:
            self._tasks[rows] = 0.0

    def finish(self, ids: npt.ArrayLike) -> None:
        """These jobs have finished; what waited for them may run. Finished flows leave by themselves."""
        rows = self._rows("ids", ids, self._job_ids)
        for at in np.flatnonzero(self._finished[rows])[:1]:
            raise ValueError(f"ids[{at}] = {self._job_ids[rows[at]]}: the job has finished already")
        work = self._flows.work.copy()
        work[rows] = 0.0
        self._flows = self._flows._replaced(work=work)
        self._finished[rows] = True

    def remove(self, ids: npt.ArrayLike) -> None:
        """Drop flows, by id, whatever is left of them."""
        rows = self._rows("ids", ids, self._flow_ids)
        self._keep(np.delete(np.arange(len(self)), rows))

    def decide(self, now: float, slots: int | None = None) -> FlowDecision:
        """Slots of all unfinished jobs at ``now`` [s]; ``slots``: the capacity from now on.

        O(jobs log jobs) for each order that is tried.
        """
        now = check_time("now", now)
        capacity = self._slots if slots is None else check_slots(slots)
        alive = np.bincount(self._flows.flow[~self._finished], minlength=len(self)) > 0
        # A flow that came without jobs has nothing to wait for.
        ended = self._flow_ids[~alive]
        if len(ended):
            self._keep(np.flatnonzero(alive))
        self._slots = capacity
        warm = np.searchsorted(self._flow_ids, self._order)
        waiting = self._waiting()
        first, second = self._coalesced(waiting)
        flows = self._flows
        if len(first):
            # The second phase becomes an empty job behind the first one, which has the work of both.
            work, maxima = flows.work.copy(), flows.max_slots.copy()
            work[first] += work[second]
            work[second] = 0.0
            maxima[first] = np.minimum(maxima[first], capacity) + np.minimum(
                maxima[second], capacity
            )
            flows = flows._replaced(work=work, max_slots=maxima)
        penalties = self._goal.penalties(flows)
        result = _core.plan_flows(
            flows.arrival,
            flows.job_offset,
            flows.work,
            flows.max_slots,
            flows.parent_offset,
            flows.parent,
            capacity,
            now,
            penalties,
            self._goal.is_max,
            self._policy,
            self._effort,
            np.inf,
            warm,
            self._hysteresis,
        )
        paid = penalties.of_jobs(result["flow_completion"])
        plan = FlowPlan(flows, capacity, self._goal, self._policy, now, result, paid, 0.0)
        self._order = self._flow_ids[plan.order]
        ready = (waiting == 0) & (flows.arrival <= now)[flows.flow]
        given = plan.allocation
        if len(first):
            given = given.copy()
            self._split(given, first, second, capacity)
            ready[second] = ready[first]
        open_jobs = ~self._finished
        changed = given != self._given
        self._given = given
        return FlowDecision(
            self._job_ids[open_jobs],
            given[open_jobs],
            changed[open_jobs],
            ready[open_jobs],
            ended,
            plan,
        )

    def _continued(self, flows: Flows, continues: npt.ArrayLike) -> Integers:
        """Rows of first phases, checked; -1: none."""
        rows = np.asarray(continues)
        count = len(flows.work)
        if rows.shape != (count,):
            raise ValueError(f"continues has {rows.size} entries but there are {count} jobs")
        if rows.dtype.kind not in "iu" and count:
            raise ValueError(f"continues: {rows.dtype} is not a kind of whole number")
        follows = np.where(rows < 0, -1, rows).astype(np.int64)
        child = np.repeat(np.arange(count), np.diff(flows.parent_offset))
        known = np.zeros(count, dtype=np.bool_)
        known[child[flows.parent == follows[child]]] = True
        for row in np.flatnonzero(~known & (follows >= 0))[:1]:
            raise ValueError(f"continues[{row}] = {rows[row]}: the job does not wait for that one")
        _, first, times = np.unique(follows[follows >= 0], return_index=True, return_counts=True)
        for at in first[times > 1][:1]:
            row = np.flatnonzero(follows >= 0)[at]
            raise ValueError(f"continues[{row}] = {follows[row]}: more than one job continues it")
        return follows

    def _waiting(self) -> Integers:
        """Per job: how many of those that it waits for have not finished."""
        flows = self._flows
        child = np.repeat(np.arange(len(flows.work)), np.diff(flows.parent_offset))
        left = child[~self._finished[flows.parent]]
        return np.bincount(left, minlength=len(flows.work)).astype(np.int64)

    def _coalesced(self, waiting: Integers) -> tuple[Integers, Integers]:
        """Rows of first and second phases that are planned as one job."""
        none = np.empty(0, dtype=np.int64)
        if self._ready_fraction >= 1.0 or not len(self._follows):
            return none, none
        second = np.flatnonzero((self._follows >= 0) & ~self._finished & (waiting == 1))
        first = self._follows[second]
        # The one it waits for is its own first phase, which itself may run.
        open_first = ~self._finished[first] & (waiting[first] == 0)
        work, whole = self._flows.work[first], self._whole[first]
        good = open_first & (whole - work >= self._ready_fraction * whole)
        return first[good], second[good]

    def _split(self, given: Integers, first: Integers, second: Integers, capacity: int) -> None:
        """Slots of a coalesced job to its phases, by the work they have left, within their maxima."""
        work, maxima = self._flows.work, np.minimum(self._flows.max_slots, capacity)
        together = given[first]
        all_work = work[first] + work[second]
        share = np.divide(work[second], all_work, out=np.zeros(len(first)), where=all_work > 0.0)
        late = np.rint(together * share).astype(np.int64)
        late = np.clip(late, np.maximum(together - maxima[first], 0), maxima[second])
        given[second] = late
        given[first] = together - late

    def _rows(self, field: str, ids: npt.ArrayLike, known: Integers) -> Integers:
        """Rows of ids; ValueError for one that is unknown or named twice."""
        wanted = np.atleast_1d(np.asarray(ids))
        if wanted.size == 0:
            return np.empty(0, dtype=np.int64)
        if wanted.dtype.kind not in "iu":
            raise ValueError(f"{field}: {wanted.dtype} is not a kind of whole number")
        rows = np.searchsorted(known, wanted)
        there = rows < len(known)
        there[there] = known[rows[there]] == wanted[there]
        for at in np.flatnonzero(~there)[:1]:
            raise ValueError(f"{field}[{at}] = {wanted[at]}: unknown")
        _, first = np.unique(wanted, return_index=True)
        for at in np.setdiff1d(np.arange(len(wanted)), first)[:1]:
            raise ValueError(f"{field}[{at}] = {wanted[at]}: named twice")
        found: Integers = rows.astype(np.int64)
        return found

    def _keep(self, rows: Integers) -> None:
        stays = np.zeros(len(self._flow_ids), dtype=np.bool_)
        stays[rows] = True
        kept = stays[self._flows.flow]
        new_row = np.cumsum(kept) - 1
        follows = self._follows[kept]
        self._follows = np.where(follows < 0, -1, new_row[follows])
        self._flows = self._flows.take(rows)
        self._flow_ids = self._flow_ids[rows]
        self._order = self._order[np.isin(self._order, self._flow_ids)]
        for field in ("_job_ids", "_tasks", "_whole", "_finished", "_given"):
            setattr(self, field, getattr(self, field)[kept])


def _positive(field: str, value: Any) -> float:
    number = check_time(field, value)
    if not number > 0.0:
        raise ValueError(f"{field} = {value}: must be above 0")
    return number
