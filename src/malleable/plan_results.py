"""What plans of jobs and of flows have in common: what a policy decided, its value (of the objective), a lower
bound on every schedule's value, how it shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from malleable.arrays import Floats, Integers
from malleable.checkpoints import by_value
from malleable.display import as_html, view
from malleable.objective import (
    Objective,
    ObjectiveLike,
    Penalty,
    PenaltyLike,
    met_deadlines,
    parse_objective,
    relative_gap,
)
from malleable.policies import policy_of
from malleable.validation import check_count, check_slots, check_time

if TYPE_CHECKING:
    from pathlib import Path


class Request:
    """Arguments that plans of jobs and of flows have in common (`malleable.plan` describes them), checked."""

    def __init__(
        self,
        model: str,
        table: Any,
        slots: int,
        objective: ObjectiveLike,
        policy: str,
        effort: int | None = None,
        budget: float | None = None,
        now: float = 0.0,
        penalty: PenaltyLike | None = None,
    ) -> None:
        self.table = table
        self.policy = policy
        self.goal = parse_objective(objective, len(table))
        self.effort = None if effort is None else check_count("effort", effort)
        self.slots, self.now = check_slots(slots), check_time("now", now)
        self.budget = np.inf if budget is None else check_time("budget", budget)
        if self.budget < 0.0:
            raise ValueError(f"budget = {budget}: must be at least 0 seconds")
        policy_of(model, policy, where=" for flows" if model == "flows" else "")
        self.penalty = Penalty(penalty) if self.goal.custom and penalty is not None else penalty
        self.penalties = self.goal.penalties(table, self.penalty)

    def search(self, core: Any, default_effort: int, *more: Any) -> dict[str, Any]:
        """Let the core plan the table."""
        tries = default_effort if self.effort is None else self.effort
        asked = self.slots, self.now, self.penalties, self.goal.is_max, self.policy, tries
        found: dict[str, Any] = core(self.table, *asked, self.budget, *more)
        return found

    def told(self, completion: Floats) -> dict[str, Any]:
        """The request as attributes of a plan; ``completion``: of the rows that penalties are of."""
        asked = {"capacity": self.slots, "policy": self.policy, "now": self.now}
        return {**asked, "penalty": self.penalties.of_jobs(completion)}


@by_value(without=("timing",))
class BasePlan:
    """The schedule of a policy: the core's decision, and ``told`` as attributes."""

    capacity: int  # slots
    objective: str
    policy: str
    now: float
    status: str  # what is known of the value: optimal, feasible ...
    value: float
    lower_bound: float
    candidates: int  # orders that were tried
    order: Integers  # rows by priority
    start: Floats
    completion: Floats
    slots: Integers  # of each row at `now`
    pieces: Mapping[str, npt.NDArray[Any]]  # the schedule: job, start, end, slots
    penalty: Floats  # of each row
    met: npt.NDArray[Any]  # which deadlines
    timing: dict[str, float]  # seconds that the core took

    def __init__(
        self, decided: Mapping[str, Any], goal: Objective, seconds: float, **told: Any
    ) -> None:
        vars(self).update(decided, objective=goal.text, timing={"seconds": seconds}, **told)
        self.slots = vars(self).pop("allocation")  # the core's name

    def _meet(self, deadline: Floats, completion: Floats) -> None:
        self.met = met_deadlines(deadline, completion, self.penalty)

    @property
    def gap(self) -> float | None:
        """Relative distance between value and bound."""
        return relative_gap(self.value, self.lower_bound)

    def __repr__(self) -> str:
        gap = "none" if self.gap is None else f"{self.gap:.2%}"
        return (
            f"{type(self).__name__}({self.policy}, {self.objective}: {self.value:.6g}, "
            f"bound {self.lower_bound:.6g}, gap {gap}, {self.status})"
        )

    _repr_html_ = as_html

    @property
    def allocation(self) -> Integers:
        """`slots`, by the name that they have in the JSON of a plan."""
        return self.slots

    def explain(self, rows: npt.ArrayLike | None = None) -> list[str]:
        """One line for each job or flow: its slots now and why, the next change, and its end.

        Parameters
        ----------
        rows : array_like of int or bool, optional
            Rows of the table, or a mask; by default all.
        """
        return list(view().explain_lines(self, rows))

    def to_frame(self, rows: str = "jobs") -> Any:
        """A pandas data frame, one row per job, or of flows with ``rows="flows"`` (needs pandas)."""
        return view().plan_frame(self, rows)

    def plot(self, path: str | Path | None = None, **options: Any) -> Any:
        """Draw the schedule (needs matplotlib).

        Parameters
        ----------
        path : path, optional
            File of the picture; its suffix says the format.
        **options
            ``force=False``: do not overwrite a file. ``title``: instead of policy, objective, value, bound and
            gap. Plans of jobs also take ``axes``, ``until`` and ``colors_of``, as
            `malleable.view.plan_pictures.draw_packing`.
        """
        return view().draw_plan(self, path, **options)

    def to_dict(self) -> dict[str, Any]:
        """The plan in its exchange format (JSON types; infinite numbers become None)."""
        return dict(view().plan_dict(self))
