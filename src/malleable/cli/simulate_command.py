"""``malleable simulate``: policies side by side on the same jobs."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from malleable.cli.terminal import note, progress_bar, rereadable, show
from malleable.report.cluster_views import cluster_lines, cluster_tables
from malleable.report.drawing import check_drawing
from malleable.report.files import check_targets, write_file
from malleable.report.plan_views import json_text
from malleable.report.simulation_views import simulation_dict, simulation_table
from malleable.report.text import printable
from malleable.simulation import simulate
from malleable.workloads import (
    MapShuffleStream,
    read_cluster,
    read_cluster_hawk,
    read_cluster_jobs,
    read_cluster_rumen,
    read_cluster_swim,
    read_map_shuffle_google2011,
    read_map_shuffle_jobs,
    read_map_shuffle_swim,
)

READERS = {
    "table": read_map_shuffle_jobs,
    "swim": read_map_shuffle_swim,
    "google2011": read_map_shuffle_google2011,
}
CLUSTER_READERS = {
    "table": read_cluster_jobs,
    "swim": read_cluster_swim,
    "rumen": read_cluster_rumen,
    "hawk": read_cluster_hawk,
}
TANDEM_POLICIES = "max-srpt,split-srpt,k-lps"


def run(arguments: argparse.Namespace) -> int:
    """Simulate; after Ctrl-C show and write what was finished."""
    if arguments.model == "cluster":
        return _run_cluster(arguments)
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


def _option(text: str) -> tuple[str, Any]:
    """``name=value`` with a number or true, false."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set {text}: write NAME=VALUE")
    if value in ("true", "false"):
        return name, value == "true"
    try:
        return name, int(value)
    except ValueError:
        pass
    try:
        return name, float(value)
    except ValueError:
        raise ValueError(f"--set {text}: not a number, true or false") from None


def _run_cluster(arguments: argparse.Namespace) -> int:
    to_stdout = arguments.json == "-"
    json_file = None if to_stdout else arguments.json
    if arguments.file is None:
        raise ValueError("FILE is needed: a trace or a table of cluster jobs")
    if arguments.format not in CLUSTER_READERS:
        raise ValueError(f"--format {arguments.format}: not of the cluster")
    inputs = [f for f in (arguments.file, arguments.cluster) if f not in (None, "-")]
    targets = {"--json": json_file, "--records": arguments.records, "--plot": arguments.plot}
    check_targets(targets, arguments.force, inputs)
    if arguments.plot is not None:
        check_drawing(arguments.plot)
    reading: dict[str, Any] = {}
    if arguments.skip_bad:
        if arguments.format != "rumen":
            raise ValueError("--skip-bad: only of Rumen traces")
        reading["errors"] = "skip"
    jobs = CLUSTER_READERS[arguments.format](rereadable(arguments.file), **reading)
    estimates: Any = arguments.estimates
    if estimates not in (None, "learn"):
        try:
            estimates = float(estimates)
        except ValueError:
            raise ValueError(f"--estimates {estimates}: a number or 'learn'") from None
    with progress_bar("jobs") as advance:
        result = simulate(
            jobs,
            "cluster",
            [name.strip() for name in (arguments.policy or "flex,fair,fifo").split(",")],
            rng=arguments.seed,
            estimates=estimates,
            cluster=None if arguments.cluster is None else read_cluster(arguments.cluster),
            load=arguments.load,
            objective=arguments.objective,
            horizon=arguments.horizon,
            progress=lambda finished, total: advance("jobs", total),
            **dict(_option(text) for text in arguments.set),
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
        for part in cluster_tables(result):
            show(part)
        for line in cluster_lines(result):
            show(line)
        written = [path for path in targets.values() if path is not None]
        if written:
            show("wrote " + ", ".join(printable(path) for path in written))
    if not result.complete:
        note("interrupted")
        return 130
    return 0
