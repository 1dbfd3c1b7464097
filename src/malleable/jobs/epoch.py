"""The epoch of jobs: an object that a scheduler keeps in its loop, tells what happens, and asks for the slots
of each job now. The core keeps its state between decisions."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from malleable import _core
from malleable.arrays import Floats, Integers, arguments, columns_of, ids_of, wholes_of
from malleable.checkpoints import by_value
from malleable.display import counted, view
from malleable.epoch import AssessedDecision, PlannedEpoch, rule_line
from malleable.jobs.plan import Plan
from malleable.jobs.table import (
    Jobs,
    SlaSteps,
    are_unknown,
    check_min_mode,
    flat_sla,
    speedup_columns,
)
from malleable.objective import PenaltyLike
from malleable.policies import JobPolicy, ObjectiveName
from malleable.traces.arrow_columns import is_frame
from malleable.traces.job_table import table_of
from malleable.validation import RATE, WEIGHT, check_amount, check_count, check_slots, check_time


# These do not count if decisions are compared: caches, and the epoch with its version.
@by_value(without=("_assessment", "_epoch", "_order", "_promised", "_version"))
class Decision(AssessedDecision):
    r"""Slots of every job now. Other attributes, as of all decisions (`BaseDecision`): ``now``, ``slots``,
    ``changed``.

    Attributes
    ----------
    ids : ndarray of int64, shape (J,)
        All jobs, read-only. If you remove jobs, the order of the other ids may change.
    value, lower_bound : float or None
        The objective if nothing else happens, and a number that no schedule can beat. For sums ``plan()`` may
        have a stronger bound. With a period the value is that of a simulated loop (see
        `malleable.Epoch.decide`), some milliseconds for 10,000 jobs, and both are None for more than a
        million jobs.
    gap : float or None
        ``(value - lower_bound) / abs(lower_bound)``.
    overloaded : bool
        With a period: whether the work that comes, in whole slot-periods, exceeds the slots. False until fifty
        jobs have come.
    order : ndarray of int64
        Give a free slot to the first of these jobs that has less than its ``max_slots``. Jobs that will still
        be there at the next decision come first.
    promised : ndarray of float64, shape (J,)
        With ``predictable``: the end that each job was promised at its arrival [s, absolute], which never
        changes. Infinite if none was promised.

    See Also
    --------
    malleable.Epoch.decide : Returns it.

    Notes
    -----
    Value, bound, order: O(J log J), worked out when you first ask, before the epoch changes.

    Examples
    --------
    >>> import malleable as mb
    >>> epoch = mb.Epoch(slots=20)
    >>> ids = epoch.add(work=[400.0, 90.0], max_slots=[20, 10])
    >>> decision = epoch.decide(now=0.0)
    >>> decision.value, round(decision.gap, 3)
    (33.5, 0.015)
    >>> print(*decision.explain(), sep="\n")
    rule instance: all jobs are looked at together
    0: 10 slots now (what is left at place 2 of 2), 20 from 9 s; ends at 24.5 s; penalty 24.5
    1: 10 slots now (its maximum), keeps them; ends at 9 s; penalty 9
    """

    # arguments of the constructor after those of `BaseDecision`, in order
    _more = ("overloaded", "_epoch", "_version", "_assessment", "_order", "_promised")
    __slots__ = _more
    overloaded: bool
    _order: Integers | None
    _promised: Floats | None
    _epoch: Epoch
    _version: int

    @property
    def order(self) -> Integers:
        if self._order is None:
            self._order = self._epoch._core.order(self._version)
        return self._order

    @property
    def promised(self) -> Floats:
        if self._promised is None:
            self._promised = self._epoch._core.promised(self._version)
        return self._promised

    def _assess(self) -> tuple[float, float] | tuple[None, None]:
        return self._epoch._core.assess(self._version) or (None, None)

    def explain(self, ids: npt.ArrayLike | None = None) -> list[str]:
        """The rule that decided, then one line for each of these jobs: its slots and why, and what comes next.

        The lines of jobs are those of ``plan().explain()``, and take the time of a plan. With a period a line
        says what is left of the job when the slots have been held: O(J), for the place in the order.

        Parameters
        ----------
        ids : array_like of int, optional
            Some of the decision's `ids`; by default all.

        Raises
        ------
        ValueError, RuntimeError
            An id that the decision does not have; as `plan`.
        """
        rows, core = self._rows(ids), self._epoch._core
        head = [rule_line(self._epoch.rule)]
        if core.period == 0.0:
            return head + self.plan().explain(rows)
        jobs = Jobs.of_core(core.planned(self._version)[0], self.ids)
        return head + list(view().periodic_lines(self, rows, jobs, self._epoch))

    def plan(self) -> Plan:
        """The plan behind this decision, with value, bound and pieces; its rows are `Decision.ids`.
        RuntimeError if the epoch has changed since."""
        return self._epoch._plan(self)


def _programs(program: npt.ArrayLike | None, count: int) -> Integers | None:
    # Numbers of programs, checked.
    if program is None:
        return None
    return wholes_of("program", program, count, -1, 2**60, "work")


class Epoch(PlannedEpoch):
    """Decides, epoch by epoch, how many slots each job gets.

    Parameters
    ----------
    slots : int
        Capacity, from 0 to 2^50; `decide` can change it.
    objective : str
        ``sum:KIND`` or ``max:KIND`` as for `malleable.plan`; jobs may have kinds of their own (`add`,
        ``kind``).
    policy : str
        ``flex`` makes the objective small. ``fair`` gives equal shares, ``wdeq`` shares by weight, ``hesrpt``
        shares for speed-ups below linear. ``fifo`` serves jobs in the order of arrival.
    hysteresis : float
        FLEX: a job that holds more than its minimum is (1 + hysteresis) times as urgent, so slots move only
        if the gain is worth it. 0, or from 1e-12 to 1e12.
    min_mode : str
        ``guarantee``: a job has at least its minimum while it has work. ``gang``: at least its minimum, or no
        slots. ``start``: it waits without slots until it gets its minimum, and then never has less; if
        minimum and maximum are equal, it is rigid. If slots leave, the job that started last stops, keeps its
        done work, and waits again.
    effort : int, optional
        FLEX. None: it takes the order that belongs to the objective. A number: each decision makes a plan, as
        `malleable.plan` with this effort.
    period : float
        Seconds for which the loop holds a decision, unless `decide` gives others: 0, or from 1e-12 to 1e12.
        0: the loop asks again whenever a job comes or ends.
    predictable : float, optional
        FLEX, for sums of response, completion, stretch and lateness, without ``effort``, ``hysteresis`` and
        ``period``: each job is promised an end when it comes (`Decision.promised`). The number is the mean
        error that you accept, over the time from the arrival to the promised end: with 0.05 ends are off by
        5 %. FLEX gives up as much response as that takes, the more the smaller the number (1e-12 to 1e12).
        None: no promises. See ``docs/speedups.md``.
    sizes : {"known", "unknown"}
        ``unknown``: ``work`` says nothing (1 will do, and `update` takes none). The epoch guesses
        from the work that a job has done, and from jobs that ended (of the same ``program``, if the job has
        one), how much is left. Jobs that have done little come first.
    penalty : numba cfunc or function, optional
        For jobs of kind ``custom``, as for `malleable.plan`, but of a job's id. An epoch with a penalty
        pickles if the function is at the top level of a module.

    Raises
    ------
    ValueError
        Here and in all methods for wrong input, naming field, row and value, before anything changes.

    See Also
    --------
    malleable.plan : One table, planned once.

    Notes
    -----
    `malleable.epoch.BaseEpoch` says what holds for all epochs: ids, copies, threads. `decide` takes O(J) for
    ``fair`` and for sums of response, completion, stretch and lateness, also mixed. Otherwise, and while a
    speed-up is below linear, it takes O(J log J); with ``predictable`` at most O(J^2), rarely more than O(J
    slots). It allocates only the arrays that it returns. Source: Wolf et al. 2010, sections 1.1 (metrics job
    by job) and 2.2 (epochs).

    Examples
    --------
    >>> import malleable as mb
    >>> epoch = mb.Epoch(slots=20, period=5.0)
    >>> ids = epoch.add(work=[400.0, 90.0], max_slots=[20, 10])
    >>> decision = epoch.decide(now=0.0)
    >>> dict(zip(decision.ids.tolist(), decision.slots.tolist()))
    {0: 10, 1: 10}
    >>> epoch.update(ids, work=[310.0, 40.0])
    >>> epoch.finish(ids[1:])
    >>> epoch.decide(now=5.0).slots
    array([20])
    """

    _noun = "job"

    def __init__(
        self,
        slots: int,
        objective: ObjectiveName | str = "sum:response",
        policy: JobPolicy | str = "flex",
        hysteresis: float = 0.0,
        *,
        min_mode: str = "guarantee",
        effort: int | None = None,
        period: float = 0.0,
        predictable: float | None = None,
        sizes: str = "known",
        penalty: PenaltyLike | None = None,
    ) -> None:
        check_min_mode(min_mode)
        goal = self._aim("jobs", objective, policy, penalty)
        self._min_mode = min_mode
        self._core: _core.Epoch = _core.Epoch(
            check_slots(slots, least=0),
            goal.is_max,
            int(goal.kinds[0]),
            policy,
            min_mode,
            check_amount("hysteresis", hysteresis, WEIGHT),
            None if effort is None else check_count("effort", effort),
            check_amount("period", period, WEIGHT),
            None if predictable is None else check_amount("predictable", predictable, RATE),
            are_unknown(sizes),
        )
        self._tell_penalty()

    def add(
        self,
        work: npt.ArrayLike | Jobs | Mapping[str, Any] | Any,
        *,
        arrival: npt.ArrayLike | None = None,
        min_slots: npt.ArrayLike = 0,
        max_slots: npt.ArrayLike | None = None,
        weight: npt.ArrayLike = 1.0,
        deadline: npt.ArrayLike | Sequence[float | None] | None = None,
        sla: Sequence[SlaSteps | None] | None = None,
        speedup: float | Sequence[Any] | None = None,
        min_mode: str | Sequence[str] | None = None,
        preferred: npt.ArrayLike | None = None,
        restart: npt.ArrayLike | None = None,
        restart_grow: npt.ArrayLike | None = None,
        restart_shrink: npt.ArrayLike | None = None,
        restart_slot: npt.ArrayLike | None = None,
        size: npt.ArrayLike | None = None,
        kind: str | Sequence[str | None] | None = None,
        program: npt.ArrayLike | None = None,
    ) -> Integers:
        """Add jobs: columns as in `malleable.Jobs`, or a whole table. O(jobs added), amortised.

        Parameters
        ----------
        work : array_like, shape (J,), or a table
            Work left [slot-seconds]. Or a table of jobs, a data frame (as for `malleable.read_jobs`) or a
            dict of columns, with all columns but ``kind`` and ``program``.
        arrival : array_like or float, optional
            Not after the next decision [s]. By default (also of a table made without it) the time of the last
            decision, or of the first one if there was none yet.
        min_slots, max_slots, weight, deadline, sla, speedup, min_mode, preferred, size
            As in `malleable.Jobs`.
        restart, restart_grow, restart_shrink, restart_slot
            As in `malleable.Jobs`. While some change costs time, a decision makes only changes that gain more
            than they cost. ``predictable`` does not go with it.
        kind : str or sequence of str, optional
            The kind of penalty, for all or for each of these jobs; None: that of the objective.
        program : array_like of int, optional
            The number of the program that a job runs, from 0 (-1: none), one for all jobs or for each. The
            epoch learns the speed-up of programs (`rates`).

        Returns
        -------
        ndarray of int64, shape (J,)
            Ids.
        """
        columns = arguments(locals(), "kind", "program")
        told = isinstance(work, (Jobs, Mapping)) or is_frame(work)
        jobs = table_of(work, Jobs) if told else Jobs(**columns)
        count = len(jobs)
        if program is not None and speedup is not None:
            raise ValueError(
                "program: speedup= is given, too; it is learnt for jobs that have a program"
            )
        return self._core.add(jobs, self._kinds(kind, count), _programs(program, count), jobs.dated)

    def update(
        self,
        ids: npt.ArrayLike,
        *,
        work: npt.ArrayLike | None = None,
        min_slots: npt.ArrayLike | None = None,
        max_slots: npt.ArrayLike | None = None,
        weight: npt.ArrayLike | None = None,
        deadline: npt.ArrayLike | Sequence[float | None] | None = None,
        sla: Sequence[SlaSteps | None] | None = None,
        speedup: float | Sequence[Any] | None = None,
        restart: npt.ArrayLike | None = None,
        restart_grow: npt.ArrayLike | None = None,
        restart_shrink: npt.ArrayLike | None = None,
        restart_slot: npt.ArrayLike | None = None,
    ) -> None:
        """Change jobs. Arrival, original size and kind stay; so do columns that you leave out. O(n).

        A job with work 0 has outlived its estimate: a quarter of the work done so far, by the slots that
        decisions gave it, is taken to be left. If it has done nothing, it keeps ``max(1, min_slots)`` slots
        until `finish`, after the minima of other jobs but before everything else; value and bound count it as
        ending now.

        Parameters
        ----------
        ids : array_like of int, shape (n,)
            As `add` returned them.
        work : array_like, optional
            Work left [slot-seconds], up to 1e15; less than 1e-12 is a rounding error and counts as 0.
        min_slots, max_slots, weight, deadline, sla, speedup : optional
        restart, restart_grow, restart_shrink, restart_slot : optional
            As in `malleable.Jobs`. Jobs that have a program take no ``speedup``.
        """
        told = arguments(locals(), "ids", "sla", "speedup")
        columns = {name: values for name, values in told.items() if values is not None}
        if sla is not None or speedup is not None:
            ids = ids_of(ids)
            steps = {} if sla is None else flat_sla(sla, len(ids), "ids")
            rates = speedup_columns(speedup, len(ids), "ids")
            columns = columns_of(columns, len(ids)) | steps | rates
        self._update(ids, columns)

    def decide(
        self, now: float, *, slots: int | None = None, period: float | None = None
    ) -> Decision:
        """Slots now. A second call at the same time, with nothing changed, gives the same slots.

        Parameters
        ----------
        now : float
            Absolute time [s], from -1e12 to 1e12, never before the time of an earlier call or an arrival.
        slots : int, optional
            New capacity, kept from now on; it may be 0.
        period : float, optional
            Seconds for which this decision is held (default: the epoch's ``period``). A job then gets more
            slots than it can use for the whole period only if no other job can use them better. ``plan()``
            and value are those of a simulated loop with this period (as `malleable.plan`).
        """
        moment = now if type(now) is float else check_time("now", now)
        capacity = None if slots is None else check_slots(slots, least=0)
        held = None if period is None else check_amount("period", period, WEIGHT)
        decided = self._core.decide(moment, capacity, held)
        version, ids, granted, changed, overloaded, oversized = decided
        if len(oversized):
            self._warn_of_oversized(oversized.tolist())
        return Decision(moment, ids, granted, changed, overloaded, self, version, None, None, None)

    def _warn_of_oversized(self, never: list[int]) -> None:
        # Warn once of each job whose minimum exceeds all slots.
        jobs = ", ".join(map(str, never[:5])) + ", ..." * (len(never) > 5)
        more = f"min_slots: more than the {counted(self.slots, 'slot')}; waiting: {jobs}"
        warnings.warn(more, UserWarning, stacklevel=4)  # the caller of `decide`

    def _plan(self, decision: Decision) -> Plan:
        began = time.perf_counter()
        result, paid = self._core.plan(decision._version)
        took = time.perf_counter() - began
        table, codes = self._core.planned(decision._version)
        jobs = Jobs.of_core(table, decision.ids.copy())
        goal, told = self._told(codes, decision.now, paid)
        how = {"min_mode": self._min_mode, "period": self._core.period}
        how |= {"looped": self._core.looped, "live": True}
        return Plan(result, goal, took, jobs=jobs, **told, **how)
