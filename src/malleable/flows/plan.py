"""Plans of flows (graphs of malleable jobs): a whole schedule, its value, lower bound and guarantee."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from malleable import _core
from malleable.arrays import Floats
from malleable.flows.check import check_flow_schedule
from malleable.flows.table import Flows
from malleable.objective import KINDS, Objective
from malleable.plan_results import BasePlan, Request
from malleable.policies import policy_names, policy_of

FLOW_POLICIES = policy_names("flows")


class FlowPlan(BasePlan):
    """The schedule that a policy made for a table of flows.

    Attributes
    ----------
    value, lower_bound : float
        The objective over flows, and a snapshot bound; see `malleable.Plan`.
    gap : float or None
        As `malleable.Plan` has it.
    speed : float
        What this plan guarantees (Nagarajan et al. 2013, definition 2): with slots so many times faster, the
        value would be at most the lower bound. 1 means optimal. NaN if flows arrive after ``now``.
    guarantee : tuple of pairs or None
        What the theorems of Nagarajan et al. 2013 promise of their algorithm, and so of all plans of
        ``flowflex``, as pairs (factor on the optimum, speed): (2, 3) for sums and (1, 2) for maxima and strict
        deadlines. If all costs are weighted times, also (6, 1) and (2, 1) (corollaries 1 and 2). None for other
        policies, with arrivals after ``now``, and with speed-ups.
    literal_value : float
        Value of their algorithm on this instance; NaN if it was not run.
    status, met, order
        As `malleable.Plan` has them, of flows.
    flow_completion, penalty : ndarray of float64, shape (F,)
        Absolute times [s] and the penalty then.
    start, completion, slots : ndarray, shape (J,)
        Of each job, as in `malleable.Plan`.
    capacity, pieces, timing
        As in `malleable.Plan`; pieces of one job never overlap.

    See Also
    --------
    malleable.plan : Makes such a plan.

    Notes
    -----
    Memory is O(jobs + pieces). `explain`, `plot` and `to_frame` are O(jobs + pieces).

    Examples
    --------
    >>> import malleable as mb
    >>> extract = {"name": "extract", "work": 60, "max_slots": 20}
    >>> load = {"name": "load", "work": 30, "max_slots": 10, "after": ["extract"]}
    >>> plan = mb.plan(mb.Flows([[extract, load]]), slots=20)
    >>> plan.flow_completion, plan.status
    (array([6.]), 'ok')
    """

    flows: Flows
    speed: float
    literal_value: float
    flow_completion: Floats

    def __init__(
        self, decided: Mapping[str, Any], goal: Objective, seconds: float, **told: Any
    ) -> None:
        super().__init__(decided, goal, seconds, **told)
        self._meet(self.flows.deadline, self.flow_completion)
        self.guarantee: tuple[tuple[float, float], ...] | None = None
        late = bool(np.any(self.flows.arrival > self.now))
        linear = self.flows.speedup is None
        if policy_of("flows", self.policy).guaranteed and not late and linear:
            self.guarantee = _guarantee(goal, self.now)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, speed {self.speed:.4g})"

    def validate(self) -> None:
        """Check the schedule by code that shares nothing with the solvers. The ValueError names the fault,
        job and time."""
        check_flow_schedule(self)


def _guarantee(objective: Objective, now: float) -> tuple[tuple[float, float], ...]:
    # Factors and speeds of theorems 2 to 4 and corollaries 1 and 2 of Nagarajan et al. 2013. A schedule that
    # needs a speed s takes s times as long without it. The same holds for weighted times from `now` on; the
    # part by which they are longer, from arrivals or from 0 on, must not be negative.
    kinds = set(objective.kinds.tolist())
    strict = kinds == {KINDS.index("strict")}
    factor, speed = (1.0, 2.0) if objective.is_max or strict else (2.0, 3.0)
    times = {"response", "stretch", "completion"} if now >= 0.0 else {"response", "stretch"}
    if kinds <= {KINDS.index(kind) for kind in times}:
        return (factor, speed), (factor * speed, 1.0)
    return ((factor, speed),)


def plan_flows(asked: Request) -> FlowPlan:
    """Plan a table of flows; `malleable.plan` describes the arguments. O(J log J) per order or
    candidate."""
    flows, began = asked.table, time.perf_counter()
    effort = _core.default_flow_effort(len(flows.work))
    result = asked.search(_core.plan_flows, effort, np.empty(0, dtype=np.int64))
    seconds = time.perf_counter() - began
    told = asked.told(result["flow_completion"])
    return FlowPlan(result, asked.goal, seconds, flows=flows, **told)
