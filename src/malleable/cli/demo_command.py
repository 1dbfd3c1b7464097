"""``malleable demo``: FLEX beside FAIR and FIFO on generated jobs, as tables and a picture."""

from __future__ import annotations

import argparse
from pathlib import Path

from malleable.cli.bench_command import measured
from malleable.cli.streams import note
from malleable.cli.terminal import adder, show
from malleable.files.writing import write_file
from malleable.jobs.generate import bimodal_jobs
from malleable.jobs.plan import Plan
from malleable.jobs.table import Jobs
from malleable.objective import relative_gap
from malleable.planning import plan
from malleable.view.drawing import check_drawing, image_bytes
from malleable.view.latency import cases_of, latency_tables
from malleable.view.plan_pictures import common_bound, draw_packings
from malleable.view.text import Column, columns_table, duration, number, percent, printable

_JOBS, _SLOTS, _TASKS = 15, 100, 600
_OBJECTIVES = ("sum:response", "sum:stretch", "max:stretch")
_POLICIES = ("flex", "fair", "fifo")
# The times of decisions: instances of `malleable bench` (view/latency), jobs, decisions.
_LATENCY_INSTANCES, _LATENCY_JOBS, _LATENCY_EPOCHS = ("a", "b"), 100_000, 1000
_COLUMNS: list[Column] = [  # of rows (plan, the bound of all plans for its objective)
    ("objective", lambda row: row[0].objective if row[0].policy == _POLICIES[0] else ""),
    ("policy", lambda row: row[0].policy.upper()),
    ("value", lambda row: number(row[0].value)),
    ("lower bound", lambda row: number(row[1])),
    ("gap", lambda row: percent(relative_gap(row[0].value, row[1]))),
    ("time", lambda row: duration(row[0].timing["seconds"])),
]


def arguments(parser: argparse.ArgumentParser) -> None:
    add = adder(parser)
    add("--seed", "seed of the generated jobs", int, 1)
    add("--output DIR", "folder of the picture", default="out")
    add("--force", "overwrite existing files", bool)


def run(asked: argparse.Namespace) -> int:
    """Compare FLEX, FAIR and FIFO on generated jobs, draw the schedules, and show how long a decision takes."""
    if asked.seed < 0:
        raise ValueError(f"--seed {asked.seed}: must be at least 0")
    drawn = bimodal_jobs(_JOBS, _SLOTS, tasks=_TASKS, rng=asked.seed)
    jobs = Jobs(drawn.work, max_slots=drawn.max_slots)  # without minima, which FIFO ignores
    groups = [[plan(jobs, _SLOTS, goal, policy) for policy in _POLICIES] for goal in _OBJECTIVES]
    rows = [(made, common_bound(group)) for group in groups for made in group]
    title = f"{_JOBS} generated jobs on {_SLOTS} slots (a value is better if it is smaller)"
    show(columns_table(title, rows, _COLUMNS, left=2))
    _draw(groups[0], Path(asked.output), asked.force)
    cases = cases_of(_LATENCY_INSTANCES, (_LATENCY_JOBS,), ("flex",), ("sum:response",))
    show(*latency_tables(measured(cases, _LATENCY_EPOCHS)))
    return 0


def _draw(plans: list[Plan], folder: Path, force: bool) -> None:
    try:
        check_drawing()
    except ImportError as error:
        note(f"no picture: {error}")
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "packing.png"
    write_file(path, image_bytes(draw_packings(plans), path), force)
    show(f"picture of the schedules: {printable(str(path))}", "")
