"""``malleable reproduce``: a paper's figure beside its own numbers."""

from __future__ import annotations

import argparse
import sys

from malleable.cli import overlap_figures_command, slotted_figures_command
from malleable.cli.cluster_command import FIGURES as CLUSTER_FIGURES
from malleable.cli.cluster_command import reproduce_cluster
from malleable.cli.flow_command import reproduce_figure
from malleable.cli.terminal import note, progress_bar, show
from malleable.report import asrpt_figures, overlap_figures
from malleable.report.drawing import check_drawing, image_bytes
from malleable.report.flex_figure5 import run_figure5
from malleable.report.flex_figure5_view import (
    draw_figure5,
    figure5_dict,
    figure5_notes,
    figure5_tables,
)
from malleable.report.flowflex_figures import FIGURES
from malleable.report.plan_views import json_text
from malleable.report.text import printable
from malleable.workloads.output_files import check_targets, write_file

_SIMULATIONS, _QUICK = 100, 10


def run(arguments: argparse.Namespace) -> int:
    """Run the experiments; after Ctrl-C show and write what was finished."""
    if arguments.name in FIGURES:
        return reproduce_figure(arguments)
    if arguments.name in CLUSTER_FIGURES:
        return reproduce_cluster(arguments)
    if arguments.name in overlap_figures.FIGURES:
        return overlap_figures_command.reproduce_figure(arguments)
    for option in ("jobs", "trace"):
        if getattr(arguments, option) is not None:
            raise ValueError(f"--{option}: of overlap-fig7 and overlap-fig9")
    if arguments.name in asrpt_figures.FIGURES:
        return slotted_figures_command.reproduce_figure(arguments)
    to_stdout = arguments.json == "-"
    json_file = None if to_stdout else arguments.json
    check_targets({"--json": json_file, "--plot": arguments.plot}, arguments.force)
    if arguments.plot is not None:
        check_drawing(arguments.plot)
    simulations = arguments.simulations
    if simulations is None:
        simulations = _QUICK if arguments.quick else _SIMULATIONS
    with progress_bar("simulations") as advance:
        result = run_figure5(
            simulations,
            quick=arguments.quick,
            seed=arguments.seed,
            progress=advance,
        )
    if any(point.simulations for point in result.points):
        text = json_text(figure5_dict(result))
        picture = None
        if arguments.plot is not None:
            picture = image_bytes(draw_figure5(result), arguments.plot)
        if json_file is not None:
            write_file(json_file, text, arguments.force)
        if picture is not None:
            write_file(arguments.plot, picture, arguments.force)
        if to_stdout:
            sys.stdout.write(text)
        else:
            show(*figure5_tables(result), *figure5_notes(result))
            written = [path for path in (json_file, arguments.plot) if path is not None]
            if written:
                show("wrote " + ", ".join(printable(path) for path in written))
            if arguments.plot is None:
                show("--plot FILE draws the panels.")
    if not result.complete:
        note("interrupted")
        return 130
    return 0
