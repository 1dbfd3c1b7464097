"""What all epochs share, and their decisions. An epoch is one loop of decisions: it knows the present jobs, is
told of changes, and each decision says the slots that each job gets now. The core keeps the state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.arrays import Floats, Integers, columns_of, count_of, given, ids_of
from malleable.checkpoints import Checkpointed, by_value
from malleable.display import as_html, counted, html_of
from malleable.objective import (
    KINDS,
    Objective,
    Penalty,
    PenaltyLike,
    kinds_of,
    parse_objective,
    relative_gap,
)
from malleable.policies import policy_of
from malleable.validation import check_count, check_slots, refuse, suggesting

# Why a job goes first, by `BaseEpoch.rule`; the rule of other epochs has the name of their policy.
_WHY = {
    "smith": "the least work left for its weight goes first",
    "apparent cost": "the job that costs most while it waits goes first",
    "level": "the job that must start first, so that no penalty is too large, goes first",
    "equal shares": "jobs share equally",
    "instance": "all jobs are looked at together",
    "period": "slots that a job can use for the whole period come first",
    "promised": "jobs keep to their promised ends",
    "start": "jobs wait until they get their minimum",
    "order": "the best of several orders of flows",
    "planned": "a plan of all flows",
    "fair": "jobs share equally",
    "fifo": "the oldest job or flow goes first",
}


def rule_line(rule: str) -> str:
    """The first line of an explanation: which rule decided, and why so."""
    return f"rule {rule}: {_WHY[rule]}" if rule in _WHY else f"rule {rule}"


@by_value()
class BaseDecision:
    """What an epoch has decided: the slots of each job from now on.

    Attributes
    ----------
    ids : ndarray of int64, shape (n,)
        Jobs. A job that is not among them has no slots, and had none after the decision before.
    slots : ndarray of int64, shape (n,) or (n, 2)
        Slots of each of these jobs; two columns if phases have slots of their own.
    changed : ndarray of bool, shape (n,)
        Whether the slots differ from those of the decision before (a new job had 0).
    now : float
        Time of the decision [s].
    order : ndarray of int64
        With a period: ids of the jobs that could use more slots. The first of them should get the first slot
        that becomes free before the next decision. Empty without a period.
    overloaded : bool
        With a period: whether the jobs that keep coming need more whole slot-periods (one slot, held for one
        period) than there are. Then no policy keeps up, but a shorter period may help.
    """

    __slots__ = ("changed", "ids", "now", "slots")
    kinds: ClassVar[tuple[str, ...]] = ("slot",)

    _more: ClassVar[tuple[str, ...]] = ()  # what a subclass has beside that, as arguments

    def __init__(
        self, now: float, ids: Integers, slots: Integers, changed: npt.NDArray[np.bool_], *more: Any
    ) -> None:
        self.now = now
        self.ids = ids
        self.slots = slots
        self.changed = changed
        for name, value in zip(self._more, more, strict=True):
            setattr(self, name, value)

    def __repr__(self) -> str:
        totals = np.atleast_1d(self.slots.sum(axis=0)).tolist()
        head = " + ".join(f"{count:,}" for count in totals[:-1])
        slots = f"{head} + " * bool(head) + counted(totals[-1], "slot")
        return (
            f"{type(self).__name__}(now={self.now!r}, {counted(len(self.ids), 'job')}, "
            f"{slots}, {int(self.changed.sum()):,} changed)"
        )

    _repr_html_ = html_of("ids slots changed")

    def _rows(self, ids: npt.ArrayLike | None) -> Integers:
        # Rows of these jobs, by default all; ValueError for an id that is not here. O(n).
        if ids is None:
            return np.arange(len(self.ids))
        asked = ids_of(ids)
        refuse("ids", asked, ~np.isin(asked, self.ids), "no such job in this decision")
        order = np.argsort(self.ids, kind="stable")
        return order[np.searchsorted(self.ids, asked, sorter=order)]


class AssessedDecision(BaseDecision):
    """A decision with a value of the objective and a lower bound, which `_assess` works out when asked for."""

    __slots__ = ()
    _assessment: tuple[float, float] | tuple[None, None] | None  # both; None: not yet asked for

    @property
    def value(self) -> float | None:
        return self._assessed()[0]

    @property
    def lower_bound(self) -> float | None:
        return self._assessed()[1]

    @property
    def gap(self) -> float | None:
        value, bound = self._assessed()
        return None if value is None or bound is None else relative_gap(value, bound)

    def _assessed(self) -> tuple[float, float] | tuple[None, None]:
        if self._assessment is None:
            self._assessment = self._assess()  # type: ignore[misc]
        return self._assessment

    def _assess(self) -> tuple[float, float] | tuple[None, None]:
        raise NotImplementedError


class ExplainedDecision(BaseDecision):
    """A decision that knows what limited the slots of each job."""

    __slots__ = ("_bound",)
    _more: ClassVar[tuple[str, ...]] = ("_bound",)
    rule: str = ""

    _bound: npt.NDArray[np.uint8]  # what limited the slots, a code of `_core.BOUNDS`

    def explain(self, ids: npt.ArrayLike | None = None) -> list[str]:
        """The rule, then one line for each of these jobs (by default all): its slots, and what limited them.
        O(n)."""
        shape, rows = (len(self.ids), len(self.kinds)), self._rows(ids)
        slots: Any = self.slots.reshape(shape)[rows].tolist()
        bound: Any = self._bound.reshape(shape)[rows].tolist()
        lines = [rule_line(self.rule)] if self.rule else []
        for job, counts, codes in zip(self.ids[rows].tolist(), slots, bound, strict=True):
            parts = [
                f"{counted(count, kind)} ({_core.BOUNDS[code]})"
                for count, kind, code in zip(counts, self.kinds, codes, strict=True)
            ]
            lines.append(f"job {job}: {', '.join(parts)}")
        return lines


class BaseEpoch(Checkpointed):
    """What all epochs share: a core that knows jobs by ids and reads columns by name.

    Ids are never used twice. A wrong call changes nothing. Copies and pickles go on as the original would (a
    pickle loads in the same version only), and epochs are equal if their states are. Only one thread at a
    time may use an epoch; a second one gets a RuntimeError.
    """

    def __init_subclass__(cls) -> None:
        # a wrong argument name gets a suggestion
        for verb in {"__init__", "add", "update", "decide"} & vars(cls).keys():
            setattr(cls, verb, suggesting(vars(cls)[verb]))

    _core: Any  # the core's epoch
    _optional: ClassVar[tuple[str, ...]] = ()  # columns of `add` that may be None

    def __len__(self) -> int:
        return len(self._core)

    _repr_html_ = as_html

    @property
    def rule(self) -> str:
        """The rule that made the last decision. It follows from the objective, the policy and the jobs.

        Of jobs: ``smith``, ``apparent cost`` and ``level`` use a key for each job, updated as jobs change.
        ``equal shares`` needs no keys. ``instance`` looks at all jobs at every decision. ``period``,
        ``promised`` and ``start`` wrap other rules: decisions are held, ends are promised, jobs wait for
        their minimum. ``no slots``: there were none. ``none``: there was no decision. For flows ``order``
        takes the best of several orders, ``planned`` plans at every decision, ``fifo`` and ``fair`` are plain
        rules. Other epochs have the rule of their policy.

        Examples
        --------
        >>> import malleable as mb
        >>> epoch = mb.Epoch(10, "sum:tardiness")
        >>> ids = epoch.add([40.0, 8.0], deadline=[10.0, 5.0])
        >>> decision = epoch.decide(now=0.0)
        >>> epoch.rule
        'instance'
        """
        found: str = self._core.rule
        return found

    def _add(self, columns: dict[str, Any]) -> Integers:
        try:
            found: Integers = self._core.add(columns)
            return found
        except TypeError:  # not plain columns
            first, values = next(iter(columns.items()))
            count = count_of(first, given(first, values))
            for field, values in columns.items():
                if field not in self._optional:
                    given(field, values)
            added: Integers = self._core.add(columns_of(columns, count))
            return added

    def _update(self, ids: npt.ArrayLike, columns: dict[str, Any]) -> None:
        try:
            self._core.update(ids, columns)
        except TypeError:
            rows = ids_of(ids)
            self._core.update(rows, columns_of(columns, len(rows)))

    def _tell(self, call: Any, ids: npt.ArrayLike) -> None:
        try:
            call(ids)
        except TypeError:  # no plain ids
            call(ids_of(ids))

    def finish(self, ids: npt.ArrayLike) -> None:
        """Tell jobs, by ``ids``, that have ended; their slots are free."""
        self._tell(self._core.finish, ids)

    def remove(self, ids: npt.ArrayLike) -> None:
        """Forget jobs, by ``ids``, that will not end here: they were cancelled, or went elsewhere."""
        self._tell(self._core.remove, ids)


class PlannedEpoch(BaseEpoch):
    """What epochs of jobs and of flows share: an objective, a policy, a penalty of your own."""

    _noun: ClassVar[str]  # job or flow

    def _aim(
        self, model: str, objective: str, policy: str, penalty: PenaltyLike | None
    ) -> Objective:
        # checks what the loop is for, and keeps it
        goal = parse_objective(objective)
        if goal.kind() is None:
            raise ValueError(
                f"objective: one for all {self._noun}s; `add` takes kinds of their own"
            )
        policy_of(model, policy)
        if goal.custom and penalty is None:
            wanted = f"a function of ({self._noun} id, completion)"
            raise ValueError(f"objective custom needs penalty=, {wanted}")
        self._goal, self._policy = goal, policy
        self._penalty = None if penalty is None else Penalty(penalty)
        return goal

    def _tell_penalty(self) -> None:
        if self._penalty is not None:
            self._core.set_penalty(self._penalty.address)

    def _told(
        self, codes: npt.NDArray[np.uint8], now: float, paid: Floats
    ) -> tuple[Objective, dict[str, Any]]:
        # The objective of a plan by the kinds of its rows (none: the epoch's), and the plan's attributes.
        goal = Objective.of_codes(self._goal.aggregate, codes) if len(codes) else self._goal
        return goal, {"capacity": self.slots, "policy": self._policy, "now": now, "penalty": paid}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._tell_penalty()

    def __repr__(self) -> str:
        count, slots = counted(len(self), self._noun), counted(self.slots, "slot")
        return f"{type(self).__name__}({self._policy}, {self.objective}: {count}, {slots})"

    @property
    def slots(self) -> int:
        """Capacity, until a decision is asked for with another one."""
        return int(self._core.slots)

    @property
    def objective(self) -> str:
        """The objective, as text."""
        return self._goal.text

    def rates(self, program: int, most: int) -> Floats:
        """Learnt rates of 1 to ``most`` (at most 1024) slots of a job of ``program``, shape (most,).

        For each number of slots that a decision gave to jobs of the program, the rate is the work done until
        the next decision, over the seconds. Other rates are interpolated by powers of the number; before any
        was seen, s slots do s^0.8. A changed estimate of work left counts as work done. O(entries).
        """
        found: Floats = self._core.rates(check_count("program", program), check_slots(most, "most"))
        return found

    def _kinds(self, kind: str | Sequence[str | None] | None, count: int) -> Any:
        # Codes of kinds, one for each job or one for all; None: the kind of the objective.
        if kind is None:
            return None
        codes = kinds_of(kind, count, int(self._goal.kinds[0]), self._noun)
        if self._penalty is None and KINDS.index("custom") in codes:
            raise ValueError("kind custom needs the epoch's penalty=")
        return codes
