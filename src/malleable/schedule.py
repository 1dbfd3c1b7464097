"""What plans of jobs and of flows have in common: what a policy decided, its value, its bound, how it shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from malleable import views
from malleable.columns import Floats, Integers
from malleable.objective import Objective, met_deadlines, relative_gap
from malleable.values import by_value

if TYPE_CHECKING:
    from pathlib import Path


@by_value(without=("timing",))
class BasePlan:
    """The schedule that a policy made; ``result`` is the core's, whose entries become attributes."""

    slots: int
    objective: str
    policy: str
    now: float
    status: str
    value: float
    lower_bound: float
    candidates: int
    order: Integers
    start: Floats
    completion: Floats
    allocation: Integers
    pieces: Mapping[str, npt.NDArray[Any]]
    penalty: Floats
    met: npt.NDArray[Any]
    timing: dict[str, float]

    def __init__(
        self,
        slots: int,
        objective: Objective,
        policy: str,
        now: float,
        result: Mapping[str, Any],
        penalty: Floats,
        seconds: float,
    ) -> None:
        vars(self).update(result)
        self.slots = slots
        self.objective = objective.text
        self.policy = policy
        self.now = now
        self.penalty = penalty
        self.timing = {"seconds": seconds}

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

    _repr_html_ = views.as_html

    def explain(self) -> list[str]:
        """One line per job or flow: what it has now and why, what comes next, when it will end."""
        return list(views.present("explain", self))

    def to_frame(self, rows: str = "jobs") -> Any:
        """A pandas data frame, one row per job, or of flows with ``rows="flows"`` (needs pandas)."""
        return views.present("frame", self, rows)

    def plot(self, path: str | Path | None = None, **options: Any) -> Any:
        """Draw the schedule; saved as an image if a path is given (needs matplotlib)."""
        return views.present("gantt", self, path, **options)

    def to_dict(self) -> dict[str, Any]:
        """The plan in its exchange format (JSON types; infinite numbers become None)."""
        return dict(views.present("plan_dict", self))
