"""``malleable replay``: a recorded stream of events, and what other policies would have decided."""

from __future__ import annotations

import argparse

from malleable.cli.outputs import Outputs
from malleable.cluster.replay import replay
from malleable.view.replay_views import replay_dict, replay_table


def run(arguments: argparse.Namespace) -> int:
    """One replay a policy; the record's own where none is named."""
    outputs = Outputs(arguments, inputs=[arguments.events])
    names = [None] if arguments.policy is None else arguments.policy.split(",")
    found = [replay(arguments.events, name, objective=arguments.objective) for name in names]
    status = outputs.give(lambda: replay_dict(found), [replay_table(found)])
    return status or int(not all(one.same for one in found))
