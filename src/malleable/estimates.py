"""Sizes as policies see them: columns, or the truth times a log-normal error."""

from __future__ import annotations

from typing import Any

import numpy as np

from malleable.domain import WEIGHT, WORK, check_amount, into_range
from malleable.jobs.table import Floats
from malleable.slotted.table import checked_estimates
from malleable.tandem.table import MapShuffleJobs

UNDERESTIMATES = ("first", "bounce")
"""What a job shows that has done more than its estimate: nothing left, or what it has overrun."""

_LARGEST = 50.0  # of an error's logarithm, so that products stay finite


def error_sigma(estimates: Any) -> float | None:
    """The standard deviation that ``estimates`` asks for, None if it is something else.

    Raises
    ------
    ValueError
        A number that is not finite or below 0, or a truth value.
    """
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
    """``exp(sigma Z)``, Z standard normal: the median estimate is right, large errors are symmetric
    in ratio.

    Notes
    -----
    The error model of Dell'Amico, Carra, Michiardi, "PSBS: Practical size-based scheduling" (2016).
    """
    error = rng.standard_normal(count) * sigma
    errors: Floats = np.exp(np.clip(error, -_LARGEST, _LARGEST))
    return errors


def phase_estimates(
    jobs: MapShuffleJobs, estimates: Any, rng: np.random.Generator
) -> tuple[Floats, Floats] | None:
    """Map and shuffle sizes of a table as a policy sees them, None for the truth.

    Parameters
    ----------
    jobs : MapShuffleJobs
    estimates : None, float, "column" or pair of array_like, each of shape (J,)
        Nothing; the standard deviation of independent log-normal errors of both phases; the table's
        own columns; or the columns themselves, map first.
    rng : numpy Generator
        For log-normal errors.

    Raises
    ------
    ValueError
        Anything else, and numbers that are negative or not finite.
    """
    if estimates is None:
        return None
    count = len(jobs)
    sigma = error_sigma(estimates)
    if sigma is not None:
        errors = [lognormal_errors(sigma, count, rng) for _ in range(2)]
        return into_range(jobs.map * errors[0], WORK), into_range(jobs.shuffle * errors[1], WORK)
    if isinstance(estimates, str):
        if estimates != "column":
            raise ValueError(f"estimates = {estimates!r}: the only word is 'column'")
        if jobs.map_estimate is None or jobs.shuffle_estimate is None:
            raise ValueError(
                "estimates = 'column': the table has no map_estimate, shuffle_estimate"
            )
        return jobs.map_estimate, jobs.shuffle_estimate
    pair = list(estimates) if np.iterable(estimates) else [estimates]
    if len(pair) != 2 or np.ndim(pair[0]) != 1:
        raise ValueError("estimates: expected two columns, of the map and of the shuffle phase")
    return (
        checked_estimates("map_estimate", pair[0], count),
        checked_estimates("shuffle_estimate", pair[1], count),
    )
