from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from malleable.cli.bench_command import measured
from malleable.cli.outputs import Outputs, output_arguments
from malleable.cli.snapshot import take_snapshot
from malleable.cli.streams import note
from malleable.cli.terminal import adder, progress_bar, read_file, reading_arguments, show
from malleable.files.writing import check_targets, write_file
from malleable.jobs.generate import bimodal_jobs
from malleable.jobs.table import Jobs, check_slots
from malleable.planning import plan
from malleable.view.clock import moment_text
from malleable.view.drawing import check_drawing, image_bytes
from malleable.view.latency import cases_of, latency_dict, latency_tables
from malleable.view.plan_pictures import draw_packings
from malleable.view.text import (
    Column,
    Table,
    columns_table,
    counted,
    fields_of,
    number,
    percent,
    plain,
    printable,
    wall_time,
)

_JOBS, _SLOTS = 15, 100
_GENERATED = (
    *(f"sum:{kind}" for kind in ("response", "stretch", "tardiness", "tardy", "sla")),
    *("max:stretch", "max:tardiness"),
)
_TRACE = ("sum:response", "sum:stretch", "max:stretch")
_POLICIES = ("flex", "fair", "fifo")
_MOST_JOBS = 2000  # of a trace
_LEAST_SPAN = 60.0  # seconds
_LATENCY_JOBS, _LATENCY_EPOCHS = 100_000, 1000


def arguments(parser: argparse.ArgumentParser) -> None:
    add = adder(parser)
    add("--trace PATH", "job table or trace, planned where it is fullest (default: none)")
    reading_arguments(parser)
    add("--seed", "seed of the generated workload", int, 1)
    add("--output DIR", "folder of pictures", default="out")
    output_arguments(parser)


class _Workload(NamedTuple):
    name: str
    picture: str
    title: str
    jobs: Jobs
    slots: int
    now: float
    objectives: tuple[str, ...]


def run(asked: argparse.Namespace) -> int:
    """Compare FLEX, FAIR and FIFO on a generated workload, and on a trace if you name one. Show how long a
    decision takes, and draw the schedules.

    Each part is shown as soon as it is done. After Ctrl-C the finished parts are kept.
    """
    outputs = Outputs(asked, inputs=[asked.trace])
    workloads = [_generated(asked.seed), *([_trace(asked)] if asked.trace else [])]
    folder = _folder(asked, workloads)
    say: Callable[..., None] = (lambda *_: None) if outputs.to_stdout else show
    result: dict[str, Any] = {}
    complete = True
    try:
        for each in workloads:
            rows = _compared(each)
            title = f"{each.title}: {counted(len(each.jobs), 'job')}, {counted(each.slots, 'slot')}"
            say(_table(rows, title))
            if folder is not None:
                say(f"picture of the packings: {_drawn(each, folder, asked.force)}", "")
            sizes = {"jobs": len(each.jobs), "slots": each.slots, "now": each.now}
            result[each.name] = {**sizes, "rows": plain(rows)}
        cases = cases_of(("a", "b"), (_LATENCY_JOBS,), ("flex",), ("sum:response",))
        found, complete = measured(cases, _LATENCY_EPOCHS)
        if complete:
            say(*latency_tables(found))
            result["latency"] = latency_dict(found)
    except KeyboardInterrupt:
        complete = False
    return outputs.give(lambda: result, [], complete)


def _folder(asked: argparse.Namespace, workloads: Sequence[_Workload]) -> Path | None:
    folder = Path(asked.output)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"--output {folder}: not a folder")
    try:
        check_drawing()
    except ImportError as error:
        note(f"no pictures: {error}")
        return None
    if folder.is_dir():
        targets = {f"--output ({each.name})": folder / each.picture for each in workloads}
        check_targets(targets, asked.force, [asked.trace] if asked.trace else [])
    return folder


def _generated(seed: int) -> _Workload:
    if seed < 0:
        raise ValueError(f"--seed {seed}: must be at least 0")
    title = f"Generated workload (bimodal_jobs, seed {seed})"
    jobs = bimodal_jobs(_JOBS, _SLOTS, rng=seed)
    return _Workload("generated", "packing.png", title, jobs, _SLOTS, 0.0, _GENERATED)


def _trace(asked: argparse.Namespace) -> _Workload:
    jobs, now, told = take_snapshot(read_file(asked.trace, asked), most=_MOST_JOBS)
    # The slots that could just have done the work while it arrived: a cluster at its limit.
    span = max(_LEAST_SPAN, now - float(np.min(jobs.arrival, initial=now)))
    slots = check_slots(max(1, math.ceil(float(np.sum(jobs.work)) / span)))
    for line in told:
        note(line)
    title = f"{asked.trace} at {moment_text(now)}"
    return _Workload("trace", "trace-packing.png", title, jobs, slots, now, _TRACE)


class _Row(NamedTuple):
    """One policy under one objective; ``ratio`` is the value over the best of the compared policies (None if
    that is not positive)."""

    objective: str
    policy: str
    status: str
    value: float
    lower_bound: float
    gap: float | None
    ratio: float | None
    seconds: float


def _compared(each: _Workload) -> list[_Row]:
    rows = []
    with progress_bar("plans") as advance:
        for objective in each.objectives:
            plans = []
            for policy in _POLICIES:
                plans.append(plan(each.jobs, each.slots, objective, policy, now=each.now))
                advance("plans", len(each.objectives) * len(_POLICIES))
            best = min(made.value for made in plans)
            for made in plans:
                ratio = made.value / best if 0.0 < best < math.inf else None
                told = fields_of(made, "policy", "status", "value", "lower_bound", "gap")
                seconds = made.timing["seconds"]
                rows.append(_Row(objective, **told, ratio=ratio, seconds=seconds))
    return rows


def _drawn(each: _Workload, folder: Path, force: bool) -> str:
    plans = [plan(each.jobs, each.slots, policy=policy, now=each.now) for policy in _POLICIES]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / each.picture
    write_file(path, image_bytes(draw_packings(plans), path), force)
    return printable(str(path))


def _table(rows: Sequence[_Row], title: str) -> Table:
    first = {row.objective: row for row in reversed(rows)}
    columns: list[Column] = [
        ("objective", lambda row: row.objective if first[row.objective] is row else ""),
        ("policy", lambda row: row.policy.upper()),
        ("value", lambda row: number(row.value)),
        ("lower bound", lambda row: number(row.lower_bound)),
        ("gap", lambda row: percent(row.gap)),
        ("ratio to best", lambda row: "-" if row.ratio is None else f"{row.ratio:.3f}"),
        ("time", lambda row: wall_time(row.seconds) + f" ({row.status})" * (row.status != "ok")),
    ]
    return columns_table(title, rows, columns, left=2)
