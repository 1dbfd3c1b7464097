"""The epoch object: kept by a scheduler's loop, asked for the slots now."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from malleable import _core
from malleable.arrays import Floats, Integers, columns_of, count_of, given, ids_of, wholes_of
from malleable.checkpoints import by_value
from malleable.display import counted, view
from malleable.epoch import AssessedDecision, PlannedEpoch
from malleable.jobs.plan import Plan, check_effort
from malleable.jobs.table import Jobs, SlaSteps, check_min_mode, flat_sla, job_columns
from malleable.objective import Objective, PenaltyLike
from malleable.policies import JobPolicy, ObjectiveName
from malleable.traces.arrow_columns import is_frame
from malleable.traces.job_table import table_of
from malleable.validation import WEIGHT, check_amount, check_count, check_slots, check_time


@by_value(without=("_assessment", "_epoch", "_order", "_promised", "_version"))
class Decision(AssessedDecision):
    """Slots of every job now; see `BaseDecision`.

    Attributes
    ----------
    ids : ndarray of int64, shape (J,)
        All jobs, read-only. If you remove jobs, the order of the other ids may change.
    value, lower_bound : float or None
        The objective if nothing else happens, and a number that no schedule can beat. Both are worked out
        when you first ask, which has to be before the epoch changes: O(J log J), some milliseconds for
        100,000 jobs. The bound of a sum is the quick one; the bound of ``plan()`` may be stronger. With a
        period the value is that of a loop that is simulated, some milliseconds for 10,000 jobs, and both
        are None for more than a million jobs. If the loop is long, its value is not exact (see
        `malleable.Epoch.decide`).
    gap : float or None
        As `malleable.Plan` has it.
    overloaded : bool
        With a period: whether the jobs that keep coming need more whole slot-periods than there are. (A
        slot-period is one slot, held for one period.) Then no policy keeps up, but a shorter period may
        help. False until fifty jobs have come.
    order : ndarray of int64
        With a period: ids of the jobs that could use more slots than they have. If a slot becomes free
        before the next decision, give it to the first of these jobs that has less than its ``max_slots``.
        Jobs that will still be there at the next decision come first. Empty without a period. Worked out
        when you first ask, which has to be before the epoch changes: O(J log J).
    promised : ndarray of float64, shape (J,)
        With ``predictable``: the end that each job was promised with the first decision after its arrival [s,
        absolute]. It never changes. Infinite if none was promised. Worked out when you first ask, which has
        to be before the epoch changes: O(J).

    See Also
    --------
    malleable.Epoch.decide : Returns it.
    malleable.Plan : The schedule behind a decision.

    Examples
    --------
    >>> import malleable as mb
    >>> epoch = mb.Epoch(slots=20)
    >>> ids = epoch.add(work=[400.0, 90.0], max_slots=[20, 10])
    >>> decision = epoch.decide(now=0.0)
    >>> decision.value, round(decision.gap, 3)
    (33.5, 0.015)
    >>> print(*decision.explain(), sep="\\n")
    0: 10 slots now (what is left at place 2 of 2), 20 from 9 s; ends at 24.5 s; penalty 24.5
    1: 10 slots now (its maximum), keeps them; ends at 9 s; penalty 9
    """

    __slots__ = ("_assessment", "_epoch", "_order", "_promised", "_version", "overloaded")
    _more = ("overloaded", "_epoch", "_version", "_assessment", "_order", "_promised")
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
        """One line for each of these jobs: its slots and why, and what comes next.

        Without a period the lines are those of ``plan().explain()``, which takes the time of a plan. With a
        period a line says what is left of the job when the slots have been held. This is O(jobs shown),
        beside O(J) for the place in the order; ``plan().explain()`` simulates the loop, and says when each
        job ends.

        Parameters
        ----------
        ids : array_like of int, optional
            Some of the decision's `ids`; by default all.

        Raises
        ------
        ValueError
            An id that the decision does not have.
        RuntimeError
            As `plan`.
        """
        rows, core = self._rows(ids), self._epoch._core
        if core.period == 0.0:
            return self.plan().explain(rows)
        return list(view().periodic_lines(self, rows, core.shown(self._version, rows), self._epoch))

    def plan(self) -> Plan:
        """The plan behind this decision, with value, bound and pieces; its rows are those of `Decision.ids`.

        Raises
        ------
        RuntimeError
            If jobs were added, updated or removed, or another decision was made, in the meantime.
        """
        return self._epoch._plan(self)


def _programs(program: npt.ArrayLike | None, count: int) -> Integers | None:
    """One number for each job."""
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
        ``sum:KIND`` or ``max:KIND`` as for `malleable.plan`: the aggregate of all jobs, and the kind of all
        jobs that have no kind of their own (`add`, ``kind``).
    policy : str
        ``flex`` gives slots so that the objective becomes small. ``fair`` gives equal shares, ``wdeq``
        shares by weight. ``fifo`` serves jobs in the order of arrival. ``hesrpt`` gives shares to jobs whose
        speed-up is below linear.
    hysteresis : float
        FLEX: a job that holds more than its minimum counts as (1 + hysteresis) times as urgent, so that
        slots move only when the gain is worth it. 0: slots move freely. Otherwise from 1e-12 to 1e12.
    min_mode : str
        What the minimum of a job means. ``guarantee``: the job has at least this many slots while it has
        work. ``gang``: the job has at least this many slots, or none. ``start``: the job waits with no slots
        until it gets this many, and never has less after that; a job whose minimum is its maximum is rigid.
        If slots leave so that the minima of what runs do not fit, the job that started last stops, keeps
        the work it has done, and waits again. Jobs may have modes of their own (`add`).
    effort : int, optional
        FLEX. None: FLEX takes the order that belongs to the objective, and makes no plan. A number: each
        decision makes a plan, as `malleable.plan` does with this effort.
    period : float
        Seconds for which the loop holds a decision, unless `decide` gives another period: 0, or from 1e-12
        to 1e12. 0: the loop asks again whenever a job comes or ends.
    predictable : float, optional
        FLEX, for sums of response, completion, stretch and lateness. With a number, each job is promised an
        end when it comes (`Decision.promised`), and FLEX tries to keep to the told ends. The larger the number,
        the more response FLEX gives up for right ends: with 0 nothing, with 3 little, and with 100 jobs
        nearly keep the order of arrival; at most 1e12. None: no end is promised. Only without ``effort``,
        ``hysteresis`` and ``period``. The page ``docs/speedups.md`` has more.
    penalty : numba cfunc or function, optional
        For jobs of kind ``custom``: a function of the id of a job and the time at which the job ends. It
        returns the penalty, which must not fall as time goes on and must not be NaN. If a penalty is
        infinite from some time on, this time is a strict deadline. An epoch with a penalty pickles if the
        function is at the top level of a module.

    Raises
    ------
    ValueError
        Here and in all methods for wrong input, naming field, row and value, before anything changes.

    See Also
    --------
    malleable.plan : One table, planned once.
    malleable.FlowEpoch : The same for jobs that wait for each other.
    malleable.Scheduler : The same for clusters with nodes and tasks.

    Notes
    -----
    Only one thread at a time may use an object; a second one gets a RuntimeError. Different objects run side
    by side. Copies and pickles go on as the original would (a pickle loads in the same version only).
    Epochs are equal if their state is equal. `decide` takes O(J) for ``fair`` and for sums of response,
    completion, stretch and lateness, also if jobs have different ones of these kinds. Otherwise, and while
    the speed-up of some job is below linear, it takes O(J log J). With ``predictable`` it takes O(J^2) at
    most, and rarely more than O(J slots). It allocates only the arrays that it returns. Source: FLEX,
    sections 1.1 (metrics job by job) and 2.2 (epochs).

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
            None if effort is None else check_effort(effort),
            check_amount("period", period, WEIGHT),
            None if predictable is None else check_amount("predictable", predictable, WEIGHT),
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
        size: npt.ArrayLike | None = None,
        kind: str | Sequence[str | None] | None = None,
        program: npt.ArrayLike | None = None,
    ) -> Integers:
        """Add jobs: columns as in `malleable.Jobs`, or a whole table.

        O(jobs added), amortised.

        Parameters
        ----------
        work : array_like, shape (J,), or a table
            Work left [slot-seconds]. A table of jobs instead, a data frame (as for `malleable.read_jobs`) or a
            dict of columns has all columns but ``kind`` and ``program``.
        arrival : array_like or float, optional
            When each job came [s], not after the next decision. By default (also for a table that was made
            without it) the time of the last decision, or of the first one if there was none yet.
        min_slots, max_slots, weight, deadline, sla, speedup, min_mode
            As in `malleable.Jobs`.
        size : array_like, optional
            Original work [slot-seconds] of jobs that have run already; by default their work.
        kind : str or sequence of str, optional
            The kind of penalty of all these jobs, or one for each (None: that of the objective).
        program : array_like of int, optional
            The number of the program that a job runs, from 0 on (-1: none): one for all jobs, or one for each.
            From the work that jobs of a program do between decisions, the epoch learns the speed-up of the
            program (see `rates`).

        Returns
        -------
        ndarray of int64, shape (J,)
            Ids, never used twice.
        """
        if isinstance(work, (Jobs, Mapping)) or is_frame(work):
            jobs = table_of(work, Jobs)
            count = len(jobs)
            named = _programs(program, count)
            return self._core.add(jobs, self._kinds(kind, count), named, jobs.dated)
        columns = {
            "work": work,
            "arrival": 0.0 if arrival is None else arrival,
            "min_slots": min_slots,
            "max_slots": max_slots,
            "weight": weight,
            "deadline": deadline,
            "size": size,
        }
        dated = arrival is not None
        own = kind is not None or program is not None
        count = count_of("work", given("work", work)) if own else 0
        codes = None if kind is None else self._kinds(kind, count)
        named = _programs(program, count)
        if named is not None and speedup is not None:
            raise ValueError(
                "program: speedup= is given, too; it is learnt for jobs that have a program"
            )
        if sla is None and speedup is None and min_mode is None:
            try:
                return self._core.add(columns, codes, named, dated)
            except TypeError:  # not plain columns
                pass
        return self._core.add(job_columns(columns, sla, speedup, min_mode), codes, named, dated)

    def rates(self, program: int, most: int) -> Floats:
        """How fast 1, 2, ... slots of a job of the program are together, as learnt so far.

        The epoch measures the rate for each number of slots that a decision gave to jobs of the program: the
        work that these jobs did until the next decision, over the seconds in between. Rates of other numbers
        of slots are interpolated by powers of the number. If nothing was seen, s slots do s^0.8. Tell the
        work left before each decision (`update`). If you change ``work`` because an estimate changed, the
        change counts as work done. O(entries).

        Parameters
        ----------
        program : int
            As given to `add`.
        most : int
            Number of rates, up to 1024.

        Returns
        -------
        ndarray of float64, shape (most,)
            Rates of 1 to ``most`` slots.
        """
        return self._core.rates(check_count("program", program), check_slots(most, "most"))

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
    ) -> None:
        """Change jobs. Arrival, original size, speed-up and kind stay; so do columns that you leave out.

        An estimate may run out before the job ends. If you say that a job has no work left, it has outlived its
        estimate: the work left is taken to be a quarter of the work done so far, by the slots that decisions
        gave the job. A job of which nothing was ever done keeps ``max(1, min_slots)`` slots until `finish`. It
        gets them before all other jobs, but after the minima of other jobs. Value and bound count it as ending
        now. O(n).

        Parameters
        ----------
        ids : array_like of int, shape (n,)
            As `add` returned them.
        work : array_like, optional
            Work left [slot-seconds], up to 1e15; less than 1e-12 is a rounding error and counts as 0.
        min_slots, max_slots, weight, deadline, sla : optional
            As in `malleable.Jobs`.
        """
        columns: dict[str, Any] = {
            "work": work,
            "min_slots": min_slots,
            "max_slots": max_slots,
            "weight": weight,
            "deadline": deadline,
        }
        if sla is not None:
            ids = ids_of(ids)
            columns = columns_of(columns, len(ids)) | flat_sla(sla, len(ids), "ids")
        self._update(ids, columns)

    def decide(
        self, now: float, *, slots: int | None = None, period: float | None = None
    ) -> Decision:
        """Slots now. A second call at the same time, with nothing changed, gives the same slots.

        Parameters
        ----------
        now : float
            Absolute time [s], from -1e12 to 1e12, never before the time of an earlier call; no job may
            arrive later.
        slots : int, optional
            New capacity, kept from now on (nodes come and go); with 0 no job gets slots.
        period : float, optional
            Seconds for which this decision is held (default: the epoch's ``period``). A job then gets more
            slots than it can use for the whole period only if no other job can use them better. 0: you ask
            again as soon as a job ends. The ``plan()`` of the decision and its value are those of a loop that
            asks every ``period`` seconds from now on (as `malleable.plan`). They are worked out by simulating
            this loop. If it is long, the simulation decides less often in the end: a fourth of the time so
            far apart. In between, slots that become free go to the next jobs of ``order``.
        """
        moment = now if type(now) is float else check_time("now", now)
        capacity = None if slots is None else check_slots(slots, least=0)
        held = None if period is None else check_amount("period", period, WEIGHT)
        version, ids, given, changed, overloaded = self._core.decide(moment, capacity, held)
        self._warn_of_oversized()
        return Decision(moment, ids, given, changed, overloaded, self, version, None, None, None)

    def _warn_of_oversized(self) -> None:
        """Once for each job that waits for more slots than there are."""
        if never := self._core.take_oversized().tolist():
            jobs = ", ".join(map(str, never[:5])) + ", ..." * (len(never) > 5)
            more = f"min_slots: more than the {counted(self.slots, 'slot')}; waiting: {jobs}"
            warnings.warn(more, UserWarning, stacklevel=4)  # who called `decide`

    def _plan(self, decision: Decision) -> Plan:
        began = time.perf_counter()
        result, table, paid, codes = self._core.plan(decision._version)
        took = time.perf_counter() - began
        jobs = Jobs.of_core(table, decision.ids.copy())
        goal = self._goal
        if len(codes) > 1 or codes[0] != goal.kinds[0]:
            goal = Objective.of_codes(goal.aggregate, codes)
        told = {
            "capacity": self.slots,
            "policy": self._policy,
            "now": decision.now,
            "penalty": paid,
        }
        told |= {"min_mode": self._min_mode, "period": self._core.period}
        told |= {"looped": self._core.looped, "live": True}
        return Plan(result, goal, took, jobs=jobs, **told)
