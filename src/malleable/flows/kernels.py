"""The kernel of flows that is of use alone, for schedulers of your own."""

from __future__ import annotations

from typing import NamedTuple

import numpy.typing as npt

from malleable import _core
from malleable.columns import Floats, Integers, wholes_of
from malleable.domain import floats as as_floats
from malleable.values import by_value


@by_value()
class CellFlow(NamedTuple):
    """``amount[k]`` units of ``flow[k]`` in ``cell[k]``; the value, the bound of the duals, and these:
    a price per cell that never rises, a potential per flow. ``pivots`` of the simplex."""

    flow: Integers
    cell: Integers
    amount: Floats
    value: float
    bound: float
    price: Floats
    potential: Floats
    pivots: int


def min_cost_flow(
    volume: npt.ArrayLike,
    time: npt.ArrayLike,
    room: npt.ArrayLike,
    offset: npt.ArrayLike,
    from_cell: npt.ArrayLike,
    value: npt.ArrayLike,
    slope: npt.ArrayLike,
) -> CellFlow:
    """The min-cost flow of FlowFlex (section 4.2): work of flows into cells of time, exactly.

    Parameters
    ----------
    volume : array_like, shape (F,)
        Work of each flow, at least 0.
    time, room : array_like, shape (T,)
        Time of each cell, rising; how much work it takes, above 0. Together there must be enough room.
    offset : array_like of int, shape (F + 1,)
    from_cell, value, slope : array_like, shape (R,)
        Cost of a unit of flow f: rows ``offset[f]:offset[f + 1]``; row r says
        ``value[r] + slope[r] * (time[t] - time[from_cell[r]])`` for cells from ``from_cell[r]`` up to the
        next row's. The first row begins at cell 0; costs must not fall with time.

    Returns
    -------
    CellFlow

    Raises
    ------
    ValueError
        Names the field, the first bad index and the value.

    Notes
    -----
    Network simplex with arcs that are never stored; see `cpp/include/malleable/kernel/min_cost_flow.hpp`.
    """
    found = _core.min_cost_flow(
        as_floats("volume", volume),
        as_floats("time", time),
        as_floats("room", room),
        wholes_of("offset", offset),
        wholes_of("from_cell", from_cell),
        as_floats("value", value),
        as_floats("slope", slope),
    )
    return CellFlow(**found)
