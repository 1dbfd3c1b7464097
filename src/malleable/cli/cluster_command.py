"""``malleable simulate --model cluster`` and the papers' cluster experiments."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
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
from malleable.report.cluster_views import (
    GRID_ERRORS,
    GRID_SPEEDUPS,
    cluster_lines,
    cluster_tables,
    grid_dict,
    grid_lines,
    replications_dict,
    replications_tables,
)
from malleable.report.drawing import check_drawing, image_bytes
from malleable.report.files import check_targets, write_file
from malleable.report.flex_figure6 import figure6_dict, figure6_tables, run_figure6
from malleable.report.flowflex_figure12 import figure12_dict, figure12_tables, run_figure12
from malleable.report.plan_views import json_text
from malleable.report.simulation_views import simulation_dict
from malleable.report.text import printable
from malleable.simulation import replicate, simulate
from malleable.workloads import ClusterJobs, read_cluster, read_cluster_workload
from malleable.workloads.cluster_traces import detected_format, reading_options

# What runs it, gives JSON, tables and a picture (None: has none), and replications by default.
FIGURES: dict[str, tuple[Any, Any, Any, Any, int]] = {
    "flex-fig6": (run_figure6, figure6_dict, figure6_tables, None, 10),
    "flowflex-fig12": (run_figure12, figure12_dict, figure12_tables, None, 10),
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


def simulate_cluster(arguments: argparse.Namespace) -> int:
    """Policies side by side; after Ctrl-C show and write what was finished."""
    to_stdout = arguments.json == "-"
    json_file = None if to_stdout else arguments.json
    inputs = [f for f in (arguments.file, arguments.cluster) if f not in (None, "-")]
    targets = {"--json": json_file, "--records": arguments.records, "--plot": arguments.plot}
    check_targets(targets, arguments.force, inputs)
    if arguments.plot is not None:
        check_drawing(arguments.plot)
    several = arguments.replications > 1 or arguments.grid
    if several and (arguments.records is not None or arguments.plot is not None):
        raise ValueError("--records and --plot: of a single run")
    jobs, reading = _jobs(arguments)
    estimates: Any = arguments.estimates
    if estimates not in (None, "learn"):
        try:
            estimates = float(estimates)
        except ValueError:
            raise ValueError(f"--estimates {estimates}: a number or 'learn'") from None
    names = [name.strip() for name in (arguments.policy or "flex,fair,fifo").split(",")]
    common: dict[str, Any] = {
        "cluster": None if arguments.cluster is None else read_cluster(arguments.cluster),
        "load": arguments.load,
        "objective": arguments.objective or "sum:response",
        "horizon": arguments.horizon,
        **dict(option(text) for text in arguments.set),
    }
    if several:
        found, complete, text, shown = _several(arguments, jobs, names, estimates, common)
        if not found:
            note("interrupted")
            return 130
    else:
        with progress_bar("jobs") as advance:
            result = simulate(
                jobs,
                "cluster",
                names,
                rng=arguments.seed,
                estimates=estimates,
                progress=lambda finished, total: advance("jobs", total),
                **common,
            )
        complete = result.complete
        text = json_text(simulation_dict(result))
        shown = [*cluster_tables(result), *cluster_lines(result.summary, result.slowdown)]
        if arguments.records is not None:
            result.write_records(arguments.records, arguments.force)
        if arguments.plot is not None:
            result.plot(arguments.plot, arguments.force)
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
) -> tuple[bool, bool, str, list[Any]]:
    """Replications, or the grid of speed-ups and size errors: any found, all, as JSON, as text."""
    seeds = range(arguments.seed, arguments.seed + arguments.replications)
    make = partial(_same, jobs)
    points = (
        [(p, sigma) for p in GRID_SPEEDUPS for sigma in GRID_ERRORS]
        if arguments.grid
        else [(None, estimates)]
    )
    found = []
    complete = True
    with _workers(arguments.processes) as executor, progress_bar("replications") as advance:
        for p, sigma in points:
            own = common if p is None else {**common, "speedup": p}
            result = replicate(
                make,
                seeds,
                names,
                executor=executor,
                model="cluster",
                estimates=sigma,
                progress=lambda finished, total: advance("replications", total * len(points)),
                **own,
            )
            complete = result.complete
            if result.seeds:
                found.append(((p, sigma), result))
            if not complete:
                break
    if not found:
        return False, False, "", []
    if not arguments.grid:
        only = found[0][1]
        return True, complete, json_text(replications_dict(only)), replications_tables(only)
    return True, complete, json_text(grid_dict(found)), grid_lines(found)


def reproduce_cluster(arguments: argparse.Namespace) -> int:
    """A figure of a paper's cluster experiments; after Ctrl-C what was finished."""
    run, as_dict, as_tables, draw, usual = FIGURES[arguments.name]
    if arguments.plot is not None and draw is None:
        raise ValueError(f"--plot: {arguments.name} is shown as tables only")
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
