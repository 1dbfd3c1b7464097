from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from typing import Any

from malleable.cli import simulate_cluster, simulate_jobs, simulate_slotted, simulate_tandem
from malleable.cli.outputs import Outputs, output_arguments
from malleable.cli.replicated import replicated, several
from malleable.cli.simulate_cases import Case, guessed_model
from malleable.cli.streams import note
from malleable.cli.terminal import adder, progress_bar, reading_arguments, warnings_as_notes
from malleable.cluster.events import is_events
from malleable.policies import idle_effort
from malleable.results import SimulationResult, merged
from malleable.simulation import other_fairs, simulate
from malleable.slotted.generate import MapReduceStream
from malleable.tandem.table import MapShuffleStream
from malleable.view.drawing import image_bytes
from malleable.view.option_page import option_page
from malleable.view.simulations import simulation_dict, simulation_tables
from malleable.view.text import json_text

_MODELS: dict[str, tuple[Any, str, str]] = {
    "tandem": (simulate_tandem, "map and shuffle phases that overlap", "column"),
    "slotted": (simulate_slotted, "map and reduce tasks in slots", "column"),
    "cluster": (simulate_cluster, "tasks on nodes", "learn"),
    "jobs": (simulate_jobs, "malleable jobs in a loop that decides every few seconds", ""),
}
"""By model its file, with arguments and cases of its own; what it simulates; what --estimates takes beside
a number: ``column`` is the table's own, ``learn`` from finished tasks."""

_ESTIMATES = {
    "column": "the estimates that FILE has",
    "learn": "none, policies learn from finished tasks",
}

_REPLICATED = ("cluster", "jobs")
_TABLES = ("records", "task_records", "save_history")
_OF_RECORDS = ("records", "plot")


def arguments(parser: argparse.ArgumentParser) -> None:
    _add(parser, _MODELS)


def _add(parser: argparse.ArgumentParser, models: Collection[str]) -> None:
    parser.description = "Simulate policies on a table or on generated jobs. Models: " + "; ".join(
        f"{_MODELS[model][1]} ({model})" for model in models or _MODELS
    )
    if not models:
        parser.epilog = "malleable simulate --model MODEL --help shows the options of one model."
    add = adder(parser)
    add("-h --help", "show this help; with --model also the options of this model", bool)
    add("file FILE", "jobs (-: standard input), or recorded events of a scheduler", nargs="?")
    add("--model", "the model (default: that of the file; without a file tandem)", choices=_MODELS)
    known = [(model, _MODELS[model][0].DEFAULT_POLICIES) for model in models or _MODELS]
    usual = "; ".join(f"{model}: {policies}" for model, policies in known)
    add("--policy A,B", f"policies to compare (default: {usual})")
    add("--load L", "scale capacities to this load, or the arrivals of generated jobs", float)
    words = [word for word in _ESTIMATES if word in {_MODELS[m][2] for m in models or _MODELS}]
    told = "which sizes policies know. SIGMA: the true sizes with a log-normal error"
    told += "".join(f"; {word}: {_ESTIMATES[word]}" for word in words)
    add(f"--estimates {'|'.join(['SIGMA', *words])}", f"{told} (default: the true sizes)")
    told = "stop at this time [s; slotted: slots] (default: when all jobs have ended)"
    add("--horizon S", told, float)
    add("--seed", "seed of random numbers", int, 0)
    add("--records FILE", "write one row for each job, CSV or .parquet")
    told = "draw the distribution of responses; if a grid of cases is run: FLEX over FAIR, or responses over"
    add("--plot FILE", f"{told} the period")
    add("--details", "also show tables of fairness, slots, flows and sizes of jobs", bool)
    add("--options", "only list all options of clusters (--set) and of traces (--read)", bool)
    reading_arguments(parser)
    output_arguments(parser)
    for model in models:
        _MODELS[model][0].arguments(adder(parser.add_argument_group(model)))
    parser.set_defaults(source=None)


def model_parser(model: str | None) -> argparse.ArgumentParser:
    from malleable.cli.arguments import CommandParser, manners

    parser = CommandParser(prog="malleable simulate", add_help=False)
    _add(parser, () if model is None else (model,))
    manners(parser, argparse.SUPPRESS)
    return parser


def _of_model(asked: argparse.Namespace) -> argparse.Namespace:
    """The arguments as the model's own parser reads them; SystemExit for arguments of other models."""
    parser = model_parser(asked.model)
    kept = argparse.Namespace(source=asked.source, read=None)
    words = asked.words[asked.words.index("simulate") + 1 :]
    own, rest = parser.parse_known_args(words, kept)
    if rest:
        parser.error(f"--model {asked.model} does not take {' '.join(rest)}")
    own.model = asked.model
    return own


def run(asked: argparse.Namespace) -> int:
    """Simulate policies. After Ctrl-C show and write the finished part."""
    if asked.help:
        model_parser(asked.model).print_help()
        return 0
    if asked.options:
        sys.stdout.write(option_page())
        return 0
    asked.model, guessed = _chosen(asked)
    asked = _of_model(asked)
    outputs = _outputs(asked)
    case = _MODELS[asked.model][0].case(asked)
    if guessed:  # an error is printed alone
        note(guessed)
    if asked.model in _REPLICATED and several(asked):
        return replicated(asked, outputs, case)
    return _side_by_side(asked, outputs, case)


def _chosen(asked: argparse.Namespace) -> tuple[str, str]:
    """The model, and a note if the file could be for other models, too."""
    if asked.file is not None and is_events(asked.file):
        return "cluster", ""
    if asked.model is not None:
        return asked.model, ""
    alone = asked.file is not None and asked.generate is None
    return guessed_model(asked) if alone else ("tandem", "")


def _outputs(asked: argparse.Namespace) -> Outputs:
    has = vars(asked)
    tables = [name for name in _TABLES if name in has]
    inputs = [has.get(name) for name in ("file", "cluster", "history")]
    return Outputs(asked, tables=tables, pictures=["plot"], inputs=inputs)


def _side_by_side(asked: argparse.Namespace, outputs: Outputs, case: Case) -> int:
    if isinstance(case.jobs, (MapShuffleStream, MapReduceStream)):
        for name in (name for name in _OF_RECORDS if name in outputs.files):
            raise ValueError(f"--{name.replace('_', '-')}: a generated stream keeps no records")
    policies = [name.strip() for name in (asked.policy or case.policies).split(",")]
    with warnings_as_notes(), progress_bar("jobs") as advance:
        common = {"rng": asked.seed, "horizon": asked.horizon, **case.options}
        steps = case.steps * len(policies)
        result = simulate(case.jobs, policies, progress=lambda *_: advance("jobs", steps), **common)
        rivals = other_fairs(case.jobs, policies, common) if result.complete else []
        shown = result
        if rivals:
            plain = {**common, "records": False, "trace": False}
            shown = merged([result, simulate(case.jobs, rivals, **plain)])
    if idle := idle_effort(asked.model, policies, case.options.get("effort")):
        note(idle)
    return outputs.give(
        lambda: {**case.facts, **simulation_dict(shown)},
        [*case.told, *simulation_tables(shown, rivals, asked.details)],
        result.complete,
        **_writers(result, asked.force),
    )


def _writers(result: SimulationResult, force: bool) -> dict[str, Any]:
    def learnt(_: str) -> str:
        if not result.history:
            raise ValueError("--save-history: none of the policies learns (auto and gittins do)")
        return json_text(next(iter(result.history.values())))

    return {
        "save_history": learnt,
        "records": lambda path: result.write_records(path, force),
        "task_records": lambda path: result.write_tasks(path, force),
        "plot": lambda path: image_bytes(result.plot(), path),
    }
