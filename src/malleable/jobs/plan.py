"""Plans: a whole schedule for a table of jobs, with its value, its lower bound and its reasons."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, overload

from malleable import _core
from malleable.base_plan import BasePlan, Request
from malleable.columns import Floats
from malleable.domain import WEIGHT, check_amount, check_count, refuse, shown
from malleable.flows.plan import FlowPlan, plan_flows
from malleable.flows.table import Flows
from malleable.jobs.check import check_schedule
from malleable.jobs.table import Jobs, check_min_mode, refuse_source
from malleable.names import FlowPolicy, JobPolicy
from malleable.objective import (
    Objective,
    ObjectiveLike,
    Penalty,
    PenaltyLike,
    parse_objective,
    warn_without_deadlines,
)
from malleable.policies import policy_names

DEFAULT_EFFORT: int = _core.DEFAULT_EFFORT
"""Candidates that FLEX tries after its fixed orders unless told otherwise; see `default_effort`."""

POLICIES = policy_names("jobs")


class Plan(BasePlan):
    """The schedule that a policy made for a job table.

    Attributes
    ----------
    value, lower_bound : float
        The objective, and a floor under every schedule that obeys the same limits: a snapshot bound,
        for these estimates of work and without further arrivals.
    gap : float or None
        ``(value - lower_bound) / abs(lower_bound)``; 0 if equal, None if only the bound is 0.
    status : str
        ``ok``, ``minima_scaled`` (guaranteed minima added up to more than the slots), ``truncated``
        (the budget cut the search short), ``unmet`` (a strict deadline is missed, and nothing proves
        that it must be) or ``infeasible`` (no schedule meets all strict deadlines, or a gang is larger
        than the cluster).
    met : ndarray of bool, shape (J,)
        Which jobs meet their deadline (those without one do), and cost less than infinity. Where strict
        deadlines cannot all be met, as many are as were found, by weight.
    allocation : ndarray of int64, shape (J,)
        Slots of every job at ``now``.
    start, completion, penalty : ndarray of float64, shape (J,)
        Absolute times [s] and the penalty at completion.
    order : ndarray of int64, shape (J,)
        Job rows by priority.
    pieces : dict of ndarray
        ``job, start, end, slots``: the whole schedule; pieces of one job may overlap and add up.
    period : float
        For how long the slots of each decision are held [s]; 0: whenever a job ends others follow at once.
    live : bool
        Behind an epoch's decision: jobs without work end now rather than at their arrival, and keep
        slots in ``allocation`` until they are removed.
    timing : dict
        Wall-clock seconds; the only part that differs from run to run.

    See Also
    --------
    malleable.plan : Makes such a plan.
    malleable.FlowPlan : The same for flows.
    malleable.Decision.plan : The schedule behind a decision.

    Examples
    --------
    >>> import malleable as mb
    >>> plan = mb.plan(mb.Jobs(work=[400, 90], max_slots=[20, 10], name=["big", "small"]), slots=20)
    >>> plan.validate()
    >>> print(*plan.explain(), sep="\\n")
    big: 10 slots now (what is left at place 2 of 2), 20 from 9 s; ends at 24.5 s; penalty 24.5
    small: 10 slots now (its maximum), keeps them; ends at 9 s; penalty 9
    """

    def __init__(
        self,
        jobs: Jobs,
        slots: int,
        objective: Objective,
        policy: str,
        now: float,
        min_mode: str,
        result: Mapping[str, Any],
        penalty: Floats,
        seconds: float,
        live: bool = False,
        period: float = 0.0,
    ) -> None:
        super().__init__(slots, objective, policy, now, result, penalty, seconds)
        self.live = live
        self.period = period
        self.jobs = jobs
        self.min_mode = min_mode
        self._meet(jobs.deadline, self.completion)

    def validate(self) -> None:
        """Check the schedule by code that shares nothing with the solvers.

        Raises
        ------
        ValueError
            Names what is violated, for which job and when. O(P log P) for P pieces.
        """
        check_schedule(self)


def _of_frame(jobs: Any) -> Any:
    """The table of a data frame; all else as it is."""
    from malleable.traces.arrow_columns import is_frame
    from malleable.traces.job_table import read_jobs

    return read_jobs(jobs) if is_frame(jobs) else jobs


@overload
def plan(
    jobs: Jobs,
    slots: int,
    objective: ObjectiveLike = ...,
    policy: JobPolicy | str | None = ...,
    effort: int | None = ...,
    budget: float | None = ...,
    now: float = ...,
    *,
    period: float = ...,
    min_mode: str = ...,
    penalty: PenaltyLike | None = ...,
    progress: Callable[[int, int], object] | None = ...,
) -> Plan: ...


@overload
def plan(
    jobs: Flows,
    slots: int,
    objective: ObjectiveLike = ...,
    policy: FlowPolicy | str | None = ...,
    effort: int | None = ...,
    budget: float | None = ...,
    now: float = ...,
    *,
    period: float = ...,
    min_mode: str = ...,
    penalty: PenaltyLike | None = ...,
    progress: Callable[[int, int], object] | None = ...,
) -> FlowPlan: ...


def plan(
    jobs: Jobs | Flows,
    slots: int,
    objective: ObjectiveLike = "sum:response",
    policy: JobPolicy | FlowPolicy | str | None = None,
    effort: int | None = None,
    budget: float | None = None,
    now: float = 0.0,
    *,
    period: float = 0.0,
    min_mode: str = "guarantee",
    penalty: PenaltyLike | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Plan | FlowPlan:
    """Plan a table of malleable jobs, or of flows (see `malleable.flows.plan.plan_flows`).

    Parameters
    ----------
    jobs : Jobs, Flows or data frame
        A frame as for `malleable.read_jobs`. Jobs have all arrived by ``now``; flows may come later.
    slots : int
        Capacity, at least 1.
    objective : str or sequence of str
        ``sum:KIND`` or ``max:KIND`` with KIND one of response, completion, stretch, tardy, tardiness,
        lateness, sla, strict, custom; or one such text per job, with a common aggregate.
    policy : str, optional
        ``flex`` (jobs, the default), ``fair``, ``fifo``, ``wdeq`` or ``hesrpt`` (least work first, shares
        as steep as the speed-up allows); for flows ``flowflex`` (the default), ``flowflex-fast``,
        ``flowflex-literal``, ``fair`` or ``fifo``.
    effort : int, optional
        FLEX: candidates tried after the fixed orders; 0: none; more are never worse, and no bound falls.
        With deadlines, prices of slots come first, in stages that cost as many candidates as they take
        time for. By default `DEFAULT_EFFORT`, fewer for
        more than 2,000 jobs, or 100 whose speed-up is below linear (`default_effort`), so that plans
        take seconds. A max objective needs
        one: water-filling for the deadlines of its optimal level.
    budget : float, optional
        FLEX, FlowFlex: ceiling in seconds of wall-clock time, checked between candidates and, for flows,
        within the bounds that take longer than a few orders; fixed orders and a quick bound are always
        worked out. 0: nothing else. Prices are stopped between their steps.
    now : float
        Absolute time [s].
    period : float
        Jobs: plan a loop that decides at ``now`` and every so many seconds after, and holds the slots
        between two decisions; those of a job that ends idle until the next one. The plan is that of
        `malleable.Epoch` asked at each of these times, and its bound holds for all such loops. FLEX
        searches only if an ``effort`` is given. 0 (the default): slots may change at any time.
    min_mode : str
        ``guarantee``: a job has its minimum while it has work; ``gang``: none or at least that many.
    penalty : numba cfunc or function, optional
        For ``custom``: penalty of (job row, absolute completion), non-decreasing in the completion and
        never NaN. Infinite from some time on: a strict deadline.
    progress : callable, optional
        FLEX, jobs: called before each candidate with the number of those tried and the effort.

    Returns
    -------
    Plan, or FlowPlan for flows

    Raises
    ------
    ValueError
        For wrong input, naming field, row and value.

    See Also
    --------
    malleable.Epoch : Decides again and again, as jobs come and end.
    malleable.simulate : Lets jobs arrive, and compares policies.
    malleable.Plan : What is returned for jobs.

    Notes
    -----
    O(J log J) per order or candidate, O(J^2) where speed-ups are below linear. With a period one
    decision for each until the last job ends, and some seconds at most for the bound. FLEX: Wolf et al.,
    Middleware 2010. heSRPT: Berg, Vesilo, Harchol-Balter 2020.

    Examples
    --------
    >>> import malleable as mb
    >>> plan = mb.plan(mb.Jobs(work=[400, 90], max_slots=[20, 10]), slots=20)
    >>> plan.allocation
    array([10, 10])
    >>> plan.value, plan.lower_bound <= plan.value
    (33.5, True)
    """
    if not isinstance(jobs, (Jobs, Flows)):
        jobs = _of_frame(jobs)
    if isinstance(jobs, Flows):
        check_min_mode(min_mode)
        if min_mode != "guarantee":
            raise ValueError(f"min_mode = {min_mode!r}: jobs of flows have no minima")
        if period != 0.0:
            raise ValueError(f"period = {shown(period)}: plans of flows have none")
        chosen = "flowflex" if policy is None else policy
        return plan_flows(jobs, slots, objective, chosen, effort, budget, now, penalty=penalty)
    policy = "flex" if policy is None else policy
    refuse_source("jobs", jobs, "mb.read_jobs")
    if not isinstance(jobs, Jobs):
        raise ValueError(f"jobs: expected a Jobs table, not {type(jobs).__name__}")
    goal = parse_objective(objective, len(jobs))
    warn_without_deadlines(goal, jobs)
    tries = check_effort(effort, len(jobs), jobs.speedup is not None)
    check_min_mode(min_mode)
    held = check_amount("period", period, WEIGHT)
    if goal.custom and penalty is not None:
        penalty = Penalty(penalty)
    asked = Request.of("jobs", jobs, goal, slots, now, policy, tries, budget, penalty)
    late = f"after now = {asked.now}; take a snapshot with jobs.at(now)"
    refuse("arrival", jobs.arrival, jobs.arrival > asked.now, late)
    if held > 0.0:
        own = penalty.address if isinstance(penalty, Penalty) else 0
        result, seconds = _plan_held(jobs, asked, goal, held, effort, min_mode == "gang", own)
    else:
        result, seconds = asked.run(_core.plan, jobs, min_mode == "gang", progress)
    paid = asked.penalties.of_jobs(result["completion"])
    told = asked.slots, goal, policy, asked.now, min_mode
    return Plan(jobs, *told, result, paid, seconds, period=held)


def _plan_held(
    jobs: Jobs,
    asked: Request,
    goal: Objective,
    period: float,
    effort: int | None,
    gang: bool,
    own: int,
) -> tuple[dict[str, Any], float]:
    """What an epoch does that is asked every ``period`` seconds, and the seconds that this took."""
    if asked.budget < math.inf:
        raise ValueError("budget: a plan with a period does not search; leave it out")
    began = time.perf_counter()
    result = _core.plan_held(
        jobs,
        asked.slots,
        asked.now,
        asked.penalties,
        goal.kinds,
        own,
        asked.is_max,
        asked.policy,
        None if effort is None else asked.effort,
        gang,
        period,
    )
    return result, time.perf_counter() - began


def default_effort(jobs: int, curved: bool = False) -> int:
    """Candidates that FLEX tries for so many jobs unless told otherwise: fewer where each costs more.

    16,000,000,000 over the square of the jobs, at most `DEFAULT_EFFORT` and at least 60, which is what
    prices of steps take; 40,000,000 over their square and at least 10 if speed-ups are below linear
    (``curved``).
    """
    return _core.default_effort(jobs, curved)


def check_effort(effort: Any, jobs: int = 0, curved: bool = False) -> int:
    """A number of candidates; the default for so many jobs where None."""
    if effort is None:
        return default_effort(jobs, curved)
    return check_count("effort", effort)
