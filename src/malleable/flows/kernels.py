"""Kernels of flows one by one, for people who build schedulers of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from malleable import _core, views
from malleable.columns import permutation_of, wholes_of
from malleable.domain import floats as as_floats
from malleable.flows.table import Flows
from malleable.jobs.table import Floats, Integers, check_slots, check_time
from malleable.values import by_value
from malleable.views import counted

__all__ = [
    "CellFlow",
    "ChainSchedule",
    "FlowChains",
    "ListSchedule",
    "deadline_greedy",
    "fair_list",
    "flow_chains",
    "min_cost_flow",
    "ready_list",
    "wrap_around",
]


@by_value()
class FlowChains(NamedTuple):
    """Chains of pseudo-jobs: flow f owns ``offset[f]:offset[f + 1]`` of ``length`` [s] and ``height``
    [slots]; job i is part of the pseudo-jobs ``first[i]:end[i]``."""

    offset: Integers
    length: Floats
    height: Integers
    first: Integers
    end: Integers

    def __repr__(self) -> str:
        return views.brief(self)


def flow_chains(flows: Flows, slots: int) -> FlowChains:
    """Stage 1 of FlowFlex (section 4.1): general precedence becomes chains. O(J log J)."""
    return FlowChains(**_core.flow_chains(flows, check_slots(slots)))


@by_value()
class ChainSchedule(NamedTuple):
    """A schedule of pseudo-jobs. ``flow[p]`` owns the pieces ``offset[p]:offset[p + 1]``, in order of
    time: pseudo-job ``pseudo_job[q]`` (a row of `FlowChains`) holds ``slots[q]`` from ``start[q]`` to
    ``end[q]`` [s]. ``completion`` is per flow [s]. All times are absolute.

    ``proof`` is the first flow whose completion proves that no schedule meets all deadlines (figure 5,
    steps 10 and 11: it comes after twice its deadline, counted from ``now``), or -1."""

    flow: Integers
    offset: Integers
    pseudo_job: Integers
    start: Floats
    end: Floats
    slots: Integers
    completion: Floats
    proof: int = -1

    def __repr__(self) -> str:
        return views.brief(self)


def deadline_greedy(
    flows: Flows, slots: int, order: npt.ArrayLike, now: float = 0.0
) -> ChainSchedule:
    """Stage 2 of FlowFlex for strict deadlines (section 4.2, figure 5).

    Chains of pseudo-jobs one after another, each as early and as wide as the slots still free allow.

    Parameters
    ----------
    flows : Flows
    slots : int
        Capacity.
    order : array_like of int, shape (F,)
        Every flow row once, by deadline. If any schedule meets all deadlines, chains in their order end
        within twice theirs (theorem 2, all flows present at the start).
    now : float
        Absolute time [s]; flows that arrive later wait for their arrival.

    Returns
    -------
    ChainSchedule
        With ``proof``: the first flow that says ``infeasible``, or -1. -1 says nothing about whether the
        deadlines can be met; and it is always -1 where flows arrive after ``now`` or ``order`` is not
        by deadline, since then nothing follows.

    Raises
    ------
    ValueError
        If ``order`` is no permutation of the flows; wrong slots or time.

    Notes
    -----
    O(K log K) for K pseudo-jobs while few intervals are partly free at once.
    """
    now = check_time("now", now)
    by_deadline = permutation_of("order", order, len(flows))
    found = _core.deadline_greedy(flows, check_slots(slots), now, by_deadline)
    due = flows.deadline[by_deadline]
    if len(flows) and (np.any(flows.arrival > now) or np.any(due[1:] < due[:-1])):
        return ChainSchedule(**found)
    due = due + 1e-9 * np.maximum(1.0, np.abs(due)) - now
    # A flow without work ended when it came, whatever the schedule.
    work = np.bincount(flows.flow, weights=flows.work, minlength=len(flows))[by_deadline]
    late = found["completion"][by_deadline] - now > np.where(work > 0.0, 2.0, 1.0) * due
    proof = by_deadline[np.argmax(late)] if late.any() else -1
    return ChainSchedule(**found, proof=int(proof))


def wrap_around(
    flows: Flows, slots: int, schedule: ChainSchedule, now: float = 0.0
) -> Mapping[str, npt.NDArray[Any]]:
    """Stage 3 of FlowFlex (section 4.3): a schedule of pseudo-jobs becomes one of the jobs.

    McNaughton's wrap-around rule within each piece, in whole slots.

    Parameters
    ----------
    flows : Flows
    slots : int
        Capacity, the one that the chains were made for.
    schedule : ChainSchedule
        Of `deadline_greedy`, or another one: every flow at most once, the pieces of a flow in order of
        time, no pseudo-job above its height, each with all of its work (within 1e-6).
    now : float
        Absolute time [s] of the decision.

    Returns
    -------
    dict of ndarray
        ``job, start, end, slots``, absolute times: pieces as a plan has them.

    Raises
    ------
    ValueError
        Names the column of the schedule, the first bad index and its value.

    Notes
    -----
    Linear in the jobs of each piece.
    """
    count, now = check_slots(slots), check_time("now", now)
    chains = flow_chains(flows, count)
    given = ChainSchedule(
        wholes_of("flow", schedule.flow),
        wholes_of("offset", schedule.offset),
        wholes_of("pseudo_job", schedule.pseudo_job),
        as_floats("start", schedule.start),
        as_floats("end", schedule.end),
        wholes_of("slots", schedule.slots),
        schedule.completion,
    )
    _check_chain_schedule(len(flows), chains, given)
    found: Mapping[str, npt.NDArray[Any]] = _core.wrap_around(
        flows,
        count,
        now,
        given.flow,
        given.offset,
        given.pseudo_job,
        given.start,
        given.end,
        given.slots,
    )
    return found


@by_value()
class ListSchedule(NamedTuple):
    """``start`` and ``completion`` per job, ``flow_completion`` per flow [s, absolute]; ``pieces``:
    ``job, start, end, slots``."""

    start: Floats
    completion: Floats
    flow_completion: Floats
    pieces: Mapping[str, npt.NDArray[Any]]

    def __repr__(self) -> str:
        return views.brief(self)


def ready_list(flows: Flows, slots: int, rank: npt.ArrayLike, now: float = 0.0) -> ListSchedule:
    """A ready list: whoever may run takes slots by rank, each job up to its maximum.

    Parameters
    ----------
    flows : Flows
    slots : int
        Capacity.
    rank : array_like of int, shape (J,)
        0 to J - 1, each once; the smaller the sooner.
    now : float
        Absolute time [s]; flows that arrive later wait for their arrival.

    Returns
    -------
    ListSchedule

    Raises
    ------
    ValueError
        If ``rank`` is no permutation of the job rows; wrong slots or time.

    Notes
    -----
    O(jobs that hold slots + log J) an event, one or two events a job. Section 5.1 runs FIFO so.
    """
    ranks = permutation_of("rank", rank, len(flows.work))
    found = _core.ready_list(flows, check_slots(slots), check_time("now", now), ranks)
    return ListSchedule(**found)


def fair_list(flows: Flows, slots: int, now: float = 0.0) -> ListSchedule:
    """FAIR over flows (section 5.1): the integer waterline over the jobs that are ready.

    Takes and returns what `ready_list` does, but for the ranks. O((J + pieces) log J).
    """
    none = np.empty(0, dtype=np.int64)
    found = _core.ready_list(flows, check_slots(slots), check_time("now", now), none)
    return ListSchedule(**found)


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

    def __repr__(self) -> str:
        return views.brief(self)


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
        "volume": as_floats("volume", volume),
        "time": as_floats("time", time),
        "room": as_floats("room", room),
        "value": as_floats("value", value),
        "slope": as_floats("slope", slope),
    }
    for field, column in floats.items():
        _need(field, column, np.isfinite(column), "must be finite")
    work, cells = floats["volume"], floats["time"]
    _need("volume", work, work >= 0.0, "must be at least 0")
    _need("room", floats["room"], floats["room"] > 0.0, "must be above 0")
    _need("time", cells[1:], np.diff(cells) >= 0.0, "times must not fall")
    _need("slope", floats["slope"], floats["slope"] >= 0.0, "must be at least 0")
    if len(cells) != len(floats["room"]):
        raise ValueError(
            f"room has {counted(len(floats['room']), 'entry')} but time has {len(cells)}"
        )
    rows = wholes_of("offset", offset)
    first = wholes_of("from_cell", from_cell)
    count = len(floats["value"])
    if len(rows) != len(work) + 1 or (len(rows) and (rows[0] != 0 or rows[-1] != count)):
        raise ValueError(f"offset: expected {counted(len(work) + 1, 'entry')} from 0 to {count}")
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


def _check_chain_schedule(flows: int, chains: FlowChains, given: ChainSchedule) -> None:
    flow, offset, rows, start, end, held, _, _ = given
    count = len(rows)
    if not len(start) == len(end) == len(held) == count:
        raise ValueError("pseudo_job, start, end and slots differ in length")
    _need("flow", flow, (flow >= 0) & (flow < flows), f"must be 0 to {flows - 1}")
    first = np.zeros(len(flow), dtype=np.bool_)
    first[np.unique(flow, return_index=True)[1]] = True
    _need("flow", flow, first, "stands there twice")
    if len(offset) != len(flow) + 1 or offset[0] != 0 or offset[-1] != count:
        raise ValueError(f"offset: expected {counted(len(flow) + 1, 'entry')} from 0 to {count}")
    _need("offset", offset[1:], np.diff(offset) >= 0, "must not fall")
    owner = np.repeat(flow, np.diff(offset))
    own = (rows >= chains.offset[owner]) & (rows < chains.offset[owner + 1])
    _need("pseudo_job", rows, own, "is none of its flow")
    _need("start", start, np.isfinite(start), "must be finite")
    _need("end", end, np.isfinite(end) & (end > start), "must be finite and behind the start")
    _need("slots", held, (held >= 1) & (held <= chains.height[rows]), "1 to the height it has")
    same = np.diff(owner) == 0
    _need("pseudo_job", rows[1:], ~same | (np.diff(rows) >= 0), "comes after a later one")
    _need("start", start[1:], ~same | (start[1:] >= end[:-1]), "before the piece before has ended")
    done = np.bincount(rows, weights=held * (end - start), minlength=len(chains.length))
    needed = chains.length * chains.height
    # Times rounded to doubles cost some work.
    rounding = np.zeros(len(needed))
    np.add.at(rounding, rows, held * np.spacing(np.maximum(np.abs(start), np.abs(end))))
    used = np.zeros(flows, dtype=np.bool_)
    used[flow] = True
    present = np.repeat(used, np.diff(chains.offset))
    for k in np.flatnonzero(present & (np.abs(done - needed) > 1e-6 * needed + 4.0 * rounding))[:1]:
        raise ValueError(f"pseudo_job: {k} has {done[k]} slot-seconds, expected {needed[k]}")


def _need(
    field: str, values: npt.NDArray[np.generic], good: npt.NDArray[np.bool_], what: str
) -> None:
    for at in np.flatnonzero(~good)[:1]:
        raise ValueError(f"{field}[{at}] = {values[at]}: {what}")
