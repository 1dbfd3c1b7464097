"""Common parts of the models of ``malleable simulate``: a case to simulate, and how to read one."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from malleable.cli.terminal import read_file
from malleable.simulation import model_of, parsed_option
from malleable.traces import Trace


class Case(NamedTuple):
    """What is simulated, with which options of `simulate`. ``told`` is shown above the tables, ``facts``
    stand beside the results in JSON, ``steps`` of progress are those of one policy."""

    jobs: Any
    options: dict[str, Any]
    policies: str
    steps: int
    told: tuple[str, ...] = ()
    facts: Mapping[str, Any] = {}


def overrun_argument(add: Callable[..., str]) -> None:
    """Options of models in which jobs may have more work than was estimated."""
    told = "rank of a job that overruns its estimate: it goes first, or bounces back so that others may pass"
    add("--underestimates", told, default="first", choices=("first", "bounce"))


def decided_arguments(add: Callable[..., str]) -> None:
    add("--slots N", "capacity (number of slots; or give --load)", int)
    told = "what flex and auto make small, as in malleable plan (default: sum:response)"
    add("--objective", told)
    add("--set NAME=VALUE", "set an option by name (--options lists them)", action="append")
    add("--replications N", "number of seeds to simulate; more than one gives intervals", int, 1)
    add("--processes N", "how many simulations run side by side", int, 1)
    add("--loads L,L", "run a grid of cases: each of these loads")
    add("--errors S,S", "run a grid of cases: sizes that are wrong by each of these sigma")


def generated(asked: argparse.Namespace) -> bool:
    if (asked.generate is not None) == (asked.file is not None):
        raise ValueError("one of FILE and --generate N is needed")
    return asked.file is None


def trace_of(asked: argparse.Namespace) -> Trace:
    if asked.source is None:
        asked.source = read_file(asked.file, asked)
    found: Trace = asked.source
    return found


def guessed_model(asked: argparse.Namespace) -> tuple[str, str]:
    """The model that the file is for, and a note if others would do, too."""
    trace = trace_of(asked)
    model = model_of(trace) or "cluster"
    others = []
    if model == "jobs":
        if asked.cluster is not None:
            return "cluster", ""
        others = ["cluster"]
    elif model == "cluster" and trace.table is None and trace.reduce is not None:
        others = ["tandem", "slotted"]
    if not others:
        return model, ""
    ways = " or ".join(f"--model {other}" for other in others)
    meant = f"--model {model} ({_MEANT[model]})"
    return model, f"a {trace.format}, simulated with {meant}; {ways} is possible, too"


_MEANT = {"jobs": "malleable jobs", "cluster": "tasks on slots"}


def estimates_of(asked: argparse.Namespace, word: str = "") -> Any:
    text = asked.estimates
    if text is None or text == word:
        return text
    try:
        return float(text)
    except ValueError:
        wanted = f"a number or {word!r}" if word else "a number"
        raise ValueError(f"--estimates {text}: {wanted}") from None


def option(text: str, of: str = "set") -> tuple[str, Any]:
    """``name=value`` with a number, true or false, or a word or a list if the option takes one."""
    return parsed_option(text, f"--{of} {text}")
