"""Which numbers are accepted, by one rule for all: limits from the core, conversions, checks. In all functions
``field`` is the name of the value for errors.

======================================================  ==========================================
work, phases, durations [slot-seconds, s]               0, or 1e-12 to 1e15
what is left of a job (``update``)                      0 to 1e15; less than 1e-12 counts as 0
sums of them, original sizes                            0, or 1e-12 to 1e24
weights, penalties, hysteresis                          0, or 1e-12 to 1e12
rates, loads, means and other factors                   1e-12 to 1e12
bytes, and bytes a second                               0 (rates: not), or 1e-12 to 1e18
times: arrivals, deadlines, steps, ``now`` [s]          -1e12 to 1e12 (deadlines: or infinite)
slots                                                   1 to 2^50
``min_slots``                                           0 to 2^50
``max_slots``                                           at least 1; more than there are means all
======================================================  ==========================================

Anything that is not a number, masked, or out of range is a ValueError that names the field, the first bad
entry and its value.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta, timezone
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.files.numbers import parse_moment, parse_number

# ``max_slots`` of a job that may use every slot there is.
ALL_SLOTS: int = _core.ALL_SLOTS
MOST_SLOTS: int = _core.MOST_SLOTS
LATEST_TIME: float = _core.LATEST_TIME  # [s]
# Ranges: the rows of the table above.
WORK, LEFT, TOTAL, WEIGHT = _core.WORK, _core.LEFT, _core.TOTAL, _core.WEIGHT
RATE, BYTES = _core.RATE, _core.BYTES

_P = ParamSpec("_P")
_R = TypeVar("_R")

_SHOWN = 60  # characters of a bad value that an error message repeats


def shown(value: object) -> str:
    """``repr`` of a value, on one line and cut to fit into a message."""
    if isinstance(value, np.generic):
        value = value.item()
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply; a whole number of too many digits
        text = f"a {type(value).__name__} too large to show"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def near(name: object, known: Iterable[str]) -> str:
    """An error's hint for an unknown name: the known name that is close to it."""
    names = {each.lower(): each for each in known}
    found = difflib.get_close_matches(str(name).lower(), names, n=1)
    return f"; did you mean {names[found[0]]!r}?" if found else ""


def check_keys(where: str, keys: Iterable[Any], known: Sequence[str], noun: str = "field") -> None:
    for key in keys:
        if key not in known:
            hint = near(key, known) or f"; expected {', '.join(known)}"
            raise ValueError(f"{where}unknown {noun} {shown(key)}{hint}")


def refuse(field: str, values: Any, bad: npt.NDArray[np.bool_], reason: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{field}[{row}] = {values[row]}: {reason}")


def no_mask(field: str, values: Any) -> None:
    # If numpy.ma is not imported, there is no masked array; another thread may import it now.
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    if masked is not None and isinstance(values, masked):
        raise ValueError(f"{field}: a masked array; fill what is missing, or leave the rows out")


def as_number(field: str, value: Any) -> float:
    """``value`` as a float, not yet checked against a range; ValueError if it is not a number. Texts of
    numbers are numbers, and time differences are their seconds."""
    no_mask(field, value)
    try:
        if isinstance(value, timedelta):
            return value.total_seconds()
        if isinstance(value, np.timedelta64):
            return float(value / np.timedelta64(1, "s"))
        return float(value)
    except OverflowError:
        raise ValueError(f"{field} = {shown(value)}: too large") from None
    except (TypeError, ValueError):
        raise ValueError(f"{field} = {shown(value)}: not a number") from None


def check_amount(field: str, value: Any, limits: _core.Range) -> float:
    number = as_number(field, value)
    if limits.least <= number <= limits.most or (limits.zero and number == 0.0):
        return number
    finite = math.isfinite(number) and (number > 0.0 or (limits.zero and number == 0.0))
    above = "at least 0" if limits.zero else "above 0"
    raise ValueError(
        f"{field} = {shown(value)}: {limits.text if finite else f'must be finite and {above}'}"
    )


def moment_of(field: str, value: Any) -> Any:
    """A date as seconds since 1970 (UTC unless it names its zone); NaN for none; other values unchanged.
    Dates are texts such as ``2024-05-01T09:30``, and ``datetime``, ``date`` and NumPy's or pandas' own."""
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, str) and value[4:5] == "-":
        try:
            return parse_moment(value)
        except ValueError as error:
            raise ValueError(f"{field} = {shown(value)}: {error}") from None
    if isinstance(value, np.datetime64):
        none = bool(np.isnat(value))
        return math.nan if none else float((value - np.datetime64(0, "s")) / np.timedelta64(1, "s"))
    if isinstance(value, date):
        if str(value) == "NaT":  # of pandas
            return math.nan
        moment = value if isinstance(value, datetime) else datetime.combine(value, time())
        return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
    return value


def check_time(field: str, value: Any) -> float:
    """A time or a date (`moment_of`) as a float; ValueError unless it is within 1e12 seconds of 0."""
    number = as_number(field, moment_of(field, value))
    if not abs(number) <= LATEST_TIME:
        finite = math.isfinite(number)
        reason = "must be from -1e12 to 1e12 seconds" if finite else "must be finite"
        raise ValueError(f"{field} = {shown(value)}: {reason}")
    return number


def _whole(value: Any) -> int | None:
    # A number without a fraction as an int, of whichever type; None for others.
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, str):
        with suppress(ValueError):
            value = parse_number(value)
    if isinstance(value, (float, np.floating)):
        return int(value) if value.is_integer() else None
    try:
        return operator.index(value)
    except TypeError:
        return None


def check_whole(field: str, value: Any, low: int, high: int | None = None) -> int:
    """A whole number from ``low`` to ``high`` (2^62) as an int; ValueError otherwise."""
    number = _whole(value)
    if number is None or not low <= number <= (2**62 if high is None else high):
        limits = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise ValueError(f"{field} = {shown(value)}: must be a whole number {limits}")
    return number


def check_ends(field: str, value: Any, low: int, high: int) -> tuple[int, int]:
    """The least and the largest of a range, or one whole number twice; ValueError otherwise."""
    pair = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(pair) != 2:
        raise ValueError(f"{field} = {shown(value)}: a number, or the least and the largest")
    least, largest = (check_whole(field, end, low, high) for end in pair)
    if least > largest:
        raise ValueError(f"{field} = {shown(value)}: the lower number comes first")
    return least, largest


def check_slots(slots: Any, field: str = "slots", least: int = 1) -> int:
    count = _whole(slots)
    if count is None:
        raise ValueError(f"{field} = {shown(slots)}: must be a whole number, at least {least}")
    if not least <= count <= MOST_SLOTS:
        raise ValueError(f"{field} = {shown(slots)}: must be at least {least} and at most 2^50")
    return count


def check_count(field: str, value: Any) -> int:
    """A number of things to do, at least 0, as an int; 2^62 at most."""
    number = _whole(value)
    return check_whole(field, value if number is None else min(number, 2**62), 0)


def checked_positive(field: str, value: float) -> float:
    return check_amount(field, value, RATE)


def checked_flag(field: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{field} = {value!r}: must be true or false")
    return bool(value)


def checked_choice(field: str, value: Any, choices: Iterable[str], where: str = "") -> str:
    """``value``; unless it is one of ``choices``, a ValueError with all of them and the nearest one."""
    known = list(choices)
    if not isinstance(value, str) or value not in known:
        told = f"expected one of {', '.join(known)}{where}{near(value, known)}"
        raise ValueError(f"{field} = {shown(value)}: {told}")
    return value


def suggesting(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The same function; its TypeError for an unknown keyword names the nearest known one."""

    @functools.wraps(function)
    def call(*args: _P.args, **keywords: _P.kwargs) -> _R:
        try:
            return function(*args, **keywords)
        except TypeError as error:
            known = inspect.signature(function).parameters
            for name in keywords:
                if name not in known and f"keyword argument {name!r}" in str(error):
                    raise TypeError(f"{error}{near(name, known)}") from None
            raise

    return call


def as_numbers(field: str, values: Any) -> npt.NDArray[Any]:
    """An array of integers, floats or booleans, of any shape; ValueError for others. Texts and time
    differences as in `as_number`."""
    no_mask(field, values)
    if isinstance(values, Iterator):
        values = list(values)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        raise ValueError(f"{field}: entries differ in length or kind") from None
    if array.dtype.kind == "m":
        return array / np.timedelta64(1, "s")
    if array.dtype.kind not in "fiubOUS":
        raise ValueError(f"{field}: {array.dtype} is not a kind of number")
    if array.dtype.kind in "OUS":
        where = "{}[{}]" if array.ndim else "{}"
        rows = enumerate(array.ravel().tolist())
        numbers = [as_number(where.format(field, row), value) for row, value in rows]
        return np.array(numbers, dtype=np.float64).reshape(array.shape)
    return array


def floats(
    field: str, values: Any, limits: _core.Range | None = None, shape: tuple[int, ...] | None = None
) -> npt.NDArray[np.float64]:
    """Contiguous float64, if possible the same array; checked for shape and range if they are given."""
    array = np.asarray(as_numbers(field, values), dtype=np.float64, order="C")
    if shape is not None and array.shape != shape:
        raise ValueError(f"{field} has shape {array.shape}, expected {shape}")
    if limits is not None:
        inside = (array >= limits.least) & (array <= limits.most) | (limits.zero & (array == 0.0))
        for place in np.argwhere(~inside)[:1]:
            where = ", ".join(str(k) for k in place)
            check_amount(f"{field}[{where}]", array[tuple(place)], limits)
    return array


def check_moments(field: str, values: npt.NDArray[np.float64]) -> None:
    _core.check_times(field, values.reshape(-1))
    refuse(field, values, values < 0.0, "must be finite and at least 0")


def into_range(values: npt.NDArray[np.float64], limits: _core.Range) -> npt.NDArray[np.float64]:
    # 0 stays 0
    moved: npt.NDArray[np.float64] = np.clip(values, limits.least, limits.most)
    return np.where(values > 0.0, moved, 0.0)


class Table:
    """Columns that are validated once and then read-only, also in copies and pickles."""

    __slots__ = ()

    def _validate(self) -> None:
        """ValueError for columns that do not fit together."""

    def _freeze(self) -> None:
        fields = [name for kind in type(self).__mro__ for name in getattr(kind, "__slots__", ())]
        for field in (*fields, *getattr(self, "__dict__", ())):
            column = getattr(self, field, None)
            if isinstance(column, np.ndarray):
                column.flags.writeable = False

    def __setstate__(self, state: Any) -> None:
        parts = state if isinstance(state, tuple) else (state,)
        for part in parts:
            if isinstance(part, Mapping):
                for field, value in part.items():
                    setattr(self, field, value)
        self._validate()
        self._freeze()
