"""``malleable bench``: how long decisions take, for several numbers of jobs, policies and instances."""

from __future__ import annotations

import argparse
from typing import Any

from malleable.cli.outputs import Outputs, output_arguments
from malleable.cli.terminal import adder, listed, progress_bar
from malleable.policies import policy_names
from malleable.view import latency


def arguments(parser: argparse.ArgumentParser) -> None:
    add = adder(parser)
    add("--jobs N,N", "numbers of jobs", default="1000,10000,100000")
    known = ", ".join(policy_names("jobs", in_loop=True))
    add("--policy A,B", f"some of {known}", default="flex,fair,fifo")
    add("--objective X,Y", "objectives of flex", default="sum:response,max:stretch")
    instances = "; ".join(f"{name}: {told}" for name, told in latency.INSTANCES.items())
    add("--instance A,B", f"instances. {instances}", default="a,b,c")
    add("--epochs N", "number of decisions of each case", int, 1000)
    output_arguments(parser)


def measured(cases: list[latency.Case], epochs: int) -> list[dict[str, Any]]:
    with progress_bar("decisions") as advance:
        step = lambda: advance("decisions", len(cases))  # noqa: E731
        return latency.measure(cases, epochs=epochs, progress=step)


def run(asked: argparse.Namespace) -> int:
    """Measure how long decisions take. Between two decisions 1 % of the jobs come, go and change."""
    outputs = Outputs(asked)
    cases = latency.cases_of(
        listed("instance", asked.instance, str),
        sorted(set(listed("jobs", asked.jobs, int))),
        listed("policy", asked.policy, str),
        listed("objective", asked.objective, str),
    )
    found = measured(cases, asked.epochs)
    return outputs.give(lambda: latency.latency_dict(found), latency.latency_tables(found))
