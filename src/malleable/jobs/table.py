"""Job tables: the input of every policy, validated once and read-only afterwards."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from malleable import _core, views
from malleable.columns import Floats, Integers, floats_of, given, integers_of
from malleable.domain import (
    ALL_SLOTS,
    TOTAL,
    Table,
    check_count,
    check_slots,
    check_time,
    shown,
)
from malleable.values import by_value
from malleable.views import counted

__all__ = [
    "ALL_SLOTS",
    "Floats",
    "Integers",
    "Jobs",
    "SlaSteps",
    "check_count",
    "check_keys",
    "check_min_mode",
    "check_slots",
    "check_time",
]

SlaSteps = Sequence[tuple[float, float]]


def _floats(field: str, values: Any, count: int | None) -> Floats:
    return np.array(floats_of(field, given(field, values), count, "work"))


def _integers(field: str, values: Any, count: int) -> Integers:
    least = 1 if field == "max_slots" else 0
    return np.array(integers_of(field, given(field, values), count, least, "work"))


def _deadlines(values: Any, count: int) -> Floats:
    return _floats("deadline", np.inf if values is None else values, count)


def _names(field: str, values: Any, count: int) -> tuple[str, ...]:
    if isinstance(values, str):
        raise ValueError(f"{field}: one entry per job, not a single text")
    try:
        names = tuple(str(value) for value in values)
    except TypeError:
        raise ValueError(f"{field} = {shown(values)}: one entry per job") from None
    if len(names) != count:
        raise ValueError(f"{field} has {counted(len(names), 'entry')} but work has {count}")
    return names


_COLUMNS = (
    "work",
    "arrival",
    "min_slots",
    "max_slots",
    "weight",
    "deadline",
    "sla_offset",
    "sla_time",
    "sla_penalty",
    "size",
)


@by_value(without=("_ids", "_name"), also=("name",))
class Jobs(Table):
    """A table of malleable jobs.

    Parameters
    ----------
    work : array_like, shape (J,)
        Work of each job in slot-seconds: 0, or from 1e-12 to 1e15.
    arrival : array_like or float
        When each job came [s], from -1e12 to 1e12.
    min_slots, max_slots : array_like or int
        Limits of the slots that a job uses at once: minima up to 2^50, maxima from 1;
        ``max_slots=None``: all there are.
    weight : array_like or float
        0, or from 1e-12 to 1e12.
    deadline : array_like or float, optional
        Absolute [s], from -1e12 to 1e12; ``None`` or infinite entries: none.
    sla : sequence of sequences of (time, penalty), optional
        Steps of each job: absolute times [s], increasing; penalties cumulative, in the
        ranges of deadlines and weights.
    name, user : sequence of str, optional
        Names must be unique; ``job0``, ``job1``, ... by default.
    size : array_like, optional
        Original work of jobs that have run already; stretch divides by it. The work itself by
        default, up to 1e24. Not part of the exchange format.

    Raises
    ------
    ValueError
        Names the field, the first bad row (from 0) and its value.

    Notes
    -----
    Scalars broadcast. The table copies its input once; its columns are read-only arrays. O(J).
    """

    __slots__ = (
        "_ids",
        "_name",
        "arrival",
        "deadline",
        "max_slots",
        "min_slots",
        "size",
        "sla_offset",
        "sla_penalty",
        "sla_time",
        "user",
        "weight",
        "work",
    )

    work: Floats
    arrival: Floats
    min_slots: Integers
    max_slots: Integers
    weight: Floats
    deadline: Floats
    sla_offset: Integers
    sla_time: Floats
    sla_penalty: Floats
    size: Floats
    user: tuple[str, ...] | None
    _ids: Integers | None
    _name: tuple[str, ...] | None

    def __init__(
        self,
        work: npt.ArrayLike,
        *,
        arrival: npt.ArrayLike = 0.0,
        min_slots: npt.ArrayLike = 0,
        max_slots: npt.ArrayLike | None = None,
        weight: npt.ArrayLike = 1.0,
        deadline: npt.ArrayLike | Sequence[float | None] | None = None,
        sla: Sequence[SlaSteps | None] | None = None,
        name: Sequence[str] | None = None,
        user: Sequence[str] | None = None,
        size: npt.ArrayLike | None = None,
    ) -> None:
        self.work = _floats("work", work, None)
        count = len(self.work)
        self.arrival = _floats("arrival", arrival, count)
        self.min_slots = _integers("min_slots", min_slots, count)
        self.max_slots = _integers(
            "max_slots", ALL_SLOTS if max_slots is None else max_slots, count
        )
        self.weight = _floats("weight", weight, count)
        self.deadline = _deadlines(deadline, count)
        self.sla_offset, self.sla_time, self.sla_penalty = _flatten_sla(sla, count)
        self._ids = None
        self._name = None if name is None else _names("name", name, count)
        if self._name is not None and len(set(self._name)) < count:
            seen: set[str] = set()
            for row, text in enumerate(self._name):
                if text in seen:
                    raise ValueError(f"name[{row}] = {text!r}: the name is taken")
                seen.add(text)
        self.user = None if user is None else _names("user", user, count)
        self.size = self.work if size is None else _floats("size", size, count)
        self._validate()
        self._freeze()

    @classmethod
    def of_core(cls, columns: Mapping[str, Any], ids: Integers) -> Jobs:
        """A table of columns that the core has validated and handed over, named by ids. O(1)."""
        jobs = cls.__new__(cls)
        for column in _COLUMNS:
            setattr(jobs, column, columns[column])
        jobs.user = jobs._name = None
        jobs._ids = ids
        jobs._freeze()
        return jobs

    def _validate(self) -> None:
        _core.validate_jobs(
            self.arrival,
            self.work,
            self.min_slots,
            self.max_slots,
            self.weight,
            self.deadline,
            self.sla_offset,
            self.sla_time,
            self.sla_penalty,
        )
        TOTAL.check("size", self.size)

    def __len__(self) -> int:
        return len(self.work)

    def __repr__(self) -> str:
        return f"Jobs({counted(len(self), 'job')}, {self.work.sum():.6g} slot-seconds)"

    _repr_html_ = views.as_html

    @property
    def name(self) -> tuple[str, ...]:
        """Unique names, one per job."""
        if self._name is None:
            if self._ids is None:
                self._name = tuple(f"job{row}" for row in range(len(self)))
            else:
                self._name = tuple(map(str, self._ids.tolist()))
        return self._name

    @property
    def sla(self) -> list[list[tuple[float, float]]]:
        """SLA steps of each job as (time, cumulative penalty)."""
        steps = list(zip(self.sla_time.tolist(), self.sla_penalty.tolist(), strict=True))
        offset = self.sla_offset.tolist()
        return [steps[a:b] for a, b in pairwise(offset)]

    def take(self, index: npt.ArrayLike) -> Jobs:
        """The jobs at these rows (integers or a mask), in that order."""
        chosen_rows = np.asarray(index)
        rows = np.arange(len(self))[chosen_rows if chosen_rows.size else chosen_rows.astype(int)]
        chosen = rows.tolist()
        sla = self.sla if len(self.sla_time) else None
        return Jobs(
            self.work[rows],
            arrival=self.arrival[rows],
            min_slots=self.min_slots[rows],
            max_slots=self.max_slots[rows],
            weight=self.weight[rows],
            deadline=self.deadline[rows],
            sla=None if sla is None else [sla[row] for row in chosen],
            name=[self.name[row] for row in chosen],
            user=None if self.user is None else [self.user[row] for row in chosen],
            size=self.size[rows],
        )

    def at(self, now: float) -> Jobs:
        """The jobs that have arrived by ``now`` [s]."""
        return self.take(self.arrival <= now)


def _flatten_sla(
    sla: Sequence[SlaSteps | None] | None, count: int, beside: str = "work"
) -> tuple[Integers, Floats, Floats]:
    """Steps of each job as offsets, times and penalties; not yet checked for their order."""
    if sla is None:
        return np.zeros(count + 1, dtype=np.int64), np.empty(0), np.empty(0)
    if isinstance(sla, str) or not hasattr(sla, "__len__"):
        raise ValueError(f"sla = {shown(sla)}: one list of steps per job")
    if len(sla) != count:
        raise ValueError(f"sla has {counted(len(sla), 'entry')} but {beside} has {count}")
    times: list[float] = []
    penalties: list[float] = []
    offset = [0]
    for row, steps in enumerate(sla):
        if steps is not None and not hasattr(steps, "__iter__"):
            raise ValueError(f"sla[{row}] = {shown(steps)}: not a list of (time, penalty) pairs")
        for step in () if steps is None else steps:
            try:
                time, penalty = step
                times.append(float(time))
                penalties.append(float(penalty))
            except (TypeError, ValueError, OverflowError):
                raise ValueError(
                    f"sla[{row}] = {shown(step)}: not a (time, penalty) pair"
                ) from None
        offset.append(len(times))
    return np.array(offset, dtype=np.int64), np.array(times), np.array(penalties)


MIN_MODES = ("guarantee", "gang")


def check_keys(where: str, keys: Iterable[Any], known: Sequence[str]) -> None:
    """ValueError for a key that is not known, with the nearest that is; ``where`` ends as it should."""
    for key in keys:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; expected {', '.join(known)}"
            raise ValueError(f"{where}unknown field {key!r}{hint}")


def check_min_mode(min_mode: str) -> None:
    """ValueError unless the mode is known."""
    if min_mode not in MIN_MODES:
        raise ValueError(f"min_mode = {min_mode!r}: expected one of {', '.join(MIN_MODES)}")
