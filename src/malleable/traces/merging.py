"""Several traces of one format as one: weeks of a log, the applications of a folder. Jobs stand by arrival,
ties in the order of the traces. A job that two traces have (name and arrival) counts once, as the last of
them has it. Names of flows that occur twice get the name of the file. O(jobs + runs)."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from malleable.arrays import Floats, Integers, numbered
from malleable.display import counted
from malleable.files.numbers import parse_moment
from malleable.files.reading import telling_of
from malleable.traces.phases import Phase
from malleable.traces.recorded_schedule import recorded
from malleable.traces.trace import Trace

# Values of a trace without a column that another trace has.
_UNSAID: dict[str, Any] = {
    "name": "job", "user": "", "program": "", "weight": 1.0, "deadline": np.inf, "finish": np.nan,
    "known": True, "sla": (), "lacking": "", "width": 1, "requested": np.nan, "memory": 0.0, "gpus": 0.0,
}  # fmt: skip
# columns of a phase: by run, and by job
_RUNS = ("task", "start", "end", "width", "shuffled", "sorted")
_OF_JOBS = ("tasks", "work", "bytes")  # columns with an entry a job


def merged(traces: Sequence[Trace]) -> Trace:
    """One trace of all jobs. ValueError: several formats; tables, which are one file each; logs that know
    different things."""
    first = traces[0]
    if len(traces) == 1:
        return first
    for trace in traces:
        if trace.format != first.format:
            raise ValueError(
                f"{trace.where}: a {trace.format}, but {first.where} is a {first.format}: read them apart"
            )
        if trace.table is not None:
            raise ValueError(f"{trace.where}: a {trace.format}: put tables into one file")
    phases: dict[str, Any] = {name: _joined(traces, name) for name in ("map", "reduce")}
    known = {
        name: _column(traces, [getattr(trace, name) for trace in traces], unsaid)
        for name, unsaid in _UNSAID.items()
    }
    groups = {
        name: _column(traces, [trace.groups.get(name) for trace in traces], "")
        for name in dict.fromkeys(name for trace in traces for name in trace.groups)
    }
    whole = replace(
        first,
        arrival=np.concatenate([trace.arrival for trace in traces]),
        **phases,
        **known,
        **_flows(traces),
        groups=groups,
        slots=max((trace.slots for trace in traces if trace.slots is not None), default=None),
        where=f"{first.where} and {counted(len(traces) - 1, 'other')}",
    )
    return _taken(whole, _order(whole))


# When it begins and ends: seconds after the first job, or dates; None: open.
Window = tuple[str | None, str | None]


def between(trace: Trace, since: str | None, until: str | None) -> Trace:
    """The jobs that came from ``since`` to before ``until``, and with a warning what was left at ``since`` of
    jobs that came before and had not ended: it comes at ``since``. ValueError for a table, for what is no
    time, for a date if the trace's clock has none, and if no job came."""
    if since is until is None:
        return trace
    if trace.table is not None:
        raise ValueError(
            f"{trace.where}: a {trace.format} has no window: --from and --to are for logs"
        )
    first = -np.inf if since is None else _at(trace, "--from", since)
    kept = trace.arrival < (np.inf if until is None else _at(trace, "--to", until))
    going = kept & (trace.arrival < first) & (_ends(trace) > first)
    kept &= trace.arrival >= first
    if not kept.any():
        raise ValueError(f"{trace.where}: no job came within --from and --to")
    if going.any():
        told = f"{counted(int(going.sum()), 'job')} of before --from count with what was left then"
        warnings.warn(f"{trace.where}: {told}", stacklevel=3)
    found = _taken(trace, np.flatnonzero(kept | going))
    phases: dict[str, Any] = {
        name: _since(getattr(found, name), first) for name in ("map", "reduce")
    }
    return replace(found, arrival=np.maximum(found.arrival, first), **phases)


def _ends(trace: Trace) -> Floats:
    # When each job, or the last of its flow, ended on the trace's clock; NaN where unknown.
    found = recorded(trace, np.arange(len(trace)))
    if found is None:
        return np.full(len(trace), np.nan)
    ends = found.end * trace.per_second
    if trace.flow is None:
        return ends
    last = np.full(len(trace.flow_name), -np.inf)
    np.fmax.at(last, trace.flow, ends)
    return np.asarray(last[trace.flow])


def _since(phase: Phase | None, first: float) -> Phase | None:
    # A phase whose runs begin at ``first`` or later.
    steps = {name: getattr(phase, name, None) for name in ("start", "shuffled", "sorted", "end")}
    cut = {name: np.maximum(own, first) for name, own in steps.items() if own is not None}
    return None if phase is None else replace(phase, **cut)


def _at(trace: Trace, option: str, text: str) -> float:
    # A time that the user gave, on the trace's clock.
    try:
        return float(trace.arrival[0]) + float(text) * trace.per_second
    except ValueError:
        pass
    if not trace.wall:
        raise ValueError(
            f"{option} {text}: the log's clock has no dates; give seconds after its first job"
        )
    with telling_of(f"{option} {text}"):
        return parse_moment(text) * trace.per_second


def _column(traces: Sequence[Trace], own: Sequence[Any], unsaid: Any) -> Any:
    # The columns of all traces one after another; None if none has it.
    if all(column is None for column in own):
        return None
    listed: list[Any] = []
    for trace, column in zip(traces, own, strict=True):
        listed += [unsaid] * len(trace) if column is None else list(column)
    arrays = any(isinstance(column, np.ndarray) for column in own)
    return np.array(listed) if arrays else listed


def _joined(traces: Sequence[Trace], name: str) -> Phase | None:
    # One phase ("map" or "reduce") of all traces.
    phases = [getattr(trace, name) for trace in traces]
    if all(phase is None for phase in phases):
        return None
    has: dict[str, list[Any]] = {
        one.name: [getattr(phase, one.name, None) for phase in phases] for one in fields(Phase)
    }
    _check_alike(traces, has)
    made = {name: np.concatenate(own) for name, own in has.items() if own[0] is not None}
    if "offset" in made:
        counts = np.concatenate([np.diff(own) for own in has["offset"]])
        made["offset"] = np.concatenate([[0], np.cumsum(counts)])
    return Phase(**made)


def _check_alike(traces: Sequence[Trace], has: dict[str, list[Any]]) -> None:
    for field, columns in has.items():
        for trace, own in zip(traces, columns, strict=True):
            if (own is None) != (columns[0] is None):
                raise ValueError(
                    f"{trace.where}: {'does not know' if own is None else 'knows'} the {field} of tasks, unlike"
                    f" {traces[0].where}: read them apart"
                )


def _flows(traces: Sequence[Trace]) -> dict[str, Any]:
    if traces[0].flow is None:
        return {}
    repeated = Counter(name for trace in traces for name in set(trace.flow_name))
    flow, names, offset, parent = [], list[str](), [np.zeros(1, dtype=np.int64)], []
    rows = edges = 0
    for trace in traces:
        stem = Path(trace.where).name
        flow.append(trace.flow + len(names))
        names += [f"{stem}/{name}" if repeated[name] > 1 else name for name in trace.flow_name]
        offset.append(trace.parent_offset[1:] + edges)
        parent.append(trace.parent + rows)
        rows, edges = rows + len(trace), edges + len(trace.parent)
    return {
        "flow": np.concatenate(flow),
        "flow_name": names,
        "parent_offset": np.concatenate(offset),
        "parent": np.concatenate(parent),
    }


def _order(trace: Trace) -> Integers:
    # Rows by arrival, without jobs that come once more.
    order = np.argsort(trace.arrival, kind="stable")
    if trace.flow is not None:  # flows have one arrival, and stay together
        return np.lexsort((trace.flow, trace.arrival))
    if trace.name is None or trace.format.startswith("SWIM"):
        return order
    cluster = trace.groups.get("cluster") or [""] * len(trace)
    last: dict[tuple[str, str, float], int] = {}
    for row, key in enumerate(zip(trace.name, cluster, trace.arrival.tolist(), strict=True)):
        last[key] = row
    twice = len(trace) - len(last)
    if twice:
        warnings.warn(
            f"{trace.where}: {counted(twice, 'job')} in more than one of them, counted once",
            stacklevel=3,
        )
        kept = np.zeros(len(trace), dtype=bool)
        kept[list(last.values())] = True
        order = order[kept[order]]
    return order


def _taken(trace: Trace, order: Integers) -> Trace:
    # The trace with these rows only, in this order.
    changed: dict[str, Any] = {
        name: _picked(getattr(trace, name), order) for name in ("arrival", *_UNSAID)
    }
    changed["groups"] = {name: _picked(own, order) for name, own in trace.groups.items()}
    for name in ("map", "reduce"):
        phase = getattr(trace, name)
        changed[name] = None if phase is None else _phase(phase, order)
    if trace.flow is not None:
        rows, changed["parent_offset"] = _rows(trace.parent_offset, order)
        changed["parent"] = np.argsort(order)[trace.parent[rows]]
        names, changed["flow"] = numbered(trace.flow[order].tolist())
        changed["flow_name"] = _picked(trace.flow_name, np.array(names))
    return replace(trace, **changed)


def _picked(column: Any, rows: Integers) -> Any:
    if isinstance(column, np.ndarray):
        return column[rows]
    return None if column is None else [column[row] for row in rows.tolist()]


def _rows(offset: Integers, order: Integers) -> tuple[Integers, Integers]:
    # Rows that belong to these jobs, and where each job's begin among them; job j had the rows
    # ``offset[j]:offset[j + 1]``.
    length = np.diff(offset)[order]
    begins = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    shift = np.repeat(offset[:-1][order] - begins[:-1], length)
    return shift + np.arange(begins[-1]), begins


def _phase(phase: Phase, order: Integers) -> Phase:
    rows, offset = (order, None) if phase.offset is None else _rows(phase.offset, order)
    by_job = {field: _picked(getattr(phase, field), order) for field in _OF_JOBS}
    by_row = {field: _picked(getattr(phase, field), rows) for field in (*_RUNS, "seconds")}
    return Phase(offset=offset, **by_job, **by_row)
