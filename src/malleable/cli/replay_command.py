"""``malleable replay``: a recorded stream of events, and what other policies would have decided."""

from __future__ import annotations

import argparse

from malleable.cli.outputs import Outputs, output_arguments
from malleable.cli.terminal import adder
from malleable.cluster.replay import replay
from malleable.view.replay_views import replay_table


def arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.description = (
        "Give the events that a scheduler was told (EVENTS) to a fresh scheduler, which "
        "has to decide the same, and ask other policies at every recorded state, one step"
        " each. Exit status 1 if the record's policy decides otherwise."
    )
    add = adder(parser)
    parser.add_argument("events", metavar="EVENTS", help="a file that Scheduler(record=...) wrote")
    add("--policy A,B", "other policies (default: the record's own)")
    add("--objective", "their objective (default: the record's)")
    output_arguments(parser)
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    """Replay a record with each policy that is named; if none is named, with the policy of the record."""
    outputs = Outputs(asked, inputs=[asked.events])
    names = [None] if asked.policy is None else asked.policy.split(",")
    found = [replay(asked.events, name, objective=asked.objective) for name in names]
    status = outputs.give(
        lambda: {"replays": [one._asdict() for one in found]}, [replay_table(found)]
    )
    return status or int(not all(one.same for one in found))
