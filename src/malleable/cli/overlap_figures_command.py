"""``malleable reproduce overlap-fig7`` and ``overlap-fig9``."""

from __future__ import annotations

import argparse
import sys

from malleable.cli.terminal import note, progress_bar, rereadable, show
from malleable.report.drawing import check_drawing, image_bytes
from malleable.report.overlap_figures import (
    draw_overlap_figure,
    overlap_figure_dict,
    overlap_figure_report,
    run_overlap_figure,
)
from malleable.report.plan_views import json_text
from malleable.report.text import printable
from malleable.workloads import read_map_shuffle_google2011
from malleable.workloads.output_files import check_targets, write_file

_QUICK = {"overlap-fig7": 5_000, "overlap-fig9": 500_000}


def reproduce_figure(arguments: argparse.Namespace) -> int:
    """One figure; after Ctrl-C show and write what was finished."""
    to_stdout = arguments.json == "-"
    json_file = None if to_stdout else arguments.json
    inputs = [] if arguments.trace in (None, "-") else [arguments.trace]
    check_targets({"--json": json_file, "--plot": arguments.plot}, arguments.force, inputs)
    if arguments.plot is not None:
        check_drawing(arguments.plot)
    if arguments.simulations is not None:
        raise ValueError("--simulations: not of the overlap figures, which take --jobs")
    jobs = arguments.jobs
    if jobs is None and arguments.quick:
        jobs = _QUICK[arguments.name]
    trace = None
    if arguments.trace is not None:
        trace = read_map_shuffle_google2011(rereadable(arguments.trace))
    with progress_bar("simulations") as advance:
        figure = run_overlap_figure(
            arguments.name, jobs=jobs, trace=trace, seed=arguments.seed, progress=advance
        )
    if figure.rows:
        text = json_text(overlap_figure_dict(figure))
        if json_file is not None:
            write_file(json_file, text, arguments.force)
        if arguments.plot is not None:
            picture = image_bytes(draw_overlap_figure(figure), arguments.plot)
            write_file(arguments.plot, picture, arguments.force)
        if to_stdout:
            sys.stdout.write(text)
        else:
            show(*overlap_figure_report(figure))
            written = [path for path in (json_file, arguments.plot) if path is not None]
            if written:
                show("wrote " + ", ".join(printable(path) for path in written))
            if arguments.plot is None:
                show("--plot FILE draws the panels.")
    if not figure.complete:
        note("interrupted")
        return 130
    return 0
