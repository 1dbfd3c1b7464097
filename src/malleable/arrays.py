"""The validator of columns, which have one entry for each job: scalars are spread, right arrays are not copied.

The core reads columns that are arrays of its own types by itself; all other ones come here first. In
all functions ``field`` is the column's name for errors, ``count`` its length, and ``beside`` another column
that the length must agree with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from malleable.display import counted
from malleable.validation import ALL_SLOTS, as_numbers, moment_of, no_mask, refuse, shown

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
_Name = TypeVar("_Name")


def array_of(field: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
    no_mask(field, values)
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(f"{field}: expected numbers, rows of one length") from None


def count_of(field: str, values: npt.ArrayLike) -> int:
    return len(np.atleast_1d(array_of(field, values)))


def check_length(
    field: str, values: Sized, count: int, beside: str = "", noun: str = "job"
) -> None:
    """ValueError unless there is one entry a job, as many as the column ``beside`` has."""
    if len(values) != count:
        told = f"{beside} has {count}" if beside else f"there are {counted(count, noun)}"
        raise ValueError(f"{field} has {counted(len(values), 'entry')} but {told}")


def column(field: str, values: Any, count: int | None = None, beside: str = "") -> npt.NDArray[Any]:
    """A one-dimensional array of numbers of any type, with ``count`` entries; without a count, as many as
    given."""
    array = as_numbers(field, values)
    if array.ndim == 0:
        return np.full(1 if count is None else count, array)
    if array.ndim != 1:
        raise ValueError(f"{field} has {counted(array.ndim, 'dimension')}, expected 1")
    if count is not None:
        check_length(field, array, count, beside)
    return array


def ids_of(ids: npt.ArrayLike, field: str = "ids") -> Integers:
    array = np.atleast_1d(array_of(field, ids))
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise ValueError(f"{field}: expected a list of whole numbers, not {array.dtype}")
    noun = "job" if field == "ids" else "flow"
    refuse(field, array, array > np.iinfo(np.int64).max, f"no such {noun}")
    return np.ascontiguousarray(array, dtype=np.int64)


def id_lists(field: str, rows: Any, count: int, beside: str = "") -> tuple[Integers, Integers]:
    """A list of different ids for each row, as offsets and joined ids."""
    check_length(field, rows, count, beside)
    lists = [np.unique(ids_of(own, f"{field}[{row}]")) for row, own in enumerate(rows)]
    joined = np.concatenate([*lists, np.empty(0, dtype=np.int64)])
    return np.cumsum([0, *map(len, lists)], dtype=np.int64), joined


def given(field: str, values: npt.ArrayLike | None) -> npt.ArrayLike:
    if values is None:
        raise ValueError(f"{field} = None: needed")
    return values


def floats_of(field: str, values: Any, count: int | None = None, beside: str = "") -> Any:
    """Float64, one entry a job or a scalar for all; None stays None. In a list of deadlines None means no
    deadline."""
    if values is None:
        return None
    if field in _TIMES:
        values = _moments(field, values)
    return np.ascontiguousarray(column(field, values, count, beside), dtype=np.float64)


_TIMES = ("arrival", "deadline")  # columns of which dates are taken


def _moments(field: str, values: Any) -> Any:
    # Dates as seconds since 1970 (UTC unless they name their zone), as in files; numbers unchanged.
    array = array_of(field, values) if hasattr(values, "__array__") else None
    if array is not None and array.dtype.kind in "fiubm":
        return values
    if array is None or array.dtype.kind != "M":
        array = np.asarray(values, dtype=object)
    if array.ndim > 1:
        return values
    none = np.inf if field == "deadline" else None
    rows = enumerate(np.atleast_1d(array).tolist() if array.dtype.kind == "O" else array.ravel())
    found = [none if each is None else moment_of(f"{field}[{row}]", each) for row, each in rows]
    return found if array.ndim else found[0]


def without_nan(field: str, values: Any) -> Any:
    """A column of a table; data frames write NaN for a job without a deadline or maximum."""
    none = {"deadline": np.inf, "max_slots": float(ALL_SLOTS)}.get(field)
    if none is None or values is None:
        return values
    array_of(field, values)
    values = _moments(field, values) if field in _TIMES else values
    array = np.asarray(values)
    if array.dtype.kind == "m":
        array = array / np.timedelta64(1, "s")
    if array.dtype.kind == "O":
        array = np.array([np.nan if each is None else each for each in array.ravel()])
    missing = np.isnan(array) if array.dtype.kind == "f" else np.zeros(0, dtype=np.bool_)
    return np.where(missing, none, array) if missing.any() else values


def _fractions(array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    # which entries are no whole numbers
    bad: npt.NDArray[np.bool_] = np.zeros(len(array), dtype=np.bool_)
    if array.dtype.kind == "f":
        bad = ~(np.isfinite(array) & (array == np.floor(array)))
    return bad


def wholes_of(
    field: str,
    values: Any,
    count: int | None = None,
    low: int = -(2**60),
    high: int = 2**60,
    beside: str = "",
) -> Integers:
    """Int64 whole numbers from ``low`` to ``high``, one entry a job or a scalar for all."""
    array = column(field, values, count, beside)
    refuse(field, array, _fractions(array) | (array.dtype.kind == "b"), "must be a whole number")
    inside = (array >= low) & (array <= high)
    refuse(field, array, ~inside, f"must be a whole number from {low} to {high}")
    return np.array(array, dtype=np.int64, order="C")


def integers_of(
    field: str, values: Any, count: int | None = None, least: int = 0, beside: str = ""
) -> Any:
    """As `floats_of`, for whole numbers of at least ``least``; more than `ALL_SLOTS` means `ALL_SLOTS`."""
    if values is None:
        return None
    array = column(field, values, count, beside)
    if array.dtype.kind not in "iu":
        array = np.asarray(array, dtype=np.float64)
        refuse(field, array, _fractions(array), "must be a whole number")
    refuse(field, array, array < least, f"must be at least {least}")
    if array.dtype.itemsize < 8:  # whole numbers of a type that the limit may not fit into
        array = array.astype(np.int64)
    # Cut to the limit here, so that the cast cannot wrap around.
    return np.ascontiguousarray(np.minimum(array, ALL_SLOTS), dtype=np.int64)


# Columns of whole numbers, and the least that each may have.
_LEAST = {"max_slots": 1, "task": -1, "node": -1}
_LEAST |= dict.fromkeys(("min_slots", "preferred", "tasks", "maps", "reduces", "running"), 0)
_LEAST |= dict.fromkeys(("phase", "count", "min_map_slots", "min_reduce_slots"), 0)


def column_of(field: str, values: Any, count: int | None = None, beside: str = "") -> Any:
    """A column of any type as the core reads it: with the type of the field."""
    if field in _LEAST:
        return integers_of(field, values, count, _LEAST[field], beside)
    return floats_of(field, values, count, beside)


def columns_of(columns: Mapping[str, Any], count: int, beside: str = "") -> dict[str, Any]:
    return {field: column_of(field, values, count, beside) for field, values in columns.items()}


def names_of(field: str, values: Any, count: int, beside: str = "work") -> tuple[str, ...]:
    if isinstance(values, str):
        raise ValueError(f"{field}: one entry per job, not a single text")
    try:
        names = tuple(str(value) for value in values)
    except TypeError:
        raise ValueError(f"{field} = {shown(values)}: one entry per job") from None
    check_length(field, names, count, beside)
    return names


def lists_of(
    field: str, rows: Any, count: int, beside: str, entries: str
) -> tuple[Integers, list[Any]]:
    """A list of entries for each row, as offsets and joined entries; the entries are not checked yet."""
    if isinstance(rows, (str, bytes)) or not hasattr(rows, "__len__"):
        raise ValueError(f"{field} = {shown(rows)}: one list of {entries} per job")
    check_length(field, rows, count, beside)
    offset = np.zeros(count + 1, dtype=np.int64)
    flat: list[Any] = []
    for row, own in enumerate(rows):
        if isinstance(own, (str, bytes)) or not hasattr(own, "__iter__"):
            raise ValueError(f"{field}[{row}] = {shown(own)}: not a list of {entries}")
        flat += own
        offset[row + 1] = len(flat)
    return offset, flat


def rows_of(index: npt.ArrayLike, count: int) -> Integers:
    """Rows of a table by number (from the end if negative) or by a mask; IndexError otherwise."""
    chosen = np.asarray(index)
    found: Integers = np.arange(count)[chosen if chosen.size else chosen.astype(int)]
    return found


def quotient(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> Floats:
    """Entry by entry; 0 where ``whole`` is 0."""
    found: Floats = np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0.0)
    return found


def numbered(names: Iterable[_Name]) -> tuple[list[_Name], Integers]:
    # the different names, and for each entry the number of its name
    rows = list(names)
    number = {name: k for k, name in enumerate(dict.fromkeys(rows))}
    return list(number), np.array([number[name] for name in rows], dtype=np.int64)


def arguments(scope: Mapping[str, Any], *without: str) -> dict[str, Any]:
    """The arguments of a method by name, from its ``locals()`` on the first line: all but its object and
    those ``without``."""
    return {name: value for name, value in scope.items() if name not in ("self", *without)}


def attributes(rows: Sequence[Any], *names: str) -> dict[str, Any]:
    # records as columns
    return {name: [getattr(row, name) for row in rows] for name in names}
