"""``malleable simulate --model slotted``: map and reduce tasks in steps."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from malleable.cli.simulate_cases import Case, estimates_of, generated, overrun_argument, trace_of
from malleable.cli.terminal import warnings_as_notes
from malleable.display import counted
from malleable.slotted.generate import SETTINGS, MapReduceStream
from malleable.slotted.table import MapReduceJobs, join_tables
from malleable.validation import checked_positive

DEFAULT_POLICIES = "asrpt,unlock,dsrpt,fifo,fair,lrpt"
DEFAULT_BLOCKED = "asrpt,unlock,fifo,fair,lrpt"

_MACHINES = 100
_MOST_JOBS = 1_000_000  # of a generated table
_CHUNK = 1 << 16  # jobs between two calls of progress


def arguments(add: Callable[..., str]) -> None:
    told = "generate the jobs that come in N steps, as in section VII of ASRPT's paper, instead of FILE"
    add("--generate N", told, int)
    add("--setting", "sizes of --generate", default=SETTINGS[0], choices=SETTINGS)
    add("--tasks LOW-HIGH", "reduce tasks of a generated job", default="1-10")
    add("--machines N", "number of machines (default: 100, or as many as make --load)", int)
    add("--non-preemptive", "a reduce task keeps its machine to its end", bool)
    told = "length of a step, for a trace [s] (default: the mean time of a map task; if not known, 20 or 60 s)"
    add("--step-seconds S", told, float)
    overrun_argument(add)


def _generated(asked: argparse.Namespace, machines: int) -> MapReduceJobs | MapReduceStream:
    """A table if it is small enough and will drain; otherwise a stream."""
    low, _, high = asked.tasks.partition("-")
    try:
        tasks = (int(low), int(high or low))
    except ValueError:
        raise ValueError(f"--tasks {asked.tasks}: not a number or LOW-HIGH") from None
    options: dict[str, Any] = {"steps": asked.generate, "tasks": tasks}
    made = MapReduceStream(asked.setting, **options)
    if asked.load is not None:
        rate = checked_positive("load", asked.load) * machines / made.mean_work
        made = MapReduceStream(asked.setting, rate=rate, **options)
    if made.steps * made.rate > _MOST_JOBS or made.rate * made.mean_work >= machines:
        return made
    return join_tables(list(made.chunks(asked.seed)))


def _machines(asked: argparse.Namespace, jobs: MapReduceJobs) -> int:
    if asked.machines is not None:
        raise ValueError(
            "--load chooses the machines for a table: it cannot be used with --machines"
        )
    load = checked_positive("load", asked.load)
    units = int(jobs.map.sum() + jobs.task.sum())
    steps = int(np.ptp(jobs.arrival)) + 1 if len(jobs) else 1
    return max(1, math.ceil(units / (steps * load)))


def case(asked: argparse.Namespace) -> Case:
    machines = _MACHINES if asked.machines is None else asked.machines
    jobs: MapReduceJobs | MapReduceStream
    if generated(asked):
        jobs = _generated(asked, machines)
    else:
        with warnings_as_notes():
            jobs = trace_of(asked).map_reduce(asked.step_seconds)
        machines = machines if asked.load is None else _machines(asked, jobs)
    preemptive = not asked.non_preemptive
    facts = {"machines": machines, "preemptive": preemptive}
    estimates = estimates_of(asked, "column")
    options = {**facts, "underestimates": asked.underestimates, "estimates": estimates}
    expected = round(jobs.steps * jobs.rate) if isinstance(jobs, MapReduceStream) else len(jobs)
    how = "preemptive" if preemptive else "non-preemptive"
    return Case(
        jobs,
        options,
        DEFAULT_POLICIES if preemptive else DEFAULT_BLOCKED,
        -(-expected // _CHUNK),
        told=(f"{counted(machines, 'machine')}, {how} reduce tasks",),
        facts=facts,
    )
