"""``malleable simulate --model cluster`` and the papers' cluster experiments."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import product
from typing import Any

from malleable.cli.terminal import note, progress_bar, rereadable, show
from malleable.report.adaptive_figures import (
    ADAPTIVE_FIGURES,
    ADAPTIVE_REPLICATIONS,
    adaptive_figure_dict,
    adaptive_figure_tables,
    draw_adaptive_figure,
    run_adaptive_figure,
)
from malleable.report.cluster_grid import (
    GRID_ERRORS,
    GRID_SPEEDUPS,
    GridPoint,
    draw_grid,
    grid_dict,
    grid_tables,
)
from malleable.report.cluster_views import (
    cluster_dict,
    cluster_tables,
    replications_dict,
    replications_tables,
)
from malleable.report.drawing import check_drawing, image_bytes
from malleable.report.flex_figure6 import draw_figure6, figure6_dict, figure6_tables, run_figure6
from malleable.report.flowflex_figure12 import (
    draw_figure12,
    figure12_dict,
    figure12_tables,
    run_figure12,
)
from malleable.report.plan_views import json_text
from malleable.report.text import printable
from malleable.simulation import replicate, simulate
from malleable.simulation.replications import Replications
from malleable.workloads import ClusterJobs, read_cluster, read_cluster_workload
from malleable.workloads.cluster_traces import detected_format, reading_options
from malleable.workloads.output_files import check_targets, write_file

# What runs it, gives JSON, tables and a picture, and replications by default.
FIGURES: dict[str, tuple[Any, Any, Any, Any, int]] = {
    "flex-fig6": (run_figure6, figure6_dict, figure6_tables, draw_figure6, 10),
    "flowflex-fig12": (run_figure12, figure12_dict, figure12_tables, draw_figure12, 10),
    **{
        name: (
            partial(run_adaptive_figure, name),
            adaptive_figure_dict,
            adaptive_figure_tables,
            draw_adaptive_figure,
            ADAPTIVE_REPLICATIONS,
        )
        for name in ADAPTIVE_FIGURES
    },
}
_QUICK = 3


def option(text: str, of: str = "set") -> tuple[str, Any]:
    """``name=value`` with a number or true, false."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--{of} {text}: write NAME=VALUE")
    if value in ("true", "false"):
        return name, value == "true"
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            pass
    raise ValueError(f"--{of} {text}: not a number, true or false")


@contextmanager
def _workers(count: int) -> Iterator[Executor | None]:
    if count < 1:
        raise ValueError(f"processes = {count}: must be at least 1")
    if count == 1:
        yield None
        return
    with ProcessPoolExecutor(count) as pool:
        yield pool


def _jobs(arguments: argparse.Namespace) -> tuple[ClusterJobs, str]:
    """The jobs, and how they were read: the format and all options of its reader."""
    if arguments.file is None:
        raise ValueError("FILE is needed: a trace or a table of cluster jobs")
    source = rereadable(arguments.file)
    kind = arguments.format or detected_format(source)
    given = dict(option(text, "read") for text in arguments.read)
    if arguments.graphs is not None:
        given["graphs"] = arguments.graphs
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        errors = "skip" if arguments.skip_bad else "raise"
        jobs = read_cluster_workload(source, kind, errors=errors, **given)
    for warning in told:
        note(str(warning.message))
    stated = {
        name: value
        for name, value in {**reading_options(kind), **given}.items()
        if value is not None
    }
    shown = ", ".join(
        f"{name} = {value}" if isinstance(value, str) else f"{name} = {value:g}"
        for name, value in stated.items()
    )
    return jobs, f"{jobs!r}, read as {kind}" + (f" with {shown}" if shown else "")


def _same(jobs: ClusterJobs, seed: int) -> ClusterJobs:
    return jobs


def _list(option: str, text: str | None, otherwise: Sequence[Any]) -> list[Any]:
    if text is None:
        return list(otherwise)
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--{option} {text}: numbers with commas between them") from None


def _grid(arguments: argparse.Namespace) -> list[GridPoint] | None:
    """The points of a grid, if one is asked for."""
    axes = (arguments.loads, arguments.speedups, arguments.errors)
    if not arguments.grid and axes == (None, None, None):
        return None
    if arguments.loads is not None and arguments.load is not None:
        raise ValueError("--loads: not beside --load")
    if arguments.errors is not None and arguments.estimates is not None:
        raise ValueError("--errors: not beside --estimates")
    loads = _list("loads", arguments.loads, [arguments.load])
    speedups = _list("speedups", arguments.speedups, GRID_SPEEDUPS if arguments.grid else (1.0,))
    errors = _list("errors", arguments.errors, GRID_ERRORS if arguments.grid else (0.0,))
    return [GridPoint(*point) for point in product(loads, speedups, errors)]


def _estimates(text: str | None) -> Any:
    if text in (None, "learn"):
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--estimates {text}: a number or 'learn'") from None


def simulate_cluster(arguments: argparse.Namespace) -> int:
    """Policies side by side; after Ctrl-C show and write what was finished."""
    to_stdout = arguments.json == "-"
    json_file = None if to_stdout else arguments.json
    inputs = [f for f in (arguments.file, arguments.cluster) if f not in (None, "-")]
    pictures = {
        "cdf": arguments.plot,
        "slowdown": arguments.plot_slowdown,
        "load": arguments.plot_load,
    }
    targets = {
        "--json": json_file,
        "--records": arguments.records,
        "--task-records": arguments.task_records,
        "--plot": arguments.plot,
        "--plot-slowdown": arguments.plot_slowdown,
        "--plot-load": arguments.plot_load,
    }
    check_targets(targets, arguments.force, inputs)
    for picture in pictures.values():
        if picture is not None:
            check_drawing(picture)
    grid = _grid(arguments)
    several = arguments.replications > 1 or grid is not None
    single = [
        option
        for option in ("--records", "--task-records", "--plot-slowdown", "--plot-load", "--plot")
        if targets[option] is not None and not (grid and option == "--plot")
    ]
    if several and single:
        raise ValueError(f"{single[0]}: of a single run")
    jobs, reading = _jobs(arguments)
    estimates = _estimates(arguments.estimates)
    names = [name.strip() for name in (arguments.policy or "flex,fair,fifo").split(",")]
    common: dict[str, Any] = {
        "cluster": None if arguments.cluster is None else read_cluster(arguments.cluster),
        "load": arguments.load,
        "objective": arguments.objective or "sum:response",
        "horizon": arguments.horizon,
        **dict(option(text) for text in arguments.set),
    }
    if several:
        found = _several(arguments, jobs, names, estimates, common, grid)
        if not found:
            note("interrupted")
            return 130
        complete = all(result.complete for _, result in found)
        if grid is None:
            text = json_text({"reading": reading, **replications_dict(found[0][1])})
            shown = replications_tables(found[0][1])
        else:
            text = json_text({"reading": reading, **grid_dict(found)})
            shown = grid_tables(found)
            if arguments.plot is not None:
                draw_grid(found, arguments.plot, arguments.force)
    else:
        with progress_bar("jobs") as advance:
            result = simulate(
                jobs,
                "cluster",
                names,
                rng=arguments.seed,
                estimates=estimates,
                progress=lambda finished, total: advance("jobs", total),
                trace=arguments.task_records is not None,
                **common,
            )
        complete = result.complete
        text = json_text({"reading": reading, **cluster_dict(result)})
        shown = cluster_tables(result)
        if arguments.records is not None:
            result.write_records(arguments.records, arguments.force)
        if arguments.task_records is not None:
            result.write_tasks(arguments.task_records, arguments.force)
        for kind, picture in pictures.items():
            if picture is not None:
                result.plot(picture, arguments.force, kind=kind)
    if json_file is not None:
        write_file(json_file, text, arguments.force)
    if to_stdout:
        sys.stdout.write(text)
    else:
        show(reading, *shown)
        written = [path for path in targets.values() if path is not None]
        if written:
            show("wrote " + ", ".join(printable(path) for path in written))
    if not complete:
        note("interrupted")
        return 130
    return 0


def _several(
    arguments: argparse.Namespace,
    jobs: ClusterJobs,
    names: list[str],
    estimates: Any,
    common: dict[str, Any],
    grid: list[GridPoint] | None,
) -> list[tuple[GridPoint, Replications]]:
    """Replications, at every point of a grid if there is one; after Ctrl-C what was finished."""
    seeds = range(arguments.seed, arguments.seed + arguments.replications)
    found = []
    points = grid or [GridPoint(arguments.load, 1.0, 0.0)]
    with _workers(arguments.processes) as executor, progress_bar("replications") as advance:
        for point in points:
            own = dict(common)
            if grid is not None:
                own |= {"load": point.load, "speedup": point.speedup}
            result = replicate(
                partial(_same, jobs),
                seeds,
                names,
                executor=executor,
                model="cluster",
                estimates=estimates if grid is None else point.sigma,
                progress=lambda finished, total: advance("replications", total * len(points)),
                **own,
            )
            if result.seeds:
                found.append((point, result))
            if not result.complete:
                break
    return found


def reproduce_cluster(arguments: argparse.Namespace) -> int:
    """A figure of a paper's cluster experiments; after Ctrl-C what was finished."""
    run, as_dict, as_tables, draw, usual = FIGURES[arguments.name]
    to_stdout = arguments.json == "-"
    json_file = None if to_stdout else arguments.json
    check_targets({"--json": json_file, "--plot": arguments.plot}, arguments.force)
    if arguments.plot is not None:
        check_drawing(arguments.plot)
    count = arguments.simulations
    if count is None:
        count = _QUICK if arguments.quick else usual
    if count < 1:
        raise ValueError(f"simulations = {count}: must be at least 1")
    with _workers(arguments.processes) as executor, progress_bar("points") as advance:
        figure = run(count, seed=arguments.seed, executor=executor, progress=advance)
    text = json_text(as_dict(figure))
    if json_file is not None:
        write_file(json_file, text, arguments.force)
    if arguments.plot is not None:
        write_file(arguments.plot, image_bytes(draw(figure), arguments.plot), arguments.force)
    if to_stdout:
        sys.stdout.write(text)
    else:
        show(*as_tables(figure))
        written = [path for path in (json_file, arguments.plot) if path is not None]
        if written:
            show("wrote " + ", ".join(printable(path) for path in written))
    if not figure.complete:
        note("interrupted")
        return 130
    return 0
