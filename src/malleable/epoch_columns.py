"""Columns that scheduler loops hand to epoch objects: one entry a job, read in place where possible."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from malleable.domain import ALL_SLOTS, as_numbers, floats, no_mask
from malleable.tables import Integers

__all__ = ["array_of", "bools_of", "count_of", "floats_of", "given", "ids_of", "integers_of"]


def array_of(field: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
    """Values as an array; ValueError where they make none."""
    no_mask(field, values)
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(f"{field}: expected numbers, rows of one length") from None


def count_of(field: str, values: npt.ArrayLike) -> int:
    """How many jobs a column is for; a scalar is for one."""
    return len(np.atleast_1d(array_of(field, values)))


def ids_of(ids: npt.ArrayLike, field: str = "ids") -> Integers:
    """Ids as int64; ValueError unless they are whole numbers."""
    array = np.atleast_1d(array_of(field, ids))
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise ValueError(f"{field}: expected a list of whole numbers, not {array.dtype}")
    for bad in np.flatnonzero(array > np.iinfo(np.int64).max)[:1]:
        noun = "job" if field == "ids" else "flow"
        raise ValueError(f"{field}[{bad}] = {array[bad]}: no such {noun}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _of_ids(field: str, array: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    """One entry per id; a scalar is spread."""
    if array.ndim == 0:
        return np.full(count, array)
    if array.ndim != 1 or len(array) != count:
        raise ValueError(f"{field} has shape {array.shape} but there are {count} ids")
    return array


def given(field: str, values: npt.ArrayLike | None) -> npt.ArrayLike:
    """A column that cannot be left out; ValueError for None."""
    if values is None:
        raise ValueError(f"{field} = None: needed")
    return values


def floats_of(field: str, values: npt.ArrayLike | None, count: int) -> Any:
    """Float64, one entry a job or a scalar that is spread; None stays None.

    In a list of deadlines None is no deadline.
    """
    if values is None:
        return None
    if field == "deadline" and isinstance(values, (list, tuple)):
        values = [np.inf if value is None else value for value in values]
    return np.ascontiguousarray(_of_ids(field, floats(field, values), count))


def integers_of(field: str, values: npt.ArrayLike | None, count: int, least: int = 0) -> Any:
    """As `floats_of`, for whole numbers of at least 0, say; `ALL_SLOTS` at most."""
    if values is None:
        return None
    array = as_numbers(field, values)
    if array.dtype.kind not in "iu":
        array = floats_of(field, array, count)
        for bad in np.flatnonzero(~(np.isfinite(array) & (array == np.floor(array))))[:1]:
            raise ValueError(f"{field}[{bad}] = {array[bad]}: must be a whole number")
    array = _of_ids(field, array, count)
    for bad in np.flatnonzero(array < least)[:1]:
        raise ValueError(f"{field}[{bad}] = {array[bad]}: must be at least {least}")
    return np.ascontiguousarray(np.clip(array, least, ALL_SLOTS), dtype=np.int64)


def bools_of(field: str, values: npt.ArrayLike, count: int) -> Any:
    """True or False, one entry a job or one that is spread, as bytes."""
    array = array_of(field, values)
    if array.dtype.kind != "b":
        raise ValueError(f"{field}: expected True or False")
    return np.ascontiguousarray(_of_ids(field, array, count), dtype=np.uint8)
