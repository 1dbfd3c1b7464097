"""``malleable bench``: the latency of an epoch on this machine."""

from __future__ import annotations

import argparse

from malleable.cli.outputs import Outputs, ended
from malleable.cli.terminal import progress_bar
from malleable.view.latency import EpochLatency, epoch_latency, latency_dict, latency_table


def run(arguments: argparse.Namespace) -> int:
    """Measure both instances; after Ctrl-C show the one that was finished."""
    outputs = Outputs(arguments)
    results: list[EpochLatency] = []
    complete = True
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
        complete = False
    if not results:
        return ended(complete)
    return outputs.give(lambda: latency_dict(results), [latency_table(results)], complete)
