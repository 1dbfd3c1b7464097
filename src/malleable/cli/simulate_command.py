"""``malleable simulate``: policies side by side on the same jobs."""

from __future__ import annotations

import argparse
from typing import Any

from malleable.cli import cluster_command, slotted_command
from malleable.cli.outputs import Outputs
from malleable.cli.terminal import progress_bar, read_file, warnings_as_notes
from malleable.simulation import simulate
from malleable.tandem.simulate import chunks_of
from malleable.tandem.table import MapShuffleJobs, MapShuffleStream
from malleable.view.simulation_views import simulation_dict, simulation_table
from malleable.views import counted

DEFAULT_POLICIES = "max-srpt,split-srpt,k-lps"

# Options that not every model has.
_ONLY = {
    "machines": ("slotted",),
    "plot_ratio": ("slotted",),
    "slot_seconds": ("slotted",),
    "non_preemptive": ("slotted",),
    "cluster": ("cluster",),
    "set": ("cluster",),
    "read": ("cluster",),
    "graphs": ("cluster",),
    "objective": ("cluster",),
    "generate": ("tandem", "slotted"),
    "as_printed": ("tandem",),
    "no_overlap": ("tandem",),
    "plot_slowdown": ("tandem", "cluster"),
    "plot_load": ("cluster",),
    "task_records": ("cluster",),
    "loads": ("cluster",),
    "speedups": ("cluster",),
    "errors": ("cluster",),
    "effort": ("tandem",),
}


def _estimates(arguments: argparse.Namespace, jobs: MapShuffleJobs | MapShuffleStream) -> Any:
    given = arguments.estimates
    if given in (None, "column"):
        return given
    try:
        return float(given)
    except ValueError:
        pass
    if isinstance(jobs, MapShuffleStream):
        raise ValueError("--estimates FILE: a generated stream takes a standard deviation only")
    guessed = read_file(given, arguments).map_shuffle()
    if len(guessed) != len(jobs):
        raise ValueError(f"{given}: {counted(len(guessed), 'job')}, expected {len(jobs)}")
    return guessed.map, guessed.shuffle


def run(arguments: argparse.Namespace) -> int:
    """Simulate; after Ctrl-C show and write what was finished."""
    for option, models in _ONLY.items():
        if arguments.model not in models and getattr(arguments, option) not in (None, False, []):
            name = option.replace("_", "-")
            raise ValueError(f"--{name}: of --model {' or '.join(models)}")
    if arguments.model != "tandem":
        run_model = {"slotted": slotted_command.run, "cluster": cluster_command.simulate_cluster}
        return run_model[arguments.model](arguments)
    policies = [name.strip() for name in (arguments.policy or DEFAULT_POLICIES).split(",")]
    stream = arguments.generate is not None
    if stream == (arguments.file is not None):
        raise ValueError("one of FILE and --generate N is needed")
    if stream and (arguments.records is not None or arguments.plot is not None):
        raise ValueError("--records and --plot need a table: a generated stream keeps no records")
    outputs = Outputs(
        arguments, tables=["records"], pictures=["plot", "plot_slowdown"], inputs=[arguments.file]
    )
    jobs: MapShuffleJobs | MapShuffleStream
    options: dict[str, Any] = {}
    if stream:
        jobs = MapShuffleStream(
            arguments.generate, 0.75 if arguments.load is None else arguments.load
        )
    else:
        with warnings_as_notes():
            jobs = read_file(arguments.file, arguments).map_shuffle()
        options["load"] = arguments.load
    if arguments.effort is not None:
        options["effort"] = arguments.effort
    steps = chunks_of(jobs) * len(policies)
    with warnings_as_notes(), progress_bar("jobs") as advance:
        result = simulate(
            jobs,
            policies,
            rng=arguments.seed,
            k=arguments.k,
            conserving=not arguments.as_printed,
            overlap=not arguments.no_overlap,
            map_capacity=arguments.map_capacity,
            shuffle_capacity=arguments.shuffle_capacity,
            horizon=arguments.horizon,
            estimates=_estimates(arguments, jobs),
            underestimates=arguments.underestimates,
            progress=lambda entered, total: advance("jobs", steps),
            **options,
        )
    return outputs.give(
        lambda: simulation_dict(result),
        [simulation_table(result)],
        result.complete,
        records=lambda path: result.write_records(path, arguments.force),
        plot=lambda path: result.plot(path, arguments.force),
        plot_slowdown=lambda path: result.plot(path, arguments.force, kind="slowdown"),
    )
