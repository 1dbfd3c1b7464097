"""Job tables: the input of policies for malleable jobs, validated once and read-only afterwards. The core holds
the columns; here are names and conversions."""

# ruff: noqa: I001, PLC0414 (an alias of its own name says that a name is passed on)

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.display import html_of
from malleable.arrays import (
    check_length,
    Floats as Floats,
    Integers as Integers,
    column_of,
    given,
    lists_of,
    names_of as names_of,
    rows_of,
    without_nan,
)
from malleable.validation import (
    ALL_SLOTS as ALL_SLOTS,
    as_number,
    check_count as check_count,
    check_keys as check_keys,
    check_slots as check_slots,
    check_time as check_time,
    checked_choice,
    moment_of,
    shown,
    suggesting,
)
from malleable.checkpoints import by_value
from malleable.display import counted

if TYPE_CHECKING:
    from typing_extensions import Self

SlaSteps = Sequence[tuple[float, float]]


_OPTIONAL = ("max_slots", "deadline", "size")  # columns that may be None


def as_column(field: str, values: Any, count: int | None = None, beside: str = "work") -> Any:
    """A column of any type as the core reads it, with ``count`` entries, as many as ``beside`` has, or one
    for all; None stays. ValueError names the field, the first bad row and its value."""
    if field not in _OPTIONAL:
        given(field, values)
    return column_of(field, values, count, beside)


def unique(field: str, names: Sequence[str], where: str = "") -> None:
    """ValueError for the first name that occurs twice."""
    if len(set(names)) == len(names):
        return
    seen: set[str] = set()
    for row, text in enumerate(names):
        if text in seen:
            raise ValueError(f"{where}{field}[{row}] = {text!r}: the name is taken")
        seen.add(text)


def speedup_columns(speedup: Any, count: int, beside: str = "work") -> dict[str, Any]:
    """Speed-ups as the core reads them; see `Jobs`. ValueError for what is neither a number nor rates."""
    if speedup is None:
        return {}
    rows = speedup if isinstance(speedup, (Sequence, np.ndarray)) else (speedup,) * count
    check_length("speedup", rows, count, beside)
    exponent, rates = np.ones(count), []
    for row, value in enumerate(rows):
        own = np.empty(0)
        try:
            if value is not None:
                own = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            own = np.empty((0, 0))
        if (
            own.ndim > 1
            or isinstance(value, (bool, str))
            or (own.ndim and value is not None and not own.size)
        ):
            raise ValueError(f"speedup[{row}] = {shown(value)}: not a number or rates")
        if own.ndim == 0:
            exponent[row] = own
        rates.append(np.atleast_1d(own) if own.ndim else np.empty(0))
    columns: dict[str, Any] = {"exponent": exponent}
    if any(own.size for own in rates):
        columns["rate_offset"] = np.cumsum([0, *map(len, rates)], dtype=np.int64)
        columns["rate"] = np.concatenate(rates)
    return columns


def speedups_of(table: Any) -> tuple[float | Floats, ...] | None:
    """The exponent p or the rates of each job of a table. None: all jobs are linear."""
    count = len(table.exponent)
    if not count:
        return None
    whole = np.zeros(count + 1, dtype=np.int64)
    offset = (table.rate_offset if len(table.rate_offset) else whole).tolist()
    return tuple(
        p if first == end else table.rate[first:end]
        for p, (first, end) in zip(table.exponent.tolist(), pairwise(offset), strict=True)
    )


MIN_MODES = ("guarantee", "gang", "start")
"""What minima mean; the places are the core's numbers."""
_OWN_MODES = ("guarantee", "start")  # that single jobs may have


def are_unknown(sizes: str) -> bool:
    return checked_choice("sizes", sizes, ("known", "unknown")) == "unknown"


def check_min_mode(min_mode: str) -> None:
    checked_choice("min_mode", min_mode, MIN_MODES)


def mode_columns(min_mode: Any, count: int) -> dict[str, Any]:
    if min_mode is None:
        return {}
    words = [min_mode] * count if isinstance(min_mode, str) else min_mode
    check_length("min_mode", words, count, "work")
    for row, word in enumerate(words):
        checked_choice(f"min_mode[{row}]", word, _OWN_MODES)
    return {"min_mode": np.array([MIN_MODES.index(word) for word in words], dtype=np.int64)}


RESTARTS = ("restart", "restart_grow", "restart_shrink", "restart_slot")
"""Columns of what a change of its slots costs a job."""


_NUMBERS = ("work", "arrival", "min_slots", "max_slots", "weight", "deadline", "size")
_MAY_LACK = ("preferred", *RESTARTS)


def number_columns(told: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of numbers among a call's arguments; ``preferred`` and `RESTARTS` only if they are given."""
    columns = {name: told[name] for name in _NUMBERS}
    return columns | {name: told[name] for name in _MAY_LACK if told[name] is not None}


def _has_nan(values: Any) -> bool:
    array = np.asarray(values)
    return array.dtype.kind == "f" and bool(np.isnan(array).any())


def refuse_source(name: str, value: Any, reader: str) -> None:
    """ValueError with advice for a path or a data frame instead of numbers."""
    if isinstance(value, os.PathLike) or (isinstance(value, str) and not value[:1].isdigit()):
        raise ValueError(f"{name} = {shown(value)}: a path; {reader}(path) reads it")
    if hasattr(value, "columns") and any(
        hasattr(value, way) for way in ("__dataframe__", "__arrow_c_stream__")
    ):
        raise ValueError(f"{name}: a data frame; {reader}(frame) makes a table of it")


class CoreTable:
    """The part that tables of the core share; it goes before the core's class in a table's bases. The core has
    copied and validated the columns once; here they are read-only arrays that share its memory. Copies and
    pickles are made of the columns, and validated."""

    __slots__ = ()

    COLUMNS: ClassVar[tuple[str, ...]]
    arrival: Floats
    sla_offset: Integers
    sla_time: Floats
    sla_penalty: Floats

    def __len__(self) -> int:
        return len(self.sla_offset) - 1

    def _hold(self, table: Any) -> None:
        super().__init__(table)  # type: ignore[call-arg]

    def _hold_plain(self, columns: Mapping[str, Any]) -> bool:
        # Let the core copy columns that need no conversion; False if they need one.
        try:
            self._hold(columns)
        except TypeError:
            return False
        except ValueError:
            if any(_has_nan(columns.get(field)) for field in ("max_slots", "deadline")):
                return False  # NaN means none there
            raise
        return True

    def _columns(self) -> dict[str, Any]:
        columns = {field: getattr(self, field) for field in self.COLUMNS}
        speedup = ("exponent", "rate_offset", "rate")
        left_out = (field for field in speedup if field in columns and not len(columns[field]))
        return columns | dict.fromkeys(left_out)

    def _others(self) -> dict[str, Any]:
        # Attributes that the core does not hold, such as names.
        fields = (name for kind in type(self).__mro__ for name in getattr(kind, "__slots__", ()))
        return {field: getattr(self, field) for field in fields}

    @classmethod
    def _made(cls, table: Any, others: Mapping[str, Any]) -> Self:
        made = cls.__new__(cls)
        made._hold(table)
        for field, value in others.items():
            setattr(made, field, value)
        return made

    def _replaced(self, **columns: Any) -> Self:
        return self._made(self._columns() | columns, self._others())

    def take(self, index: npt.ArrayLike) -> Self:
        """The rows with these numbers (integers or a mask), in that order."""
        raise NotImplementedError

    def at(self, now: float) -> Self:
        """The jobs that have arrived by ``now`` [s]."""
        return self.take(self.arrival <= now)

    @property
    def sla(self) -> list[list[tuple[float, float]]]:
        """SLA steps of each row as (time, cumulative penalty)."""
        return steps_of(self.sla_offset, self.sla_time, self.sla_penalty)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._made, (self._columns(), self._others())


@by_value(without=("_label", "_name", "dated"), also=("name",))
class Jobs(CoreTable, _core.Jobs):
    """A table of malleable jobs: the work of each job, and how many slots it may have.

    Parameters
    ----------
    work : array_like, shape (J,)
        Work of each job [slot-seconds]: 0, or from 1e-12 to 1e15.
    arrival : array_like or float, optional
        When each job comes [s], from -1e12 to 1e12. Dates count from 1970, in UTC unless they have a zone. By
        default 0.
    min_slots, max_slots : array_like or int
        The fewest and the most slots that each job uses at once. Minima are from 0 to 2^50, maxima are at
        least 1. ``max_slots=None``, or NaN in an entry, means all slots.
    weight : array_like or float
        How much each job counts in the objective: 0, or from 1e-12 to 1e12.
    deadline : array_like or float, optional
        When each job should have ended [s, absolute], from -1e12 to 1e12. Dates count as in ``arrival``.
        None, NaN and infinity mean that the job has no deadline.
    sla : sequence of sequences of (time, penalty), optional
        Steps of the penalty of each job, which pays that of the last step whose time has passed when it ends.
        Times are absolute [s] and increase; penalties never fall. Ranges as of deadlines and weights.
    speedup : float or sequence, optional
        How fast s slots of each job are (one entry for all, or one for each). None: s times as fast as one. A
        number p from 0 to 1: s^p times. A list: measured rates of 1, 2, ... slots, which begin with 1, never
        fall and are at most 1e12; the last one counts for more slots. ``work`` is then the seconds on one
        slot.
    min_mode : str or sequence of str, optional
        What the minimum of each job means: ``guarantee`` or ``start``, as for `Epoch`, for all jobs or for
        each. None: as the call that takes the table says.
    preferred : array_like of int, optional
        At how many slots a job with ``min_mode="start"`` would like to start, from ``min_slots`` to
        ``max_slots``; 0: it has no wish. When the job starts it gets so many slots, as far as no job needs
        them for its minimum. The next decision may change them.
    restart : array_like or float, optional
        What a change of its slots costs each job [s]: it holds the new slots, and does nothing for so long.
        So does a job that starts, or that gets slots back. 0, or from 1e-12 to 1e12; by default 0.
    restart_grow, restart_shrink : array_like or float, optional
        The same for more and for fewer slots, where they differ; by default ``restart``.
    restart_slot : array_like or float, optional
        Seconds in addition for each slot that the job gets or gives; by default 0.
    name : sequence of str, optional
        Names of the jobs; each name may occur once. By default ``job0``, ``job1``, ...
    user : sequence of str, optional
        Whose job each job is.
    size : array_like, optional
        Original work of jobs that have run already [slot-seconds], up to 1e24; the kind ``stretch`` divides
        by it. By default ``work``. Files do not have this column.

    Raises
    ------
    ValueError
        Names the field, the first bad row (from 0) and its value.

    See Also
    --------
    malleable.read_jobs : Reads such a table from a file.

    Notes
    -----
    A single number counts for all jobs. The table copies its input once, and its columns are read-only
    arrays. O(J).

    Examples
    --------
    >>> import malleable as mb
    >>> jobs = mb.Jobs(work=[400, 90], max_slots=[20, 10], deadline=[30, None], name=["report", "adhoc"])
    >>> len(jobs), jobs.work
    (2, array([400.,  90.]))
    """

    __slots__ = ("_label", "_name", "dated", "user")

    user: tuple[str, ...] | None
    dated: bool
    """Whether arrivals were given."""
    _name: tuple[str, ...] | None
    _label: tuple[str, Integers] | None
    """A word and a number for each job, of which names are made when they are first asked for."""

    @suggesting
    def __init__(
        self,
        work: npt.ArrayLike,
        *,
        arrival: npt.ArrayLike | None = None,
        min_slots: npt.ArrayLike = 0,
        max_slots: npt.ArrayLike | None = None,
        weight: npt.ArrayLike = 1.0,
        deadline: npt.ArrayLike | Sequence[float | None] | None = None,
        sla: Sequence[SlaSteps | None] | None = None,
        speedup: float | Sequence[Any] | None = None,
        min_mode: str | Sequence[str] | None = None,
        preferred: npt.ArrayLike | None = None,
        restart: npt.ArrayLike | None = None,
        restart_grow: npt.ArrayLike | None = None,
        restart_shrink: npt.ArrayLike | None = None,
        restart_slot: npt.ArrayLike | None = None,
        name: Sequence[str] | None = None,
        user: Sequence[str] | None = None,
        size: npt.ArrayLike | None = None,
    ) -> None:
        refuse_source("work", work, "mb.read_jobs")
        columns = number_columns(locals())
        columns["arrival"] = 0.0 if arrival is None else arrival
        if sla is not None or speedup is not None or min_mode is not None:
            columns = job_columns(columns, sla, speedup, min_mode)
        if not self._hold_plain(columns):
            self._hold(job_columns(columns))
        self._label = self._name = self.user = None
        self.dated = arrival is not None
        if name is not None:
            self._name = names_of("name", name, len(self))
            unique("name", self._name)
        if user is not None:
            self.user = names_of("user", user, len(self))

    @classmethod
    def of_core(cls, table: _core.Jobs, ids: Integers) -> Jobs:
        """The core's table, its jobs named by ids. O(1)."""
        return cls._made(table, {"user": None, "_name": None, "_label": ("", ids), "dated": True})

    def __repr__(self) -> str:
        return f"Jobs({counted(len(self), 'job')}, {self.work.sum():.6g} slot-seconds)"

    _repr_html_ = html_of("name arrival work min_slots max_slots weight deadline user")

    @property
    def speedup(self) -> tuple[float | Floats, ...] | None:
        """The exponent p or the rates of each job. None: all jobs are linear."""
        return speedups_of(self)

    def rates(self, slots: npt.ArrayLike, rows: npt.ArrayLike | None = None) -> Floats:
        """How fast jobs are on this many ``slots``: slot-seconds of work a second. ``rows`` are those of the
        jobs; by default all. O(their number)."""
        count = np.asarray(slots, dtype=np.float64)
        if not len(self.exponent):
            return count
        at = np.arange(len(self)) if rows is None else np.asarray(rows)
        done = np.where(count > 0.0, count ** self.exponent[at], 0.0)
        if len(self.rate_offset):
            first, end = self.rate_offset[at], self.rate_offset[at + 1]
            told = (end > first) & (count > 0.0)
            last = np.minimum(first + count.astype(np.int64), end) - 1
            done[told] = self.rate[last[told]]
        return done

    def _columns(self) -> dict[str, Any]:
        columns = super()._columns()
        columns["min_mode"] = self._modes
        optional = ("min_mode", "preferred", *RESTARTS)
        return columns | dict.fromkeys(field for field in optional if not len(columns[field]))

    @property
    def _modes(self) -> Integers:
        found: Integers = _core.Jobs.min_mode.__get__(self)
        return found

    @property
    def min_mode(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """The meaning of each job's minimum. None: the mode of the call that takes the table."""
        return tuple(MIN_MODES[code] for code in self._modes.tolist()) or None

    @property
    def restarts(self) -> bool:
        """Whether a change of slots costs some job time."""
        return any(bool(getattr(self, name).any()) for name in RESTARTS)

    def starting(self, min_mode: str) -> npt.NDArray[np.bool_]:
        """Which jobs wait until they get their minimum; ``min_mode`` is for jobs without a mode. O(J)."""
        if not len(self._modes):
            return np.full(len(self), min_mode == "start")
        found: npt.NDArray[np.bool_] = self._modes == MIN_MODES.index("start")
        return found

    @property
    def name(self) -> tuple[str, ...]:
        """Unique names, one per job."""
        if self._name is None:
            word, numbers = self._label or ("job", np.arange(len(self)))
            self._name = tuple(f"{word}{number}" for number in numbers.tolist())
        return self._name

    def take(self, index: npt.ArrayLike) -> Jobs:
        """A table of the jobs at these rows, in that order; ``index`` are rows, or a mask. O(rows)."""
        rows = rows_of(index, len(self))
        word, numbers = self._label or ("job", np.arange(len(self)))
        name = None if self._name is None else tuple(self._name[row] for row in rows.tolist())
        if len(np.unique(rows)) < len(rows):
            unique("name", [self.name[row] for row in rows.tolist()])
        user = None if self.user is None else tuple(self.user[row] for row in rows.tolist())
        named = {"user": user, "_name": name, "_label": (word, numbers[rows])}
        return self._made(self._take(rows), self._others() | named)


def job_columns(
    columns: Mapping[str, Any],
    sla: Sequence[SlaSteps | None] | None = None,
    speedup: Any = None,
    min_mode: Any = None,
) -> dict[str, Any]:
    """Columns of any type as the core reads them."""
    columns = {field: without_nan(field, values) for field, values in columns.items()}
    work = as_column("work", columns["work"])
    others = {f: as_column(f, values, len(work)) for f, values in columns.items() if f != "work"}
    steps = {} if sla is None else flat_sla(sla, len(work))
    more = speedup_columns(speedup, len(work)) | mode_columns(min_mode, len(work))
    return {"work": work, **others, **steps, **more}


def steps_of(offset: Integers, time: Floats, penalty: Floats) -> list[list[tuple[float, float]]]:
    steps = list(zip(time.tolist(), penalty.tolist(), strict=True))
    return [steps[a:b] for a, b in pairwise(offset.tolist())]


def flat_sla(
    sla: Sequence[SlaSteps | None], count: int, beside: str = "work"
) -> dict[str, npt.NDArray[Any]]:
    """Steps of each row as columns of a table; their order is not checked yet."""
    rows = sla
    if hasattr(sla, "__len__") and not isinstance(sla, str):
        rows = [() if steps is None else steps for steps in sla]
    offset, steps = lists_of("sla", rows, count, beside, "(time, penalty) pairs")
    times, penalties = np.empty(len(steps)), np.empty(len(steps))
    for place, step in enumerate(steps):
        try:
            time, penalty = step
            times[place] = as_number("sla", moment_of("sla", time))
            penalties[place] = as_number("sla", penalty)
        except (TypeError, ValueError):
            row = int(np.searchsorted(offset, place, side="right")) - 1
            raise ValueError(f"sla[{row}] = {shown(step)}: not a (time, penalty) pair") from None
    return {"sla_offset": offset, "sla_time": times, "sla_penalty": penalties}
