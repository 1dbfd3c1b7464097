"""A trace as jobs of map and shuffle phases, and as jobs of map and reduce tasks in slots of time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from malleable.domain import checked_positive, shown
from malleable.files.advice import AdvisedError
from malleable.files.reading import telling_of
from malleable.jobs.table import Floats, Integers
from malleable.slotted.table import MapReduceJobs
from malleable.tandem.table import MapShuffleJobs
from malleable.traces.converting import (
    begin,
    given,
    left,
    moments,
    take,
    untimed,
    usable,
    zero,
)

if TYPE_CHECKING:
    from malleable.traces.trace import Trace


_INSTEAD = "; model cluster simulates tasks on nodes"
_MOST_TASKS = 1 << 26  # reduce tasks of a table


def map_shuffle(trace: Trace, **assumed: Any) -> MapShuffleJobs:
    """Jobs of overlapping map and shuffle phases.

    Map is the work of the map phase [slot-seconds], shuffle the bytes that reduce tasks copied over
    ``shuffle_rate`` (bytes rather than times, because a first-wave reducer's shuffle contains its
    waiting for the maps). Where the trace knows bytes only, map is its input over ``map_rate``.

    Parameters
    ----------
    **assumed
        `Trace.assumptions`: ``map_rate``, ``shuffle_rate`` [bytes a second at capacity 1].

    Raises
    ------
    ValueError
        The trace knows nothing of what its jobs shuffle; a job whose bytes are unknown (unless
        ``skip_bad``).
    """
    values = given(trace, "map_shuffle", assumed)
    if isinstance(trace.table, MapShuffleJobs):
        return trace.table
    with telling_of(trace.where):
        if trace.flow is not None or trace.reduce is None or trace.reduce.bytes is None:
            raise ValueError(f"a {trace.format} does not say how much its jobs shuffle{_INSTEAD}")
        unknown = np.flatnonzero(np.isnan(trace.reduce.bytes)).tolist()
        faults = dict.fromkeys(unknown, "no reduce attempt with known reduceShuffleBytes")
        rows = usable(trace, faults | untimed(trace, "map"))
        maps = left(trace, "map", None, {})[0]
        if trace.bytes_only:
            maps = trace.map.bytes / values["map_rate"]
        shuffles = trace.reduce.bytes / values["shuffle_rate"]
        arrival = moments(trace, trace.arrival[rows], zero(trace, rows))
        said = take(trace, rows, "weight", "name")
        return MapShuffleJobs(maps[rows], shuffles[rows], arrival=arrival, **said)


def map_reduce(trace: Trace, slot: float | None = None, **assumed: Any) -> MapReduceJobs:
    """Jobs of map and reduce tasks in slots of time.

    A map task takes one slot whatever its time was, a reduce task the slots that its time fills,
    rounded up; the first job comes in slot 1.

    Parameters
    ----------
    slot : float, optional
        Length of a slot [s]: the mean time of the map tasks by default; 20 s where the trace knows
        bytes only. A table of such jobs counts slots itself.
    **assumed
        `Trace.assumptions`. Bytes only: a map task for each ``block_bytes`` and a reduce task for each
        ``reduce_bytes``, of ``reduce_seconds``; what is left over makes one more, shorter task.
        ``reduce_from`` as of `Trace.jobs`.

    Raises
    ------
    ValueError
        The trace knows no tasks, or none from which to take a slot's length; a job with tasks none
        of which has a known time (unless ``skip_bad``).
    """
    values = given(trace, "map_reduce", assumed)
    length = None if slot is None else checked_positive("slot", slot)
    if isinstance(trace.table, MapReduceJobs):
        if slot is not None:
            raise ValueError(f"slot = {shown(slot)}: a {trace.format} counts slots already")
        return trace.table
    with telling_of(trace.where):
        if trace.bytes_only:
            return _of_bytes(trace, 20.0 if length is None else length, values)
        if trace.flow is not None or trace.map.work is not None:
            unknown = f"what map and reduce tasks its jobs have{_INSTEAD}"
            raise ValueError(f"a {trace.format} does not say {unknown}")
        return _of_tasks(trace, length, values)


def _of_bytes(trace: Trace, slot: float, values: Mapping[str, Any]) -> MapReduceJobs:
    assert trace.reduce is not None
    parts = trace.reduce.bytes / values["reduce_bytes"]
    full = np.floor(parts)
    rest = _units((parts - full) * values["reduce_seconds"] / slot)
    offset = _all_tasks(_whole("shuffle", full) + (rest > 0))
    task = np.full(offset[-1], _units(np.array([values["reduce_seconds"] / slot]))[0])
    task[offset[1:][rest > 0] - 1] = rest[rest > 0]
    maps = _units(trace.map.bytes / values["block_bytes"])
    arrival = _slots_of(trace.arrival, slot)
    return MapReduceJobs.from_columns(arrival, maps, offset, task, trace.name)


def _of_tasks(trace: Trace, slot: float | None, values: Mapping[str, Any]) -> MapReduceJobs:
    first = begin("reduce", values)
    rows = usable(trace, untimed(trace, "reduce", first) | untimed(trace, "map"))
    work, maps = left(trace, "map", None, {})[0][rows], trace.map.tasks[rows]
    if slot is None:
        if not work.sum() > 0.0:
            ways = "say slot", "--slot-seconds S says it"
            raise AdvisedError("no map task has a time that could be a slot's length", *ways)
        slot = float(work.sum() / maps.sum())
    lengths: list[list[int]] = [[] for _ in range(len(trace))]
    if trace.reduce is not None:
        reduces = trace.reduce.task_seconds(first, trace.per_second)
        lengths = [[max(1, math.ceil(s / slot - 1e-9)) for s in own.tolist()] for own in reduces]
    arrival = _slots_of(moments(trace, trace.arrival[rows], zero(trace, rows)), slot)
    chosen = [lengths[row] for row in rows.tolist()]
    return MapReduceJobs(maps, chosen, arrival=arrival, **take(trace, rows, "name"))


def _slots_of(seconds: Floats, slot: float) -> Integers:
    """The slots in which these times lie, the first time being in slot 1."""
    first = float(seconds.min()) if len(seconds) else 0.0
    return _whole("arrival", np.floor((seconds - first) / slot) + 1)


def _whole(field: str, values: Floats) -> Integers:
    """Whole numbers as integers, which have to hold them."""
    for row in np.flatnonzero(~(np.abs(values) < 2.0**60))[:1]:
        raise ValueError(f"{field}[{row}] = {values[row]:g}: more than 2^60 slots or units")
    return values.astype(np.int64)


def _all_tasks(counts: Integers) -> Integers:
    """Offsets of so many reduce tasks a job."""
    total = counts.sum(dtype=np.float64)
    if total > _MOST_TASKS:
        row = int(np.argmax(counts))
        most = f"{counts[row]:,} of them of job {row}; there may be {_MOST_TASKS:,}"
        raise ValueError(f"{total:,.0f} reduce tasks, {most}")
    return np.concatenate(([0], np.cumsum(counts)))


def _units(work: Floats) -> Integers:
    # 1e-9: a whole number of units that rounding put a hair above it stays that number.
    return _whole("units", np.ceil(work - 1e-9))
