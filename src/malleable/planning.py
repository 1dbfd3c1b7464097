"""The public function `plan`, which passes tables of jobs and of flows on to their planners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from malleable.flows.plan import FlowPlan, plan_flows
from malleable.flows.table import Flows
from malleable.jobs.plan import Plan, plan_jobs
from malleable.jobs.table import Jobs, check_min_mode
from malleable.objective import ObjectiveLike, PenaltyLike
from malleable.plan_results import Request
from malleable.policies import FlowPolicy, JobPolicy
from malleable.traces.job_table import table_of
from malleable.validation import shown, suggesting


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


@suggesting
def plan(
    jobs: Jobs | Flows | Any,
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
    """Plan a table of malleable jobs, or of flows.

    Parameters
    ----------
    jobs : Jobs, Flows, data frame or dict of columns
        A frame as for `malleable.read_jobs`; a dict has the arguments of `Jobs` or of `Flows`. Jobs have all
        arrived by ``now``; flows may come later.
    slots : int
        Capacity, at least 1.
    objective : str or sequence of str
        ``sum:KIND`` or ``max:KIND`` with KIND one of response, completion, stretch, tardy, tardiness,
        lateness, sla, strict, custom; or one such text per job, with a common aggregate.
    policy : str, optional
        For jobs ``flex`` (the default), ``fair``, ``fifo``, ``wdeq`` (shares by weight) or ``hesrpt`` (least
        work first, shares by the speed-up). For flows ``flowflex`` (the default), ``flowflex-fast`` (without
        the minimum-cost flow and the search), ``flowflex-literal`` (as Nagarajan et al. describe it), ``fair``
        or ``fifo``, which know only ready jobs.
    effort : int, optional
        FLEX, FlowFlex: candidates to try after the fixed orders. More effort is never worse, and no bound
        falls. The default keeps plans within seconds: `malleable.jobs.plan.DEFAULT_EFFORT`, fewer for more
        than 2,000 jobs (`malleable.jobs.plan.default_effort`), for flows 4000, fewer for more than 1,000
        jobs. If a speed-up is below linear, a candidate of J jobs counts as (J / 100)^2, at least 1. A max
        objective needs one candidate: water-filling for the deadlines of its optimal level.
    budget : float, optional
        FLEX, FlowFlex: ceiling of wall-clock time [s], checked between candidates, between steps of bounds
        and, for flows, within them. With 0 there are fixed orders and a quick bound only; for more
        than 20,000 jobs only those orders that are best most often.
    now : float
        Absolute time [s].
    period : float
        Jobs: plan a loop that decides at ``now`` and every ``period`` seconds after, and holds the slots in
        between, also those of a job that has ended, as `malleable.Epoch` does. The bound holds for all such
        loops. FLEX searches only with an ``effort``. 0: slots may change at any time.
    min_mode : str
        ``guarantee`` (at least the minimum while a job has work), ``gang`` (that or no slots) or ``start``
        (wait for the minimum), as for `malleable.Epoch`. With ``start`` the plan is that of a loop. Jobs may
        have modes of their own (`malleable.Jobs`).
    penalty : numba cfunc or function, optional
        For ``custom``: penalty of (job or flow row, absolute completion), non-decreasing in the completion
        and never NaN. A penalty that is infinite from some time on is a strict deadline.
    progress : callable, optional
        FLEX, jobs: called before each candidate with the number of candidates tried so far and the effort.

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

    Notes
    -----
    O(J log J) per order or candidate, O(J^2) if speed-ups are below linear. With a period the plan takes one
    decision for each period until the last job ends, and some seconds at most for the bound. FLEX: Wolf et
    al., Middleware 2010. FlowFlex: Nagarajan et al., Middleware 2013. heSRPT: Berg, Vesilo, Harchol-Balter
    2020.

    Examples
    --------
    >>> import malleable as mb
    >>> plan = mb.plan(mb.Jobs(work=[400, 90], max_slots=[20, 10]), slots=20)
    >>> plan.slots
    array([10, 10])
    >>> plan.value, plan.lower_bound <= plan.value
    (33.5, True)
    """
    jobs = table_of(jobs, Jobs, Flows)
    if isinstance(jobs, Flows):
        check_min_mode(min_mode)
        if min_mode != "guarantee":
            raise ValueError(f"min_mode = {min_mode!r}: jobs of flows have no minima")
        if period != 0.0:
            raise ValueError(f"period = {shown(period)}: plans of flows take no period")
        how = (policy or "flowflex", effort, budget, now, penalty)
        return plan_flows(Request("flows", jobs, slots, objective, *how))
    how = (policy or "flex", effort, budget, now, penalty)
    asked = Request("jobs", jobs, slots, objective, *how)
    return plan_jobs(asked, period, min_mode, progress)
