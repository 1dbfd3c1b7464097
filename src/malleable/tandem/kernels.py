"""Kernels of the overlapping tandem queue that are of use alone: batches."""

from __future__ import annotations

import numpy.typing as npt

from malleable import _core
from malleable.columns import Floats, Integers, floats_of, given


def _sizes(map: npt.ArrayLike, shuffle: npt.ArrayLike) -> tuple[Floats, Floats]:
    maps = floats_of("map", given("map", map))
    return maps, floats_of("shuffle", given("shuffle", shuffle), len(maps), "map")


def makespan_order(map: npt.ArrayLike, shuffle: npt.ArrayLike) -> tuple[Integers, Floats]:
    """The order at both stations with the least makespan, for jobs that are all there at 0.

    Parameters
    ----------
    map, shuffle : array_like, shape (J,)
        Sizes in seconds at full speed, at least 0.

    Returns
    -------
    order : ndarray of int64, shape (J,)
        Rows with shuffle >= map first.
    completion : ndarray of float64, shape (J,)
        Of every row [s]; the largest is max(sum of map, sum of shuffle).

    Raises
    ------
    ValueError
        Names the field, the first bad row and its value.

    Notes
    -----
    O(J). Source: Lin, Wierman, Zhang, Tan 2013, section 3.1.
    """
    return _core.overlap_makespan(*_sizes(map, shuffle))


def batch_bound(map: npt.ArrayLike, shuffle: npt.ArrayLike) -> float:
    """No schedule of a batch has a smaller sum of completions [s] than this.

    Parameters
    ----------
    map, shuffle : array_like, shape (J,)
        Sizes in seconds at full speed, at least 0; all jobs are there at 0.

    Raises
    ------
    ValueError
        Names the field, the first bad row and its value.

    Notes
    -----
    The k-th completion is no earlier than the k smallest mixtures l x + (1 - l) y take one after another,
    for each of 33 values of l. O(J log J). At least the bound of Lin et al. 2013, section 5.1.
    """
    return _core.overlap_batch_bound(*_sizes(map, shuffle))
