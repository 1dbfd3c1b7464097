"""``malleable simulate --model cluster``: tasks on nodes."""

from __future__ import annotations

import argparse

from malleable.cli.cases import Case, estimates_of, option
from malleable.cli.terminal import read_file, warnings_as_notes
from malleable.cluster.events import is_events
from malleable.cluster.nodes import read_cluster
from malleable.cluster.recorded import recorded_jobs
from malleable.cluster.table import ClusterJobs
from malleable.traces.formats import reading_options

DEFAULT_POLICIES = "auto,flex,fair,fifo"


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
