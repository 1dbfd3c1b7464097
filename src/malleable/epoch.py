"""What every epoch answers: jobs, their slots now, and whether these changed."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from malleable import _core, views
from malleable.jobs.table import Integers
from malleable.values import by_value


@by_value()
class BaseDecision:
    """Slots now.

    Attributes
    ----------
    ids : ndarray of int64, shape (n,)
        Jobs. One that is not among them has no slots, and had none after the decision before.
    slots : ndarray of int64, shape (n,) or (n, 2)
        What each of them has now; by phase where phases have slots of their own.
    changed : ndarray of bool, shape (n,)
        Where that differs from the decision before (a new job had 0).
    now : float
        Time of the decision [s].
    """

    __slots__ = ("changed", "ids", "now", "slots")
    kinds: ClassVar[tuple[str, ...]] = ("slot",)

    def __init__(
        self, now: float, ids: Integers, slots: Integers, changed: npt.NDArray[np.bool_]
    ) -> None:
        self.now = now
        self.ids = ids
        self.slots = slots
        self.changed = changed

    def __repr__(self) -> str:
        totals = np.atleast_1d(self.slots.sum(axis=0)).tolist()
        head = " + ".join(f"{count:,}" for count in totals[:-1])
        slots = f"{head} + " * bool(head) + views.counted(totals[-1], "slot")
        return (
            f"{type(self).__name__}(now={self.now!r}, {views.counted(len(self.ids), 'job')}, "
            f"{slots}, {int(self.changed.sum()):,} changed)"
        )

    _repr_html_ = views.as_html


class ExplainedDecision(BaseDecision):
    """A decision that knows of each job what bound its slots."""

    __slots__ = ("_bound",)

    def __init__(
        self,
        now: float,
        ids: Integers,
        slots: Integers,
        changed: npt.NDArray[np.bool_],
        bound: npt.NDArray[np.uint8],
    ) -> None:
        super().__init__(now, ids, slots, changed)
        self._bound = bound

    def explain(self) -> list[str]:
        """One line per job, in the order of `ids`: its slots, and what bound them. O(n)."""
        shape = (len(self.ids), len(self.kinds))
        slots: Any = self.slots.reshape(shape).tolist()
        bound: Any = self._bound.reshape(shape).tolist()
        lines = []
        for job, counts, codes in zip(self.ids.tolist(), slots, bound, strict=True):
            parts = [
                f"{views.counted(count, kind)} ({_core.BOUNDS[code]})"
                for count, kind, code in zip(counts, self.kinds, codes, strict=True)
            ]
            lines.append(f"job {job}: {', '.join(parts)}")
        return lines
