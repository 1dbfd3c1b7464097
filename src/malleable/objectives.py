"""Objectives: how the penalties of single jobs are named and added up."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.flow_tables import Flows
from malleable.tables import Jobs
from malleable.values import by_value
from malleable.views import counted

__all__ = ["KINDS", "Objective", "parse_objective"]

KINDS: tuple[str, ...] = tuple(kind.name for kind in _core.KINDS)
"""Penalties of a job, in the order of the core's codes."""

ObjectiveLike = str | Sequence[str]
PenaltyLike = Callable[[int, float], float] | Any


def _parse_one(text: object) -> tuple[str, int]:
    if not isinstance(text, str):
        raise ValueError(f"objective = {text!r}: expected text such as 'sum:response'")
    aggregate, colon, kind = text.partition(":")
    if not colon or aggregate not in ("sum", "max") or kind not in KINDS:
        known = [f"{a}:{k}" for a in ("sum", "max") for k in KINDS]
        near = difflib.get_close_matches(text, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"objective = {text!r}: expected sum: or max: and one of {', '.join(KINDS)}{hint}"
        )
    return aggregate, KINDS.index(kind)


@by_value()
class Objective:
    """A parsed objective: sum or max, and the kind of penalty of every job."""

    __slots__ = ("aggregate", "kinds", "text")

    def __init__(self, text: str, aggregate: str, kinds: np.ndarray[Any, np.dtype[np.uint8]]):
        self.text = text
        self.aggregate = aggregate
        self.kinds = kinds

    def kind(self) -> _core.Kind | None:
        """What the core knows of the one kind that all jobs share; None where they differ."""
        return _core.KINDS[int(self.kinds[0])] if len(self.kinds) == 1 else None

    @property
    def custom(self) -> bool:
        """Some job's penalty is the caller's own function."""
        return any(_core.KINDS[code].custom for code in set(self.kinds.tolist()))

    @property
    def is_max(self) -> bool:
        """Maximum rather than sum."""
        return self.aggregate == "max"

    def penalties(self, jobs: Jobs | Flows, penalty: PenaltyLike | None = None) -> _core.Penalties:
        """The penalty functions of jobs or flows.

        Parameters
        ----------
        jobs : Jobs or Flows
        penalty : numba.core.ccallback.CFunc or callable, optional
            The caller's own penalty for kind ``custom``: ``float64(int64 job, float64 completion)``,
            non-decreasing in the completion. A plain function is compiled by Numba.
        """
        custom = 0
        if self.custom:
            custom = _address(penalty)
        elif penalty is not None:
            raise ValueError("penalty: only the objective 'custom' takes a function")
        return _core.Penalties(
            jobs.arrival,
            jobs.size,
            jobs.weight,
            jobs.deadline,
            jobs.sla_offset,
            jobs.sla_time,
            jobs.sla_penalty,
            self.kinds,
            custom,
        )


def parse_objective(objective: ObjectiveLike, count: int | None = None) -> Objective:
    """Parse ``'sum:KIND'``, ``'max:KIND'``, or one such text per job with a common aggregate.

    Raises
    ------
    ValueError
        For an unknown objective (the nearest known one is named) or mixed aggregates.
    """
    if isinstance(objective, str):
        aggregate, kind = _parse_one(objective)
        return Objective(objective, aggregate, np.array([kind], dtype=np.uint8))
    try:
        parsed = [_parse_one(text) for text in objective]
    except TypeError:
        raise ValueError(f"objective = {objective!r}: expected text or one text per job") from None
    if count is not None and len(parsed) != count:
        raise ValueError(
            f"objective has {counted(len(parsed), 'entry')} but there are {counted(count, 'job')}"
        )
    aggregates = {aggregate for aggregate, _ in parsed} or {"sum"}
    if len(aggregates) > 1:
        raise ValueError("objective: sum and max cannot be mixed in one call")
    aggregate = aggregates.pop()
    kinds = np.array([kind for _, kind in parsed], dtype=np.uint8)
    if len(kinds) == 1 or len(set(kinds.tolist())) == 1:
        name = f"{aggregate}:{KINDS[int(kinds[0])]}"
        return Objective(name, aggregate, kinds[:1].copy())
    return Objective(f"{aggregate}:mixed", aggregate, kinds)


def _address(penalty: PenaltyLike | None) -> int:
    if penalty is None:
        raise ValueError("objective custom needs penalty=, a function of (job, completion)")
    if not callable(penalty):  # a CFunc is
        kind = type(penalty).__name__
        raise ValueError(
            f"penalty: expected a Numba cfunc or a function of (job, completion), not {kind}"
        )
    try:
        import numba
        from numba.core.ccallback import CFunc
    except ImportError:
        raise ImportError("a custom penalty needs numba: pip install 'malleable[custom]'") from None
    wanted = numba.float64(numba.int64, numba.float64)
    compiled: Any = penalty
    if not isinstance(penalty, CFunc):
        compiled = numba.cfunc(wanted, cache=False)(penalty)
        _COMPILED.append(compiled)
    if compiled._sig != wanted:
        raise ValueError(f"penalty: a cfunc of {compiled._sig}, expected {wanted}")
    return int(compiled.address)


# The core holds bare addresses, so what was compiled here must not be collected.
_COMPILED: list[Any] = []


def met_deadlines(
    deadline: npt.NDArray[np.float64],
    completion: npt.NDArray[np.float64],
    penalty: npt.NDArray[np.float64],
) -> npt.NDArray[np.bool_]:
    """Whose completion is within the tolerance of its deadline, at less than infinite cost."""
    met: npt.NDArray[np.bool_] = completion <= deadline + 1e-9 * np.maximum(1.0, np.abs(deadline))
    return met & (penalty < np.inf)


def relative_gap(value: float, lower_bound: float) -> float | None:
    """Relative distance between a value and its bound; None if only the bound is 0."""
    if value == lower_bound:
        return 0.0
    if lower_bound == 0.0:
        return None
    return (value - lower_bound) / abs(lower_bound)
