"""The epoch of flows (graphs of jobs): an object that decides in a loop how many slots each job gets. The core
keeps its state between decisions."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.arrays import Integers, columns_of, ids_of, wholes_of
from malleable.checkpoints import by_value
from malleable.display import counted, html_of
from malleable.epoch import AssessedDecision, PlannedEpoch, rule_line
from malleable.flows.plan import FlowPlan
from malleable.flows.table import Flows
from malleable.jobs.table import SlaSteps, flat_sla, speedup_columns
from malleable.objective import PenaltyLike
from malleable.policies import FlowPolicy, ObjectiveName
from malleable.traces.job_table import table_of
from malleable.validation import WEIGHT, check_amount, check_count, check_slots, check_time


@by_value()
class FlowIds(NamedTuple):
    """Ids of flows that were added, and of their jobs in the order of their rows."""

    flows: Integers
    jobs: Integers


@by_value(without=("_assessment", "_epoch", "_planned", "_version"))
class FlowDecision(AssessedDecision):
    """Slots of the jobs of flows from now on. Other attributes, as of all decisions (`BaseDecision`): ``now``,
    ``slots``, ``changed``.

    Attributes
    ----------
    ids : ndarray of int64, shape (J,)
        All jobs that have not ended.
    ready : ndarray of bool, shape (J,)
        Whether the job can run: its flow has arrived, and all jobs that it waits for have finished.
    ended : ndarray of int64
        Flows that have ended since the decision before. The epoch no longer has them.
    period : float
        Seconds for which the decision is held. 0: until something ends.
    value, lower_bound : float
        The value of the plan that this decision begins, and a number that no schedule can beat. Asking for one
        makes the plan; see `plan`.
    gap : float or None
        As `malleable.Plan` has it.

    See Also
    --------
    malleable.FlowEpoch.decide : Returns it.

    Examples
    --------
    >>> import malleable as mb
    >>> epoch = mb.FlowEpoch(slots=20)
    >>> extract = {"name": "extract", "work": 60, "max_slots": 20}
    >>> load = {"name": "load", "work": 30, "max_slots": 10, "after": ["extract"]}
    >>> ids = epoch.add(mb.Flows([[extract, load]]))
    >>> decision = epoch.decide(now=0.0)
    >>> decision.slots, decision.ready, decision.value
    (array([20,  0]), array([ True, False]), 6.0)
    """

    _own = ("_epoch", "_version", "_planned", "_assessment")
    _more = ("ready", "ended", "period", "order", "overloaded", *_own)
    __slots__ = _more
    ready: npt.NDArray[np.bool_]
    ended: Integers
    period: float
    # with a period: ids of ready jobs, in the order in which they should get slots that become free before the
    # next decision, and whether the jobs that keep coming need more whole slot-periods than there are
    order: Integers
    overloaded: bool
    _epoch: FlowEpoch
    _version: int
    _planned: FlowPlan | None
    _repr_html_ = html_of("ids slots changed ready")

    def _assess(self) -> tuple[float, float]:
        plan = self.plan()
        return plan.value, plan.lower_bound

    def explain(self) -> list[str]:
        """The rule, then one line for each flow of the plan; with a period one for each job. Without a period
        it raises as `plan`."""
        lines = [rule_line(self._epoch.rule)]
        if not self.period:
            return lines + self.plan().explain()
        for job, slots, ready in zip(
            self.ids.tolist(), self.slots.tolist(), self.ready, strict=True
        ):
            why = "" if ready else " (waits for its parents or its flow's arrival)"
            lines.append(f"job {job}: {counted(slots, 'slot')}{why}")
        return lines

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {counted(len(self.ended), 'flow')} ended)"

    def plan(self) -> FlowPlan:
        """The `FlowPlan` that this decision begins: all flows, with their finished jobs.

        The first call takes O(jobs log jobs) for each order that the bound needs.

        Raises
        ------
        RuntimeError, ValueError
            The epoch has changed since the decision; there are no slots, or the decision is held for a
            period.
        """
        if self._planned is None:
            self._planned = self._epoch._plan(self._version, self.now)
        return self._planned


class FlowEpoch(PlannedEpoch):
    """A scheduler's loop over flows: flows come, jobs change and finish, slots are decided.

    Parameters
    ----------
    slots : int
        Capacity, from 0 to 2^50; `decide` can change it.
    objective : str
        ``sum:KIND`` or ``max:KIND`` as in `malleable.plan`, of flows, which may have kinds of their own
        (`add`).
    policy : str
        ``flowflex`` and ``flowflex-fast`` take the best of several orders of the flows, and differ only with
        an effort. ``flowflex-literal`` plans at every decision, as in Nagarajan et al. 2013. ``fair`` and
        ``fifo`` are plain rules.
    effort : int, optional
        None: ``flowflex`` compares orders of flows without a plan. A number: every decision also makes the
        plan of `malleable.plan` with this effort, and compares its order with the others: O(jobs log jobs)
        for each order that the plan tries.
    hysteresis : float
        The order of the last decision stays unless another order is better by more than this share of the
        value.
    period : float
        As for `malleable.Epoch`.
    penalty : numba cfunc or function, optional
        As for `malleable.Epoch`, of a flow's id.

    Raises
    ------
    ValueError
        Here and in all methods for wrong input, naming field, row and value, before anything changes.

    See Also
    --------
    malleable.Epoch : The same for jobs that do not wait for each other.

    Notes
    -----
    To compare orders quickly, ``flowflex`` takes each flow for one malleable job that uses as many slots as
    the flow can use on average. The orders go by how fast penalties grow, or by due dates.

    If some jobs have a ``speedup``, slots go one by one to the ready job that gains most by its next slot: what
    the slot adds to its rate, times what a unit of the flow's work is worth. This is more for flows that are
    early in the order, and less if more flows are behind them (`docs/flows.md`).

    Only `finish` ends a job and lets jobs run that waited for it. A flow leaves the epoch when all its jobs
    have finished. For a job that has outlived its estimate, a quarter of the work done so far is taken to be
    left. A job that never had work keeps a slot, if there is one, and counts as ending now, but jobs that
    wait for it still wait. `malleable.epoch.BaseEpoch` says what holds for all epochs: ids, copies, threads.

    Examples
    --------
    >>> import malleable as mb
    >>> epoch = mb.FlowEpoch(slots=20)
    >>> extract = {"name": "extract", "work": 60, "max_slots": 20}
    >>> load = {"name": "load", "work": 30, "max_slots": 10, "after": ["extract"]}
    >>> ids = epoch.add(mb.Flows([[extract, load]]))
    >>> epoch.decide(now=0.0).slots
    array([20,  0])
    >>> epoch.finish(ids.jobs[:1])
    >>> epoch.decide(now=3.0).slots
    array([10])
    """

    _noun = "flow"

    def __init__(
        self,
        slots: int,
        objective: ObjectiveName | str = "sum:response",
        policy: FlowPolicy | str = "flowflex",
        effort: int | None = None,
        hysteresis: float = 0.0,
        *,
        period: float = 0.0,
        penalty: PenaltyLike | None = None,
    ) -> None:
        goal = self._aim("flows", objective, policy, penalty)
        self._period = check_amount("period", period, WEIGHT)
        # The theorems of Nagarajan et al. 2013 hold only for the literal plan.
        self._guaranteed = policy == "flowflex-literal" and hysteresis == 0.0
        self._core: _core.FlowEpoch = _core.FlowEpoch(
            check_slots(slots, least=0),
            goal.is_max,
            policy,
            None if effort is None else check_count("effort", effort),
            check_amount("hysteresis", hysteresis, WEIGHT),
            self._period,
        )
        self._tell_penalty()

    def add(
        self,
        flows: Flows | Mapping[str, Any],
        *,
        kind: str | Sequence[str | None] | None = None,
        program: npt.ArrayLike | None = None,
    ) -> FlowIds:
        """Add flows; ids follow each other in the order of rows. O(jobs added), amortised.

        Parameters
        ----------
        flows : Flows or dict
            A table, or its arguments; names are ignored. Without ``arrival``, the flows arrive at the last
            decision, or at the first one.
        kind : str or sequence of str, optional
            The kind of penalty, for all or for each of these flows; None: that of the objective.
        program : array_like of int, shape (J,), optional
            The number of the program that a job runs, from 0; -1: none. The epoch learns the speed-up of
            programs (`rates`), in place of the column of ``flows``.
        """
        table: Flows = table_of(flows, Flows, field="flows")
        count = len(table.work)
        flow_ids, job_ids = self._core.add(
            table,
            self._goal.kinds if kind is None else self._kinds(kind, len(table)),
            table.local_names(),
            table.dated,
            None if program is None else wholes_of("program", program, count, -1, 2**60, "work"),
        )
        return FlowIds(flow_ids, job_ids)

    def update(
        self,
        ids: npt.ArrayLike = (),
        *,
        work: npt.ArrayLike | None = None,
        max_slots: npt.ArrayLike | None = None,
        speedup: float | Sequence[Any] | None = None,
        flows: npt.ArrayLike = (),
        weight: npt.ArrayLike | None = None,
        deadline: npt.ArrayLike | Sequence[float | None] | None = None,
        sla: Sequence[SlaSteps | None] | None = None,
    ) -> None:
        """Change jobs, by ``ids``, and flows, by ``flows``; what is not given stays. O(ids log flows).

        Parameters
        ----------
        ids, flows : array_like of int
            Jobs of the columns ``work``, ``max_slots`` and ``speedup``; flows of ``weight``, ``deadline`` and
            ``sla``.
        work : array_like
            The work left [slot-seconds].
        max_slots, speedup, weight, deadline, sla : array_like
            As in `malleable.Flows`.
        """
        of_jobs = {"work": work, "max_slots": max_slots}
        of_flows = {"weight": weight, "deadline": deadline}
        if speedup is None and sla is None:
            try:
                self._core.update(ids, flows, of_jobs | of_flows)
                return
            except TypeError:  # not plain columns
                pass
        rows, flow_rows = ids_of(ids), ids_of(flows, "flows")
        columns = columns_of(of_jobs, len(rows)) | columns_of(of_flows, len(flow_rows))
        columns |= speedup_columns(speedup, len(rows), "ids")
        if sla is not None:
            columns |= flat_sla(sla, len(flow_rows), "flows")
        self._core.update(rows, flow_rows, columns)

    def remove(self, ids: npt.ArrayLike = (), *, flows: npt.ArrayLike = ()) -> None:
        """Cancel jobs, by ``ids``, with all that wait for them, and flows, by ``flows``."""
        self._core.remove(ids_of(ids), ids_of(flows, "flows"))

    def decide(
        self, now: float, *, slots: int | None = None, period: float | None = None
    ) -> FlowDecision:
        """Slots of all jobs that have not ended.

        O(jobs + F log F) for F flows, unless every decision plans (``effort``). With a period also O(parents
        + R log R) for R ready jobs.

        Parameters
        ----------
        now, slots
            As for `malleable.Epoch.decide`.
        period : float, optional
            As for `malleable.Epoch.decide`. First come jobs that would make their flow end a period later if
            they waited, in the order of flows.
        """
        moment = check_time("now", now)
        capacity = None if slots is None else check_slots(slots, least=0)
        held = self._period if period is None else check_amount("period", period, WEIGHT)
        version, ids, given, changed, ready, ended, order, overloaded = self._core.decide(
            moment, capacity, held
        )
        more = (ready, ended, held, order, overloaded, self, version, None, None)
        return FlowDecision(moment, ids, given, changed, *more)

    def _plan(self, version: int, now: float) -> FlowPlan:
        # The plan of the decision with this version (a number that every change of the epoch raises).
        began = time.perf_counter()
        result, table, ids, job_names, codes, paid = self._core.plan(version)
        took = time.perf_counter() - began
        goal, told = self._told(codes, now, paid)
        flows = Flows.of_core(table, ids, job_names)
        plan = FlowPlan(result, goal, took, flows=flows, **told)
        if not self._guaranteed:
            plan.guarantee = None
        return plan
