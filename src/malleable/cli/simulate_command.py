"""``malleable simulate``: policies side by side on the same jobs."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Any

from malleable.cli import cluster_command, jobs_command, slotted_command
from malleable.cli.cases import Case, estimates_of, guessed_model, trace_of
from malleable.cli.outputs import Outputs, output_arguments
from malleable.cli.replicated import replicated, several
from malleable.cli.streams import note
from malleable.cli.terminal import (
    adder,
    duration,
    progress_bar,
    reading_arguments,
    warnings_as_notes,
)
from malleable.cli.workers import ENGINE
from malleable.cluster.events import is_events
from malleable.policies import idle_effort
from malleable.result import SimulationResult, merged
from malleable.simulation import other_fairs, simulate
from malleable.slotted.generate import SETTINGS, MapReduceStream
from malleable.tandem.simulate import chunks_of
from malleable.tandem.table import MapShuffleStream
from malleable.traces import Trace
from malleable.view.drawing import image_bytes
from malleable.view.option_page import option_page
from malleable.view.plan_views import json_text
from malleable.view.simulation_pictures import draw_ratio_over_time
from malleable.view.simulations import simulation_dict, simulation_tables
from malleable.view.text import fields_of

DEFAULT_POLICIES = "max-srpt,split-srpt,k-lps"

_MODELS = ("tandem", "slotted", "cluster", "jobs")
_REPLICATED = ("cluster", "jobs")
_TABLES = ("records", "task_records", "save_history")
_PICTURES = ("plot", "plot_slowdown", "plot_ratio", "plot_load")
_OF_RECORDS = ("records", "plot", "plot_ratio")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command; ``only``: which models have an option that not all have."""
    parser.description = (
        "Simulate policies on a table or a stream: map and shuffle phases that overlap (tandem), map and "
        "reduce tasks in slots (slotted), tasks on nodes (cluster), or malleable jobs in a loop that "
        "decides every few seconds (jobs)."
    )
    models, only = _MODELS, dict[str, tuple[str, ...]]()
    add = adder(parser)
    groups = {model: adder(parser.add_argument_group(f"{model} only")) for model in models}
    tandem, slotted = groups["tandem"], groups["slotted"]

    def own(to: str, *words: Any, **how: Any) -> None:
        of = tuple(to.split())
        only[groups.get(to, add)(*words, **how)] = of

    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="jobs (-: standard input), or recorded events"
    )
    generated = (
        "N jobs as in section 5.3 of the overlap paper, or N slots as in section VII of ASRPT's"
    )
    own("tandem slotted", "--generate N", generated, int)
    add("--model", "default: what the file is for; of --generate tandem", choices=models)
    own_usual = (slotted_command, cluster_command, jobs_command)
    usual = (DEFAULT_POLICIES, *(each.DEFAULT_POLICIES for each in own_usual))
    add("--policy A,B", f"default: {'; '.join(usual)}")
    add("--load L", "scale capacities to it; of a stream (0.75; 0.9)", float)
    add(
        "--estimates SIGMA|column|FILE|learn",
        "sizes as policies see them: log-normal error; slotted: the table's column, another "
        "table; cluster: learned from finished tasks; jobs: another table",
    )
    overrun = "jobs that overrun, in tandem and slotted"
    add("--underestimates", overrun, default="first", choices=("first", "bounce"))
    add("--horizon S", "stop then [s; slots]", float)
    add("--seed", "of a stream", int, 0)
    add("--records FILE", "one row a job, CSV or .parquet")
    add(
        "--plot FILE",
        "distribution of the responses; of a grid FLEX over FAIR, or responses over the period",
    )
    sizes = "mean slowdown by size (tandem, cluster, jobs)"
    own("tandem cluster jobs", "--plot-slowdown FILE", sizes)
    reading_arguments(parser)

    tandem("--map-capacity C", "", float, 1.0)
    tandem("--shuffle-capacity C", "", float, 1.0)
    tandem("-k N", "jobs that map at once under k-lps", int, 100)
    own("tandem", "--as-printed", "capacity left over is not handed on", bool)
    own("tandem", "--no-overlap", "shuffle only after the map phase", bool)
    own("tandem jobs", "--effort N", "tandem: candidates of best (1000); jobs: of flex (none)", int)

    own("slotted", "--machines N", "default: 100, or what --load asks for", int)
    own("slotted", "--non-preemptive", "a reduce task keeps its machine to its end", bool)
    slotted("--setting", "of --generate", default=SETTINGS[0], choices=SETTINGS)
    slotted("--tasks LOW-HIGH", "reduce tasks of a generated job", default="1-10")
    own("slotted", "--slot-seconds S", "of a trace: length of a slot", float)
    own("slotted", "--plot-ratio FILE", "efficiency ratio over time")

    own("cluster", "--cluster FILE", "its nodes (TOML; or give --load)")
    own("cluster jobs", "--objective", "of flex (default: sum:response)")
    own("cluster jobs", "--set NAME=VALUE", "an option by name", action="append")
    add("--options", "list all options by name, of clusters and of traces, and stop", bool)
    own("cluster", "--read NAME=VALUE", "an option of the trace", action="append")
    own("cluster", "--graphs FILE", "tpch: query graphs (default: queries.yaml beside FILE)")
    add("--replications N", "seeds, with intervals (cluster, jobs)", int, 1)
    own("cluster jobs", "--processes N", "replications side by side (default: 1)", int)
    own("cluster jobs", "--engine NAME", f"replications {ENGINE}")
    own("cluster", "--grid", "speed-ups p 1, .8, .5 x size errors sigma 0, .2, 1", bool)
    own("cluster jobs", "--loads L,L", "a grid of loads")
    own("cluster", "--speedups P,P", "a grid of speed-ups: s tasks do s^p")
    own("cluster jobs", "--errors S,S", "a grid of size errors sigma")
    own("cluster", "--task-records FILE", "one row a task, with its slot, CSV or .parquet")
    own("cluster", "--history FILE", "what earlier runs had learnt of programs (JSON)")
    own("cluster", "--save-history FILE", "what the first policy that learns knew at the end")
    own("cluster", "--plot-load FILE", "utilisation and jobs in the system over time")

    own("cluster jobs", "--slots N", "capacity (or give --load)", int)
    own(
        "cluster",
        "--spread S",
        "jobs that all come at one time come at random within S s",
        duration,
    )
    own("jobs", "--period S", "the loop asks every S seconds (default: at every event)", float)
    own("jobs", "--untold", "policies do not know the period", bool)
    own("jobs", "--periods S,S", "a grid of periods; --plot draws it")
    output_arguments(parser)
    parser.set_defaults(run=run, only=only, source=None)


def _check(asked: argparse.Namespace) -> None:
    """ValueError for what the model does not take, and unless there is one source of jobs."""
    for option, models in asked.only.items():
        if asked.model not in models and getattr(asked, option) not in (None, False):
            name = option.replace("_", "-")
            raise ValueError(f"--{name}: of --model {' or '.join(models)}")
    if asked.model in ("tandem", "slotted") and (asked.generate is not None) == (
        asked.file is not None
    ):
        raise ValueError("one of FILE and --generate N is needed")


def run(asked: argparse.Namespace) -> int:
    """Simulate; after Ctrl-C show and write what was finished."""
    if asked.options:
        sys.stdout.write(option_page())
        return 0
    if asked.file is not None and is_events(asked.file):
        asked.model = "cluster"
    guessed = ""
    if asked.model is None:
        alone = asked.file is not None and asked.generate is None
        asked.model, guessed = guessed_model(asked) if alone else (_MODELS[0], "")
    _check(asked)
    inputs = [asked.file, asked.cluster, asked.history]
    outputs = Outputs(asked, tables=_TABLES, pictures=_PICTURES, inputs=inputs)
    prepare = {
        "slotted": slotted_command.case,
        "cluster": cluster_command.case,
        "jobs": jobs_command.case,
    }
    case = prepare.get(asked.model, _tandem)(asked)
    if guessed:  # an error stands alone
        note(guessed)
    if asked.model in _REPLICATED and several(asked):
        return replicated(asked, outputs, case)
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
        [*case.told, *simulation_tables(shown, rivals), *case.below],
        result.complete,
        **_writers(case, result, asked.force),
    )


def _writers(case: Case, result: SimulationResult, force: bool) -> dict[str, Any]:
    """What makes each of the files."""
    kinds = {"plot": "cdf", "plot_slowdown": "slowdown", "plot_load": "load"}

    def drawn(kind: str, path: str) -> bytes:
        return image_bytes(result.plot(kind=kind), path)

    def ratio(path: str) -> bytes:
        machines = case.options["machines"]
        return image_bytes(draw_ratio_over_time(result, jobs=case.jobs, machines=machines), path)

    def learnt(_: str) -> str:
        if not result.history:
            raise ValueError("--save-history: none of the policies learns (auto and gittins do)")
        return json_text(next(iter(result.history.values())))

    return {
        "save_history": learnt,
        "records": lambda path: result.write_records(path, force),
        "task_records": lambda path: result.write_tasks(path, force),
        "plot_ratio": ratio,
        **{name: partial(drawn, kind) for name, kind in kinds.items()},
    }


def _tandem(asked: argparse.Namespace) -> Case:
    """Map and shuffle phases that overlap."""
    options = fields_of(asked, "k", "map_capacity", "shuffle_capacity", "underestimates")
    options |= {"conserving": not asked.as_printed, "overlap": not asked.no_overlap}
    jobs: Any
    if asked.file is None:
        jobs = MapShuffleStream(asked.generate, 0.75 if asked.load is None else asked.load)
    else:
        with warnings_as_notes():
            jobs = trace_of(asked).map_shuffle()
        options["load"] = asked.load
    guessed = estimates_of(asked, jobs, "column", Trace.map_shuffle)
    known = isinstance(guessed, type(jobs))
    options["estimates"] = (guessed.map, guessed.shuffle) if known else guessed
    if asked.effort is not None:
        options["effort"] = asked.effort
    return Case(jobs, options, DEFAULT_POLICIES, chunks_of(jobs))
