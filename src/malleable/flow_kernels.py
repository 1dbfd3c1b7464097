"""Kernels of flows one by one, for people who build schedulers of their own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.flow_tables import Flows
from malleable.tables import Floats, Integers, check_slots

__all__ = ["CellFlow", "FlowChains", "flow_chains", "min_cost_flow"]


class FlowChains(NamedTuple):
    """Chains of pseudo-jobs: flow f owns ``offset[f]:offset[f + 1]`` of ``length`` [s] and ``height``
    [slots]; job i is part of the pseudo-jobs ``first[i]:end[i]``."""

    offset: Integers
    length: Floats
    height: Integers
    first: Integers
    end: Integers


def flow_chains(flows: Flows, slots: int) -> FlowChains:
    """Stage 1 of FlowFlex (section 4.1): general precedence becomes chains. O(J log J)."""
    found = _core.flow_chains(
        flows.job_offset,
        flows.work,
        flows.max_slots,
        flows.parent_offset,
        flows.parent,
        check_slots(slots),
    )
    return FlowChains(**found)


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
    floats = {
        "volume": np.ascontiguousarray(volume, dtype=np.float64),
        "time": np.ascontiguousarray(time, dtype=np.float64),
        "room": np.ascontiguousarray(room, dtype=np.float64),
        "value": np.ascontiguousarray(value, dtype=np.float64),
        "slope": np.ascontiguousarray(slope, dtype=np.float64),
    }
    for field, column in floats.items():
        _need(field, column, np.isfinite(column), "must be finite")
    work, cells = floats["volume"], floats["time"]
    _need("volume", work, work >= 0.0, "must be at least 0")
    _need("room", floats["room"], floats["room"] > 0.0, "must be above 0")
    _need("time", cells[1:], np.diff(cells) >= 0.0, "times must not fall")
    _need("slope", floats["slope"], floats["slope"] >= 0.0, "must be at least 0")
    if len(cells) != len(floats["room"]):
        raise ValueError(f"room has {len(floats['room'])} entries but time has {len(cells)}")
    rows = np.ascontiguousarray(offset, dtype=np.int64)
    first = np.ascontiguousarray(from_cell, dtype=np.int64)
    count = len(floats["value"])
    if len(rows) != len(work) + 1 or (len(rows) and (rows[0] != 0 or rows[-1] != count)):
        raise ValueError(f"offset: expected {len(work) + 1} entries from 0 to {count}")
    if len(first) != count or len(floats["slope"]) != count:
        raise ValueError("from_cell, value and slope differ in length")
    _need("offset", rows[1:], np.diff(rows) >= 1, "every flow needs a row")
    starts = np.zeros(count, dtype=np.bool_)
    starts[rows[:-1]] = True
    good = np.where(starts, first == 0, np.concatenate([[False], np.diff(first) > 0])[:count])
    _need("from_cell", first, good & (first < max(len(cells), 1)), "rows begin at 0 and then rise")
    if work.sum() > floats["room"].sum() * (1.0 + 1e-9):
        raise ValueError(f"room: {floats['room'].sum()} in all, but volume is {work.sum()}")
    # Where a row ends the next one must not begin lower.
    inner = np.flatnonzero(~starts)
    rise = floats["slope"][inner - 1] * (cells[first[inner]] - cells[first[inner - 1]])
    least = floats["value"][inner - 1] + rise
    falls = np.ones(count, dtype=np.bool_)
    falls[inner] = floats["value"][inner] >= least - 1e-9 * (1.0 + np.abs(least))
    _need("value", floats["value"], falls, "costs must not fall")
    found = _core.min_cost_flow(
        work, cells, floats["room"], rows, first, floats["value"], floats["slope"]
    )
    return CellFlow(**found)


def _need(
    field: str, values: npt.NDArray[np.generic], good: npt.NDArray[np.bool_], what: str
) -> None:
    for at in np.flatnonzero(~good)[:1]:
        raise ValueError(f"{field}[{at}] = {values[at]}: {what}")
