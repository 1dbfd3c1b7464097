"""``malleable reproduce``: a figure or table of a paper, beside the numbers that the paper prints."""

from __future__ import annotations

import argparse

from malleable.cli.outputs import Outputs, ended, output_arguments
from malleable.cli.terminal import adder, progress_bar
from malleable.cli.workers import workers
from malleable.papers import FIGURES, reproduce
from malleable.traces import read
from malleable.view.drawing import image_bytes
from malleable.view.text import fields_of


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = "\n".join(
        f"{name:15}  {own.shows} ({own.usual:,} {own.unit}s)" for name, own in FIGURES.items()
    )
    add = adder(parser)
    add("name NAME", "name of a figure above", choices=tuple(FIGURES))
    told = "simulations for each point of the figure (default: the number above)"
    add("--simulations N", told, int)
    add("--processes N", "clusters: simulations side by side", int, 1)
    add("--quick", "fewer simulations, without the largest experiments", bool)
    told = "overlap: generated jobs for each point of the figure (default: the number above)"
    add("--jobs N", told, int)
    add(
        "--trace FILE",
        "tandem-fig7: a table or a trace with maps and shuffles (default: generated)",
    )
    add("--seed", "seed of the first simulation", int, 0)
    add("--plot FILE", "draw the panels (.png, .svg, .pdf)")
    output_arguments(parser)


def run(asked: argparse.Namespace) -> int:
    """Run the experiments of a figure. After Ctrl-C show and write the finished part."""
    name, unit = asked.name, FIGURES[asked.name].unit
    for option in ("simulation", "job"):
        if option != unit and getattr(asked, option + "s") is not None:
            raise ValueError(f"--{option}s: not of {name}, which takes --{unit}s")
    outputs = Outputs(asked, pictures=["plot"], inputs=[asked.trace])
    trace = asked.trace
    if trace is not None and FIGURES[name].trace:
        trace = read(asked.trace).map_shuffle()
    with progress_bar(name) as advance, workers(asked.processes) as executor:
        how = {"executor": executor, "progress": advance, **fields_of(asked, "seed", "quick")}
        figure = reproduce(name, getattr(asked, unit + "s"), trace=trace, **how)
    if not figure.panels:
        return ended(figure.run.complete)
    parts = figure.parts()
    if asked.plot is None:
        parts.append("--plot FILE draws the panels.")
    return outputs.give(
        figure.as_dict,
        parts,
        figure.run.complete,
        plot=lambda path: image_bytes(figure.draw(), path),
    )
