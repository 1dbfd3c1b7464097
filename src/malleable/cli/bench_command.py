"""``malleable bench``: what decisions take on this machine, and whether that has changed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from malleable.cli.outputs import Outputs, ended, output_arguments
from malleable.cli.streams import note
from malleable.cli.terminal import adder, listed, progress_bar
from malleable.policies import policy_names
from malleable.view.latency import INSTANCES, Case, Measured, cases_of, measure, rounds_of
from malleable.view.latency_tables import (
    compare_runs,
    comparison_dict,
    comparison_tables,
    latency_dict,
    latency_tables,
    read_run,
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    add = adder(parser)
    add("--jobs N,N", "numbers of jobs", default="1000,10000,100000")
    known = ", ".join(policy_names("jobs", in_loop=True))
    add("--policy A,B", f"some of {known}", default="flex,fair,fifo")
    add("--objective X,Y", "objectives of flex", default="sum:response,max:stretch")
    instances = "; ".join(f"{name}: {told}" for name, told in INSTANCES.items())
    add("--instance A,B", f"instances. {instances}", default="a,b,c")
    add("--epochs N", "number of decisions of each case", int, 1000)
    told = "measure nothing: compare a saved run with a later one, and say which differences are no noise"
    add("--compare FILE", told, nargs=2)
    output_arguments(parser)


def measured(cases: list[Case], epochs: int) -> Measured:
    """All cases, with a bar."""
    with progress_bar("decisions") as advance:
        steps = len(cases) * rounds_of(epochs)
        return measure(cases, epochs=epochs, progress=lambda: advance("decisions", steps))


def run(asked: argparse.Namespace) -> int:
    """Measure how long decisions take. Between two decisions 1 % of the jobs come, go and change. Or compare
    two runs that were saved by --json.

    After Ctrl-C the rounds that have ended are shown.
    """
    outputs = Outputs(asked, inputs=asked.compare or ())
    if asked.compare:
        return _compare(asked.compare, outputs)
    cases = cases_of(
        listed("instance", asked.instance, str),
        sorted(set(listed("jobs", asked.jobs, int))),
        listed("policy", asked.policy, str),
        listed("objective", asked.objective, str),
    )
    found = measured(cases, asked.epochs)
    if not found.cases:
        return ended(found.complete)
    return outputs.give(lambda: latency_dict(found), latency_tables(found), found.complete)


def _compare(files: Sequence[str], outputs: Outputs) -> int:
    first, second = files
    before, after = read_run(first), read_run(second)
    changes = compare_runs(before, after)
    if not changes:
        raise ValueError(f"{first}, {second}: these runs have no case in common")
    if before["made_with"]["machine"] != after["made_with"]["machine"]:
        note(f"{first}, {second}: from machines of different kinds")
    left_out = len(before["cases"]) + len(after["cases"]) - 2 * len(changes)
    return outputs.give(lambda: comparison_dict(changes), comparison_tables(changes, left_out))
