"""Kernels of flows one by one, for schedulers of your own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.columns import Floats, Integers, permutation_of, wholes_of
from malleable.domain import check_slots, check_time
from malleable.domain import floats as as_floats
from malleable.flows.table import Flows
from malleable.values import by_value


@by_value()
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
    return _core.wrap_around(
        flows,
        check_slots(slots),
        check_time("now", now),
        wholes_of("flow", schedule.flow),
        wholes_of("offset", schedule.offset),
        wholes_of("pseudo_job", schedule.pseudo_job),
        as_floats("start", schedule.start),
        as_floats("end", schedule.end),
        wholes_of("slots", schedule.slots),
    )


@by_value()
class ListSchedule(NamedTuple):
    """``start`` and ``completion`` per job, ``flow_completion`` per flow [s, absolute]; ``pieces``:
    ``job, start, end, slots``."""

    start: Floats
    completion: Floats
    flow_completion: Floats
    pieces: Mapping[str, npt.NDArray[Any]]


def ready_list(flows: Flows, slots: int, rank: npt.ArrayLike, now: float = 0.0) -> ListSchedule:
    """A ready list: jobs that may run take slots by rank, each job up to its maximum.

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
