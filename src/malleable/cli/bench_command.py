"""``malleable bench``: the latency of an epoch on this machine."""

from __future__ import annotations

import argparse

from malleable.cli.outputs import Outputs, ended, output_arguments
from malleable.cli.terminal import adder, progress_bar
from malleable.view.latency import EpochLatency, epoch_latency, latency_dict, latency_table


def arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.description = "Time decisions while 1 % of the jobs come, go and change in between."
    add = adder(parser)
    add("--jobs N", "", int, 100_000)
    add("--epochs N", "decisions", int, 2000)
    add("--objective", default="sum:response")
    output_arguments(parser)
    parser.set_defaults(run=run)


def measured(jobs: int, epochs: int, objective: str, results: list[EpochLatency]) -> None:
    """Both instances, each added to the results as soon as it is done."""
    with progress_bar("decisions") as advance:
        for instance in ("a", "b"):
            one = epoch_latency(
                instance,
                jobs,
                epochs=epochs,
                objective=objective,
                progress=lambda: advance("decisions", 2 * epochs),
            )
            results.append(one)


def run(asked: argparse.Namespace) -> int:
    """Measure both instances; after Ctrl-C show the one that was finished."""
    outputs = Outputs(asked)
    results: list[EpochLatency] = []
    complete = True
    try:
        measured(asked.jobs, asked.epochs, asked.objective, results)
    except KeyboardInterrupt:
        complete = False
    if not results:
        return ended(complete)
    return outputs.give(lambda: latency_dict(results), [latency_table(results)], complete)
