"""Plans of jobs: a whole schedule for a table of jobs, with its value, its lower bound and its reasons."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from malleable import _core
from malleable.jobs.check import check_schedule
from malleable.jobs.table import Jobs, check_min_mode
from malleable.objective import Penalty, warn_without_deadlines
from malleable.plan_results import BasePlan, Request
from malleable.policies import policy_names
from malleable.validation import WEIGHT, check_amount, refuse

DEFAULT_EFFORT: int = _core.DEFAULT_EFFORT
"""Candidates (schedules of other orders of the jobs) that FLEX tries after its fixed orders by default."""

POLICIES = policy_names("jobs")


class Plan(BasePlan):
    r"""The schedule that a policy made for a job table.

    Attributes
    ----------
    value, lower_bound : float
        The objective, and a bound on every schedule that obeys the same limits: a snapshot bound, for these
        estimates of work and without further arrivals.
    gap : float or None
        ``(value - lower_bound) / abs(lower_bound)``; 0 if equal, None if only the bound is 0.
    status : str
        ``ok``, ``minima_scaled`` (guaranteed minima added up to more than the slots), ``truncated`` (the
        budget cut the search short), ``unmet`` (a strict deadline is missed, and nothing proves that it must
        be) or ``infeasible`` (no schedule meets all strict deadlines, or a job never runs because its minimum
        is larger than the cluster).
    met : ndarray of bool, shape (J,)
        Which jobs meet their deadline and cost less than infinity; a job without a deadline meets it. If
        strict deadlines cannot all be met, the plan meets as many as the search found, by weight.
    slots : ndarray of int64, shape (J,)
        Slots of every job at ``now``, as in decisions. Files call them ``allocation``.
    capacity : int
        Slots of all jobs together.
    start, completion, penalty : ndarray of float64, shape (J,)
        Absolute times [s] and the penalty at completion.
    order : ndarray of int64, shape (J,)
        Job rows by priority.
    pieces : dict of ndarray
        ``job, start, end, slots``: the whole schedule; pieces of one job may overlap and add up. If changes
        of slots cost time, also ``works_from``, the time from which the job works.
    period : float
        For how long the slots of each decision are held [s]; 0: when a job ends, other jobs get its slots at
        once.
    looped : bool
        Whether a loop decides again and again: with a period, if jobs wait to start, if changes of slots cost
        time, or with the epoch's ``predictable``. Each decision then scales minima that do not fit for the jobs
        that are left.
    live : bool
        Whether it is the plan of an epoch's decision: jobs without work end now, not at their arrival, and
        keep ``slots`` until they are removed.
    timing : dict
        Wall-clock seconds; the only part that differs from run to run.

    See Also
    --------
    malleable.plan : Makes such a plan.

    Notes
    -----
    Memory is O(J + pieces). `explain`, `plot` and `to_frame` are O(J + pieces).

    Examples
    --------
    >>> import malleable as mb
    >>> plan = mb.plan(mb.Jobs(work=[400, 90], max_slots=[20, 10], name=["big", "small"]), slots=20)
    >>> plan.validate()
    >>> print(*plan.explain(), sep="\n")
    big: 10 slots now (what is left at place 2 of 2), 20 from 9 s; ends at 24.5 s; penalty 24.5
    small: 10 slots now (its maximum), keeps them; ends at 9 s; penalty 9
    """

    jobs: Jobs
    min_mode: str
    period: float
    looped: bool
    live: bool

    def __init__(self, *decided: Any, **told: Any) -> None:
        super().__init__(*decided, **told)
        self._meet(self.jobs.deadline, self.completion)

    def validate(self) -> None:
        """Check the schedule by code that shares nothing with the solvers. The ValueError names the fault,
        job and time. O(P log P) for P pieces."""
        check_schedule(self)


def plan_jobs(
    asked: Request,
    period: float = 0.0,
    min_mode: str = "guarantee",
    progress: Callable[[int, int], object] | None = None,
) -> Plan:
    """Plan a table of jobs; `malleable.plan` describes the arguments."""
    jobs, goal = asked.table, asked.goal
    warn_without_deadlines(goal, jobs, stacklevel=5)  # the caller of `malleable.plan`
    check_min_mode(min_mode)
    held = check_amount("period", period, WEIGHT)
    late = f"after now = {asked.now}; take a snapshot with jobs.at(now)"
    refuse("arrival", jobs.arrival, jobs.arrival > asked.now, late)
    looped = held > 0.0 or jobs.restarts or bool(jobs.starting(min_mode).any())
    began = time.perf_counter()
    if looped:
        result = _plan_periodic(asked, held, min_mode)
    else:
        effort = default_effort(len(jobs), jobs.speedup is not None)
        result = asked.search(_core.plan, effort, min_mode, progress)
    seconds = time.perf_counter() - began
    told = {"min_mode": min_mode, "period": held, "looped": looped, "live": False}
    return Plan(result, goal, seconds, jobs=jobs, **asked.told(result["completion"]), **told)


def _plan_periodic(asked: Request, period: float, min_mode: str) -> dict[str, Any]:
    # The plan of a loop that decides every ``period`` seconds (0: at every event), by the core.
    if asked.budget < math.inf:
        raise ValueError("budget: the plan of a loop does not search; leave it out")
    goal = asked.goal
    own = (asked.slots, goal.is_max, goal.first_kind, asked.policy, min_mode)
    epoch = _core.Epoch(*own, 0.0, asked.effort, period, None, False)
    if isinstance(asked.penalty, Penalty):
        epoch.set_penalty(asked.penalty.address)
    return _core.plan_periodic(epoch, asked.table, asked.penalties, goal.kinds, asked.now)


def default_effort(jobs: int, curved: bool = False) -> int:
    """The default effort of FLEX: 16e9 over the square of the jobs, because each candidate then costs more;
    at most `DEFAULT_EFFORT` and at least 60, which prices of steps need. If speed-ups are below linear
    (``curved``): `DEFAULT_EFFORT`, or more if that would be fewer than 60 candidates at (jobs / 100)^2 each."""
    # Penalties with steps are also planned by prices of times, whose search takes up to 60 steps.
    return _core.default_effort(jobs, curved)
