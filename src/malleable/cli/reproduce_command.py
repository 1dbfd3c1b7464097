"""``malleable reproduce``: a paper's figure beside its own numbers."""

from __future__ import annotations

import argparse
from typing import Any

from malleable.cli.outputs import Outputs, ended
from malleable.cli.terminal import progress_bar, reading, rereadable, warnings_as_notes
from malleable.cli.workers import workers
from malleable.papers import FIGURES, reproduce


def _trace(arguments: argparse.Namespace) -> Any:
    from malleable.traces import read_map_shuffle_google2011

    source = rereadable(arguments.trace, arguments.max_size)
    with warnings_as_notes():
        return read_map_shuffle_google2011(source, **reading(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Run the experiments; after Ctrl-C show and write what was finished."""
    name, unit = arguments.name, FIGURES[arguments.name].unit
    for option in ("simulation", "job"):
        if option != unit and getattr(arguments, option + "s") is not None:
            raise ValueError(f"--{option}s: not of {name}, which takes --{unit}s")
    outputs = Outputs(arguments, pictures=["plot"], inputs=[arguments.trace])
    trace = arguments.trace
    if trace is not None and FIGURES[name].trace:
        trace = _trace(arguments)
    with progress_bar(name) as advance, workers(arguments.processes) as executor:
        figure = reproduce(
            name,
            getattr(arguments, unit + "s"),
            seed=arguments.seed,
            quick=arguments.quick,
            trace=trace,
            executor=executor,
            progress=advance,
        )
    if not figure.panels:
        return ended(figure.run.complete)
    parts = figure.parts()
    if arguments.plot is None:
        parts.append("--plot FILE draws the panels.")
    return outputs.give(
        figure.as_dict,
        parts,
        figure.run.complete,
        plot=lambda path: outputs.draw(figure.draw(), path),
    )
