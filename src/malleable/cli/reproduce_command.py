"""``malleable reproduce``: a paper's figure beside its own numbers."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from malleable.cli.outputs import Outputs, ended
from malleable.cli.terminal import progress_bar, reading, rereadable, warnings_as_notes
from malleable.cli.workers import workers

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


def _run_named(run: Any, arguments: argparse.Namespace, count: int, progress: Any) -> Any:
    return run(arguments.name, count, seed=arguments.seed, progress=progress)


def _run_cluster(run: Any, arguments: argparse.Namespace, count: int, progress: Any) -> Any:
    with workers(arguments.processes) as executor:
        return run(count, seed=arguments.seed, executor=executor, progress=progress)


def _flex_figure5(_: str) -> _Figure:
    from malleable.papers import flex_figure5_view as view
    from malleable.papers.flex_figure5 import run_figure5

    def run(arguments: argparse.Namespace, count: int, progress: Any) -> Any:
        return run_figure5(count, quick=arguments.quick, seed=arguments.seed, progress=progress)

    return _Figure(
        run,
        view.figure5_dict,
        lambda result: [*view.figure5_tables(result), *view.figure5_notes(result)],
        view.draw_figure5,
        begun=lambda result: any(point.simulations for point in result.points),
        usual=100,
        quick=10,
    )


def _flex_figure6(_: str) -> _Figure:
    from malleable.papers import flex_figure6 as figures

    return _Figure(
        partial(_run_cluster, figures.run_figure6),
        figures.figure6_dict,
        figures.figure6_tables,
        figures.draw_figure6,
        begun=lambda figure: any(figure.panels.values()),
        usual=10,
        quick=3,
    )


def _flowflex(_: str) -> _Figure:
    from malleable.papers import flowflex_figures as figures

    return _Figure(
        partial(_run_named, figures.run_flow_figure),
        figures.flow_figure_dict,
        figures.flow_figure_table,
        figures.draw_flow_figure,
        begun=lambda figure: figure.rows,
        usual=figures.INSTANCES,
        quick=5,
    )


def _flowflex_figure12(_: str) -> _Figure:
    from malleable.papers import flowflex_figure12 as figures

    return _Figure(
        partial(_run_cluster, figures.run_figure12),
        figures.figure12_dict,
        figures.figure12_tables,
        figures.draw_figure12,
        begun=lambda figure: any(figure.gain.values()),
        usual=10,
        quick=3,
    )


def _asrpt(_: str) -> _Figure:
    from malleable.papers import asrpt_figures as figures

    return _Figure(
        partial(_run_named, figures.run_asrpt_figure),
        figures.asrpt_figure_dict,
        figures.asrpt_figure_report,
        figures.draw_asrpt_figure,
        begun=lambda figure: figure.curves,
        usual=figures.SIMULATIONS,
        quick=20,
    )


def _overlap(_: str) -> _Figure:
    from malleable.papers import overlap_figures as figures
    from malleable.traces import read_map_shuffle_google2011

    def run(arguments: argparse.Namespace, _: int, progress: Any) -> Any:
        jobs = arguments.jobs
        if jobs is None and arguments.quick:
            jobs = _QUICK_JOBS[arguments.name]
        trace = None
        if arguments.trace is not None:
            source = rereadable(arguments.trace, arguments.max_size)
            with warnings_as_notes():
                trace = read_map_shuffle_google2011(source, **reading(arguments))
        return figures.run_overlap_figure(
            arguments.name, jobs=jobs, trace=trace, seed=arguments.seed, progress=progress
        )

    return _Figure(
        run,
        figures.overlap_figure_dict,
        figures.overlap_figure_report,
        figures.draw_overlap_figure,
        begun=lambda figure: figure.rows,
    )


def _adaptive(name: str) -> _Figure:
    from malleable.papers import adaptive_figures as figures

    return _Figure(
        partial(_run_cluster, partial(figures.run_adaptive_figure, name)),
        figures.adaptive_figure_dict,
        figures.adaptive_figure_tables,
        figures.draw_adaptive_figure,
        begun=lambda figure: figure.values,
        usual=figures.ADAPTIVE_REPLICATIONS,
        quick=3,
    )


# What makes a figure from its name. The experiments are imported when one is asked for: the rest of
# the command line must not depend on what they need.
FIGURES: dict[str, Callable[[str], _Figure]] = {
    "flex-fig5": _flex_figure5,
    **dict.fromkeys(("flowflex-fig10", "flowflex-fig11"), _flowflex),
    **{f"asrpt-fig{number}": _asrpt for number in range(5, 14)},
    **dict.fromkeys(("overlap-fig7", "overlap-fig9"), _overlap),
    "flex-fig6": _flex_figure6,
    "flowflex-fig12": _flowflex_figure12,
    **{f"adaptive-fig{number}": _adaptive for number in range(4, 10)},
    **dict.fromkeys(("adaptive-table6", "adaptive-table7"), _adaptive),
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
    figure = FIGURES[arguments.name](arguments.name)
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
        lambda: figure.as_dict(found),
        parts,
        found.complete,
        plot=lambda path: outputs.draw(figure.draw(found), path),
    )
