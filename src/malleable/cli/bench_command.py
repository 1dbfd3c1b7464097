"""``malleable bench``: the latency of an epoch on this machine."""

from __future__ import annotations

import argparse
import sys

from malleable.cli.terminal import note, progress_bar, show
from malleable.report.latency import EpochLatency, epoch_latency, latency_dict, latency_table
from malleable.report.plan_views import json_text
from malleable.report.text import printable
from malleable.workloads.output_files import check_targets, write_file


def run(arguments: argparse.Namespace) -> int:
    """Measure both instances; after Ctrl-C show the one that was finished."""
    to_stdout = arguments.json == "-"
    if not to_stdout:
        check_targets({"--json": arguments.json}, arguments.force)
    results: list[EpochLatency] = []
    interrupted = False
    try:
        with progress_bar("decisions") as advance:
            for instance in ("a", "b"):
                results.append(
                    epoch_latency(
                        instance,
                        arguments.jobs,
                        epochs=arguments.epochs,
                        objective=arguments.objective,
                        progress=lambda: advance("decisions", 2 * arguments.epochs),
                    )
                )
    except KeyboardInterrupt:
        interrupted = True
    if results:
        text = json_text(latency_dict(results))
        if to_stdout:
            sys.stdout.write(text)
        else:
            show(latency_table(results))
            if arguments.json is not None:
                write_file(arguments.json, text, arguments.force)
                show(f"wrote {printable(arguments.json)}")
    if interrupted:
        note("interrupted")
    return 130 if interrupted else 0
