"""Several traces of one format as one: weeks of a log, the applications of a folder. Jobs stand by arrival,
ties in the order of the traces. A job that two traces have (name and arrival) counts once, as the last of
them has it. Names of flows that occur twice get the name of the file. O(jobs + runs)."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from malleable.arrays import Integers, numbered
from malleable.display import counted
from malleable.files.numbers import parse_moment
from malleable.traces.phases import Phase
from malleable.traces.trace import Trace

# What a trace counts as where another knows more of its jobs.
_UNSAID: dict[str, Any] = {
    "user": "", "program": "", "weight": 1.0, "deadline": np.inf, "finish": np.nan, "known": True, "sla": (),
    "lacking": "", "width": 1, "requested": np.nan, "memory": 0.0, "gpus": 0.0,
}  # fmt: skip
_RUNS = ("task", "start", "end", "width", "shuffled", "sorted")
_OF_JOBS = ("tasks", "work", "bytes")


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
    known = {name: _column(traces, name) for name in ("name", *_UNSAID)}
    groups = {
        name: _listed(traces, lambda trace, own=name: trace.groups.get(own), "")
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


Window = tuple[str | None, str | None]
"""When it begins and ends: seconds after the first job, or dates; None: open."""


def between(trace: Trace, since: str | None, until: str | None) -> Trace:
    """The jobs that came from ``since`` to before ``until``. ValueError for a table, for what is no time, for
    a date if the trace's clock has none, and if no job came."""
    if since is until is None:
        return trace
    if trace.table is not None:
        raise ValueError(
            f"{trace.where}: a {trace.format} has no window: --from and --to are for logs"
        )
    kept = np.ones(len(trace), dtype=bool)
    if since is not None:
        kept &= trace.arrival >= _at(trace, "--from", since)
    if until is not None:
        kept &= trace.arrival < _at(trace, "--to", until)
    if not kept.any():
        raise ValueError(f"{trace.where}: no job came within --from and --to")
    return _taken(trace, np.flatnonzero(kept))


def _at(trace: Trace, option: str, text: str) -> float:
    try:
        return float(trace.arrival[0]) + float(text) * trace.per_second
    except ValueError:
        pass
    if not trace.wall:
        raise ValueError(
            f"{option} {text}: the log's clock has no dates; give seconds after its first job"
        )
    try:
        return parse_moment(text) * trace.per_second
    except ValueError as error:
        raise ValueError(f"{option} {text}: {error}") from None


def _listed(traces: Sequence[Trace], of: Any, unsaid: Any) -> list[Any]:
    found: list[Any] = []
    for trace in traces:
        own = of(trace)
        found += [unsaid] * len(trace) if own is None else list(own)
    return found


def _column(traces: Sequence[Trace], name: str) -> Any:
    own = [getattr(trace, name) for trace in traces]
    if all(column is None for column in own):
        return None
    if name == "name":
        return _listed(traces, lambda trace: trace.name, "job")
    listed = _listed(traces, lambda trace: getattr(trace, name), _UNSAID[name])
    arrays = any(isinstance(column, np.ndarray) for column in own)
    return np.array(listed) if arrays else listed


def _add_widths(phases: list[Any], has: Sequence[set[str]]) -> None:
    """Where only some phases know how wide tasks are, those of the others have one slot."""
    for k, own in enumerate(has):
        if "width" not in own and "task" in own:
            phases[k] = replace(phases[k], width=np.ones(len(phases[k].task)))
            own.add("width")


def _check_alike(traces: Sequence[Trace], has: Sequence[set[str]]) -> None:
    for trace, own in zip(traces, has, strict=True):
        for field in sorted(own ^ has[0]):
            raise ValueError(
                f"{trace.where}: {'knows' if field in own else 'does not know'} the {field} of tasks, unlike"
                f" {traces[0].where}: read them apart"
            )


def _joined(traces: Sequence[Trace], name: str) -> Phase | None:
    phases = [getattr(trace, name) for trace in traces]
    if all(phase is None for phase in phases):
        return None
    has = [
        {field for field in (*_OF_JOBS, *_RUNS, "seconds", "offset") if _has(phase, field)}
        for phase in phases
    ]
    if any("width" in own for own in has):
        _add_widths(phases, has)
    _check_alike(traces, has)
    made: dict[str, Any] = {
        field: np.concatenate([getattr(phase, field) for phase in phases])
        for field in has[0] - {"offset"}
    }
    if "offset" in has[0]:
        counts = np.concatenate([np.diff(phase.offset) for phase in phases])
        made["offset"] = np.concatenate([[0], np.cumsum(counts)])
    return Phase(**made)


def _has(phase: Phase | None, field: str) -> bool:
    return phase is not None and getattr(phase, field) is not None


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
    changed: dict[str, Any] = {
        name: _picked(getattr(trace, name), order) for name in ("arrival", "name", *_UNSAID)
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
    length = np.diff(offset)[order]
    begins = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    shift = np.repeat(offset[:-1][order] - begins[:-1], length)
    return shift + np.arange(begins[-1]), begins


def _phase(phase: Phase, order: Integers) -> Phase:
    rows, offset = (order, None) if phase.offset is None else _rows(phase.offset, order)
    by_job = {field: _picked(getattr(phase, field), order) for field in _OF_JOBS}
    by_row = {field: _picked(getattr(phase, field), rows) for field in (*_RUNS, "seconds")}
    return Phase(offset=offset, **by_job, **by_row)
