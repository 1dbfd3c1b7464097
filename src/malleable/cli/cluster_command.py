"""``malleable simulate --model cluster``: tasks on nodes; one run, replications and grids."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any

from malleable.cli.cases import Case, estimates_of
from malleable.cli.outputs import Outputs, ended
from malleable.cli.terminal import progress_bar, read_file, warnings_as_notes
from malleable.cli.workers import workers
from malleable.cluster.events import is_events
from malleable.cluster.nodes import read_cluster
from malleable.cluster.recorded import recorded_jobs
from malleable.cluster.table import ClusterJobs
from malleable.replications import replicate
from malleable.traces.formats import reading_options
from malleable.view.drawing import image_bytes
from malleable.view.simulation_pictures import draw_grid
from malleable.view.simulations import replications_dict, replications_tables

DEFAULT_POLICIES = "auto,flex,fair,fifo"

# Of a grid by its argument: which option of the simulation varies, which one goes not beside it, and
# what --grid takes.
_AXES: dict[str, tuple[str, str, Sequence[float]]] = {
    "loads": ("load", "load", ()),
    "speedups": ("speedup", "", (1.0, 0.8, 0.5)),
    "errors": ("estimates", "estimates", (0.0, 0.2, 1.0)),
}


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


def _jobs(asked: argparse.Namespace) -> tuple[ClusterJobs, str]:
    """The jobs, and how they were read: the format and all options of its reader."""
    if asked.file is None:
        raise ValueError("FILE is needed: a trace or a table of cluster jobs")
    if is_events(asked.file):
        jobs, asked.ran_on = recorded_jobs(asked.file)
        return jobs, f"{jobs!r}, recorded events"
    given = dict(option(text, "read") for text in asked.read or ())
    if asked.graphs is not None:
        given["graphs"] = asked.graphs
    own = {name: given.pop(name) for name in reading_options() & given.keys()}
    trace = read_file(asked.file, asked, **own)
    with warnings_as_notes():
        jobs = trace.tasks(**given)
    stated = {**trace.options} | trace.assumptions("tasks") | given
    shown = ", ".join(
        f"{name} = {value:g}" if isinstance(value, (int, float)) else f"{name} = {value}"
        for name, value in stated.items()
        if value is not None
    )
    return jobs, f"{jobs!r}, read as {trace.format}" + (f" with {shown}" if shown else "")


def case(asked: argparse.Namespace) -> Case:
    """Jobs of a trace on the nodes of a cluster."""
    jobs, how_read = _jobs(asked)
    cluster = asked.cluster
    ran_on = getattr(asked, "ran_on", None) if asked.load is None else None
    options = {
        "cluster": read_cluster(cluster, max_size=asked.max_size) if cluster else ran_on,
        "load": asked.load,
        "objective": asked.objective or "sum:response",
        "estimates": estimates_of(asked, jobs, "learn"),
        "trace": asked.task_records is not None,
        **dict(option(text) for text in asked.set or ()),
    }
    facts = {"reading": how_read}
    return Case(jobs, options, DEFAULT_POLICIES, len(jobs), told=(how_read,), facts=facts)


def _grid(asked: argparse.Namespace) -> dict[str, list[float]]:
    """What varies, if a grid is asked for."""
    axes = {}
    for name, (varied, beside, usual) in _AXES.items():
        text = getattr(asked, name)
        if text is not None and beside and getattr(asked, beside) is not None:
            raise ValueError(f"--{name}: not beside --{beside}")
        if text is not None:
            try:
                axes[varied] = [float(part) for part in text.split(",")]
            except ValueError:
                raise ValueError(f"--{name} {text}: numbers with commas between them") from None
        elif asked.grid and usual:
            axes[varied] = list(usual)
    return axes


def several(asked: argparse.Namespace) -> bool:
    """Whether more than one run is asked for."""
    return asked.replications > 1 or asked.grid or any(getattr(asked, name) for name in _AXES)


def _same(jobs: ClusterJobs, seed: int) -> ClusterJobs:
    return jobs


def replicated(asked: argparse.Namespace, outputs: Outputs) -> int:
    """Replications, at every point of a grid if there is one; after Ctrl-C what was finished."""
    grid = _grid(asked)
    for name in outputs.files:
        if name != "json" and not (grid and name == "plot"):
            raise ValueError(f"--{name.replace('_', '-')}: of a single run")
    made = case(asked)
    names = [name.strip() for name in (asked.policy or made.policies).split(",")]
    with (
        workers(asked.processes, asked.engine) as executor,
        progress_bar("replications") as advance,
    ):
        found = replicate(
            partial(_same, made.jobs),
            range(asked.seed, asked.seed + asked.replications),
            names,
            grid=grid,
            executor=executor,
            model="cluster",
            horizon=asked.horizon,
            progress=lambda _, total: advance("replications", total),
            **made.options,
        )
    if not found.done:
        return ended(False)
    return outputs.give(
        lambda: {**made.facts, **replications_dict(found)},
        [*made.told, *replications_tables(found)],
        found.complete,
        plot=lambda path: image_bytes(draw_grid(found), path),
    )
