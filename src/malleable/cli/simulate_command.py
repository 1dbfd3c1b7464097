"""``malleable simulate``: policies side by side on the same jobs."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from malleable.cli.cluster_command import simulate_cluster
from malleable.cli.terminal import note, progress_bar, rereadable, show
from malleable.report.drawing import check_drawing
from malleable.report.files import check_targets, write_file
from malleable.report.plan_views import json_text
from malleable.report.simulation_views import simulation_dict, simulation_table
from malleable.report.text import printable
from malleable.simulation import simulate
from malleable.workloads import (
    MapShuffleStream,
    read_map_shuffle_google2011,
    read_map_shuffle_jobs,
    read_map_shuffle_swim,
)

READERS = {
    "table": read_map_shuffle_jobs,
    "swim": read_map_shuffle_swim,
    "google2011": read_map_shuffle_google2011,
}
TANDEM_POLICIES = "max-srpt,split-srpt,k-lps"


def run(arguments: argparse.Namespace) -> int:
    """Simulate; after Ctrl-C show and write what was finished."""
    if arguments.model == "cluster":
        return simulate_cluster(arguments)
    if arguments.format not in READERS:
        raise ValueError(f"--format {arguments.format}: only of the cluster")
    to_stdout = arguments.json == "-"
    json_file = None if to_stdout else arguments.json
    stream = arguments.generate is not None
    if stream == (arguments.file is not None):
        raise ValueError("one of FILE and --generate N is needed")
    if stream and (arguments.records is not None or arguments.plot is not None):
        raise ValueError("--records and --plot need a table: a generated stream keeps no records")
    inputs = [] if arguments.file in (None, "-") else [arguments.file]
    targets = {"--json": json_file, "--records": arguments.records, "--plot": arguments.plot}
    check_targets(targets, arguments.force, inputs)
    if arguments.plot is not None:
        check_drawing(arguments.plot)
    jobs: Any
    options: dict[str, Any] = {}
    if stream:
        jobs = MapShuffleStream(
            arguments.generate, 0.75 if arguments.load is None else arguments.load
        )
    else:
        jobs = READERS[arguments.format](rereadable(arguments.file))
        options["load"] = arguments.load
    with progress_bar("jobs") as advance:
        result = simulate(
            jobs,
            arguments.model,
            [name.strip() for name in (arguments.policy or TANDEM_POLICIES).split(",")],
            rng=arguments.seed,
            k=arguments.k,
            conserving=not arguments.as_printed,
            overlap=not arguments.no_overlap,
            map_capacity=arguments.map_capacity,
            shuffle_capacity=arguments.shuffle_capacity,
            horizon=arguments.horizon,
            progress=lambda entered, total: advance("jobs", -(-total // (1 << 16))),
            **options,
        )
    text = json_text(simulation_dict(result))
    if json_file is not None:
        write_file(json_file, text, arguments.force)
    if arguments.records is not None:
        result.write_records(arguments.records, arguments.force)
    if arguments.plot is not None:
        result.plot(arguments.plot, arguments.force)
    if to_stdout:
        sys.stdout.write(text)
    else:
        show(simulation_table(result))
        written = [path for path in targets.values() if path is not None]
        if written:
            show("wrote " + ", ".join(printable(path) for path in written))
    if not result.complete:
        note("interrupted")
        return 130
    return 0
