"""Epoch by epoch: slots for the jobs of flows now, from state that is kept between decisions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from malleable import _core, views
from malleable.columns import array_of, floats_of, ids_of, integers_of
from malleable.domain import LEFT, RATE, WEIGHT, WORK, check_amount
from malleable.flow_planning import FLOW_POLICIES, FlowPlan
from malleable.flow_tables import Flows
from malleable.objectives import Objective, ObjectiveLike, parse_objective
from malleable.tables import Floats, Integers, check_count, check_slots, check_time
from malleable.values import Kept, by_value, in_turn
from malleable.views import counted

__all__ = ["FlowDecision", "FlowEpoch", "FlowIds"]


@by_value()
class FlowIds(NamedTuple):
    """Ids of flows that were added, and of their jobs in the order of their rows."""

    flows: Integers
    jobs: Integers

    def __repr__(self) -> str:
        return views.brief(self)


@by_value()
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

    def __repr__(self) -> str:
        return (
            f"FlowDecision(now={self._plan.now!r}, {counted(len(self.ids), 'job')}, "
            f"{counted(int(self.slots.sum()), 'slot')}, {int(self.changed.sum()):,} changed, "
            f"{counted(len(self.ended), 'flow')} ended)"
        )

    _repr_html_ = views.as_html

    def plan(self) -> FlowPlan:
        """The plan behind the decision: all flows there are, with their finished jobs."""
        return self._plan


@by_value()
@dataclass(frozen=True, eq=False)
class _Rows:
    """Flows that are there, and what is known of their jobs, row by row.

    Attributes
    ----------
    tasks : of jobs whose work is a guess, else 0
    whole : work of each job when it came
    follows : row of the first phase, or -1
    order : flow ids as in the last decision
    """

    flows: Flows
    flow_ids: Integers
    job_ids: Integers
    tasks: Floats
    whole: Floats
    follows: Integers
    finished: npt.NDArray[np.bool_]
    given: Integers
    order: Integers

    @classmethod
    def none(cls) -> _Rows:
        """No flows."""
        ids = np.empty(0, dtype=np.int64)
        none = np.empty(0, dtype=np.bool_)
        return cls(Flows([]), ids, ids, np.empty(0), np.empty(0), ids, none, ids, ids)

    def joined(self, other: _Rows) -> _Rows:
        """Those of the other behind these."""
        base = len(self.job_ids)
        columns = {
            name: np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("flow_ids", "job_ids", "tasks", "whole", "finished", "given", "order")
        }
        follows = np.where(other.follows < 0, -1, other.follows + base)
        return _Rows(
            flows=Flows.joined([self.flows, other.flows]),
            follows=np.concatenate([self.follows, follows]),
            **columns,
        )

    def keep(self, rows: Integers) -> _Rows:
        """These flows only."""
        if len(rows) == len(self.flow_ids):
            return self
        stays = np.zeros(len(self.flow_ids), dtype=np.bool_)
        stays[rows] = True
        kept = stays[self.flows.flow]
        new_row = np.cumsum(kept) - 1
        follows = self.follows[kept]
        columns = ("job_ids", "tasks", "whole", "finished", "given")
        return _Rows(
            flows=self.flows.take(rows),
            flow_ids=self.flow_ids[rows],
            follows=np.where(follows < 0, -1, new_row[follows]),
            order=self.order[np.isin(self.order, self.flow_ids[rows])],
            **{name: getattr(self, name)[kept] for name in columns},
        )

    def waiting(self) -> Integers:
        """Per job: how many of those that it waits for have not finished."""
        flows = self.flows
        child = np.repeat(np.arange(len(flows.work)), np.diff(flows.parent_offset))
        left = child[~self.finished[flows.parent]]
        return np.bincount(left, minlength=len(flows.work)).astype(np.int64)

    def coalesced(self, waiting: Integers, ready_fraction: float) -> tuple[Integers, Integers]:
        """Rows of first and second phases that are planned as one job."""
        none = np.empty(0, dtype=np.int64)
        if ready_fraction >= 1.0 or not len(self.follows):
            return none, none
        second = np.flatnonzero((self.follows >= 0) & ~self.finished & (waiting == 1))
        first = self.follows[second]
        # The one it waits for is its own first phase, which itself may run.
        open_first = ~self.finished[first] & (waiting[first] == 0)
        work, whole = self.flows.work[first], self.whole[first]
        good = open_first & (whole - work >= ready_fraction * whole)
        return first[good], second[good]


class FlowEpoch(Kept):
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
    the original size (for stretch) and the arrival stay. Only `finish` ends a job: until then one whose
    work has run out keeps a slot, capacity permitting, counts as ending now, and holds its children
    back. Ids are never used twice. A wrong call changes nothing. One thread at a time per object,
    RuntimeError for a second one. Copies and pickles go on as the original would (a pickle loads in
    the same version only); epochs are equal if their state is.
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
        self._task_work = check_amount("task_work", task_work, RATE)
        self._hysteresis = check_amount("hysteresis", hysteresis, WEIGHT)
        self._ready_fraction = check_time("ready_fraction", ready_fraction)
        if not 0.0 <= self._ready_fraction <= 1.0:
            raise ValueError(f"ready_fraction = {ready_fraction}: must be 0 to 1")
        self._rows = _Rows.none()
        self._next_flow = self._next_job = 0

    def __len__(self) -> int:
        return len(self._rows.flow_ids)

    def __repr__(self) -> str:
        return (
            f"FlowEpoch({self._policy}, {self._goal.text}: {counted(len(self), 'flow')}, "
            f"{counted(self._slots, 'slot')})"
        )

    _repr_html_ = views.as_html

    @property
    def slots(self) -> int:
        """Capacity, until a decision is asked for with another one."""
        return self._slots

    @in_turn
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
        if not isinstance(flows, Flows):
            raise ValueError(f"flows: a Flows table is needed, not {type(flows).__name__}")
        count = len(flows.work)
        guess = np.zeros(count)
        if tasks is not None:
            guess = _per_job("tasks", tasks, count).astype(np.float64)
        follows = np.full(count, -1, dtype=np.int64)
        if continues is not None:
            follows = _continued(flows, continues)
        names = tuple(f"flow{self._next_flow + k}" for k in range(len(flows)))
        local = zip(flows.local_names(), flows.flow.tolist(), strict=True)
        work = _guessed(guess, guess > 0, self._task_work, flows.work)
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
        ids = FlowIds(
            np.arange(self._next_flow, self._next_flow + len(flows), dtype=np.int64),
            np.arange(self._next_job, self._next_job + count, dtype=np.int64),
        )
        came = _Rows(
            flows=renamed,
            flow_ids=ids.flows,
            job_ids=ids.jobs,
            tasks=guess,
            whole=work,
            follows=follows,
            finished=np.zeros(count, dtype=np.bool_),
            given=np.zeros(count, dtype=np.int64),
            order=ids.flows,
        )
        self._rows = self._rows.joined(came)
        self._next_flow += len(flows)
        self._next_job += count
        return FlowIds(ids.flows.copy(), ids.jobs.copy())

    @in_turn
    def set_task_work(self, task_work: float) -> None:
        """Another default, from 1e-12 to 1e12; jobs whose work is still a guess follow it.

        Nothing changes if one of them would leave the range of works.
        """
        default = check_amount("task_work", task_work, RATE)
        rows = self._rows
        guessed = (rows.tasks > 0) & ~rows.finished
        work = _guessed(rows.tasks, guessed, default, rows.flows.work)
        self._rows = replace(
            rows, flows=rows.flows._replaced(work=work), whole=np.where(guessed, work, rows.whole)
        )
        self._task_work = default

    @in_turn
    def update(
        self,
        ids: npt.ArrayLike,
        work: npt.ArrayLike | None = None,
        max_slots: npt.ArrayLike | None = None,
    ) -> None:
        """Overwrite the remaining work or the maximum of jobs, by id.

        Nothing changes if anything is wrong.
        """
        rows = self._rows
        which = self._open_jobs(ids)
        new_work, new_max, tasks = rows.flows.work.copy(), rows.flows.max_slots.copy(), rows.tasks
        values = floats_of("work", work, len(which))
        limits = integers_of("max_slots", max_slots, len(which))
        if values is not None:
            LEFT.check("work", values)
            new_work[which] = np.where(values < WORK.least, 0.0, values)
            tasks = tasks.copy()
            tasks[which] = 0.0
        if limits is not None:
            for at in np.flatnonzero(limits < 1)[:1]:
                raise ValueError(f"max_slots[{at}] = {limits[at]}: must be at least 1")
            new_max[which] = limits
        changed = rows.flows._replaced(work=new_work, max_slots=new_max)
        self._rows = replace(rows, flows=changed, tasks=tasks)

    @in_turn
    def finish(self, ids: npt.ArrayLike) -> None:
        """These jobs have finished; what waited for them may run. Finished flows leave by themselves."""
        rows = self._rows
        which = self._open_jobs(ids)
        work, finished = rows.flows.work.copy(), rows.finished.copy()
        work[which] = 0.0
        finished[which] = True
        self._rows = replace(rows, flows=rows.flows._replaced(work=work), finished=finished)

    @in_turn
    def remove(self, ids: npt.ArrayLike) -> None:
        """Drop flows, by id, whatever is left of them."""
        rows = _rows_of(ids, self._rows.flow_ids)
        self._rows = self._rows.keep(np.delete(np.arange(len(self)), rows))

    @in_turn
    def decide(self, now: float, slots: int | None = None) -> FlowDecision:
        """Slots of all unfinished jobs at ``now`` [s]; ``slots``: the capacity from now on.

        O(jobs log jobs) for each order that is tried.
        """
        now = check_time("now", now)
        capacity = self._slots if slots is None else check_slots(slots)
        rows = self._rows
        alive = np.bincount(rows.flows.flow[~rows.finished], minlength=len(self)) > 0
        # A flow that came without jobs has nothing to wait for.
        ended = rows.flow_ids[~alive]
        rows = rows.keep(np.flatnonzero(alive))
        waiting = rows.waiting()
        first, second = rows.coalesced(waiting, self._ready_fraction)
        flows = rows.flows
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
            np.searchsorted(rows.flow_ids, rows.order),
            self._hysteresis,
        )
        paid = penalties.of_jobs(result["flow_completion"])
        plan = FlowPlan(flows, capacity, self._goal, self._policy, now, result, paid, 0.0)
        ready = (waiting == 0) & (flows.arrival <= now)[flows.flow]
        slots_now = plan.allocation.copy()
        if len(first):
            _split(slots_now, rows.flows, first, second, capacity)
            ready[second] = ready[first]
        open_jobs = ~rows.finished
        self._hold(slots_now, rows.flows, ready & open_jobs, plan.order, capacity)
        changed = slots_now != rows.given
        self._slots = capacity
        self._rows = replace(rows, given=slots_now, order=rows.flow_ids[plan.order])
        return FlowDecision(
            rows.job_ids[open_jobs],
            slots_now[open_jobs],
            changed[open_jobs],
            ready[open_jobs],
            ended,
            plan,
        )

    def _hold(
        self,
        slots: Integers,
        flows: Flows,
        ready: npt.NDArray[np.bool_],
        order: Integers,
        capacity: int,
    ) -> None:
        """What jobs get now of which the work has run out, in place: the plan takes them for done.

        Each holds a slot, and what the plan gives to jobs that wait for them goes down its order to
        those that may run (FAIR: by its waterline). O(jobs log jobs), if there are any.
        """
        out = np.flatnonzero(ready & (flows.work == 0.0))
        if not len(out):
            return
        least = np.zeros(len(slots), dtype=np.int64)
        least[out[:capacity]] = 1
        most = np.where(ready, np.minimum(flows.max_slots, capacity), 0)
        if self._policy == "fair":
            rows = np.flatnonzero(ready)
            weight = np.ones(len(rows))
            slots[:] = 0
            slots[rows] = _core.waterline(least[rows], most[rows], capacity, weight, False)
            return
        place = np.empty(len(flows), dtype=np.int64)
        place[order] = np.arange(len(order))
        rank = np.lexsort((np.arange(len(slots)), place[flows.flow]))
        # First the slots that are held, then what the plan says, then up to the maxima: those who
        # have work before those who may have none.
        left = capacity - int(least.sum())
        wanted = [np.where(ready, np.maximum(slots - least, 0), 0)]
        wanted += [np.where(flows.work > 0.0, most - least - wanted[0], 0)]
        wanted += [np.where(flows.work > 0.0, 0, most - least - wanted[0])]
        slots[:] = least
        for more in wanted:
            before = np.cumsum(more[rank]) - more[rank]
            slots[rank] += np.clip(left - before, 0, more[rank])
            left = max(0, left - int(more.sum()))

    def _open_jobs(self, ids: npt.ArrayLike) -> Integers:
        """Rows of jobs by id; ValueError for one that is unknown, named twice, or has finished."""
        which = _rows_of(ids, self._rows.job_ids)
        for at in np.flatnonzero(self._rows.finished[which])[:1]:
            job = self._rows.job_ids[which[at]]
            raise ValueError(f"ids[{at}] = {job}: the job has finished already")
        return which


def _split(slots: Integers, flows: Flows, first: Integers, second: Integers, capacity: int) -> None:
    """Slots of a coalesced job to its phases, by the work they have left, within their maxima."""
    work, maxima = flows.work, np.minimum(flows.max_slots, capacity)
    together = slots[first]
    all_work = work[first] + work[second]
    share = np.divide(work[second], all_work, out=np.zeros(len(first)), where=all_work > 0.0)
    late = np.rint(together * share).astype(np.int64)
    late = np.clip(late, np.maximum(together - maxima[first], 0), maxima[second])
    slots[second] = late
    slots[first] = together - late


def _rows_of(ids: npt.ArrayLike, known: Integers) -> Integers:
    """Rows of ids; ValueError for one that is unknown or named twice."""
    wanted = ids_of(ids)
    rows = np.searchsorted(known, wanted)
    there = rows < len(known)
    there[there] = known[rows[there]] == wanted[there]
    for at in np.flatnonzero(~there)[:1]:
        raise ValueError(f"ids[{at}] = {wanted[at]}: unknown")
    _, first = np.unique(wanted, return_index=True)
    for at in np.setdiff1d(np.arange(len(wanted)), first)[:1]:
        raise ValueError(f"ids[{at}] = {wanted[at]}: named twice")
    found: Integers = rows.astype(np.int64)
    return found


def _per_job(field: str, values: npt.ArrayLike, count: int) -> Integers:
    """Whole numbers, at least 0, one a job of the table."""
    array = array_of(field, values)
    if array.shape != (count,):
        raise ValueError(f"{field} has {array.size} entries but there are {count} jobs")
    column: Integers = integers_of(field, values, count)
    return column


def _continued(flows: Flows, continues: npt.ArrayLike) -> Integers:
    """Rows of first phases, checked; -1: none."""
    rows = array_of("continues", continues)
    count = len(flows.work)
    if rows.shape != (count,):
        raise ValueError(f"continues has {rows.size} entries but there are {count} jobs")
    if rows.dtype.kind not in "iu" and count:
        raise ValueError(f"continues: {rows.dtype} is not a kind of whole number")
    child = np.repeat(np.arange(count), np.diff(flows.parent_offset))
    follows = rows.astype(np.int64)
    known = np.zeros(count, dtype=np.bool_)
    known[child[flows.parent == follows[child]]] = True
    for row in np.flatnonzero(~known & (rows != -1))[:1]:
        raise ValueError(f"continues[{row}] = {rows[row]}: the job does not wait for that one")
    _, first, times = np.unique(follows[follows >= 0], return_index=True, return_counts=True)
    for at in first[times > 1][:1]:
        row = np.flatnonzero(follows >= 0)[at]
        raise ValueError(f"continues[{row}] = {follows[row]}: more than one job continues it")
    return follows


def _guessed(
    tasks: Floats, guessed: npt.NDArray[np.bool_], task_work: float, work: Floats
) -> Floats:
    """Work of the jobs of which the number of tasks is known, beside that of the others."""
    made: Floats = np.where(guessed, tasks * task_work, work)
    for row in np.flatnonzero(guessed & ~((made >= WORK.least) & (made <= WORK.most)))[:1]:
        raise ValueError(
            f"tasks[{row}] = {tasks[row]}: with task_work = {task_work} that is work {made[row]}, "
            f"which {WORK.text}"
        )
    return made
