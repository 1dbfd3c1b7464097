"""``malleable simulate --model jobs``: malleable jobs in a loop that decides every few seconds."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from malleable.cli.simulate_cases import Case, decided_arguments, estimates_of, option, trace_of
from malleable.cli.terminal import warnings_as_notes
from malleable.display import counted
from malleable.jobs.simulate import PARTS
from malleable.jobs.table import Jobs
from malleable.view.text import fields_of

DEFAULT_POLICIES = "flex,fair,fifo"


def arguments(add: Callable[..., str]) -> None:
    decided_arguments(add)
    told = (
        "flex: how many schedules each decision tries (default: none, an order of the jobs decides)"
    )
    add("--effort N", told, int)
    add("--period S", "decide every S seconds (default: at every event)", float)
    add("--unknown-period", "do not tell policies the period", bool)
    add("--periods S,S", "run a grid of cases: each of these periods; --plot draws it")


def case(asked: argparse.Namespace) -> Case:
    if asked.file is None:
        raise ValueError("FILE is needed: a table of jobs or a trace")
    with warnings_as_notes():
        jobs: Jobs = trace_of(asked).jobs()
    options = {
        **fields_of(asked, "slots", "load"),
        "period": asked.period or 0.0,
        "objective": asked.objective or "sum:response",
        "knows_period": not asked.unknown_period,
        "estimates": estimates_of(asked),
        **dict(option(text) for text in asked.set or ()),
    }
    if asked.effort is not None:
        options["effort"] = asked.effort
    period = asked.period or 0.0
    how = "asked whenever a job comes or ends"
    if period > 0.0:
        how = f"asked every {period:g} s" + ", which policies do not know" * asked.unknown_period
    told = () if asked.periods else (f"{counted(len(jobs), 'job')}, {how}",)
    return Case(jobs, options, DEFAULT_POLICIES, PARTS, told=told)
