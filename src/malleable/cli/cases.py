"""What the models of ``malleable simulate`` have in common: a case to simulate, and how one is read."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from malleable.cli.terminal import read_file
from malleable.simulation import parsed_option
from malleable.traces import Trace
from malleable.views import counted


class Case(NamedTuple):
    """What is simulated, with which options of `simulate`; ``told``: what people read above the tables,
    ``facts``: what stands beside the results in JSON, ``steps`` of progress that a policy takes."""

    jobs: Any
    options: dict[str, Any]
    policies: str
    steps: int
    told: tuple[str, ...] = ()
    facts: Mapping[str, Any] = {}
    below: tuple[str, ...] = ()


def estimates_of(
    asked: argparse.Namespace, jobs: Any, word: str, convert: Callable[[Trace], Any] | None = None
) -> Any:
    """``--estimates``: a number, that word, or another table of the same jobs, where that can be read."""
    text = asked.estimates
    if text in (None, word):
        return text
    try:
        return float(text)
    except ValueError:
        pass
    if convert is None:
        raise ValueError(f"--estimates {text}: a number or {word!r}")
    if asked.file is None:
        raise ValueError("--estimates FILE: a generated stream takes a standard deviation only")
    guessed = convert(read_file(text, asked))
    if len(guessed) != len(jobs):
        raise ValueError(f"{text}: {counted(len(guessed), 'job')}, expected {len(jobs)}")
    return guessed


def option(text: str, of: str = "set") -> tuple[str, Any]:
    """``name=value`` with a number or true, false."""
    return parsed_option(text, f"--{of} {text}")
