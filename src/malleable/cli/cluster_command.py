"""``malleable simulate --model cluster``: policies on the nodes of a cluster, task by task."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from malleable.cli.terminal import note, progress_bar, rereadable, show
from malleable.report.cluster_views import cluster_lines, cluster_tables
from malleable.report.drawing import check_drawing
from malleable.report.files import check_targets, write_file
from malleable.report.plan_views import json_text
from malleable.report.simulation_views import simulation_dict
from malleable.report.text import printable
from malleable.simulation import simulate
from malleable.workloads import (
    read_cluster,
    read_cluster_hawk,
    read_cluster_jobs,
    read_cluster_rumen,
    read_cluster_swim,
)

DEFAULT_POLICIES = "flex,fair,fifo"

READERS = {
    "table": read_cluster_jobs,
    "swim": read_cluster_swim,
    "rumen": read_cluster_rumen,
    "hawk": read_cluster_hawk,
}


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


def run(arguments: argparse.Namespace) -> int:
    """Simulate; after Ctrl-C show and write what was finished."""
    to_stdout = arguments.json == "-"
    json_file = None if to_stdout else arguments.json
    if arguments.file is None:
        raise ValueError("FILE is needed: a trace or a table of cluster jobs")
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
    jobs = READERS[arguments.format](rereadable(arguments.file), **reading)
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
            [name.strip() for name in (arguments.policy or DEFAULT_POLICIES).split(",")],
            rng=arguments.seed,
            estimates=estimates,
            cluster=None if arguments.cluster is None else read_cluster(arguments.cluster),
            load=arguments.load,
            objective=arguments.objective or "sum:response",
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
