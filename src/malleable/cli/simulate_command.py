"""``malleable simulate``: policies side by side on jobs that arrive, in one of four models."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from inspect import Parameter, signature
from typing import Any, NamedTuple

from malleable.cli import terminal
from malleable.cli.outputs import OBJECTIVE, Outputs, ended, output_arguments
from malleable.cli.streams import note
from malleable.cli.workers import workers
from malleable.cluster.events import is_events
from malleable.cluster.table import ClusterJobs
from malleable.policies import idle_effort
from malleable.replications import replicate
from malleable.report.study import stated, study
from malleable.results import merged
from malleable.simulation import MODELS, model_of, other_fairs, parsed_option, simulate
from malleable.traces import Trace
from malleable.view import simulations
from malleable.view.drawing import image_bytes
from malleable.view.option_page import option_page


class _Model(NamedTuple):
    """What a model simulates, which policies are compared, what --slots gives it, and which word --estimates
    takes beside a number."""

    told: str
    policies: str
    slots: str
    word: str


_MODELS = {
    "tandem": _Model(
        "map and shuffle phases that overlap", "max-srpt,split-srpt,k-lps", slots="", word="column"
    ),
    "slotted": _Model(
        "map and reduce tasks in steps", "asrpt,unlock,fifo,fair,lrpt", "machines", "column"
    ),
    "cluster": _Model("tasks on slots", "auto,flex,fair,fifo", "cluster", "learn"),
    "jobs": _Model("malleable jobs in a loop", "flex,fair,fifo", "slots", word=""),
}
_RIGID = "auto,easy,easy-sjf,conservative,fcfs"
# arguments of the model ``cluster`` alone
_OF_CLUSTERS = ("cluster", "spread", "rigid", "malleable", "since", "until")


def arguments(parser: argparse.ArgumentParser) -> None:
    add = terminal.adder(parser)
    told = "a trace, a table of jobs, or recorded events of a scheduler (-: standard input)"
    add("file FILE", told, nargs="?")
    models = "; ".join(f"{name}: {own.told}" for name, own in _MODELS.items())
    add("--model", f"what is simulated. {models} (default: what FILE is)", choices=tuple(_MODELS))
    usual = "; ".join(f"{name}: {own.policies}" for name, own in _MODELS.items())
    add("--policy A,B", f"policies to compare (default: {usual}; with rigid jobs: {_RIGID})")
    add("--objective", f"{OBJECTIVE} (default: sum:response)")
    told = "set an option of the model by name, for example period=5 (--options lists those of clusters)"
    add("--set NAME=VALUE", told, action="append")
    told = "which sizes policies know. SIGMA: with a log-normal error; learn: none, they learn; column: as"
    add("--estimates SIGMA|learn|column", f"{told} FILE says (default: the true sizes)")
    told = "run a grid of cases: load, estimates, period or speedup with each of these values"
    add("--grid NAME=V,V", told, action="append")
    add("--replications N", "number of seeds to simulate; more than one gives intervals", int, 1)
    add("--processes N", "how many simulations of a grid run side by side", int, 1)
    terminal.log_arguments(parser)
    add("--records FILE", "write one row for each job, CSV or .parquet")
    told = "draw the distribution of responses, or of a grid the mean responses"
    add("--plot FILE", told)
    add("--options", "only list all options of clusters (--set) and of traces (--read)", bool)
    output_arguments(parser)


class _Case(NamedTuple):
    """What is simulated; ``read_as`` says how the file was read."""

    model: str
    jobs: Any
    read_as: str
    options: dict[str, Any]
    policies: list[str]


def run(asked: argparse.Namespace) -> int:
    """Simulate policies on jobs that arrive, and compare them. After Ctrl-C the finished part is shown and
    written.
    """
    if asked.options:
        sys.stdout.write(option_page())
        return 0
    if asked.file is None:
        asked.usage("FILE is needed")
    files = [asked.file, asked.cluster]
    outputs = Outputs(asked, tables=["records"], pictures=["plot"], inputs=files)
    case = _case(asked)
    if asked.replications > 1 or asked.grid:
        return _replicated(asked, outputs, case)
    return _side_by_side(asked, outputs, case)


def _case(asked: argparse.Namespace) -> _Case:
    options: dict[str, Any] = {"objective": asked.objective, "load": asked.load}
    source = asked.file if is_events(asked.file) else terminal.read_file(asked.file, asked)
    own = "cluster" if asked.cluster is not None else model_of(source)
    model = asked.model or own or "cluster"
    if model == "cluster":
        jobs, read_as = _of_cluster(asked, source, options)
    else:
        jobs, read_as = _of_table(asked, model, source, options)
    options |= {
        "estimates": _estimates(asked, _MODELS[model].word),
        **dict(parsed_option(text, f"--set {text}") for text in asked.set or ()),
    }
    options = {name: own for name, own in options.items() if own is not None}
    _check_known(model, options)
    return _Case(model, jobs, read_as, options, _policies(asked.policy, model, jobs))


def _policies(given: str | None, model: str, jobs: Any) -> list[str]:
    rigid = isinstance(jobs, ClusterJobs) and bool((jobs.width > 1).any())
    usual = _RIGID if rigid else _MODELS[model].policies
    return [name.strip() for name in (given or usual).split(",")]


def _of_cluster(
    asked: argparse.Namespace, source: Any, options: dict[str, Any]
) -> tuple[ClusterJobs, str]:
    # The jobs, and how they were read; a load determines the slots when the jobs are simulated.
    how = terminal.log_options(asked)
    later = any(text.startswith("load=") for text in asked.grid or ())
    if later and asked.cluster is asked.slots is None:
        how["load"] = 1.0
    told = study([source], **how)
    named = [text for text in told.assumed if " = " in text]
    sentences = [text for text in told.assumed if text not in named and how["load"] is None]
    for text in (*told.skipped, *sentences):
        note(text)
    if how["load"] is None:
        options["cluster"] = told.cluster
    assumed = ", ".join(named)
    return told.jobs, f"{told.jobs!r}, read as {told.format}{' with ' * bool(assumed)}{assumed}"


def _of_table(
    asked: argparse.Namespace,
    model: str,
    trace: Trace,
    options: dict[str, Any],
) -> tuple[Any, str]:
    # The jobs of another model, and how they were read.
    given = terminal.log_options(asked)["reading"]
    for name in _OF_CLUSTERS:
        if getattr(asked, name) not in (None, False):
            asked.usage(f"--{name.replace('_', '-')}: of --model cluster, and this is {model}")
    slots = _MODELS[model].slots
    if asked.slots is not None and not slots:
        asked.usage(f"--slots: --model {model} has capacities: --set map_capacity=C")
    if slots:
        options[slots] = asked.slots
    converter = MODELS[model][2]
    with terminal.warnings_as_notes():
        jobs = getattr(trace, converter)(**given)
    assumed = ", ".join(stated(trace, given, converter))
    return jobs, f"{jobs!r}, read as {trace.format}{' with ' * bool(assumed)}{assumed}"


def _estimates(asked: argparse.Namespace, word: str) -> Any:
    text = asked.estimates
    if text is None or text == word:
        return text
    try:
        return float(text)
    except ValueError:
        wanted = f"a number or {word!r}" if word else "a number"
        raise ValueError(f"--estimates {text}: {wanted}") from None


def _check_known(model: str, options: dict[str, Any]) -> None:
    # ValueError for an option that the model does not have; clusters check theirs.
    known = signature(MODELS[model][0]).parameters
    if any(own.kind is Parameter.VAR_KEYWORD for own in known.values()):
        return
    for name in options:
        if name not in known:
            raise ValueError(f"option {name!r}: --model {model} does not have it")


def _side_by_side(asked: argparse.Namespace, outputs: Outputs, case: _Case) -> int:
    common = {"rng": asked.seed, "model": case.model, **case.options}
    with terminal.warnings_as_notes(), terminal.counting_bar("jobs") as tell:
        result = simulate(case.jobs, case.policies, progress=tell, **common)
        # other meanings of FAIR, which are shown beside it
        rivals = other_fairs(case.jobs, case.policies, common) if result.complete else []
        shown = result
        if rivals:
            plain = {**common, "records": False, "trace": False}
            shown = merged([result, simulate(case.jobs, rivals, **plain)])
    if idle := idle_effort(case.model, case.policies, case.options.get("effort")):
        note(idle)
    return outputs.give(
        lambda: {"reading": case.read_as, **simulations.simulation_dict(shown)},
        [case.read_as, *simulations.simulation_tables(shown, rivals)],
        result.complete,
        records=lambda path: result.write_records(path, asked.force),
        plot=lambda path: image_bytes(result.plot(), path),
    )


def _axis(text: str, options: dict[str, Any]) -> tuple[str, list[float]]:
    name, _, values = text.partition("=")
    if name not in ("load", "estimates", "period", "speedup"):
        raise ValueError(f"--grid {text}: write load, estimates, period or speedup, =, and values")
    if name in options:
        raise ValueError(f"--grid {text}: {name} is given once more")
    return name, terminal.listed(f"grid {name}", values, float)


def _same(jobs: Any, seed: int) -> Any:
    return jobs


def _replicated(asked: argparse.Namespace, outputs: Outputs, case: _Case) -> int:
    # Replications, at every point of a grid if there is one; after Ctrl-C the finished ones.
    grid = dict(_axis(text, case.options) for text in asked.grid or ())
    for name in outputs.files:
        if name != "json" and not (grid and name == "plot"):
            raise ValueError(f"--{name.replace('_', '-')}: works for a single run only")
    rivals = other_fairs(case.jobs, case.policies, case.options)
    with workers(asked.processes) as executor, terminal.counting_bar("replications") as tell:
        found = replicate(
            partial(_same, case.jobs),
            range(asked.seed, asked.seed + asked.replications),
            [*case.policies, *rivals],
            grid=grid,
            executor=executor,
            progress=tell,
            model=case.model,
            **case.options,
        )
    if not found.done:
        return ended(False)
    return outputs.give(
        lambda: {"reading": case.read_as, **simulations.replications_dict(found)},
        [case.read_as, *simulations.replications_tables(found, None, rivals)],
        found.complete,
        plot=lambda path: image_bytes(found.plot(), path),
    )
