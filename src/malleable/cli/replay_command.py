"""``malleable replay``: recorded events, given to a new scheduler, which should decide the same."""

from __future__ import annotations

import argparse

from malleable.cli.outputs import Outputs, output_arguments
from malleable.cli.terminal import adder
from malleable.cluster.replay import Replay, replay
from malleable.view.text import Column, Table, columns_table, number, percent


def arguments(parser: argparse.ArgumentParser) -> None:
    add = adder(parser)
    add("events EVENTS", "a file that Scheduler(record=...) wrote")
    add("--policy A,B", "other policies (default: only the policy of the record)")
    add("--objective", "objective of the other policies (default: that of the record)")
    output_arguments(parser)


def run(asked: argparse.Namespace) -> int:
    """Give the events that a scheduler was told (EVENTS) to a new scheduler, and check that it decides the
    same. With --policy, also show what other policies would have decided at each recorded moment. Exit status
    1 if the new scheduler decides otherwise with the policy of the record.
    """
    outputs = Outputs(asked, inputs=[asked.events])
    names = [None] if asked.policy is None else asked.policy.split(",")
    found = [replay(asked.events, name, objective=asked.objective) for name in names]
    status = outputs.give(lambda: {"replays": [one._asdict() for one in found]}, [_table(found)])
    return status or int(not all(one.same for one in found))


def _table(found: list[Replay]) -> Table:
    first = found[0]
    how = "as recorded" if first.same else "NOT as recorded"
    title = (
        f"{first.recorded} decides {how}: {number(first.jobs)} jobs, "
        f"{number(first.decisions)} decisions"
    )
    columns: list[Column] = [
        ("policy", lambda one: one.policy),
        (
            "decisions that differ",
            lambda one: percent(one.decisions and one.differing / one.decisions),
        ),
        ("slots that move", lambda one: number(one.moved)),
    ]
    return columns_table(title, found, columns)
