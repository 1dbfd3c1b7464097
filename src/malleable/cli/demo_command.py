"""``malleable demo``: FLEX beside FAIR and FIFO on generated jobs and on a trace, as tables and pictures."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from malleable.cli.bench_command import measured
from malleable.cli.snapshot import take_snapshot
from malleable.cli.streams import note
from malleable.cli.terminal import adder, progress_bar, read_file, reading_arguments, show
from malleable.files.writing import write_file
from malleable.jobs.generate import bimodal_jobs
from malleable.jobs.table import Jobs, check_slots
from malleable.planning import plan
from malleable.view.clock import moment_text
from malleable.view.drawing import check_drawing, image_bytes
from malleable.view.latency import cases_of, latency_tables
from malleable.view.plan_pictures import draw_packings
from malleable.view.text import (
    Column,
    Table,
    columns_table,
    counted,
    number,
    percent,
    printable,
    wall_time,
)

_JOBS, _SLOTS = 15, 100
_OBJECTIVES = ("sum:response", "sum:stretch", "max:stretch")
_POLICIES = ("flex", "fair", "fifo")
_MOST_JOBS = 2000  # of a trace
_LATENCY_JOBS, _LATENCY_EPOCHS = 100_000, 1000


def arguments(parser: argparse.ArgumentParser) -> None:
    add = adder(parser)
    add("--trace PATH", "job table or trace, planned where it is fullest (default: none)")
    reading_arguments(parser)
    add("--seed", "seed of the generated workload", int, 1)
    add("--output DIR", "folder of pictures", default="out")
    add("--force", "overwrite existing files", bool)


class _Workload(NamedTuple):
    """Jobs to be planned at ``now`` [s]; ``picture`` is the name of the file for it."""

    picture: str
    title: str
    jobs: Jobs
    slots: int
    now: float


def run(asked: argparse.Namespace) -> int:
    """Compare FLEX, FAIR and FIFO on a generated workload, and on a trace if you name one. Show how long a
    decision takes, and draw the schedules.

    Each part is shown as soon as it is done.
    """
    workloads = [_generated(asked.seed), *([_trace(asked)] if asked.trace else [])]
    folder = _folder(asked)
    for each in workloads:
        show(_compared(each))
        if folder is not None:
            show(f"picture of the packings: {_drawn(each, folder, asked.force)}", "")
    # "a", "b": two generated sets of jobs, of ``malleable bench``
    cases = cases_of(("a", "b"), (_LATENCY_JOBS,), ("flex",), ("sum:response",))
    show(*latency_tables(measured(cases, _LATENCY_EPOCHS)))
    return 0


def _folder(asked: argparse.Namespace) -> Path | None:
    try:
        check_drawing()
    except ImportError as error:
        note(f"no pictures: {error}")
        return None
    return Path(asked.output)


def _generated(seed: int) -> _Workload:
    if seed < 0:
        raise ValueError(f"--seed {seed}: must be at least 0")
    title = f"Generated workload (bimodal_jobs, seed {seed})"
    jobs = bimodal_jobs(_JOBS, _SLOTS, rng=seed)
    return _Workload("packing.png", title, jobs, _SLOTS, 0.0)


def _trace(asked: argparse.Namespace) -> _Workload:
    jobs, now, told = take_snapshot(read_file(asked.trace, asked), most=_MOST_JOBS)
    # The slots that could just have done the work while it arrived: a cluster at its limit.
    span = max(60.0, now - float(np.min(jobs.arrival, initial=now)))
    slots = check_slots(max(1, math.ceil(float(np.sum(jobs.work)) / span)))
    for line in told:
        note(line)
    title = f"{asked.trace} at {moment_text(now)}"
    return _Workload("trace-packing.png", title, jobs, slots, now)


def _compared(each: _Workload) -> Table:
    # Each policy under each objective; its ratio is the value over the best of all, if that is positive.
    rows: list[tuple[str, Any, float]] = []
    with progress_bar("plans") as advance:
        for objective in _OBJECTIVES:
            plans = []
            for policy in _POLICIES:
                plans.append(plan(each.jobs, each.slots, objective, policy, now=each.now))
                advance("plans", len(_OBJECTIVES) * len(_POLICIES))
            best = min(made.value for made in plans)
            rows += [(objective, made, best) for made in plans]
    columns: list[Column] = [
        ("objective", lambda row: row[0] if row[1].policy == _POLICIES[0] else ""),
        ("policy", lambda row: row[1].policy.upper()),
        ("value", lambda row: number(row[1].value)),
        ("lower bound", lambda row: number(row[1].lower_bound)),
        ("gap", lambda row: percent(row[1].gap)),
        ("ratio to best", lambda row: f"{row[1].value / row[2]:.3f}" if row[2] > 0.0 else "-"),
        ("time", lambda row: wall_time(row[1].timing["seconds"])),
    ]
    title = f"{each.title}: {counted(len(each.jobs), 'job')}, {counted(each.slots, 'slot')}"
    return columns_table(title, rows, columns, left=2)


def _drawn(each: _Workload, folder: Path, force: bool) -> str:
    plans = [plan(each.jobs, each.slots, policy=policy, now=each.now) for policy in _POLICIES]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / each.picture
    write_file(path, image_bytes(draw_packings(plans), path), force)
    return printable(str(path))
