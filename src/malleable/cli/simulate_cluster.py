"""``malleable simulate --model cluster``: tasks on nodes."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from malleable.cli.simulate_cases import Case, decided_arguments, estimates_of, option, trace_of
from malleable.cli.streams import note
from malleable.cli.terminal import rigid_arguments, spread_argument, warnings_as_notes
from malleable.cluster.events import is_events
from malleable.cluster.jobs_from_events import jobs_from_events
from malleable.cluster.nodes import Cluster, read_cluster
from malleable.cluster.table import ClusterJobs
from malleable.display import counted
from malleable.report.study import Said, reshaped, slots_said, spread_jobs, stated
from malleable.traces.converting import left_out
from malleable.traces.merging import between

DEFAULT_POLICIES = "auto,flex,fair,fifo"
RIGID_POLICIES = "auto,easy,easy-sjf,conservative,fcfs"


def arguments(add: Callable[..., str]) -> None:
    add("--cluster FILE", "nodes of the cluster, as TOML (or give --slots or --load)")
    decided_arguments(add)
    spread_argument(add)
    rigid_arguments(add)
    told = "an option of the trace's format, or an assumption (--options lists both)"
    add("--read NAME=VALUE", told, action="append")
    told = "run a grid of cases: each of these speed-ups p (s tasks together do s^p)"
    add("--speedups P,P", told)
    add("--task-records FILE", "write one row for each task, with its slot, CSV or .parquet")
    add("--history FILE", "read what earlier runs have learnt of programs (JSON)")
    add("--save-history FILE", "write what the first policy that learns has learnt (JSON)")


def _jobs(asked: argparse.Namespace) -> tuple[ClusterJobs, str]:
    if asked.file is None:
        raise ValueError("FILE is needed: a trace or a table of cluster jobs")
    if is_events(asked.file):
        jobs, asked.ran_on = jobs_from_events(asked.file)
        return jobs, f"{jobs!r}, recorded events"
    given = dict(option(text, "read") for text in asked.read or ())
    trace = between(trace_of(asked), asked.since, asked.until)
    with warnings_as_notes():
        jobs = reshaped(trace.tasks(**given), asked.rigid, asked.malleable, asked.seed)
    rows = trace.task_rows()
    asked.said = slots_said(trace, rows)
    if why := left_out(trace, rows):
        note(f"{counted(len(trace) - len(rows), 'job')} of {len(trace):,} left out: {why}")
    if asked.spread is not None:
        jobs = spread_jobs(jobs, asked.spread, asked.seed)
    shown = ", ".join(stated(trace, given))
    return jobs, f"{jobs!r}, read as {trace.format}" + (f" with {shown}" if shown else "")


def _place(asked: argparse.Namespace) -> Cluster | None:
    """The cluster as asked, or as the file says; None if a load determines its size."""
    if asked.slots is not None and (asked.cluster, asked.load) != (None, None):
        raise ValueError("give only one of --slots, --load and --cluster")
    if asked.cluster is not None:
        return read_cluster(asked.cluster, max_size=asked.max_size)
    if asked.slots is not None:
        return Cluster([{"name": "node", "slots": asked.slots}])
    ran_on: Cluster | None = getattr(asked, "ran_on", None)
    said: Said | None = getattr(asked, "said", None)
    if asked.load is asked.loads is ran_on is None and said is not None:
        note(said.told)
        return Cluster([{"name": "node", "slots": said.slots}])
    if asked.load is asked.loads is ran_on is None:
        raise ValueError("how large is the cluster? give --slots N, --load L or --cluster FILE")
    return ran_on if asked.load is None else None


def case(asked: argparse.Namespace) -> Case:
    jobs, how_read = _jobs(asked)
    options = {
        "cluster": _place(asked),
        "load": asked.load,
        "objective": asked.objective or "sum:response",
        "estimates": estimates_of(asked, "learn"),
        "trace": asked.task_records is not None,
        "history": asked.history,
        **dict(option(text) for text in asked.set or ()),
    }
    facts = {"reading": how_read}
    policies = RIGID_POLICIES if (jobs.width > 1).any() else DEFAULT_POLICIES
    return Case(jobs, options, policies, len(jobs), told=(how_read,), facts=facts)
