"""``malleable reproduce asrpt-fig5`` to ``asrpt-fig13``."""

from __future__ import annotations

import argparse
import sys

from malleable.cli.terminal import note, progress_bar, show
from malleable.report.asrpt_figures import (
    SIMULATIONS,
    asrpt_figure_dict,
    asrpt_figure_report,
    draw_asrpt_figure,
    run_asrpt_figure,
)
from malleable.report.drawing import check_drawing, image_bytes
from malleable.report.plan_views import json_text
from malleable.report.text import printable
from malleable.workloads.output_files import check_targets, write_file

_QUICK = 20


def reproduce_figure(arguments: argparse.Namespace) -> int:
    """One figure; after Ctrl-C show and write what was finished."""
    to_stdout = arguments.json == "-"
    json_file = None if to_stdout else arguments.json
    check_targets({"--json": json_file, "--plot": arguments.plot}, arguments.force)
    if arguments.plot is not None:
        check_drawing(arguments.plot)
    simulations = arguments.simulations
    if simulations is None:
        simulations = _QUICK if arguments.quick else SIMULATIONS
    if simulations < 1:
        raise ValueError(f"--simulations {simulations}: must be at least 1")
    with progress_bar("simulations") as advance:
        figure = run_asrpt_figure(
            arguments.name, simulations, seed=arguments.seed, progress=advance
        )
    if figure.curves:
        text = json_text(asrpt_figure_dict(figure))
        if json_file is not None:
            write_file(json_file, text, arguments.force)
        if arguments.plot is not None:
            picture = image_bytes(draw_asrpt_figure(figure), arguments.plot)
            write_file(arguments.plot, picture, arguments.force)
        if to_stdout:
            sys.stdout.write(text)
        else:
            show(*asrpt_figure_report(figure))
            written = [path for path in (json_file, arguments.plot) if path is not None]
            if written:
                show("wrote " + ", ".join(printable(path) for path in written))
            if arguments.plot is None:
                show("--plot FILE draws the panels.")
    if not figure.complete:
        note("interrupted")
        return 130
    return 0
