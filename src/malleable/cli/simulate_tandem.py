"""``malleable simulate --model tandem``: map and shuffle phases that overlap."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from malleable.cli.simulate_cases import Case, estimates_of, generated, overrun_argument, trace_of
from malleable.cli.terminal import warnings_as_notes
from malleable.tandem.simulate import chunks_of
from malleable.tandem.table import MapShuffleStream
from malleable.view.text import fields_of

DEFAULT_POLICIES = "max-srpt,split-srpt,k-lps"


def arguments(add: Callable[..., str]) -> None:
    told = "generate N jobs as in section 5.3 of the overlap paper, instead of FILE"
    add("--generate N", told, int)
    add("--map-capacity C", "how much map work is done in a second", float, 1.0)
    add("--shuffle-capacity C", "how much shuffle work is done in a second", float, 1.0)
    add("-k N", "k-lps: how many jobs map at once", int, 100)
    told = "run policies as the paper prints them: capacity that a job cannot use stays idle"
    add("--as-printed", told, bool)
    add("--no-overlap", "the phases of a job do not overlap: it shuffles after its map phase", bool)
    add("--effort N", "best: how many schedules it tries (default: 1000)", int)
    overrun_argument(add)


def case(asked: argparse.Namespace) -> Case:
    options = fields_of(asked, "k", "map_capacity", "shuffle_capacity", "underestimates")
    options |= {"conserving": not asked.as_printed, "overlap": not asked.no_overlap}
    jobs: Any
    if generated(asked):
        jobs = MapShuffleStream(asked.generate, 0.75 if asked.load is None else asked.load)
    else:
        with warnings_as_notes():
            jobs = trace_of(asked).map_shuffle()
        options["load"] = asked.load
    options["estimates"] = estimates_of(asked, "column")
    if asked.effort is not None:
        options["effort"] = asked.effort
    return Case(jobs, options, DEFAULT_POLICIES, chunks_of(jobs))
