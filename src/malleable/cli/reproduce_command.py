"""``malleable reproduce``: a paper's figure beside its own numbers."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from malleable.cli.outputs import Outputs, ended
from malleable.cli.terminal import progress_bar, rereadable
from malleable.cli.workers import workers
from malleable.report import asrpt_figures, flowflex_figures, overlap_figures
from malleable.report.adaptive_figures import (
    ADAPTIVE_FIGURES,
    ADAPTIVE_REPLICATIONS,
    adaptive_figure_dict,
    adaptive_figure_tables,
    draw_adaptive_figure,
    run_adaptive_figure,
)
from malleable.report.flex_figure5 import run_figure5
from malleable.report.flex_figure5_view import (
    draw_figure5,
    figure5_dict,
    figure5_notes,
    figure5_tables,
)
from malleable.report.flex_figure6 import draw_figure6, figure6_dict, figure6_tables, run_figure6
from malleable.report.flowflex_figure12 import (
    draw_figure12,
    figure12_dict,
    figure12_tables,
    run_figure12,
)
from malleable.workloads import read_map_shuffle_google2011

_QUICK_JOBS = {"overlap-fig7": 5_000, "overlap-fig9": 500_000}


@dataclass(frozen=True)
class _Figure:
    """What runs an experiment, and what shows it.

    ``run`` takes the arguments of the command, the number of simulations and ``progress``; at Ctrl-C
    it gives what is finished. Of that, the others make JSON types, parts for people and a picture,
    and ``begun`` says whether there is anything in it. ``usual`` and ``quick`` are numbers of
    simulations; a figure without them takes none.
    """

    run: Callable[[argparse.Namespace, int, Any], Any]
    as_dict: Callable[[Any], dict[str, Any]]
    parts: Callable[[Any], list[Any]]
    draw: Callable[[Any], Any]
    begun: Callable[[Any], object]
    usual: int = 0
    quick: int = 0


def _run_figure5(arguments: argparse.Namespace, count: int, progress: Any) -> Any:
    return run_figure5(count, quick=arguments.quick, seed=arguments.seed, progress=progress)


def _run_named(run: Any, arguments: argparse.Namespace, count: int, progress: Any) -> Any:
    return run(arguments.name, count, seed=arguments.seed, progress=progress)


def _run_cluster(run: Any, arguments: argparse.Namespace, count: int, progress: Any) -> Any:
    with workers(arguments.processes) as executor:
        return run(count, seed=arguments.seed, executor=executor, progress=progress)


def _run_overlap(arguments: argparse.Namespace, _: int, progress: Any) -> Any:
    jobs = arguments.jobs
    if jobs is None and arguments.quick:
        jobs = _QUICK_JOBS[arguments.name]
    trace = None
    if arguments.trace is not None:
        trace = read_map_shuffle_google2011(rereadable(arguments.trace))
    return overlap_figures.run_overlap_figure(
        arguments.name, jobs=jobs, trace=trace, seed=arguments.seed, progress=progress
    )


_ASRPT = _Figure(
    partial(_run_named, asrpt_figures.run_asrpt_figure),
    asrpt_figures.asrpt_figure_dict,
    asrpt_figures.asrpt_figure_report,
    asrpt_figures.draw_asrpt_figure,
    begun=lambda figure: figure.curves,
    usual=asrpt_figures.SIMULATIONS,
    quick=20,
)
_FLOWFLEX = _Figure(
    partial(_run_named, flowflex_figures.run_flow_figure),
    flowflex_figures.flow_figure_dict,
    flowflex_figures.flow_figure_table,
    flowflex_figures.draw_flow_figure,
    begun=lambda figure: figure.rows,
    usual=flowflex_figures.INSTANCES,
    quick=5,
)
_OVERLAP = _Figure(
    _run_overlap,
    overlap_figures.overlap_figure_dict,
    overlap_figures.overlap_figure_report,
    overlap_figures.draw_overlap_figure,
    begun=lambda figure: figure.rows,
)
FIGURES: dict[str, _Figure] = {
    "flex-fig5": _Figure(
        _run_figure5,
        figure5_dict,
        lambda result: [*figure5_tables(result), *figure5_notes(result)],
        draw_figure5,
        begun=lambda result: any(point.simulations for point in result.points),
        usual=100,
        quick=10,
    ),
    **dict.fromkeys(flowflex_figures.FIGURES, _FLOWFLEX),
    **dict.fromkeys(asrpt_figures.FIGURES, _ASRPT),
    **dict.fromkeys(overlap_figures.FIGURES, _OVERLAP),
    "flex-fig6": _Figure(
        partial(_run_cluster, run_figure6),
        figure6_dict,
        figure6_tables,
        draw_figure6,
        begun=lambda figure: any(figure.panels.values()),
        usual=10,
        quick=3,
    ),
    "flowflex-fig12": _Figure(
        partial(_run_cluster, run_figure12),
        figure12_dict,
        figure12_tables,
        draw_figure12,
        begun=lambda figure: any(figure.gain.values()),
        usual=10,
        quick=3,
    ),
    **{
        name: _Figure(
            partial(_run_cluster, partial(run_adaptive_figure, name)),
            adaptive_figure_dict,
            adaptive_figure_tables,
            draw_adaptive_figure,
            begun=lambda figure: figure.values,
            usual=ADAPTIVE_REPLICATIONS,
            quick=3,
        )
        for name in ADAPTIVE_FIGURES
    },
}


def _simulations(arguments: argparse.Namespace, figure: _Figure) -> int:
    if not figure.usual:
        if arguments.simulations is not None:
            raise ValueError("--simulations: not of the overlap figures, which take --jobs")
        return 0
    for option in ("jobs", "trace"):
        if getattr(arguments, option) is not None:
            raise ValueError(f"--{option}: of overlap-fig7 and overlap-fig9")
    count: int | None = arguments.simulations
    if count is None:
        count = figure.quick if arguments.quick else figure.usual
    if count < 1:
        raise ValueError(f"--simulations {count}: must be at least 1")
    return count


def run(arguments: argparse.Namespace) -> int:
    """Run the experiments; after Ctrl-C show and write what was finished."""
    figure = FIGURES[arguments.name]
    outputs = Outputs(arguments, pictures=["plot"], inputs=[arguments.trace])
    count = _simulations(arguments, figure)
    with progress_bar(arguments.name) as advance:
        found = figure.run(arguments, count, advance)
    if not figure.begun(found):
        return ended(found.complete)
    parts = figure.parts(found)
    if arguments.plot is None:
        parts = [*parts, "--plot FILE draws the panels."]
    return outputs.give(
        figure.as_dict(found),
        parts,
        found.complete,
        plot=lambda path: outputs.draw(figure.draw(found), path),
    )
