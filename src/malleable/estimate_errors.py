"""Sizes of jobs as policies see them in simulations: columns of estimates, or the truth times a log-normal
error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from malleable.arrays import Floats
from malleable.validation import WEIGHT, WORK, check_amount, floats, into_range

_LARGEST = 50.0  # largest logarithm of an error, so that products stay finite


def error_sigma(estimates: Any) -> float | None:
    """The standard deviation that ``estimates`` asks for, None if it is no number; ValueError for a truth
    value, and for a number below 0 or not finite."""
    if isinstance(estimates, bool):
        raise ValueError(f"estimates = {estimates!r}: not a number")
    if not isinstance(estimates, (int, float, np.number)):
        return None
    try:
        return check_amount("estimates", estimates, WEIGHT)
    except ValueError as error:
        raise ValueError(f"{error} (a standard deviation)") from None


def lognormal_errors(
    sigma: float, count: int | tuple[int, ...], rng: np.random.Generator
) -> Floats:
    """``exp(sigma Z)``, Z standard normal: the median estimate is right, errors are symmetric in ratio. After
    Dell'Amico, Carra, Michiardi, "PSBS: Practical size-based scheduling" (2016)."""
    error = rng.standard_normal(count) * sigma
    return np.exp(np.clip(error, -_LARGEST, _LARGEST))


def believed(
    jobs: Any, estimates: Any, sizes: Mapping[str, Floats], rng: np.random.Generator
) -> tuple[Floats, ...] | None:
    """Sizes of a table as a policy sees them, None for the truth.

    ``estimates``: None; the standard deviation of independent log-normal errors; ``"column"``, the table's
    own columns; or the columns themselves, shape (J,). ``sizes`` is the truth by the names of these columns.
    ValueError for anything else, and for numbers that are negative or not finite."""
    if estimates is None:
        return None
    count = len(jobs)
    sigma = error_sigma(estimates)
    if sigma is not None:
        return tuple(
            into_range(size * lognormal_errors(sigma, count, rng), WORK) for size in sizes.values()
        )
    if isinstance(estimates, str):
        if estimates != "column":
            raise ValueError(f"estimates = {estimates!r}: the only word is 'column'")
        own = tuple(getattr(jobs, name) for name in sizes)
        if any(column is None for column in own):
            raise ValueError(f"estimates = 'column': the table has no {', '.join(sizes)}")
        return own
    if len(sizes) == 1:
        return (floats("estimates", estimates, WORK, (count,)),)
    columns = list(estimates) if np.iterable(estimates) else [estimates]
    if len(columns) != len(sizes) or np.ndim(columns[0]) != 1:
        raise ValueError(f"estimates: expected two columns, {' and '.join(sizes)}")
    return tuple(
        floats(name, column, WORK, (count,)) for name, column in zip(sizes, columns, strict=True)
    )
