"""``malleable simulate --model cluster``: policies, replications and grids."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

from malleable.cli.outputs import Outputs, ended
from malleable.cli.terminal import progress_bar, read_file, warnings_as_notes
from malleable.cli.workers import workers
from malleable.cluster.nodes import read_cluster
from malleable.cluster.table import ClusterJobs
from malleable.replications import Replications, replicate
from malleable.simulation import simulate
from malleable.traces.formats import reading_options
from malleable.view.cluster_grid import (
    GRID_ERRORS,
    GRID_SPEEDUPS,
    GridPoint,
    draw_grid,
    grid_dict,
    grid_tables,
)
from malleable.view.cluster_views import (
    cluster_dict,
    cluster_tables,
    replications_dict,
    replications_tables,
)


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


def _jobs(arguments: argparse.Namespace) -> tuple[ClusterJobs, str]:
    """The jobs, and how they were read: the format and all options of its reader."""
    if arguments.file is None:
        raise ValueError("FILE is needed: a trace or a table of cluster jobs")
    given = dict(option(text, "read") for text in arguments.read)
    if arguments.graphs is not None:
        given["graphs"] = arguments.graphs
    own = {name: given.pop(name) for name in reading_options() & given.keys()}
    trace = read_file(arguments.file, arguments, **own)
    with warnings_as_notes():
        jobs = trace.tasks(**given)
    stated = {**trace.options} | trace.assumptions("tasks") | given
    shown = ", ".join(
        f"{name} = {value:g}" if isinstance(value, (int, float)) else f"{name} = {value}"
        for name, value in stated.items()
        if value is not None
    )
    return jobs, f"{jobs!r}, read as {trace.format}" + (f" with {shown}" if shown else "")


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
    outputs = Outputs(
        arguments,
        tables=["records", "task_records"],
        pictures=["plot", "plot_slowdown", "plot_load"],
        inputs=[arguments.file, arguments.cluster],
    )
    grid = _grid(arguments)
    several = arguments.replications > 1 or grid is not None
    for name in outputs.files:
        if several and name != "json" and not (grid and name == "plot"):
            raise ValueError(f"--{name.replace('_', '-')}: of a single run")
    jobs, how_read = _jobs(arguments)
    estimates = _estimates(arguments.estimates)
    names = [name.strip() for name in (arguments.policy or "flex,fair,fifo").split(",")]
    common: dict[str, Any] = {
        "cluster": None
        if arguments.cluster is None
        else read_cluster(arguments.cluster, max_size=arguments.max_size),
        "load": arguments.load,
        "objective": arguments.objective or "sum:response",
        "horizon": arguments.horizon,
        **dict(option(text) for text in arguments.set),
    }
    if several:
        found = _several(arguments, jobs, names, estimates, common, grid)
        if not found:
            return ended(False)
        complete = all(result.complete for _, result in found)
        shown = replications_tables(found[0][1]) if grid is None else grid_tables(found)
        return outputs.give(
            lambda: {
                "reading": how_read,
                **(replications_dict(found[0][1]) if grid is None else grid_dict(found)),
            },
            [how_read, *shown],
            complete,
            plot=lambda path: draw_grid(found, path, arguments.force),
        )
    with progress_bar("jobs") as advance:
        result = simulate(
            jobs,
            names,
            rng=arguments.seed,
            estimates=estimates,
            progress=lambda finished, total: advance("jobs", total),
            trace=arguments.task_records is not None,
            **common,
        )
    return outputs.give(
        lambda: {"reading": how_read, **cluster_dict(result)},
        [how_read, *cluster_tables(result)],
        result.complete,
        records=lambda path: result.write_records(path, arguments.force),
        task_records=lambda path: result.write_tasks(path, arguments.force),
        plot=lambda path: result.plot(path, arguments.force, kind="cdf"),
        plot_slowdown=lambda path: result.plot(path, arguments.force, kind="slowdown"),
        plot_load=lambda path: result.plot(path, arguments.force, kind="load"),
    )


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
    with workers(arguments.processes) as executor, progress_bar("replications") as advance:
        for point in points:
            own = dict(common)
            if grid is not None:
                own |= {"load": point.load, "speedup": point.speedup}
            result = replicate(
                partial(_same, jobs),
                seeds,
                names,
                executor=executor,
                estimates=estimates if grid is None else point.sigma,
                progress=lambda finished, total: advance("replications", total * len(points)),
                **own,
            )
            if result.seeds:
                found.append((point, result))
            if not result.complete:
                break
    return found
