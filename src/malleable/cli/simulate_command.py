"""``malleable simulate``: policies side by side on the same jobs."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from malleable.cli import cluster_command, slotted_command
from malleable.cli.cases import Case, estimates_of
from malleable.cli.outputs import Outputs, output_arguments
from malleable.cli.terminal import progress_bar, read_file, reading_arguments, warnings_as_notes
from malleable.result import SimulationResult
from malleable.simulation import simulate
from malleable.slotted.generate import SETTINGS, MapReduceStream
from malleable.tandem.simulate import chunks_of
from malleable.tandem.table import MapShuffleStream
from malleable.traces import Trace
from malleable.view.drawing import image_bytes
from malleable.view.simulation_pictures import draw_ratio_over_time
from malleable.view.simulations import simulation_dict, simulation_tables

DEFAULT_POLICIES = "max-srpt,split-srpt,k-lps"

_MODELS = ("tandem", "slotted", "cluster")
_TABLES = ("records", "task_records")
_PICTURES = ("plot", "plot_slowdown", "plot_ratio", "plot_load")
_OF_RECORDS = ("records", "plot", "plot_ratio")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command; ``only``: which models have an option that not all have."""
    parser.description = (
        "Simulate policies on a table or a stream: map and shuffle phases that overlap (tandem), map and "
        "reduce tasks in slots (slotted), or tasks on nodes (cluster)."
    )
    models, only = _MODELS, dict[str, tuple[str, ...]]()
    groups = {model: parser.add_argument_group(f"{model} only") for model in models}

    def own(to: str, flag: str, **how: Any) -> None:
        of = tuple(to.split())
        group = groups[of[0]] if len(of) == 1 else parser
        only[group.add_argument(flag, **how).dest] = of

    add = parser.add_argument
    add("file", nargs="?", metavar="FILE", help="jobs (-: standard input)")
    generated = (
        "N jobs as in section 5.3 of the overlap paper, or N slots as in section VII of ASRPT's"
    )
    own("tandem slotted", "--generate", type=int, metavar="N", help=generated)
    add("--model", choices=models, default=models[0], help="default: %(default)s")
    usual = (DEFAULT_POLICIES, slotted_command.DEFAULT_POLICIES, cluster_command.DEFAULT_POLICIES)
    add("--policy", metavar="A,B", help=f"default: {'; '.join(usual)}")
    scaled = "scale capacities to it; of a stream (0.75; 0.9)"
    add("--load", type=float, metavar="L", help=scaled)
    seen = (
        "sizes as policies see them: log-normal error; slotted: the table's column, another "
        "table; cluster: learned from finished tasks"
    )
    add("--estimates", metavar="SIGMA|column|FILE|learn", help=seen)
    overrun = "jobs that overrun (tandem, slotted)"
    add("--underestimates", choices=("first", "bounce"), default="first", help=overrun)
    add("--horizon", type=float, metavar="S", help="stop then [s; slots]")
    add("--seed", type=int, default=0, help="of a stream (default: %(default)s)")
    add("--records", metavar="FILE", help="one row a job, CSV or .parquet")
    add("--plot", metavar="FILE", help="distribution of the responses, or FLEX over FAIR on a grid")
    by_size = "mean slowdown by size (tandem, cluster)"
    own("tandem cluster", "--plot-slowdown", metavar="FILE", help=by_size)
    reading_arguments(parser)

    capacity: dict[str, Any] = {"type": float, "metavar": "C"}
    groups["tandem"].add_argument("--map-capacity", **capacity, default=1.0, help="default: 1")
    groups["tandem"].add_argument("--shuffle-capacity", **capacity, default=1.0, help="default: 1")
    most = "jobs that map at once under k-lps"
    groups["tandem"].add_argument("-k", type=int, default=100, metavar="N", help=most)
    own("tandem", "--as-printed", action="store_true", help="capacity left over is not handed on")
    own("tandem", "--no-overlap", action="store_true", help="shuffle only after the map phase")
    own("tandem", "--effort", type=int, metavar="N", help="best: candidates (default: 1000)")

    machines = "default: 100, or what --load asks for"
    own("slotted", "--machines", type=int, metavar="N", help=machines)
    whole = "a reduce task keeps its machine to its end"
    own("slotted", "--non-preemptive", action="store_true", help=whole)
    setting: dict[str, Any] = {"choices": SETTINGS, "default": SETTINGS[0], "help": "of --generate"}
    groups["slotted"].add_argument("--setting", **setting)
    tasks: dict[str, Any] = {
        "default": "1-10",
        "metavar": "LOW-HIGH",
        "help": "reduce tasks of a generated job",
    }
    groups["slotted"].add_argument("--tasks", **tasks)
    length = "of a trace: length of a slot"
    own("slotted", "--slot-seconds", type=float, metavar="S", help=length)
    own("slotted", "--plot-ratio", metavar="FILE", help="efficiency ratio over time")

    own("cluster", "--cluster", metavar="FILE", help="its nodes (TOML; or give --load)")
    own("cluster", "--objective", help="of flex (default: sum:response)")
    pairs: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME=VALUE"}
    own("cluster", "--set", **pairs, help="any other option")
    own("cluster", "--read", **pairs, help="an option of the trace")
    graphs = "tpch: query graphs (default: queries.yaml beside FILE)"
    own("cluster", "--graphs", metavar="FILE", help=graphs)
    seeds: dict[str, Any] = {"type": int, "default": 1, "metavar": "N"}
    groups["cluster"].add_argument("--replications", **seeds, help="seeds, with intervals")
    groups["cluster"].add_argument("--processes", **seeds, help="replications side by side")
    points = "speed-ups p 1, .8, .5 x size errors sigma 0, .2, 1"
    own("cluster", "--grid", action="store_true", help=points)
    own("cluster", "--loads", metavar="L,L", help="a grid of loads")
    own("cluster", "--speedups", metavar="P,P", help="a grid of speed-ups: s tasks do s^p")
    own("cluster", "--errors", metavar="S,S", help="a grid of size errors sigma")
    rows = "one row a task, with its slot, CSV or .parquet"
    own("cluster", "--task-records", metavar="FILE", help=rows)
    over_time = "utilisation and jobs in the system over time"
    own("cluster", "--plot-load", metavar="FILE", help=over_time)
    output_arguments(parser)
    parser.set_defaults(run=run, only=only)


def run(asked: argparse.Namespace) -> int:
    """Simulate; after Ctrl-C show and write what was finished."""
    for option, models in asked.only.items():
        if asked.model not in models and getattr(asked, option) not in (None, False, []):
            name = option.replace("_", "-")
            raise ValueError(f"--{name}: of --model {' or '.join(models)}")
    if asked.model != "cluster" and (asked.generate is not None) == (asked.file is not None):
        raise ValueError("one of FILE and --generate N is needed")
    inputs = [asked.file, asked.cluster]
    outputs = Outputs(asked, tables=_TABLES, pictures=_PICTURES, inputs=inputs)
    if asked.model == "cluster" and cluster_command.several(asked):
        return cluster_command.replicated(asked, outputs)
    prepare = {"slotted": slotted_command.case, "cluster": cluster_command.case}
    case = prepare.get(asked.model, _tandem)(asked)
    if isinstance(case.jobs, (MapShuffleStream, MapReduceStream)):
        for name in (name for name in _OF_RECORDS if name in outputs.files):
            raise ValueError(f"--{name.replace('_', '-')}: a generated stream keeps no records")
    policies = [name.strip() for name in (asked.policy or case.policies).split(",")]
    with warnings_as_notes(), progress_bar("jobs") as advance:
        result = simulate(
            case.jobs,
            policies,
            rng=asked.seed,
            horizon=asked.horizon,
            progress=lambda *_: advance("jobs", case.steps * len(policies)),
            **case.options,
        )
    return outputs.give(
        lambda: {**case.facts, **simulation_dict(result)},
        [*case.told, *simulation_tables(result), *case.below],
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

    return {
        "records": lambda path: result.write_records(path, force),
        "task_records": lambda path: result.write_tasks(path, force),
        "plot_ratio": ratio,
        **{name: partial(drawn, kind) for name, kind in kinds.items()},
    }


def _tandem(asked: argparse.Namespace) -> Case:
    """Map and shuffle phases that overlap."""
    options: dict[str, Any] = {
        "k": asked.k,
        "conserving": not asked.as_printed,
        "overlap": not asked.no_overlap,
        "map_capacity": asked.map_capacity,
        "shuffle_capacity": asked.shuffle_capacity,
        "underestimates": asked.underestimates,
    }
    jobs: Any
    if asked.file is None:
        jobs = MapShuffleStream(asked.generate, 0.75 if asked.load is None else asked.load)
    else:
        with warnings_as_notes():
            jobs = read_file(asked.file, asked).map_shuffle()
        options["load"] = asked.load
    guessed = estimates_of(asked, jobs, "column", Trace.map_shuffle)
    known = isinstance(guessed, type(jobs))
    options["estimates"] = (guessed.map, guessed.shuffle) if known else guessed
    if asked.effort is not None:
        options["effort"] = asked.effort
    return Case(jobs, options, DEFAULT_POLICIES, chunks_of(jobs))
