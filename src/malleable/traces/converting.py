"""Parts that the converters (functions that make a table of jobs from a trace) share: assumptions, jobs that
lack something, the clock. The trace's clock has ``per_second`` units a second; if it is a wall clock
(``trace.wall``), the first arrival becomes 0. ``values`` are assumptions by name."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from malleable.cluster.table import ClusterJobs
from malleable.files.bad_records import BadRecords
from malleable.flows.table import Flows
from malleable.jobs.table import Floats, Integers, Jobs
from malleable.slotted.table import MapReduceJobs
from malleable.tandem.table import MapShuffleJobs
from malleable.traces.phases import Phase
from malleable.validation import checked_choice, checked_positive

if TYPE_CHECKING:
    from malleable.traces.trace import Trace


# Defaults for bytes: Hadoop's file system block and Hive's reduce tasks at the time of the SWIM traces (2010).
# Names, defaults and meanings of what converters take for granted.
ASSUMPTIONS: tuple[tuple[str, Any, str], ...] = (
    ("block_bytes", 64 * 2.0**20, "how many bytes a map task reads, if the trace has only bytes"),
    (
        "task_seconds",
        20.0,
        "how long a map task takes that reads `block_bytes` [s]. If the trace has only work and you give this "
        "option, the work is cut into tasks of about this time. If you do not give this option, the work is "
        "cut into as many tasks as the job may use slots",
    ),
    ("reduce_bytes", 1e9, "how many bytes a reduce task copies, if the trace has only bytes"),
    ("reduce_seconds", 300.0, "how long a reduce task takes that copies `reduce_bytes` [s]"),
    (
        "map_rate",
        64 * 2**20 / 20,
        "map and shuffle jobs: how many bytes a second the map station (all slots for map work together) reads "
        "if the option `map_capacity` of the simulation is 1; with 2 it reads twice as many",
    ),
    (
        "shuffle_rate",
        1e9 / 300,
        "map and shuffle jobs: how many bytes a second the shuffle station copies if "
        "`shuffle_capacity` is 1. Cluster jobs: how many bytes a second a reduce task copies "
        "at most. For these the default is no limit, so copying takes no time unless links are limited",
    ),
    (
        "reduce_from",
        "shuffled",
        "Rumen: the step at which the time of a reduce task begins: `start`, `shuffled` or `sorted`",
    ),
)
_DEFAULTS = {name: value for name, value, _ in ASSUMPTIONS}


def _named(*names: str) -> dict[str, Any]:
    return {name: _DEFAULTS[name] for name in names}


_BYTES = _named("block_bytes", "task_seconds", "reduce_bytes", "reduce_seconds")
_RATES = _named("map_rate", "shuffle_rate")
_OF_BYTES: dict[str, dict[str, Any]] = {
    "jobs": _BYTES,
    "flows": _BYTES,
    "map_shuffle": _RATES,
    "map_reduce": _named("block_bytes", "reduce_bytes", "reduce_seconds"),
    "tasks": _BYTES | {"shuffle_rate": math.inf},
}
_SIZES = {"map": ("block_bytes", "task_seconds"), "reduce": ("reduce_bytes", "reduce_seconds")}
# tables of which a converter needs no assumptions
_OWN = {"map_shuffle": MapShuffleJobs, "map_reduce": MapReduceJobs, "tasks": ClusterJobs}


def assumptions(trace: Trace, converter: str) -> dict[str, Any]:
    """What ``converter`` assumes if the trace does not say it: names and defaults."""
    reduce = trace.reduce
    if isinstance(trace.table, _OWN.get(converter, (Jobs, Flows))):
        return {}
    if trace.bytes_only:
        return dict(_OF_BYTES[converter])
    if converter == "tasks":
        return {} if trace.map.work is None else {"task_seconds": None}
    if converter == "map_shuffle":
        known = reduce is not None and reduce.bytes is not None
        return {"shuffle_rate": _RATES["shuffle_rate"]} if known else {}
    return {} if reduce is None or reduce.shuffled is None else _named("reduce_from")


def not_for(option: str, format: str, known: Iterable[str]) -> ValueError:
    """The error of an option that a format, or a converter of its traces, does not take."""
    told = ", ".join(known)
    told = f"expected one of {told}" if told else "it has none"
    return ValueError(f"option {option!r} does not apply to a {format}: {told}")


def given(trace: Trace, converter: str, assumed: Mapping[str, Any]) -> dict[str, Any]:
    # Assumptions of a converter, checked: those of the caller, and defaults.
    known = assumptions(trace, converter)
    for name, value in assumed.items():
        if name not in known:
            raise not_for(name, trace.format, known)
        if name == "reduce_from":
            checked_choice(name, value, ("start", "shuffled", "sorted"))
        elif isinstance(known[name], float) and not (value == known[name] == math.inf):
            checked_positive(name, value)
    return known | dict(assumed)


def part(trace: Trace, phase: str) -> Phase:
    found: Phase | None = getattr(trace, phase)
    if found is None:
        raise ValueError(f"a {trace.format} has no {phase} phase")
    return found


def begin(phase: str, values: Mapping[str, Any]) -> str:
    # The step at which the time of a phase's tasks begins.
    return str(values.get("reduce_from", "start")) if phase == "reduce" else "start"


def untimed(trace: Trace, phase: str, first: str = "start") -> dict[int, str]:
    """Jobs with tasks of a phase of which none has a known time, and the message about them."""
    if getattr(trace, phase) is None:
        return {}
    found = part(trace, phase).untimed(first)
    if trace.known is not None:
        found = [job for job in found if trace.known[job]]
    return dict.fromkeys(found, f"no {phase} task with a known time")


def usable(trace: Trace, faults: Mapping[int, str]) -> Integers:
    """Rows with all that a converter needs; those of ``faults`` are malformed records. Jobs that are not
    `Trace.known` are left out. No record of a flow is skipped."""
    bad = BadRecords(trace.skip_bad and trace.flow is None)
    for row, reason in sorted(faults.items()):
        bad.add(f"job {row if trace.name is None else trace.name[row]}: {reason}")
    keep = np.ones(len(trace), dtype=bool) if trace.known is None else trace.known.copy()
    keep[list(faults)] = False
    bad.report(trace.where, int(keep.sum()))
    if trace.known is not None and not keep.any():
        reasons = left_out(trace, np.flatnonzero(keep))
        raise ValueError("no job is left" if not reasons else f"no job has ended: {reasons}")
    return np.flatnonzero(keep)


def left_out(trace: Trace, rows: Integers) -> str:
    """How many jobs are not among these rows, by reason; "" if no reason is known."""
    if trace.lacking is None:
        return ""
    kept = set(rows.tolist())
    counts = Counter(why for row, why in enumerate(trace.lacking) if why and row not in kept)
    return ", ".join(f"{number:,} {why}" for why, number in counts.most_common())


def zero(trace: Trace, rows: Any = slice(None)) -> float:
    """The moment that counts as 0 on the trace's clock if these are all jobs."""
    times = trace.arrival[rows]
    return float(times.min()) if trace.wall and len(times) else 0.0


def moments(trace: Trace, times: Floats, origin: float) -> Floats:
    """Times of the trace's clock as seconds after another of its times."""
    return (times - origin) / trace.per_second


def take(trace: Trace, rows: Integers, *fields: str) -> dict[str, Any]:
    # These columns of these jobs, without columns that the trace does not have.
    found: dict[str, Any] = {}
    for name in fields:
        column = getattr(trace, name)
        if isinstance(column, np.ndarray):
            found[name] = column[rows]
            if name == "deadline":
                found[name] = moments(trace, found[name], zero(trace))
        elif column is not None:
            found[name] = [column[row] for row in rows.tolist()]
    return found


def left(
    trace: Trace, phase: str, now: float | None, values: Mapping[str, Any]
) -> tuple[Floats, Floats, Integers]:
    """Work of each job that is not done at ``now`` on the trace's clock, all its work, slots at most."""
    unit, seconds = sizes(phase, values)
    return part(trace, phase).left(now, begin(phase, values), trace.per_second, unit, seconds)


def sizes(phase: str, values: Mapping[str, Any]) -> tuple[float, float]:
    # Bytes and seconds of a task of a phase, if a trace has bytes only.
    unit, seconds = _SIZES[phase]
    return values.get(unit, 1.0), values.get(seconds, 1.0)
