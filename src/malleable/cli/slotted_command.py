"""``malleable simulate --model slotted``: policies for map and reduce tasks in slots."""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

from malleable.cli.outputs import Outputs
from malleable.cli.terminal import progress_bar, read_file, warnings_as_notes
from malleable.domain import checked_positive
from malleable.simulation import simulate
from malleable.slotted.generate import MapReduceStream
from malleable.slotted.table import MapReduceJobs, join_tables
from malleable.slotted.theory import efficiency_constants
from malleable.view.simulation_views import simulation_dict, simulation_table
from malleable.view.slotted_views import (
    constants_dict,
    constants_lines,
    draw_ratio_over_time,
)
from malleable.view.text import counted

DEFAULT_POLICIES = "asrpt,unlock,dsrpt,fifo,fair,lrpt"
DEFAULT_BLOCKED = "asrpt,unlock,fifo,fair,lrpt"

_MOST_JOBS = 1_000_000  # of a generated table


def _generated(arguments: argparse.Namespace) -> MapReduceJobs | MapReduceStream:
    """A table where it is small enough and will drain; else a stream."""
    low, _, high = arguments.tasks.partition("-")
    try:
        tasks = (int(low), int(high or low))
    except ValueError:
        raise ValueError(f"--tasks {arguments.tasks}: not a number or LOW-HIGH") from None
    options: dict[str, Any] = {"slots": arguments.generate, "tasks": tasks}
    made = MapReduceStream(arguments.setting, **options)
    machines = 100 if arguments.machines is None else arguments.machines
    if arguments.load is not None:
        load = checked_positive("load", arguments.load)
        made = MapReduceStream(arguments.setting, rate=load * machines / made.mean_work, **options)
    if made.slots * made.rate > _MOST_JOBS or made.rate * made.mean_work >= machines:
        return made
    return join_tables(list(made.chunks(arguments.seed)))


def _machines(arguments: argparse.Namespace, jobs: MapReduceJobs | MapReduceStream) -> int:
    if (
        arguments.load is None
        or arguments.generate is not None
        or isinstance(jobs, MapReduceStream)
    ):
        return 100 if arguments.machines is None else arguments.machines
    if arguments.machines is not None:
        raise ValueError("--load chooses the machines for a table: not beside --machines")
    load = checked_positive("load", arguments.load)
    units = int(jobs.map.sum() + jobs.task.sum())
    slots = int(np.ptp(jobs.arrival)) + 1 if len(jobs) else 1
    return max(1, math.ceil(units / (slots * load)))


def _estimates(arguments: argparse.Namespace, jobs: MapReduceJobs | MapReduceStream) -> Any:
    if arguments.estimates in (None, "column"):
        return arguments.estimates
    try:
        return float(arguments.estimates)
    except ValueError:
        pass
    if isinstance(jobs, MapReduceStream):
        raise ValueError("--estimates FILE: a generated stream takes a standard deviation only")
    guessed = read_file(arguments.estimates, arguments).map_reduce()
    if len(guessed) != len(jobs):
        raise ValueError(
            f"{arguments.estimates}: {counted(len(guessed), 'job')}, expected {len(jobs)}"
        )
    return guessed.reduce_work


def run(arguments: argparse.Namespace) -> int:
    """Simulate; after Ctrl-C show and write what was finished."""
    if (arguments.generate is not None) == (arguments.file is not None):
        raise ValueError("one of FILE and --generate N is needed")
    outputs = Outputs(
        arguments, tables=["records"], pictures=["plot", "plot_ratio"], inputs=[arguments.file]
    )
    preemptive = not arguments.non_preemptive
    names = arguments.policy
    if names is None:
        names = DEFAULT_POLICIES if preemptive else DEFAULT_BLOCKED
    jobs: MapReduceJobs | MapReduceStream
    if arguments.generate is None:
        with warnings_as_notes():
            jobs = read_file(arguments.file, arguments).map_reduce(arguments.slot_seconds)
    else:
        jobs = _generated(arguments)
    wants_records = (arguments.records, arguments.plot, arguments.plot_ratio)
    if isinstance(jobs, MapReduceStream) and wants_records != (None, None, None):
        raise ValueError("--records, --plot and --plot-ratio: a stream that long keeps no records")
    machines = _machines(arguments, jobs)
    policies = [name.strip() for name in names.split(",")]
    with warnings_as_notes(), progress_bar("jobs") as advance:
        result = simulate(
            jobs,
            policies,
            rng=arguments.seed,
            machines=machines,
            preemptive=preemptive,
            horizon=arguments.horizon,
            estimates=_estimates(arguments, jobs),
            underestimates=arguments.underestimates,
            progress=lambda _, total: advance("jobs", -(-total // (1 << 16)) * len(policies)),
        )
    promised = None
    if math.isfinite(jobs.largest_reduce) if isinstance(jobs, MapReduceStream) else len(jobs) > 0:
        promised = efficiency_constants(jobs, machines)
    how = "preemptive" if preemptive else "non-preemptive"
    parts = [f"{counted(machines, 'machine')}, {how} reduce tasks", simulation_table(result)]
    if promised is not None:
        parts += constants_lines(promised, preemptive)

    def found() -> dict[str, Any]:
        theory = None if promised is None else constants_dict(promised)
        own = {"machines": machines, "preemptive": preemptive, "theory": theory}
        return {**simulation_dict(result), **own}

    def write_ratio(path: str) -> None:
        assert isinstance(jobs, MapReduceJobs)  # streams keep no records
        outputs.draw(draw_ratio_over_time(result, jobs, machines), path)

    return outputs.give(
        found,
        parts,
        result.complete,
        records=lambda path: result.write_records(path, arguments.force),
        plot=lambda path: result.plot(path, arguments.force),
        plot_ratio=write_ratio,
    )
